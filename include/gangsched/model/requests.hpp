#pragma once
#include <string>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/model/kube_semantics.hpp"
#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Integers by resource name: cpu in milli, everything else in whole units.
using integer_resources = sorted_map<std::int64_t>;

/// What a pod requests, in the three readings kube-scheduler has (PodRequests, NodeResourcesFit). Summed exactly, rounded up once.
struct pod_requests {
  integer_resources requests;  ///< PodRequests: containers, init containers, sidecars, pod-level, overhead
  integer_resources
      for_scoring;  ///< without pod-level requests; 100m cpu and 200Mi memory for every container that lacks the key
  std::int64_t scored_cpu =
      0;  ///< what the pod, once placed, adds to a node's usage with those defaults (conformance README, fit)
  std::int64_t scored_memory = 0;
};

/// Whether a scheduler counts resource @p name at all (IsScalarResourceName): cpu, memory, ephemeral-storage, pods, extended resources,
/// hugepages-*, attachable-volumes-*, anything with "kubernetes.io/".
[[nodiscard]] GANGSCHED_API bool is_counted_resource(std::string_view name) noexcept;

/// The amounts of @p list as integers; @p object and @p field name them in the error (overflow, or out_of_range if negative).
[[nodiscard]] GANGSCHED_API result<integer_resources> to_integers(const resource_list& list, std::string_view object,
                                                                  std::string_view field);

/// Error: overflow, naming the resource; malformed if requests for whole GPUs are not as many as the containers request by number
/// (nvidia.com/gpu, amd.com/gpu). Negative amounts were ruled out by `check`. O(containers · resources).
[[nodiscard]] GANGSCHED_API result<pod_requests> requests_of(const pod_spec& spec,
                                                             const kube_semantics& semantics = {});

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/requests.cpp"
#endif
