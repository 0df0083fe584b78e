#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A dense set of rows, one bit each, walked in row order. Operations on one row are O(1), on the set O(rows / 64).
class row_set {
 public:
  row_set() = default;
  explicit row_set(row_t rows) { resize(rows); }

  /// Rows 0 … @p rows - 1 may be members from now on. Members below stay, others are dropped.
  void resize(row_t rows) {
    words_.resize((std::size_t{rows} + 63) / 64, 0);
    rows_ = rows;
    // Bits past the end stay zero, so that growing again brings nothing back and count() needs no mask.
    if (rows % 64 != 0) words_.back() &= mask(rows) - 1;
  }
  /// How many rows may be members.
  [[nodiscard]] row_t rows() const noexcept { return rows_; }

  void set(row_t row) noexcept { word(row) |= mask(row); }
  void reset(row_t row) noexcept { word(row) &= ~mask(row); }
  [[nodiscard]] bool test(row_t row) const noexcept {
    GANGSCHED_ASSERT(row < rows_);
    return (words_[row / 64] & mask(row)) != 0;
  }
  /// Removes every member; rows() stays.
  void clear() noexcept { std::fill(words_.begin(), words_.end(), std::uint64_t{0}); }

  [[nodiscard]] row_t count() const noexcept {
    row_t members = 0;
    for (const std::uint64_t bits : words_) members += static_cast<row_t>(std::popcount(bits));
    return members;
  }
  [[nodiscard]] bool empty() const noexcept {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t bits) { return bits == 0; });
  }
  /// The lowest member, or no_row.
  [[nodiscard]] row_t first() const noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != 0) return row_at(i, words_[i]);
    }
    return no_row;
  }

  /// Calls visit(row) for every member in ascending order. Each word is read once, when the walk reaches it: changes by @p visit in the
  /// same word or before it are not seen, later ones are.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t bits = words_[i]; bits != 0; bits &= bits - 1) visit(row_at(i, bits));
    }
  }

  /// Keeps only members that are also in @p other; rows beyond the end of @p other are not in it.
  row_set& and_with(const row_set& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= i < other.words_.size() ? other.words_[i] : 0;
    return *this;
  }

  friend bool operator==(const row_set&, const row_set&) noexcept = default;

 private:
  static constexpr std::uint64_t mask(row_t row) noexcept { return std::uint64_t{1} << (row % 64); }
  static row_t row_at(std::size_t index, std::uint64_t bits) noexcept {
    return static_cast<row_t>(index * 64 + static_cast<unsigned>(std::countr_zero(bits)));
  }
  std::uint64_t& word(row_t row) noexcept {
    GANGSCHED_ASSERT(row < rows_);
    return words_[row / 64];
  }

  std::vector<std::uint64_t> words_;
  row_t rows_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI
