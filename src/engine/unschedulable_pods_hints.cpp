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

GANGSCHED_INLINE void unschedulable_pods::judge_line(lines::value_type& one, const object_event& happened,
                                                     queueing_event& what, std::vector<class_id>& concerned) {
  auto& [cls, line] = one;
  while (line.front < line.pods.size() && !waits(line.pods[line.front])) ++line.front;
  for (std::size_t i = line.front; i < line.pods.size(); ++i) {
    const row_t pod = line.pods[i].pod;
    if (!waits(line.pods[i]) || !state_->pods.alive(pod)) continue;  // gone, as the log is about to say
    if (state_->classes[state_->pods.cls[pod]].priority > happened.highest) continue;
    const bool refused = rejections_[pod].at_admission;
    if (refused && !concerned.empty() && concerned.back() == cls) continue;
    const queueing_strategy how = judge_->judge(pod, rejections_[pod], happened, what);
    if (!refused)
      move(pod, how);
    else if (how != queueing_strategy::skip)
      concerned.push_back(cls);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
