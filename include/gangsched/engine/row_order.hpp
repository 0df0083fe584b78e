#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Places for rows, other than by number: equal nodes may be neighbours. Rows that are added later stand after the others.
class row_order {
 public:
  /// By number. O(rows).
  void reset(std::size_t rows) {
    row_.resize(rows);
    for (std::size_t place = 0; place < rows; ++place) row_[place] = static_cast<row_t>(place);
    place_ = row_;
    ++version_;
  }
  /// There are so many now, if that is more.
  void grow(std::size_t rows) {
    for (std::size_t row = row_.size(); row < rows; ++row)
      row_.push_back(static_cast<row_t>(row)), place_.push_back(static_cast<row_t>(row));
  }
  /// The row at place from[i] will be at @p first + i; both are the same set of places. O(from).
  void permute(std::size_t first, std::span<const row_t> from) {
    const auto begin = row_.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<row_t> before(begin, begin + static_cast<std::ptrdiff_t>(from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) {
      row_[first + i] = before[from[i] - first];
      place_[row_[first + i]] = static_cast<row_t>(first + i);
    }
    ++version_;
  }
  /// Changes when rows that had a place get others.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] std::size_t size() const noexcept { return row_.size(); }
  [[nodiscard]] row_t row(std::size_t place) const noexcept { return row_[place]; }
  [[nodiscard]] row_t place(row_t row) const noexcept { return place_[row]; }

 private:
  std::vector<row_t> row_, place_;
  std::uint64_t version_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
