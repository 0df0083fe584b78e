#include "gangsched/model/transaction.hpp"

#include "gangsched/model/inside.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE model::cluster_state& transaction::collected(model::cluster_state& state) {
  state.collection.run_if_due();
  return state;
}

GANGSCHED_INLINE transaction::transaction(cluster& on) : transaction(collected(detail::inside(on))) {}

GANGSCHED_INLINE transaction::transaction(model::cluster_state& state)
    : state_(&state), outermost_(!state.log.in_transaction()), log_end_(state.log.end()) {
  state.log.hold();
  if (outermost_) state.log.begin_transaction();
  mark_ = state.undo.open();
}

GANGSCHED_INLINE void transaction::commit() noexcept {
  if (state_ == nullptr) return;
  state_->undo.keep();
  end();
}

GANGSCHED_INLINE void transaction::roll_back() noexcept {
  if (state_ == nullptr) return;
  state_->undo.roll_back(mark_);
  state_->log.truncate(log_end_);
  end();
}

GANGSCHED_INLINE void transaction::end() noexcept {
  if (outermost_) state_->log.end_transaction();
  state_->log.let_go();
  state_ = nullptr;
}

}  // namespace gangsched::inline GANGSCHED_ABI
