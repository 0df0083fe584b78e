#pragma once
#include <array>
#include <span>
#include <vector>

#include "gangsched/engine/stale_rows.hpp"
#include "gangsched/framework/amount_block.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The amounts of nodes that were asked about lately, in the order in which that was: indexes of several classes ask about the same nodes
/// after they have changed, and find them side by side, as a block. A node's amounts are put down once for all of them; a tentative cursor
/// tells when they have changed again. Of bounded size: what has come to its end begins anew.
class GANGSCHED_API recent_amounts {
 public:
  /// The block that the nodes are in that were asked for, and maybe some others. Valid until the next call.
  struct window {
    std::span<const amount_column> columns;
    std::size_t first, size;
    /// Of the nodes in the order in which they were asked for: their places in it.
    std::array<std::uint8_t, amount_block::rows> at;
  };
  /// Where those nodes are, at most `amount_block::rows`. False if they are so far apart that one after the other is less work. O(nodes),
  /// and O(kinds) for each that is put down now.
  [[nodiscard]] bool find(const model::cluster_state& state, std::span<const row_t> nodes, window& out);
  /// Takes the memory for that, so that no later call does.
  void make_room(const model::cluster_state& state) { sync(state); }
  void forget() noexcept { stale_.forget(); }

 private:
  static constexpr std::size_t places = 2 * amount_block::rows;
  static constexpr std::size_t most_kinds = 16;  // those of higher numbers are in no block
  static constexpr std::size_t past_end = 8;     // what the widest registers read
  /// Of a kind: these columns of `values_`, one after the other.
  enum column : std::size_t { allocatable, used, free, inverse, share, columns };
  static constexpr std::size_t length = places + past_end;
  using lacking_nodes = std::array<std::uint8_t, places / amount_block::rows>;  // by block
  void sync(const model::cluster_state& state);
  void start_over(std::size_t kinds);
  [[nodiscard]] std::uint32_t put_down(const model::cluster_state& state, row_t node);

  stale_rows stale_;
  std::vector<double> values_;          // by kind, column and place
  std::vector<lacking_nodes> lacking_;  // by kind
  std::vector<amount_column> views_;    // likewise
  std::vector<std::uint32_t> number_;   // by row: place and round in which it was put down; 0: it has changed since
  std::uint32_t round_ = 0, next_ = 0;  // the first number of this round, and the next
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/recent_amounts.cpp"
#endif
