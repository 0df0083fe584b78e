#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The set of scores that some row has, with its maximum in O(1): a tree of 64-bit words, three levels, up to 2^18 scores.
class score_set {
 public:
  static constexpr std::int64_t limit = std::int64_t{1} << 18;

  explicit score_set(std::size_t scores = 0) : words_((scores + 63) / 64), upper_((words_.size() + 63) / 64) {}
  void set(std::size_t score) noexcept {
    words_[score >> 6] |= bit(score);
    upper_[score >> 12] |= bit(score >> 6);
    top_ |= bit(score >> 12);
  }
  void reset(std::size_t score) noexcept {
    if ((words_[score >> 6] &= ~bit(score)) != 0) return;
    if ((upper_[score >> 12] &= ~bit(score >> 6)) != 0) return;
    top_ &= ~bit(score >> 12);
  }
  void clear() noexcept {
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(upper_.begin(), upper_.end(), 0);
    top_ = 0;
  }
  /// The set must not be empty.
  [[nodiscard]] std::size_t max() const noexcept {
    const std::size_t a = highest(top_);
    const std::size_t b = (a << 6) | highest(upper_[a]);
    return (b << 6) | highest(words_[b]);
  }

 private:
  static constexpr std::uint64_t bit(std::size_t i) noexcept { return std::uint64_t{1} << (i & 63); }
  static std::size_t highest(std::uint64_t word) noexcept {
    return 63u - static_cast<std::size_t>(std::countl_zero(word));
  }
  std::vector<std::uint64_t> words_, upper_;
  std::uint64_t top_ = 0;
};

/// The feasible rows of one group, by score: a bucket is a doubly linked list through an array that all groups of the class share,
/// so that moving a row never allocates.
struct bucket_links {
  struct link {
    row_t next = no_row, prev = no_row;
  };
  std::vector<link> of;
  void grow(row_t rows) {
    if (of.size() < rows) of.resize(rows);
  }
  [[nodiscard]] row_t next(row_t row) const noexcept { return of[row].next; }
};

class buckets {
 public:
  explicit buckets(std::size_t scores) : heads_(scores, no_row), sizes_(scores, 0), set_(scores) {}

  [[nodiscard]] std::uint32_t population() const noexcept { return population_; }
  /// Takes all rows out; keeps the memory.
  void clear() noexcept {
    std::fill(heads_.begin(), heads_.end(), no_row);
    std::fill(sizes_.begin(), sizes_.end(), 0);
    set_.clear();
    population_ = 0;
  }
  /// The best score; there must be a row.
  [[nodiscard]] std::size_t best() const noexcept { return best_; }
  [[nodiscard]] std::uint32_t size(std::size_t score) const noexcept { return sizes_[score]; }
  [[nodiscard]] row_t head(std::size_t score) const noexcept { return heads_[score]; }

  void insert(bucket_links& links, row_t row, std::size_t score) noexcept {
    const row_t head = heads_[score];
    links.of[row] = {head, no_row};
    if (head != no_row)
      links.of[head].prev = row;
    else
      set_.set(score);
    if (population_ == 0 || score > best_) best_ = score;
    heads_[score] = row;
    ++sizes_[score];
    ++population_;
  }
  void erase(bucket_links& links, row_t row, std::size_t score) noexcept {
    const auto [next, prev] = links.of[row];
    if (next != no_row) links.of[next].prev = prev;
    if (prev != no_row)
      links.of[prev].next = next;
    else
      heads_[score] = next;
    --sizes_[score];
    --population_;
    if (heads_[score] != no_row) return;
    set_.reset(score);
    if (score == best_ && population_ != 0) best_ = set_.max();
  }

 private:
  std::vector<row_t> heads_;
  std::vector<std::uint32_t> sizes_;
  score_set set_;
  std::size_t best_ = 0;
  std::uint32_t population_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
