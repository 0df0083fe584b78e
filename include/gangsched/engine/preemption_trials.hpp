#pragma once
#include <memory>
#include <optional>

#include "gangsched/engine/group_search.hpp"
#include "gangsched/engine/trial_memory.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What post_filter and group_preempt hooks try victims with, and what they keep between trials.
class GANGSCHED_API preemption_trials {
 public:
  preemption_trials(model::cluster_state& state, const entity_view& entities, group_parts& parts, picker& picks,
                    group_search& search) noexcept
      : state_(&state), entities_(&entities), parts_(&parts), picks_(&picks), search_(&search) {}

  /// A trial for one hook of a plugin of the profile; nothing of it is left when it goes. @p for_group: of group_preempt.
  /// @p spared: the earliest time that hooks gave it (`trial::spared_until`), if they did; outlives the trial.
  [[nodiscard]] std::unique_ptr<trial> start(std::uint16_t plugin, bool for_group, std::optional<instant>& spared);
  /// Drops what plugins keep.
  void forget_cached() { memory_ = {}; }

 private:
  class open_trial;

  model::cluster_state* state_;
  const entity_view* entities_;
  group_parts* parts_;
  picker* picks_;
  group_search* search_;
  trial_memory memory_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/preemption_trials.cpp"
#endif
