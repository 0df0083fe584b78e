#pragma once
#include "gangsched/model/inside.hpp"

namespace gangsched {

/// A trial: everything done to the cluster since is undone when it ends, bit for bit, unless `commit` was called.
/// Opened inside another it is a nested checkpoint whose commit hands its changes to the outer one. Ends in reverse order of opening.
/// Opening one may fail for want of memory; ending one does not.
/// @code
/// gangsched::transaction trial{cluster};
/// if (cluster.assume(pod, node)) trial.commit();   // else: nothing happened
/// @endcode
class transaction {
 public:
  explicit transaction(cluster& on) : transaction(collected(detail::inside(on))) {}
  explicit transaction(cluster_state& state)
      : state_(&state), outermost_(!state.log.in_transaction()), log_end_(state.log.end()) {
    state.log.hold();
    if (outermost_) state.log.begin_transaction();
    mark_ = state.undo.open();
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() { roll_back(); }

  /// Keeps the changes. O(1) nested, O(words changed) for the outermost.
  void commit() noexcept {
    if (state_ == nullptr) return;
    state_->undo.keep();
    end();
  }
  /// Undoes the changes now. O(words changed).
  void roll_back() noexcept {
    if (state_ == nullptr) return;
    state_->undo.roll_back(mark_);
    state_->log.truncate(log_end_);
    end();
  }

 private:
  /// Names made in trials that were undone go here too, for a host that does nothing but try.
  static cluster_state& collected(cluster_state& state) {
    state.collect_if_due();
    return state;
  }
  void end() noexcept {
    if (outermost_) state_->log.end_transaction();
    state_->log.let_go();
    state_ = nullptr;
  }
  cluster_state* state_;
  bool outermost_;
  std::uint64_t log_end_;
  std::size_t mark_ = 0;
};

/// Around a call of the host's that changes something: unless it comes to `keep`, nothing of it happened. To readers of the log it is no
/// transaction: what the call does is meant, and only an exception takes it back.
class call_mark {
 public:
  explicit call_mark(cluster_state& state) : state_(&state), log_end_(state.log.end()) {
    state.log.hold();
    mark_ = state.undo.open_call();
  }
  call_mark(const call_mark&) = delete;
  call_mark& operator=(const call_mark&) = delete;
  ~call_mark() {
    if (state_ == nullptr) return;
    state_->undo.roll_back(mark_);
    state_->log.truncate(log_end_);
    end();
  }
  /// O(1) inside a transaction, else O(objects replaced).
  void keep() noexcept {
    state_->undo.keep();
    end();
  }

 private:
  void end() noexcept {
    state_->undo.close_call();
    state_->log.let_go();
    state_ = nullptr;
  }
  cluster_state* state_;
  std::uint64_t log_end_;
  std::size_t mark_ = 0;
};

}  // namespace gangsched
