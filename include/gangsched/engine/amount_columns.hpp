#pragma once
#include <span>
#include <vector>

#include "gangsched/engine/row_order.hpp"
#include "gangsched/framework/amount_block.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The amounts of all nodes, one column per kind, as blocks need them, by place. The owner reports which rows changed.
class GANGSCHED_API amount_columns {
 public:
  /// @p rows rounded up to whole blocks: how many places a column has.
  [[nodiscard]] static constexpr std::size_t padded(std::size_t rows) noexcept {
    return (rows + amount_block::rows - 1) / amount_block::rows * amount_block::rows;
  }
  /// All rows anew, in this order. O(nodes · kinds).
  void start(const model::cluster_state& state, const row_order& order);
  /// Updates one row. Rows and kinds may have been added since. Now and then the ranges of the row's block are narrowed again, so that
  /// a call costs O(kinds) on average.
  void update(const model::cluster_state& state, row_t row, std::size_t place);

  /// Reorders places: what was at from[i] moves to @p first + i. Both name the same set of places. O(from · kinds).
  void permute(std::size_t first, std::span<const row_t> from);

  [[nodiscard]] std::span<const amount_column> by_kind() const noexcept { return views_; }
  /// All nodes as if they were the first block: of that there are only ranges, and whether all have a kind.
  [[nodiscard]] std::span<const amount_column> of_all() const noexcept { return views_of_all_; }

 private:
  struct column {
    std::vector<double> allocatable, used, free, inverse, share;
    std::vector<std::uint8_t> lacking;
    std::vector<amount_range> ranges;
    amount_range range_of_all;
    std::uint8_t lacking_of_all = 0;  // 1: some node may lack it
    std::size_t inexact = 0;          // places with an amount that is too large
  };
  void grow(const model::cluster_state& state);
  void set(column& of, std::size_t place, std::int64_t allocatable, std::int64_t used, bool is_node);
  void put(column& of, std::size_t place, double has, double uses);
  void narrow(std::size_t block);
  void narrow_all();
  void show();

  std::vector<column> columns_;
  std::vector<amount_column> views_, views_of_all_;
  std::vector<std::uint8_t> is_node_;  // by place
  std::vector<std::uint8_t> changes_;  // by block: since its ranges were made
  std::size_t narrowed_ = 0;           // blocks, since the ranges of all were made
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/amount_columns.cpp"
#endif
