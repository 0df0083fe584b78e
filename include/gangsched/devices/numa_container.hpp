#pragma once
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Bytes of each kind of memory, in the order of numa_topology::memory_kinds().
using memory_amounts = std::vector<std::uint64_t>;

enum class container_kind : unsigned char {
  init,     ///< ends before the next container starts; its resources may be reused
  sidecar,  ///< an init container that keeps running
  app
};

struct numa_container {
  container_kind kind = container_kind::app;
  std::int64_t cpu_milli = 0;
  memory_amounts memory;          ///< by numa_topology::memory_kinds(); kinds left out at the end are 0
  std::vector<unsigned> devices;  ///< by numa_node::devices; likewise
};

}  // namespace gangsched::inline GANGSCHED_ABI
