#include "gangsched/engine/core.hpp"

#include <algorithm>
#include <utility>

// What `core` says of itself: to its observer, and in numbers.
namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void core::observe(observer* by) {
  if (by == nullptr) return notes_.start(nullptr);
  notes_.start(std::make_unique<call_notes>(
      *by, noted_parts{*state_, entities_, options_, now_, decisions_, error_, preemption_, queue_, events_}));
}

GANGSCHED_INLINE void core::tell() noexcept {
  if (!notes_->is_open()) return;  // a question
  observed_call ended;
  ended.now = now_;
  ended.counts = std::as_const(*this).counts();
  ended.of = this;
  ended.why_text = [](const void* of, pod_id pod) {
    const std::optional<why_rejected> known = static_cast<const core*>(of)->why(pod);
    return known ? known->text() : std::string{};
  };
  if (!notes_->tell(ended)) ++statistics_.observer_errors;
}

GANGSCHED_INLINE pending_pods core::pending() const {
  pending_pods made;
  const auto count = [&](const std::string& profile, const std::string& plugin) {
    auto its = std::find_if(made.by_plugin.begin(), made.by_plugin.end(), [&](const pending_pods::rejected& one) {
      return one.profile == profile && one.plugin == plugin;
    });
    if (its == made.by_plugin.end()) its = made.by_plugin.insert(its, {profile, plugin, 0});
    ++its->pods;
  };
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    if (!state_->pods.alive(pod) || !entities_.wants_node(pod)) continue;
    const queue_item* const item = queue_.places().find(entities_.entity_of(pod));
    switch (item == nullptr ? place::none : item->where) {
      case place::none: made.kept_back += queue_.standing(pod).place == queue_place::kept_back; continue;
      case place::in_flight: ++made.in_flight; continue;
      case place::active: ++made.active; break;
      case place::backoff:
      case place::timed: ++made.backoff; break;
      case place::unschedulable: ++made.unschedulable; break;
      case place::gated: ++made.gated; break;
    }
    const auto* const noted = decisions_.rejections().find({pod, state_->pods.rows.generation(pod)});
    if (noted == nullptr || noted->plugins == 0) continue;
    const kernel_table& profile = entities_.profile_of(pod);
    for (const plugin_entry& plugin : profile.plugins) {
      if ((noted->plugins & plugin_bit(profile, plugin)) != 0) count(profile.scheduler_name, plugin.name);
    }
  }
  queue_.in_flight().each_event([&](const object_event& one) {
    const std::string_view word = event_word(one.record);
    auto its = std::find_if(made.in_flight_events.begin(), made.in_flight_events.end(),
                            [&](const pending_pods::kept_event& known) { return known.event == word; });
    if (its == made.in_flight_events.end()) its = made.in_flight_events.insert(its, {word, 0});
    ++its->number;
  });
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
