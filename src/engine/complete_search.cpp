#include "gangsched/engine/complete_search.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "gangsched/core/hash.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// A part without parts, whose members are to be placed.
struct complete_search::leaf {
  const group_part& what;
  const std::vector<row_t>* within;
  const continuation& rest;
  std::vector<std::vector<row_t>> kinds = {};  ///< their members, in order
  std::vector<std::size_t> placed = {};        ///< of each kind, the first ones
  std::size_t count = 0;                       ///< of all kinds
  std::set<arrangement> seen = {};             ///< which members are where, in vain
};

GANGSCHED_INLINE status complete_search::feasible(row_t group, const group_progress& progress) const {
  return engine::feasible(with_.state, with_.entities.profile_of_group(group), group, progress, with_.picks.errors);
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

/// Every branch costs a step, so that there is an end to it: nodes that are tried, placements, and members that are left out.
GANGSCHED_INLINE bool complete_search::step() {
  if (left_ != 0) --left_;
  return left_ != 0;
}

/// Members with equal kinds can stand for each other.
GANGSCHED_INLINE complete_search::member_kind complete_search::kind_of(row_t pod) const {
  const gang* policy = std::get_if<gang>(&with_.state.groups.record[with_.state.pods.group[pod]]->spec.policy);
  const bool by_role = policy != nullptr && !policy->roles.empty();
  return {with_.state.class_of(pod),
          by_role ? std::string_view{with_.state.pods.record[pod]->details->role} : std::string_view{}};
}

/// Kinds stand in the order of their first members: the numbers of classes depend on which classes were asked about before.
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
  leaf all{sorted, within, rest};
  for (const row_t pod : sorted.members) {
    if (all.kinds.empty() || kind_of(all.kinds.back().front()) != kind_of(pod)) all.kinds.emplace_back();
    all.kinds.back().push_back(pod);
  }
  all.placed.assign(all.kinds.size(), 0);
  if (&what == whole_) whole_members_ = &sorted;
  return place_by_kind(all);
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

/// Whether so many of the part have a place that it stands. Says why it does not.
GANGSCHED_INLINE bool complete_search::enough(const group_part& what, std::size_t count,
                                              const member_progress& progress, status& said) const {
  if (what.is_slice()) {
    said = status::wait();
    return count == what.members.size();
  }
  said = feasible(what.group, progress.now());
  if (said.ok() && &what == whole_members_ && count < members_) said = status::wait();
  return said.ok();
}

GANGSCHED_INLINE bool complete_search::place(const leaf& of, std::size_t at, std::size_t count,
                                             const member_progress& progress, row_t lowest) {
  status said;
  if (enough(of.what, count, progress, said)) return of.rest();
  if (at == of.what.members.size() || said.code != code::wait) return false;
  const row_t pod = of.what.members[at];
  std::size_t next = at + 1;  // the first that is not like it
  while (next < of.what.members.size() && kind_of(of.what.members[next]) == kind_of(pod)) ++next;
  const bool again = next != at + 1;
  member_progress with = progress;
  with.count(pod, true);
  for (const row_t node : open_to(pod, of.within)) {
    if (node < lowest) continue;
    if (!step()) return false;
    if (place_one(pod, node, [&] { return place(of, at + 1, count + 1, with, again ? node : 0); })) return true;
  }
  if (of.what.is_slice()) return false;
  member_progress without = progress;
  for (std::size_t i = at; i < next; ++i) without.count(of.what.members[i], false);
  return place(of, next, count, without, 0);
}

/// Members one after another where a packing has them; false if filters, or what comes then, will not have it.
GANGSCHED_INLINE bool complete_search::place_listed(const leaf& of, const std::vector<std::pair<row_t, row_t>>& all,
                                                    std::size_t at, const member_progress& progress) {
  if (at == all.size()) {
    status said;
    return enough(of.what, at, progress, said) && of.rest();
  }
  const auto& [pod, node] = all[at];
  const std::vector<row_t> only{node};
  if (!step() || open_to(pod, &only).empty()) return false;
  member_progress with = progress;
  with.count(pod, true);
  return place_one(pod, node, [&] { return place_listed(of, all, at + 1, with); });
}

/// The number of the part's members that must find a place, since the group's hooks refuse fewer. 0: cannot be told.
GANGSCHED_INLINE std::size_t complete_search::least_of(const group_part& what) const {
  if (what.is_slice()) return what.members.size();
  const std::size_t wanted = &what == whole_members_ ? members_ : 0;
  const std::size_t least = static_cast<std::size_t>(with_.parts.least_members(what));
  if (least == 0 || least > what.members.size()) return wanted;
  member_progress fewer{with_.state, what.group, what.members};
  for (std::size_t i = 0; i < what.members.size(); ++i) fewer.count(what.members[i], i + 1 < least);
  return std::max(wanted, feasible(what.group, fewer.now()).ok() ? 0 : least);
}

/// The part as a question of amounts: what its members need of the nodes' amounts, and on which nodes each
/// may be at all. If that has no answer, the part has no place; if it has one, filters may still refuse it.
GANGSCHED_INLINE std::optional<complete_search::packed> complete_search::pack(const leaf& of, std::uint64_t& steps) {
  const std::size_t least = least_of(of.what);
  if (least < 2) return std::nullopt;
  model::cluster_state& state = with_.state;
  constexpr std::size_t most_nodes = 256;
  std::vector<row_t> rows;
  if (of.within != nullptr) {
    rows = *of.within;
  } else {
    for (row_t row = 0; row < state.nodes.rows.count(); ++row) {
      if (state.nodes.alive(row)) rows.push_back(row);
    }
  }
  if (rows.size() > most_nodes) return std::nullopt;
  std::vector<resource_kind> resources;
  std::vector<std::vector<amount>> needs;  // by kind of member
  std::vector<class_id> classes;
  for (const std::vector<row_t>& alike : of.kinds) {
    classes.push_back(state.class_of(alike.front()));
    const pod_class& cls = state.classes[classes.back()];
    if (cls.held_room || state.reserved.concerns(cls)) return std::nullopt;
    std::vector<amount>& its = needs.emplace_back();
    const class_plan& plan = with_.picks.plan_of(classes.back());
    for (const planned& hook : plan.local_filters) {
      if (hook.plugin->filter.least_free == nullptr) continue;
      for (const amount& one :
           hook.plugin->filter.least_free(hook.plugin->self.get(), plan.context(state, hook, no_row))) {
        // (Amounts that must be free without being used up are for the filters to judge.)
        if (one.value <= 0 || one.value != (one.kind == kinds::pods ? 1 : cls.request(one.kind))) continue;
        if (std::find_if(its.begin(), its.end(), [&](const amount& known) { return known.kind == one.kind; }) ==
            its.end())
          its.push_back(one);
        if (std::find(resources.begin(), resources.end(), one.kind) == resources.end()) resources.push_back(one.kind);
      }
    }
  }
  packed made;
  std::vector<member_packing::amounts> free;
  for (const row_t row : rows) {
    member_packing::amounts& here = free.emplace_back();
    for (const resource_kind kind : resources) {
      const std::int64_t left = state.nodes.allocatable.at(row, kind) - state.nodes.used.at(row, kind);
      here.push_back(std::max<std::int64_t>(left, 0));
    }
  }
  std::vector<member_packing::kind> kinds;
  for (std::size_t k = 0; k < needs.size(); ++k) {
    member_packing::kind& one = kinds.emplace_back();
    one.count = static_cast<std::uint32_t>(of.kinds[k].size());
    for (const resource_kind kind : resources) {
      const auto its =
          std::find_if(needs[k].begin(), needs[k].end(), [&](const amount& need) { return need.kind == kind; });
      one.needs.push_back(its == needs[k].end() ? 0 : its->value);
    }
    for (const row_t row : rows) one.may.push_back(with_.picks.passes_locally(classes[k], row) ? 1 : 0);
  }
  member_packing packing{std::move(free), std::move(kinds), static_cast<std::uint32_t>(least), steps};
  made.said = packing.solve();
  steps = packing.steps_left();
  for (std::size_t k = 0; made.said == member_packing::answer::found && k < of.kinds.size(); ++k) {
    std::size_t next = 0;
    for (std::size_t node = 0; node < rows.size(); ++node) {
      for (std::uint32_t i = packing.on(k, node); i > 0; --i) made.where.emplace_back(of.kinds[k][next++], rows[node]);
    }
  }
  return made;
}

/// What is simple is soon found by trying; then the question of amounts says that there is nothing, or where; else trying goes on.
GANGSCHED_INLINE bool complete_search::place_by_kind(leaf& of) {
  constexpr std::uint64_t few = 1000, packing_steps = 256;  // of trying; of packing, in one of trying
  const member_progress nobody{with_.state, of.what.group, of.what.members};
  const auto attempt = [&] { return symmetric_ ? place(of, 0, 0, nobody, 0) : place_in_any_order(of, nobody, {}); };
  const std::uint64_t kept = left_ - std::min(left_, few);
  left_ -= kept;
  if (attempt()) {
    left_ += kept;
    return true;
  }
  if (left_ != 0 || kept == 0) {  // there is nothing left to try, or no step
    left_ += kept;
    return false;
  }
  const std::uint64_t share = kept / 2 * packing_steps;
  std::uint64_t steps = share;
  const std::optional<packed> found = pack(of, steps);
  left_ = kept - (share - steps) / packing_steps;
  if (found && found->said == member_packing::answer::none) return false;
  if (symmetric_ && found && found->said == member_packing::answer::found && place_listed(of, found->where, 0, nobody))
    return true;
  std::fill(of.placed.begin(), of.placed.end(), 0);
  of.count = 0;
  of.seen.clear();
  return attempt();
}

/// Whose turn it is, and where it goes. @p where: what is placed, as sums that know no order.
GANGSCHED_INLINE bool complete_search::place_in_any_order(leaf& of, const member_progress& progress,
                                                          const arrangement& where) {
  status said;
  if (enough(of.what, of.count, progress, said)) return of.rest();
  if (said.code != code::wait) return false;
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
