#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/devices/device_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// What a pod has of its node's devices, saved while the node's devices change. Absent: unknown.
struct pod_devices {
  row_t pod;
  std::optional<std::vector<held_device>> held;
  std::size_t granted = 0;  ///< so many, the first, were granted; the rest was absent
};
/// What all pods there have, and the claims that they share.
struct node_claims {
  std::vector<pod_devices> pods;
  struct claim {
    row_t row;
    std::vector<held_device> held;
    bool kept;
    std::size_t granted;
  };
  std::vector<claim> shared;
  std::vector<pod_devices> wholes = {};  ///< of reservations that others draw from, which are not among `pods`
};

}  // namespace gangsched::inline GANGSCHED_ABI::model
