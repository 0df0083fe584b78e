#pragma once
#include "gangsched/core/peer.hpp"
#include "gangsched/engine/entity_view.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// An admission hook's rejection, and the plugin it came from. False in a boolean context if every hook admits.
struct refusal {
  status said;
  const plugin_entry* by = nullptr;

  explicit operator bool() const noexcept { return by != nullptr; }
};

/// Calls admission hooks: whether a popped entity may be tried, and whether a rejected one would be admitted now.
class GANGSCHED_API admission_checks {
 public:
  /// @p now: the scheduler's, read at each call.
  admission_checks(model::cluster_state& state, const profile_set& profiles, const entity_view& entities,
                   const instant& now) noexcept;

  /// The first hook of the entity's profile that rejects it, in order, if it starts now. O(hooks).
  [[nodiscard]] refusal ask(entity e) const { return any_ ? ask_hooks(e, *now_) : refusal{}; }
  /// The same for a start at @p start.
  [[nodiscard]] refusal ask_for(entity e, instant start) const { return any_ ? ask_hooks(e, start) : refusal{}; }
  /// Whether an admission hook of the profile judges each pod by itself, not by its class. O(hooks).
  [[nodiscard]] static bool asks_each_pod(const kernel_table& profile) noexcept;

 private:
  [[nodiscard]] refusal ask_hooks(entity e, instant start) const;

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  peer<const instant> now_;
  bool any_;  ///< some profile has such hooks
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/admission_checks.cpp"
#endif
