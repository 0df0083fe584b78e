#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/engine/event_handlers.hpp"
#include "gangsched/engine/preemption.hpp"
#include "gangsched/scheduling/observer.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Kubernetes' name for a change of the cluster, by which its queue's metrics distinguish events ("AssignedPodDelete"); where Kubernetes
/// has none, one in the same style ("QueueUpdate").
[[nodiscard]] GANGSCHED_API std::string_view event_word(const change& record) noexcept;

/// Kubernetes' event name for a pod that comes back into the queue after a failed attempt.
inline constexpr std::string_view schedule_attempt_failure = "ScheduleAttemptFailure";

/// What notes are taken of; those that do something do it in steps that are noted.
struct noted_parts {
  const model::cluster_state& state;
  const entity_view& entities;
  const scheduler_options& options;
  const instant& now;
  const decision_list& decisions;
  const cycle_error& error;
  const preemption& makes_room;
  scheduling_queue& queue;
  event_handlers& events;
};

/// Records a call for an observer: the steps that were taken, each with how many entities entered the queue's parts in it. These come from
/// counts that the queue keeps anyway, so that no part below `core` depends on whether there is an observer.
class GANGSCHED_API call_notes {
 public:
  call_notes(observer& to, const noted_parts& of) : to_(&to), of_(of) {}

  /// A call begins. A call that is made inside another one is part of the outer one.
  void open(host_call what) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  /// Begins the next step. Details may be added until it ends, at the latest with the call. @p event: static storage.
  observed_step& begin(step_kind kind, std::string_view event, bool own = false);
  observed_step& end() noexcept;
  [[nodiscard]] observed_step& last() noexcept { return steps_.back(); }
  /// Ends it, and drops a step in which no entity moved and nothing was decided.
  void end_if_anything() noexcept;
  /// The subject of the last step.
  void describe(entity who);
  void describe(entity who, observed_step& made) const;

  // Steps of a kind.
  void read_log();
  void flush();
  void begin_attempt(const queue::popped& next);
  void end_attempt() noexcept;
  void begin_answer(row_t pod, attempt_result result);
  void begin_returned(entity who, const rejected_by& why);

  /// The decisions of an answer, which are not the cycle's, and the host's message.
  void answered(std::span<const decision> by, std::string_view note) noexcept {
    answer_ = by;
    last().note = note;
  }
  /// The call was abandoned.
  void drop() noexcept;
  /// It ended: calls the observer. @p ended has what notes do not record. False if the observer threw.
  bool tell(const observed_call& ended) noexcept;

 private:
  [[nodiscard]] std::uint32_t came(place to, std::uint64_t before) const noexcept;
  [[nodiscard]] attempt_result result_since(std::size_t first_decision) const noexcept;

  observer* to_;
  noted_parts of_;
  observed_call call_;
  bool open_ = false, step_open_ = false;
  std::vector<observed_step> steps_;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  ///< of their decisions
  queue::arrivals before_{};                                 ///< when the step began
  std::uint64_t asked_before_ = 0, victims_before_ = 0;
  std::span<const decision> answer_;
};

/// The notes, if there is an observer: calls have no other effect.
class watched_call {
 public:
  void start(std::unique_ptr<call_notes> notes) noexcept { notes_ = std::move(notes); }
  [[nodiscard]] explicit operator bool() const noexcept { return notes_ != nullptr; }
  [[nodiscard]] call_notes* operator->() const noexcept { return notes_.get(); }

  void open(host_call what) {
    if (notes_ != nullptr) [[unlikely]]
      notes_->open(what);
  }
  void begin(step_kind kind, std::string_view event) {
    if (notes_ != nullptr) [[unlikely]]
      notes_->begin(kind, event);
  }
  void end_if_anything() {
    if (notes_ != nullptr) [[unlikely]]
      notes_->end_if_anything();
  }

 private:
  std::unique_ptr<call_notes> notes_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/call_notes.cpp"
#endif
