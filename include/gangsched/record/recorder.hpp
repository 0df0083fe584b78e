#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/model/cluster.hpp"

/// Writes a decision log: every call of a host's on a cluster and its schedulers, with what came of it (docs/decision-log.md).
namespace gangsched::inline GANGSCHED_ABI::record {

struct recorder_options {
  std::string about = {};  ///< a word of the host's that the log begins with
  /// After so many calls the digest of the cluster is written, too, O(cluster) each time; 0: only by `write_digest`.
  std::uint32_t digest_every = 0;
};

/// Records a cluster from its first call on, until the recorder or the cluster goes. What is written depends on the calls alone. What it
/// costs: the bytes of the call's arguments and of its answer, which stay in memory until the host takes them.
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
  /// Whoever was told of its calls before (`cluster::listen`) is not any more. Error: wrong_state (something was done to the cluster
  /// already), busy (a transaction is open).
  [[nodiscard]] static result<recorder> start(cluster& on, recorder_options options = {});
  recorder(recorder&&) noexcept;
  recorder& operator=(recorder&&) noexcept;
  ~recorder();

  /// What was written since the last time; all of it, one after the other, is the log. A log may be cut off after any byte: its whole
  /// records are still read. O(1).
  [[nodiscard]] std::vector<std::byte> take();
  /// Of the cluster as it is now, for whoever replays the log. Error: wrong_state (nothing is recorded any more). O(cluster).
  result<void> write_digest();
  /// Calls that were written.
  [[nodiscard]] std::uint64_t calls() const noexcept;
  /// Why nothing is written any more; nothing while it is: unknown (the cluster is gone, or tells somebody else), wrong_state (a scheduler
  /// that was made before the recording began was called), overflow (there was no
  /// memory to write a call down, or for a scheduler's call: the log ends before it).
  [[nodiscard]] std::optional<error> ended() const;

 private:
  class writing;
  explicit recorder(std::unique_ptr<writing> made) noexcept;
  std::unique_ptr<writing> writing_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::record
