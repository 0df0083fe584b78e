#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Room for a group: what group_preempt hooks try, and what comes of what they say (kube-workloads 6).
namespace gangsched::engine {

GANGSCHED_INLINE assignment core::as_assignment(const member_place& one) const {
  return {{one.pod, state_->pods.rows.generation(one.pod)}, {one.node, state_->nodes.rows.generation(one.node)}};
}

/// The group's cycle, undone. The next decision is numbered as if it had not been.
GANGSCHED_INLINE status core::try_group(row_t group, std::vector<assignment>& placed, const placement* within) {
  placed.clear();
  const picker::position stood = picker_.where();
  // Nobody goes for members above an elastic gang's desired count.
  const part whole = make_part(group, true);
  std::vector<row_t> members;
  collect_members(whole, members);
  transaction attempt{*state_};
  group_outcome outcome;
  if (members.empty()) {
    outcome.verdict = status::unschedulable("the group has as many members as it desires");
  } else if (within == nullptr || within->all) {
    outcome = place_group(whole, false);
  } else {
    std::vector<row_t> rows;
    for (const node_id node : within->nodes) rows.push_back(node.row);
    placed_.clear();
    for (const plugin_entry& plugin : entities_.profile_of_group(group).hooks(point::group_pre_filter)) {
      if (outcome.verdict.ok()) outcome.verdict = plugin.group_pre_filter(plugin.self.get(), group_view{*state_, group});
    }
    std::vector<row_t> beside;
    const std::vector<row_t>* const inside = beside_others(group, &rows, beside);
    if (outcome.verdict.ok()) outcome = whole.planned ? place_planned(whole, inside) : fill(whole, inside);
  }
  if (outcome.verdict.ok()) {
    for (const member_place& one : placed_) placed.push_back(as_assignment(one));
  }
  discard_members();
  attempt.roll_back();
  picker_.go_back(stood);
  return outcome.verdict;
}

/// What the group needs at least, whoever may have to go for it.
GANGSCHED_INLINE core::group_need core::need_of(row_t group) {
  group_need need;
  const part whole = make_part(group, true);
  std::vector<row_t> members;
  collect_members(whole, members);
  count_classes(members, need.classes);
  need.members = least_members(whole);
  return need;
}

/// Never false if it fits. O(classes), and the rows that changed since.
GANGSCHED_INLINE bool core::may_fit(const group_need& need) {
  std::int64_t room = 0;
  for (const auto& [cls, count] : need.classes) {
    class_index* const index = picker_.capacity_index(cls);
    if (index == nullptr) return true;
    room += std::min(count, index->capacity());
  }
  return static_cast<std::uint64_t>(room) >= need.members;
}

/// Whether all filters of all members look at nothing but the member's own node.
GANGSCHED_INLINE bool core::fit_by_node(std::span<const assignment> placed) {
  class_id asked = no_class;  // members are mostly of one class
  return std::all_of(placed.begin(), placed.end(), [&](const assignment& one) {
    const class_id cls = state_->class_of(one.pod.row);
    if (cls == asked) return true;
    asked = cls;
    const class_plan& plan = picker_.plan_of(cls);
    return plan.keyed_filters.empty() && plan.opaque_filters.empty() && plan.cycle_hooks.empty() &&
           entities_.profile_of(one.pod.row).at(point::reserve).empty();
  });
}

GANGSCHED_INLINE bool core::still_fit(std::span<const assignment> placed) {
  transaction attempt{*state_};
  placed_.clear();
  bool fits = true;
  for (const assignment& one : placed) {
    const row_t pod = one.pod.row, node = one.node.row;
    const class_plan& plan = picker_.plan_of(state_->class_of(pod));
    fits = picker_.begin_cycle(plan, pod).ok();
    if (fits) picker_.skip_idle(plan, pod);
    fits = fits && picker_.filter_with_nominated(pod, node).ok() && picker_.filter(pod, node).ok() &&
           state_->fits_in_words(node, state_->classes[state_->pods.cls[pod]]);
    if (!fits) break;
    member_place there{pod, node, 0, {}};
    status said;
    fits = reservations_.assume(pod, node, said) && reservations_.reserve(pod, node, there.uses, said);
    if (!fits) break;
    placed_.push_back(std::move(there));
  }
  discard_members();
  return fits;
}

/// Members without a place are rejected, if others have one. Pods of lower priority lose what is meant for members now.
GANGSCHED_INLINE void core::nominate_members(row_t group, std::span<const assignment> places) {
  std::vector<row_t> members;
  collect_members(make_part(group), members);
  for (const row_t pod : members) {
    const auto its = std::find_if(places.begin(), places.end(), [&](const assignment& one) { return one.pod.row == pod; });
    const bool named = its != places.end() && its->pod.generation == state_->pods.rows.generation(pod) &&
                       gangsched::detail::names_node(*state_, its->node);
    state_->nominate(pod, named ? its->node.row : no_row);
    if (!named) {
      if (!places.empty()) decisions_.add(decision_kind::reject, pod).code = code::unschedulable;
      continue;
    }
    clear_nominations(pod, its->node.row);
    decisions_.nominate(pod, its->node);
  }
}

/// A member of an incomplete gang in permit mode: its own preemption, and nobody goes unless all whom the minimum lacks find a node so,
/// be it where they are nominated already. The others are nominated with it.
GANGSCHED_INLINE bool core::make_minimum_room(row_t pod) {
  const row_t group = state_->pods.group[pod];
  if (in_vain_ == std::tuple{group, state_->class_of(pod), state_->log.end()}) return false;
  std::vector<row_t> members = pending_members(group);
  std::erase_if(members, [&](row_t other) { return other == pod || gates_.rejects_pod(other); });
  members.insert(members.begin(), pod);
  std::size_t missing = state_->groups.min_count(group) - state_->groups.assumed[group] - state_->groups.bound[group];
  const picker::position stood = picker_.where();
  by_pod_ = {};
  placed_.clear();
  transaction attempt{*state_};
  std::vector<class_id> hopeless;  // alike members fare alike
  std::vector<std::uint64_t> rejectors;  // of those that others make room for
  for (std::size_t i = 0; i < members.size() && missing != 0 && members.size() - i >= missing; ++i) {
    const row_t member = members[i];
    const class_id cls = state_->class_of(member);
    if (std::find(hopeless.begin(), hopeless.end(), cls) != hopeless.end()) continue;
    picked found = picker_.pick(member);
    const std::size_t helpless = by_pod_.helpless.size(), made = by_pod_.made.size();
    if (found.node == no_row && found.said.code != code::error) found.node = make_member_room(member);
    if (by_pod_.made.size() != made) rejectors.push_back(found.rejectors);
    status said;
    const bool waits = found.node == no_row && state_->pods.nominated[member] != no_row && by_pod_.helpless.size() == helpless;
    if ((waits && member != pod) || (found.node != no_row && place_member(member, found, said))) --missing;
    else if (member == pod) break;
    else hopeless.push_back(cls);
  }
  for (const member_place& one : placed_) by_pod_.placed.push_back(as_assignment(one));
  discard_members();
  attempt.roll_back();
  picker_.go_back(stood);
  const members_room room = std::exchange(by_pod_, {});
  if (missing != 0) {
    if (!room.helpless.empty() && room.helpless.front() == pod) state_->nominate(pod, no_row);
    if (!room.made.empty()) in_vain_ = {group, state_->class_of(pod), state_->log.end()};
    return false;
  }
  for (const assignment& one : room.placed) {
    state_->nominate(one.pod.row, one.node.row);
    clear_nominations(one.pod.row, one.node.row);
    decisions_.nominate(one.pod.row, one.node);
  }
  // Before the victims leave, so that they hear of them.
  for (std::size_t i = 0; i < room.made.size(); ++i) park(room.made[i].pod.row, by_hints() ? rejectors[i] : ~std::uint64_t{0});
  for (const pod_id victim : room.victims) evict(victim);
  return true;
}

/// group_preempt hooks in order: success, unresolvable and errors stop, unschedulable goes on. The result only nominates. False if
/// the group was not helped; @p broken: why, if that is an error.
GANGSCHED_INLINE bool core::make_group_room(row_t group, status& broken) {
  if (preempts_by_pod(group)) return evict_for_members(group);
  const kernel_table& table = entities_.profile_of_group(group);
  if (table.at(point::group_preempt).empty()) return false;
  victim_plan plan;
  bool keep = true;
  for (const std::uint16_t index : table.at(point::group_preempt)) {
    const plugin_entry& plugin = table.plugins[index];
    const std::unique_ptr<trial> attempt = start_trial(index, true);
    plan = plugin.group_preempt(plugin.self.get(), *attempt, group_view{*state_, group});
    keep = keep && plan.keep_nomination;
    if (plan.verdict.code != code::unschedulable) break;
  }
  if (plan.verdict.code == code::error) {
    error_.set({group, true}, plan.verdict.reason);
    broken = plan.verdict;
  }
  if (plan.verdict.ok() && entities_.members_enter_singly()) plan.nominations = fitting_members(group);
  if (!plan.verdict.ok() || (plan.victims.empty() && plan.nominations.empty())) {
    if (!keep) nominate_members(group, {});
    return false;
  }
  nominate_members(group, plan.nominations);
  // Before its victims leave, so that it hears of them. Without any the places that were found are tried next time.
  if (plan.victims.empty() && !entities_.members_enter_singly()) retry_group(group, false, false);
  else park_group(group, ~std::uint64_t{0});
  for (const pod_id victim : plan.victims) evict(victim, plan.reason);
  return true;
}

}  // namespace gangsched::engine
