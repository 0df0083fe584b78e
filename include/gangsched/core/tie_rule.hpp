#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// How one of several best nodes is chosen.
enum class tie_rule : std::uint8_t {
  uniform,     ///< uniformly by seed (default)
  lowest_row,  ///< the node added first among the tied (by row)
  kube_heap,   ///< the choice of kube-scheduler 1.36's heap over the nodes in snapshot order
};

}  // namespace gangsched::inline GANGSCHED_ABI
