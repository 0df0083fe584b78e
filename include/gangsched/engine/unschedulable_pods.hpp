#pragma once
#include <map>
#include <vector>

#include "gangsched/engine/admission_checks.hpp"
#include "gangsched/engine/in_flight_pods.hpp"
#include "gangsched/engine/requeue_judge.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Rejected pods and groups that wait for an event, with what rejected them, and whom an event wakes.
///
/// By the exact rule, pods of one class wait in one line, in order of failure, and an event is judged once for each line: the first is
/// woken; when it needed no more than it got, the next one is (`pass_on`), so room for one wakes one and room for ten wakes ten. Groups
/// that are alike (`requeue_judge::kind_of`) make such a line too. By hints, every pod is judged by itself.
///
/// Who was refused at admission is woken by an event that concerns who refused it, and only if admission hooks would let it in now; under
/// both rules one of a line, then the next one.
class GANGSCHED_API unschedulable_pods {
 public:
  /// @p now, @p options, @p statistics: the scheduler's, read and written at each call.
  unschedulable_pods(cluster_state& state, const entity_view& entities, const admission_checks& admission,
                     requeue_judge& judge, queue& of, const scheduler_options& options, engine_statistics& statistics,
                     const instant& now) noexcept
      : state_(&state),
        entities_(&entities),
        admission_(&admission),
        judge_(&judge),
        queue_(&of),
        options_(&options),
        statistics_(&statistics),
        now_(&now) {}

  /// Parks a rejected pod where an event can find it; if one of those in the attempt @p tried (may be null) helps it, it is woken at once.
  /// @p rejectors: plugins whose filters rejected it; @p by: all that did, under hints.
  void add(row_t pod, const rejection& by, std::uint64_t rejectors, const in_flight_pods& attempts,
           const in_flight_pods::entry* tried);
  /// Parks a pod that was refused at admission.
  void add_refused(row_t pod, const refusal& why);
  /// Of a pod that waits for something else, or for nothing.
  void clear_rejection(row_t pod) noexcept {
    if (pod < rejections_.size()) rejections_[pod] = {};
  }
  [[nodiscard]] const rejection& rejection_of(row_t pod) const noexcept { return rejections_[pod]; }

  /// The group has been parked. @p rejectors: 0 if no filter rejected it; @p reason: the group's own, or null.
  void add_group(row_t group, std::uint64_t rejectors, const char* reason = nullptr);
  /// The group was refused at admission, and has been parked.
  void add_refused_group(row_t group, const refusal& why);
  /// The same for one that only the host can help.
  void add_hopeless_group(row_t group, const char* reason);
  void remove_group(row_t group);
  [[nodiscard]] bool has_group(row_t group) const noexcept;
  /// Its own reason, or null.
  [[nodiscard]] const char* reason_of(group_id group) const noexcept;
  /// Whether an event that the attempt has not seen helps the group that was added last.
  [[nodiscard]] bool last_group_helped(const in_flight_pods& attempts, const in_flight_pods::entry& tried);

  /// By the exact rule: whom the change helps, of those who failed before @p position of the log. O(lines + groups).
  void on_change(const change& helpful, std::uint64_t position);
  /// By hints. O(pods that wait).
  void on_event(const object_event& happened, queueing_event& what, std::uint64_t position);
  /// The pod needs no more of what it was woken for than it got, or could not use it: the next of the class may.
  void pass_on(row_t pod);
  /// The same if it is of another class by now.
  void pass_on_if_changed(row_t pod) {
    if (woken_for_[pod].cls != state_->pods.cls[pod]) pass_on(pod);
  }
  /// What it was woken for is used up: others of its class would have been told the same. (By hints each hears that for itself.)
  void forget_wake(row_t pod) {
    if (options_->wake == wake_rule::hints)
      pass_on(pod);
    else
      woken_for_[pod] = {};
  }
  /// The same for groups. One that could not use it has failed for those like it too: they would have been told the same.
  void pass_on_group(row_t group);
  void fail_alike_groups(row_t group);
  /// The entity, which waits, would be rejected as it was before: it has failed once more. O(log lines) for pods, O(groups) for groups.
  void fail_again(entity e);

  /// Nobody waits for an event by hints.
  [[nodiscard]] bool nobody_by_hints() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return lines_.empty() && groups_.empty(); }
  /// Calls visit(entity, group, kind) for all, `group` being that of a pod; those with the same kind are alike, unless it is 0.
  /// Those that were refused at admission, and would be again, are left out.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [cls, line] : lines_) {
      if (line.front == line.pods.size() || line.generation != state_->classes.generation(cls)) continue;
      const bool alike = judge_->fare_alike(cls) && (line.refusers == 0 || admitted_alike(cls));
      const std::uint64_t kind = alike ? std::uint64_t{cls} + 1 : 0;
      for (std::size_t i = line.front; i < line.pods.size(); ++i) {
        const entity e{line.pods[i].pod, false};
        if (waits(line.pods[i]) && (line.refusers == 0 || !admission_->ask(e)))
          visit(e, state_->pods.group[e.row], kind);
      }
    }
    for (const waiting_group& one : groups_) {
      const entity e{one.group.row, true};
      if (waits(one) && (!one.refused.at_admission || !admission_->ask(e))) visit(e, e.row, one.kind);
    }
  }

  /// Drops everybody.
  void clear();
  /// Classes may have fallen apart, or others have their numbers: O(pods) then, else O(1).
  void follow_classes();
  /// Makes room for the rows of pods.
  void grow();
  void prefetch(row_t pod) const noexcept {
    if (pod < woken_for_.size()) gangsched::detail::prefetch(&woken_for_[pod]);
  }

 private:
  /// The pods of one class, in order of failure, and what rejected them.
  struct class_line {
    struct entry {
      row_t pod;
      std::uint32_t ticket;  ///< of the queue when it was parked: void when the pod has moved on
      std::uint64_t since;   ///< the log's end then: only later changes can help
    };
    std::uint32_t generation = 0;  ///< of the class: a line may outlive its class
    bool filtered = false;         ///< some got as far as to filters
    std::uint64_t rejectors = 0;   ///< filters
    std::uint64_t refusers = 0;    ///< admission plugins
    std::vector<entry> pods;
    std::size_t front = 0;
    std::size_t compact_at = 64;
  };
  struct waiting_group : rejected_group {
    std::uint64_t since;  ///< the log's end when it failed
    const char* reason;
    std::uint64_t kind = 0;   ///< of groups that are alike; 0: like no other
    std::size_t pending = 0;  ///< members
    bool filtered = true;     ///< it, or one like it, got beyond admission
    rejection refused = {};   ///< by admission plugins
  };
  /// Why a pod was woken: on behalf of its class, by the change at `position`.
  struct wake {
    class_id cls = no_class;
    std::uint64_t position = 0;
  };
  /// The same of a group, on behalf of those like it.
  struct group_wake {
    std::uint64_t kind = 0;
    std::uint64_t position = 0;
  };
  [[nodiscard]] bool names(group_id group) const noexcept;
  [[nodiscard]] bool waits(const class_line::entry& one) const noexcept;
  [[nodiscard]] bool waits(const waiting_group& one) const noexcept;
  [[nodiscard]] queueing_strategy strongest_since(const in_flight_pods& attempts, const in_flight_pods::entry& tried,
                                                  row_t pod, std::uint64_t rejectors);
  class_line& line_up(row_t pod, std::uint64_t since);
  class_line& line_up(row_t pod, std::uint64_t rejectors, std::uint64_t since);
  [[nodiscard]] bool admitted_alike(class_id cls) const;
  [[nodiscard]] bool admits(class_line& line, row_t pod);
  [[nodiscard]] bool admits(waiting_group& one);
  void note_refusal(waiting_group& one, const rejection& by);
  [[nodiscard]] static rejection rejection_by(const kernel_table& profile, const refusal& why) noexcept;
  void move(row_t pod, queueing_strategy how);
  void wake_next(const wake& why);
  void wake_line(const wake& why);
  template <class Helps>
  void wake_groups(std::uint64_t position, const Helps& helps);
  void wake_next_group(const group_wake& why);
  void fail_again(waiting_group& one);
  void wake_up(entity e);
  void collect_classes(waiting_group& of);

  cluster_state* state_;
  const entity_view* entities_;
  const admission_checks* admission_;
  requeue_judge* judge_;
  queue* queue_;
  const scheduler_options* options_;
  engine_statistics* statistics_;
  const instant* now_;
  std::map<class_id, class_line> lines_;
  std::vector<waiting_group> groups_;
  std::vector<wake> woken_for_;              ///< by pod row: why it was woken, until it is placed or rejected
  std::vector<group_wake> group_woken_for_;  ///< by group row
  std::vector<rejection> rejections_;        ///< by pod row: of its last attempt
  std::uint32_t epoch_ = 0;                  ///< of the classes, as the lines know it
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/unschedulable_pods.cpp"
#endif
