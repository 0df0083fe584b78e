#pragma once
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/admission_checks.hpp"
#include "gangsched/engine/dependent_groups.hpp"
#include "gangsched/engine/in_flight_pods.hpp"
#include "gangsched/engine/pending_member_counts.hpp"
#include "gangsched/engine/pre_enqueue_gates.hpp"
#include "gangsched/engine/queue.hpp"
#include "gangsched/engine/requeue_judge.hpp"
#include "gangsched/engine/unschedulable_pods.hpp"
#include "gangsched/scheduling/attempt.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The order of attempts, and where all entities wait (kube-scheduler's SchedulingQueue): the rules by which pods and groups enter the
/// queue, are gated, return after an attempt, and are woken. A pod stands there by itself or with the root of its tree of groups
/// (`entity_view`).
class GANGSCHED_API scheduling_queue {
 public:
  /// @p now, @p options, @p statistics: the scheduler's, read and written at each call.
  scheduling_queue(model::cluster_state& state, const profile_set& profiles, const entity_view& entities,
                   pre_enqueue_gates& gates, const group_limits& limits, group_parts& parts, picker& picks,
                   const scheduler_options& options, engine_statistics& statistics, const instant& now);

  // Changes in the log.
  /// A pod is pending: it, or the group that it is queued with, enters or is checked again.
  void enqueue(row_t pod, bool fresh);
  /// A pod stopped being pending, or was removed.
  void leave(row_t pod);
  /// An entity takes its new place. Returns whether its key was computed anew.
  bool set_order(entity e, std::int32_t priority, std::uint64_t arrival);
  /// A member waits for a node from here on in the log, whatever happened to it later. In the queue it is the root of its tree that waits.
  void count_waiting(row_t pod, row_t group);
  /// The member waits no more. A group without waiting members leaves the queue; a member that kept its group gated may be gone.
  void count_out(row_t pod);
  void gate_or_activate(entity e);
  /// A group needs more members than it has: its entity in the queue may not be ready any more. O(members).
  void ask_gate_again(row_t group);
  /// Groups that start after others may do so now, or grow with them.
  void ask_dependents() {
    if (!dependents_.empty()) ask_all_dependents();
  }
  void ask_ratios() {
    if (!dependents_.empty()) ask_all_ratios();
  }
  /// The group was added, removed, or got another root: its waiting members, and those of groups below it, are queued elsewhere now.
  /// (Members that were added later are still to be read.)
  void requeue_members(row_t group);
  /// Queues a group with waiting members, unless as many members have a node as may: called
  /// wherever a group could be left outside the queue, or stops being full. O(members).
  void requeue_group(row_t group);
  /// A member that counted is gone: one of the members beyond an elastic gang's maximum, or a ratio, may take its place.
  void requeue_surplus_member(row_t group);
  /// Drops all waiting conditions and dependencies; attempts under way are tried again whatever their outcome.
  void start_over();
  /// Rows that are new have room, and lines follow their classes.
  void grow() {
    pending_counts_.grow(state_->pods.rows.count(), state_->pods.rows.room());
    unschedulable_.grow();
  }
  void prefetch(row_t pod) const noexcept;

  // A popped entity is tried, or rejected at admission.
  [[nodiscard]] refusal ask_admission(entity e) const { return admission_.ask(e); }
  /// It waits for an event that concerns the plugin that rejected it, and is admitted then; or for its time, if that was an error.
  void refuse(entity e, const refusal& why);

  // A tried entity returns.
  /// It waits for a change after which one of @p rejectors, plugins whose filters rejected it, may accept it.
  void park(row_t pod, std::uint64_t rejectors);
  /// The same by hints: @p why has all plugins that rejected it.
  void come_back(row_t pod, const rejection& why, std::uint64_t rejectors);
  /// Until a change can help one of its members; under Kubernetes' rule, which has no hints for groups, for its backoff.
  void park_group(row_t group, std::uint64_t rejectors, const char* reason = nullptr);
  /// @p for_change: it waits for one. Otherwise for its backoff; strictly: for nothing else. @p planned: it did not fail, and waits until
  /// then.
  void retry_group(row_t group, bool error, bool strict, bool for_change = false, std::optional<instant> planned = {});
  /// An entity in flight waits until @p when, whatever happens meanwhile (`queue::wait_until`).
  void wait_until(entity e, instant when);
  /// After an attempt that ended in an error, a pod waits for its backoff only.
  void retry_pod(row_t pod);
  /// Back into the queue after a reservation was taken back: waits for its time only.
  void requeue(row_t pod, bool error);
  /// The group is being tried; its ratios are recorded.
  void note_ratios(row_t root) { dependents_.note_ratios(root); }
  void note_dependent(row_t group) { dependents_.note(group); }

  // Calls of hosts that pop entities themselves, or move them by hand (attempt.hpp).
  std::optional<attempt> pop_attempt();
  void add_unschedulable(pod_id pod, const rejected_by& why);
  void add_unschedulable(group_id group, const rejected_by& why);
  void done(pod_id pod) { give_up(in_flight_.find(pod)); }
  void done(group_id group) { give_up(in_flight_.find(group)); }
  void activate(std::span<const pod_id> pods);
  void flush() {
    unschedulable_.wake_due();
    if (options_->timers == timer_rule::by_host || !queue_.may_be_due()) return;
    queue_.flush_backoff(*now_);
    queue_.flush_unschedulable(*now_);
  }
  void flush_unschedulable();
  void restore(row_t pod, const queue_position& position);
  [[nodiscard]] queue_standing standing(row_t pod) const;
  [[nodiscard]] std::vector<attempt> in_flight_attempts() const;
  /// The entities in each place, in order (`scheduler::queue`): a pod that stands for each, the group if it is one, how many wait with it.
  struct listed {
    row_t pod;
    entity who;
    std::uint32_t pods;
  };
  [[nodiscard]] std::vector<listed> list() const;

  [[nodiscard]] bool by_hints() const noexcept { return options_->wake == wake_rule::hints; }
  /// Whether it is known that nobody is helped by a record that says that this scheduler placed a pod. (By hints a bound pod is remembered,
  /// whoever waits.) O(1).
  [[nodiscard]] bool helps_nobody(const change& placed) const noexcept {
    if (!dependents_.empty()) return false;
    if (placed.kind == change_kind::pod_assumed) return true;
    return !by_hints() && in_flight_.empty() && unschedulable_.helps_nobody(placed);
  }
  [[nodiscard]] const pending_member_counts& counted() const noexcept { return pending_counts_; }
  // Its parts.
  [[nodiscard]] const admission_checks& admission() const noexcept { return admission_; }
  [[nodiscard]] queue& places() noexcept { return queue_; }
  [[nodiscard]] const queue& places() const noexcept { return queue_; }
  [[nodiscard]] requeue_judge& judge() noexcept { return judge_; }
  [[nodiscard]] unschedulable_pods& unschedulable() noexcept { return unschedulable_; }
  [[nodiscard]] const unschedulable_pods& unschedulable() const noexcept { return unschedulable_; }
  [[nodiscard]] in_flight_pods& in_flight() noexcept { return in_flight_; }
  [[nodiscard]] const in_flight_pods& in_flight() const noexcept { return in_flight_; }

  // For a call that may be abandoned: after `recall` the orders are to be made anew (`queue::rebuild`), and `start_over` is to follow.
  void remember() {
    in_flight_.remember();
    queue_.remember();
  }
  void recall() noexcept;

  /// What its parts hold, as plain data; and of a new one on a cluster that was made again, that. Error: malformed,
  /// and some of it may be there.
  [[nodiscard]] saved_queue save(model::cluster_saver& classes, past_saver& past) const;
  [[nodiscard]] std::optional<error> restore(const saved_queue& from, std::span<const class_id> classes,
                                             const past_objects& past);

 private:
  void ask_all_dependents();
  void ask_all_ratios();
  void give_up(const in_flight_pods::entry* tried);
  void gate_if_rejected(entity e);
  [[nodiscard]] bool can_come_back(const in_flight_pods::entry& tried);
  void come_back_broken(entity e);

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<pre_enqueue_gates> gates_;
  peer<const group_limits> limits_;
  peer<const scheduler_options> options_;
  peer<const instant> now_;
  admission_checks admission_;
  queue queue_;
  requeue_judge judge_;
  unschedulable_pods unschedulable_;
  in_flight_pods in_flight_;
  pending_member_counts pending_counts_;
  dependent_groups dependents_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/scheduling_queue.cpp"
#endif
