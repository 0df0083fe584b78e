#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "gangsched/core/is_among.hpp"
#include "gangsched/core/peer.hpp"
#include "gangsched/engine/admission_checks.hpp"
#include "gangsched/engine/group_parts.hpp"
#include "gangsched/engine/in_flight_pods.hpp"
#include "gangsched/engine/requeue_judge.hpp"
#include "gangsched/engine/unschedulable_groups.hpp"
#include "gangsched/engine/unschedulable_line.hpp"
#include "gangsched/engine/woken_pods.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// Sets its classes: of its members that wait. O(members).
GANGSCHED_API void collect_classes(model::cluster_state& state, const entity_view& entities, unschedulable_group& of);

}  // namespace detail

/// Rejected pods and groups that wait for an event, with what rejected them, and which of them an event wakes.
///
/// By the exact rule, pods of one class wait in one line, in the order of the queue sort and then of failure, and an event is judged once
/// per line: the first pod is woken; once it got what it needs, the next one is (`pass_on`), so that room for one wakes one and room
/// for ten wakes ten. Groups that are alike (`requeue_judge::kind_of`) form such a line too. By hints, every pod is judged by itself.
///
/// An entity rejected at admission is woken by an event that concerns the plugin that rejected it, and only if admission hooks would admit
/// it now; under both rules one of a line, then the next one.
///
/// By the exact rule, room that a whole group may fit in ends its backoff: it is older than entities that arrive now.
///
/// Only entities that the event may help are judged (`requeue_index`): by the exact rule those whose needs it may meet, by hints the lines
/// in which some pod was rejected by a plugin that gets the event.
class GANGSCHED_API unschedulable_pods {
 public:
  /// @p now, @p options, @p statistics: the scheduler's, read and written at each call.
  unschedulable_pods(model::cluster_state& state, const entity_view& entities, const admission_checks& admission,
                     group_parts& parts, requeue_judge& judge, queue& of, const scheduler_options& options,
                     engine_statistics& statistics, const instant& now) noexcept
      : state_(&state),
        entities_(&entities),
        admission_(&admission),
        parts_(&parts),
        judge_(&judge),
        queue_(&of),
        options_(&options),
        statistics_(&statistics),
        now_(&now) {}

  /// Parks a rejected pod where an event can find it; if one of those in the attempt @p tried (may be null) helps it, it is woken at once.
  /// @p rejectors: plugins whose filters rejected it; @p by: all that did, under hints.
  void add(row_t pod, const rejection& by, std::uint64_t rejectors, const in_flight_pods& attempts,
           const in_flight_pods::entry* tried);
  /// Parks a pod that was rejected at admission.
  void add_refused(row_t pod, const refusal& why);
  /// For a pod that waits for something other than an event, or does not wait.
  void clear_rejection(row_t pod) noexcept {
    if (pod < rejections_.size()) rejections_[pod] = {};
  }
  [[nodiscard]] const rejection& rejection_of(row_t pod) const noexcept { return rejections_[pod]; }

  /// The group has been parked. @p rejectors: 0 if no filter rejected it; @p reason: the group's own, or null.
  void add_group(row_t group, std::uint64_t rejectors, const char* reason = nullptr);
  /// The group was rejected at admission, and has been parked.
  void add_refused_group(row_t group, const refusal& why);
  /// The same for one that only the host can help.
  void add_hopeless_group(row_t group, const char* reason);
  void remove_group(row_t group);
  [[nodiscard]] bool has_group(row_t group) const noexcept { return groups_.find(group) != unschedulable_groups::none; }
  /// Its backoff ends at another time, or its key for the queue sort is another one. O(members), and comparisons with those alike.
  void item_changed(row_t group) noexcept;
  /// Its own reason, or null.
  [[nodiscard]] const char* reason_of(group_id group) const noexcept;
  /// Whether an event that the attempt has not seen helps the group that was added last.
  [[nodiscard]] bool last_group_helped(const in_flight_pods& attempts, const in_flight_pods::entry& tried);

  /// By the exact rule: the entities that the change helps, of those that failed before @p position of the log. O(log n) for each line and
  /// group that it may help; O(lines + groups) where plans have to be made again (`topology_table::plan_epoch`).
  void on_change(const change& helpful, std::uint64_t position);
  /// By hints. O(pods in lines that get the event).
  void on_event(const object_event& happened, queueing_event& what, std::uint64_t position);
  /// Time alone may help the entity, which waits, from @p when on (`preemption_result::retry_at`): it, or the first of those equal to it,
  /// is woken then. O(log n).
  void retry_at(entity e, instant when);
  /// Wakes those whose time has come. O(1) before the first of them, else O(lines + groups).
  void wake_due();
  /// The next such time. O(1) if nobody waits for one, else O(lines + groups).
  [[nodiscard]] std::optional<instant> next_retry() const;
  /// The pod got what it was woken for, or could not use it: the next pod of its class may.
  void pass_on(row_t pod) {
    if (woken_[pod].cls != no_class) wake_next(woken_.take(pod));
  }
  /// The same if it is of another class by now.
  void pass_on_if_changed(row_t pod) {
    if (woken_[pod].cls != state_->pods.cls[pod]) pass_on(pod);
  }
  /// The event that woke it is used up: other pods of its class would get the same result. (By hints each is judged by itself.)
  void forget_wake(row_t pod) {
    if (options_->wake == wake_rule::hints)
      pass_on(pod);
    else
      woken_.take(pod);
  }
  /// The same for groups. One that could not use it has failed on behalf of equal ones: they would get the same result.
  void pass_on_group(row_t group);
  void fail_alike_groups(row_t group);
  /// The entity, which waits, would be rejected as it was before: it has failed once more. O(log n).
  void fail_again(entity e);

  /// No entity waits for an event by hints.
  [[nodiscard]] bool nobody_by_hints() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return lines_.empty() && groups_.empty(); }
  /// By the exact rule: whether it is known that the change helps none of them. O(1).
  [[nodiscard]] bool helps_nobody(const change& record) const noexcept {
    return empty() || (groups_.empty() && unknown_.empty() && plan_epoch_ == state_->topologies.plan_epoch() &&
                       !by_class_.may_find(requeue_judge::kind_of(record), record));
  }
  /// Calls visit(entity, group, kind) for all, `group` being that of a pod; those with the same kind are equal, unless it is 0. Those that
  /// were rejected at admission, and would be again, are left out.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [cls, line] : lines_) {
      if (line.front == line.pods.size() || line.generation != state_->classes.generation(cls)) continue;
      const bool admitted = line.refusers == 0 || !admission_checks::asks_each_pod(judge_->profile_of(cls));
      for (std::size_t i = line.front; i < line.pods.size(); ++i) {
        const entity e{line.pods[i].pod, false};
        if (!waits(line.pods[i]) || (line.refusers != 0 && admission_->ask(e))) continue;
        const bool alike = admitted && judge_->fares_as_its_class(e.row);
        visit(e, state_->pods.group[e.row], alike ? std::uint64_t{cls} + 1 : 0);
      }
    }
    for (unschedulable_groups::slot at = groups_.first(); at != unschedulable_groups::none; at = groups_.after(at)) {
      const unschedulable_group& one = groups_[at];
      const entity e{one.group.row, true};
      if (waits(one) && (!one.refused.at_admission || !admission_->ask(e))) visit(e, e.row, one.kind);
    }
  }

  /// A member of the group was added or updated. A group that goes on waiting (it backs off) is unlike all others until it is tried, and
  /// gets events that help the member.
  void member_changed(row_t pod, row_t group) {
    const auto at = groups_.find(group);
    if (at == unschedulable_groups::none) return;
    const class_id cls = state_->class_of(pod);
    const std::pair its{cls, state_->classes.generation(cls)};
    if (!is_among(its, groups_[at].classes)) groups_[at].classes.push_back(its);
    groups_.set_kind(at, 0, queue_->sort());
    groups_.forget_condition(at);
  }
  /// The group is another one, or a member that waited has gone. If it was refused at admission, and would be let in now, it is woken.
  /// O(members).
  void ask_again(row_t group);
  /// Plugins' results for classes may have changed.
  void forget_conditions() noexcept { plan_epoch_ = no_epoch; }
  /// Drops all entities.
  void clear();
  /// Makes room for the rows of pods. Classes may have split, or their numbers may have been reused: O(pods that wait) then, else O(1).
  void grow() {
    if (const std::size_t pods = state_->pods.rows.count(); woken_.size() < pods) {
      woken_.resize(std::max({pods, std::size_t{state_->pods.rows.room()}, 2 * woken_.size()}));
      if (options_->wake == wake_rule::hints) rejections_.resize(woken_.size());
    }
    while (epoch_ != state_->classes.epoch()) line_up_again();
  }
  void prefetch(row_t pod) const noexcept { woken_.prefetch(pod); }

  /// The waiting entities, as plain data; and sets those of a new one on a restored cluster, once the queue is restored. @p classes: what
  /// saves the cluster; its classes, by number. Error: malformed, and it is left empty. O(pods + groups + classes).
  [[nodiscard]] saved_unschedulable save(model::cluster_saver& classes) const;
  [[nodiscard]] std::optional<error> restore(const saved_unschedulable& from, std::span<const class_id> classes);

 private:
  class restoring;
  /// The pods of one class, and what rejected them.
  struct class_line : unschedulable_line {
    std::uint32_t generation = 0;       ///< of the class: a line may outlive its class
    bool filtered = false;              ///< some reached the filters
    std::uint64_t rejectors = 0;        ///< filters
    std::uint64_t refusers = 0;         ///< admission plugins
    std::uint64_t hears = 0;            ///< by hints: `help_condition::hears` of all its pods
    instant retry_at = instant::max();  ///< when time alone may help them

    /// Of pods that these filters rejected.
    [[nodiscard]] static class_line of(std::uint64_t rejectors) {
      class_line made;
      made.filtered = true, made.rejectors = rejectors;
      return made;
    }
    void clear() noexcept {
      unschedulable_line::clear();
      filtered = false;
      rejectors = refusers = hears = 0;
      retry_at = instant::max();
    }
  };
  using wake = woken_pods::wake;
  /// The same of a group, on behalf of those like it.
  struct group_wake {
    std::uint64_t kind = 0;
    std::uint64_t position = 0;
  };
  [[nodiscard]] bool waits(const class_line::entry& one) const noexcept;
  [[nodiscard]] bool waits(const unschedulable_group& one) const noexcept;
  [[nodiscard]] bool still_backs_off(unschedulable_groups::slot at);
  [[nodiscard]] queueing_strategy strongest_since(const in_flight_pods& attempts, const in_flight_pods::entry& tried,
                                                  row_t pod, std::uint64_t rejectors);
  void line_up_again();
  class_line& line_up(row_t pod, const class_line& like, std::uint64_t since);
  [[nodiscard]] bool admits(class_id cls, class_line& line, row_t pod);
  [[nodiscard]] bool admits(unschedulable_groups::slot at);
  void note_refusal(unschedulable_groups::slot at, const rejection& by);
  void wake_next(const wake& why);
  void wake_line(const wake& why, bool all = false);
  template <class Helps>
  void wake_groups(const std::vector<unschedulable_groups::slot>& among, std::uint64_t position, const Helps& helps);
  using lines = std::map<class_id, class_line>;
  void erase_line(lines::iterator at);
  void disband(lines::iterator at);
  void hear(class_id cls, class_line& line, row_t pod);
  [[nodiscard]] help_condition condition_of(const lines::value_type& one);
  [[nodiscard]] help_condition condition_of(const unschedulable_group& one);
  void learn_conditions();
  void sweep_groups();
  unschedulable_groups::slot stand(unschedulable_group one);
  [[nodiscard]] std::vector<class_id> hearers(std::uint64_t told, bool about_victims);
  void wake_next_group(const group_wake& why);
  void fail_again(unschedulable_groups::slot at);
  void wake_up(entity e, queueing_strategy how = queueing_strategy::after_backoff);

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<const admission_checks> admission_;
  peer<group_parts> parts_;
  peer<requeue_judge> judge_;
  peer<queue> queue_;
  peer<const scheduler_options> options_;
  peer<engine_statistics> statistics_;
  peer<const instant> now_;
  lines lines_;
  requeue_index by_class_;      ///< of lines
  std::set<class_id> unknown_;  ///< classes of lines whose condition is not known
  unschedulable_groups groups_;
  woken_pods woken_;
  std::vector<group_wake> group_woken_for_;  ///< by group row
  std::vector<rejection> rejections_;        ///< by pod row: of its last attempt
  std::uint32_t epoch_ = 0;                  ///< of the classes, as the lines know it
  static constexpr std::uint64_t no_epoch = ~std::uint64_t{0};
  std::uint64_t plan_epoch_ = no_epoch;  ///< `topology_table::plan_epoch` when conditions were asked for
  instant next_retry_ = instant::max();  ///< the earliest `retry_at`, or before it
  std::uint64_t groups_read_ = 0;        ///< position in the log: changes of groups before it are in their conditions
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/unschedulable_pods.cpp"
#include "gangsched/src/engine/unschedulable_pods_hints.cpp"
#include "gangsched/src/engine/unschedulable_pods_retry.cpp"
#include "gangsched/src/engine/unschedulable_pods_saved.cpp"
#endif
