#pragma once
#include <cstdint>

namespace gangsched {

/// What a hook may read of a node, and so what a change can touch. A set of bits; views and changes both speak in it.
enum class reads : std::uint16_t {
  nothing = 0,
  name = 1u << 0,
  labels = 1u << 1,
  taints = 1u << 2,
  schedulable = 1u << 3,  ///< spec.unschedulable
  allocatable = 1u << 4,
  images = 1u << 5,
  usage = 1u << 6,  ///< what its pods have requested, and how many they are
  ports = 1u << 7,  ///< host ports in use
  pods = 1u << 8,   ///< the pods on it, with all of theirs
  own = 1u << 9,    ///< columns that plugins made
  devices = 1u << 10,  ///< its devices, and what of them is in use
  claims = 1u << 11,   ///< where claims that pods share are, and how many use each: what pods on other nodes change, too
  everything = (1u << 12) - 1,
};
[[nodiscard]] constexpr reads operator|(reads a, reads b) noexcept {
  return static_cast<reads>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
[[nodiscard]] constexpr reads operator&(reads a, reads b) noexcept {
  return static_cast<reads>(static_cast<std::uint16_t>(a) & static_cast<std::uint16_t>(b));
}
constexpr reads& operator|=(reads& a, reads b) noexcept { return a = a | b; }
[[nodiscard]] constexpr bool any(reads set) noexcept { return set != reads::nothing; }
[[nodiscard]] constexpr bool covers(reads set, reads wanted) noexcept { return (set & wanted) == wanted; }

}  // namespace gangsched
