#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gangsched/engine/attempt.hpp"
#include "gangsched/engine/bound_memory.hpp"
#include "gangsched/engine/cycle_error.hpp"
#include "gangsched/engine/decision_list.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/engine/in_flight_pods.hpp"
#include "gangsched/engine/move_plan.hpp"
#include "gangsched/engine/picker.hpp"
#include "gangsched/engine/pre_enqueue_gates.hpp"
#include "gangsched/engine/queue.hpp"
#include "gangsched/engine/reported_reservations.hpp"
#include "gangsched/engine/reservations.hpp"
#include "gangsched/engine/stale_gangs.hpp"
#include "gangsched/engine/trial_memory.hpp"
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
  [[nodiscard]] std::optional<move_plan> plan_moves(row_t group, const move_options& options);
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
  friend class trial_of;

  using holder_rank = std::tuple<bool, std::int64_t, std::uint64_t>;
  /// A member placed in a group's trial.
  struct member_place {
    row_t pod;
    row_t node;
    std::int64_t score;
    reservations::uses uses;
  };
  /// What members found for themselves in a group's cycle, each by its own preemption.
  struct members_room {
    std::vector<pod_id> victims;
    std::vector<assignment> made;    ///< by preemption
    std::vector<assignment> placed;  ///< all members, if the group waits
    std::vector<row_t> helpless;     ///< members for whom nothing helps
    bool waits = false;
  };
  struct group_outcome {
    status verdict;
    std::uint64_t rejectors = 0;
    bool of_group = false;  ///< an error that says that the group cannot be placed as it stands, and not that a hook failed
  };
  /// A part of a group's attempt: its pending members, or the parts below it. A slice is a part of its group.
  struct part {
    row_t group = no_row;
    std::size_t layer = 0;       ///< slices around it
    std::vector<row_t> members;  ///< in the order in which they are tried
    std::vector<part> parts;
    bool planned = false;        ///< its members are alike, and a domain choice says how many go where
    [[nodiscard]] bool is_slice() const noexcept { return layer != 0; }
  };
  /// A placement that a part may be tried in. A domain's nodes are not looked up before they are needed.
  struct candidate {
    const placement* from = nullptr;
    domain_index* domains = nullptr;  ///< null: the nodes of `from`
    domain_id domain = no_domain;
    bool whole = true;       ///< nothing of the domain is out of bounds
    std::uint32_t tier = 0;
    std::uint64_t room = 0;  ///< members that find room there, at most
    bool tried = false;
    bool feasible = false;
  };
  using class_counts = std::vector<std::pair<class_id, std::int64_t>>;  ///< how many members are of each class
  struct group_need {
    class_counts classes;
    std::uint64_t members = 0;  ///< that have to find a node, at least
  };
  struct candidate_list;
  class complete_search;

  // recovery.cpp
  void mend();

  // core.cpp: what the host did since the last call
  void begin_call(instant now);
  void read_log();
  void drop_unused();
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
  void come_back(row_t pod, const rejection& why, std::uint64_t marks);
  void come_back_broken(entity e);
  void flush(instant now);

  // pod_cycle.cpp
  bool try_entity(entity e);
  bool run(entity e);
  void run_pod(row_t pod);
  void place(row_t pod, const picked& where);
  void reject_pod(row_t pod, const picked& why);
  bool make_room(row_t pod, std::uint64_t rejectors);
  victim_plan ask_for_room(row_t pod, bool& keep);
  void evict(pod_id victim, const char* reason = nullptr);
  void clear_nominations(row_t pod, row_t node);
  std::unique_ptr<trial> start_trial(std::uint16_t plugin, bool for_group = false);
  bool take_back_holdings(row_t own, entity e);
  void call_older_holders(row_t group);
  void release(row_t pod);
  [[nodiscard]] holder_rank rank_of(row_t group) const;

  // group_cycle.cpp
  void run_group(row_t group);
  [[nodiscard]] part make_part(row_t group, bool desired = false);
  static void cut(part& whole, const std::vector<topology_slice>& slices);
  void cut_by_rank(part& whole);
  [[nodiscard]] std::vector<row_t> pending_members(row_t group, bool desired = false);
  static void collect_members(const part& of, std::vector<row_t>& out);
  void count_classes(std::span<const row_t> members, class_counts& out);
  [[nodiscard]] status disagreement(row_t root) const;
  void reject_group(row_t group, const part& whole, const group_outcome& why);

  // group_room.cpp
  bool make_group_room(row_t group, status& broken);
  status try_group(row_t group, std::vector<assignment>& placed, const placement* within);
  [[nodiscard]] assignment as_assignment(const member_place& one) const;
  [[nodiscard]] group_need need_of(row_t group);
  [[nodiscard]] bool may_fit(const group_need& need);
  [[nodiscard]] bool fit_by_node(std::span<const assignment> placed);
  bool still_fit(std::span<const assignment> placed);
  struct movable;
  [[nodiscard]] movable movable_pods(row_t group, const move_options& options) const;
  void take_away(row_t pod);
  [[nodiscard]] bool goes_home(row_t pod, row_t home);
  [[nodiscard]] std::optional<move_plan> try_moves(row_t group, const movable& all, std::span<const row_t> cleared, const move_options& options);
  void nominate_members(row_t group, std::span<const assignment> places);
  bool make_minimum_room(row_t pod);

  // group_ratio.cpp: groups that grow in step
  [[nodiscard]] std::uint64_t with_node(row_t group) const;
  [[nodiscard]] std::optional<std::uint64_t> ratio_limit(row_t group) const;
  [[nodiscard]] bool is_full(row_t group) const;
  void note_ratios(row_t root);
  void ask_ratios();
  [[nodiscard]] std::string ratio_note(row_t group) const;

  // group_alpha.cpp: pod groups as in 1.36
  void order_as_entered(row_t group, std::vector<row_t>& members);
  [[nodiscard]] bool preempts_by_pod(row_t group) const;
  [[nodiscard]] row_t make_member_room(row_t pod);
  void wait_for_members(status& verdict);
  bool evict_for_members(row_t group);
  [[nodiscard]] std::vector<assignment> fitting_members(row_t group);

  // group_search.cpp
  /// Up to reserve, in the best placement; `placed_` says where. Nothing is left if the verdict is not success.
  group_outcome place_group(const part& whole, bool search = true);
  /// @p budget: of a whole group: nodes that complete searches may try, each level of `within` after it was tried greedily.
  group_outcome choose(const part& what, const std::vector<row_t>* within, std::uint64_t* budget = nullptr);
  group_outcome choose_among(const part& what, candidate_list& list, std::uint32_t tier, const std::vector<row_t>* within);
  group_outcome fill(const part& what, const std::vector<row_t>* within);
  group_outcome try_members(const part& what, const std::vector<row_t>* within);
  group_outcome try_parts(const part& what, const std::vector<row_t>* within);
  bool place_member(row_t pod, const picked& found, status& said);
  [[nodiscard]] status feasible(row_t group, const group_progress& progress) const;
  [[nodiscard]] status feasible(const kernel_table& profile, row_t group, const group_progress& progress) const;
  void discard_members(std::size_t from = 0);
  status order_by_rank(const part& what, std::size_t from);

  // group_plan.cpp
  [[nodiscard]] bool can_plan(const part& what);
  group_outcome place_planned(const part& what, const std::vector<row_t>* within);

  // explain_group.cpp
  [[nodiscard]] std::string shortage(row_t pod, const std::vector<row_t>& rows, std::string& change);

  // group_complete.cpp
  [[nodiscard]] bool worth_searching(const part& whole);
  [[nodiscard]] part without_plans(part of);
  status order_all_by_rank(const part& of);
  group_outcome search_group(const part& whole, group_outcome refused, std::uint32_t tier, std::uint64_t& budget);

  // group_placements.cpp
  void expand(const placement& one, std::vector<placement>& out);
  std::vector<placement> placements(const part& what, status& said);
  candidate_list candidates(const part& what, const std::vector<placement>& where, const std::vector<row_t>* within);
  [[nodiscard]] std::vector<row_t> rows_of(const candidate& one, const std::vector<row_t>* within);
  [[nodiscard]] std::uint64_t least_members(const part& of) const;
  void bound_scores(const part& what, candidate_list& list, const std::vector<row_t>* within);
  void score_candidate(const part& what, candidate_list& list, std::size_t which, const std::vector<row_t>* rows, std::size_t from);
  domain_index& domains_of(std::string_view key);
  const std::vector<row_t>* beside_others(row_t group, const std::vector<row_t>* within, std::vector<row_t>& out);

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
  trial_memory memory_;
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
  std::vector<member_place> placed_;
  static constexpr std::uint8_t most_domains = 64;
  std::vector<std::unique_ptr<domain_index>> domains_;  ///< of labels that groups have asked for, those used last at the end
  std::uint64_t collections_ = 0;  ///< of the cluster's, those that are accounted for
  bound_memory bounds_;
  members_room by_pod_;
  /// A permit-mode gang whose minimum no preemption helps, when a member of that class began, and the log's end then.
  std::tuple<row_t, class_id, std::uint64_t> in_vain_{no_row, no_class, 0};
  std::vector<std::uint64_t> entered_;  ///< by pod row: order of the first entry into the queue, for groups as in 1.36
  std::uint64_t entries_ = 0;
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
#include "gangsched/src/engine/defragment.cpp"
#include "gangsched/src/engine/explain_group.cpp"
#include "gangsched/src/engine/group_alpha.cpp"
#include "gangsched/src/engine/group_complete.cpp"
#include "gangsched/src/engine/group_cycle.cpp"
#include "gangsched/src/engine/group_placements.cpp"
#include "gangsched/src/engine/group_plan.cpp"
#include "gangsched/src/engine/group_ratio.cpp"
#include "gangsched/src/engine/group_room.cpp"
#include "gangsched/src/engine/group_search.cpp"
#include "gangsched/src/engine/pod_cycle.cpp"
#include "gangsched/src/engine/recovery.cpp"
#include "gangsched/src/engine/permit_cycle.cpp"
#include "gangsched/src/engine/trial.cpp"
#include "gangsched/src/engine/requeue.cpp"
#endif
