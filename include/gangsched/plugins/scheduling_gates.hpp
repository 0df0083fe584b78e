#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched {

/// A pod with scheduling gates stays out of the queue (kube-framework 4, SchedulingGates). kube's text goes on with their names.
class scheduling_gates {
 public:
  static constexpr std::string_view name = "SchedulingGates";
  using points = implements<point::pre_enqueue>;

  [[nodiscard]] status pre_enqueue(const pod_info& pod) const {
    return pod.gates().empty() ? status::success() : status::unresolvable("waiting for scheduling gates");
  }
};

static_assert(pre_enqueue_plugin<scheduling_gates>);

}  // namespace gangsched
