#pragma once
#include <string_view>

#include "gangsched/core/status.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

/// Kubernetes' word for what a hook said: "UnschedulableAndUnresolvable". Static storage; "" for a number that is none.
[[nodiscard]] GANGSCHED_API std::string_view word_of(code said) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI::report
