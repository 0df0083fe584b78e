#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/engine/call_notes.hpp"
#include "gangsched/engine/event_handlers.hpp"
#include "gangsched/engine/group_cycle.hpp"
#include "gangsched/engine/move_planner.hpp"
#include "gangsched/engine/pod_cycle.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/inside.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Behind `scheduler`: makes the parts of the engine for one cluster, and carries out each call of the host with them. Rows everywhere; ids
/// and their checks are in the facade.
class GANGSCHED_API core {
 public:
  core(cluster& on, std::vector<kernel_table> profiles, const scheduler_options& options);
  /// The same on a copy of its cluster: it decides there as @p from would. It has no observer, and its hooks are not measured.
  /// Without @p evicts it makes no room for whom it cannot place, nor do its copies.
  core(cluster& copy, const core& from, bool evicts = true);

  // Around each of the calls below that may change something, inside a `call_mark`. If memory runs out, the exception abandons
  // the call: the cluster is rolled back to where the call began, and so is engine state that the cluster does not show: the
  // number and times of failures, which pods wait for permit and for which plugins, attempts in flight, what reservations
  // noted. The rest (orders, lines of entities that wait for a change, indexes, plans) is made anew at the next call; a question touches
  // nothing of that but what is cached, which is forgotten, so that the next decision is what it would have been.
  void open_call(instant now);
  void close_call() noexcept {
    binding_.end_call();
    if (notes_) [[unlikely]]
      tell();
  }
  void abandon_call(bool question) noexcept;
  /// From the next call on; null: none.
  void observe(observer* by);

  // One call of the host each (scheduler.hpp). `now` has been checked.
  bool schedule(instant now);
  void permit(instant now);
  void confirm(row_t pod);
  std::span<const decision> fail(row_t pod, std::string_view reason);
  explanation explain(row_t pod) { return explainer_.explain(pod); }
  void explain_group(row_t group, std::vector<group_explanation>& out) { explainer_.explain_group(group, out); }
  void catch_up(instant now);
  std::optional<attempt> pop(instant now);
  /// Plugin names that the profile lacks count as plugins that no event concerns.
  void add_unschedulable(pod_id pod, const rejected_by& why, instant now);
  void add_unschedulable(group_id group, const rejected_by& why, instant now);
  void done(pod_id pod);
  void done(group_id group);
  void activate(std::span<const pod_id> pods, instant now);
  void flush_backoff(instant now);
  void flush_unschedulable(instant now);
  void restore(row_t pod, const queue_position& position);
  void restore(const waiting_pod& as);
  bool allow(row_t pod, std::string_view plugin);
  void reject(row_t pod);
  void note(row_t pod, std::string_view text) { explainer_.note(pod, text); }
  void forget_cached();
  /// Nothing also if an attempt with the group would end before nodes are looked at.
  [[nodiscard]] std::optional<move_plan> plan_moves(row_t group, const move_options& options);
  [[nodiscard]] std::optional<std::string> difference() { return picker_.difference(); }
  // As far as the log has been read:
  [[nodiscard]] std::optional<instant> next_time() const;
  [[nodiscard]] queue_counts counts() const;
  [[nodiscard]] pending_pods pending() const;
  [[nodiscard]] queue_standing standing(row_t pod) const;
  /// Nothing if it was never rejected.
  [[nodiscard]] std::optional<why_rejected> why(pod_id pod) const;
  [[nodiscard]] std::vector<queued_entity> list_queue() const;
  [[nodiscard]] std::vector<attempt> in_flight() const { return queue_.in_flight_attempts(); }
  [[nodiscard]] bool is_tried(pod_id pod) { return queue_.in_flight().find(pod) != nullptr; }
  [[nodiscard]] bool is_tried(group_id group) { return queue_.in_flight().find(group) != nullptr; }
  /// The pods that wait in permit.
  [[nodiscard]] const binding_cycle& binding() const noexcept { return binding_; }

  [[nodiscard]] picker::position picks() const noexcept { return picker_.where(); }
  void picks_go_back(picker::position where) noexcept { picker_.go_back(where); }
  [[nodiscard]] std::span<const decision> decisions() const noexcept { return decisions_.of_cycle(); }
  [[nodiscard]] model::cluster_state& state() const noexcept { return *state_; }
  [[nodiscard]] std::span<const kernel_table> profiles() const noexcept { return profiles_.all(); }
  [[nodiscard]] const engine_statistics& statistics() const noexcept { return statistics_; }
  [[nodiscard]] instant now() const noexcept { return now_; }
  /// The error of a hook that ended the last cycle, if any.
  [[nodiscard]] const cycle_error& failure() const noexcept { return error_; }

  // Snapshots.
  /// On a cluster that is being made again: its plugins make their columns, and that is all. `restore` follows when the cluster is done.
  [[nodiscard]] static std::unique_ptr<core> attached(cluster& on, std::vector<kernel_table> profiles,
                                                      const scheduler_options& options);
  /// The state of its parts, as plain data. @p classes: what saves the cluster afterwards. O(that).
  [[nodiscard]] saved_scheduler save(model::cluster_saver& classes) const;
  /// @p classes: by their numbers in the data. Error: malformed, and what is left is of no use.
  [[nodiscard]] std::optional<error> restore(const saved_scheduler& from, std::span<const class_id> classes);

 private:
  core(model::cluster_state& on, profile_set profiles, const scheduler_options& options);
  class own_records;

  void mend();
  void note_host_rejection(row_t pod, const rejected_by& why);
  void begin_call(instant now);
  void begin_deciding(instant now);
  void read_log();
  void flush();
  bool try_entity(const queue::popped& next);
  bool run(entity e);
  void tell() noexcept;

  model::cluster_state* state_;
  profile_set profiles_;
  scheduler_options options_;
  engine_statistics statistics_;
  instant now_ = instant::min();  ///< the time that the host passed last
  entity_view entities_;
  decision_list decisions_;
  cycle_error error_;
  pre_enqueue_gates gates_;
  picker picker_;
  reservations reservations_;
  group_limits limits_;
  entry_order entered_;
  group_parts parts_;
  group_search search_;
  preemption preemption_;
  scheduling_queue queue_;
  backfill backfill_;
  explainer explainer_;
  binding_cycle binding_;
  gang_holdings holdings_;
  struct {
    pod_cycle of_pod;
    group_cycle of_group;
  } cycles_;
  event_handlers events_;
  watched_call notes_;
  /// What could not be told from the cluster, as it was when the call began; whether one was abandoned since, and whether this one has
  /// made everything anew for that.
  struct standing_before {
    bool whole = false, torn = false, mended = false;
    instant now{};
    engine_statistics statistics;
    picker::position picks{};
  } before_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/core.cpp"
#include "gangsched/src/engine/core_observed.cpp"
#include "gangsched/src/engine/core_saved.cpp"
#endif
