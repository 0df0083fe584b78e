#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/binding_cycle.hpp"
#include "gangsched/engine/entry_order.hpp"
#include "gangsched/engine/explainer.hpp"
#include "gangsched/engine/object_cache.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Passes the changes of the cluster since the last call to the queue, the waiting pods and the reported reservations (kube-scheduler's
/// event handlers). The queue handled this scheduler's own records when they were written: these are only searched for entities that they
/// help.
class GANGSCHED_API event_handlers {
 public:
  /// @p now: the scheduler's.
  event_handlers(model::cluster_state& state, const entity_view& entities, pre_enqueue_gates& gates,
                 entry_order& entered, scheduling_queue& of, binding_cycle& binding, explainer& explains,
                 const instant& now);
  event_handlers& operator=(const event_handlers& from);

  /// Reads the log to its end, or one record of it. If what it has not read is gone: `start_over`. O(records · what each changed).
  /// @pre not in the middle of a trial, in which the tables show what may never have been
  void read(bool only_one = false) {
    queue_->grow();
    gates_->forget_open();
    if (has_unread() && (only_one || !passes_over_all())) read_on(only_one);
    known_end_ = cursor_.position;
  }
  [[nodiscard]] bool has_unread() const noexcept { return cursor_.position < state_->log.committed_end(); }
  /// What is read next; null if that is nothing, or not there any more.
  [[nodiscard]] const change* next() const noexcept;
  /// Of the scheduler's own records.
  [[nodiscard]] std::uint32_t author() const noexcept { return author_; }
  [[nodiscard]] bool is_own(const change& record) const noexcept { return record.author == author_; }
  /// Reads everything from the cluster: which entities wait is known then, but not for which change. O(pods + groups).
  void start_over();
  /// Whether there are unread records of other authors. O(1).
  [[nodiscard]] bool has_news() const noexcept { return state_->log.committed_end() != known_end_; }
  /// Counts all records written so far as no news, though they have not been read; they may be more than the log keeps.
  void end_own_records() noexcept { known_end_ = state_->log.committed_end(); }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed.
  [[nodiscard]] saved_handlers save(past_saver& past) const;
  [[nodiscard]] std::optional<error> restore(const saved_handlers& from, const past_objects& past);

 private:
  void read_on(bool only_one);
  [[nodiscard]] bool passes_over_all() noexcept;
  void handle(const change& record);
  void pod_updated(row_t pod);
  void pod_removed(const change& record);
  void placed_member_left(row_t group);
  void pod_terminating(row_t pod);
  void pod_placed(const change& record);
  void pod_released(row_t pod);
  void group_added(row_t group);
  void group_updated(const change& record);
  void group_changed(row_t group);
  void own_record(const change& record);
  void member_changed(const change& record, row_t group);
  void judge_waiting(row_t group);
  void forget_row(row_t pod);
  void requeue_by(const change& record, std::uint64_t position);
  void requeue_by_hints(const change& record, std::uint64_t position);
  void ask_gates(queueing_event& what);
  void wake_nominated(row_t node);

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<pre_enqueue_gates> gates_;
  peer<entry_order> entered_;
  peer<scheduling_queue> queue_;
  peer<binding_cycle> binding_;
  peer<explainer> explainer_;
  peer<const instant> now_;
  std::uint32_t author_;
  log_cursor cursor_;
  std::uint64_t known_end_ = 0;               ///< of the log: all before it was read, or is the scheduler's own
  std::optional<object_cache> object_cache_;  ///< under wake_rule::hints
  std::vector<object_event> happened_;        ///< by the record that is being read
  std::vector<row_t> changed_groups_;         ///< rejected ones to ask about again, by row of the root
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/event_handlers.cpp"
#endif
