#include "gangsched/engine/amount_columns.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

inline bool inexact(double amount) noexcept {
  constexpr auto limit = static_cast<double>(amount_block::limit);
  return amount > limit || amount < -limit;
}

}  // namespace detail

GANGSCHED_INLINE void amount_columns::start(const model::cluster_state& state) {
  columns_.clear();
  is_node_.clear();
  grow(state);
  for (row_t row = 0; row < state.nodes.rows.count(); ++row) update(state, row);
}

/// New rows are no nodes yet, and new kinds what no node has.
GANGSCHED_INLINE void amount_columns::grow(const model::cluster_state& state) {
  const std::size_t rows = padded(state.nodes.rows.count());
  if (columns_.size() == state.kinds.count() && is_node_.size() >= rows) return;
  is_node_.resize(std::max(is_node_.size(), rows), 0);
  const std::size_t known = columns_.size();
  columns_.resize(state.kinds.count());
  for (std::size_t kind = 0; kind < columns_.size(); ++kind) {
    column& one = columns_[kind];
    one.allocatable.resize(is_node_.size(), 1.0);
    one.used.resize(is_node_.size(), 0.0);
    one.inverse.resize(is_node_.size(), 1.0);
    one.share.resize(is_node_.size(), 0.0);
    one.lacking.resize(is_node_.size() / amount_block::rows, 0);
    for (std::size_t row = 0; kind >= known && row < is_node_.size(); ++row)
      if (is_node_[row] != 0) set(one, row, 0, 0, true);
  }
  show();
}

GANGSCHED_INLINE void amount_columns::update(const model::cluster_state& state, row_t row) {
  grow(state);
  if (row >= is_node_.size()) return;  // of a node that was added in a trial and taken back
  const bool is_node = state.nodes.alive(row);
  const bool there = row < state.nodes.rows.count();
  for (resource_kind kind = 0; kind < columns_.size(); ++kind) {
    set(columns_[kind], row, there ? state.nodes.allocatable.at(row, kind) : 0,
        there ? state.nodes.used.at(row, kind) : 0, is_node);
  }
  is_node_[row] = is_node;
}

GANGSCHED_INLINE void amount_columns::set(column& of, std::size_t row, std::int64_t allocatable, std::int64_t used,
                                          bool is_node) {
  const double had = of.allocatable[row];
  const double used_before = of.used[row];
  const double has = is_node ? static_cast<double>(allocatable) : 1.0;
  const double uses = is_node ? static_cast<double>(used) : 0.0;
  if (had == has && used_before == uses) return;
  const bool was_inexact = detail::inexact(had) || detail::inexact(used_before);
  const bool is_inexact = detail::inexact(has) || detail::inexact(uses);
  of.inexact = of.inexact + (is_inexact ? 1 : 0) - (was_inexact ? 1 : 0);
  if (had != has) {
    std::uint8_t& lacking = of.lacking[row / amount_block::rows];
    lacking = static_cast<std::uint8_t>(lacking + (has == 0.0 ? 1 : 0) - (had == 0.0 ? 1 : 0));
    of.allocatable[row] = has;
    of.inverse[row] = has == 0.0 ? 0.0 : 1.0 / has;
  }
  of.used[row] = uses;
  of.share[row] = has == 0.0 ? 0.0 : uses > has ? 1.0 : uses / has;
  if (was_inexact != is_inexact) show();
}

GANGSCHED_INLINE void amount_columns::show() {
  views_.clear();
  for (const column& one : columns_) {
    views_.push_back({one.allocatable.data(), one.used.data(), one.inverse.data(), one.share.data(), one.lacking.data(),
                      one.inexact == 0});
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
