#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Where a pod is in its life. Terminating is a flag beside it.
enum class pod_state : std::uint8_t {
  none,     ///< no pod in this row
  pending,  ///< waits to be scheduled
  assumed,  ///< a node is reserved for it; waiting in the permit room or binding
  bound,    ///< runs on its node
};

}  // namespace gangsched::inline GANGSCHED_ABI
