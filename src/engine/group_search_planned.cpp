#include <algorithm>
#include <utility>

#include "gangsched/engine/group_search.hpp"
#include "gangsched/engine/member_progress.hpp"
#include "gangsched/engine/topology_plan.hpp"

// Groups whose topology names a domain choice: a plan says how many of the members, which are alike, go to each node; if not all of
// them fit, as many as do, down to the minimum.
namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// The forest of the nodes that have a domain on every level, with their room.
struct planned_forest {
  std::vector<plan_domain> domains;
  std::vector<std::size_t> roots;
  std::vector<row_t> node;  ///< by domain: of those without a level below

  planned_forest(const std::vector<const domain_index*>& levels, std::vector<row_t> rows, class_index& room) {
    const auto path_less = [&](row_t a, row_t b) {
      for (const domain_index* one : levels) {
        if (one->of(a) != one->of(b)) return one->of(a) < one->of(b);
      }
      return a < b;
    };
    std::erase_if(rows, [&](row_t row) {
      const auto lacks = [&](const domain_index* one) { return one->of(row) == no_domain; };
      return room.capacity(row) == 0 || std::any_of(levels.begin(), levels.end(), lacks);
    });
    std::sort(rows.begin(), rows.end(), path_less);
    std::vector<std::size_t> open(levels.size());  // of each level, the domain that the row before was in
    for (std::size_t i = 0; i < rows.size(); ++i) {
      bool same = i != 0;
      for (std::size_t level = 0; level < levels.size(); ++level) {
        same = same && levels[level]->of(rows[i]) == levels[level]->of(rows[i - 1]);
        if (!same) open[level] = add(level, level == 0 ? roots : domains[open[level - 1]].below);
      }
      const std::size_t leaf = add(levels.size(), levels.empty() ? roots : domains[open.back()].below);
      domains[leaf].room = room.capacity(rows[i]);
      node[leaf] = rows[i];
    }
  }

 private:
  /// (The list may lie in a domain that moves.)
  std::size_t add(std::size_t level, std::vector<std::size_t>& to) {
    to.push_back(domains.size());
    domains.push_back({level, {}, 0});
    node.push_back(no_row);
    return domains.size() - 1;
  }
};

}  // namespace detail

GANGSCHED_INLINE group_outcome group_search::place_planned(const group_part& what, const std::vector<row_t>* within,
                                                           placed_members& placed) {
  const group_topology& topology = state_->groups.record[what.group]->spec.topology;
  group_outcome out;
  member_progress progress{*state_, what.group, what.members};
  out.verdict = feasible(what.group, progress.now());
  if (!out.verdict.ok() && out.verdict.code != code::wait) return out;
  out.rejectors = unknown_rejectors;

  std::vector<const domain_index*> levels;  // outermost first
  std::vector<std::size_t> at;              // of the labels in `within`: their level
  plan_request wanted;
  wanted.choice = topology.choice;
  const auto set_levels = [&](bool within_too) {
    levels.clear(), wanted.slices.clear();
    for (auto key = topology.within.rbegin(); within_too && key != topology.within.rend(); ++key)
      levels.push_back(&candidates_.domains().of(*key));
    for (const topology_slice& one : topology.slices) {
      const domain_index& domains = candidates_.domains().of(one.key);
      auto found = std::find(levels.begin(), levels.end(), &domains);
      if (found == levels.end()) found = levels.insert(found, &domains);
      wanted.slices.push_back({static_cast<std::size_t>(found - levels.begin()), one.size});
    }
  };
  set_levels(true);
  for (std::size_t i = 0; i < topology.within.size(); ++i) at.push_back(topology.within.size() - 1 - i);
  std::vector<row_t> all;
  for (row_t row = 0; within == nullptr && row < state_->nodes.rows.count(); ++row) {
    if (state_->nodes.alive(row)) all.push_back(row);
  }
  if (within != nullptr) all = *within;
  // Members that run keep the others in the narrowest domain that they share; if one is in no domain of the label, they share none there.
  const auto beside_running = [&](std::size_t level, std::vector<row_t> rows) {
    domain_id theirs = no_domain;
    bool several = false;
    for (row_t pod = state_->groups.first[what.group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
      if (state_->pods.node[pod] == no_row) continue;
      const domain_id domain = levels[level]->of(state_->pods.node[pod]);
      several = several || domain == no_domain || (theirs != no_domain && domain != theirs);
      theirs = domain;
    }
    if (several)
      rows.clear();
    else if (theirs != no_domain)
      std::erase_if(rows, [&](row_t row) { return levels[level]->of(row) != theirs; });
    return rows;
  };
  struct attempt {
    plan_request::kind how;
    std::size_t level;
    bool beside;
    bool labelled = true;  ///< only nodes that have the labels in `within`
  };
  std::vector<attempt> attempts;
  using kind = plan_request::kind;
  for (const std::size_t level : at) attempts.push_back({kind::required, level, true});
  if (topology.within.empty())
    attempts.push_back({kind::unconstrained, 0, false});
  else if (topology.or_anywhere)
    attempts.push_back({kind::preferred, at.front(), false});
  if (!topology.within.empty() && topology.or_anywhere) attempts.push_back({kind::unconstrained, 0, false, false});
  // (Balanced plans choose among levels by themselves.)
  if (topology.or_anywhere && topology.choice == domain_choice::balanced)
    attempts.erase(attempts.begin(), attempts.end() - 2);

  const auto unit = static_cast<std::int64_t>(topology.slices.empty() ? 1 : topology.slices.front().size);
  const auto most = static_cast<std::int64_t>(what.members.size()) / unit * unit;
  std::size_t needed = 0;  // of the members in order: as many as suffice, minimums by role included
  for (; needed < what.members.size() && !out.verdict.ok(); out.verdict = feasible(what.group, progress.now())) {
    progress.count(what.members[needed++], true);
  }
  if (!out.verdict.ok()) {  // as in 1.36, where members have gates of their own
    out.verdict = status::unschedulable("fewer members may enter than the group needs");
    return out;
  }
  const std::int64_t least = std::max<std::int64_t>(unit, (static_cast<std::int64_t>(needed) + unit - 1) / unit * unit);
  for (const attempt& one : attempts) {
    set_levels(one.labelled);
    class_index* const room =
        picks_->capacity_index(state_->class_of(what.members.front()));  // what was tried before is gone again
    if (room == nullptr) break;
    const detail::planned_forest forest{levels, one.beside ? beside_running(one.level, all) : all, *room};
    wanted.how = one.how, wanted.level = one.level;
    const auto plan = [&](std::int64_t count) {
      wanted.count = count;
      return plan_topology(forest.domains, forest.roots, wanted);
    };
    if (most < least) break;
    // The most that fits: what fits in part fits with fewer.
    std::int64_t low = least, high = most;
    plan_answer answer = plan(most);
    if (!answer.missing.empty()) {
      answer = plan(least);
      if (!answer.missing.empty()) continue;
      while (high - low > unit) {
        const std::int64_t middle = low + (high - low) / unit / 2 * unit;
        plan_answer found = plan(middle);
        if (found.missing.empty())
          low = middle, answer = std::move(found);
        else
          high = middle;
      }
    }
    // Where members were meant to go before does not matter to this plan, and must not keep their siblings out.
    for (const row_t pod : what.members) {
      if (state_->pods.nominated[pod] != no_row) state_->assigned.nominate(pod, no_row);
    }
    const std::size_t from = placed.size();
    std::size_t next = 0;
    bool stands = true;
    for (std::size_t leaf = 0; leaf < forest.node.size() && stands; ++leaf) {
      const std::vector<row_t> only{forest.node[leaf]};
      for (std::int64_t i = 0; i < answer.taken[leaf] && stands; ++i) {
        const row_t pod = what.members[next++];
        const picked found = picks_->pick(pod, &only);
        status said = found.said;
        stands = found.node != no_row && placed.place(pod, found, said);
        if (said.code == code::error) {
          out.verdict = said;
          return out;
        }
      }
    }
    if (stands) {
      out.verdict = status::success();
      return out;
    }
    // What the plan did not know of (a nomination, a reserve hook) stands in the way.
    placed.undo(from);
  }
  out.verdict = status::unschedulable("no domain has room for the group's minimum");
  return out;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
