#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What a hook may read of a node, and so what a change can affect. A set of bits; views and changes both use it.
enum class reads : std::uint32_t {
  nothing = 0,
  name = 1u << 0,
  labels = 1u << 1,
  taints = 1u << 2,
  schedulable = 1u << 3,  ///< spec.unschedulable
  allocatable = 1u << 4,
  images = 1u << 5,
  usage = 1u << 6,  ///< requests and number of its pods
  ports = 1u << 7,  ///< host ports in use
  pods = 1u << 8,   ///< the pods on it, with all of their own (not of their groups and queues)
  /// In signatures: the columns that the plugin asked for. Changes have the facets of columns instead (own_facet).
  own = 1u << 9,
  devices = 1u << 10,   ///< its devices, and what of them is in use
  claims = 1u << 11,    ///< where shared claims are allocated, and their users: changed by pods on other nodes, too
  queues = 1u << 12,    ///< of changes: the use of queues, and their specs; not of a node
  features = 1u << 31,  ///< those that it declares; the last bit, after the facets of columns
  everything = 0xffffffffu,  ///< all of these and the facets of columns
};
[[nodiscard]] constexpr reads operator|(reads a, reads b) noexcept {
  return static_cast<reads>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
[[nodiscard]] constexpr reads operator&(reads a, reads b) noexcept {
  return static_cast<reads>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}
constexpr reads& operator|=(reads& a, reads b) noexcept { return a = a | b; }
[[nodiscard]] constexpr bool any(reads set) noexcept { return set != reads::nothing; }
[[nodiscard]] constexpr bool covers(reads set, reads wanted) noexcept { return (set & wanted) == wanted; }

/// The facet of the @p nth maker of columns, a plugin or the host. There are eighteen: later makers share one, and are called more often
/// than needed.
[[nodiscard]] constexpr reads own_facet(std::uint32_t nth) noexcept {
  return static_cast<reads>(1u << (13 + nth % 18));
}
/// What a hook that declares @p set really reads, if its plugin asked for columns with the facets @p columns.
[[nodiscard]] constexpr reads with_columns(reads set, reads columns) noexcept {
  if (set == reads::everything || !any(set & reads::own)) return set;
  return static_cast<reads>(static_cast<std::uint32_t>(set) & ~static_cast<std::uint32_t>(reads::own)) | columns;
}

}  // namespace gangsched::inline GANGSCHED_ABI
