#pragma once
#include <cstddef>
#include <cstdint>

#include "gangsched/core/config.hpp"
#include "gangsched/model/fwd.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A trial: everything done to the cluster since is undone when it ends, bit for bit, unless `commit` was called; new columns stay.
/// Opened inside another it is a nested checkpoint whose commit hands its changes to the outer one. Ends in reverse order of opening.
/// Opening one may fail for want of memory; ending one does not. While one is open, calls of the cluster's schedulers are refused as busy,
/// except `explain` and some other questions (docs/embedding.md, *Errors*).
/// @code
/// gangsched::transaction trial{cluster};
/// if (cluster.assume(pod, node)) trial.commit();   // else: nothing happened
/// @endcode
class GANGSCHED_API transaction {
 public:
  explicit transaction(cluster& on);
  explicit transaction(model::cluster_state& state);
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() { roll_back(); }

  /// Keeps the changes. O(1) nested, O(words changed) for the outermost.
  void commit() noexcept;
  /// Undoes the changes now. O(words changed).
  void roll_back() noexcept;

 private:
  /// Names made in trials that were undone go here too, for a host that does nothing but try.
  static model::cluster_state& collected(model::cluster_state& state);
  void end() noexcept;
  model::cluster_state* state_;
  bool outermost_, told_ = false;  ///< told: it is the host's own, and a listener is told of calls
  std::uint64_t log_end_;
  std::size_t mark_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/transaction.cpp"
#endif
