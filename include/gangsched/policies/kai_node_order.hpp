#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A node as a task of KAI's sees it.
struct kai_rated_node {
  bool fits_now = false;   ///< as things are, without evictions
  bool apart = false;      ///< it has no GPUs, and the task needs none
  double free = 0;         ///< of what the task needs, GPUs or cpu
  std::size_t number = 0;  ///< in the order of nodes
  node_id id = {};

  /// Whether a task prefers it to @p other: nodes where it fits without evictions, nodes without GPUs if it needs none, the fullest first.
  [[nodiscard]] bool is_before(const kai_rated_node& other) const noexcept {
    if (fits_now != other.fits_now) return fits_now;
    if (apart != other.apart) return apart;
    return free != other.free ? free < other.free : number < other.number;
  }
};

/// Nodes in a task's order of preference, updated when one of them changes.
class kai_node_order {
 public:
  kai_node_order() = default;
  /// @p all with numbers that differ. O(nodes · log nodes).
  explicit kai_node_order(std::vector<kai_rated_node> all) : all_{std::move(all)} {
    std::size_t rows = 0;
    for (const kai_rated_node& one : all_) rows = std::max<std::size_t>(rows, one.id.row + std::size_t{1});
    by_row_.resize(rows);
    for (const kai_rated_node& one : all_) by_row_[one.id.row] = one;
    sort(all_);
  }
  static void sort(std::vector<kai_rated_node>& all) {
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.is_before(b); });
  }

  [[nodiscard]] const std::vector<kai_rated_node>& all() const noexcept { return all_; }
  /// Its number in the order of nodes. @pre the node is one of them
  [[nodiscard]] std::size_t number_of(node_id node) const { return by_row_[node.row].number; }
  /// Rates one of them again, by `id`, with its number. O(log nodes), and O(places that it moves).
  void follow(const kai_rated_node& next) {
    const auto is_before = [](const kai_rated_node& a, const kai_rated_node& b) { return a.is_before(b); };
    kai_rated_node& known = by_row_[next.id.row];
    const auto from = std::lower_bound(all_.begin(), all_.end(), known, is_before);
    const auto to = std::lower_bound(all_.begin(), all_.end(), next, is_before);
    *from = next;
    if (to > from)
      std::rotate(from, from + 1, to);
    else
      std::rotate(to, from, from + 1);
    known = next;
  }

 private:
  std::vector<kai_rated_node> all_ = {};
  std::vector<kai_rated_node> by_row_ = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI
