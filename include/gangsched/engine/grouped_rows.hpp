#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/model/column.hpp"

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

/// The feasible rows of a class by group and score: which rows of a group have its best score, and how many do. Rows are in doubly linked
/// lists through one array. A small group is one list, and its best score is searched for when the last row with it leaves; a large
/// group has buckets, one list for each score.
class GANGSCHED_API grouped_rows {
 public:
  /// Takes all rows out; @p scores: each is below. Keeps the memory.
  void reset(std::size_t scores);
  /// Makes room for @p rows rows. Returns whether there was too little.
  bool grow(row_t rows) {
    if (links_.size() >= rows) return false;
    links_.resize(rows);
    return true;
  }
  /// Prefetches the data of a row, if it has any: rows that are in no group may have none.
  void prefetch(row_t row) const noexcept {
    if (row < links_.size()) gangsched::detail::prefetch(&links_[row]);
  }
  /// O(1); O(groups) for the first row of one that had none, O(scores) where a group has got many.
  void insert(row_t row, std::uint32_t group, std::uint32_t score);
  /// O(1), or O(few rows).
  void erase(row_t row, std::uint32_t group) noexcept;
  /// A row of the group has another score now. O(1), or O(few rows).
  void rescore(row_t row, std::uint32_t group, std::uint32_t score) noexcept;

  /// The groups that have rows, ascending.
  [[nodiscard]] std::span<const std::uint32_t> populated() const noexcept { return populated_; }
  /// How many rows groups have, by group.
  [[nodiscard]] std::span<const std::uint32_t> population() const noexcept { return population_; }
  /// Moves on whenever that may have changed.
  [[nodiscard]] std::uint64_t moves() const noexcept { return moves_; }
  /// The best score of a group that has rows, and how many have it.
  [[nodiscard]] std::uint32_t best(std::uint32_t group) const noexcept { return best_[group].score; }
  [[nodiscard]] std::uint32_t best_count(std::uint32_t group) const noexcept { return best_[group].count; }
  /// Shows the rows that have it.
  template <class Visit>
  void each_best(std::uint32_t group, Visit&& visit) const {
    const std::uint32_t best = best_[group].score;
    const bool alike = buckets_of_[group] != none;
    row_t row = alike ? buckets_[buckets_of_[group]].heads[best] : head_[group];
    for (; row != no_row; row = links_[row].next) {
      if (alike || links_[row].score == best) visit(row);
    }
  }
  /// Shows all rows of a group with their scores. O(rows), and O(scores) where they are in buckets.
  template <class Visit>
  void each(std::uint32_t group, Visit&& visit) const {
    const auto follow = [&](row_t row) {
      for (; row != no_row; row = links_[row].next) visit(row, links_[row].score);
    };
    if (buckets_of_[group] == none) return follow(head_[group]);
    for (const row_t head : buckets_[buckets_of_[group]].heads) follow(head);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  struct link {
    row_t next = no_row, prev = no_row;
    std::uint32_t score = 0;
  };
  struct top {
    std::uint32_t score = 0, count = 0;
  };
  struct buckets {
    explicit buckets(std::size_t scores) : heads(scores, no_row), sizes(scores, 0), set(scores) {}
    std::vector<row_t> heads;          // by score
    std::vector<std::uint32_t> sizes;  // likewise
    score_set set;
  };
  void push(row_t& head, row_t row, std::uint32_t score) noexcept;
  void put_into(buckets& its, row_t row, std::uint32_t score) noexcept;
  void take_from(buckets& its, row_t row) noexcept;
  void give_buckets(std::uint32_t group);
  void find_best(std::uint32_t group) noexcept;

  std::size_t scores_ = 0;
  std::uint64_t moves_ = 0;
  // So many rows are one list: so all buckets take no more than 512 bytes a row, but for groups of 24.
  std::uint32_t few_ = 0;
  std::vector<link> links_;                // by row
  std::vector<std::uint32_t> populated_;   // the groups that have rows
  std::vector<std::uint32_t> population_;  // by group
  std::vector<top> best_;                  // likewise
  std::vector<row_t> head_;                // likewise: of those without buckets
  std::vector<std::uint32_t> buckets_of_;  // likewise: which, or none
  std::vector<buckets> buckets_;
  std::vector<std::uint32_t> spare_;  // those of `buckets_` without a group: empty, kept for their memory
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/grouped_rows.cpp"
#endif
