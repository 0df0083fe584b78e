#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/fork.hpp"
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/model/saved_cluster.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What `saved_state::restore` makes.
struct restored_state {
  gangsched::cluster cluster;
  std::optional<gangsched::scheduler> scheduler;
};

/// A cluster, and a scheduler on it, as plain data: what snapshots are written from (docs/snapshots.md).
struct GANGSCHED_API saved_state {
  model::saved_cluster cluster;
  std::optional<engine::saved_scheduler> scheduler;

  /// Changes neither argument. @p with: a scheduler on this cluster, or null. Error: busy (a transaction is open, or a hook is running),
  /// wrong_state (the scheduler is on another cluster). O(state).
  [[nodiscard]] static result<saved_state> of(const gangsched::cluster& cluster, const gangsched::scheduler* with);

  /// Restores a cluster and a scheduler that continue as the saved ones would. @p profiles: those of the saved scheduler, if there is one.
  /// @p most_words: the most words that a table of amounts by row may have. Error: wrong_state (other profiles, or a device matcher on one
  /// side only), malformed (this was not made by `of`). O(state).
  [[nodiscard]] result<restored_state> restore(std::vector<kernel_table> profiles, const device_matcher& matcher,
                                               std::uint64_t most_words) const;
  /// The profiles that the scheduler was made with.
  [[nodiscard]] static std::span<const kernel_table> profiles_of(const gangsched::scheduler& one);
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/saved_state.cpp"
#endif
