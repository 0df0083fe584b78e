#include "gangsched/engine/call_notes.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

GANGSCHED_INLINE std::string_view node_update_word(reads facets) noexcept {
  if (any(facets & reads::allocatable)) return "NodeUpdateNodeAllocatable";
  if (any(facets & reads::labels)) return "NodeUpdateNodeLabel";
  if (any(facets & (reads::taints | reads::schedulable))) return "NodeUpdateNodeTaint";
  if (any(facets & reads::features)) return "NodeUpdateNodeDeclaredFeature";
  return "NodeUpdate";
}

}  // namespace detail

GANGSCHED_INLINE std::string_view event_word(const change& record) noexcept {
  switch (record.kind) {
    case change_kind::node_added: return "NodeAdd";
    case change_kind::node_updated: return detail::node_update_word(record.facets);
    case change_kind::node_removed: return "NodeDelete";
    case change_kind::pod_added: return record.after == no_row ? "UnschedulablePodAdd" : "AssignedPodAdd";
    case change_kind::pod_updated: return record.before == no_row ? "UnschedulablePodUpdate" : "AssignedPodUpdate";
    case change_kind::pod_removed: return record.before == no_row ? "UnschedulablePodDelete" : "AssignedPodDelete";
    case change_kind::pod_terminating: return record.after == no_row ? "UnschedulablePodUpdate" : "AssignedPodUpdate";
    case change_kind::pod_gated: return "UnschedulablePodUpdatePodSchedulingGatesEliminated";
    case change_kind::pod_nominated: return "UnschedulablePodUpdate";
    case change_kind::pod_assumed:
    case change_kind::pod_bound: return "AssignedPodAdd";
    case change_kind::pod_released: return "AssignedPodDelete";
    case change_kind::group_added: return "scheduling.k8s.io/PodGroupAdd";
    case change_kind::group_updated: return "scheduling.k8s.io/PodGroupUpdate";
    case change_kind::group_removed: return "scheduling.k8s.io/PodGroupDelete";
    case change_kind::namespace_changed: return "NamespaceUpdate";
    case change_kind::budget_changed: return "PodDisruptionBudgetUpdate";
    case change_kind::queue_changed: return "QueueUpdate";
    case change_kind::column_changed: return "ColumnUpdate";
  }
  return "";
}

GANGSCHED_INLINE void call_notes::open(host_call what) noexcept {
  if (std::exchange(open_, true)) return;
  call_ = {.what = what, .took = {to_->now_ns(), 0}};
}

GANGSCHED_INLINE observed_step& call_notes::begin(step_kind kind, std::string_view event, bool own) {
  observed_step& made = steps_.emplace_back();
  step_open_ = true;
  ranges_.emplace_back(of_.decisions.size(), 0);
  made.kind = kind;
  made.event = event;
  made.own = own;
  before_ = of_.queue.places().came();
  asked_before_ = of_.makes_room.asked();
  victims_before_ = of_.makes_room.victims();
  made.took.begin = to_->now_ns();
  return made;
}

GANGSCHED_INLINE std::uint32_t call_notes::came(place to, std::uint64_t before) const noexcept {
  return static_cast<std::uint32_t>(of_.queue.places().came()[static_cast<std::size_t>(to)] - before);
}

GANGSCHED_INLINE observed_step& call_notes::end() noexcept {
  observed_step& ended = steps_.back();
  step_open_ = false;
  ended.took.end = to_->now_ns();
  const auto since = [&](place to) { return came(to, before_[static_cast<std::size_t>(to)]); };
  ended.to_active = since(place::active);
  ended.to_backoff = since(place::backoff) + since(place::timed);
  ended.to_unschedulable = since(place::unschedulable);
  ended.to_gated = since(place::gated);
  ended.preemptions = static_cast<std::uint32_t>(of_.makes_room.asked() - asked_before_);
  ended.victims = static_cast<std::uint32_t>(of_.makes_room.victims() - victims_before_);
  const std::size_t first = ranges_.back().first;
  ranges_.back().second = of_.decisions.size() > first ? of_.decisions.size() - first : 0;
  return ended;
}

GANGSCHED_INLINE void call_notes::end_if_anything() noexcept {
  const observed_step& ended = end();
  if (ended.to_active + ended.to_backoff + ended.to_unschedulable + ended.to_gated != 0) return;
  if (ranges_.back().second != 0) return;
  steps_.pop_back();
  ranges_.pop_back();
}

GANGSCHED_INLINE void call_notes::describe(entity who, observed_step& made) const {
  if (who.group) {
    if (!of_.state.groups.alive(who.row)) return;
    made.group = {who.row, of_.state.groups.rows.generation(who.row)};
    made.profile = of_.entities.profile_of_group(who.row).scheduler_name;
  } else {
    if (!of_.state.pods.alive(who.row) || !of_.entities.has_profile(who.row)) return;
    made.pod = {who.row, of_.state.pods.rows.generation(who.row)};
    made.profile = of_.entities.profile_of(who.row).scheduler_name;
  }
  const queue_item* const item = std::as_const(of_.queue).places().find(who);
  if (item == nullptr) return;
  made.attempts = item->attempts;
  made.entered = item->was_gated ? of_.now : item->entered;
}

GANGSCHED_INLINE void call_notes::describe(entity who) { describe(who, last()); }

GANGSCHED_INLINE void call_notes::read_log() {
  while (const change* const next = of_.events.next()) {
    begin(step_kind::event, event_word(*next), of_.events.is_own(*next));
    of_.events.read(true);
    end();
  }
  // There are no events for what the log does not have any more: entities that enter because of that are reported with this one.
  begin(step_kind::event, "Relist");
  of_.events.read();
  end_if_anything();
}

GANGSCHED_INLINE void call_notes::flush() {
  begin(step_kind::timer, "MinRuntimeComplete");
  of_.queue.unschedulable().wake_due();
  end_if_anything();
  if (of_.options.timers == timer_rule::by_host) return;
  begin(step_kind::timer, "BackoffComplete");
  of_.queue.places().flush_backoff(of_.now);
  end_if_anything();
  begin(step_kind::timer, "UnschedulableTimeout");
  of_.queue.places().flush_unschedulable(of_.now);
  end_if_anything();
}

GANGSCHED_INLINE void call_notes::begin_attempt(const queue::popped& next) {
  observed_step& made = begin(step_kind::attempt, schedule_attempt_failure);
  describe(next.who, made);
  made.from_backoff = next.early;
}

GANGSCHED_INLINE void call_notes::end_attempt() noexcept { end().result = result_since(ranges_.back().first); }

GANGSCHED_INLINE void call_notes::begin_answer(row_t pod, attempt_result result) {
  observed_step& made = begin(step_kind::answer, schedule_attempt_failure);
  describe(of_.entities.entity_of(pod), made);
  made.pod = {pod, of_.state.pods.rows.generation(pod)};
  made.result = result;
}

GANGSCHED_INLINE void call_notes::begin_returned(entity who, const rejected_by& why) {
  observed_step& made = begin(step_kind::returned, schedule_attempt_failure);
  const bool error = why.unschedulable_plugins.empty() && why.pending_plugins.empty();
  made.result = error ? attempt_result::error : attempt_result::unschedulable;
  describe(who, made);
}

GANGSCHED_INLINE attempt_result call_notes::result_since(std::size_t first_decision) const noexcept {
  attempt_result result = of_.error.reason() != nullptr ? attempt_result::error : attempt_result::none;
  for (const decision& made : of_.decisions.of_cycle().subspan(first_decision)) {
    if (made.kind == decision_kind::bind || made.kind == decision_kind::wait) return attempt_result::placed;
    if (made.kind == decision_kind::reject && result == attempt_result::none)
      result = made.code == code::error ? attempt_result::error : attempt_result::unschedulable;
    if (made.kind == decision_kind::nominate) result = attempt_result::waiting_on_preemption;
  }
  return result;
}

GANGSCHED_INLINE void call_notes::drop() noexcept {
  steps_.clear();
  ranges_.clear();
  answer_ = {};
  open_ = step_open_ = false;
}

GANGSCHED_INLINE bool call_notes::tell(const observed_call& ended) noexcept {
  if (step_open_) end();
  call_.now = ended.now;
  call_.counts = ended.counts;
  call_.why_text = ended.why_text;
  call_.of = ended.of;
  const bool answers = call_.what == host_call::fail;
  const bool decides = call_.what == host_call::schedule_cycle || call_.what == host_call::permit;
  if (answers) call_.decisions = answer_;
  if (decides) call_.decisions = of_.decisions.of_cycle();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (decides) steps_[i].decisions = call_.decisions.subspan(ranges_[i].first, ranges_[i].second);
    if (answers && steps_[i].kind == step_kind::answer) steps_[i].decisions = answer_;
  }
  call_.steps = steps_;
  call_.took.end = to_->now_ns();
  bool fine = true;
  try {
    to_->called(call_);
  } catch (...) {
    fine = false;
  }
  drop();
  return fine;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
