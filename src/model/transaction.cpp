#include "gangsched/model/transaction.hpp"

#include "gangsched/model/inside.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE void tell_end(model::cluster_state& state, told how) noexcept {
  if (state.listener != nullptr) state.listener->called({how, nullptr, nullptr, nullptr, &state});
}

}  // namespace detail

GANGSCHED_INLINE model::cluster_state& transaction::collected(model::cluster_state& state) {
  if (!state.in_hook) state.collection.run_if_due();  // the caller of a hook goes on with its numbers of names
  return state;
}

GANGSCHED_INLINE transaction::transaction(cluster& on) : transaction(collected(detail::inside(on))) {
  if (state_->listener == nullptr || state_->in_hook) [[likely]]
    return;
  told_ = true;
  state_->listener->called({told::begin_transaction, nullptr, nullptr, nullptr, state_});
}

GANGSCHED_INLINE transaction::transaction(model::cluster_state& state)
    : state_(&state), outermost_(!state.log.in_transaction()), log_end_(state.log.end()) {
  state.log.hold();
  if (outermost_) state.log.begin_transaction();
  mark_ = state.undo.open();
}

GANGSCHED_INLINE void transaction::commit() noexcept {
  if (state_ == nullptr) return;
  state_->undo.keep();
  if (told_) detail::tell_end(*state_, told::commit);
  end();
}

GANGSCHED_INLINE void transaction::roll_back() noexcept {
  if (state_ == nullptr) return;
  state_->undo.roll_back(mark_);
  state_->log.truncate(log_end_);
  if (told_) detail::tell_end(*state_, told::roll_back);
  end();
}

GANGSCHED_INLINE void transaction::end() noexcept {
  if (outermost_) state_->log.end_transaction();
  state_->log.let_go();
  state_ = nullptr;
}

}  // namespace gangsched::inline GANGSCHED_ABI
