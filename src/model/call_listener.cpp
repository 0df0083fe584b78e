#include "gangsched/model/call_listener.hpp"

#include <utility>

#include "gangsched/model/inside.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE const model::cluster_state& state_of(const cluster& of) noexcept { return inside(of); }
GANGSCHED_INLINE std::uint64_t digest_of(const model::cluster_state& of) { return of.digest(); }
GANGSCHED_INLINE std::string_view text_of(const model::cluster_state& of, symbol name) noexcept {
  return of.names.text(name);
}
GANGSCHED_INLINE cluster_options options_of(const model::cluster_state& of) {
  return {.log_bound = of.log.bound(),
          .semantics = of.semantics,
          .device_matcher = of.devices.matcher(),
          .attempts_after = of.assigned.attempts_after,
          .keep_specs = of.keeps_specs};
}

GANGSCHED_INLINE bool is_new(const model::cluster_state& of) {
  return of.digest_with_derived() == inside(cluster{options_of(of)}).digest_with_derived();
}

}  // namespace detail

GANGSCHED_INLINE call_listener::~call_listener() {
  if (of_ != nullptr) of_->listener = nullptr;
}

GANGSCHED_INLINE result<void> cluster::listen(call_listener* by) {
  if (state_->in_hook) return error{errc::busy, "cluster", "", "a hook may not say who is told"};
  if (state_->undo.recording()) return error{errc::busy, "cluster", "", "a transaction is open on it"};
  if (by != nullptr && by->of_ != nullptr)
    return error{errc::wrong_state, "cluster", "", "it is told of a cluster already"};
  if (call_listener* const before = std::exchange(state_->listener, by)) before->end();
  if (by != nullptr) by->of_ = state_.get();
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
