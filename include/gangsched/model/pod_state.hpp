#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The state of a pod. Terminating is a separate flag.
enum class pod_state : std::uint8_t {
  none,     ///< no pod in this row
  pending,  ///< waits to be scheduled
  assumed,  ///< a node is reserved for it; waiting in permit or binding
  bound,    ///< runs on its node
};

}  // namespace gangsched::inline GANGSCHED_ABI
