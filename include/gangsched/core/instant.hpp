#pragma once
#include <chrono>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Time since an epoch of the host's choice; the library reads no clock.
using instant = std::chrono::nanoseconds;

/// @p when + @p by, clamped to the range of `instant`, so that the end of a long wait does not overflow.
[[nodiscard]] constexpr instant later_by(instant when, instant by) noexcept {
  if (by.count() >= 0) return when > instant::max() - by ? instant::max() : when + by;
  return when < instant::min() - by ? instant::min() : when + by;
}

/// The time from @p since to @p now: zero if @p since is later, at most the longest time there is.
[[nodiscard]] constexpr instant elapsed(instant since, instant now) noexcept {
  if (now <= since) return instant::zero();
  return since < instant::zero() && now > instant::max() + since ? instant::max() : now - since;
}

}  // namespace gangsched::inline GANGSCHED_ABI
