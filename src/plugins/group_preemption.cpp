#include "gangsched/plugins/group_preemption.hpp"

#include <algorithm>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/disruption.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// One call's tools.
struct group_preemption::search {
  const group_preemption& plugin;
  trial& attempt;
  const group_view& group;
  const bool alpha = group.semantics().release() < kube_release::v1_37;

  /// A group of the tree that has full_domain::move and lacks its minimum, though some members run. Groups below it are not looked at.
  struct mover {
    group_view group;
    std::vector<pod_id> running = {};  ///< and not on their way out
  };
  [[nodiscard]] static bool has_minimum(const group_view& of) {
    std::uint32_t there = 0;
    if (of.spec().composite) {
      of.each_child([&](const group_view& child) { there += has_minimum(child) ? 1 : 0; });
      return there >= of.min_count();
    }
    const gang* policy = of.policy();
    std::vector<std::int32_t> roles(policy == nullptr ? 0 : policy->roles.size());
    of.each_member([&](const pod_info& member) {
      if (!member.node() || member.terminating()) return;
      ++there;
      for (std::size_t i = 0; i < roles.size(); ++i) roles[i] += policy->roles[i].role == member.role() ? 1 : 0;
    });
    for (std::size_t i = 0; i < roles.size(); ++i)
      if (roles[i] < policy->roles[i].min_count) return false;
    return there >= of.min_count();
  }
  static void find_movers(const group_view& in, std::vector<mover>& out) {
    if (in.spec().topology.when_full == full_domain::move && !has_minimum(in)) {
      mover made{in};
      in.each_pod_below([&](const pod_info& pod) {
        if (pod.node() && !pod.terminating()) made.running.push_back(pod.id());
      });
      if (!made.running.empty()) return out.push_back(std::move(made));
    }
    in.each_child([&](const group_view& child) { find_movers(child, out); });
  }
  [[nodiscard]] static bool any_moves(const group_view& of) {
    bool any = is_moving(of);
    of.each_child([&](const group_view& child) { any = any || any_moves(child); });
    return any;
  }

  /// The group's own members leave, if more of the group than runs now has room then; no other pods go.
  victim_plan move() {
    victim_plan plan;
    std::vector<mover> movers;
    if (!alpha) find_movers(group.root(), movers);
    if (movers.empty()) return plan;
    attempt.reset();
    for (const mover& one : movers) {
      std::vector<pod_id> all;
      one.group.each_pod_below([&](const pod_info& pod) {
        if (pod.node()) all.push_back(pod.id());
      });
      for (const pod_id pod : all) attempt.take_node(pod);
      plan.victims.insert(plan.victims.end(), one.running.begin(), one.running.end());
    }
    plan.verdict = attempt.place(group, plan.nominations);
    if (!plan.verdict.ok()) return plan;
    const auto lies_in = [&](pod_id pod, const group_view& where) {
      for (std::optional<group_view> up = attempt.cluster().pod(pod)->group(); up; up = up->parent())
        if (up->row() == where.row()) return true;
      return false;
    };
    for (const mover& one : movers) {
      const auto placed_of_it = std::count_if(plan.nominations.begin(), plan.nominations.end(),
                                              [&](const assignment& made) { return lies_in(made.pod, one.group); });
      if (static_cast<std::size_t>(placed_of_it) > one.running.size()) continue;
      plan.verdict = status::unschedulable("the group has no more room elsewhere");
      return plan;
    }
    plan.reason = "its group moves to where all of it has room";
    return plan;
  }

  victim_plan run() {
    victim_plan plan;
    if (any_moves(group.root())) {
      plan.keep_nomination = true;
      return plan;
    }
    plan = find_group_victims(attempt, group, lower_priority{tree_priority(group)},
                              plugin.rule_ == rule::least_disruption, plugin.lost_work_);
    if (plan.verdict.code != code::unschedulable || plan.keep_nomination) return plan;
    if (victim_plan moved = move(); moved.verdict.ok() || moved.verdict.code == code::error) return moved;
    return plan;
  }
};

GANGSCHED_INLINE victim_plan group_preemption::group_preempt(trial& attempt, const group_view& group) const {
  return search{*this, attempt, group}.run();
}

GANGSCHED_INLINE result<group_preemption> group_preemption::from(const argument& args) {
  rule chosen = rule::least_disruption;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    std::string text;
    if (key != "rule") return read.unknown(path);
    if (!read.text(value, path, text)) return false;
    if (text == "Kubernetes")
      chosen = rule::kubernetes;
    else if (text != "LeastDisruption")
      return read.fail(errc::malformed, path, "is not LeastDisruption or Kubernetes");
    return true;
  });
  if (!fine) return std::move(read).failure();
  return group_preemption{chosen};
}

}  // namespace gangsched::inline GANGSCHED_ABI
