#pragma once
#include <gangsched/kube/manifests.hpp>
#include <optional>
#include <span>
#include <vector>

#include "simulate/bad_input.hpp"
#include "simulate/options.hpp"
#include "simulate/simulation.hpp"

namespace simulate {

/// Reads the files that the command line names; warnings go to standard error. Throws bad_input.
[[nodiscard]] scenario read_scenario(const command_line& from);

/// The same of files that are there already; without @p config it is kube-scheduler's defaults. Adds what was left out to @p warnings.
/// Throws bad_input.
[[nodiscard]] scenario make_scenario(const command_line& how, std::span<const gangsched::kube::source> files,
                                     const std::optional<gangsched::kube::source>& config,
                                     std::vector<gangsched::kube::warning>& warnings);

}  // namespace simulate
