#pragma once
#include <string_view>

#include "gangsched/core/status.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

/// Kubernetes' name of a code: "UnschedulableAndUnresolvable". Static storage; "" for an invalid code.
[[nodiscard]] GANGSCHED_API std::string_view word_of(code said) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI::report
