#pragma once
#include <cstdint>
#include <limits>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// Apart, so that `percent` is small where it is inlined.
[[nodiscard, gnu::noinline, gnu::cold]] constexpr std::int64_t wide_percent(std::int64_t part,
                                                                            std::int64_t whole) noexcept {
  __extension__ using wide = __int128;
  return static_cast<std::int64_t>(wide{100} * part / whole);
}

}  // namespace detail

/// 100 · part / whole, truncated; exact also where the product does not fit into 64 bits. 0 ≤ part ≤ whole, whole > 0.
[[nodiscard]] constexpr std::int64_t percent(std::int64_t part, std::int64_t whole) noexcept {
  GANGSCHED_ASSERT(part >= 0 && part <= whole && whole > 0);
  if (part <= std::numeric_limits<std::int64_t>::max() / 100) return 100 * part / whole;
  return detail::wide_percent(part, whole);
}

}  // namespace gangsched::inline GANGSCHED_ABI
