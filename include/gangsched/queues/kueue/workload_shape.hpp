#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/bit_set.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/kueue/configuration.hpp"
#include "gangsched/queues/kueue/workload_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// Everything that the choice of flavors depends on, in numbers. Workloads of one queue with equal keys get the same flavors from the same
/// state (Kueue's scheduling hash).
struct GANGSCHED_API workload_shape {
  struct request {
    resource_index of;  ///< `none`: there is no quota of it
    std::int64_t each;  ///< of a pod
    bool counts_pods = false;
  };
  struct pod_set {
    std::int32_t count;       ///< pods that have not finished
    std::int32_t full_count;  ///< with those that have
    std::int32_t min_count;
    std::uint32_t first, last;  ///< its requests, in Kueue's order of resources
    row_set flavors;            ///< whose taints it tolerates and whose labels it accepts
  };

  queue_index queue = no_queue;
  std::int32_t priority = 0;
  std::vector<pod_set> pod_sets;
  std::vector<request> requests;
  std::string key;  ///< the same text for the same shape

  [[nodiscard]] std::span<const request> requests_of(const pod_set& one) const {
    return std::span{requests}.subspan(one.first, one.last - one.first);
  }
  /// The pods of a pod set if @p wanted of all are admitted; 0 if all of them have finished.
  [[nodiscard]] static std::int32_t scaled(const pod_set& one, std::int32_t wanted) {
    return one.count == 0 ? 0 : wanted;
  }

  /// Errors name the workload: `unknown` (its queue), `malformed` (no pod set; a requirement's values), `out_of_range` (counts,
  /// requests). O(size + flavors of the queue).
  static result<workload_shape> make(const configuration& of, const workload_spec& from);
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/workload_shape.cpp"
#endif
