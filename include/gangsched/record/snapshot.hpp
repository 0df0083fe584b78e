#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "gangsched/fork.hpp"
#include "gangsched/framework/kernel_table.hpp"
#include "gangsched/scheduler.hpp"

/// A cluster and its scheduler as bytes, and back (docs/snapshots.md).
namespace gangsched::inline GANGSCHED_ABI::record {

/// Everything that decisions depend on: a restored scheduler makes the same decisions, bit for bit, as the saved one would. It changes
/// nothing, and observers and listeners are not called. Of plugins only their columns are saved. Error: busy (a transaction is open, or a
/// hook is running); wrong_state (@p by is a scheduler of another cluster). O(state).
[[nodiscard]] GANGSCHED_API result<std::vector<std::byte>> take_snapshot(const cluster& of, const scheduler& by);
/// The cluster alone. Error: busy. O(state).
[[nodiscard]] GANGSCHED_API result<std::vector<std::byte>> take_snapshot(const cluster& of);

/// What a snapshot lacks: it names the plugins of each profile, but does not contain them.
struct restore_setup {
  std::vector<kernel_table> profiles;  ///< those of the saved scheduler: same plugins, points, order and weights
  device_matcher matcher = {};         ///< if the cluster had one
};

// Like all of the library these throw nothing but std::bad_alloc; then nothing was done.

/// A new cluster and scheduler, with the ids, attempts and times that were saved, and the same decisions from here on. They have no
/// observers and listeners. The bytes may be anything; a refused call leaves nothing behind. Errors: malformed (no snapshot, damaged, or of
/// another version of the format), wrong_state (other profiles, which the error names; a device matcher is missing or superfluous; the
/// cluster was saved alone). O(state).
[[nodiscard]] GANGSCHED_API result<forked> restore_snapshot(std::span<const std::byte> snapshot, restore_setup setup);
/// The cluster of any snapshot, for a new scheduler. Errors: as above, except for profiles. O(state).
[[nodiscard]] GANGSCHED_API result<cluster> restore_cluster(std::span<const std::byte> snapshot,
                                                            const device_matcher& matcher = {});

}  // namespace gangsched::inline GANGSCHED_ABI::record
