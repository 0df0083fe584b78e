#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gangsched/engine/attempt.hpp"
#include "gangsched/engine/cycle_error.hpp"
#include "gangsched/engine/decision_list.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/engine/in_flight_pods.hpp"
#include "gangsched/engine/move_planner.hpp"
#include "gangsched/engine/picker.hpp"
#include "gangsched/engine/pre_enqueue_gates.hpp"
#include "gangsched/engine/preemption.hpp"
#include "gangsched/engine/queue.hpp"
#include "gangsched/engine/reported_reservations.hpp"
#include "gangsched/engine/reservations.hpp"
#include "gangsched/engine/stale_gangs.hpp"
#include "gangsched/engine/unschedulable_pods.hpp"
#include "gangsched/engine/waiting_pods.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::engine {

/// Behind `scheduler`: the queue, the picker and the permit room on one cluster, and the rules by which entities move between them.
/// Rows everywhere; ids and their checks are the facade's.
class GANGSCHED_API core {
 public:
  core(cluster& on, std::vector<kernel_table> profiles, const scheduler_options& options);

  // recovery.cpp: around each of the calls below that may change something, inside a `call_mark`. An exception abandons it.
  void open_call(instant now);
  void close_call() noexcept;
  void abandon_call() noexcept;

  // One call of the host each (scheduler.hpp). `now` has been checked.
  bool schedule(instant now);
  void permit(instant now);
  void confirm(row_t pod);
  std::span<const decision> fail(row_t pod);
  explanation explain(row_t pod);
  void explain_group(row_t group, std::vector<group_explanation>& out);
  // attempts.cpp: what the host does with the queue itself.
  void catch_up(instant now);
  std::optional<attempt> pop(instant now);
  /// Names that the profile does not have count as plugins that no event concerns.
  void add_unschedulable(pod_id pod, const rejected_by& why, instant now);
  void add_unschedulable(group_id group, const rejected_by& why, instant now);
  void done(pod_id pod);
  void done(group_id group);
  void activate(std::span<const pod_id> pods, instant now);
  void flush_backoff(instant now);
  void flush_unschedulable(instant now);
  // As far as the log has been read:
  [[nodiscard]] std::optional<instant> next_time() const;
  [[nodiscard]] queue_counts counts() const;
  [[nodiscard]] queue_standing standing(row_t pod) const;
  [[nodiscard]] std::vector<attempt> in_flight() const;
  [[nodiscard]] bool is_tried(pod_id pod) { return in_flight_.find(pod) != nullptr; }
  [[nodiscard]] bool is_tried(group_id group) { return in_flight_.find(group) != nullptr; }
  void restore(row_t pod, std::uint32_t failures, instant since);
  void forget_cached();
  /// What an attempt that an exception ended has left in the engine; the cluster has been rolled back.
  void forget_attempt();
  [[nodiscard]] picker::position picks() const noexcept { return picker_.where(); }
  void picks_go_back(picker::position where) noexcept { picker_.go_back(where); }
  [[nodiscard]] std::optional<move_plan> plan_moves(row_t group, const move_options& options) {
    return move_planner{*state_, parts_, picker_, reservations_, search_}.plan(group, options);
  }
  [[nodiscard]] std::optional<std::string> difference();

  /// Whether the pod waits in the permit room.
  [[nodiscard]] bool waits(row_t pod) const noexcept { return waiting_.has(pod); }
  /// What the host said when the pod failed or was rejected last, or nothing.
  void note(row_t pod, std::string_view text);
  /// @p plugin: its name, or empty for all. False if it does not hold the pod.
  bool allow(row_t pod, std::string_view plugin);
  [[nodiscard]] std::vector<std::string> pending_plugins(row_t pod) const;
  void reject(row_t pod);

  [[nodiscard]] std::span<const decision> decisions() const noexcept { return decisions_.of_cycle(); }
  [[nodiscard]] cluster_state& state() noexcept { return *state_; }
  [[nodiscard]] const engine_statistics& statistics() const noexcept { return statistics_; }
  [[nodiscard]] instant now() const noexcept { return now_; }
  /// What a hook ended the last cycle with, if anything.
  [[nodiscard]] const cycle_error& failure() const noexcept { return error_; }

 private:
  using holder_rank = std::tuple<bool, std::int64_t, std::uint64_t>;

  // recovery.cpp
  void mend();

  // core.cpp: what the host did since the last call
  void begin_call(instant now);
  void begin_deciding(instant now);
  void read_log();
  void mark_own();
  void read_log(const change& record, std::uint64_t position);
  void prefetch(const change& record) const noexcept;
  void start_over();
  void enqueue(row_t pod, bool fresh);
  void leave(row_t pod);
  void forget_row(row_t pod);
  void set_order(entity e, std::int32_t priority, std::uint64_t arrival);
  void count_waiting(row_t pod, row_t group);
  void count_out(row_t pod);
  void ask_gate_again(row_t group);
  void note_dependent(row_t group);
  void ask_dependents();
  void member_changed(const change& record, row_t group);
  void gate_or_activate(entity e);
  void requeue_members(row_t group);
  void requeue_group(row_t group);
  void requeue_surplus_member(row_t group);
  void host_released(row_t pod, std::uint32_t generation);

  // requeue.cpp: who failed, and events
  void park(row_t pod, std::uint64_t rejectors);
  void park_group(row_t group, std::uint64_t rejectors, const char* reason = nullptr);
  void retry_group(row_t group, bool error, bool strict, bool for_change = false);
  void requeue(row_t pod, bool error);
  void suppress_events(std::uint64_t from);
  void requeue_by(const change& record, std::uint64_t position);
  void requeue_by_hints(const change& record);
  void ask_gates(queueing_event& what);
  [[nodiscard]] bool by_hints() const noexcept { return options_.wake == wake_rule::hints; }

  // attempts.cpp: in flight
  void give_up(const in_flight_pods::entry* tried);
  [[nodiscard]] bool can_come_back(const in_flight_pods::entry& tried);
  void come_back(row_t pod, const rejection& why, std::uint64_t rejectors);
  void come_back_broken(entity e);
  void flush(instant now);

  // pod_cycle.cpp
  bool try_entity(entity e);
  bool run(entity e);
  void run_pod(row_t pod);
  void place(row_t pod, const picked& where);
  void reject_pod(row_t pod, const picked& why);
  bool preempt_for(row_t pod, std::uint64_t rejectors);
  void add_decisions(const preemption_result& found);
  void evict(pod_id victim, const char* reason = nullptr);
  bool take_back_holdings(row_t own, entity e);
  void call_older_holders(row_t group);
  void release(row_t pod);
  [[nodiscard]] holder_rank rank_of(row_t group) const;

  // group_cycle.cpp
  void run_group(row_t group);
  bool preempt_for_group(row_t group, status& broken);
  void reject_group(row_t group, const group_part& whole, const group_outcome& why);

  // group_ratio.cpp: groups that grow in step
  void note_ratios(row_t root);
  void ask_ratios();

  // explain_group.cpp
  [[nodiscard]] std::string shortage(row_t pod, const std::vector<row_t>& rows, std::string& change);

  // permit_cycle.cpp
  void ask_permit(row_t pod, std::int64_t score);
  void finish_bind(row_t pod, std::int64_t score, bool waited);
  void expire_waits();
  [[nodiscard]] permit_verdict ask_permit_hook(const kernel_table& profile, std::size_t index, row_t pod);
  void judge_waiting(row_t group);
  void ask_permit_again();
  void revoke_strict_gang(row_t group);
  void send_back(row_t pod, const char* reason, bool error);

  cluster_state* state_;
  profile_set profiles_;
  entity_view entities_;
  decision_list decisions_;
  cycle_error error_;
  pre_enqueue_gates gates_;
  reported_reservations reported_;
  stale_gangs stale_;
  in_flight_pods in_flight_;
  waiting_pods waiting_;
  scheduler_options options_;
  engine_statistics statistics_;
  instant now_ = instant::min();  ///< as the host said last
  picker picker_;
  reservations reservations_;
  group_limits limits_;
  entry_order entered_;
  group_parts parts_;
  group_search search_;
  preemption preemption_;
  queue queue_;
  requeue_judge judge_;
  unschedulable_pods unschedulable_;
  log_cursor cursor_;

  std::vector<row_t> dependents_;             ///< groups that start after others
  struct held_back {
    group_id group;
    std::uint64_t limit;  ///< of its members, when it was tried
  };
  std::vector<held_back> held_back_;          ///< groups that may not have more members by their ratios
  // As far as the log has been read:
  std::vector<row_t> waits_in_;               ///< by pod row: the group it waits for a node in
  std::vector<std::uint32_t> members_waiting_;  ///< by group: such pods
  std::uint64_t own_from_ = 0, own_to_ = 0;   ///< records that the engine made since it read the log last
  std::vector<std::pair<std::uint64_t, std::uint64_t>> suppressed_;  ///< log ranges that undid what the same cycle did: they help nobody
  std::optional<object_cache> object_cache_;            ///< under wake_rule::hints
  std::vector<object_event> happened_;                  ///< by the record that is being read
  std::map<pod_id, std::string> notes_;       ///< the host's last word on pods that failed
  /// What could not be told from the cluster, as it was when the call began.
  struct standing_before {
    bool whole = false;
    instant now{};
    engine_statistics statistics;
    picker::position picks{};
  };
  standing_before before_;
  bool torn_ = false;  ///< a call was abandoned: what can be told from the cluster is to be made anew
};

}  // namespace gangsched::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/attempts.cpp"
#include "gangsched/src/engine/core.cpp"
#include "gangsched/src/engine/explain_group.cpp"
#include "gangsched/src/engine/group_cycle.cpp"
#include "gangsched/src/engine/group_ratio.cpp"
#include "gangsched/src/engine/pod_cycle.cpp"
#include "gangsched/src/engine/recovery.cpp"
#include "gangsched/src/engine/permit_cycle.cpp"
#include "gangsched/src/engine/requeue.cpp"
#endif
