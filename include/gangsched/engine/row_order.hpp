#pragma once
#include <cstddef>
#include <vector>

#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Places for rows, other than by number: nodes that are alike may stand side by side. Rows that come later stand after the others.
class row_order {
 public:
  /// By number. O(rows).
  void reset(std::size_t rows) {
    row_.resize(rows);
    for (std::size_t place = 0; place < rows; ++place) row_[place] = static_cast<row_t>(place);
    place_ = row_;
  }
  /// There are so many now, if that is more.
  void grow(std::size_t rows) {
    for (std::size_t row = row_.size(); row < rows; ++row)
      row_.push_back(static_cast<row_t>(row)), place_.push_back(static_cast<row_t>(row));
  }
  /// Every row once. O(rows).
  void set(std::vector<row_t> by_place) {
    row_ = std::move(by_place);
    for (std::size_t place = 0; place < row_.size(); ++place) place_[row_[place]] = static_cast<row_t>(place);
  }
  [[nodiscard]] std::size_t size() const noexcept { return row_.size(); }
  [[nodiscard]] row_t row(std::size_t place) const noexcept { return row_[place]; }
  [[nodiscard]] row_t place(row_t row) const noexcept { return place_[row]; }

 private:
  std::vector<row_t> row_, place_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
