#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Columns of 64-bit integers that a plugin asked for when it was attached, and that its reserve hooks add to. Rolled back like the rest of
/// the cluster.
struct node_column {
  std::uint32_t index = 0;
};
struct group_column {
  std::uint32_t index = 0;
};
struct scope_column {
  std::uint32_t index = 0;
};
/// Of pods; only the host sets them.
struct pod_column {
  std::uint32_t index = 0;
};
/// The same as the host sets them (`cluster::set_column`): hooks only read them.
template <class Column>
struct by_host {
  std::uint32_t index = 0;
};

enum class column_writer : std::uint8_t { reserve_hooks, host };

}  // namespace gangsched::inline GANGSCHED_ABI
