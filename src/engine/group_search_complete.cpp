#include <algorithm>

#include "gangsched/engine/complete_search.hpp"
#include "gangsched/engine/group_search.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Whether greedy placing can be wrong: for one class whose filters look at one node only it cannot.
GANGSCHED_INLINE bool group_search::worth_searching(const group_part& whole) {
  if (budget_ == 0 || entities_->members_enter_singly()) return false;
  const std::vector<row_t> members = whole.all_members();
  constexpr std::size_t most = 256;  // as deep does it go
  if (members.empty() || members.size() > most) return false;
  if (!whole.parts.empty()) return true;
  const class_id cls = state_->class_of(members.front());
  if (std::any_of(members.begin(), members.end(), [&](row_t pod) { return state_->class_of(pod) != cls; })) return true;
  const class_plan& plan = picks_->plan_of(cls);
  return plan.opaque || !plan.keyed_filters.empty() || !plan.cycle_hooks.empty();
}

/// Parts that a plan would have cut into slices are cut.
GANGSCHED_INLINE group_part group_search::without_plans(group_part of) const {
  if (of.planned) parts_->cut(of);
  of.planned = false;
  for (group_part& one : of.parts) {
    if (!one.is_slice()) one = without_plans(std::move(one));
  }
  return of;
}

/// What greedy placing refused on a level (without one: among the nodes @p within, whatever placements there are), tried in full. Says
/// why not: proved, or out of budget, which is left for the next one.
GANGSCHED_INLINE group_outcome group_search::search_completely(const group_part& whole, group_outcome refused,
                                                               std::optional<std::uint32_t> tier,
                                                               placed_members& placed, const search_effort& how,
                                                               const std::vector<row_t>* within) {
  const picker::position first = picks_->where();
  const std::vector<row_t> members = whole.all_members();
  bool symmetric = true, all_orders = true;
  for (const row_t pod : members) {
    const class_plan& plan = picks_->plan_of(state_->class_of(pod));
    all_orders = all_orders && plan.opaque_filters.empty() && plan.cycle_hooks.empty();
    symmetric = symmetric && all_orders && plan.keyed_filters.empty();
  }
  const group_part plain = without_plans(whole);
  all_orders = all_orders && (symmetric || plain.parts.empty());
  complete_search search{{*state_, *entities_, *parts_, candidates_, *picks_, placed},
                         plain,
                         tier.value_or(0),
                         *how.budget,
                         symmetric,
                         how.members};
  transaction trial{*state_};
  const bool found = tier ? search.run(within) : search.run_within(*within);
  statistics_->search_steps += *how.budget - search.left();
  *how.budget = search.left();
  picks_->go_back(first);
  if (found && !placed.empty()) {
    own_lacks_.clear();  // they are those of the greedy attempt
    refused.verdict = order_all_by_rank(plain, placed);
    if (refused.verdict.ok())
      trial.commit();
    else
      placed.discard();
    return refused;
  }
  placed.discard();
  refused.verdict = status::unschedulable(
      search.exhausted() ? "no place was found for the group's minimum within the search budget"
      : all_orders       ? "there is no place for the group's minimum"
                         : "no place was found for the group's minimum in the orders of its members that were tried");
  refused.rejectors = unknown_rejectors;
  return refused;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
