#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A pod with scheduling gates stays out of the queue (kube-scheduler's SchedulingGates). kube-scheduler's reason also lists the gates.
class scheduling_gates {
 public:
  static constexpr std::string_view name = "SchedulingGates";
  using points = implements<point::pre_enqueue, point::requeue>;
  static constexpr events wakes_on = events::pod_gates_gone;

  [[nodiscard]] status pre_enqueue(const pod_info& pod) const {
    return pod.gates().empty() ? status::success() : status::unresolvable("waiting for scheduling gates");
  }
  [[nodiscard]] hint requeue(const event& e, const pod_info&) const { return e.own ? hint::queue : hint::skip; }
};

static_assert(pre_enqueue_plugin<scheduling_gates> && requeue_plugin<scheduling_gates>);

}  // namespace gangsched::inline GANGSCHED_ABI
