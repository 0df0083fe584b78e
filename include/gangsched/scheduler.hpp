#pragma once
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/decision.hpp"
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/scheduling/attempt.hpp"
#include "gangsched/scheduling/explanation.hpp"
#include "gangsched/scheduling/move_plan.hpp"
#include "gangsched/scheduling/options.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace engine {
class core;
}

/// What one call (`schedule_cycle`, `permit` or `fail`) decided: a view into the scheduler, valid until its next `schedule_cycle`, `permit`
/// or `pop`. Move-only. Hosts get it; constructors and set_error are for the library.
class [[nodiscard]] cycle {
 public:
  /// Goes over the decisions that still hold when it reaches them. It skips a decision about a pod that is gone, and a bind or wait whose
  /// reservation has ended meanwhile: by `fail` of a sibling, or by what the host did to the cluster.
  class GANGSCHED_API iterator {
   public:
    using value_type = decision;
    using difference_type = std::ptrdiff_t;
    using pointer = const decision*;
    using reference = const decision&;
    using iterator_category = std::forward_iterator_tag;
    iterator() = default;
    iterator(const model::cluster_state* of, const decision* at, const decision* end) noexcept
        : of_(of), at_(at), end_(end) {
      pass_over();
    }
    [[nodiscard]] reference operator*() const noexcept { return *at_; }
    [[nodiscard]] pointer operator->() const noexcept { return at_; }
    iterator& operator++() noexcept { return ++at_, pass_over(), *this; }
    iterator operator++(int) noexcept {
      const iterator before = *this;
      return ++*this, before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    void pass_over() noexcept;
    const model::cluster_state* of_ = nullptr;
    const decision* at_ = nullptr;
    const decision* end_ = nullptr;
  };

  cycle() = default;
  cycle(bool worked, std::span<const decision> decisions, const model::cluster_state& of)
      : worked_(worked), decisions_(decisions), of_(&of) {}
  cycle(gangsched::error failure) : error_(std::make_unique<gangsched::error>(std::move(failure))) {}

  /// Of `schedule_cycle`: it handled an entity or decided something, and may be called again. Of `permit`: there are decisions. Of `fail`:
  /// it was not refused. A call that was refused is false, too: see `error`.
  explicit operator bool() const noexcept { return worked_; }
  [[nodiscard]] iterator begin() const noexcept {
    return {of_, decisions_.data(), decisions_.data() + decisions_.size()};
  }
  [[nodiscard]] iterator end() const noexcept {
    const decision* const last = decisions_.data() + decisions_.size();
    return {of_, last, last};
  }
  /// All decisions as they were made, including those that no longer hold.
  [[nodiscard]] std::span<const decision> decisions() const noexcept { return decisions_; }
  /// Why the call was refused (busy, time_went_back: nothing was done), or the error of a hook that ended this cycle (contract: the pod is
  /// retried with error backoff, the decisions stand); null if neither.
  [[nodiscard]] const gangsched::error* error() const noexcept { return error_.get(); }
  void set_error(gangsched::error failure) { error_ = std::make_unique<gangsched::error>(std::move(failure)); }

 private:
  bool worked_ = false;
  std::span<const decision> decisions_;
  const model::cluster_state* of_ = nullptr;
  std::unique_ptr<gangsched::error> error_;
};

struct forked;         // fork.hpp
class observer;        // scheduling/observer.hpp
struct queued_entity;  // scheduling/queue_listing.hpp, as the next two
struct waiting_pod;
struct pending_pods;

/// Decides which pod goes where and when, on a cluster that the host owns and keeps alive longer. It performs nothing: the host executes
/// the decisions and reports what became of them. Time is what the host passes in, and never goes back. Calls throw only std::bad_alloc:
/// such a call has decided nothing and lost no pod, and can be made again (docs/embedding.md, *Errors*).
///
/// @code
/// do {
///   while (auto cycle = scheduler.schedule_cycle(now))  // cycle.error() says why it is false, if it was refused
///     for (const auto& decision : cycle) host_executes(decision);
///   verdicts = scheduler.permit(now);
///   for (const auto& verdict : verdicts) host_executes(verdict);
/// } while (verdicts);
/// @endcode
class GANGSCHED_API scheduler {
 public:
  /// Every pending pod of the cluster enters the queue. An assumed pod counts as decided already: it may be confirmed or failed.
  scheduler(cluster& on, kernel_table profile, const scheduler_options& options = {});
  /// Several profiles share one queue: a pod uses the profile that has its `scheduler_name`. Pods that name none of them are left to other
  /// schedulers, but what they use counts. Both throw `bad_result_access` with the error of `check`, if there is one.
  scheduler(cluster& on, std::vector<kernel_table> profiles, const scheduler_options& options = {});
  /// Errors: malformed (no profile; one without exactly one queue sort, or with two queue orders; profiles that differ in these),
  /// duplicate (a scheduler name), out_of_range (more than 253 filters or 64 permit plugins; at score or at score_placement a negative
  /// weight, or weights that add up to more than 2^53 / 100).
  [[nodiscard]] static result<void> check(std::span<const kernel_table> profiles);
  scheduler(scheduler&&) noexcept;
  scheduler& operator=(scheduler&&) noexcept;
  ~scheduler();

  /// Copies the cluster and this scheduler on it, with its queue, its permit room and all attempts under way (fork.hpp): the same calls on
  /// both lead to the same decisions. The copy has no observer. Error: busy, wrong_state (a plugin of a profile cannot be copied).
  /// O(cluster + queue).
  [[nodiscard]] result<forked> fork() const;

  /// Handles one queue entity, a pod or a whole group: places it (bind, or wait in the permit room), makes room for it (nominate and
  /// evict), or rejects it. False when nothing was decided and no entity may be tried; a loop with a fixed @p now ends. O(groups of
  /// the pod's class) per pod in the steady state.
  cycle schedule_cycle(instant now);

  /// Reports what changed for pods in the permit room: bind (go), or revoke (timed out, rejected or being deleted; queued again unless it
  /// is being deleted). Pods that keep waiting are not reported: schedule_cycle said their `wait`. A wait that ends before the next
  /// schedule_cycle is revoked there. O(pods in the room), plus the permit hooks of groups that changed.
  cycle permit(instant now);

  /// The host executed the bind decision with this attempt: the pod runs. O(1), plus what the host changed since the last call. Error:
  /// busy, unknown (the pod is gone), outdated (the pod has no node, or has it by another attempt: what was started has no place),
  /// wrong_state (confirmed already, or it still waits in the permit room).
  result<void> confirm(pod_id pod, bind_attempt attempt);

  /// The host could not bind, or gives up waiting: what the pod held is given back and it is queued again with backoff. In an atomic gang
  /// the decisions take the siblings back too: revoke those not confirmed, evict those that run. A loop over an earlier call's decisions
  /// may go on: it skips those that this call revokes. @p reason is for `explain`. O(members of the gang). Error: busy, unknown, outdated,
  /// as above, wrong_state (confirmed already).
  cycle fail(pod_id pod, bind_attempt attempt, std::string_view reason);

  /// The same about the attempt under way, whichever it is: for hosts that answer before they call again or change the cluster, as
  /// simulators do. A later answer could be taken for one about another node. Error: busy, unknown, wrong_state (no attempt is under way;
  /// of confirm also: the pod still waits in the permit room).
  result<void> confirm(pod_id pod);
  cycle fail(pod_id pod, std::string_view reason);

  /// The host allows a pod in the permit room on behalf of @p plugin, from the next `permit` on: that plugin is not asked about it any
  /// more. Other plugins hold the pod as before. Errors: unknown, busy, wrong_state (the pod does not wait, or not for that plugin).
  result<void> allow(pod_id pod, std::string_view plugin);
  /// The same for every plugin of the pod's profile: it goes even without its gang. Errors: unknown, busy, wrong_state (does not wait).
  result<void> allow(pod_id pod);
  /// WaitingPod.Reject: the pod is sent back at the next `permit`, whatever plugins say, and queued again with backoff. Errors as above.
  result<void> reject(pod_id pod, std::string_view reason);
  /// Names of the plugins that hold the pod in the permit room, in the profile's order; none if it goes at the next `permit`. Errors as
  /// above.
  [[nodiscard]] result<std::vector<std::string>> pending_plugins(pod_id pod) const;

  /// The earliest time at which something changes by itself: a backoff or a wait ends. Nothing if never. Entities that are active have no
  /// part in it: they are ready now (`counts`). As of the last call that was told the time (`catch_up` is one): what the host did since is
  /// not known yet. O(pods that wait in the permit room); after calls that are told no time O(entities).
  [[nodiscard]] std::optional<instant> next_deadline() const;

  /// After a restart: restores the pod's counts and age; of a member of a group that is tried as one, the group's. It is tried again when
  /// the backoff of its last failure is over or, if that was a rejection, at a change that can help: which change it waited for is not
  /// restored. A gated pod stays gated. O(log n). Error: busy, unknown, wrong_state (the pod is not pending).
  result<void> restore(pod_id pod, const queue_position& position);
  /// After a restart: a pod that got its node again by `cluster::assume` waits in the permit room as `waiting` described it then; its node
  /// and attempt are the present ones. Permit hooks are asked again at the next call. Error: busy, unknown, malformed (no such permit
  /// plugin), wrong_state (the pod is not assumed, or waits already). O(plugins).
  result<void> restore(const waiting_pod& as);

  // --- the queue alone, for hosts that decide by themselves (docs/embedding.md). `schedule_cycle` is these calls with a decision
  // between; both may be used on one scheduler. A call that is refused changes nothing.

  /// Reads what the host did since the last call, as if it happened at @p now. All calls that are told the time do that first. O(changes),
  /// and what they wake. Error: busy, time_went_back.
  result<void> catch_up(instant now);

  /// The first active entity, or, if none is active, the first that backs off after a rejection; nothing if neither. Those that admission
  /// hooks refuse are passed over, without a decision, and wait for a change. It is in flight until add_unschedulable, done, `fail` or, of
  /// a pod, the cluster's `bind` ends the attempt. O(log n), and admission hooks. Error: busy, time_went_back.
  result<std::optional<attempt>> pop(instant now);

  /// The attempt failed: rejected by plugins, or, if @p why names none, by an error. The entity waits for a change that can help; events
  /// while it was in flight count. An entity that is gone or being deleted does not come back. O(log n + events since `pop`). Error:
  /// unknown, busy, time_went_back, wrong_state (not in flight; or a node is reserved for it: `fail`).
  result<void> add_unschedulable(pod_id pod, const rejected_by& why, instant now);
  result<void> add_unschedulable(group_id group, const rejected_by& why, instant now);

  /// The attempt ends and does not come back: what was popped is placed, gone, or in no queue until it is updated. (kube-scheduler's Done
  /// ends every attempt, also one that comes back.) O(log n). Error: unknown, busy, wrong_state (not in flight).
  result<void> done(pod_id pod);
  result<void> done(group_id group);

  /// Waiting pods become active whatever they wait for (gated ones if their gates let them); pods in flight come back to the queue when
  /// they fail. Others stay as they are. O(log n) for each. Error, before any pod is moved: unknown, busy, time_went_back.
  result<void> activate(std::span<const pod_id> pods, instant now);

  /// The timers, for timer_rule::by_host: backoffs end; pods that waited too long are woken. O(log n) each. Error: busy, time_went_back.
  result<void> flush_backoff(instant now);
  result<void> flush_unschedulable(instant now);

  /// Where the pod stands in the queue, as of the last call that was told the time. O(plugins). Error: unknown, busy.
  [[nodiscard]] result<queue_standing> standing(pod_id pod) const;
  /// The entities that were popped and have not come back, in order of `pop`. O(attempts).
  [[nodiscard]] std::vector<attempt> in_flight() const;

  /// Why the pod is not placed, or what it would score where, as things stand now: every node with the rejecting plugin and its
  /// reasons or with the score sheet, and the line users know ("0/5 nodes are available: 3 Insufficient cpu, …."). Inside an
  /// open transaction: as things stand there. Changes nothing, nor the next decision. Error: unknown, busy (called from a hook), contract
  /// (a hook threw). O(nodes · plugins).
  [[nodiscard]] result<explanation> explain(pod_id pod);
  /// The same for the waiting members of a group, or of each group of pods in a tree: placement by placement, by trying.
  /// O(placements · members · nodes). Error: as above.
  [[nodiscard]] result<std::vector<group_explanation>> explain(group_id group);

  /// Why the last attempt with the pod was rejected, as that attempt recorded it: which plugins rejected it and, with
  /// `scheduler_options::count_reasons`, how many nodes gave which reason; of a group that was tried as one, what it lacks, and which
  /// member. Works with any wake rule. Kept until the next rejection, and as long as the pod has no node. Error: unknown, wrong_state (it
  /// has a node, or was not rejected). O(plugins + reasons).
  [[nodiscard]] result<why_rejected> why(pod_id pod) const;

  /// Which running pods would have to move so that the waiting members of a group fit; each has another place, by the profile's filters
  /// and scores. None: the group is gated or not admitted, or no such plan was found, which does not mean that there is none. Nothing is
  /// carried out. Error: unknown, busy (also inside a transaction), contract (a hook threw). O(nodes tried · the group's cycle).
  [[nodiscard]] result<std::optional<move_plan>> plan_moves(group_id group, const move_options& options = {});

  /// Drops everything that is cached of hooks, for the case that something they read has changed outside the cluster. All of it is asked
  /// anew; no pod is woken. Error: busy. O(classes kept).
  result<void> forget_cached();

  /// Lists the queue as of the last call that was told the time: in flight in order of `pop`; active in the order of the queue sort (a
  /// plugin that orders several queues chooses among them at each pop); in backoff after rejections and errors, by its end; unschedulable,
  /// by the start of the wait; gated; kept back. Error: busy. O(pods + n log n) for n that wait.
  [[nodiscard]] result<std::vector<queued_entity>> queue() const;
  /// The permit room, in order of reservation. Error: busy. O(pods there · permit plugins).
  [[nodiscard]] result<std::vector<waiting_pod>> waiting() const;
  /// How many pods wait where, and how many each plugin rejected, as of the last call with a time. O(pods · plugins of a profile).
  [[nodiscard]] pending_pods pending() const;
  /// How many entities each part of the queue has, as of the last call that was told the time. O(pods that wait in the permit room).
  [[nodiscard]] queue_counts counts() const;
  /// Sets the observer from the next call on, instead of the one before; null: none. The observer must live until it is replaced or the
  /// scheduler goes. No decision depends on it. Error: busy. O(1).
  result<void> observe(observer* by);
  /// What the engine did so far, for benchmarks and tests.
  [[nodiscard]] const engine_statistics& statistics() const noexcept;
  /// Compares every class index with one rebuilt from nothing, O(indexes · nodes · plugins); the error names what differs. For tests.
  result<void> verify();
  explicit scheduler(std::unique_ptr<engine::core> core) noexcept;              ///< for the library: takes this engine
  [[nodiscard]] const engine::core& inside() const noexcept { return *core_; }  ///< for the library: the engine

 private:
  std::unique_ptr<engine::core> core_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduler.cpp"
#endif
