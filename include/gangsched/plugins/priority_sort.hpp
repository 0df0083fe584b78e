#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Higher priority first, then the entity that has waited longer (kube-scheduler's PrioritySort).
class priority_sort {
 public:
  static constexpr std::string_view name = "PrioritySort";
  using points = implements<point::queue_sort>;

  [[nodiscard]] sort_key key(const queued& one) const noexcept {
    return {.band = -std::int64_t{one.priority}, .order = one.since.count()};
  }
};

static_assert(queue_sort_plugin<priority_sort>);

}  // namespace gangsched::inline GANGSCHED_ABI
