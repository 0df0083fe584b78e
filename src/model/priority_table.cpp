#include "gangsched/model/priority_table.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::model {

/// Points `last_` at the priority's entry, which it adds if there is none.
GANGSCHED_INLINE void priority_table::look_up(std::int32_t priority) {
  auto found = std::lower_bound(rows_.begin(), rows_.end(), std::pair{priority, row_t{0}});
  if (found == rows_.end() || found->first != priority) {
    const row_t row = free_.empty() ? static_cast<row_t>(rows_.size()) : free_.back();
    pods_.grow(row + 1);
    found = rows_.insert(found, {priority, row});
    if (!free_.empty()) free_.pop_back();
  }
  last_ = static_cast<std::size_t>(found - rows_.begin());
}

GANGSCHED_INLINE void priority_table::sweep() {
  free_.reserve(rows_.size() + free_.size());
  last_ = 0;
  std::erase_if(rows_, [&](const auto& one) {
    const bool unused = pods_[one.second] == 0;
    if (unused) free_.push_back(one.second);
    return unused;
  });
}

GANGSCHED_INLINE std::optional<std::int32_t> priority_table::lowest() const noexcept {
  for (const auto& [priority, row] : rows_) {
    if (pods_[row] != 0) return priority;
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
