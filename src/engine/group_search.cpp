#include "gangsched/engine/group_search.hpp"

#include <algorithm>
#include <optional>

#include "gangsched/engine/member_progress.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE status group_search::feasible(row_t group, const group_progress& progress) const {
  return engine::feasible(*state_, entities_->profile_of_group(group), group, progress, picks_->errors);
}

GANGSCHED_INLINE status group_search::ask_pre_filters(row_t group) const {
  for (const plugin_entry& plugin : entities_->profile_of_group(group).hooks(point::group_pre_filter)) {
    const status said = plugin.group_pre_filter(plugin.self.get(), group_view{*state_, group});
    if (said.ok()) continue;
    return picks_->errors.note(
        plugin.name, hook_errors::accepts_or_rejects(said, "a group_pre_filter hook neither accepts nor rejects"));
  }
  return {};
}

GANGSCHED_INLINE group_placement group_search::place(const group_part& whole, bool complete) {
  std::uint64_t budget = budget_;
  return place(whole, search_effort{complete ? &budget : nullptr});
}

GANGSCHED_INLINE group_placement group_search::place(const group_part& whole, const search_effort& how) {
  group_placement made{{}, nobody()};
  lack_ = {};
  own_lacks_.clear();
  asks_own_lacks_ = how.own_lacks;
  may_preempt_ = evictions_ != nullptr;
  if (may_preempt_) evictions_->begin();
  static_cast<group_outcome&>(made) = choose(whole, nullptr, made.members, how);
  made.lack = std::move(lack_);
  const bool refused = made.verdict.code == code::error || (!made.verdict.ok() && !is_basic(whole.group));
  if (!refused) made.own_lacks = std::move(own_lacks_);  // else it could not do without them
  if (made.verdict.ok() && made.members.empty()) made.verdict = status::unschedulable("no pods were schedulable");
  return made;
}

GANGSCHED_INLINE group_placement group_search::place_within(const group_part& whole, const std::vector<row_t>& rows,
                                                            const search_effort& how) {
  group_placement made{{}, nobody()};
  asks_own_lacks_ = may_preempt_ = false;
  group_outcome& outcome = made;
  outcome.verdict = ask_pre_filters(whole.group);
  std::vector<row_t> beside;
  const std::vector<row_t>* const inside = candidates_.beside_others(whole.group, &rows, beside);
  if (!outcome.verdict.ok()) return made;
  if (whole.planned) {
    outcome = place_planned(whole, inside, made.members);
    return made;
  }
  outcome = enough(how, made.members, [&] { return fill(whole, inside, made.members); });
  const bool nobody_new = outcome.verdict.ok() && made.members.empty() && !whole.parts.empty();
  const bool in_vain = outcome.verdict.code == code::unschedulable || nobody_new;
  if (how.budget == nullptr || !in_vain || !worth_searching(whole)) return made;
  if (!nobody_new) {
    made.members.undo(0);
    outcome = search_completely(whole, outcome, std::nullopt, made.members, how, inside);
  } else {
    outcome = enough(how, made.members, [&] { return fill(whole, inside, made.members, how); });
  }
  return made;
}

/// An attempt that has placed fewer than are wanted comes to nothing.
template <class Attempt>
group_outcome group_search::enough(const search_effort& how, placed_members& placed, const Attempt& attempt) {
  if (how.members == 0) return attempt();
  transaction commitment{*state_};
  const std::size_t from = placed.size();
  group_outcome made = attempt();
  if (made.verdict.ok() && placed.size() - from < how.members)
    made.verdict = status::unschedulable("fewer members fit than found room before");
  if (made.verdict.ok())
    commitment.commit();
  else
    placed.discard(from);
  return made;
}

GANGSCHED_INLINE group_placement group_search::place_members(const group_part& whole) {
  group_placement made{{}, nobody()};
  asks_own_lacks_ = false;
  may_preempt_ = evictions_ != nullptr;
  static_cast<group_outcome&>(made) = try_members(whole, nullptr, made.members);
  return made;
}

/// In the best placement of the lowest tier that has a feasible one, in which somebody finds room. `placed_` grows by the members placed.
GANGSCHED_INLINE group_outcome group_search::choose(const group_part& what, const std::vector<row_t>* within,
                                                    placed_members& placed, const search_effort& how) {
  group_outcome outcome;
  if (!what.is_slice()) outcome.verdict = ask_pre_filters(what.group);
  if (!outcome.verdict.ok()) return outcome;
  std::vector<row_t> beside;
  if (!what.is_slice()) within = candidates_.beside_others(what.group, within, beside);
  if (what.planned) {
    transaction commitment{*state_};
    const std::size_t from = placed.size();
    outcome = place_planned(what, within, placed);
    if (outcome.verdict.ok())
      commitment.commit();
    else
      placed.discard(from);
    return outcome;
  }
  const std::vector<placement> where = candidates_.placements(what, outcome.verdict);
  if (!outcome.verdict.ok()) {
    outcome.of_group = picks_->errors.whose(outcome.verdict).empty();
    return outcome;
  }
  candidate_list list = candidates_.of(what, where, within);
  if (list.all.empty()) outcome.rejectors = unknown_rejectors;  // no node has the label: anything may help
  std::vector<std::uint32_t> tiers;
  for (const placement_candidate& one : list.all) {
    if (tiers.empty() || tiers.back() != one.tier) tiers.push_back(one.tier);
  }
  std::sort(tiers.begin(), tiers.end());
  tiers.erase(std::unique(tiers.begin(), tiers.end()), tiers.end());
  outcome.verdict = status::unschedulable("no placement is left for the group");
  const bool by_pod = may_preempt_ && evictions_->preempts(what.group);
  const std::size_t from = placed.size();
  // With the members that run its minimum holds, but none of those that wait finds room.
  const auto nobody_new = [&](const group_outcome& made) {
    return made.verdict.ok() && placed.size() == from && !by_pod && !what.all_members().empty();
  };
  bool stands = false;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    group_outcome here = enough(how, placed, [&] { return choose_among(what, list, tiers[i], within, placed, {}); });
    if (how.budget != nullptr && here.verdict.code == code::unschedulable && worth_searching(what)) {
      here = search_completely(what, here, tiers[i], placed, how, within);
    } else if (how.budget != nullptr && !what.parts.empty() && nobody_new(here) && worth_searching(what)) {
      candidate_list again = candidates_.of(what, where, within);
      here = enough(how, placed, [&] { return choose_among(what, again, tiers[i], within, placed, how); });
    }
    here.rejectors |= i == 0 ? 0 : outcome.rejectors;
    outcome = here;
    const bool in_vain = nobody_new(outcome);
    stands = stands || in_vain;
    if (outcome.verdict.code != code::unschedulable && !in_vain) break;
  }
  if (stands && outcome.verdict.code == code::unschedulable) outcome.verdict = {};
  return outcome;
}

GANGSCHED_INLINE group_outcome group_search::choose_among(const group_part& what, candidate_list& list,
                                                          std::uint32_t tier, const std::vector<row_t>* within,
                                                          placed_members& placed, const search_effort& for_parts) {
  const std::size_t from = placed.size();
  // Those that may have room for enough; where none may, all.
  const std::uint64_t least = parts_->least_members(what);
  std::size_t all = 0;
  std::vector<std::size_t> mine;
  mine.reserve(list.all.size());
  for (std::size_t i = 0; i < list.all.size(); ++i) {
    if (list.all[i].tier != tier) continue;
    ++all;
    if (list.all[i].room >= least) mine.push_back(i);
  }
  const std::size_t hopeful = mine.size();
  for (std::size_t i = 0; hopeful == 0 && i < list.all.size(); ++i) {
    if (list.all[i].tier == tier) mine.push_back(i);
  }
  // Picks are numbered from the same start in each placement, so that the best one comes out again exactly.
  const picker::position first = picks_->where();
  std::vector<row_t> rows;
  const auto attempt = [&](std::size_t which) {
    const placement_candidate& one = list.all[which];
    picks_->go_back(first);
    if (one.from->all) return fill(what, within, placed, for_parts);
    rows = placement_candidates::rows_of(one, within);
    return fill(what, &rows, placed, for_parts);
  };
  const auto keep = [&](std::size_t which) {
    transaction commitment{*state_};
    group_outcome made = attempt(which);
    if (made.verdict.ok())
      commitment.commit();
    else
      placed.discard(from);
    return made;
  };
  if (all == 1) return keep(mine[0]);

  group_outcome outcome;
  outcome.verdict = status::unschedulable("no placement is left for the group");
  // Where nothing can fit, one attempt says why. What was not tried could be helped by anything.
  if (hopeful != all) outcome.rejectors = unknown_rejectors;
  const domain_choice choice = state_->groups.record[what.group]->spec.topology.choice;
  const bool by_room = what.is_slice() || choice == domain_choice::best_fit || choice == domain_choice::least_free;
  if (by_room || hopeful == 0) {
    // The least room that suffices; where nothing does, the most.
    const auto less_room = [&](std::size_t a, std::size_t b) { return list.all[a].room < list.all[b].room; };
    if (hopeful != 0)
      std::stable_sort(mine.begin(), mine.end(), less_room);
    else if (!mine.empty())
      mine = {*std::max_element(mine.begin(), mine.end(), less_room)};
    for (const std::size_t which : mine) {
      group_outcome tried = keep(which);
      if (tried.verdict.code != code::unschedulable) return tried;
      tried.rejectors |= outcome.rejectors;
      if (which == mine.front()) outcome.verdict = tried.verdict;
      outcome.rejectors = tried.rejectors;
    }
    return outcome;
  }

  if (list.bound.empty()) candidates_.bound_scores(what, list, within, least);
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
    placement_candidate& one = list.all[*which];
    one.tried = true;
    if (tried.verdict.ok()) {
      candidates_.score(what, list, *which, one.from->all ? within : &rows, placed, from);
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
      placed.discard(from);
      which = another;
      continue;
    }
    placed.discard(from);
    if (tried.verdict.code != code::unschedulable) return tried;
    if (!any_tried) outcome.verdict = tried.verdict;
    any_tried = true;
    outcome.rejectors |= tried.rejectors;
    which = next();
  }
  return best ? keep(*best) : outcome;
}

GANGSCHED_INLINE group_outcome group_search::fill(const group_part& what, const std::vector<row_t>* within,
                                                  placed_members& placed, const search_effort& for_parts) {
  const std::size_t from = placed.size();
  group_outcome out =
      what.parts.empty() ? try_members(what, within, placed) : try_parts(what, within, placed, for_parts);
  if (out.verdict.ok() && !what.is_slice()) {
    if (const status said = order_by_rank(what, placed, from); !said.ok()) out.verdict = said;
  }
  return out;
}

/// Places members one after another inside the caller's transaction.
GANGSCHED_INLINE group_outcome group_search::try_members(const group_part& what, const std::vector<row_t>* within,
                                                         placed_members& placed) {
  group_outcome out;
  const bool by_pod = may_preempt_ && evictions_->preempts(what.group);
  member_progress progress{*state_, what.group, what.members};
  const group_spec& spec = state_->groups.record[what.group]->spec;
  std::optional<spread_limit> limit;
  if (!spec.topology.spread_key.empty())
    limit.emplace(*state_, candidates_.domains().of(spec.topology.spread_key), what.group, spec.topology.spread_most);
  const kernel_table& profile = entities_->profile_of_group(what.group);
  const auto verdict = [&] {
    if (!what.is_slice()) return engine::feasible(*state_, profile, what.group, progress.now(), picks_->errors);
    return progress.failed() ? status::unschedulable("a slice does not fit") : status::success();
  };
  out.verdict = verdict();
  for (std::size_t i = 0; i < what.members.size() && (out.verdict.ok() || out.verdict.code == code::wait); ++i) {
    const row_t pod = what.members[i];
    picked found = picks_->pick(pod, limit ? &limit->open(within) : within);
    if (found.node == no_row && by_pod && found.said.code != code::error) found.node = evictions_->make_room(pod);
    out.rejectors |= found.node == no_row ? found.rejectors : 0;
    status said = found.said.code == code::error ? found.said : status{};
    const bool has_node = found.node != no_row && placed.place(pod, found, said);
    const bool worst = lack_.member == no_row || placed.size() > lack_.placed;
    if (!has_node && (worst || asks_own_lacks_)) {
      const group_lack lack = lack_of(pod, found, said, limit ? &limit->open(within) : within);
      if (asks_own_lacks_) own_lacks_[pod] = lack;
      if (worst) {
        lack_ = lack;
        lack_.member = pod;
        lack_.placed = placed.size();
      }
    }
    if (said.code == code::error) {
      out.verdict = said;
      break;
    }
    if (has_node && limit) limit->add(found.node);
    progress.count(pod, has_node);
    out.verdict = verdict();
  }
  if (out.verdict.code == code::wait) out.verdict = status::unschedulable("fewer members fit than the group needs");
  if (may_preempt_) evictions_->settle(out.verdict, placed);
  return out;
}

/// (A node that its victims leave it is not looked for again.)
GANGSCHED_INLINE group_lack group_search::lack_of(row_t pod, const picked& found, const status& said,
                                                  const std::vector<row_t>* within) const {
  group_lack made;
  const plugin_entry* const by = said.ok() ? nullptr : reserved_->refused_by();
  if (found.node == no_row) {
    made.plugins = picks_->rejectors_of(pod, found);
    made.words = picks_->words(pod, found, within);
  } else if (by != nullptr) {
    made.plugins = plugin_bit(entities_->profile_of(pod), *by);
    if (picks_->counts_reasons())
      made.words =
          std::make_shared<const rejection_words>(rejection_words{{{by->name, reason_text(state_->names, said), 0}}});
  }
  return made;
}

/// The parts in order: groups below a composite one, or a group's slices, whose members count one by one.
GANGSCHED_INLINE group_outcome group_search::try_parts(const group_part& what, const std::vector<row_t>* within,
                                                       placed_members& placed, const search_effort& for_parts) {
  group_outcome out;
  const bool slices = what.parts.front().is_slice();
  std::vector<row_t> members;
  if (slices) what.collect(members);
  member_progress progress{*state_, what.group, members};
  group_progress groups{0, static_cast<std::uint32_t>(what.parts.size())};
  const auto verdict = [&] {
    if (what.is_slice()) return progress.failed() ? status::unschedulable("a slice does not fit") : status::success();
    return feasible(what.group, slices ? progress.now() : groups);
  };
  out.verdict = verdict();
  for (std::size_t i = 0; i < what.parts.size() && (out.verdict.ok() || out.verdict.code == code::wait); ++i) {
    const group_part& one = what.parts[i];
    // (A complete search begins with nobody.)
    const group_outcome tried = choose(one, within, placed, placed.empty() ? for_parts : search_effort{});
    out.rejectors |= tried.rejectors;
    if (tried.verdict.code == code::error) {
      out.verdict = tried.verdict;
      out.of_group = tried.of_group;
      break;
    }
    --groups.remaining;
    if (tried.verdict.ok()) ++groups.scheduled;
    std::vector<row_t> those;
    if (slices) one.collect(those);
    for (const row_t pod : those) progress.count(pod, tried.verdict.ok());
    out.verdict = verdict();
  }
  if (out.verdict.code == code::wait) {
    out.verdict = status::unschedulable(slices ? "fewer members fit than the group needs"
                                               : "fewer groups fit than the group needs");
  }
  return out;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
