#include <algorithm>
#include <functional>
#include <map>

#include "gangsched/engine/group_candidates.hpp"

// The complete search for groups that greedy placing refuses: backtracking over what it decides once and for all (the domain of each
// part, the node of each member, who goes without), until the minimum stands, nothing is left to try, or the budget is used up.
// Alike members take nodes in ascending order, if nothing depends on the order; and if one goes without, so do the alike ones after it.
namespace gangsched::engine {

/// One search. `rest` is what has to succeed once a part stands.
class core::complete_search {
 public:
  /// @p symmetric: members' filters look at one node only, so that the order of members does not matter.
  /// @p whole: only its placements of the level @p tier are tried.
  complete_search(core& engine, const part& whole, std::uint32_t tier, std::uint64_t budget, bool symmetric)
      : core_(&engine), whole_(&whole), tier_(tier), left_(budget), symmetric_(symmetric) {}
  [[nodiscard]] bool exhausted() const noexcept { return left_ == 0; }
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

  using continuation = std::function<bool()>;
  bool solve(const part& what, const std::vector<row_t>* within, const continuation& rest) {
    std::vector<row_t> beside;
    if (!what.is_slice()) {
      for (const plugin_entry& plugin : core_->entities_.profile_of_group(what.group).hooks(point::group_pre_filter)) {
        if (!plugin.group_pre_filter(plugin.self.get(), group_view{*core_->state_, what.group}).ok()) return false;
      }
      within = core_->beside_others(what.group, within, beside);
    }
    status said;
    const std::vector<placement> where = core_->placements(what, said);
    if (!said.ok()) return false;
    const candidate_list list = core_->candidates(what, where, within);
    const std::uint64_t least = core_->least_members(what);
    std::vector<const candidate*> order;
    for (const candidate& one : list.all) {
      if (one.room >= least && (&what != whole_ || one.tier == tier_)) order.push_back(&one);
    }
    std::stable_sort(order.begin(), order.end(), [](const candidate* a, const candidate* b) {
      return a->tier != b->tier ? a->tier < b->tier : a->room < b->room;
    });
    for (const candidate* one : order) {
      if (!step()) return false;
      if (one->from->all) {
        if (fill(what, within, rest)) return true;
        continue;
      }
      const std::vector<row_t> rows = core_->rows_of(*one, within);
      if (fill(what, &rows, rest)) return true;
    }
    return false;
  }

 private:
  /// Whatever branches costs, so that there is an end to it: nodes that are tried, placements, and who goes without.
  bool step() {
    if (left_ != 0) --left_;
    return left_ != 0;
  }
  /// Members with equal kinds can stand for each other.
  using member_kind = std::pair<class_id, std::string_view>;
  [[nodiscard]] member_kind kind_of(row_t pod) const {
    const gang* policy = std::get_if<gang>(&core_->state_->groups.record[core_->state_->pods.group[pod]]->spec.policy);
    const bool by_role = policy != nullptr && !policy->roles.empty();
    return {core_->state_->class_of(pod), by_role ? std::string_view{core_->state_->pods.record[pod]->role} : std::string_view{}};
  }
  [[nodiscard]] std::vector<member_kind> kinds_of(const part& what) const {
    std::vector<row_t> members;
    collect_members(what, members);
    std::vector<member_kind> kinds;
    for (const row_t pod : members) kinds.push_back(kind_of(pod));
    return kinds;
  }

  bool fill(const part& what, const std::vector<row_t>* within, const continuation& rest) {
    if (!what.parts.empty() && what.parts.front().is_slice()) {
      std::vector<row_t> members;
      collect_members(what, members);
      return fill_slices(what, 0, member_progress{*core_->state_, what.group, members}, within, rest);
    }
    if (!what.parts.empty()) return fill_parts(what, 0, {0, static_cast<std::uint32_t>(what.parts.size())}, within, rest);
    part sorted = what;
    std::stable_sort(sorted.members.begin(), sorted.members.end(), [&](row_t a, row_t b) { return kind_of(a) < kind_of(b); });
    return place(sorted, 0, member_progress{*core_->state_, what.group, what.members}, 0, within, rest);
  }

  /// A slice is all or nothing, and the group's minimum counts its members. Those inside a slice are all needed.
  bool fill_slices(const part& what, std::size_t at, const member_progress& progress, const std::vector<row_t>* within,
                   const continuation& rest) {
    const bool all = what.is_slice();
    const status said = all ? status::wait() : core_->feasible(what.group, progress.now());
    if (all ? at == what.parts.size() : said.ok()) return rest();
    if (at == what.parts.size() || said.code != code::wait) return false;
    const auto count = [&](member_progress of, std::size_t from, std::size_t to, bool placed) {
      std::vector<row_t> members;
      for (std::size_t i = from; i < to; ++i) collect_members(what.parts[i], members);
      for (const row_t pod : members) of.count(pod, placed);
      return of;
    };
    const member_progress with = count(progress, at, at + 1, true);
    if (solve(what.parts[at], within, [&] { return fill_slices(what, at + 1, with, within, rest); })) return true;
    if (all || !step()) return false;
    std::size_t next = at + 1;
    while (next < what.parts.size() && kinds_of(what.parts[next]) == kinds_of(what.parts[at])) ++next;
    return fill_slices(what, next, count(progress, at, next, false), within, rest);
  }

  bool fill_parts(const part& what, std::size_t at, group_progress groups, const std::vector<row_t>* within, const continuation& rest) {
    const status said = core_->feasible(what.group, groups);
    if (said.ok()) return rest();
    if (said.code != code::wait || at == what.parts.size()) return false;
    const group_progress with{groups.scheduled + 1, groups.remaining - 1}, without{groups.scheduled, groups.remaining - 1};
    if (solve(what.parts[at], within, [&] { return fill_parts(what, at + 1, with, within, rest); })) return true;
    // A group that has what it needs already is no better left out.
    std::vector<row_t> waiting;
    collect_members(what.parts[at], waiting);
    return !waiting.empty() && step() && fill_parts(what, at + 1, without, within, rest);
  }

  bool place(const part& what, std::size_t at, const member_progress& progress, row_t lowest, const std::vector<row_t>* within,
             const continuation& rest) {
    const bool enough = what.is_slice() ? at == what.members.size() : core_->feasible(what.group, progress.now()).ok();
    if (enough) return rest();
    if (at == what.members.size() || (!what.is_slice() && core_->feasible(what.group, progress.now()).code != code::wait)) return false;
    const row_t pod = what.members[at];
    std::size_t next = at + 1;  // the first that is not like it
    while (next < what.members.size() && kind_of(what.members[next]) == kind_of(pod)) ++next;
    const bool again = symmetric_ && next != at + 1;
    const group_topology& topology = core_->state_->groups.record[what.group]->spec.topology;
    std::optional<spread_limit> limit;
    if (!topology.spread_key.empty()) {
      limit.emplace(*core_->state_, core_->domains_of(topology.spread_key), what.group, topology.spread_most);
    }
    member_progress with = progress;
    with.count(pod, true);
    for (const row_t node : core_->picker_.feasible_rows(pod, limit ? &limit->open(within) : within)) {
      if (node < lowest) continue;
      if (!step()) return false;
      const std::size_t mark = core_->placed_.size();
      transaction one{*core_->state_};
      picked found;
      found.node = node;
      status said;
      if (core_->place_member(pod, found, said) && place(what, at + 1, with, again ? node : 0, within, rest)) {
        one.commit();
        return true;
      }
      core_->discard_members(mark);
    }
    if (what.is_slice()) return false;
    member_progress without = progress;
    for (std::size_t i = at; i < next; ++i) without.count(what.members[i], false);
    return place(what, next, without, 0, within, rest);
  }

  core* core_;
  const part* whole_;
  std::uint32_t tier_;
  std::uint64_t left_;
  bool symmetric_;
};

/// Whether greedy placing can be wrong: for one class whose filters look at one node only it cannot.
GANGSCHED_INLINE bool core::worth_searching(const part& whole) {
  if (options_.search_budget == 0 || entities_.members_enter_singly()) return false;
  std::vector<row_t> members;
  collect_members(whole, members);
  constexpr std::size_t most = 256;  // as deep does it go
  if (members.empty() || members.size() > most) return false;
  if (!whole.parts.empty()) return true;
  const class_id cls = state_->class_of(members.front());
  if (std::any_of(members.begin(), members.end(), [&](row_t pod) { return state_->class_of(pod) != cls; })) return true;
  const class_plan& plan = picker_.plan_of(cls);
  return plan.opaque || !plan.keyed_filters.empty() || !plan.cycle_hooks.empty();
}

/// Parts that a plan would have cut into slices are cut.
GANGSCHED_INLINE core::part core::without_plans(part of) {
  if (of.planned) cut_by_rank(of);
  of.planned = false;
  for (part& one : of.parts) {
    if (!one.is_slice()) one = without_plans(std::move(one));
  }
  return of;
}

GANGSCHED_INLINE status core::order_all_by_rank(const part& of) {
  status said = order_by_rank(of, 0);
  for (const part& one : of.parts) {
    if (said.ok() && !one.is_slice()) said = order_all_by_rank(one);
  }
  return said;
}

/// What greedy placing refused on a level, tried there in full. Says why not: proved, or out of budget, which is left for the next one.
GANGSCHED_INLINE core::group_outcome core::search_group(const part& whole, group_outcome refused, std::uint32_t tier, std::uint64_t& budget) {
  const picker::position first = picker_.where();
  std::vector<row_t> members;
  collect_members(whole, members);
  const bool symmetric = std::all_of(members.begin(), members.end(), [&](row_t pod) {
    const class_plan& plan = picker_.plan_of(state_->class_of(pod));
    return plan.opaque_filters.empty() && plan.keyed_filters.empty() && plan.cycle_hooks.empty();
  });
  const part plain = without_plans(whole);
  complete_search search{*this, plain, tier, budget, symmetric};
  transaction trial{*state_};
  const bool found = search.solve(plain, nullptr, [] { return true; });
  statistics_.search_steps += budget - search.left();
  budget = search.left();
  picker_.go_back(first);
  if (found && !placed_.empty()) {
    refused.verdict = order_all_by_rank(plain);
    if (refused.verdict.ok()) trial.commit();
    else discard_members();
    return refused;
  }
  discard_members();
  refused.verdict = status::unschedulable(search.exhausted() ? "no place was found for the group's minimum within the search budget"
                                          : symmetric        ? "there is no place for the group's minimum"
                                                             : "no place was found for the group's minimum in the order of its members");
  refused.rejectors = ~std::uint64_t{0};
  return refused;
}

}  // namespace gangsched::engine
