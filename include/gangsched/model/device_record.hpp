#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/devices/device_demand.hpp"
#include "gangsched/model/pod_class.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A node's devices, as far as only the host changes them.
struct device_record {
  std::shared_ptr<const device_inventory> inventory;
  std::vector<std::string> ids;  ///< of the GPUs, then of the others
  std::vector<bool> unhealthy;   ///< the same
  /// Resources that count GPUs, and the device request that each stands for.
  std::vector<std::pair<resource_kind, device_demand>> counted;
  std::vector<resource_kind> memory_kinds;  ///< of its NUMA cells: what each kind of memory there is requested as

  /// Its place in `ids`, if the node has the device. O(devices).
  [[nodiscard]] GANGSCHED_API std::optional<std::uint32_t> find(std::string_view id) const noexcept;
};

}  // namespace gangsched::inline GANGSCHED_ABI

// Its body comes with node_table.hpp.
