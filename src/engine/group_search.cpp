#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "gangsched/engine/group_candidates.hpp"

// Finding places for a group (kube-workloads 4, 7): for each part the placements inside those of the part above it; in each the members
// one after another, or the parts below; the best one stays. Everything is tried in transactions, and nothing of a failed attempt is left.
namespace gangsched::engine {

GANGSCHED_INLINE status core::feasible(row_t group, const group_progress& progress) const {
  return feasible(entities_.profile_of_group(group), group, progress);
}

GANGSCHED_INLINE status core::feasible(const kernel_table& profile, row_t group, const group_progress& progress) const {
  // Without a plugin that says otherwise one member is enough.
  status said = progress.scheduled > 0 ? status::success() : status::wait();
  for (const plugin_entry& plugin : profile.hooks(point::placement_feasible)) {
    said = plugin.placement_feasible(plugin.self.get(), group_view{*state_, group}, progress);
    if (!said.ok()) return said;
  }
  return said;
}

GANGSCHED_INLINE core::group_outcome core::place_group(const part& whole, bool search) {
  placed_.clear();
  by_pod_ = {};
  std::uint64_t budget = options_.search_budget;
  group_outcome outcome = choose(whole, nullptr, search ? &budget : nullptr);
  if (outcome.verdict.ok() && placed_.empty()) outcome.verdict = status::unschedulable("no pods were schedulable");
  return outcome;
}

/// In the best placement of the lowest tier that has a feasible one. `placed_` grows by the members placed.
GANGSCHED_INLINE core::group_outcome core::choose(const part& what, const std::vector<row_t>* within, std::uint64_t* budget) {
  group_outcome outcome;
  if (!what.is_slice()) {
    for (const plugin_entry& plugin : entities_.profile_of_group(what.group).hooks(point::group_pre_filter)) {
      outcome.verdict = plugin.group_pre_filter(plugin.self.get(), group_view{*state_, what.group});
      if (!outcome.verdict.ok()) return outcome;
    }
  }
  std::vector<row_t> beside;
  if (!what.is_slice()) within = beside_others(what.group, within, beside);
  if (what.planned) {
    transaction commitment{*state_};
    const std::size_t from = placed_.size();
    outcome = place_planned(what, within);
    if (outcome.verdict.ok()) commitment.commit();
    else discard_members(from);
    return outcome;
  }
  const std::vector<placement> where = placements(what, outcome.verdict);
  if (!outcome.verdict.ok()) {
    outcome.of_group = true;
    return outcome;
  }
  candidate_list list = candidates(what, where, within);
  if (list.all.empty()) outcome.rejectors = ~std::uint64_t{0};  // no node has the label: anything may help
  std::vector<std::uint32_t> tiers;
  for (const candidate& one : list.all) {
    if (tiers.empty() || tiers.back() != one.tier) tiers.push_back(one.tier);
  }
  std::sort(tiers.begin(), tiers.end());
  tiers.erase(std::unique(tiers.begin(), tiers.end()), tiers.end());
  outcome.verdict = status::unschedulable("no placement is left for the group");
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    group_outcome here = choose_among(what, list, tiers[i], within);
    if (budget != nullptr && here.verdict.code == code::unschedulable && worth_searching(what)) {
      here = search_group(what, here, tiers[i], *budget);
    }
    here.rejectors |= i == 0 ? 0 : outcome.rejectors;
    outcome = here;
    if (outcome.verdict.code != code::unschedulable) break;
  }
  return outcome;
}

GANGSCHED_INLINE core::group_outcome core::choose_among(const part& what, candidate_list& list, std::uint32_t tier,
                                                        const std::vector<row_t>* within) {
  const std::size_t from = placed_.size();
  std::vector<std::size_t> mine;
  mine.reserve(list.all.size());
  for (std::size_t i = 0; i < list.all.size(); ++i) {
    if (list.all[i].tier == tier) mine.push_back(i);
  }
  // Picks are numbered from the same start in each placement, so that the best one comes out again exactly.
  const picker::position first = picker_.where();
  std::vector<row_t> rows;
  const auto attempt = [&](std::size_t which) {
    const candidate& one = list.all[which];
    picker_.go_back(first);
    if (one.from->all) return fill(what, within);
    rows = rows_of(one, within);
    return fill(what, &rows);
  };
  const auto keep = [&](std::size_t which) {
    transaction commitment{*state_};
    group_outcome made = attempt(which);
    if (made.verdict.ok()) commitment.commit();
    else discard_members(from);
    return made;
  };
  if (mine.size() == 1) return keep(mine[0]);

  group_outcome outcome;
  outcome.verdict = status::unschedulable("no placement is left for the group");
  const std::uint64_t least = least_members(what);
  const auto hopeless = [&](std::size_t which) { return list.all[which].room < least; };
  const std::size_t hopeful = mine.size() - static_cast<std::size_t>(std::count_if(mine.begin(), mine.end(), hopeless));
  // Where nothing can fit, one attempt says why. What was not tried could be helped by anything.
  if (hopeful != mine.size()) outcome.rejectors = ~std::uint64_t{0};
  if (hopeful != 0 && hopeful != mine.size()) std::erase_if(mine, hopeless);
  const domain_choice choice = state_->groups.record[what.group]->spec.topology.choice;
  const bool by_room = what.is_slice() || choice == domain_choice::best_fit || choice == domain_choice::least_free;
  if (by_room || hopeful == 0) {
    // The least room that suffices; where nothing does, the most.
    std::stable_sort(mine.begin(), mine.end(), [&](std::size_t a, std::size_t b) {
      return hopeful != 0 ? list.all[a].room < list.all[b].room : list.all[a].room > list.all[b].room;
    });
    if (hopeful == 0 && !mine.empty()) mine.resize(1);
    for (const std::size_t which : mine) {
      group_outcome tried = keep(which);
      if (tried.verdict.code != code::unschedulable) return tried;
      tried.rejectors |= outcome.rejectors;
      if (which == mine.front()) outcome.verdict = tried.verdict;
      outcome.rejectors = tried.rejectors;
    }
    return outcome;
  }

  if (list.bound.empty()) bound_scores(what, list, within);
  std::optional<std::size_t> best;
  const auto total = [&](std::size_t which) {
    bool known = true;
    return list.total(list.raw, which, known);
  };
  // Among those with equal sums the first counts.
  const auto beats = [&](std::size_t a, std::int64_t score, std::size_t b, std::int64_t other) {
    return score != other ? score > other : a < b;
  };
  const auto next = [&] {
    std::optional<std::size_t> found;
    std::int64_t highest = 0;
    const std::int64_t to_beat = best ? total(*best) : 0;
    for (const std::size_t which : mine) {
      if (list.all[which].tried) continue;
      bool known = true;
      const std::int64_t bound = list.total(list.bound, which, known);
      if (best && known && !beats(which, bound, *best, to_beat)) continue;
      if (!found || bound > highest) found = which, highest = bound;
    }
    return found;
  };
  bool any_tried = false;
  for (std::optional<std::size_t> which = next(); which;) {
    transaction trial{*state_};
    group_outcome tried = attempt(*which);
    candidate& one = list.all[*which];
    one.tried = true;
    if (tried.verdict.ok()) {
      score_candidate(what, list, *which, one.from->all ? within : &rows, from);
      one.feasible = true;
      best.reset();
      for (const std::size_t other : mine) {
        if (list.all[other].feasible && (!best || beats(other, total(other), *best, total(*best)))) best = other;
      }
      const std::optional<std::size_t> another = next();
      if (!another && best == which) {
        trial.commit();
        return tried;
      }
      discard_members(from);
      which = another;
      continue;
    }
    discard_members(from);
    if (tried.verdict.code != code::unschedulable) return tried;
    if (!any_tried) outcome.verdict = tried.verdict;
    any_tried = true;
    outcome.rejectors |= tried.rejectors;
    which = next();
  }
  return best ? keep(*best) : outcome;
}

GANGSCHED_INLINE core::group_outcome core::fill(const part& what, const std::vector<row_t>* within) {
  const std::size_t from = placed_.size();
  group_outcome out = what.parts.empty() ? try_members(what, within) : try_parts(what, within);
  if (out.verdict.ok() && !what.is_slice()) {
    if (const status said = order_by_rank(what, from); !said.ok()) out.verdict = said;
  }
  return out;
}

/// Reserves the node inside a transaction of its own. False if a reserve hook refuses, or the node's usage would overflow.
GANGSCHED_INLINE bool core::place_member(row_t pod, const picked& found, status& said) {
  if (!state_->fits_in_words(found.node, state_->classes[state_->pods.cls[pod]])) return false;
  transaction one{*state_};
  member_place placed{pod, found.node, found.score, {}};
  if (!reservations_.assume(pod, found.node, said) || !reservations_.reserve(pod, found.node, placed.uses, said)) return false;
  one.commit();
  placed_.push_back(std::move(placed));
  return true;
}

/// Places members one after another inside the caller's transaction.
GANGSCHED_INLINE core::group_outcome core::try_members(const part& what, const std::vector<row_t>* within) {
  group_outcome out;
  const bool by_pod = preempts_by_pod(what.group);
  member_progress progress{*state_, what.group, what.members};
  const group_spec& spec = state_->groups.record[what.group]->spec;
  std::optional<spread_limit> limit;
  if (!spec.topology.spread_key.empty()) limit.emplace(*state_, domains_of(spec.topology.spread_key), what.group, spec.topology.spread_most);
  const kernel_table& profile = entities_.profile_of_group(what.group);
  const auto verdict = [&] {
    if (!what.is_slice()) return feasible(profile, what.group, progress.now());
    return progress.failed() ? status::unschedulable("a slice does not fit") : status::success();
  };
  out.verdict = verdict();
  for (std::size_t i = 0; i < what.members.size() && (out.verdict.ok() || out.verdict.code == code::wait); ++i) {
    const row_t pod = what.members[i];
    picked found = picker_.pick(pod, limit ? &limit->open(within) : within);
    if (found.node == no_row && by_pod && found.said.code != code::error) found.node = make_member_room(pod);
    out.rejectors |= found.node == no_row ? found.rejectors : 0;
    status said = found.said.code == code::error ? found.said : status{};
    const bool placed = found.node != no_row && place_member(pod, found, said);
    if (said.code == code::error) {
      out.verdict = said;
      break;
    }
    if (placed && limit) limit->add(found.node);
    progress.count(pod, placed);
    out.verdict = verdict();
  }
  if (out.verdict.code == code::wait) out.verdict = status::unschedulable("fewer members fit than the group needs");
  wait_for_members(out.verdict);
  return out;
}

/// The parts in order: groups below a composite one, or a group's slices, whose members count one by one.
GANGSCHED_INLINE core::group_outcome core::try_parts(const part& what, const std::vector<row_t>* within) {
  group_outcome out;
  const bool slices = what.parts.front().is_slice();
  std::vector<row_t> members;
  if (slices) collect_members(what, members);
  member_progress progress{*state_, what.group, members};
  group_progress groups{0, static_cast<std::uint32_t>(what.parts.size())};
  const auto verdict = [&] {
    if (what.is_slice()) return progress.failed() ? status::unschedulable("a slice does not fit") : status::success();
    return feasible(what.group, slices ? progress.now() : groups);
  };
  out.verdict = verdict();
  for (std::size_t i = 0; i < what.parts.size() && (out.verdict.ok() || out.verdict.code == code::wait); ++i) {
    const part& one = what.parts[i];
    const group_outcome tried = choose(one, within);
    out.rejectors |= tried.rejectors;
    if (tried.verdict.code == code::error) {
      out.verdict = tried.verdict;
      out.of_group = tried.of_group;
      break;
    }
    --groups.remaining;
    if (tried.verdict.ok()) ++groups.scheduled;
    std::vector<row_t> those;
    if (slices) collect_members(one, those);
    for (const row_t pod : those) progress.count(pod, tried.verdict.ok());
    out.verdict = verdict();
  }
  if (out.verdict.code == code::wait) {
    out.verdict = status::unschedulable(slices ? "fewer members fit than the group needs" : "fewer groups fit than the group needs");
  }
  return out;
}

/// Before the trial is rolled back: what reserve hooks did outside the cluster is undone in reverse.
GANGSCHED_INLINE void core::discard_members(std::size_t from) {
  while (placed_.size() > from) {
    reservations_.unreserve(placed_.back().pod, placed_.back().node);
    placed_.pop_back();
  }
}

/// Members with a rank, alike but for that, swap their nodes so that neighbours in rank are close: nodes in order of the domains that
/// the group and those above it name, outermost first, then by row. Not if a slice would not be together any more.
GANGSCHED_INLINE status core::order_by_rank(const part& what, std::size_t from) {
  if (state_->groups.record[what.group]->spec.composite) return {};
  const auto rank = [&](row_t pod) { return state_->pods.record[pod]->rank; };
  std::vector<std::size_t> ranked;
  for (std::size_t i = from; i < placed_.size(); ++i) {
    if (state_->pods.group[placed_[i].pod] == what.group && rank(placed_[i].pod)) ranked.push_back(i);
  }
  if (ranked.size() < 2) return {};
  std::vector<const domain_index*> levels;
  for (row_t up = what.group; up != no_row; up = state_->groups.parent[up]) {
    const group_topology& topology = state_->groups.record[up]->spec.topology;
    for (auto slice = topology.slices.rbegin(); slice != topology.slices.rend(); ++slice) levels.push_back(&domains_of(slice->key));
    for (const std::string& key : topology.within) levels.push_back(&domains_of(key));
  }
  std::reverse(levels.begin(), levels.end());
  const auto closer = [&](row_t a, row_t b) {
    for (const domain_index* level : levels) {
      if (level->of(a) != level->of(b)) return level->of(a) < level->of(b);
    }
    return a < b;
  };
  // Those of shorter slices, which are the last ones, swap among themselves.
  const bool sliced = !what.parts.empty();
  std::map<row_t, std::vector<std::size_t>> slices;
  const std::function<void(const part&, std::vector<std::size_t>)> note_slices = [&](const part& of, std::vector<std::size_t> sizes) {
    std::vector<row_t> members;
    if (of.is_slice()) collect_members(of, members), sizes.push_back(members.size());
    for (const row_t pod : members) slices[pod] = sizes;
    for (const part& one : of.parts) note_slices(one, sizes);
  };
  note_slices(what, {});
  const auto alike = [&](std::size_t i) {
    return std::pair{state_->pods.cls[placed_[i].pod], sliced ? slices[placed_[i].pod] : std::vector<std::size_t>{}};
  };
  struct move {
    std::size_t which;
    row_t node;
  };
  std::vector<move> moves;
  std::sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple{alike(a), *rank(placed_[a].pod), a} < std::tuple{alike(b), *rank(placed_[b].pod), b};
  });
  for (std::size_t first = 0, last = 0; first < ranked.size(); first = last) {
    std::vector<std::pair<row_t, std::int64_t>> nodes;
    for (; last < ranked.size() && alike(ranked[last]) == alike(ranked[first]); ++last) {
      nodes.push_back({placed_[ranked[last]].node, placed_[ranked[last]].score});
    }
    std::stable_sort(nodes.begin(), nodes.end(), [&](const auto& x, const auto& y) { return closer(x.first, y.first); });
    for (std::size_t i = first; i < last; ++i) {
      const auto& [node, score] = nodes[i - first];
      placed_[ranked[i]].score = score;
      if (placed_[ranked[i]].node != node) moves.push_back({ranked[i], node});
    }
  }
  std::map<row_t, row_t> after;
  for (std::size_t i = from; sliced && i < placed_.size(); ++i) after[placed_[i].pod] = placed_[i].node;
  for (const move& one : moves) {
    if (sliced) after[placed_[one.which].pod] = one.node;
  }
  const std::function<bool(const part&)> together = [&](const part& of) {
    std::vector<row_t> members;
    if (of.is_slice()) collect_members(of, members);
    std::erase_if(members, [&](row_t pod) { return !after.contains(pod); });
    for (const row_t pod : members) {
      const domain_index& domains = domains_of(state_->groups.record[of.group]->spec.topology.slices[of.layer - 1].key);
      if (domains.of(after[pod]) != domains.of(after[members.front()])) return false;
    }
    return std::all_of(of.parts.begin(), of.parts.end(), together);
  };
  if (sliced && !together(what)) return {};
  for (const move& one : moves) {
    const member_place& old = placed_[one.which];
    reservations_.undo(old.pod, old.uses);
  }
  for (const move& one : moves) {
    placed_[one.which].node = one.node;
    placed_[one.which].uses.clear();
  }
  for (const move& one : moves) {
    member_place& now = placed_[one.which];
    if (status said; !reservations_.assume(now.pod, now.node, said) || !reservations_.reserve(now.pod, now.node, now.uses, said)) {
      return said.code == code::error ? said : status::unschedulable("a reserve hook refused the node of a rank");
    }
  }
  return {};
}

}  // namespace gangsched::engine
