#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// For each row of a node the reasons of its last rejection, and for each list of reasons the number of rows that have it. A list that no
/// row has any more is dropped.
class row_reasons {
 public:
  /// A mark whose meaning the user of this class defines, and the reasons, sorted.
  using words = std::pair<std::uint8_t, std::vector<std::string>>;

  void clear() noexcept {
    of_.clear();
    rows_.clear();
  }
  /// O(reasons · log different ones).
  void set(row_t row, words said) {
    drop(row);
    if (of_.size() <= row) of_.resize(std::size_t{row} + 1);
    auto& shared = *rows_.try_emplace(std::move(said), 0).first;
    ++shared.second;
    of_[row] = &shared;
  }
  void drop(row_t row) {
    if (row >= of_.size() || of_[row] == nullptr) return;
    if (auto* const old = std::exchange(of_[row], nullptr); --old->second == 0) rows_.erase(rows_.find(old->first));
  }
  /// Null if the row has no reasons.
  [[nodiscard]] const words* find(row_t row) const noexcept {
    return row < of_.size() && of_[row] != nullptr ? &of_[row]->first : nullptr;
  }
  /// Calls visit(words, rows).
  template <class Visit>
  void each(const Visit& visit) const {
    for (const auto& [said, rows] : rows_) visit(said, rows);
  }

 private:
  using shared_rows = std::map<words, std::size_t>;
  shared_rows rows_;
  std::vector<shared_rows::value_type*> of_;  ///< by row
};

}  // namespace gangsched::inline GANGSCHED_ABI
