#pragma once
#include <optional>
#include <vector>

#include "gangsched/devices/fixed_set.hpp"
#include "gangsched/devices/numa_hints.hpp"
#include "gangsched/devices/numa_topology.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The devices of one kind on a node: for each, the cells it is attached to; 0 for one without topology.
struct device_kind {
  std::vector<cell_mask> cells;
};

/// The cells that @p wanted devices could come from, as kubelet's Device Manager says: among the cells that have any device of the
/// kind, sets with enough of @p free and @p reusable that touch all of @p reusable. Preferred are those of as many cells as an empty
/// node would need. O(2ⁿ · devices)
/// @return nothing when no device names a cell: then the kind has no preference
[[nodiscard]] GANGSCHED_API std::optional<numa_hint_list> device_hints(const numa_topology& topology,
                                                                       const device_kind& kind, const device_set& free,
                                                                       const device_set& reusable, unsigned wanted);

/// @p wanted devices: of @p reusable first, then of those free in @p affinity (0: anywhere), then of other cells, then of none; lower
/// indexes first, where kubelet asks the device plugin. Nothing when there are not enough.
[[nodiscard]] GANGSCHED_API std::optional<device_set> allocate_devices(const device_kind& kind, const device_set& free,
                                                                       const device_set& reusable, cell_mask affinity,
                                                                       unsigned wanted);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/device_manager.cpp"
#endif
