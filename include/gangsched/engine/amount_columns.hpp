#pragma once
#include <span>
#include <vector>

#include "gangsched/framework/amount_block.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The amounts of all nodes, a column a kind, as blocks show them. Whoever owns it says which rows changed.
class GANGSCHED_API amount_columns {
 public:
  /// As many rows as blocks have that @p rows rows are in.
  [[nodiscard]] static constexpr std::size_t padded(std::size_t rows) noexcept {
    return (rows + amount_block::rows - 1) / amount_block::rows * amount_block::rows;
  }
  /// All rows anew. O(nodes · kinds).
  void start(const model::cluster_state& state);
  /// A row again; there may be more rows and kinds than before. O(kinds).
  void update(const model::cluster_state& state, row_t row);

  [[nodiscard]] std::span<const amount_column> by_kind() const noexcept { return views_; }

 private:
  struct column {
    std::vector<double> allocatable, used, inverse, share;
    std::vector<std::uint8_t> lacking;
    std::size_t inexact = 0;  // rows with an amount that is too large
  };
  void grow(const model::cluster_state& state);
  void set(column& of, std::size_t row, std::int64_t allocatable, std::int64_t used, bool is_node);
  void show();

  std::vector<column> columns_;
  std::vector<amount_column> views_;
  std::vector<std::uint8_t> is_node_;  // by row
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/amount_columns.cpp"
#endif
