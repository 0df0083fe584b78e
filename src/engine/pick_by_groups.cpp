#include "gangsched/core/tie_break.hpp"
#include "gangsched/engine/picker.hpp"

// The pick from an index: keyed hooks judge and score groups, and the groups that are left offer their best nodes.
namespace gangsched::inline GANGSCHED_ABI::engine {

/// Which of the populated groups the keyed filters leave open.
GANGSCHED_INLINE void picker::judge_groups(const class_plan& plan, const row_scores& rows, row_t pod, picked& result) {
  buffers_.of_groups.open_all(buffers_.populated);
  std::size_t which = 0;
  bool rejected = false;
  for (const planned& hook : plan.cached.filter_keys) {
    const key_values& values = rows.groups.values(which++);
    if (skipped(hook) || buffers_.populated.empty()) continue;
    buffers_.sums.gather(values, buffers_.populated, buffers_.of_groups.population, buffers_.filtered);
    hook.plugin->filter.finish(hook.plugin->self.get(), plan.context(*state_, hook, pod), buffers_.filtered);
    for (const std::uint32_t group : buffers_.populated) {
      const status& said = buffers_.filtered[buffers_.sums.place(values.of_group[group])].verdict;
      if (said.ok()) continue;
      rejected = true;
      if (watched_ && buffers_.of_groups.open[group] != 0)
        reasons_.add(hook.plugin->name, reason_text(state_->names, said), buffers_.of_groups.population[group]);
      buffers_.of_groups.open[group] = 0;
      result.rejectors |= plan.rejector(hook.mark);
      if (said.code == code::error) result.said = broken(*hook.plugin, said.reason);
    }
  }
  if (rejected)
    std::erase_if(buffers_.of_groups.open_groups,
                  [&](std::uint32_t group) { return buffers_.of_groups.open[group] == 0; });
}

/// The weighted keyed scores of the groups that are open.
GANGSCHED_INLINE void picker::score_groups(const class_plan& plan, const row_scores& rows, row_t pod, picked& result) {
  buffers_.of_groups.offset.assign(buffers_.of_groups.population.size(), 0);
  const std::vector<std::uint32_t>& open = buffers_.of_groups.open_groups;
  if (open.empty()) return;
  if (open.size() == 1) {
    buffers_.of_groups.offset[open.front()] = score_only_group(plan, rows, pod, open.front(), result);
    return;
  }
  std::size_t which = plan.cached.filter_keys.size();
  std::uint32_t nodes = 0;
  for (const std::uint32_t group : open) nodes += buffers_.of_groups.population[group];
  std::int64_t alike = 0;  // what all have
  for (const planned& hook : plan.cached.score_keys) {
    const key_values& values = rows.groups.values(which++);
    const bool all_alike = values.value.size() == 1;
    if (all_alike)
      buffers_.scored.assign(1, {values.value.front(), nodes});
    else
      buffers_.sums.gather(values, open, buffers_.of_groups.population, buffers_.scored);
    if (hook.plugin->score.finish(hook.plugin->self.get(), plan.context(*state_, hook, pod), buffers_.scored).code ==
        code::skip)
      continue;
    check_range(*hook.plugin, buffers_.scored, result);
    if (all_alike) {
      alike += hook.plugin->weight * buffers_.scored.front().score;
      continue;
    }
    for (const std::uint32_t group : open) {
      buffers_.of_groups.offset[group] +=
          hook.plugin->weight * buffers_.scored[buffers_.sums.place(values.of_group[group])].score;
    }
  }
  if (alike == 0) return;
  for (const std::uint32_t group : open) buffers_.of_groups.offset[group] += alike;
}

/// The same for a single group, which is compared with none.
GANGSCHED_INLINE std::int64_t picker::score_only_group(const class_plan& plan, const row_scores& rows, row_t pod,
                                                       std::uint32_t group, picked& result) {
  std::int64_t sum = 0;
  std::size_t which = plan.cached.filter_keys.size();
  for (const planned& hook : plan.cached.score_keys) {
    scored_group one{rows.groups.key(group, which++), buffers_.of_groups.population[group]};
    const std::span<scored_group> all{&one, 1};
    if (hook.plugin->score.finish(hook.plugin->self.get(), plan.context(*state_, hook, pod), all).code == code::skip)
      continue;
    check_range(*hook.plugin, all, result);
    sum += hook.plugin->weight * one.score;
  }
  return sum;
}

/// What the keyed hooks say of an index's groups, scores as it remembers them if the same groups are open; or asked now, and compared with
/// that, if @p anew (without a pod of those that were open then). Null: there is an error.
GANGSCHED_INLINE const group_scores* picker::group_scores_of(class_index& index, row_t pod, picked& result, bool anew) {
  const group_scores* known = index.known_group_scores();
  const class_plan& plan = index.plan();
  if (known != nullptr && !anew && plan.cached.filter_keys.empty()) return known;
  group_scores& said = buffers_.of_groups;
  if (known != nullptr && pod == no_row) {
    said.population.assign(index.groups().population().begin(), index.groups().population().end());
    said.open = known->open, said.open_groups = known->open_groups;
  } else {
    const grouped_rows& groups = index.groups();
    said.population.assign(groups.population().begin(), groups.population().end());
    buffers_.populated.assign(groups.populated().begin(), groups.populated().end());
    judge_groups(plan, index.rows(), pod, result);
    if (result.said.code == code::error) return nullptr;
  }
  if (known != nullptr && known->open_groups != said.open_groups) known = nullptr;
  if (known != nullptr && !anew) return known;
  score_groups(plan, index.rows(), pod, result);
  if (result.said.code == code::error) return nullptr;
  if (known == nullptr) {
    index.remember_group_scores(said);
  } else if (known->offset != said.offset) {
    broken_ = "a hook read more than its signature says: the score of groups by one of";
    for (const planned& hook : plan.cached.score_keys) (broken_ += ' ') += hook.plugin->name;
    result.said = status::error(broken_.c_str());
    index.forget();
    return nullptr;
  }
  return &said;
}

GANGSCHED_INLINE void picker::from_index(class_index& index, row_t pod, picked& result) {
  const class_plan& plan = index.plan();
  const grouped_rows& groups = index.groups();
  if (index.rejects_some()) {
    for (const planned& hook : plan.local_filters) {
      if (index.verdict_counts()[hook.mark] != 0) result.rejectors |= plan.rejector(hook.mark);
    }
  }
  const std::uint64_t decision = statistics_->decisions++;
  const group_scores* const scores = group_scores_of(index, pod, result, options_.check_hooks);
  if (scores == nullptr) return;

  std::int64_t best = -1;
  best_groups which;
  for (const std::uint32_t g : scores->open_groups) {
    const std::int64_t total = scores->offset[g] + groups.best(g);
    if (total < best) continue;
    if (total > best)
      best = total, which = {g, false, groups.best_count(g)};
    else
      which.several = true, which.count += groups.best_count(g);
  }
  if (best < 0) return;
  result.score = best;
  result.node = break_index_tie(index, *scores, best, which, decision);
}

GANGSCHED_INLINE row_t picker::break_index_tie(const class_index& index, const group_scores& scores, std::int64_t best,
                                               const best_groups& which, std::uint64_t decision) {
  const row_scores& rows = index.rows();
  const grouped_rows& groups = index.groups();
  const auto each = [&](auto&& visit) {
    if (!which.several) return groups.each_best(which.first, visit);
    for (const std::uint32_t g : scores.open_groups)
      if (scores.offset[g] + groups.best(g) == best) groups.each_best(g, visit);
  };
  if (options_.ties == tie_rule::lowest_row) {
    row_t lowest = no_row;
    each([&](row_t row) { lowest = std::min(lowest, row); });
    return lowest;
  }
  mixed_.grow(state_->nodes.rows.count());
  const auto draw = [&](const auto& has_best) {
    return break_tie(
        options_.seed, decision, which.count, state_->nodes.rows.count(),
        [&](row_t row) {
          return has_best(row) && rows.verdict[row] == passes &&
                 !std::binary_search(buffers_.withheld.begin(), buffers_.withheld.end(), row);
        },
        each, mixed_);
  };
  if (!which.several) {
    const std::int64_t score = groups.best(which.first);
    return draw([&, score](row_t row) { return rows.score[row] == score && rows.group[row] == which.first; });
  }
  return draw([&](row_t row) {
    const std::uint32_t group = rows.group[row];
    return group < scores.open.size() && scores.open[group] != 0 && rows.score[row] + scores.offset[group] == best;
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
