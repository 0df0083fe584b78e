#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "gangsched/model/validate.hpp"
#include "gangsched/plugins/yunikorn.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/queues/queues.hpp"

// Which of YuniKorn's queues pods are in, by what they say and by its rules; their applications as groups; and the queues themselves.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

namespace yk = queues::yunikorn;

constexpr std::string_view yunikorn_prefix = "yunikorn.apache.org/";
constexpr const char* yunikorn_word = "yunikorn.apache.org/queue";
constexpr const char* default_queue = "root.default";
constexpr const char* default_user = "nobody";
constexpr std::string_view own_application = "-uniqueautogen";  ///< at the end: each pod is an application of its own

/// What YuniKorn's placement rules read of a pod.
struct applicant {
  std::string queue, ns, user;
  const std::vector<std::string>* groups = nullptr;
  const label_map* of_namespace = nullptr;  ///< its annotations
};

/// What the label says; null if there is none, or nothing in it.
const std::string* label_of(const pod_manifest& pod, const char* key) {
  const auto found = pod.spec.labels.find(key);
  return found == pod.spec.labels.end() || found->second.empty() ? nullptr : &found->second;
}

/// What the label of that key says, or else the annotation.
const std::string* either(const pod_manifest& pod, const char* key) {
  if (const std::string* const said = label_of(pod, key)) return said;
  const auto found = pod.annotations.find(key);
  return found == pod.annotations.end() || found->second.empty() ? nullptr : &found->second;
}

/// Queues by path, which rules add to.
class yunikorn_tree {
 public:
  explicit yunikorn_tree(yunikorn_draft& of) : of_(&of) {
    for (std::size_t i = 0; i < of.queues.size(); ++i) at_.emplace(of.queues[i].path, i);
  }

  /// As YuniKorn's placement manager: the first rule that gives a leaf, or a queue that can be made.
  [[nodiscard]] std::string place(const applicant& who) {
    static const std::vector<placement_rule> only_provided(1);
    for (const placement_rule& rule : of_->rules.empty() ? only_provided : of_->rules) {
      const std::string path = by_rule(rule, who);
      if (path.empty()) continue;
      const yunikorn_queue* there = find(path);
      if (there != nullptr ? !there->is_parent : make(path)) return path;
    }
    return default_queue;  // if there is none, its pods wait
  }

  /// The queue of that path, if a rule made it.
  [[nodiscard]] yunikorn_queue* made(const std::string& path) {
    const auto found = at_.find(path);
    return found == at_.end() || !of_->queues[found->second].made ? nullptr : &of_->queues[found->second];
  }

  /// The group whose limits count for a user with these groups in the queue: the first that limits of it name, else of the queue above.
  [[nodiscard]] const std::string* group_of(std::string path, const std::vector<std::string>& groups) const {
    for (;;) {
      if (const yunikorn_queue* const queue = find(path)) {
        for (const yunikorn_limit& limit : queue->limits)
          for (const std::string& one : limit.groups)
            if (const auto its = std::ranges::find(groups, one); its != groups.end()) return &*its;
      }
      const std::size_t end = path.rfind('.');
      if (end == std::string::npos) return nullptr;
      path.resize(end);
    }
  }

 private:
  [[nodiscard]] const yunikorn_queue* find(const std::string& path) const {
    const auto found = at_.find(path);
    return found == at_.end() ? nullptr : &of_->queues[found->second];
  }

  [[nodiscard]] static bool allows(const placement_rule& rule, const applicant& who) {
    if (!rule.filtered || (rule.users.empty() && rule.groups.empty())) return !rule.denies;
    const auto in = [](const std::vector<std::string>& list, const std::string& name) {
      return std::ranges::find(list, name) != list.end();
    };
    const bool listed = in(rule.users, who.user) ||
                        std::ranges::any_of(*who.groups, [&](const std::string& one) { return in(rule.groups, one); });
    return listed != rule.denies;
  }

  [[nodiscard]] static std::string one_part(std::string_view name) {
    std::string made;
    for (const char c : name) made += c == '.' ? std::string{"_dot_"} : std::string{c};
    return made;
  }

  [[nodiscard]] std::string by_rule(const placement_rule& rule, const applicant& who) const {
    using kind = placement_rule::kind;
    if (!allows(rule, who)) return {};
    static const std::string nothing;
    const auto above_all = who.of_namespace == nullptr ? label_map::const_iterator{}
                                                       : who.of_namespace->find("yunikorn.apache.org/parentqueue");
    const std::string& parent_queue =
        who.of_namespace == nullptr || above_all == who.of_namespace->end() ? nothing : above_all->second;
    const std::string& said = rule.what == kind::provided ? who.queue
                              : rule.what == kind::fixed  ? rule.value
                              : rule.what == kind::user   ? who.user
                              : rule.value == "namespace" ? who.ns
                                                          : parent_queue;
    if (said.empty()) return {};
    std::string path = said;
    if (!said.starts_with("root.") || rule.what == kind::user) {
      std::string above = "root";
      if (!rule.parent.empty()) above = by_rule(rule.parent.front(), who);
      if (above.empty()) return {};
      if (const yunikorn_queue* parent = find(above); parent != nullptr && !parent->is_parent) return {};
      path = above + "." + (rule.what == kind::fixed ? said : one_part(said));
    }
    for (char& c : path)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return rule.create || find(path) != nullptr ? path : std::string{};
  }

  /// The queues that are missing on the way, as the template of the one above says. False below a leaf.
  bool make(const std::string& path) {
    std::size_t end = path.size();
    while (end != std::string::npos && !at_.contains(path.substr(0, end))) end = path.rfind('.', end - 1);
    if (end == std::string::npos) return false;
    std::string above = path.substr(0, end);
    if (!of_->queues[at_.at(above)].is_parent) return false;
    while (end < path.size()) {
      const std::size_t next = std::min(path.find('.', end + 1), path.size());
      const std::vector<yunikorn_queue> as = of_->queues[at_.at(above)].child_template;
      const bool gives = of_->queues[at_.at(above)].gives, preempts = of_->queues[at_.at(above)].preempts;
      // Leaves are as the template says, others as one that says nothing: properties hold for those below only where a file names them.
      yunikorn_queue made = next == path.size() && !as.empty() ? as.front() : yunikorn_queue{};
      made.quota_preemption_delay = {};  // queues that rules make are left alone
      made.path = path.substr(0, next);
      made.parent = above;
      made.line = of_->from.line;
      made.is_parent = next < path.size();
      made.made = true;
      made.preempts = preempts;
      made.gives =
          made.preemption == yk::preemption_policy::allow ? gives : made.preemption == yk::preemption_policy::fence;
      if (made.is_parent) made.child_template = as;
      above = made.path;
      at_.emplace(made.path, of_->queues.size());
      of_->queues.push_back(std::move(made));
      end = next;
    }
    return true;
  }

  yunikorn_draft* of_;
  std::map<std::string, std::size_t> at_;
};

/// Pods of applications.
class yunikorn_pods {
 public:
  yunikorn_pods(manifests& into, queue_objects& queues) : into_(&into), draft_(&queues.yunikorn), objects_(&queues) {
    if (*draft_) tree_.emplace(**draft_);
    for (std::size_t i = 0; *draft_ && i < (*draft_)->queues.size(); ++i)
      limited_ = limited_ || !(*draft_)->queues[i].limits.empty();
    for (const group_manifest& one : into.groups) taken_.emplace(one.spec.ns, one.spec.name);
  }

  std::optional<error> run() {
    for (pod_manifest& pod : into_->pods)
      if (auto wrong = one(pod)) return wrong;
    for (const auto& [name, index] : applications_) {
      const group_manifest& made = into_->groups[index];
      if (const auto wrong = check(made.spec))
        return error{wrong->code, where(*into_, made.from, "Pod", made.spec.ns, made.spec.name), "metadata.labels",
                     fmt::format("\"{}\" as the name of an application: {}", made.spec.name, wrong->reason)};
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] error told(const pod_manifest& pod, errc code, std::string_view key, std::string reason) const {
    return {code, where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name),
            fmt::format("metadata.annotations[\"{}{}\"]", yunikorn_prefix, key), std::move(reason)};
  }

  std::optional<error> one(pod_manifest& pod) {
    // As its shim finds them (pkg/common/utils). Labels that are not YuniKorn's alone mean something only where YuniKorn is.
    const std::string* queue = either(pod, yunikorn_word);
    const std::string* application = either(pod, "yunikorn.apache.org/app-id");
    const bool ours = *draft_ && (pod.spec.scheduler_name == "yunikorn" || queue != nullptr || application != nullptr ||
                                  pod.spec.labels.contains("applicationId"));
    if (ours && queue == nullptr) queue = label_of(pod, "queue");
    for (const char* const key : {"applicationId", "spark-app-selector"})
      if (ours && application == nullptr) application = label_of(pod, key);
    const std::string application_name = application != nullptr ? *application
                                         : ours ? fmt::format("yunikorn-{}-autogen", pod.spec.ns).substr(0, 63)
                                                : std::string{};
    if (auto wrong = read_user(pod)) return wrong;
    if (ours && pod.user.empty()) pod.user = default_user;
    if (ours || queue != nullptr) {
      const auto its = objects_->yunikorn_namespaces.find(pod.spec.ns);
      const label_map* const of_namespace = its == objects_->yunikorn_namespaces.end() ? nullptr : &its->second;
      applicant who{queue == nullptr ? std::string{} : *queue, pod.spec.ns, pod.user, &pod.user_groups, of_namespace};
      pod.annotations[yunikorn_word] = tree_ ? tree_->place(who) : who.queue;
      if (of_namespace != nullptr && tree_)
        if (yunikorn_queue* const made = tree_->made(pod.annotations[yunikorn_word]))
          if (given_.emplace(pod.spec.ns, made->path).second) give(pod.spec.ns, *of_namespace, *made);
    }
    if (ours) label(pod);
    const bool alone = application_name.empty() || application_name.ends_with(own_application);
    return alone || !pod.group.empty() ? std::nullopt : join(pod, application_name);
  }

  /// What the policy reads of a pod, in the labels where it looks for it.
  void label(pod_manifest& pod) const {
    const yunikorn_policy::options reads;
    if (limited_) {
      pod.spec.labels.emplace(reads.user_label, pod.user);
      const std::string* group = tree_->group_of(pod.annotations[yunikorn_word], pod.user_groups);
      if (group == nullptr && !pod.user_groups.empty()) group = &pod.user_groups.front();
      if (group != nullptr) pod.spec.labels.emplace(reads.group_label, *group);
    }
    const auto said = pod.annotations.find(reads.allow_label);  // the annotation has the same name
    const bool speaks = said != pod.annotations.end() && (said->second == "true" || said->second == "false");
    if (speaks ? said->second == "false" : objects_->spared_classes.contains(pod.spec.priority_class))
      pod.spec.labels.emplace(reads.allow_label, "false");
  }

  /// Not negative, and small enough to count.
  static std::optional<quantity> amount_of(std::string_view resource, const std::string& text) {
    const auto parsed = quantity::parse(text);
    std::int64_t counts = 0;
    if (!parsed || !(resource == "cpu" ? parsed->milli_value(counts) : parsed->value(counts)) || counts < 0)
      return std::nullopt;
    return *parsed;
  }

  /// What the annotations of the namespace say that the queue has, which a rule made for its applications.
  void give(const std::string& ns, const label_map& annotations, yunikorn_queue& to) {
    const auto text = [&](const char* key) {
      const auto found = annotations.find(std::string{yunikorn_prefix} + "namespace." + key);
      return found == annotations.end() || found->second.empty() ? nullptr : &found->second;
    };
    const auto wrong = [&](const char* key, const char* reason) {
      if (warned_.emplace(ns, key).second)
        into_->warnings.push_back({object_name("Namespace", {}, ns),
                                   fmt::format("metadata.annotations[\"{}namespace.{}\"]", yunikorn_prefix, key),
                                   fmt::format("{}; it is left out", reason)});
    };
    const auto amounts = [&](const char* key, const std::string& said, resource_list& out) {
      auto parsed = parse_json({key, said}, of_annotation);
      bool fine = parsed && parsed->size() == 1 && parsed->front().root.kind == value_kind::object;
      resource_list made;
      for (std::size_t i = 0; fine && i < parsed->front().root.keys.size(); ++i) {
        const std::string& name = parsed->front().root.keys[i];
        const auto amount = amount_of(name, parsed->front().root.items[i].text);
        fine = amount.has_value();
        if (fine) made[name] = *amount;
      }
      if (fine)
        out = std::move(made);
      else
        wrong(key, "is no JSON like {\"cpu\": \"2\", \"memory\": \"4Gi\"}");
    };
    if (const std::string* const said = text("quota")) {
      amounts("quota", *said, to.most);
    } else {
      for (const auto& [key, name] : {std::pair{"max.cpu", "cpu"}, std::pair{"max.memory", "memory"}}) {
        const std::string* const most = text(key);
        if (most == nullptr) continue;
        if (const auto amount = amount_of(name, *most))
          to.most[name] = *amount;
        else
          wrong(key, "is no amount");
      }
    }
    if (const std::string* const said = text("guaranteed")) amounts("guaranteed", *said, to.guaranteed);
    if (const std::string* const said = text("maxApps")) {
      std::int32_t most = 0;
      const auto [end, bad] = std::from_chars(said->data(), said->data() + said->size(), most);
      if (bad != std::errc{} || end != said->data() + said->size() || most < 0)
        wrong("maxApps", "is no whole number");
      else if (most != 0)
        to.max_applications = static_cast<std::uint32_t>(most);
    }
  }

  std::optional<error> read_user(pod_manifest& pod) const {
    if (const auto named = pod.spec.labels.find("yunikorn.apache.org/username"); named != pod.spec.labels.end())
      pod.user = named->second;
    const auto said = pod.annotations.find("yunikorn.apache.org/user.info");
    if (said == pod.annotations.end()) return std::nullopt;
    auto parsed = parse_json({"user.info", said->second}, of_annotation);
    const auto no = [&] {
      return told(pod, errc::malformed, "user.info", "is no JSON like {\"user\": …, \"groups\": […]}");
    };
    if (!parsed || parsed->size() != 1) return no();
    const value& root = parsed->front().root;
    const value *user = root.find("user"), *groups = root.find("groups");
    if (user == nullptr || user->kind != value_kind::text) return no();
    pod.user = user->text;
    if (groups == nullptr) return std::nullopt;
    if (groups->kind != value_kind::list) return no();
    for (const value& item : groups->items) {
      if (item.kind != value_kind::text) return no();
      pod.user_groups.push_back(item.text);
    }
    return std::nullopt;
  }

  /// Pods of an application are a group: what a queue counts as one. With task groups it is a gang.
  std::optional<error> join(pod_manifest& pod, const std::string& application) {
    const std::pair<std::string, std::string> name{pod.spec.ns, application};
    auto known = applications_.find(name);
    if (known == applications_.end()) {
      if (taken_.contains(name))
        return told(pod, errc::duplicate, "app-id", fmt::format("another group is called \"{}\" too", application));
      known = applications_.emplace(name, into_->groups.size()).first;
      group_manifest& made = into_->groups.emplace_back();
      made.kind = "Pod";
      made.from = pod.from;
      made.spec.ns = pod.spec.ns;
      made.spec.name = application;
    }
    pod.group = application;
    if (const auto role = pod.annotations.find("yunikorn.apache.org/task-group-name");
        role != pod.annotations.end() && pod.spec.role.empty())
      pod.spec.role = role->second;
    const auto tasks = pod.annotations.find("yunikorn.apache.org/task-groups");
    group_spec& spec = into_->groups[known->second].spec;
    if (tasks == pod.annotations.end() || std::holds_alternative<gang>(spec.policy)) return std::nullopt;
    if (auto wrong = read_task_groups(pod, tasks->second, spec)) return wrong;
    const auto words = pod.annotations.find("yunikorn.apache.org/schedulingPolicyParameters");
    if (words == pod.annotations.end()) return std::nullopt;
    return read_parameters(pod, words->second, std::get<gang>(spec.policy));
  }

  /// Words like "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard"; as YuniKorn does, others and wrong values are passed over, but
  /// not without a word.
  std::optional<error> read_parameters(const pod_manifest& pod, std::string_view text, gang& out) const {
    const auto warn = [&](std::string reason) {
      error made = told(pod, errc::malformed, "schedulingPolicyParameters", std::move(reason));
      into_->warnings.push_back({std::move(made.object), std::move(made.field), std::move(made.reason)});
    };
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const std::size_t equals = word.find('=');
      if (word.empty()) continue;
      const std::string_view key = word.substr(0, equals);
      const std::string_view value = equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
      if (key == "placeholderTimeoutInSeconds") {
        std::int32_t seconds = 0;
        const auto [last, bad] = std::from_chars(value.data(), value.data() + value.size(), seconds);
        if (bad != std::errc{} || last != value.data() + value.size() || seconds < 1)
          warn(
              fmt::format("placeholderTimeoutInSeconds \"{}\" is no number of seconds above 0; it is left out", value));
        else
          out.timeout = std::chrono::seconds{seconds};
      } else if (key == "gangSchedulingStyle") {
        if (value == "Soft")
          warn(
              "gangSchedulingStyle Soft: a gang that is not placed in time waits on as a gang, and never goes on as "
              "single pods");
        else if (value != "Hard")
          warn(fmt::format("gangSchedulingStyle \"{}\" is not Soft or Hard; it is left out", value));
      } else {
        warn(fmt::format("\"{}\" is not known; it is left out", key));
      }
    }
    return std::nullopt;
  }

  std::optional<error> read_task_groups(const pod_manifest& pod, const std::string& text, group_spec& out) const {
    auto parsed = parse_json({"task-groups", text}, of_annotation);
    const auto no = [&] {
      return told(pod, errc::malformed, "task-groups", "is no JSON list like [{\"name\": …, \"minMember\": …}]");
    };
    if (!parsed || parsed->size() != 1 || parsed->front().root.kind != value_kind::list) return no();
    gang made{.min_count = 0};
    std::int64_t sum = 0;
    for (const value& item : parsed->front().root.items) {
      const value *name = item.find("name"), *least = item.find("minMember");
      if (name == nullptr || name->kind != value_kind::text || least == nullptr) return no();
      reader read{"task-groups", {}, nullptr};
      std::int32_t count = 0;
      if (!read.integer(place{least}, count, 0)) return no();
      sum += count;
      if (std::ranges::find(made.roles, name->text, &role_minimum::role) != made.roles.end())
        return told(pod, errc::duplicate, "task-groups", fmt::format("there is another task group \"{}\"", name->text));
      if (count > 0) made.roles.push_back({name->text, count});
    }
    if (sum < 1 || sum > std::numeric_limits<std::int32_t>::max())
      return told(pod, errc::out_of_range, "task-groups", fmt::format("{} members are not 1 to 2^31-1", sum));
    made.min_count = static_cast<std::int32_t>(sum);
    std::ranges::sort(made.roles, {}, &role_minimum::role);
    out.policy = std::move(made);
    return std::nullopt;
  }

  manifests* into_;
  std::optional<yunikorn_draft>* draft_;
  const queue_objects* objects_;
  std::optional<yunikorn_tree> tree_;
  bool limited_ = false;                                 ///< some queue limits users or groups
  std::set<std::pair<std::string, std::string>> given_;  ///< namespaces, and queues that have what these say
  std::set<std::pair<std::string, std::string>> warned_;
  std::set<std::pair<std::string, std::string>> taken_;
  std::map<std::pair<std::string, std::string>, std::size_t> applications_;
};

/// Amounts as YuniKorn numbers them.
class yunikorn_types {
 public:
  explicit yunikorn_types(std::vector<std::string>& names) : names_(&names) {}
  /// False if there are too many types.
  bool add(const resource_list& from, yk::resources& to) {
    for (const auto& [name, amount] : from) {
      const auto found = std::ranges::find(*names_, name);
      const auto type = static_cast<yk::resource_type>(found - names_->begin());
      if (type == yk::max_types) return false;
      if (found == names_->end()) names_->push_back(name);
      std::int64_t units = 0;
      static_cast<void>(name == "cpu" ? amount.milli_value(units)
                                      : amount.value(units));  // both fit: they were checked when read
      to.set(type, units);
    }
    return true;
  }

 private:
  std::vector<std::string>* names_;
};

/// What YuniKorn is installed with: a queue for each namespace. Such annotations mean nothing without it.
void presume_defaults(manifests& into, queue_objects& queues) {
  const auto says = [](const auto& one) {
    return std::ranges::any_of(one.second, [](const auto& word) {
      for (const char* const key : {"quota", "guaranteed", "maxApps", "max.cpu", "max.memory"})
        if (word.first == std::string{yunikorn_prefix} + "namespace." + key) return true;
      return false;
    });
  };
  const auto first = std::ranges::find_if(queues.yunikorn_namespaces, says);
  if (queues.yunikorn || first == queues.yunikorn_namespaces.end()) return;
  into.warnings.push_back(
      {object_name("Namespace", {}, first->first), "metadata.annotations",
       "no queues.yaml of YuniKorn is in the files: what it is installed with counts, a queue for each namespace"});
  yunikorn_draft& made = queues.yunikorn.emplace();
  made.queues.push_back({.path = "root", .is_parent = true});
  made.rules.push_back({.what = placement_rule::kind::tag, .named = true, .create = true, .value = "namespace"});
}

}  // namespace

std::optional<error> form_applications(manifests& into, queue_objects& queues) {
  presume_defaults(into, queues);
  return yunikorn_pods{into, queues}.run();
}

std::optional<error> add_yunikorn_queues(manifests& into, queue_objects& queues) {
  if (!queues.yunikorn) return std::nullopt;
  yunikorn_queues& made = into.yunikorn.emplace();
  yunikorn_types types{made.types};
  for (const yunikorn_queue& one : queues.yunikorn->queues) {
    queue_manifest& queue = queues.queues.emplace_back();
    queue.api = "yunikorn.apache.org", queue.kind = "Queue", queue.name = one.path;
    queue.from = {queues.yunikorn->from.file, one.line};
    queue.spec.name = one.path;
    queue.spec.parent = one.parent;
    queue.spec.quotas.push_back({.guaranteed = one.guaranteed, .limit = one.most});
    if (one.max_applications != 0) queue.spec.max_running = static_cast<std::int32_t>(one.max_applications);
    if (one.priority == yk::priority_policy::fence) queue.spec.priority = one.priority_offset;
    queue.spec.within_queue = queue_preemption::never;
    if (!one.preempts) queue.spec.reclaim = queue_reclaim::never;
    queue.spec.lends_running = one.gives && one.preempts;

    made.names.push_back(one.path);
    made.parents.push_back(one.parent);
    yk::queue_settings& to = made.settings.emplace_back();
    bool few = types.add(one.guaranteed, to.guaranteed) && types.add(one.most, to.max);
    to.max_applications = one.max_applications;
    to.order = one.order;
    to.priority_first = one.priority_first;
    to.priority_offset = one.priority_offset;
    to.priority = one.priority;
    to.preemption = one.preemption;
    to.preemption_delay = one.preemption_delay;
    to.quota_preemption_delay = one.quota_preemption_delay;
    to.backoff_after = one.backoff_after;
    to.backoff = one.backoff;
    for (const yunikorn_limit& limit : one.limits) {
      yk::user_limit& bound = to.limits.emplace_back();
      bound.users = limit.users, bound.groups = limit.groups;
      bound.max_applications = limit.max_applications;
      few = few && types.add(limit.most, bound.max);
    }
    if (!few)
      return error{errc::out_of_range, where(into, queue.from, queue.kind, {}, one.path), "resources",
                   fmt::format("there are more than {} kinds of resources", yk::max_types)};
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
