#include "gangsched/engine/entry_order.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void entry_order::enter(row_t group, std::vector<row_t> members) {
  sort(group, members);
  if (entered_.size() < state_->pods.rows.count()) entered_.resize(state_->pods.rows.count());
  for (const row_t pod : members) {
    if (entered_[pod] == 0) entered_[pod] = ++entries_;
  }
}

GANGSCHED_INLINE void entry_order::sort(row_t group, std::vector<row_t>& members) const {
  row_t completing = state_->groups.first[group];
  for (std::uint32_t i = 1; i < state_->groups.min_count(group) && completing != no_row; ++i) {
    completing = state_->pods.next_in_group[completing];
  }
  std::vector<std::pair<std::uint64_t, row_t>> entries;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const row_t pod = members[i];
    if (gates_->rejects_pod(pod)) continue;
    const std::uint64_t known = pod < entered_.size() ? entered_[pod] : 0;
    entries.push_back({known != 0 ? known : entries_ + (pod == completing ? 1 : 2 + i), pod});
  }
  std::sort(entries.begin(), entries.end());
  members.clear();
  for (const auto& [entry, pod] : entries) members.push_back(pod);
}

GANGSCHED_INLINE saved_entries entry_order::save() const {
  saved_entries made;
  for (row_t pod = 0; pod < entered_.size(); ++pod) {
    if (entered_[pod] != 0) made.entered.emplace_back(pod, entered_[pod]);
  }
  made.count = entries_;
  return made;
}

GANGSCHED_INLINE std::optional<error> entry_order::restore(const saved_entries& from) {
  std::vector<std::uint64_t> made(state_->pods.rows.count());
  for (const auto& [pod, number] : from.entered) {
    if (pod >= made.size()) return model::damaged("the order of entries");
    made[pod] = number;
  }
  entered_ = std::move(made);
  entries_ = from.count;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
