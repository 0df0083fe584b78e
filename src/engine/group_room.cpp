#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Room for a group: what group_preempt hooks try, and what comes of what they say (kube-workloads 6).
namespace gangsched::engine {

/// The group's cycle, undone. The next decision is numbered as if it had not been.
GANGSCHED_INLINE status core::try_group(row_t group, std::vector<assignment>& placed) {
  placed.clear();
  const picker::position stood = picker_.where();
  transaction attempt{*state_};
  const group_outcome outcome = place_group(make_part(group));
  if (outcome.verdict.ok()) {
    for (const member_place& one : placed_) {
      placed.push_back({{one.pod, state_->pods.rows.generation(one.pod)}, {one.node, state_->nodes.rows.generation(one.node)}});
    }
  }
  discard_members();
  picker_.go_back(stood);
  return outcome.verdict;
}

/// Where all filters of all members look at nothing but the member's own node, only @p nodes have to be asked.
GANGSCHED_INLINE bool core::still_fits(std::span<const assignment> placed, std::span<const row_t> nodes) {
  const auto local = [&](const assignment& one) {
    const class_plan& plan = picker_.plan_of(state_->class_of(one.pod.row));
    return plan.keyed_filters.empty() && plan.opaque_filters.empty() && plan.cycle_hooks.empty() &&
           table_of(one.pod.row).at(point::reserve).empty();
  };
  const bool some = std::all_of(placed.begin(), placed.end(), local);
  transaction attempt{*state_};
  placed_.clear();
  bool fits = true;
  for (const assignment& one : placed) {
    const row_t pod = one.pod.row, node = one.node.row;
    if (some && std::find(nodes.begin(), nodes.end(), node) == nodes.end()) continue;
    const class_plan& plan = picker_.plan_of(state_->class_of(pod));
    fits = picker_.begin_cycle(plan, pod).ok();
    if (fits) picker_.skip_idle(plan, pod);
    fits = fits && picker_.filter_with_nominated(pod, node).ok() && picker_.filter(pod, node).ok() &&
           state_->fits_in_words(node, state_->classes[state_->pods.cls[pod]]);
    if (!fits) break;
    state_->assume(pod, node);
    member_place there{pod, node, 0, {}};
    status said;
    fits = reserve(pod, node, there.uses, said);
    if (!fits) break;
    placed_.push_back(std::move(there));
  }
  discard_members();
  return fits;
}

/// A member of the group loses what was meant for it, or gets something else. False if the plugin named what is not there.
GANGSCHED_INLINE bool core::nominate_member(const assignment& one) {
  const row_t pod = one.pod.row;
  if (!state_->pods.alive(pod) || state_->pods.rows.generation(pod) != one.pod.generation) return false;
  if (state_->pods.state[pod] != pod_state::pending || !gangsched::detail::names_node(*state_, one.node)) return false;
  state_->nominate(pod, one.node.row);
  clear_nominations(pod, one.node.row);
  decision& nominated = decide(decision_kind::nominate, pod);
  nominated.node = one.node;
  nominated.node_cookie = state_->nodes.record[one.node.row]->cookie;
  return true;
}

/// group_preempt hooks in order: success, unresolvable and errors stop, unschedulable goes on. The result only nominates. False if
/// the group was not helped.
GANGSCHED_INLINE bool core::make_group_room(row_t group) {
  const kernel_table& table = table_of_group(group);
  victim_plan plan;
  bool keep = true;
  for (const std::uint16_t index : table.at(point::group_preempt)) {
    const plugin_entry& plugin = table.plugins[index];
    const std::unique_ptr<trial> attempt = start_trial(index);
    plan = plugin.group_preempt(plugin.self.get(), *attempt, group_view{*state_, group});
    keep = keep && plan.keep_nomination;
    if (plan.verdict.code != code::unschedulable) break;
  }
  const bool helped = plan.verdict.ok() && !plan.victims.empty();
  std::vector<row_t> members;
  collect_members(make_part(group), members);
  if (!helped) {
    if (!keep && !table.at(point::group_preempt).empty()) {
      for (const row_t pod : members) state_->nominate(pod, no_row);
    }
    return false;
  }
  const auto named = [&](row_t pod) {
    return std::any_of(plan.nominations.begin(), plan.nominations.end(), [&](const assignment& one) { return one.pod.row == pod; });
  };
  for (const row_t pod : members) {
    if (!named(pod)) state_->nominate(pod, no_row);
  }
  for (const assignment& one : plan.nominations) static_cast<void>(nominate_member(one));
  park_group(group, ~std::uint64_t{0});  // before its victims leave, so that it hears of them
  for (const pod_id victim : plan.victims) evict(victim);
  return true;
}

}  // namespace gangsched::engine
