#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/kube/simulation.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What is compared of the summary of a result, and what it is called in JSON.
inline constexpr std::array<std::pair<const char*, const char*>, 7> compared_numbers{
    {{"nodes", "nodes"},
     {"pods to place", "pods"},
     {"placed", "placed"},
     {"ended", "ended"},
     {"evicted", "evicted"},
     {"unscheduled", "unscheduled"},
     {"seconds to the last change", "end_seconds"}}};

/// What an earlier run said, as far as it is compared.
struct earlier_result {
  struct object {
    std::string name, state;  ///< "default/web-1", "placed on node-1"
  };
  std::vector<object> pods, groups;
  std::array<double, compared_numbers.size()> numbers{};
};

/// Reads the JSON of an earlier run. Throws bad_input if @p from is no such result.
[[nodiscard]] earlier_result read_result(const source& from);
/// What is otherwise than in an earlier run.
[[nodiscard]] difference compare(const outcome& now, const earlier_result& before);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
