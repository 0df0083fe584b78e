#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "gangsched/model/pod_class.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Bounds of the amounts of one kind on the nodes of a block: no node has less or more. They may be wider than need be, and are reversed
/// (least above most) for a block without nodes. In the integers of the resource, CPU in milli; shares in [0, 1].
struct amount_range {
  double least_allocatable = infinite, most_allocatable = -infinite;
  double least_used = infinite, most_used = -infinite;
  double least_free = infinite, most_free = -infinite;
  double least_share = infinite, most_share = -infinite;
  static constexpr double infinite = __builtin_inf();
};

/// What a filter concludes from a block's ranges: none of the nodes is rejected, all are, or the ranges do not tell.
enum class block_verdict : std::uint8_t { unknown, none_rejected, all_rejected };

/// What nodes have and use of one kind of resource, in blocks. Doubles, so that compilers vectorise plain loops over them.
struct amount_column {
  const double* allocatable = nullptr;
  const double* used = nullptr;
  const double* free = nullptr;           ///< allocatable − used; negative where there is too little
  const double* inverse = nullptr;        ///< 1 / allocatable; 0 where there is none
  const double* share = nullptr;          ///< min(1, used / allocatable); 0 where there is none
  const std::uint8_t* lacking = nullptr;  ///< by block: rows of nodes without the resource
  const amount_range* ranges = nullptr;   ///< by block
  bool exact = false;                     ///< no amount is above `amount_block::limit`
};

/// The amounts of 64 nodes, or of `size()`: results for places from there on, and for empty rows, are ignored. Valid during the call.
class amount_block {
 public:
  static constexpr std::size_t rows = 64;
  /// Amounts up to this (8 TiB in bytes), and percentages of them by `inverse`, are as exact as integers (lanes.hpp).
  static constexpr std::int64_t limit = std::int64_t{1} << 43;

  amount_block(std::span<const amount_column> by_kind, std::size_t first, std::size_t size = rows) noexcept
      : by_kind_(by_kind), first_(first), size_(size) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Whether the amounts of this kind, and @p value too, are exact. A hook that needs an inexact amount returns false.
  [[nodiscard]] bool exact(resource_kind kind, std::int64_t value = 0) const noexcept {
    return kind < by_kind_.size() && by_kind_[kind].exact && value >= -limit && value <= limit;
  }
  /// Whether every node has some of it.
  [[nodiscard]] bool all_have(resource_kind kind) const noexcept {
    return (by_kind_[kind].lacking[first_ / rows] | by_kind_[kind].lacking[(first_ + size_ - 1) / rows]) == 0;
  }
  [[nodiscard]] const amount_range& range(resource_kind kind) const noexcept {
    return by_kind_[kind].ranges[first_ / rows];
  }
  // By place in the block; `rows` of each.
  [[nodiscard]] const double* allocatable(resource_kind kind) const noexcept {
    return by_kind_[kind].allocatable + first_;
  }
  [[nodiscard]] const double* used(resource_kind kind) const noexcept { return by_kind_[kind].used + first_; }
  [[nodiscard]] const double* free(resource_kind kind) const noexcept { return by_kind_[kind].free + first_; }
  [[nodiscard]] const double* inverse(resource_kind kind) const noexcept { return by_kind_[kind].inverse + first_; }
  [[nodiscard]] const double* share(resource_kind kind) const noexcept { return by_kind_[kind].share + first_; }

 private:
  std::span<const amount_column> by_kind_;
  std::size_t first_, size_;
};

/// A block for `filter_block` hooks to judge, and one for `score_block` hooks to rate.
struct filtered_block : amount_block {
  using amount_block::amount_block;
  std::uint64_t rejected = 0;  ///< out: bit i for the i-th node
};
struct scored_block : amount_block {
  using amount_block::amount_block;
  double score[rows];  ///< out: integers in [0, 100]
};

}  // namespace gangsched::inline GANGSCHED_ABI
