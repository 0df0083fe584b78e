#pragma once
#include <cstdint>

#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Higher priority first, then the pod that was added first, however often it was rejected since: the QueueSort of Kubernetes'
/// Coscheduling, which goes by the time of the first attempt. With PrioritySort a rejected pod goes behind all pods that came meanwhile.
class arrival_sort {
 public:
  static constexpr std::string_view name = "ArrivalSort";
  using points = implements<point::queue_sort>;

  [[nodiscard]] sort_key key(const queued& one) const noexcept {
    return {.band = -std::int64_t{one.priority}, .order = static_cast<std::int64_t>(one.arrival)};
  }
};

static_assert(queue_sort_plugin<arrival_sort>);

}  // namespace gangsched::inline GANGSCHED_ABI
