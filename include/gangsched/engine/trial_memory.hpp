#pragma once
#include <memory>
#include <vector>

#include "gangsched/engine/class_plan.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The caches of post_filter hooks between cycles, per plugin and pod class, and which nodes changed since: a committed cursor of the
/// change log for each. The least recently used is dropped.
class GANGSCHED_API trial_memory {
 public:
  /// The plugin's data for the class of @p plan (null the first time). @p changed gets the rows to look at again, ascending: those
  /// whose nodes, or pods nominated there, changed or went since the last call. O(changes), O(nodes) the first time.
  std::shared_ptr<void>& recall(const model::cluster_state& state, const class_plan& plan, std::uint16_t plugin,
                                std::vector<row_t>& changed);
  /// Whether the filters' results of the class for a node depend on nothing but the class, the node, and the pods nominated to it.
  [[nodiscard]] static bool possible(const class_plan& plan) noexcept {
    return plan.filters.size() == plan.local_filters.size() && plan.cycle_hooks.empty();
  }

 private:
  static constexpr std::size_t most = 16;
  struct kept {
    class_id cls = no_class;
    std::uint32_t generation = 0;
    std::uint16_t plugin = 0;
    std::uint64_t used = 0;
    log_cursor cursor = {};
    std::shared_ptr<void> data = {};
  };
  static row_t group_of(const model::cluster_state& state, const change& record);
  static bool replay(const model::cluster_state& state, kept& one, std::vector<row_t>& changed);

  std::vector<kept> all_;
  std::uint64_t clock_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/trial_memory.cpp"
#endif
