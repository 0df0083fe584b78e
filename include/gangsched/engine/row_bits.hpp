#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/lanes.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Some rows, as a bit each: 64 to a word, which is a block of rows (amount_block.hpp).
class row_bits {
 public:
  static constexpr std::size_t rows_in_word = 64;

  /// Words for @p rows rows, none of which is in it.
  void clear(std::size_t rows) { words_.assign((rows + rows_in_word - 1) / rows_in_word, 0); }
  /// Words for @p rows rows, if there are fewer: new rows are not in it.
  void grow(std::size_t rows) {
    const std::size_t words = (rows + rows_in_word - 1) / rows_in_word;
    if (words_.size() < words) words_.resize(words, 0);
  }
  void set(row_t row, bool in) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << row % rows_in_word;
    std::uint64_t& there = words_[row / rows_in_word];
    there = in ? there | bit : there & ~bit;
  }
  /// Puts in what is in @p other, which has no more words. O(words).
  void add(const row_bits& other) noexcept {
    for (std::size_t which = 0; which < other.words_.size(); ++which) words_[which] |= other.words_[which];
  }
  /// The first row that is in both, or no_row; @p other has as many words at least. O(words).
  [[nodiscard]] row_t first_common(const row_bits& other) const noexcept {
    for (std::size_t which = 0; which < words_.size(); ++which) {
      if (const std::uint64_t both = words_[which] & other.words_[which]; both != 0)
        return static_cast<row_t>(which * rows_in_word + static_cast<std::size_t>(std::countr_zero(both)));
    }
    return no_row;
  }
  /// Takes out what is in @p other, which has as many words at least. O(words).
  void remove(const row_bits& other) noexcept {
    for (std::size_t which = 0; which < words_.size(); ++which) words_[which] &= ~other.words_[which];
  }
  [[nodiscard]] bool has(row_t row) const noexcept {
    return row / rows_in_word < words_.size() && (words_[row / rows_in_word] >> row % rows_in_word & 1u) != 0;
  }
  [[nodiscard]] std::size_t words() const noexcept { return words_.size(); }
  [[nodiscard]] std::uint64_t& word(std::size_t which) noexcept { return words_[which]; }
  [[nodiscard]] std::uint64_t word(std::size_t which) const noexcept { return words_[which]; }
  /// How many are in it. O(words).
  [[nodiscard]] std::uint32_t count() const noexcept {
    std::uint32_t all = 0;
    for (const std::uint64_t one : words_) all += static_cast<std::uint32_t>(std::popcount(one));
    return all;
  }
  /// How many are in both; @p other has as many words at least. O(words).
  [[nodiscard]] std::uint32_t count_common(const row_bits& other) const {
    std::uint32_t all = 0;
    run_lanes<count_both>(words_.data(), other.words_.data(), words_.size(), &all);
    return all;
  }
  /// Calls visit(place) for each bit of a word, ascending.
  template <class Visit>
  static void each_place(std::uint64_t word, Visit&& visit) {
    for (; word != 0; word &= word - 1) visit(static_cast<std::size_t>(std::countr_zero(word)));
  }
  /// Calls visit(row) for all, ascending.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t which = 0; which < words_.size(); ++which)
      each_place(words_[which], [&](std::size_t place) { visit(static_cast<row_t>(which * rows_in_word + place)); });
  }

 private:
  /// (Machines that have wide registers count the bits of a word in one step.)
  struct count_both {
    template <std::size_t N>
    GANGSCHED_LANES static void run(const std::uint64_t* a, const std::uint64_t* b, std::size_t words,
                                    std::uint32_t* sum) {
      for (std::size_t i = 0; i < words; ++i) *sum += static_cast<std::uint32_t>(std::popcount(a[i] & b[i]));
    }
  };
  std::vector<std::uint64_t> words_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
