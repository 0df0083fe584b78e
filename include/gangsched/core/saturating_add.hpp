#pragma once
#include <cstdint>
#include <limits>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// @p a + @p b, clamped to 64 bits: as std::saturating_add of C++26.
[[nodiscard]] constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
/// @p amount, which is not NaN, without its fraction; clamped to ±2^62.
[[nodiscard]] constexpr std::int64_t saturating_cast(double amount) noexcept {
  constexpr double most = 0x1p62;
  return static_cast<std::int64_t>(amount < -most ? -most : amount < most ? amount : most);
}

}  // namespace gangsched::inline GANGSCHED_ABI
