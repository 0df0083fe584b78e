#pragma once
#include <optional>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/kernel_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// The limit of the engine that a profile exceeds: of filters (a byte says which of them rejected a node), of permit plugins (a bit says
/// which of them holds a pod), or of score weights, none negative, and their sum (doubles add them up). Error: out_of_range. O(plugins).
[[nodiscard]] GANGSCHED_API std::optional<error> beyond_limits(const kernel_table& profile);

}  // namespace gangsched::inline GANGSCHED_ABI::detail

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/profile_limits.cpp"
#endif
