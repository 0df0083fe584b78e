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

  /// Leaves both as they are. @p with: a scheduler of the cluster, or null. Error: busy (a transaction is open, or a hook is running),
  /// wrong_state (it is a scheduler of another cluster). O(state).
  [[nodiscard]] static result<saved_state> of(const gangsched::cluster& cluster, const gangsched::scheduler* with);

  /// New ones that go on as these would have. @p profiles: those of the scheduler, if there is one. @p most_words: of a table of amounts
  /// by row. Error: wrong_state (of other profiles, or made with a device matcher where there is none here), malformed (it is not what
  /// `of` made). O(state).
  [[nodiscard]] result<restored_state> restore(std::vector<kernel_table> profiles, const device_matcher& matcher,
                                               std::uint64_t most_words) const;
  /// Those that it was made with.
  [[nodiscard]] static std::span<const kernel_table> profiles_of(const gangsched::scheduler& one);
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/saved_state.cpp"
#endif
