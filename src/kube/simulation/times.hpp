#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "gangsched/kube/simulation_outcome.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

inline constexpr instant longest_duration = std::chrono::hours{100 * 365 * 24};

/// "90s", "1h30m"; nothing if it is none, below 0, or more than 100 years.
[[nodiscard]] std::optional<instant> read_duration(const std::string& text);
/// RFC 3339, in seconds since 1970; nothing if it is none, or more than 100 years from 1970.
[[nodiscard]] std::optional<std::int64_t> read_time(const std::string& text);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
