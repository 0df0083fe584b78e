#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/model/cluster.hpp"

/// Writes a decision log: every call of a host on a cluster and its schedulers, with its outcome (docs/decision-log.md).
namespace gangsched::inline GANGSCHED_ABI::record {

/// What a log has beside the calls.
struct recorder_options {
  std::string about = {};  ///< a text of the host's that the log begins with
  /// After so many calls the digest of the cluster is written, O(cluster) each time; 0: only by `write_digest`.
  std::uint32_t digest_every = 0;
};

/// Records a cluster from its first call on, until the recorder or the cluster is destroyed. The log depends on the calls alone. Cost: the
/// bytes of each call's arguments and answer, which stay in memory until the host takes them.
///
/// @code
/// cluster cluster;
/// auto log = record::recorder::start(cluster);              // before schedulers are made
/// scheduler scheduler{cluster, profiles::kube_default()};
/// …
/// file << log->take();                                      // now and then, and in the end
/// @endcode
class GANGSCHED_API recorder {
 public:
  /// Replaces a listener set before (`cluster::listen`). Error: wrong_state (something was done to the cluster already), busy (a
  /// transaction is open).
  [[nodiscard]] static result<recorder> start(cluster& on, recorder_options options = {});
  recorder(recorder&&) noexcept;
  recorder& operator=(recorder&&) noexcept;
  ~recorder();

  /// The bytes written since the last `take`; all of them, concatenated, are the log. A log may be cut off after any byte: its whole
  /// records are still readable. O(1).
  [[nodiscard]] std::vector<std::byte> take();
  /// Writes the digest of the cluster's present state, for replays. Error: wrong_state (the recording has ended). O(cluster).
  result<void> write_digest();
  /// The number of calls written.
  [[nodiscard]] std::uint64_t calls() const noexcept;
  /// Why the recording ended; nothing while it goes on: unknown (the cluster is gone, or has another listener), wrong_state (a scheduler
  /// that was made before the recording began was called), overflow (there was no memory to record a call, or for a scheduler's call: the
  /// log ends before it).
  [[nodiscard]] std::optional<error> ended() const;

 private:
  class writing;
  explicit recorder(std::unique_ptr<writing> made) noexcept;
  std::unique_ptr<writing> writing_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::record
