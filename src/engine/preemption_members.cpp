#include <algorithm>
#include <limits>
#include <utility>

#include "gangsched/engine/preemption.hpp"
#include "gangsched/engine/supposed_moves.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/transaction.hpp"

// Members that preempt one by one: those of a gang in permit mode, and those of pod groups under kube_release::v1_36.
namespace gangsched::inline GANGSCHED_ABI::engine {

/// No victim goes unless all members that the minimum lacks find a node that way, be it one that they are nominated to already. The others
/// are nominated with the pod. Unlike members of a group queued as one, each is tried as if the victims of those before it were gone.
GANGSCHED_INLINE preemption_result preemption::for_minimum(row_t pod, std::span<const row_t> held) {
  preemption_result out;
  const row_t group = state_->pods.group[pod];
  const bool known = unhelped_gang_ == std::tuple{group, state_->class_of(pod), state_->log.end()};
  if (known && search_->now() < unhelped_until_) {
    if (unhelped_until_ != instant::max()) spared_until_ = unhelped_until_;
    return out;
  }
  parts_->enter(group);
  std::vector<row_t> members = parts_->pending_members(group);
  std::erase_if(members, [&](row_t other) { return other == pod || gates_->rejects_pod(other); });
  members.insert(members.begin(), pod);
  if (together(group, members, held)) {
    if (std::optional<preemption_result> found = for_mixed_minimum(pod, held)) return *std::move(found);
  }
  std::size_t missing = state_->groups.min_count(group) - state_->groups.assumed[group] - state_->groups.bound[group];
  const picker::position stood = picks_->where();
  own_ = {};
  transaction attempt{*state_};
  placed_members placed = search_->nobody();
  std::vector<class_id> hopeless;        // alike members fare alike
  std::vector<std::uint64_t> rejectors;  // of those that others make room for
  std::vector<row_t> cleared;            // nodes of victims
  for (std::size_t i = 0; i < members.size() && missing != 0 && members.size() - i >= missing; ++i) {
    const row_t member = members[i];
    const class_id cls = state_->class_of(member);
    if (std::find(hopeless.begin(), hopeless.end(), cls) != hopeless.end()) continue;
    picked found = picks_->pick(member);
    const std::size_t helpless = own_.helpless.size(), made = own_.made.size(), victims = own_.victims.size();
    transaction its_own{*state_};
    if (found.node == no_row && found.said.code != code::error) found.node = make_room(member);
    if (own_.made.size() != made) rejectors.push_back(found.rejectors);
    for (std::size_t gone = victims; gone < own_.victims.size(); ++gone) {
      cleared.push_back(state_->pods.node[own_.victims[gone].pod.row]);
      if (cleared.back() == no_row) continue;
      suppose_gone(*state_, own_.victims[gone].pod.row);  // with what devices they have
    }
    status said;
    const bool waits =
        found.node == no_row && state_->pods.nominated[member] != no_row && own_.helpless.size() == helpless;
    if ((waits && member != pod) || (found.node != no_row && placed.place(member, found, said))) {
      its_own.commit();
      --missing;
      // In the place of others' victims it has to wait for them as well.
      if (own_.made.size() == made && found.node != no_row &&
          std::find(cleared.begin(), cleared.end(), found.node) != cleared.end())
        out.waits.push_back({member, unknown_rejectors});
      continue;
    }
    its_own.roll_back();
    if (member == pod) break;
    hopeless.push_back(cls);
    if (own_.made.size() == made) continue;
    // Its place is not available even so: no pod is evicted for it.
    own_.made.erase(own_.made.begin() + static_cast<std::ptrdiff_t>(made), own_.made.end());
    own_.victims.erase(own_.victims.begin() + static_cast<std::ptrdiff_t>(victims), own_.victims.end());
    cleared.resize(victims);
    rejectors.pop_back();
  }
  const std::vector<assignment> places = placed.assignments();
  placed.discard();
  attempt.roll_back();
  picks_->go_back(stood);
  members_room room = std::exchange(own_, {});
  if (missing != 0) {
    out.waits.clear();
    if (!room.helpless.empty() && room.helpless.front() == pod) state_->assigned.nominate(pod, no_row);
    if (!room.made.empty()) remember_unhelped(pod);
    return out;
  }
  out.helped = true;
  for (const assignment& one : places) nominate(one.pod.row, one.node, out);
  for (std::size_t i = 0; i < room.made.size(); ++i) out.waits.push_back({room.made[i].pod.row, rejectors[i]});
  out.victims = std::move(room.victims);
  return out;
}

/// Until the log goes on, or time alone may help.
GANGSCHED_INLINE void preemption::remember_unhelped(row_t pod) {
  unhelped_gang_ = {state_->pods.group[pod], state_->class_of(pod), state_->log.end()};
  unhelped_until_ = spared_until_.value_or(instant::max());
}

/// Whether the members that lack a node are tried together: they differ, so that it matters where each is placed, and the group's hooks
/// can choose the victims for all of them.
GANGSCHED_INLINE bool preemption::together(row_t group, std::span<const row_t> members, std::span<const row_t> held) {
  if (entities_->profile_of_group(group).at(point::group_preempt).empty()) return false;
  const class_id cls = state_->class_of(members.front());
  const auto differs = [&](row_t pod) { return state_->class_of(pod) != cls; };
  if (std::none_of(members.begin(), members.end(), differs) && std::none_of(held.begin(), held.end(), differs))
    return false;
  // (Gated members are no part of it.)
  const std::vector<row_t> all = parts_->of(group).all_members();
  return all.size() == members.size() && std::is_permutation(all.begin(), all.end(), members.begin());
}

/// Tries with the nodes of the waiting members free again. If the minimum has room then, no victim goes, and waiting members
/// in the way of others give their nodes back; else the victims are those that the group's hooks name. Nothing if a victim
/// is as important as all members that get room by it: in the permit room a member has its own priority, not that of its group.
GANGSCHED_INLINE std::optional<preemption_result> preemption::for_mixed_minimum(row_t pod,
                                                                                std::span<const row_t> held) {
  preemption_result out;
  const row_t group = state_->pods.group[pod];
  const picker::position stood = picks_->where();
  std::vector<row_t> homes;
  for (const row_t member : held) homes.push_back(state_->pods.node[member]);
  victim_plan plan;
  bool keep = true;
  {
    transaction attempt{*state_};
    reservations::supposed_releases given_up = search_->supposed_releases();
    for (const row_t member : held) given_up.release(member);
    {
      transaction trial{*state_};
      group_placement found = search_->place(parts_->of(group));
      if (found.verdict.ok()) plan.verdict = found.verdict, plan.nominations = found.members.assignments();
      found.members.discard();
    }
    if (!plan.verdict.ok()) plan = ask_group_hooks(group, keep);
  }
  picks_->go_back(stood);
  if (plan.verdict.code == code::error) out.broken = plan.verdict;
  if (!plan.verdict.ok() || plan.nominations.empty()) {
    if (!keep) state_->assigned.nominate(pod, no_row);
    remember_unhelped(pod);
    return out;
  }
  const auto named = [&](row_t member) {
    return std::any_of(plan.nominations.begin(), plan.nominations.end(),
                       [&](const assignment& one) { return one.pod.row == member; });
  };
  if (!plan.victims.empty() && !named(pod)) return out;  // it is for those of them to ask
  std::int32_t best = std::numeric_limits<std::int32_t>::min();
  for (const assignment& one : plan.nominations) {
    if (std::find(held.begin(), held.end(), one.pod.row) == held.end())
      best = std::max(best, state_->classes[state_->class_of(one.pod.row)].priority);
  }
  for (const pod_id victim : plan.victims) {
    const row_t its = state_->pods.group[victim.row];
    const std::int32_t priority = its == no_row ? state_->classes[state_->class_of(victim.row)].priority
                                                : entities_->group_priority(state_->groups.root(its));
    if (priority >= best) return std::nullopt;
  }
  std::vector<row_t> cleared;
  for (const pod_id victim : plan.victims) cleared.push_back(state_->pods.node[victim.row]);
  for (const assignment& one : plan.nominations) {
    const row_t member = one.pod.row;
    const auto home = std::find(held.begin(), held.end(), member);
    if (home == held.end()) {
      out.helped = out.helped || member == pod;
      nominate(member, one.node, out);
      const bool waits = std::find(cleared.begin(), cleared.end(), one.node.row) != cleared.end();
      if (waits || (member == pod && !cleared.empty()))
        out.waits.push_back({member, unknown_rejectors});
      else
        out.again.push_back(member);
    } else if (homes[static_cast<std::size_t>(home - held.begin())] != one.node.row) {
      out.back.push_back(one);
    }
  }
  for (const row_t member : held) {  // a member that is not among them has lost its node
    if (!named(member)) out.back.push_back({{member, state_->pods.rows.generation(member)}, {}});
  }
  take_victims(plan, out);
  return out;
}

/// Without preemption of the group as one, members preempt for themselves.
GANGSCHED_INLINE bool preemption::preempts(row_t group) const {
  if (!entities_->members_enter_singly()) return false;
  const kernel_table& table = entities_->profile_of_group(group);
  const bool placements =
      !table.at(point::generate_placements).empty() && !state_->groups.record[group]->spec.topology.within.empty();
  return table.at(point::group_preempt).empty() && !table.at(point::post_filter).empty() && !placements;
}

/// Victims stay where they are until the cycle is over, so that the next member may need more of them.
GANGSCHED_INLINE row_t preemption::make_room(row_t pod) {
  bool keep = true;
  const victim_plan plan = ask_post_filters(pod, keep);
  if (!plan.verdict.ok() || !gangsched::detail::names_node(*state_, plan.nominated)) {
    if (!keep) own_.helpless.push_back(pod);
    return no_row;
  }
  for (const pod_id victim : plan.victims) {
    if (std::find_if(own_.victims.begin(), own_.victims.end(), [&](const auto& one) { return one.pod == victim; }) ==
        own_.victims.end())
      own_.victims.push_back({victim, plan.reason});
  }
  own_.made.push_back({{pod, state_->pods.rows.generation(pod)}, plan.nominated});
  return plan.nominated.row;
}

/// A group that needs victims waits as a whole.
GANGSCHED_INLINE void preemption::settle(status& verdict, const placed_members& placed) {
  if (own_.made.empty() || !verdict.ok()) return;
  verdict = status::unschedulable("pod group is waiting for preemption to complete");
  own_.waits = true;
  own_.placed = placed.assignments();
}

/// The victims go in any case, also if the group does not fit without them.
GANGSCHED_INLINE preemption_result preemption::for_members(row_t group) {
  preemption_result out;
  members_room room = std::exchange(own_, {});
  for (const assignment& one : room.made) clear_nominations(one.pod.row, one.node.row);
  if (room.waits) {
    nominate_members(group, room.placed, out);
  } else {
    for (const row_t pod : room.helpless) state_->assigned.nominate(pod, no_row);
    for (const assignment& one : room.made) state_->assigned.nominate(one.pod.row, no_row);
  }
  out.helped = room.waits;
  out.victims = std::move(room.victims);
  return out;
}

/// Members that found a node before any eviction: only these are nominated.
GANGSCHED_INLINE std::vector<assignment> preemption::fitting_members(row_t group) {
  const picker::position stood = picks_->where();
  transaction attempt{*state_};
  group_part whole;
  whole.group = group;
  whole.members = parts_->pending_members(group);
  group_placement found = search_->place_members(whole);
  std::vector<assignment> fitting = found.members.assignments();
  found.members.discard();
  attempt.roll_back();
  picks_->go_back(stood);
  return fitting;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
