#pragma once
#include "gangsched/model/state.hpp"

namespace gangsched {

/// A trial: everything done to the cluster since is undone when it ends, bit for bit, unless `commit` was called.
/// Opened inside another it is a nested checkpoint whose commit hands its changes to the outer one. Ends in reverse order of opening.
/// @code
/// gangsched::transaction trial{cluster.state()};
/// if (cluster.assume(pod, node)) trial.commit();   // else: nothing happened
/// @endcode
class transaction {
 public:
  explicit transaction(cluster_state& state)
      : state_(&state), outermost_(!state.undo.recording()), log_end_(state.log.end()) {
    if (outermost_) state.log.begin_transaction();
    mark_ = state.undo.open();
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() { roll_back(); }

  /// Keeps the changes. O(1) nested, O(words changed) for the outermost.
  void commit() {
    if (state_ == nullptr) return;
    state_->undo.keep();
    if (outermost_) state_->log.end_transaction();
    state_ = nullptr;
  }
  /// Undoes the changes now. O(words changed).
  void roll_back() noexcept {
    if (state_ == nullptr) return;
    state_->undo.roll_back(mark_);
    state_->log.truncate(log_end_);
    if (outermost_) state_->log.end_transaction();
    state_ = nullptr;
  }

 private:
  cluster_state* state_;
  bool outermost_;
  std::uint64_t log_end_;
  std::size_t mark_ = 0;
};

}  // namespace gangsched
