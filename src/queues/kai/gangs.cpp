#include "gangsched/queues/kai/gangs.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

GANGSCHED_INLINE elastic_state elastic_state_of(std::span<const pod_set> sets) noexcept {
  elastic_state state = elastic_state::at_minimum;
  for (const pod_set& set : sets) {
    if (set.allocated < set.min_available) return elastic_state::below_minimum;
    if (set.allocated > set.min_available) state = elastic_state::above_minimum;
  }
  return state;
}

GANGSCHED_INLINE bool is_elastic(std::span<const pod_set> sets) noexcept {
  return std::any_of(sets.begin(), sets.end(), [](const pod_set& set) { return set.min_available < set.pods; });
}

GANGSCHED_INLINE std::weak_ordering job_order(const job_rank& a, const job_rank& b) noexcept {
  if (a.priority != b.priority) return b.priority <=> a.priority;
  if (a.state != b.state) return a.state <=> b.state;
  if (a.created != b.created) return a.created <=> b.created;
  return a.name <=> b.name;
}

GANGSCHED_INLINE std::weak_ordering pod_set_order(const pod_set& a, const pod_set& b) noexcept {
  const bool a_below = a.allocated < a.min_available, b_below = b.allocated < b.min_available;
  if (a_below || b_below) return b_below <=> a_below;
  if (a.min_available == 0 || b.min_available == 0) return (a.min_available == 0) <=> (b.min_available == 0);
  return std::uint64_t{a.allocated} * b.min_available <=> std::uint64_t{b.allocated} * a.min_available;
}

GANGSCHED_INLINE bool next_eviction(std::span<const pod_set> sets, std::vector<set_eviction>& out) {
  out.clear();
  std::size_t most = sets.size();
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i].allocated > sets[i].min_available && (most == sets.size() || pod_set_order(sets[most], sets[i]) < 0))
      most = i;
  if (most != sets.size()) {
    out.push_back({most, 1});
  } else {
    for (std::size_t i = 0; i < sets.size(); ++i)
      if (sets[i].allocated > 0) out.push_back({i, sets[i].allocated});
  }
  std::uint64_t stays = 0;
  for (const pod_set& set : sets) stays += set.allocated;
  for (const set_eviction& one : out) stays -= one.pods;
  return stays > 0;
}

GANGSCHED_INLINE bool keeps_minimum(std::span<const pod_set> sets, std::span<const std::uint32_t> lost) noexcept {
  for (std::size_t i = 0; i < lost.size() && i < sets.size(); ++i)
    if (lost[i] > 0 &&
        std::uint64_t{sets[i].allocated} + sets[i].leaving < std::uint64_t{sets[i].min_available} + lost[i])
      return false;
  return true;
}

GANGSCHED_INLINE bool is_stale(std::span<const pod_set> sets, bool any_succeeded) noexcept {
  if (any_succeeded) return false;
  std::uint64_t used = 0;
  bool short_of_pods = false;
  for (const pod_set& set : sets) {
    const std::uint64_t there = std::uint64_t{set.allocated} + set.leaving;
    used += there;
    short_of_pods = short_of_pods || there < set.min_available;
  }
  return used > 0 && short_of_pods;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
