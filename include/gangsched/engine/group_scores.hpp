#pragma once
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The results of keyed hooks for the groups of a class in one pick.
struct group_scores {
  std::vector<std::uint32_t> population;   ///< by group: how many candidates are in it
  std::vector<std::uint8_t> open;          ///< by group: it has some, and no keyed filter rejects it
  std::vector<std::uint32_t> open_groups;  ///< which those are, ascending
  std::vector<std::int64_t> offset;        ///< by group: weighted keyed scores

  /// Groups with candidates are open, unless a filter closed them.
  void open_all(const std::vector<std::uint32_t>& populated) {
    open.assign(population.size(), 0);
    for (const std::uint32_t group : populated) open[group] = 1;
    open_groups = populated;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
