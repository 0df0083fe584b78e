#pragma once
#include <cstdint>
#include <functional>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/placements.hpp"
#include "gangsched/policies/victim_units.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The work that evicting a running pod would lose, in any unit.
using work_of_pod = std::function<std::int64_t(const pod_info&)>;

/// Which of the pods that @p rule allows to evict must go so that a group fits; the verdict and the nominations of group_preempt. All of
/// them are taken off, and the group's cycle is run once; if it fails, none is evicted. Then units are put back, first those whose eviction
/// violates a disruption budget, then the most important, each if the members still fit where they are. No second round while victims
/// terminate on nodes that members are nominated to.
///
/// @p least_disruption: of several placements the one whose victims cost least (broken budgets, highest priority, @p lost_work, groups
/// disturbed, pods), Kubernetes' choice in a tie; and in the end no victim can be put back without fewer members finding room
/// anywhere (as far as 65,536 placements of members, tried for that, can tell). If members differ, of all sets of victims one that costs
/// least is found, within the same bound, where 24 units at most can be in it.
/// O(pods) removals, and a cycle of the group; with @p least_disruption O(log pods) cycles for each placement, and one for each victim.
[[nodiscard]] GANGSCHED_API victim_plan find_group_victims(trial& attempt, const group_view& group,
                                                           const victim_rule& rule, bool least_disruption,
                                                           const work_of_pod& lost_work);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/group_victims.cpp"
#endif
