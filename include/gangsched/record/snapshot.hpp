#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "gangsched/fork.hpp"
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/scheduler.hpp"

/// A cluster and its scheduler as bytes, and back (docs/snapshots.md).
namespace gangsched::inline GANGSCHED_ABI::record {

/// Everything that decisions depend on: what is restored decides bit for bit as what was saved goes on to. Nothing is changed by it, and
/// questions do not show either. Plugins are not in it, but for their columns. Error: busy (a transaction is open, or a hook is running);
/// wrong_state (@p by is a scheduler of another cluster). O(state).
[[nodiscard]] GANGSCHED_API result<std::vector<std::byte>> take_snapshot(const cluster& of, const scheduler& by);
/// The cluster alone. Error: busy. O(state).
[[nodiscard]] GANGSCHED_API result<std::vector<std::byte>> take_snapshot(const cluster& of);

/// What a snapshot does not have: it names the plugins of each profile, and cannot bring them.
struct restore_setup {
  std::vector<kernel_table>
      profiles;                 ///< those that the scheduler had, as far as plugins, points, order and weights go
  device_matcher matcher = {};  ///< where the cluster had one
};

// Like all of the library these throw std::bad_alloc, and nothing else; then nothing was done.

/// New ones: ids, attempts and times are those that were saved, and so is every decision from here on. Nobody watches or listens. The
/// bytes may be anything: nothing is left of what is refused. Errors: malformed (no snapshot, damaged, or of another version of the
/// format), wrong_state (other profiles, which the error names; a device matcher is missing, or is one too many; the cluster was saved
/// alone). O(state).
[[nodiscard]] GANGSCHED_API result<forked> restore_snapshot(std::span<const std::byte> snapshot, restore_setup setup);
/// The cluster of any snapshot, for a scheduler that begins anew. Errors: as above, but for profiles. O(state).
[[nodiscard]] GANGSCHED_API result<cluster> restore_cluster(std::span<const std::byte> snapshot,
                                                            const device_matcher& matcher = {});

}  // namespace gangsched::inline GANGSCHED_ABI::record
