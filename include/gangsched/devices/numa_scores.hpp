#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/devices/numa_hints.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A resource as seen by a scheduler that leaves the choice to the kubelet: NodeResourceTopologyMatch of scheduler-plugins.
struct numa_resource {
  /// CPU, memory, huge pages: some zone has to list it, and it is aligned for Guaranteed pods only.
  bool numa_affine = false;
  bool on_node = true;      ///< the node has any of it at all
  std::int64_t whole = 1;   ///< amounts in a unit that scores count in, rounded up: 1000 for CPU in milli-CPU
  std::int64_t weight = 1;  ///< in the scores; below 1 counts as 1
};

/// An amount that a zone does not list, or a container does not name.
inline constexpr std::int64_t not_listed = -1;

/// A NUMA zone of a NodeResourceTopology object.
struct numa_zone {
  std::uint32_t id = 0;                 ///< below 64
  std::vector<std::int64_t> available;  ///< by resource, or not_listed
  std::vector<std::uint32_t> costs;  ///< distances to the zones by position; ones left out at the end are 255, unknown
};

struct numa_zone_container {
  bool init = false;                   ///< sidecars as well: upstream does not tell them apart
  std::vector<std::int64_t> requests;  ///< by resource, or not_listed
};

/// A pod and a node, as the scheduler sees them.
struct numa_zone_pod {
  std::span<const numa_resource> resources;
  std::vector<numa_zone> zones;  ///< at most 16, in the object's order
  numa_scope scope = numa_scope::container;
  bool guaranteed = true;
  std::vector<numa_zone_container> containers;  ///< init containers first
  std::vector<std::int64_t> overhead;           ///< by resource, or empty; counts under the scope pod
};

/// The filter for the policy single-numa-node: whether one zone could hold each container (the pod, under the scope pod), app containers
/// subtracting theirs from the lowest zone that fits, where a kubelet would put them.
/// @return the zone's id for each container, or one for the pod; nothing when some does not fit
[[nodiscard]] GANGSCHED_API std::optional<std::vector<std::uint32_t>> single_numa_zones(const numa_zone_pod& pod);

/// The zones that one request needs.
struct numa_zone_need {
  cell_mask zones = 0;          ///< by position; 0: all together have not enough
  bool least_distance = false;  ///< no other set of as many zones is closer
  friend bool operator==(const numa_zone_need&, const numa_zone_need&) noexcept = default;
};
/// The smallest set of zones that together have @p requests, the closest of those, the first by position.
/// O(2ⁿ · n²) for n zones
[[nodiscard]] GANGSCHED_API numa_zone_need numa_zones_required(const numa_zone_pod& pod,
                                                               std::span<const std::int64_t> requests);

/// LeastNUMANodes: 100 less what each zone needed costs (100 / @p most_zones), half of one back when no set of as many is closer; by
/// the container that needs most, each subtracting before the next. 0 when something does not fit, or more zones are needed.
/// @param most_zones the kubelet's max-allowable-numa-nodes: 8 unless it was set, at least 1
/// @return 0 … 100; 100 for a pod that is not Guaranteed
[[nodiscard]] GANGSCHED_API std::int64_t least_numa_score(const numa_zone_pod& pod, unsigned most_zones = 8);

enum class numa_strategy : unsigned char { least_allocated, most_allocated, balanced_allocation };

/// The lowest score of a zone, except 0, under the policy single-numa-node: of the pod, or the mean over all containers, rounded down. A
/// balance over a single resource is 100, where upstream divides by zero.
/// @return 0 … 100; 100 for a pod that is not Guaranteed
[[nodiscard]] GANGSCHED_API std::int64_t numa_allocation_score(const numa_zone_pod& pod, numa_strategy strategy);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/numa_scores.cpp"
#endif
