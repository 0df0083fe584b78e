#include <algorithm>

#include "gangsched/engine/unschedulable_pods.hpp"

// wake_rule::hints: who hears of an event.
namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE bool unschedulable_pods::nobody_by_hints() const noexcept {
  return lines_.empty() && groups_.helpless();
}

/// Lines with pods that hear of an event that the plugins @p told are told of; one about victims concerns some whatever rejected them.
GANGSCHED_INLINE std::vector<class_id> unschedulable_pods::hearers(std::uint64_t told, bool about_victims) {
  learn_conditions();
  std::vector<class_id> found;
  if (about_victims) {
    for (const auto& [cls, line] : lines_) found.push_back(cls);
  } else {
    found = by_class_.candidates(told);
  }
  const auto gone = [&](class_id cls) {
    return lines_.find(cls)->second.generation != state_->classes.generation(cls);
  };
  if (std::none_of(found.begin(), found.end(), gone)) return found;
  for (const class_id cls : found) {
    if (gone(cls)) disband(lines_.find(cls));
  }
  return hearers(told, about_victims);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
