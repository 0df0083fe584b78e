#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gangsched/src/kube/queues/queues.hpp"

// Which queue a pod is in: what it says itself, in one system's words or another's, and what its groups say.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

enum class names_what : std::uint8_t { queue, local_queue, volcano_queue };

/// A label or an annotation that names a queue.
struct queue_word {
  std::string_view key;
  names_what what;
};
constexpr queue_word queue_words_of_pods[] = {{"gangsched.dev/queue", names_what::queue},
                                              {"kueue.x-k8s.io/queue-name", names_what::local_queue},
                                              {"kai.scheduler/queue", names_what::queue},
                                              {"scheduling.volcano.sh/queue-name", names_what::volcano_queue},
                                              {"volcano.sh/queue-name", names_what::volcano_queue},
                                              {"quota.scheduling.koordinator.sh/name", names_what::queue},
                                              {"yunikorn.apache.org/queue", names_what::queue},
                                              {hived_cluster_word, names_what::queue}};
constexpr std::string_view priority_word = "kueue.x-k8s.io/priority-class";
constexpr std::string_view kai_priority_word = "priorityClassName";

const std::string* find_word(const pod_manifest& in, std::string_view key, std::string& field) {
  for (const bool label : {false, true}) {
    for (const auto& [name, value] : label ? in.spec.labels : in.annotations) {
      if (name != key || value.empty()) continue;
      field = fmt::format("metadata.{}[\"{}\"]", label ? "labels" : "annotations", key);
      return &value;
    }
  }
  return nullptr;
}

constexpr int most_group_levels = 4;

/// Groups by what they are called.
class group_index {
 public:
  explicit group_index(manifests& of) : of_(&of) {
    for (std::size_t i = 0; i < of.groups.size(); ++i) {
      const group_spec& spec = of.groups[i].spec;
      at_.try_emplace({spec.composite, spec.ns, spec.name}, i);
    }
  }
  /// Null if there is none.
  [[nodiscard]] group_manifest* find(bool composite, const std::string& ns, const std::string& name) const {
    const auto found = at_.find({composite, ns, name});
    return found == at_.end() ? nullptr : &of_->groups[found->second];
  }

 private:
  manifests* of_;
  std::map<std::tuple<bool, std::string, std::string>, std::size_t> at_;
};

class queue_namer {
 public:
  queue_namer(manifests& into, const queue_objects& queues) : into_(&into), queues_(&queues) {
    for (const queue_manifest& one : into.queues) known_.emplace(one.spec.name, one.api);
    for (const group_manifest& one : into.groups)
      if (one.kind == "PodGroup") described_.emplace(one.spec.ns, one.spec.name);
  }

  std::optional<error> run() {
    for (pod_manifest& one : into_->pods) {
      if (auto wrong = name(one)) return wrong;
      give_priority(one);
      give_kai_priority(one);
      hold_back(one);
    }
    const pod_home homes{*into_};
    for (pod_manifest& one : into_->pods) take_default(one, homes);
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string told(const pod_manifest& of) const {
    return where(*into_, of.from, "Pod", of.spec.ns, of.spec.name);
  }
  [[nodiscard]] bool is_there(std::string_view queue, std::string_view api) const {
    const auto found = known_.find(queue);
    return found != known_.end() && found->second == api;
  }
  /// Volcano always has a queue `default`; one that no object describes bounds nothing.
  [[nodiscard]] std::string volcano_queue(const std::string& name) const {
    return name == "default" && !known_.contains(name) ? std::string{} : name;
  }
  std::optional<error> name(pod_manifest& pod) {
    std::string by, field;
    for (const queue_word& word : queue_words_of_pods) {
      const std::string* said = find_word(pod, word.key, field);
      if (said == nullptr) continue;
      std::string queue = *said;
      if (word.what == names_what::local_queue) {
        const auto found = queues_->local_names.find({pod.spec.ns, *said});
        queue = found != queues_->local_names.end() ? found->second : pod.spec.ns + "/" + *said;
      } else if (word.what == names_what::volcano_queue) {
        queue = volcano_queue(queue);
      }
      if (!by.empty() && queue != pod.spec.queue)
        return error{errc::malformed, told(pod), field,
                     fmt::format("is in two queues: in \"{}\", and in \"{}\" by {}", queue, pod.spec.queue, by)};
      pod.spec.queue = std::move(queue);
      by = field;
    }
    return std::nullopt;
  }

  /// WorkloadPriorityClass: the priority of pods that have none; that of their group follows from it.
  void give_priority(pod_manifest& pod) {
    std::string field;
    const std::string* said = find_word(pod, priority_word, field);
    if (said == nullptr) return;
    const auto found = queues_->workload_priorities.find(*said);
    if (found == queues_->workload_priorities.end()) {
      wait_for(*into_, pod, {errc::unknown, told(pod), field, fmt::format("no WorkloadPriorityClass \"{}\"", *said)});
      return;
    }
    if (pod.spec.priority_class.empty() && !pod.spec.priority) pod.spec.priority = found->second;
  }

  /// A label of KAI's pods, or of their workload, counts before the pod's own class, unless there is no such class (its pod grouper).
  void give_kai_priority(pod_manifest& pod) {
    std::string field;
    if (pod.spec.scheduler_name != "kai-scheduler") return;
    const std::string* const said = find_word(pod, kai_priority_word, field);
    if (said != nullptr && give_class(pod, *said)) return;
    if (said != nullptr && unknown_priorities_.insert(*said).second)
      into_->warnings.push_back(
          {told(pod), std::move(field), fmt::format("no priority class \"{}\"; it is left out", *said)});
    give_kai_default(pod);
  }

  /// The class that the pod grouper chooses for a workload of which nothing names one that there is: by kind, of those that KAI brings.
  void give_kai_default(pod_manifest& pod) const {
    if (find_class(pod.spec.priority_class) != nullptr) return;
    if (pod.spec.priority.value_or(0) != 0 || described_.contains({pod.spec.ns, pod.group})) return;
    const bool of_deployment = pod.owner_kind == "ReplicaSet" && pod.spec.labels.contains("pod-template-hash");
    give_class(pod, of_deployment ? "inference" : "train");
  }

  [[nodiscard]] const priority_class_spec* find_class(const std::string& name) const {
    const auto found = std::ranges::find(into_->priority_classes, name, &priority_class_spec::name);
    return found == into_->priority_classes.end() ? nullptr : &*found;
  }
  /// Whether there is such a class.
  bool give_class(pod_manifest& pod, const std::string& name) const {
    const priority_class_spec* const chosen = find_class(name);
    if (chosen == nullptr) return false;
    pod.spec.priority_class = chosen->name;
    pod.spec.priority = chosen->value;
    return true;
  }

  /// A workload that Kueue queues is not admitted while it names who has to allow that first.
  void hold_back(pod_manifest& pod) const {
    const auto gates = pod.annotations.find("kueue.x-k8s.io/admission-gated-by");
    std::string field;
    if (gates == pod.annotations.end() || gates->second.empty() || !pod.node.empty() ||
        find_word(pod, "kueue.x-k8s.io/queue-name", field) == nullptr)
      return;
    pod.spec.scheduling_gates.push_back("kueue.x-k8s.io/admission-gated-by");
  }

  /// The queue that a system has for pods of its scheduler that name none.
  void take_default(pod_manifest& pod, const pod_home& homes) {
    struct own_default {
      std::string_view scheduler, queue, api;
    };
    static constexpr own_default defaults[] = {{"volcano", "default", "scheduling.volcano.sh"},
                                               {"kai-scheduler", "default-queue", "scheduling.run.ai"}};
    for (const own_default& one : defaults)
      if (pod.spec.scheduler_name == one.scheduler && is_there(one.queue, one.api) && homes.named(pod).empty())
        pod.spec.queue = one.queue;
  }

  manifests* into_;
  const queue_objects* queues_;
  std::map<std::string, std::string, std::less<>> known_;  // queues: the API that they are of
  std::set<std::string> unknown_priorities_;
  std::set<std::pair<std::string, std::string>> described_;  // groups of which an object says the class
};

/// Said once for each.
void say_missing_queues(manifests& all) {
  std::set<std::string_view> known;
  for (const queue_manifest& one : all.queues) known.insert(one.spec.name);
  const auto say = [&](const std::string& queue, origin from, std::string_view kind, std::string_view ns,
                       std::string_view name) {
    if (queue.empty() || !known.insert(queue).second) return;
    all.warnings.push_back(
        {where(all, from, kind, ns, name), "", fmt::format("no queue \"{}\": its pods wait for it", queue)});
  };
  for (const group_manifest& one : all.groups) say(one.spec.queue, one.from, one.kind, one.spec.ns, one.spec.name);
  for (const pod_manifest& one : all.pods) say(one.spec.queue, one.from, "Pod", one.spec.ns, one.spec.name);
}

}  // namespace

void settle_group_queues(manifests& into) {
  const group_index groups{into};
  std::map<std::size_t, std::optional<std::string>> said;  // by group; none: they differ
  const auto add = [&](const group_manifest* to, const std::string& queue) {
    if (to == nullptr || !to->spec.queue.empty()) return;
    const auto [known, first] = said.try_emplace(static_cast<std::size_t>(to - into.groups.data()), queue);
    if (!first && known->second != queue) known->second.reset();
  };
  const auto settle = [&] {
    for (const auto& [group, queue] : said)
      if (queue) into.groups[group].spec.queue = *queue;
    said.clear();
  };
  for (const pod_manifest& pod : into.pods)
    if (!pod.group.empty()) add(groups.find(false, pod.spec.ns, pod.group), pod.spec.queue);
  settle();
  for (int level = 1; level < most_group_levels; ++level) {
    for (const group_manifest& one : into.groups)
      if (!one.parent.empty()) add(groups.find(true, one.spec.ns, one.parent), one.spec.queue);
    settle();
  }
  say_missing_queues(into);
}

pod_home::pod_home(const manifests& all) : all_(&all) {
  for (std::size_t i = 0; i < all.groups.size(); ++i) {
    const group_spec& spec = all.groups[i].spec;
    groups_.try_emplace({spec.composite, spec.ns, spec.name}, i);
  }
  for (const queue_manifest& one : all.queues)
    for (const std::string& ns : one.spec.namespaces) namespaces_.emplace(ns, one.spec.name);
}

const std::string& pod_home::named(const pod_manifest& pod) const {
  static const std::string none;
  if (!pod.spec.queue.empty() || pod.group.empty()) return pod.spec.queue;
  auto at = groups_.find({false, pod.spec.ns, pod.group});
  for (int level = 0; at != groups_.end() && level < most_group_levels; ++level) {
    const group_manifest& group = all_->groups[at->second];
    if (!group.spec.queue.empty()) return group.spec.queue;
    at = group.parent.empty() ? groups_.end() : groups_.find({true, group.spec.ns, group.parent});
  }
  return none;
}

const std::string& pod_home::of(const pod_manifest& pod) const {
  const std::string& said = named(pod);
  return said.empty() ? of_namespace(pod.spec.ns) : said;
}

const std::string& pod_home::of_namespace(const std::string& ns) const {
  static const std::string none;
  const auto found = namespaces_.find(ns);
  return found == namespaces_.end() ? none : found->second;
}

std::optional<error> name_queues(manifests& into, const queue_objects& queues) {
  return queue_namer{into, queues}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
