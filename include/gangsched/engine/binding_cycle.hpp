#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/cycle_error.hpp"
#include "gangsched/engine/decision_list.hpp"
#include "gangsched/engine/eviction_notices.hpp"
#include "gangsched/engine/leaving_pods.hpp"
#include "gangsched/engine/reported_reservations.hpp"
#include "gangsched/engine/reservations.hpp"
#include "gangsched/engine/scheduling_queue.hpp"
#include "gangsched/engine/stale_gangs.hpp"
#include "gangsched/engine/waiting_pods.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What follows a reservation (bindingCycle): permit hooks, waiting for them, pre_bind and bind hooks, the host's answer; and the other
/// ends of reservations: timeout, rejection, preemption, failure.
class GANGSCHED_API binding_cycle {
 public:
  /// @p now: the scheduler's, read at each call. @p notice: how long victims of preemption may stay.
  binding_cycle(model::cluster_state& state, const entity_view& entities, reservations& reserved, scheduling_queue& of,
                decision_list& decisions, cycle_error& error, const instant& now, instant notice)
      : state_(&state),
        entities_(&entities),
        reservations_(&reserved),
        queue_(&of),
        decisions_(&decisions),
        error_(&error),
        now_(&now),
        waiting_(state),
        reported_(state),
        stale_(state, entities),
        leaving_(state, entities),
        notices_(state, notice) {}

  /// The pod, of that profile, has a node: calls permit hooks, and decides `bind`, `wait` or `reject`. @return whether it waits.
  bool begin(row_t pod, const kernel_table& profile, std::int64_t score);
  /// Decides `bind` for the pods that no hook holds any more.
  void finish_waiting();
  /// Decides `revoke` for the pods that may not wait any longer, and `evict` for gangs that have been stale for too long, for running pods
  /// of draining queues, and for pods whose notice is over.
  void expire_waits() {
    if (waiting_.has_changed_groups() || !waiting_.empty() || stale_.may_be_due() || leaving_.may_be_due(*now_) ||
        !notices_.empty())
      look_for_ended_waits();
  }
  /// Takes a reservation back and tells the host; the pod is queued again as after a failure.
  void send_back(row_t pod, const char* reason, bool error);
  /// If the victim runs, decides `evict`, unless it is terminating already or was evicted in this call. If it is only assumed, its
  /// reservation is taken back at once.
  void evict(pod_id victim, const char* reason = nullptr);
  /// The same for a victim of preemption, which may get notice first. @p for_whom: the pod or group that needs the victim's room.
  void preempt(pod_id victim, const char* reason, entity for_whom);
  /// Whether victims that are to make room for it still run, and have notice.
  [[nodiscard]] bool awaits_victims(entity who) const { return notices_.in_use() && notices_.awaits(who); }
  /// Waiting members of a strict gang that never had its minimum release their nodes when a member failed (Koordinator's Strict mode).
  void revoke_strict_gang(row_t group);

  // The host's answers.
  /// @p plugin: its name, or empty for all. False if it does not hold the pod.
  bool allow(row_t pod, std::string_view plugin);
  [[nodiscard]] std::vector<std::string> pending_plugins(row_t pod) const;
  void reject(row_t pod);
  void confirm(row_t pod);
  /// @return the decisions about it and the pods that go with it; valid until the next attempt is popped or cycle begins.
  std::span<const decision> fail(row_t pod);

  /// An assumed pod waits as it did before a restart.
  void restore(const waiting_pod& as);
  [[nodiscard]] std::optional<std::string> unknown_permit_plugin(const waiting_pod& as) const;
  /// The waiting pods and the plugins that hold them, in order of reservation.
  [[nodiscard]] std::vector<waiting_pod> list_waiting() const;

  /// The log does not cover what the host did. O(reservations + groups).
  void start_over();
  /// The earliest time at which `expire_waits` would do something.
  [[nodiscard]] std::optional<instant> next_deadline() const;
  // Its parts.
  [[nodiscard]] waiting_pods& waiting() noexcept { return waiting_; }
  [[nodiscard]] const waiting_pods& waiting() const noexcept { return waiting_; }
  [[nodiscard]] reported_reservations& reported() noexcept { return reported_; }
  [[nodiscard]] stale_gangs& stale() noexcept { return stale_; }
  [[nodiscard]] leaving_pods& leaving() noexcept { return leaving_; }
  [[nodiscard]] eviction_notices& notices() noexcept { return notices_; }

  // For a call that may be abandoned: `recall` puts back what was there when `remember` was called.
  void remember() {
    waiting_.remember();
    stale_.remember();
    leaving_.remember();
    notices_.remember();
    reported_.remember();
  }
  void recall() noexcept;
  void end_call() noexcept { waiting_.end_call(); }

  /// The state of its parts, as plain data; and sets that of a new one. Error: malformed, and part of it may be set.
  [[nodiscard]] saved_binding save() const;
  [[nodiscard]] std::optional<error> restore(const saved_binding& from);

 private:
  /// @p index: of the plugin among those of point::permit.
  [[nodiscard]] permit_verdict ask_permit_hook(const kernel_table& profile, const plugin_entry& plugin,
                                               std::size_t index, row_t pod);
  void ask_permit_again();
  void look_for_ended_waits();
  [[nodiscard]] status ask_bind_hooks(const hook_range& before, const hook_range& hooks, row_t pod, decision& made,
                                      const plugin_entry*& last);
  void bind(row_t pod, const kernel_table& profile, std::int64_t score, bool waited);
  void release(row_t pod);

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<reservations> reservations_;
  peer<scheduling_queue> queue_;
  peer<decision_list> decisions_;
  peer<cycle_error> error_;
  peer<const instant> now_;
  waiting_pods waiting_;
  reported_reservations reported_;
  stale_gangs stale_;
  leaving_pods leaving_;
  eviction_notices notices_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/binding_cycle.cpp"
#endif
