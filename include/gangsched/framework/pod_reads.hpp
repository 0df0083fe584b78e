#pragma once
#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The parts of a pod that a hook can declare to read. A set of bits.
enum class pod_reads : std::uint8_t {
  nothing = 0,
  tolerations = 1u << 0,
  node_affinity = 1u << 1,  ///< nodeSelector and node affinity
  images = 1u << 2,
  features = 1u << 3,  ///< that it requires of its node
  everything = 0xff,
};
[[nodiscard]] constexpr pod_reads operator|(pod_reads a, pod_reads b) noexcept {
  return static_cast<pod_reads>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
[[nodiscard]] constexpr bool covers(pod_reads set, pod_reads wanted) noexcept {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(wanted)) == static_cast<std::uint8_t>(wanted);
}

template <pod_reads Reads>
class pod_part;  // pod_part.hpp

}  // namespace gangsched::inline GANGSCHED_ABI
