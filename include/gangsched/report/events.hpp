#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "gangsched/scheduling/observer.hpp"

namespace gangsched::inline GANGSCHED_ABI {
class cluster;
}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::report {

/// An event of Kubernetes' about a pod (events.k8s.io/v1), in kube-scheduler's words.
struct event {
  std::string_view type;  ///< "Normal", "Warning"
  std::string_view
      reason;  ///< "Scheduled", "FailedScheduling", "Preempted", "Evicted", "PreemptionNotice", "PreemptionWithdrawn"
  std::string_view action;  ///< "Binding", "Scheduling", "Preempting" (of the last two, too), "Evicting"
  std::string note;         ///< "Successfully assigned default/web-0 to node-1"
  pod_id about;
  pod_id related = {};  ///< of Preempted: for whom; a member if that is a group
  instant now{};
};

/// What kube-scheduler would tell the API server, told to @p sink instead: Scheduled when the host confirmed, FailedScheduling of every
/// attempt that failed, Preempted of each victim; before it, with `scheduler_options::eviction_notice`, PreemptionNotice, and
/// PreemptionWithdrawn if nobody needs its room any more. With `scheduler_options::count_reasons` a note has the whole line ("0/5 nodes are
/// available: …"), else a reason that one text says. Who must go for another reason than preemption (a gang that is stale, a queue that
/// drains) is Evicted. A note allocates; without anything to tell nothing does. What @p sink throws goes on, as from every observer.
class GANGSCHED_API events final : public observer {
 public:
  /// @p on lives longer, and does not move.
  events(const cluster& on, std::function<void(const event&)> sink);
  void called(const observed_call& what) override;

 private:
  void tell_failed(const decision& of, const observed_call& in);

  const cluster* on_;
  std::function<void(const event&)> sink_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::report
