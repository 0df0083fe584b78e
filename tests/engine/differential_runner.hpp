#pragma once
#include <optional>
#include <string>

#include "differential_steps.hpp"

namespace gangsched::testing {

struct differential_result {
  std::optional<std::string> complaint;  ///< with the step at which it came
  std::size_t decisions = 0, placed = 0, rejected = 0, waits = 0, revoked = 0, explained = 0;
};

/// Tells the same events to a scheduler with a compile-time profile, to one with a run-time profile, and to the referee; says where
/// the first two differ, or what the referee has against them.
[[nodiscard]] differential_result run_differential(const scenario& what);

/// Drops steps and details as long as there is a complaint.
[[nodiscard]] scenario shrink(scenario failing);

}  // namespace gangsched::testing
