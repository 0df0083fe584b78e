#include "gangsched/engine/row_scores.hpp"

namespace gangsched::engine {

GANGSCHED_INLINE void row_scores::run_filters(const cluster_state& state, const class_plan& plan,
                                              std::span<const row_t> rows) {
  for (const row_t row : rows) verdict[row] = state.nodes.alive(row) ? passes : no_node;
  run_filters(state, plan, rows, reads::everything);
}

GANGSCHED_INLINE void row_scores::run_filters(const cluster_state& state, const class_plan& plan,
                                              std::span<const row_t> rows, reads dirty) {
  for (const planned& hook : plan.local_filters) {
    if (!any(hook.plugin->filter.facets & dirty)) continue;
    if (!hook.plugin->filter.rows(hook.plugin->self.get(), plan.context(state, hook, no_row), rows, verdict.data(), hook.mark)) {
      broken = "a filter failed with an error";
      broken_by = hook.plugin;
    }
  }
}

GANGSCHED_INLINE void row_scores::run_scores(const cluster_state& state, const class_plan& plan,
                                             std::span<const row_t> rows) {
  for (const row_t row : rows) score[row] = 0;
  for (const planned& hook : plan.local_scores) {
    if (!hook.plugin->score.rows(hook.plugin->self.get(), plan.context(state, hook, no_row), rows, hook.plugin->weight,
                                 score.data())) {
      broken = "a score is outside 0 to 100";
      broken_by = hook.plugin;
    }
  }
}

GANGSCHED_INLINE void row_scores::run_keys(const cluster_state& state, const class_plan& plan, row_t row) {
  tuple_.clear();
  for (const planned& hook : plan.cached_filter_keys) {
    tuple_.push_back(hook.plugin->filter.key(hook.plugin->self.get(), plan.context(state, hook, no_row), row));
  }
  for (const planned& hook : plan.cached_score_keys) {
    tuple_.push_back(hook.plugin->score.one(hook.plugin->self.get(), plan.context(state, hook, no_row), row));
  }
  group[row] = groups.find_or_add(tuple_);
}

}  // namespace gangsched::engine
