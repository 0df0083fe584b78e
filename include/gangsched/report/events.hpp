#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "gangsched/scheduling/observer.hpp"

namespace gangsched::inline GANGSCHED_ABI {
class cluster;
}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::report {

/// A Kubernetes Event about a pod (events.k8s.io/v1), in kube-scheduler's words.
struct event {
  std::string_view type;  ///< "Normal", "Warning"
  std::string_view
      reason;  ///< "Scheduled", "FailedScheduling", "Preempted", "Evicted", "PreemptionNotice", "PreemptionWithdrawn"
  std::string_view action;  ///< "Binding", "Scheduling", "Preempting" (of the last two, too), "Evicting"
  std::string note;         ///< "Successfully assigned default/web-0 to node-1"
  pod_id about;
  pod_id related = {};  ///< of Preempted: the preemptor; a member if that is a group
  instant now{};
};

/// The events that kube-scheduler would send to the API server, passed to @p sink: Scheduled after the host's confirm, FailedScheduling for
/// each failed attempt, Preempted for each victim; before that, with `scheduler_options::eviction_notice`, PreemptionNotice, and
/// PreemptionWithdrawn if its room is no longer needed; Evicted for evictions that are no preemption (a stale gang, a draining queue). With
/// `scheduler_options::count_reasons` a note is the whole line ("0/5 nodes are available: …"), else a single reason. Notes allocate; a call
/// without events does not. Exceptions of the sink are handled like any observer's (`engine_statistics::observer_errors`).
class GANGSCHED_API events final : public observer {
 public:
  /// @p on must outlive it, and must not move.
  events(const cluster& on, std::function<void(const event&)> sink);
  void called(const observed_call& what) override;

 private:
  void tell_failed(const decision& of, const observed_call& in);

  const cluster* on_;
  std::function<void(const event&)> sink_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::report
