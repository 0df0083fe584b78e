#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/column.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// How many pods of each priority are on nodes: whether preemption can find victims at all.
class GANGSCHED_API priority_table {
 public:
  explicit priority_table(undo_log& undo) : pods_(undo) {}

  /// @p pods more (or less) of this priority. O(log priorities), O(priorities) for a new one.
  void add(std::int32_t priority, std::int32_t pods) {
    if (last_ >= rows_.size() || rows_[last_].first != priority) look_up(priority);
    const row_t row = rows_[last_].second;
    pods_.set(row, pods_[row] + static_cast<std::uint32_t>(pods));
  }
  /// The lowest priority that some pod has. O(priorities).
  [[nodiscard]] std::optional<std::int32_t> lowest() const noexcept;
  /// Drops priorities without pods. @pre no transaction is open. O(priorities).
  void sweep();
  [[nodiscard]] std::size_t known() const noexcept { return rows_.size(); }

 private:
  void look_up(std::int32_t priority);

  std::vector<std::pair<std::int32_t, row_t>> rows_;  ///< by priority
  std::vector<row_t> free_;
  std::size_t last_ = 0;  ///< index of the one that was counted last: usually the next one, too
  column<std::uint32_t> pods_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/priority_table.cpp"
#endif
