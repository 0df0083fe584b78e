#include "gangsched/engine/complete_search.hpp"

#include <algorithm>
#include <set>

#include "gangsched/core/hash.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// A part whose members look at each other.
struct complete_search::any_order {
  const group_part& what;
  const std::vector<row_t>* within;
  const continuation& rest;
  std::vector<std::vector<row_t>> kinds = {};  ///< their members, in order
  std::vector<std::size_t> placed = {};        ///< of each kind, the first ones
  std::size_t count = 0;                       ///< of all kinds
  std::set<arrangement> seen = {};             ///< which members are where, in vain
};

GANGSCHED_INLINE status complete_search::feasible(row_t group, const group_progress& progress) const {
  return engine::feasible(with_.state, with_.entities.profile_of_group(group), group, progress);
}

GANGSCHED_INLINE bool complete_search::solve(const group_part& what, const std::vector<row_t>* within,
                                             const continuation& rest) {
  std::vector<row_t> beside;
  if (!what.is_slice()) {
    for (const plugin_entry& plugin : with_.entities.profile_of_group(what.group).hooks(point::group_pre_filter)) {
      if (!plugin.group_pre_filter(plugin.self.get(), group_view{with_.state, what.group}).ok()) return false;
    }
    within = with_.candidates.beside_others(what.group, within, beside);
  }
  status said;
  const std::vector<placement> where = with_.candidates.placements(what, said);
  if (!said.ok()) return false;
  const candidate_list list = with_.candidates.of(what, where, within);
  const std::uint64_t least = with_.parts.least_members(what);
  std::vector<const placement_candidate*> order;
  for (const placement_candidate& one : list.all) {
    if (one.room >= least && (&what != whole_ || one.tier == tier_)) order.push_back(&one);
  }
  std::stable_sort(order.begin(), order.end(), [](const placement_candidate* a, const placement_candidate* b) {
    return a->tier != b->tier ? a->tier < b->tier : a->room < b->room;
  });
  for (const placement_candidate* one : order) {
    if (!step()) return false;
    if (one->from->all) {
      if (fill(what, within, rest)) return true;
      continue;
    }
    const std::vector<row_t> rows = placement_candidates::rows_of(*one, within);
    if (fill(what, &rows, rest)) return true;
  }
  return false;
}

/// Whatever branches costs, so that there is an end to it: nodes that are tried, placements, and who goes without.
GANGSCHED_INLINE bool complete_search::step() {
  if (left_ != 0) --left_;
  return left_ != 0;
}

/// Members with equal kinds can stand for each other.
GANGSCHED_INLINE complete_search::member_kind complete_search::kind_of(row_t pod) const {
  const gang* policy = std::get_if<gang>(&with_.state.groups.record[with_.state.pods.group[pod]]->spec.policy);
  const bool by_role = policy != nullptr && !policy->roles.empty();
  return {with_.state.class_of(pod),
          by_role ? std::string_view{with_.state.pods.record[pod]->role} : std::string_view{}};
}

/// Kinds come as their first members do: what numbers classes have depends on who was asked about before.
GANGSCHED_INLINE void complete_search::alike_together(std::vector<row_t>& members) const {
  std::vector<member_kind> kinds;
  std::vector<std::pair<std::size_t, row_t>> order;
  for (const row_t pod : members) {
    const member_kind kind = kind_of(pod);
    const auto known = std::find(kinds.begin(), kinds.end(), kind);
    order.push_back({static_cast<std::size_t>(known - kinds.begin()), pod});
    if (known == kinds.end()) kinds.push_back(kind);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(order.begin(), order.end(), members.begin(), [](const auto& one) { return one.second; });
}

GANGSCHED_INLINE std::vector<complete_search::member_kind> complete_search::kinds_of(const group_part& what) const {
  const std::vector<row_t> members = what.all_members();
  std::vector<member_kind> kinds;
  for (const row_t pod : members) kinds.push_back(kind_of(pod));
  return kinds;
}

GANGSCHED_INLINE bool complete_search::fill(const group_part& what, const std::vector<row_t>* within,
                                            const continuation& rest) {
  if (!what.parts.empty() && what.parts.front().is_slice()) {
    const std::vector<row_t> members = what.all_members();
    return fill_slices(what, 0, member_progress{with_.state, what.group, members}, within, rest);
  }
  if (!what.parts.empty()) return fill_parts(what, 0, {0, static_cast<std::uint32_t>(what.parts.size())}, within, rest);
  group_part sorted = what;
  alike_together(sorted.members);
  const member_progress nobody{with_.state, what.group, what.members};
  if (symmetric_) return place(sorted, 0, nobody, 0, within, rest);
  any_order all{sorted, within, rest};
  for (const row_t pod : sorted.members) {
    if (all.kinds.empty() || kind_of(all.kinds.back().front()) != kind_of(pod)) all.kinds.emplace_back();
    all.kinds.back().push_back(pod);
  }
  all.placed.assign(all.kinds.size(), 0);
  return place_in_any_order(all, nobody, {});
}

/// A slice is all or nothing, and the group's minimum counts its members. Those inside a slice are all needed.
GANGSCHED_INLINE bool complete_search::fill_slices(const group_part& what, std::size_t at,
                                                   const member_progress& progress, const std::vector<row_t>* within,
                                                   const continuation& rest) {
  const bool all = what.is_slice();
  const status said = all ? status::wait() : feasible(what.group, progress.now());
  if (all ? at == what.parts.size() : said.ok()) return rest();
  if (at == what.parts.size() || said.code != code::wait) return false;
  const auto count = [&](member_progress of, std::size_t from, std::size_t to, bool placed) {
    std::vector<row_t> members;
    for (std::size_t i = from; i < to; ++i) what.parts[i].collect(members);
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

GANGSCHED_INLINE bool complete_search::fill_parts(const group_part& what, std::size_t at, group_progress groups,
                                                  const std::vector<row_t>* within, const continuation& rest) {
  const status said = feasible(what.group, groups);
  if (said.ok()) return rest();
  if (said.code != code::wait || at == what.parts.size()) return false;
  const group_progress with{groups.scheduled + 1, groups.remaining - 1},
      without{groups.scheduled, groups.remaining - 1};
  if (solve(what.parts[at], within, [&] { return fill_parts(what, at + 1, with, within, rest); })) return true;
  // A group that has what it needs already is no better left out.
  const std::vector<row_t> waiting = what.parts[at].all_members();
  return !waiting.empty() && step() && fill_parts(what, at + 1, without, within, rest);
}

/// The node for the pod in a trial of its own, which stays if what comes then succeeds.
template <class Then>
bool complete_search::place_one(row_t pod, row_t node, const Then& then) {
  const std::size_t mark = with_.placed.size();
  transaction one{with_.state};
  picked found;
  found.node = node;
  status said;
  if (with_.placed.place(pod, found, said) && then()) {
    one.commit();
    return true;
  }
  with_.placed.discard(mark);
  return false;
}

/// Where the pod may go as things stand, in ascending order.
GANGSCHED_INLINE std::vector<row_t> complete_search::open_to(row_t pod, const std::vector<row_t>* within) {
  const row_t group = with_.state.pods.group[pod];
  const group_topology& topology = with_.state.groups.record[group]->spec.topology;
  if (topology.spread_key.empty()) return with_.picks.feasible_rows(pod, within);
  spread_limit limit{with_.state, with_.candidates.domains().of(topology.spread_key), group, topology.spread_most};
  return with_.picks.feasible_rows(pod, &limit.open(within));
}

GANGSCHED_INLINE bool complete_search::place(const group_part& what, std::size_t at, const member_progress& progress,
                                             row_t lowest, const std::vector<row_t>* within, const continuation& rest) {
  const bool enough = what.is_slice() ? at == what.members.size() : feasible(what.group, progress.now()).ok();
  if (enough) return rest();
  if (at == what.members.size() || (!what.is_slice() && feasible(what.group, progress.now()).code != code::wait))
    return false;
  const row_t pod = what.members[at];
  std::size_t next = at + 1;  // the first that is not like it
  while (next < what.members.size() && kind_of(what.members[next]) == kind_of(pod)) ++next;
  const bool again = next != at + 1;
  member_progress with = progress;
  with.count(pod, true);
  for (const row_t node : open_to(pod, within)) {
    if (node < lowest) continue;
    if (!step()) return false;
    if (place_one(pod, node, [&] { return place(what, at + 1, with, again ? node : 0, within, rest); })) return true;
  }
  if (what.is_slice()) return false;
  member_progress without = progress;
  for (std::size_t i = at; i < next; ++i) without.count(what.members[i], false);
  return place(what, next, without, 0, within, rest);
}

/// Whose turn it is, and where it goes. @p where: what is placed, as sums that know no order.
GANGSCHED_INLINE bool complete_search::place_in_any_order(any_order& of, const member_progress& progress,
                                                          const arrangement& where) {
  if (of.what.is_slice()) {
    if (of.count == of.what.members.size()) return of.rest();
  } else {
    const status said = feasible(of.what.group, progress.now());
    if (said.ok()) return of.rest();
    if (said.code != code::wait) return false;
  }
  for (std::size_t kind = 0; kind < of.kinds.size(); ++kind) {
    if (of.placed[kind] == of.kinds[kind].size()) continue;
    const row_t pod = of.kinds[kind][of.placed[kind]];
    member_progress with = progress;
    with.count(pod, true);
    for (const row_t node : open_to(pod, of.within)) {
      const std::uint64_t here = mix64((std::uint64_t{kind} << 32) + node);
      const arrangement then{where.first + here, where.second + mix64(here)};
      if (!of.seen.insert(then).second) continue;
      if (!step()) return false;
      ++of.placed[kind], ++of.count;
      if (place_one(pod, node, [&] { return place_in_any_order(of, with, then); })) return true;
      --of.placed[kind], --of.count;
    }
  }
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
