#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// What pods say of their groups by labels and annotations: which one they are in, and, where no object describes it
// (Koordinator, Kueue), what it is like.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::string_view koordinator = "gang.scheduling.koordinator.sh/";
constexpr std::string_view light_name = "pod-group.scheduling.sigs.k8s.io/name";
constexpr std::string_view light_minimum = "pod-group.scheduling.sigs.k8s.io/min-available";
constexpr std::string_view kueue_group = "kueue.x-k8s.io/pod-group-name";
constexpr std::string_view kueue_total = "kueue.x-k8s.io/pod-group-total-count";

/// Label by label: there are few, and no key has to be made for the look-up.
const std::string* find(const label_map& in, std::string_view key) {
  for (const auto& [name, value] : in)
    if (name == key) return &value;
  return nullptr;
}

std::string path_of(std::string_view key, bool label = false) {
  return fmt::format("metadata.{}[\"{}\"]", label ? "labels" : "annotations", key);
}

std::optional<std::int32_t> number(const std::string& text) {
  std::int32_t made = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), made);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return made;
}

/// A gang as some pod declares it, with what others have to agree on.
struct declared {
  std::size_t draft = 0;
  std::string first;  ///< the pod that said so
  label_map said;
};

class annotation_reader {
 public:
  annotation_reader(manifests& pods, group_objects& into) : pods_(&pods), into_(&into) {
    for (std::size_t i = 0; i < into.groups.size(); ++i) {
      const group_spec& spec = into.groups[i].made.spec;
      if (!spec.composite) known_.emplace(std::pair{spec.ns, spec.name}, i);
    }
    described_ = into.groups.size();
  }

  std::optional<error> run() {
    // PodGroups have annotations too, for Koordinator. What pods say adds drafts, so that those are no references.
    for (std::size_t i = 0; i < described_; ++i) {
      const label_map annotations = std::move(into_->groups[i].annotations);
      if (annotations.empty()) continue;
      const group_manifest& made = into_->groups[i].made;
      at_ = {made.from, made.kind, made.spec.ns, made.spec.name, made.spec.name, &annotations};
      if (auto bad = interpret(into_->groups[i], true)) return bad;
    }
    for (pod_manifest& pod : pods_->pods) {
      pod_ = &pod;
      at_ = {pod.from, "Pod", pod.spec.ns, pod.spec.name, pod.group, &pod.annotations};
      if (auto wrong = one()) return wrong;
    }
    return together();
  }

 private:
  using name_in = std::pair<std::string, std::string>;  // namespace, name

  /// The object whose annotations are being read.
  struct speaker {
    origin from;
    std::string_view kind, ns, name;
    std::string group;
    const label_map* annotations = nullptr;
  };

  [[nodiscard]] std::string told() const { return where(*pods_, at_.from, at_.kind, at_.ns, at_.name); }
  [[nodiscard]] error wrong(errc code, std::string field, std::string reason) const {
    return {code, told(), std::move(field), std::move(reason)};
  }
  void warn(std::string field, std::string reason) {
    pods_->warnings.push_back({told(), std::move(field), std::move(reason)});
  }

  std::optional<error> one() {
    if (find(pod_->annotations, std::string{koordinator} + "name") != nullptr) {
      if (auto bad = declare_koordinator()) return bad;
    } else if (find(pod_->spec.labels, light_name) != nullptr && find(pod_->spec.labels, light_minimum) != nullptr) {
      if (auto bad = declare_counted(light_minimum, true)) return bad;
    } else if (find(pod_->spec.labels, kueue_group) != nullptr) {
      if (find(pod_->annotations, kueue_total) == nullptr)
        return wrong(errc::malformed, path_of(kueue_total), "is needed beside the label " + std::string{kueue_group});
      if (auto bad = declare_counted(kueue_total, false)) return bad;
    }
    if (pod_->group.empty() && is_queued_by_kueue(pod_->spec.labels, pod_->annotations) && has_own_workload()) {
      if (auto bad = join_owner(path_of("kueue.x-k8s.io/queue-name", true))) return bad;
    }
    if (auto bad = join_volcano()) return bad;
    auto asks = kueue_topology(*pod_);
    if (!asks) return wrong(asks.error().code, asks.error().field, asks.error().reason);
    return asks->empty() ? std::nullopt : ask(*std::move(asks));
  }

  /// The draft of the pod's group; null if an object describes it.
  group_draft* declare(const label_map& said, std::optional<error>& bad) {
    const name_in name{pod_->spec.ns, pod_->group};
    if (const auto at = known_.find(name); at != known_.end() && at->second < described_) return nullptr;
    const std::string self = pod_->spec.ns + "/" + pod_->spec.name;
    const auto [at, added] = declared_.try_emplace(name, declared{into_->groups.size(), self, said});
    news_ = first_ = added;
    if (!added) {
      for (const auto& [key, value] : said) {
        const auto [other, more] = at->second.said.emplace(key, value);
        news_ = news_ || more;
        if (more || other->second == value) continue;
        bad = wrong(
            errc::malformed, key,
            fmt::format("is \"{}\", and \"{}\" of pod {}, of the same group", value, other->second, at->second.first));
        return nullptr;
      }
      return &into_->groups[at->second.draft];
    }
    known_.emplace(name, into_->groups.size());
    group_draft& made = into_->groups.emplace_back();
    made.made.kind = "Pod";
    made.made.spec.ns = name.first;
    made.made.spec.name = name.second;
    made.made.from = pod_->from;
    made.made.spec.policy = gang{};
    made.has_policy = true;
    return &made;
  }

  /// A gang of which a number says everything.
  std::optional<error> declare_counted(std::string_view key, bool label) {
    const std::string* found = find(label ? pod_->spec.labels : pod_->annotations, key);
    const auto count = number(*found);
    if (!count || *count < 1)
      return wrong(errc::malformed, path_of(key, label), fmt::format("\"{}\" is no number above 0", *found));
    std::optional<error> bad;
    group_draft* made = declare({{path_of(key, label), *found}}, bad);
    if (made != nullptr) std::get<gang>(made->made.spec.policy).min_count = *count;
    return bad;
  }

  std::optional<error> declare_koordinator() {
    label_map said;
    for (const auto& [key, value] : pod_->annotations)
      if (key.starts_with(koordinator) && !key.ends_with("/network-topology-index")) said.emplace(path_of(key), value);
    std::optional<error> bad;
    group_draft* made = declare(said, bad);
    if (bad || made == nullptr) return bad;
    gang& policy = std::get<gang>(made->made.spec.policy);
    if (!news_) return std::nullopt;  // the others said the same
    const std::string minimum = path_of(std::string{koordinator} + "min-available");
    if (!declared_.at({pod_->spec.ns, pod_->group}).said.contains(minimum))
      return wrong(errc::malformed, minimum, "is needed");
    if (first_)
      policy.timeout = std::chrono::seconds{600}, policy.match = match_policy::once_satisfied;  // the defaults
    return interpret(*made, false);
  }

  /// Koordinator's annotations; of a PodGroup that an object describes, those that it has no fields for.
  std::optional<error> interpret(group_draft& made, bool described) {
    gang& policy = std::get<gang>(made.made.spec.policy);
    made.asks.layers.clear();
    std::optional<std::int32_t> total;
    bool loose = policy.mode == gang_mode::permit;
    for (const auto& [key, value] : *at_.annotations) {
      if (!key.starts_with(koordinator)) continue;
      const std::string_view what = std::string_view{key}.substr(koordinator.size());
      const auto no = [&](std::string_view expected) {
        return wrong(errc::malformed, path_of(key), fmt::format("\"{}\" is not {}", value, expected));
      };
      if (described && (what == "min-available" || what == "waiting-time")) continue;
      if (what == "min-available" || what == "total-number") {
        const auto count = number(value);
        if (!count || *count < 1) return no("a number above 0");
        if (what == "total-number")
          total = count;
        else
          policy.min_count = *count;
      } else if (what == "waiting-time") {
        const auto time = parse_duration(value);
        if (!time || *time <= instant::zero()) return no("a duration like 30s");
        policy.timeout = *time;
      } else if (what == "mode") {
        if (value != "Strict" && value != "NonStrict") return no("one of Strict, NonStrict");
        loose = value == "NonStrict";
      } else if (what == "match-policy") {
        if (value == "only-waiting")
          policy.match = match_policy::only_waiting;
        else if (value == "waiting-and-running")
          policy.match = match_policy::waiting_and_running;
        else if (value != "once-satisfied")
          return no("one of only-waiting, waiting-and-running, once-satisfied");
      } else if (what == "groups") {
        if (auto wrong_list = declare_together(path_of(key), value)) return wrong_list;
      } else if (what == "network-topology-spec") {
        made.asks.field = path_of(key);
        if (auto wrong_spec = read_gather(path_of(key), value, made.asks)) return wrong_spec;
      } else if (what != "name" && what != "network-topology-index") {
        warn(path_of(key), "is not modelled; it is left out");
      }
    }
    if (total && *total < policy.min_count)
      warn(path_of(std::string{koordinator} + "total-number"), "is below min-available, which counts");
    // All or nothing is one try. Only members that may wait for each other go one by one.
    if (loose) policy.mode = gang_mode::permit;
    return std::nullopt;
  }

  /// "groups": gangs that start together.
  std::optional<error> declare_together(std::string field, const std::string& text) {
    auto parsed = parse_json({"groups", text}, of_annotation);
    if (!parsed || parsed->size() != 1 || parsed->front().root.kind != value_kind::list)
      return wrong(errc::malformed, field, "is no JSON list of groups");
    std::set<std::string> names;
    for (const value& item : parsed->front().root.items) {
      const std::size_t slash = item.text.find('/');
      const std::string ns = slash == std::string::npos ? std::string{at_.ns} : item.text.substr(0, slash);
      if (item.kind != value_kind::text) return wrong(errc::malformed, field, "is no JSON list of groups");
      if (ns != at_.ns) return wrong(errc::malformed, field, fmt::format("\"{}\" is of another namespace", item.text));
      names.insert(slash == std::string::npos ? item.text : item.text.substr(slash + 1));
    }
    names.insert(at_.group);
    const std::set<std::string>* const all = &*lists_.insert(std::move(names)).first;
    for (const std::string& name : *all) {
      const auto [at, added] =
          together_.try_emplace({std::string{at_.ns}, name}, together_group{all, at_.from, told(), field});
      if (!added && at->second.names != all)
        return wrong(errc::malformed, field, fmt::format("\"{}\" is listed with other groups elsewhere", name));
    }
    return std::nullopt;
  }

  std::optional<error> read_gather(const std::string& field, const std::string& text, asked_topology& out) {
    auto parsed = parse_json({"spec", text}, of_annotation);
    const auto no = [&] {
      return wrong(errc::malformed, field, "is no JSON like {\"gatherStrategy\": [{\"layer\": …}]}");
    };
    if (!parsed || parsed->size() != 1) return no();
    const value* list = parsed->front().root.find("gatherStrategy");
    if (list == nullptr || list->kind != value_kind::list) return no();
    for (const value& item : list->items) {
      const value *layer = item.find("layer"), *strategy = item.find("strategy"),
                  *times = item.find("podCountMultiple");
      if (layer == nullptr || layer->kind != value_kind::text) return no();
      asked_layer& one = out.layers.emplace_back(asked_layer{.name = layer->text});
      if (strategy != nullptr && strategy->text != "MustGather" && strategy->text != "PreferGather")
        return wrong(errc::unknown, field,
                     fmt::format("\"{}\" is not one of MustGather, PreferGather", strategy->text));
      one.must = strategy != nullptr && strategy->text == "MustGather";
      if (times == nullptr) continue;
      const auto multiple = number(times->text);
      if (!multiple || *multiple < 1)
        return wrong(errc::out_of_range, field, "podCountMultiple has to be a number above 0");
      one.multiple = *multiple;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool has_own_workload() const { return pod_->owner_kind == "Job" || pod_->owner_kind == "StatefulSet"; }

  /// Pods of Volcano whose controller says how many of them start together (its podgroup controller; what is no number counts as 1).
  std::optional<error> join_volcano() {
    if (!pod_->group.empty() || pod_->owner_name.empty() || pod_->spec.scheduler_name != "volcano") return std::nullopt;
    constexpr std::string_view key = "scheduling.volcano.sh/group-min-member";
    const std::string* const said = find(pod_->annotations, key);
    const auto count = said == nullptr ? std::nullopt : number(*said);
    return count && *count > 1 ? join_owner(path_of(key), *count) : std::nullopt;
  }

  /// All pods of a Job or StatefulSet are a gang, or as many of a Job as it can do with; or as many as @p minimum.
  std::optional<error> join_owner(const std::string& field, std::optional<std::int32_t> minimum = {}) {
    // Two kinds of workload may have one name: the second one's gang is called by its kind, too.
    const auto [gang_name, fresh] =
        named_.try_emplace({pod_->owner_kind, pod_->spec.ns, pod_->owner_name}, pod_->owner_name);
    if (fresh && owned_.contains(name_in{pod_->spec.ns, pod_->owner_name})) {
      gang_name->second = lower_case(pod_->owner_kind) + "-" + pod_->owner_name;
    }
    pod_->group = gang_name->second;
    const auto found = known_.find({pod_->spec.ns, pod_->group});
    if (found != known_.end() && found->second < described_) return std::nullopt;
    std::int32_t& members = owned_[name_in{pod_->spec.ns, pod_->group}];
    if (found != known_.end() && members == 0)
      return wrong(errc::duplicate, field, fmt::format("another group is called \"{}\" too", pod_->group));
    std::optional<error> bad;
    group_draft* made = declare({}, bad);
    if (bad || made == nullptr) return bad;
    std::int32_t& least = std::get<gang>(made->made.spec.policy).min_count;
    least = ++members;
    if (minimum) return least = *minimum, std::nullopt;
    constexpr std::string_view fewest = "kueue.x-k8s.io/job-min-parallelism";
    const std::string* said = find(pod_->annotations, fewest);
    if (said == nullptr) return std::nullopt;
    const auto count = number(*said);
    if (!count || *count < 1)
      return wrong(errc::malformed, path_of(fewest), fmt::format("\"{}\" is no number above 0", *said));
    least = std::min(least, *count);
    return std::nullopt;
  }

  /// Kueue's annotations are about the pod set: here the pod's group, or the Job's or StatefulSet's pods.
  std::optional<error> ask(asked_topology asks) {
    if (pod_->group.empty()) {
      if (!has_own_workload()) {
        warn(asks.field, "is about pods that start together, and this one is in no group; it is left out");
        return std::nullopt;
      }
      if (auto bad = join_owner(asks.field)) return bad;
    }
    const auto found = known_.find({pod_->spec.ns, pod_->group});
    if (found == known_.end()) return std::nullopt;  // an expected group: the object that adds it says where
    group_draft& group = into_->groups[found->second];
    if (!group.made.spec.topology.within.empty()) {
      warn(asks.field, "the group itself says where its members are to be; it is left out");
      return std::nullopt;
    }
    if (group.asks.empty()) {
      group.asks = std::move(asks);
      return std::nullopt;
    }
    if (group.asks.agrees(asks)) return std::nullopt;
    return wrong(errc::malformed, asks.field,
                 fmt::format("is not what other members of the group \"{}\" ask for", pod_->group));
  }

  /// Groups of gangs become composite gangs that need all of them.
  std::optional<error> together() {
    for (const auto& [name, one] : together_) {
      if (one.names->size() == 1 || *one.names->begin() != name.second) continue;
      const std::string parent = name.second + "-group";
      for (const std::string& member : *one.names) {
        const auto found = known_.find({name.first, member});
        if (found == known_.end()) {
          pods_->warnings.push_back(
              {one.object, one.field, fmt::format("no gang \"{}\" in the files: the others wait for it", member)});
          continue;
        }
        group_draft& draft = into_->groups[found->second];
        if (!draft.made.parent.empty()) {
          return error{errc::malformed, one.object, one.field,
                       fmt::format("\"{}\" is in the group \"{}\" already", member, draft.made.parent)};
        }
        draft.made.parent = parent;
        if (gang* policy = std::get_if<gang>(&draft.made.spec.policy)) policy->mode = gang_mode::group_cycle;
      }
      group_draft made;
      made.made.kind = "Pod";
      made.made.from = one.from;
      made.made.spec.ns = name.first;
      made.made.spec.name = parent;
      made.made.spec.composite = true;
      made.made.spec.policy = gang{.min_count = static_cast<std::int32_t>(one.names->size())};
      made.has_policy = true;
      into_->groups.push_back(std::move(made));
    }
    return std::nullopt;
  }

  struct together_group {
    const std::set<std::string>* names;  ///< in lists_, the same for all groups of a list
    origin from;
    std::string object, field;  ///< where it was said
  };

  manifests* pods_;
  group_objects* into_;
  pod_manifest* pod_ = nullptr;
  speaker at_;
  bool news_ = false;          ///< this pod says more of its group than those before it
  bool first_ = false;         ///< none was before it
  std::size_t described_ = 0;  ///< drafts from objects, which count more than annotations
  std::map<name_in, std::size_t> known_;
  std::map<name_in, declared> declared_;
  std::set<std::set<std::string>> lists_;
  std::map<name_in, together_group> together_;
  std::map<name_in, std::int32_t> owned_;
  std::map<std::tuple<std::string, std::string, std::string>, std::string>
      named_;  // gangs by owner: kind, namespace, name
};

}  // namespace

std::optional<error> read_membership(pod_manifest& pod) {
  const auto in_object = [&](std::string field, std::string reason) {
    return error{errc::malformed, {}, std::move(field), std::move(reason)};
  };
  std::string by = pod.group.empty() ? "" : "spec.schedulingGroup.podGroupName";
  static constexpr std::pair<std::string_view, bool> names[] = {{"scheduling.x-k8s.io/pod-group", true},
                                                                {light_name, true},
                                                                {"pod-group.scheduling.sigs.k8s.io", true},
                                                                {"scheduling.k8s.io/group-name", false},
                                                                {"scheduling.volcano.sh/group-name", false},
                                                                {"gang.scheduling.koordinator.sh/name", false},
                                                                {kueue_group, true},
                                                                {"pod-group-name", false}};
  for (const auto& [key, label] : names) {
    const std::string* found = find(label ? pod.spec.labels : pod.annotations, key);
    if (found == nullptr || found->empty()) continue;
    if (!pod.group.empty() && pod.group != *found) {
      return in_object(path_of(key, label),
                       fmt::format("a member of two groups: of \"{}\", and of \"{}\" by {}", *found, pod.group, by));
    }
    pod.group = *found;
    by = path_of(key, label);
  }
  const auto role = [&](const label_map& in, std::string_view key) {
    if (const std::string* found = find(in, key); found != nullptr && pod.spec.role.empty()) pod.spec.role = *found;
  };
  role(pod.annotations, "volcano.sh/task-spec");
  role(pod.spec.labels, "volcano.sh/task-spec");
  role(pod.spec.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  if (const std::string* type = find(pod.spec.labels, "ray.io/node-type"); type != nullptr && *type == "head")
    pod.spec.role = "head";
  role(pod.spec.labels, "ray.io/group");
  role(pod.spec.labels, "training.kubeflow.org/replica-type");
  role(pod.spec.labels, "training.kubeflow.org/job-role");  // of the MPI operator, which has no other
  role(pod.spec.labels, "spark-role");
  role(pod.spec.labels, "kai.scheduler/subgroup-name");
  static constexpr std::pair<std::string_view, bool> ranks[] = {
      {"gang.scheduling.koordinator.sh/network-topology-index", false},
      {"volcano.sh/task-index", false},
      {"volcano.sh/task-index", true},
      {"leaderworkerset.sigs.k8s.io/worker-index", true},
      {"training.kubeflow.org/replica-index", true},
      {"batch.kubernetes.io/job-completion-index", true},
      {"apps.kubernetes.io/pod-index", true}};
  for (const auto& [key, label] : ranks) {
    const std::string* found = find(label ? pod.spec.labels : pod.annotations, key);
    if (found == nullptr || pod.spec.rank) continue;
    const auto rank = number(*found);
    if (label && !rank) continue;  // any program may set such labels
    if (!rank || *rank < 0) return in_object(path_of(key, label), fmt::format("\"{}\" is no index", *found));
    pod.spec.rank = rank;
  }
  return std::nullopt;
}

namespace {

/// [{topology, size}], the outer layer first (Kueue's TASMultiLayerTopology).
std::optional<error> read_slice_layers(const std::string& field, const std::string& text, asked_topology& out) {
  constexpr std::size_t most_layers = 3;
  const auto wrong = [&](errc code, std::string_view inside, std::string reason) {
    return error{code, {}, fmt::format("{}{}", field, inside), std::move(reason)};
  };
  auto parsed = parse_json({"constraints", text}, of_annotation);
  if (!parsed || parsed->size() != 1 || parsed->front().root.kind != value_kind::list)
    return wrong(errc::malformed, "", "is no JSON list like [{\"topology\": …, \"size\": …}]");
  const std::vector<value>& layers = parsed->front().root.items;
  if (layers.empty() || layers.size() > most_layers)
    return wrong(errc::out_of_range, "",
                 fmt::format("has {} layers, which is not 1 to {}", layers.size(), most_layers));
  out.slice_field = field;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto inside = [&](std::string_view name) { return fmt::format("[{}]{}", i, name); };
    if (layers[i].kind != value_kind::object) return wrong(errc::malformed, inside(""), "is no object");
    topology_slice layer{.key = {}, .size = 0};
    for (std::size_t at = 0; at < layers[i].keys.size(); ++at) {
      const std::string& name = layers[i].keys[at];
      const value& said = layers[i].items[at];
      if (name == "topology") {
        if (said.kind != value_kind::text) return wrong(errc::malformed, inside(".topology"), "is no label");
        layer.key = said.text;
      } else if (name == "size") {
        const auto size = number(said.text);
        if (!size || *size < 1)
          return wrong(errc::out_of_range, inside(".size"), fmt::format("\"{}\" is no number above 0", said.text));
        layer.size = *size;
      } else {
        return wrong(errc::unknown, inside("." + name),
                     name == "sizes" ? "slices of different sizes are not modelled" : "there is no such field");
      }
    }
    if (layer.key.empty()) return wrong(errc::malformed, inside(".topology"), "names no label");
    if (layer.size == 0) return wrong(errc::malformed, inside(".size"), "is needed");
    if (std::ranges::find(out.slices, layer.key, &topology_slice::key) != out.slices.end())
      return wrong(errc::duplicate, inside(".topology"), fmt::format("\"{}\" is a layer before it already", layer.key));
    if (i > 0 && out.slices.back().size % layer.size != 0)
      return wrong(errc::out_of_range, inside(".size"),
                   fmt::format("{} does not divide {}, the size before it", layer.size, out.slices.back().size));
    out.slices.push_back(std::move(layer));
  }
  return std::nullopt;
}

}  // namespace

result<asked_topology> kueue_topology(const pod_manifest& pod) {
  const auto key = [](std::string_view what) { return fmt::format("kueue.x-k8s.io/podset-{}", what); };
  const auto bad = [&](std::string_view what, std::string reason) {
    return error{errc::malformed, {}, path_of(key(what)), std::move(reason)};
  };
  asked_topology made;
  if (pod.annotations.empty()) return made;
  int kinds = 0;
  for (const std::string_view what : {"required-topology", "preferred-topology", "unconstrained-topology"}) {
    const std::string* found = find(pod.annotations, key(what));
    if (found == nullptr) continue;
    made.field = path_of(key(what));
    if (what[0] == 'u') {
      constexpr std::string_view yes[] = {"true", "1", "t", "T", "True", "TRUE"};  // as Go reads them
      constexpr std::string_view no[] = {"false", "0", "f", "F", "False", "FALSE"};
      if (std::ranges::find(no, *found) != std::end(no)) continue;
      if (std::ranges::find(yes, *found) == std::end(yes))
        return bad(what, fmt::format("\"{}\" is not true or false", *found));
      made.unconstrained = true;
    } else {
      if (found->empty()) return bad(what, "names no label");
      (what[0] == 'r' ? made.required : made.preferred) = *found;
    }
    if (++kinds > 1) return bad(what, "only one of required, preferred and unconstrained can be");
  }
  const std::string* slice = find(pod.annotations, key("slice-required-topology"));
  const std::string* size = find(pod.annotations, key("slice-size"));
  if ((slice == nullptr) != (size == nullptr))
    return bad(slice == nullptr ? "slice-size" : "slice-required-topology",
               slice == nullptr ? "goes with a slice-required-topology" : "goes with a slice-size");
  constexpr std::string_view layered = "slice-required-topology-constraints";
  const bool shares = find(pod.annotations, key("group-name")) != nullptr;
  if (slice != nullptr && shares) return bad("slice-required-topology", "and group-name exclude each other");
  if (const std::string* layers = find(pod.annotations, key(layered)); layers != nullptr) {
    if (slice != nullptr) return bad(layered, "and slice-required-topology exclude each other");
    if (shares) return bad(layered, "and group-name exclude each other");
    if (auto wrong = read_slice_layers(path_of(key(layered)), *layers, made)) return *std::move(wrong);
    if (made.field.empty()) made.field = made.slice_field;
    return made;
  }
  if (slice == nullptr) return made;
  const auto count = number(*size);
  if (!count || *count < 1) return bad("slice-size", fmt::format("\"{}\" is no number above 0", *size));
  if (made.field.empty()) made.field = path_of(key("slice-required-topology"));
  made.slices.push_back({*slice, *count});
  return made;
}

std::optional<error> read_own_annotations(group_draft& group, std::string_view file, std::vector<warning>* warnings) {
  manifests alone;
  alone.files.emplace_back(file);
  group_objects one;
  const std::string together = std::string{koordinator} + "groups";
  if (group.annotations.erase(together) != 0)
    alone.warnings.push_back({where(alone, group.made.from, group.made.kind, group.made.spec.ns, group.made.spec.name),
                              fmt::format("metadata.annotations[\"{}\"]", together),
                              "which gangs start together takes other objects to know; it is left out"});
  one.groups.push_back(std::move(group));
  auto wrong = annotation_reader{alone, one}.run();
  group = std::move(one.groups.front());
  if (warnings != nullptr) warnings->insert(warnings->end(), alone.warnings.begin(), alone.warnings.end());
  return wrong;
}

std::optional<error> read_gang_annotations(manifests& pods, group_objects& into) {
  return annotation_reader{pods, into}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
