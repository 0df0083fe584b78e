#include <fmt/format.h>

#include <algorithm>

#include "gangsched/core/hash.hpp"
#include "gangsched/model/validate.hpp"
#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// Workloads of several kinds of pods: their plans become groups and the pods that are not there yet.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_pod_template(reader& read, const place& of, std::string_view ns, pod_set& out, const read_options& how) {
  bool over = false;
  if (!read_template_pod(read, of, out.pod, over, how, out.admission)) return false;
  out.weight = weight_of(*of.at);
  out.pod.spec.ns = ns;
  pod_spec as_made = out.pod.spec;
  as_made.name = "x";
  const auto wrong = check(as_made);
  if (!wrong) return true;
  const std::string inner = manifest_path("Pod", wrong->field);
  return read.fail(wrong->code, of.at->line, of.path() + "." + inner, wrong->reason);
}

std::string lower_case(std::string_view text) {
  std::string made{text};
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return made;
}

value added_container(const char* name, const container_amounts& requests, const container_amounts& limits,
                      std::uint32_t line) {
  const auto list = [&](const container_amounts& of) {
    value made = object_of({}, line);
    for (const auto& [resource, amount] : {std::pair{"cpu", of.cpu}, std::pair{"memory", of.memory},
                                           std::pair{"ephemeral-storage", of.ephemeral_storage}})
      if (amount != nullptr) set_field(made, resource, leaf(value_kind::text, amount, line));
    return made;
  };
  value resources = object_of({{"requests", list(requests)}, {"limits", list(limits)}}, line);
  return object_of({{"name", leaf(value_kind::text, name, line)}, {"resources", std::move(resources)}}, line);
}

bool read_template_with(reader& read, const place& of, const char* where, std::vector<value> more, std::string_view ns,
                        pod_set& out, const read_options& how) {
  value made = *of.at;
  value* const spec = made.kind == value_kind::object ? find_field(made, "spec") : nullptr;
  if (spec != nullptr && spec->kind == value_kind::object && !more.empty()) {
    value& containers = make_field(*spec, where, value_kind::list);
    if (containers.kind == value_kind::list)  // else it is an error
      for (value& one : more) containers.items.push_back(std::move(one));
  }
  return read_pod_template(read, {&made, of.up, of.key, of.index}, ns, out, how);
}

bool has_plan(const group_objects& groups, const std::string& kind, const std::string& ns, const std::string& name) {
  const auto first = groups.known_plans.lower_bound({kind, ns, name, ""});
  return first != groups.known_plans.end() && std::get<0>(*first) == kind && std::get<1>(*first) == ns &&
         std::get<2>(*first) == name;
}

void make_nothing(workload_plan& plan) {
  plan.pods.clear();
  plan.groups.clear();
}

group_draft gang_of(const workload_plan& plan, std::int64_t least) {
  group_draft made;
  made.has_policy = true;
  made.made.kind = plan.kind;
  made.made.from = plan.from;
  made.made.spec.name = plan.name;
  made.made.spec.ns = plan.ns;
  gang policy{.min_count = static_cast<std::int32_t>(least)};
  if (plan.sets.size() > 1) {
    for (const pod_set& set : plan.sets)
      if (set.members && set.least > 0) policy.roles.push_back({set.role, static_cast<std::int32_t>(set.least)});
  }
  made.made.spec.policy = std::move(policy);
  return made;
}

bool affordable(reader& read, const place& of, std::int64_t pods, const workload_plan& plan, const read_options& how) {
  const auto most = std::min<std::size_t>(how.max_pods, std::numeric_limits<std::int32_t>::max());
  if (plan.planned_before <= most && static_cast<std::uint64_t>(pods) <= most - plan.planned_before) return true;
  return read.fail(errc::out_of_range, of, fmt::format("there would be more than {} pods", how.max_pods));
}

namespace {

using owner_key = std::tuple<std::string, std::string, std::string>;

/// Where pod sets ask for topology in different ways, each set, or each of Kueue's groups of pod sets, is a gang of its
/// own below a gang of gangs.
class topology_splitter {
 public:
  explicit topology_splitter(workload_plan& plan) : plan_(&plan) {}

  std::optional<error> run(manifests& all) {
    if (plan_->groups.size() != 1 || plan_->sets.size() < 2) return std::nullopt;
    bool any = false;
    std::vector<std::size_t> unit_of;
    for (std::size_t i = 0; i < plan_->sets.size(); ++i) {
      const pod_manifest& pod = plan_->sets[i].pod;
      if (!plan_->sets[i].members) {
        unit_of.push_back(none);
        continue;
      }
      const auto asks = kueue_topology(pod);
      if (!asks) {
        return error{asks.error().code, where(all, plan_->from, plan_->kind, plan_->ns, plan_->name),
                     asks.error().field, asks.error().reason};
      }
      any = any || !asks->empty();
      const auto shared = pod.annotations.find("kueue.x-k8s.io/podset-group-name");
      unit_of.push_back(unit(shared == pod.annotations.end() ? "" : shared->second, plan_->sets[i].role));
    }
    if (!any || units_.size() < 2) return std::nullopt;
    if (const std::int64_t any_will_do = need_enough(); any_will_do > 0)
      all.warnings.push_back({where(all, plan_->from, plan_->kind, plan_->ns, plan_->name), "spec",
                              fmt::format("{} of the members that it needs may be any: here they are the first, as its "
                                          "pods ask for topology in their own ways",
                                          any_will_do)});
    split(unit_of);
    return std::nullopt;
  }

 private:
  std::size_t unit(const std::string& shared, const std::string& role) {
    if (!shared.empty()) {
      const auto [at, added] = by_shared_.try_emplace(shared, units_.size());
      if (!added) return at->second;
    }
    units_.push_back(shared.empty() ? role : shared);
    return units_.size() - 1;
  }

  /// A gang that needs more members than its sets do needs the first ones of those that are left: groups of a tree have minimums of their
  /// own. How many these are.
  std::int64_t need_enough() {
    const gang* const whole = std::get_if<gang>(&plan_->groups.front().made.spec.policy);
    if (whole == nullptr) return 0;
    std::int64_t missing = whole->min_count, added = 0;
    for (const pod_set& set : plan_->sets) missing -= set.members ? set.least : 0;
    for (pod_set& set : plan_->sets) {
      if (!set.members || missing <= 0) continue;
      const std::int64_t more = std::clamp<std::int64_t>(set.count - set.least, 0, missing);
      set.least += more, missing -= more, added += more;
    }
    return added;
  }

  void split(const std::vector<std::size_t>& unit_of) {
    group_draft top = std::move(plan_->groups.front());
    plan_->groups.clear();
    std::int32_t needed = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      workload_plan part;
      part.kind = plan_->kind, part.ns = plan_->ns, part.from = plan_->from;
      part.name = plan_->name + "-" + units_[i];
      std::int64_t least = 0, desired = 0;
      for (std::size_t set = 0; set < plan_->sets.size(); ++set) {
        if (unit_of[set] != i) continue;
        part.sets.push_back({.role = plan_->sets[set].role, .least = plan_->sets[set].least});
        least += plan_->sets[set].least;
        desired += plan_->sets[set].count;
      }
      group_draft made = gang_of(part, least);
      const gang* whole = std::get_if<gang>(&top.made.spec.policy);
      if (whole != nullptr && whole->desired_count)
        std::get<gang>(made.made.spec.policy).desired_count = static_cast<std::int32_t>(desired);
      made.made.parent = plan_->name;
      made.made.priority_class = top.made.priority_class;
      if (least == 0)
        made.made.spec.policy = basic{};
      else
        ++needed;
      plan_->groups.push_back(std::move(made));
    }
    top.made.spec.composite = true;
    if (needed == 0)
      top.made.spec.policy = basic{};
    else
      top.made.spec.policy = gang{.min_count = needed};
    for (planned_pod& pod : plan_->pods)
      if (pod.group) pod.group = unit_of[pod.pod_set];
    plan_->groups.push_back(std::move(top));
  }

  static constexpr std::size_t none = ~std::size_t{0};

  workload_plan* plan_;
  std::vector<std::string> units_;                // names
  std::map<std::string, std::size_t> by_shared_;  // in units_
};

class plan_executor {
 public:
  plan_executor(const std::set<owner_key>& owned, manifests& into, group_objects& groups, pod_budget& budget,
                pod_admission& admission)
      : owned_(owned), into_(&into), groups_(&groups), budget_(&budget), admission_(&admission) {
    for (const group_draft& one : groups.groups)
      if (!one.made.spec.composite) described_.emplace(one.made.spec.ns, one.made.spec.name);
    std::set<std::string_view> labels;
    for (const workload_plan& plan : groups.plans) {
      if (!plan.owner_name.empty()) owned_.emplace(plan.owner_kind, plan.ns, plan.owner_name);
      if (!plan.member_label.empty()) labels.insert(plan.member_label);
    }
    for (std::size_t i = 0; i < into.pods.size(); ++i) {
      const pod_spec& pod = into.pods[i].spec;
      if (!pod.reservation) names_.emplace(pod.ns, pod.name);
      for (const std::string_view label : labels) {
        const auto found = pod.labels.find(std::string{label});
        if (found != pod.labels.end()) members_[{std::string{label}, pod.ns, found->second}].push_back(i);
      }
    }
  }

  std::optional<error> run() {
    for (workload_plan& plan : groups_->plans)
      if (auto wrong = one(plan)) return wrong;
    return std::nullopt;
  }

 private:
  std::optional<error> one(workload_plan& plan) {
    plan_ = &plan;
    const bool delegated = !plan.made_by.empty() && owned_.contains({plan.kind, plan.ns, plan.name});
    // What a RayJob has made has its gang itself; Jobs of a JobSet do not, and those that are to come are made.
    if (delegated && plan.made_by != "Job") return std::nullopt;
    ask_as_kai(plan);
    if (auto wrong = topology_splitter{plan}.run(*into_)) return wrong;
    bool own_groups = true;
    for (pod_set& set : plan.sets) {
      inherit_queue_words(plan.labels, plan.annotations, set.pod);
      if (auto wrong = read_membership(set.pod)) {
        wrong->object = where(*into_, plan.from, plan.kind, plan.ns, plan.name);
        return wrong;
      }
      own_groups = own_groups && set.pod.group.empty();
    }
    if (!own_groups) {
      into_->warnings.push_back({where(*into_, plan.from, plan.kind, plan.ns, plan.name), "",
                                 "its templates say which group the pods are in: it makes none itself"});
    }
    const std::map<std::string, std::int64_t> there = adopt(own_groups);
    if (auto wrong = make_pods(own_groups, there)) return wrong;
    if (!own_groups || joined_) return std::nullopt;
    for (group_draft& group : plan.groups) {
      const group_spec& spec = group.made.spec;
      if (spec.composite || !described_.contains({spec.ns, spec.name})) groups_->groups.push_back(std::move(group));
    }
    return std::nullopt;
  }

  /// What annotations of a workload of KAI say of where its gang, or each of its gangs, is to be (its pod grouper).
  static void ask_as_kai(workload_plan& plan) {
    if (plan.sets.empty() || plan.sets.front().pod.spec.scheduler_name != "kai-scheduler") return;
    const auto said = [&](const char* key) {
      const auto found = plan.annotations.find(key);
      return found == plan.annotations.end() ? std::string{} : found->second;
    };
    constexpr const char* required = "kai.scheduler/topology-required-placement";
    constexpr const char* preferred = "kai.scheduler/topology-preferred-placement";
    asked_topology asks{
        .topology = said("kai.scheduler/topology"), .required = said(required), .preferred = said(preferred)};
    if (asks.empty()) return;
    asks.field = fmt::format("metadata.annotations[\"{}\"]", asks.required.empty() ? preferred : required);
    for (group_draft& one : plan.groups)
      if (one.made.parent.empty() && one.asks.empty()) one.asks = asks;
  }

  [[nodiscard]] const std::string& name_of(std::optional<std::size_t> group) const {
    static const std::string none;
    return group && *group < plan_->groups.size() ? plan_->groups[*group].made.spec.name : none;
  }

  /// Pods that are there already, by role; they become members if they are in no group.
  std::map<std::string, std::int64_t> adopt(bool own_groups) {
    std::map<std::string, std::int64_t> count;
    joined_.reset();
    if (plan_->member_label.empty()) return count;
    const auto found = members_.find({plan_->member_label, plan_->ns, plan_->name});
    if (found == members_.end()) return count;
    by_name_.clear(), by_role_.clear();
    for (std::size_t i = 0; i < plan_->groups.size(); ++i) by_name_.emplace(plan_->groups[i].made.spec.name, i);
    for (const planned_pod& one : plan_->pods)
      if (one.group) by_role_.emplace(plan_->sets[one.pod_set].role, *one.group);
    for (const std::size_t i : found->second) {
      pod_manifest& pod = into_->pods[i];
      inherit_queue_words(plan_->labels, plan_->annotations, pod);
      if (pod.spec.role.empty() && plan_->sets.size() == 2 && pod.spec.rank)
        pod.spec.role = plan_->sets[*pod.spec.rank == 0 ? 0 : 1].role;
      ++count[pod.spec.role];
      if (!own_groups || plan_->groups.empty()) continue;
      if (pod.group.empty())
        pod.group = name_of(group_of(pod));
      else if (!by_name_.contains(pod.group))
        joined_ = pod.group;  // the workload's controller has made it
    }
    return count;
  }

  [[nodiscard]] std::size_t group_of(const pod_manifest& pod) const {
    if (!plan_->group_label.empty()) {
      const auto label = pod.spec.labels.find(plan_->group_label);
      const std::string wanted = label == pod.spec.labels.end() ? "" : plan_->name + "-" + label->second;
      const auto found = by_name_.find(wanted);
      return found == by_name_.end() ? 0 : found->second;
    }
    const auto found = by_role_.find(pod.spec.role);
    return found == by_role_.end() ? 0 : found->second;
  }

  std::optional<error> make_pods(bool own_groups, const std::map<std::string, std::int64_t>& there) {
    std::map<std::size_t, std::int64_t> left;  // of those that have random names
    for (std::size_t i = 0; i < plan_->sets.size(); ++i) {
      const auto found = there.find(plan_->sets[i].role);
      left[i] = found == there.end() ? 0 : found->second;
    }
    std::vector<const planned_pod*> lacking;
    for (const planned_pod& planned : plan_->pods) {
      const bool there_already =
          planned.suffix ? left[planned.pod_set]-- > 0 : names_.contains({plan_->ns, planned.name});
      if (there_already || is_of_a_job(planned)) continue;
      lacking.push_back(&planned);
      if (!budget_->take(1, plan_->sets[planned.pod_set].weight)) {
        return error{errc::out_of_range, where(*into_, plan_->from, plan_->kind, plan_->ns, plan_->name), "spec",
                     fmt::format("there would be more than {} pods", budget_->most())};
      }
    }
    std::uint64_t seed = 0;
    for (const char c : plan_->ns + "/" + plan_->name) seed = mix64(seed ^ static_cast<unsigned char>(c));
    for (const planned_pod* planned : lacking) {
      std::string name = planned->name;
      if (planned->suffix) {
        const std::string base = (name + "-").substr(0, 58);  // what generateName leaves of it
        do name = base + safe_letters(seed++, 5);
        while (names_.contains({plan_->ns, name}));
      } else if (names_.contains({plan_->ns, name})) {
        continue;  // the plan itself has it twice
      }
      add(*planned, std::move(name), own_groups);
    }
    return std::nullopt;
  }

  /// Whether the Job that makes the pod is in the files.
  [[nodiscard]] bool is_of_a_job(const planned_pod& planned) const {
    if (plan_->made_by != "Job") return false;
    const auto job = planned.labels.find("batch.kubernetes.io/job-name");
    return job != planned.labels.end() && groups_->jobs.contains({plan_->ns, job->second});
  }

  void add(const planned_pod& planned, std::string name, bool own_groups) {
    const pod_set& set = plan_->sets[planned.pod_set];
    pod_manifest& pod = into_->pods.emplace_back(set.pod);
    names_.emplace(plan_->ns, name);
    pod.spec.name = std::move(name);
    pod.spec.ns = plan_->ns;
    for (const auto& [key, value] : planned.labels) pod.spec.labels[key] = value;
    for (const auto& [key, value] : planned.node_selector) pod.spec.node_selector[key] = value;
    pod.owner_kind = plan_->kind;
    pod.owner_name = plan_->name;
    pod.from = plan_->from;
    admission_->admit(pod, set.admission);
    if (!planned.group) return;
    pod.spec.role = set.role;
    pod.spec.rank = planned.rank;
    if (own_groups) pod.group = joined_.value_or(name_of(planned.group));
  }

  std::set<owner_key> owned_;
  manifests* into_;
  group_objects* groups_;
  pod_budget* budget_;
  pod_admission* admission_;
  workload_plan* plan_ = nullptr;
  std::map<std::string, std::size_t> by_name_, by_role_;  // the plan's groups
  std::optional<std::string> joined_;
  std::set<std::pair<std::string, std::string>> described_, names_;
  std::map<owner_key, std::vector<std::size_t>> members_;
};

}  // namespace

std::optional<error> carry_out(const std::set<owner_key>& owned, manifests& into, group_objects& groups,
                               pod_budget& budget, pod_admission& admission) {
  if (groups.plans.empty()) return std::nullopt;
  return plan_executor{owned, into, groups, budget, admission}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
