#include "gangsched/engine/entry_order.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::engine {

GANGSCHED_INLINE void entry_order::sort(row_t group, std::vector<row_t>& members) {
  std::erase_if(members, [&](row_t pod) { return gates_->rejects_pod(pod); });
  if (entered_.size() < state_->pods.rows.count()) entered_.resize(state_->pods.rows.count());
  row_t completing = state_->groups.first[group];
  for (std::uint32_t i = 1; i < state_->groups.min_count(group) && completing != no_row; ++i) {
    completing = state_->pods.next_in_group[completing];
  }
  const auto enter = [&](row_t pod) {
    if (entered_[pod] == 0) entered_[pod] = ++entries_;
  };
  if (std::find(members.begin(), members.end(), completing) != members.end()) enter(completing);
  for (row_t pod = state_->groups.first[group]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (std::find(members.begin(), members.end(), pod) != members.end()) enter(pod);
  }
  const auto key = [&](row_t pod) { return std::pair{-std::int64_t{state_->classes[state_->pods.cls[pod]].priority}, entered_[pod]}; };
  std::sort(members.begin(), members.end(), [&](row_t a, row_t b) { return key(a) < key(b); });
}

}  // namespace gangsched::engine
