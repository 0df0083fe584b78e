#include <utility>

#include "gangsched/engine/core.hpp"
#include "gangsched/engine/saved_past.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE std::unique_ptr<core> core::attached(cluster& on, std::vector<kernel_table> profiles,
                                                      const scheduler_options& options) {
  model::cluster_state& state = gangsched::detail::inside(on);
  std::unique_ptr<core> made{new core(state, profile_set{std::move(profiles), state}, options)};
  made->profiles_.attach(state);
  return made;
}

GANGSCHED_INLINE saved_scheduler core::save(model::cluster_saver& classes) const {
  past_saver past{classes};
  saved_scheduler made;
  made.options = options_;
  const model::own_columns::extent& before = profiles_.attached_at();
  made.columns = before.columns, made.scopes = before.scopes, made.makers = before.makers;
  made.statistics = statistics_;
  made.now = now_;
  made.torn = before_.torn;
  made.first_node = picker_.where().start;
  made.gates = gates_.save();
  made.entered = entered_.save();
  made.unhelped = preemption_.save(classes);
  made.queue = queue_.save(classes, past);
  made.backfilling = backfill_.save();
  made.events = events_.save(past);
  made.binding = binding_.save();
  made.rejections = decisions_.rejections().save();
  made.said = explainer_.save();
  made.past = std::move(past).take();
  return made;
}

GANGSCHED_INLINE std::optional<error> core::restore(const saved_scheduler& from, std::span<const class_id> classes) {
  if (from.first_node > state_->nodes.rows.count()) return model::damaged("the node to begin with");
  statistics_ = from.statistics;
  now_ = from.now;
  before_.torn = from.torn;
  picker_.go_back({statistics_.decisions, static_cast<std::size_t>(from.first_node)});
  past_objects past;
  if (auto wrong = past.restore(*state_, from.past, classes)) return wrong;
  if (auto wrong = gates_.restore(from.gates)) return wrong;
  if (auto wrong = entered_.restore(from.entered)) return wrong;
  if (auto wrong = preemption_.restore(from.unhelped, classes)) return wrong;
  if (auto wrong = queue_.restore(from.queue, classes, past)) return wrong;
  if (auto wrong = backfill_.restore(from.backfilling)) return wrong;
  if (auto wrong = events_.restore(from.events, past)) return wrong;
  if (auto wrong = binding_.restore(from.binding)) return wrong;
  if (auto wrong = decisions_.rejections().restore(from.rejections)) return wrong;
  return explainer_.restore(from.said);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
