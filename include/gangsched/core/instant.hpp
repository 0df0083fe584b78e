#pragma once
#include <chrono>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Time since an epoch of the host's choice; the library reads no clock.
using instant = std::chrono::nanoseconds;

/// @p when and @p by, at most the last instant, at least the first: ends of waits near the ends of time stay ends of waits.
[[nodiscard]] constexpr instant later_by(instant when, instant by) noexcept {
  if (by.count() >= 0) return when > instant::max() - by ? instant::max() : when + by;
  return when < instant::min() - by ? instant::min() : when + by;
}

/// From @p since to @p now: nothing if that is yet to come, at most the longest time that there is.
[[nodiscard]] constexpr instant elapsed(instant since, instant now) noexcept {
  if (now <= since) return instant::zero();
  return since < instant::zero() && now > instant::max() + since ? instant::max() : now - since;
}

}  // namespace gangsched::inline GANGSCHED_ABI
