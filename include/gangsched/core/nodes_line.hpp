#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// kube-scheduler's FitError: "0/N nodes are available: " and the reasons, each with its count, sorted as strings.
[[nodiscard]] inline std::string nodes_line(std::size_t feasible, std::size_t nodes, std::vector<std::string> parts) {
  if (nodes == 0) return "no nodes available to schedule pods";
  std::sort(parts.begin(), parts.end());
  std::string text = std::to_string(feasible) + "/" + std::to_string(nodes) + " nodes are available";
  for (std::size_t i = 0; i < parts.size(); ++i) (text += i == 0 ? ": " : ", ") += parts[i];
  return text += ".";
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
