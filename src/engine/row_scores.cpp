#include "gangsched/engine/row_scores.hpp"

#include <array>

#include "gangsched/engine/weighted_sums.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void row_scores::grow_to(row_t rows) {
  verdict.resize(rows, no_node);
  group.resize(rows, key_groups::none);
  score.resize(rows, 0);  // last: memory may run out before
}

GANGSCHED_INLINE void row_scores::run_filters(const model::cluster_state& state, const class_plan& plan,
                                              std::span<const row_t> rows) {
  for (const row_t row : rows) verdict[row] = state.nodes.alive(row) ? passes : no_node;
  filter_again(state, plan, rows, reads::everything);
}

/// The filters that read something of @p dirty.
GANGSCHED_INLINE void row_scores::filter_again(const model::cluster_state& state, const class_plan& plan,
                                               std::span<const row_t> rows, reads dirty) {
  hook_context context = plan.context(state, {}, no_row);
  for (const planned& hook : plan.local_filters) {
    const plugin_entry& plugin = *hook.plugin;
    if (dirty != reads::everything && !any(plugin.filter.facets & dirty)) continue;
    context.data = hook.data;
    if (plugin.filter.rows(plugin.self.get(), context, rows, verdict.data(), hook.mark)) continue;
    broken = "a filter failed with an error";
    broken_by = &plugin;
  }
}

GANGSCHED_INLINE void row_scores::run_scores(const model::cluster_state& state, const class_plan& plan,
                                             std::span<const row_t> rows) {
  for (const row_t row : rows) score[row] = 0;
  hook_context context = plan.context(state, {}, no_row);
  for (const planned& hook : plan.local_scores) {
    const plugin_entry& plugin = *hook.plugin;
    context.data = hook.data;
    if (plugin.score.rows(plugin.self.get(), context, rows, plugin.weight, score.data())) continue;
    broken = "a score is outside 0 to 100";
    broken_by = &plugin;
  }
}

GANGSCHED_INLINE std::int64_t row_scores::filter_key(const model::cluster_state& state, const class_plan& plan,
                                                     const planned& hook, row_t row) {
  return hook.plugin->filter.key(hook.plugin->self.get(), plan.context(state, hook, no_row), row);
}

GANGSCHED_INLINE std::int64_t row_scores::score_key(const model::cluster_state& state, const class_plan& plan,
                                                    const planned& hook, row_t row) {
  return hook.plugin->score.one(hook.plugin->self.get(), plan.context(state, hook, no_row), row);
}

GANGSCHED_INLINE void row_scores::run_keys(const model::cluster_state& state, const class_plan& plan, row_t row,
                                           reads dirty) {
  const std::uint32_t before = group[row];
  bool same = dirty != reads::everything;
  tuple_.resize(plan.key_count());
  std::size_t which = 0;
  hook_context context = plan.context(state, {}, no_row);
  const auto ask = [&](const planned& hook, reads facets, auto* key) {
    const std::size_t at = which++;
    if (dirty != reads::everything && !any(facets & dirty)) {
      tuple_[at] = groups.key(before, at);
      return;
    }
    context.data = hook.data;
    tuple_[at] = key(hook.plugin->self.get(), context, row);
    same = same && tuple_[at] == groups.key(before, at);
  };
  for (const planned& hook : plan.cached.filter_keys) ask(hook, hook.plugin->filter.facets, hook.plugin->filter.key);
  for (const planned& hook : plan.cached.score_keys) ask(hook, hook.plugin->score.facets, hook.plugin->score.one);
  if (!same) group[row] = groups.find_or_add(tuple_);
}

GANGSCHED_INLINE amount_memory::answer* row_scores::refresh(const model::cluster_state& state, const class_plan& plan,
                                                            row_t row, reads dirty) {
  const bool passed = verdict[row] == passes && dirty != reads::everything;
  if (!passed) verdict[row] = state.nodes.alive(row) ? passes : no_node;
  if (verdict[row] == no_node) return nullptr;
  // (To remember what one hook said costs as much as to ask it.)
  amount_memory::answer* const known = plan.cached.by_amounts > 1 ? alike_.find(state, row) : nullptr;
  if (!passed || any(dirty & plan.cached.filters)) judge(state, plan, row, passed ? dirty : reads::everything, known);
  if (verdict[row] != passes) return known;
  if (!passed || any(dirty & plan.cached.scores)) rate(state, plan, row, known);
  if (!passed || any(dirty & plan.cached.keys)) run_keys(state, plan, row, passed ? dirty : reads::everything);
  return known;
}

GANGSCHED_INLINE void row_scores::refresh_passing(const model::cluster_state& state, const class_plan& plan,
                                                  std::span<const row_t> rows, reads dirty) {
  alike_.asked_elsewhere(rows.size());
  if (any(dirty & plan.cached.filters)) filter_again(state, plan, rows, dirty);
  std::array<row_t, most_together> passing;
  std::size_t count = 0;
  for (const row_t row : rows)
    if (verdict[row] == passes) passing[count++] = row;
  if (count == 0) return;
  if (any(dirty & plan.cached.scores)) run_scores(state, plan, {passing.data(), count});
  if (!any(dirty & plan.cached.keys)) return;
  for (std::size_t i = 0; i < count; ++i) run_keys(state, plan, passing[i], dirty);
}

GANGSCHED_INLINE void row_scores::refresh_block(const model::cluster_state& state, const class_plan& plan,
                                                std::span<const row_t> rows, reads dirty, recent_amounts& recent) {
  recent_amounts::window block;
  if (!recent.find(state, rows, block)) return refresh_passing(state, plan, rows, dirty);
  alike_.asked_elsewhere(rows.size());
  std::array<row_t, most_together> passing;
  if (any(dirty & plan.cached.filters) && filter_block(state, plan, rows, block, dirty)) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (verdict[rows[i]] != passes) continue;
      block.at[count] = block.at[i];
      passing[count++] = rows[i];
    }
    if (count == 0) return;
    rows = {passing.data(), count};
  }
  if (any(dirty & plan.cached.scores)) score_block(state, plan, rows, block);
  if (!any(dirty & plan.cached.keys)) return;
  for (const row_t row : rows) run_keys(state, plan, row, dirty);
}

/// As `filter_again`, of rows that all pass. Returns whether some may not pass any more.
GANGSCHED_INLINE bool row_scores::filter_block(const model::cluster_state& state, const class_plan& plan,
                                               std::span<const row_t> rows, const recent_amounts::window& block,
                                               reads dirty) {
  bool rejected = false;
  hook_context context = plan.context(state, {}, no_row);
  for (const planned& hook : plan.local_filters) {
    const plugin_entry& plugin = *hook.plugin;
    if (!any(plugin.filter.facets & dirty)) continue;
    context.data = hook.data;
    if (plugin.filter.block != nullptr) {
      filtered_block nodes{block.columns, block.first, block.size};
      if (plugin.filter.block(plugin.self.get(), context, nodes)) {
        if (nodes.rejected == 0) continue;
        rejected = true;
        for (std::size_t i = 0; i < rows.size(); ++i)
          if ((nodes.rejected >> block.at[i] & 1u) != 0 && verdict[rows[i]] == passes) verdict[rows[i]] = hook.mark;
        continue;
      }
    }
    rejected = true;
    if (plugin.filter.rows(plugin.self.get(), context, rows, verdict.data(), hook.mark)) continue;
    broken = "a filter failed with an error";
    broken_by = &plugin;
  }
  return rejected;
}

/// As `run_scores`.
GANGSCHED_INLINE void row_scores::score_block(const model::cluster_state& state, const class_plan& plan,
                                              std::span<const row_t> rows, const recent_amounts::window& block) {
  double sum[amount_block::rows];
  bool by_block = false, by_row = false;
  const auto is_any = [&](std::uint64_t places) {
    bool found = false;
    for (std::size_t i = 0; i < rows.size(); ++i) found = found || (places >> block.at[i] & 1u) != 0;
    return found;
  };
  hook_context context = plan.context(state, {}, no_row);
  for (const planned& hook : plan.local_scores) {
    const plugin_entry& plugin = *hook.plugin;
    context.data = hook.data;
    scored_block nodes{block.columns, block.first, block.size};
    if (plugin.score.block != nullptr && plugin.score.block(plugin.self.get(), context, nodes)) {
      std::uint64_t wrong = 0;
      const auto weight = static_cast<double>(plugin.weight);
      if (by_block)
        run_lanes<detail::add_weighted<false>>(&sum[0], block.size, &nodes.score[0], weight, &wrong);
      else
        run_lanes<detail::add_weighted<true>>(&sum[0], block.size, &nodes.score[0], weight, &wrong);
      by_block = true;
      if (wrong == 0 || !is_any(wrong)) continue;
    } else {
      for (std::size_t i = 0; !by_row && i < rows.size(); ++i) score[rows[i]] = 0;
      by_row = true;
      if (plugin.score.rows(plugin.self.get(), context, rows, plugin.weight, score.data())) continue;
    }
    broken = "a score is outside 0 to 100";
    broken_by = &plugin;
  }
  for (std::size_t i = 0; by_block && i < rows.size(); ++i) {
    const auto its = static_cast<std::int64_t>(sum[block.at[i]]);
    score[rows[i]] = by_row ? score[rows[i]] + its : its;
  }
}

/// The filters in order up to the first that rejects.
GANGSCHED_INLINE void row_scores::judge(const model::cluster_state& state, const class_plan& plan, row_t row,
                                        reads dirty, amount_memory::answer* known) {
  for (const planned& hook : plan.local_filters) {
    if (dirty != reads::everything && !any(hook.plugin->filter.facets & dirty)) continue;
    const bool memorable = known != nullptr && hook.by_amounts;
    if (memorable && hook.mark <= known->asked) {
      if (known->verdict != hook.mark) continue;
      verdict[row] = hook.mark;
      return;
    }
    const bool fine = hook.plugin->filter.rows(hook.plugin->self.get(), plan.context(state, hook, no_row), {&row, 1},
                                               verdict.data(), hook.mark);
    if (!fine) {
      broken = "a filter failed with an error";
      broken_by = hook.plugin;
    } else if (memorable) {
      known->asked = hook.mark;
      known->verdict = verdict[row];
    }
    if (verdict[row] != passes) return;
  }
}

GANGSCHED_INLINE void row_scores::rate(const model::cluster_state& state, const class_plan& plan, row_t row,
                                       amount_memory::answer* known) {
  const auto ask = [&](const planned& hook) {
    const bool fine = hook.plugin->score.rows(hook.plugin->self.get(), plan.context(state, hook, no_row), {&row, 1},
                                              hook.plugin->weight, score.data());
    if (fine) return true;
    broken = "a score is outside 0 to 100";
    broken_by = hook.plugin;
    return false;
  };
  score[row] = 0;
  if (known != nullptr && !known->scored) {
    known->scored = true;
    for (const planned& hook : plan.local_scores) {
      if (hook.by_amounts && !ask(hook)) known->scored = false;
    }
    known->score = score[row];
  }
  if (known != nullptr) score[row] = known->score;
  bool fine = known == nullptr || known->scored;
  for (const planned& hook : plan.local_scores) {
    if (known == nullptr || !hook.by_amounts) fine = ask(hook) && fine;
  }
  if (!fine && known != nullptr)
    run_scores(state, plan, {&row, 1});  // in the profile's order, for the plugin that the error names
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
