#pragma once
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Guards a call of the host that changes something: unless the call reaches `keep`, all its changes are undone. Readers of the log do not
/// see it as a transaction: the changes are final, and only an exception undoes them.
class call_mark {
 public:
  explicit call_mark(model::cluster_state& state) : state_(&state), log_end_(state.log.end()) {
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
  model::cluster_state* state_;
  std::uint64_t log_end_;
  std::size_t mark_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI
