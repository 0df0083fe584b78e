#pragma once
#include <chrono>

namespace gangsched {

/// Time since an epoch of the host's choice; the library reads no clock.
using instant = std::chrono::nanoseconds;

}  // namespace gangsched
