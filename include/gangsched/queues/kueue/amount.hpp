#pragma once

#include <cstdint>
#include <limits>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// An amount of a resource: thousandths of a cpu, base units of everything else. This one is unbounded, and stays so in sums and
/// differences (Kueue's resources.Amount).
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// @p a + @p b, saturating.
[[nodiscard]] constexpr std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t made = 0;
  if (a == unlimited || b == unlimited) return unlimited;
  if (!__builtin_add_overflow(a, b, &made)) return made;
  return b < 0 ? std::numeric_limits<std::int64_t>::min() : unlimited;
}

/// @p a - @p b. 0 if both are unbounded; the least number if only @p b is.
[[nodiscard]] constexpr std::int64_t difference(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t made = 0;
  if (a == unlimited) return b == unlimited ? 0 : unlimited;
  if (b == unlimited) return std::numeric_limits<std::int64_t>::min();
  if (!__builtin_sub_overflow(a, b, &made)) return made;
  return b < 0 ? unlimited : std::numeric_limits<std::int64_t>::min();
}

/// @p each times @p count, neither of them negative.
[[nodiscard]] constexpr std::int64_t product(std::int64_t each, std::int64_t count) noexcept {
  std::int64_t made = 0;
  return __builtin_mul_overflow(each, count, &made) ? unlimited : made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
