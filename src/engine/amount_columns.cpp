#include "gangsched/engine/amount_columns.hpp"

#include <algorithm>

#include "gangsched/core/lanes.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

inline bool inexact(double amount) noexcept {
  constexpr auto limit = static_cast<double>(amount_block::limit);
  return amount > limit || amount < -limit;
}

/// A node with these amounts is in it, too.
inline void widen(amount_range& range, double allocatable, double used, double free, double share) noexcept {
  const auto take = [](double& least, double& most, double value) {
    least = std::min(least, value), most = std::max(most, value);
  };
  take(range.least_allocatable, range.most_allocatable, allocatable);
  take(range.least_used, range.most_used, used);
  take(range.least_free, range.most_free, free);
  take(range.least_share, range.most_share, share);
}

/// What is in @p more is in it, too.
inline void widen(amount_range& range, const amount_range& more) noexcept {
  widen(range, more.least_allocatable, more.least_used, more.least_free, more.least_share);
  widen(range, more.most_allocatable, more.most_used, more.most_free, more.most_share);
}

/// After so many changes the ranges of a block are made anew: they only get wider by them.
inline constexpr std::uint8_t changes_before_narrowing = 32;

/// The least and the most of some places of a block.
struct find_range {
  template <std::size_t N>
  GANGSCHED_LANES static void run(const double* of, std::uint64_t places, double* least, double* most) {
    using some = lanes<N>;
    some largest = some::of(-amount_range::infinite), opposite = largest;  // of the negated
    lane_bits<N> among{places};
    for (std::size_t i = 0; i < amount_block::rows; i += N) {
      const some value = some::load(of + i);
      const auto in = among.take();
      largest = larger(largest, select(in, value, some::of(-amount_range::infinite)));
      opposite = larger(opposite, select(in, some::of(0.0) - value, some::of(-amount_range::infinite)));
    }
    *most = largest_of(largest);
    *least = 0.0 - largest_of(opposite);
  }
};

}  // namespace detail

GANGSCHED_INLINE void amount_columns::start(const model::cluster_state& state, const row_order& order) {
  columns_.clear();
  is_node_.clear();
  changes_.clear();
  grow(state);
  for (std::size_t place = 0; place < order.size(); ++place) is_node_[place] = state.nodes.alive(order.row(place));
  for (resource_kind kind = 0; kind < columns_.size(); ++kind) {
    for (std::size_t place = 0; place < order.size(); ++place) {
      if (is_node_[place] == 0) continue;
      const row_t row = order.row(place);
      put(columns_[kind], place, static_cast<double>(state.nodes.allocatable.at(row, kind)),
          static_cast<double>(state.nodes.used.at(row, kind)));
    }
  }
  show();
  for (std::size_t block = 0; block < changes_.size(); ++block) narrow(block);
  narrow_all();
}

/// New places are no nodes yet, and new kinds what no node has.
GANGSCHED_INLINE void amount_columns::grow(const model::cluster_state& state) {
  const std::size_t places = padded(state.nodes.rows.count());
  if (columns_.size() == state.kinds.count() && is_node_.size() >= places) return;
  is_node_.resize(std::max(is_node_.size(), places), 0);
  changes_.resize(is_node_.size() / amount_block::rows, 0);
  const std::size_t known = columns_.size();
  columns_.resize(state.kinds.count());
  for (std::size_t kind = 0; kind < columns_.size(); ++kind) {
    column& one = columns_[kind];
    one.allocatable.resize(is_node_.size(), 1.0);
    one.used.resize(is_node_.size(), 0.0);
    one.free.resize(is_node_.size(), 1.0);
    one.inverse.resize(is_node_.size(), 1.0);
    one.share.resize(is_node_.size(), 0.0);
    one.lacking.resize(changes_.size(), 0);
    one.ranges.resize(changes_.size());
    for (std::size_t place = 0; kind >= known && place < is_node_.size(); ++place)
      if (is_node_[place] != 0) set(one, place, 0, 0, true);
  }
  show();
}

GANGSCHED_INLINE void amount_columns::update(const model::cluster_state& state, row_t row, std::size_t place) {
  grow(state);
  if (place >= is_node_.size()) return;  // of a node that was added in a trial and taken back
  const bool is_node = state.nodes.alive(row);
  const bool there = row < state.nodes.rows.count();
  for (resource_kind kind = 0; kind < columns_.size(); ++kind) {
    set(columns_[kind], place, there ? state.nodes.allocatable.at(row, kind) : 0,
        there ? state.nodes.used.at(row, kind) : 0, is_node);
  }
  is_node_[place] = is_node;
  const std::size_t block = place / amount_block::rows;
  if (++changes_[block] >= detail::changes_before_narrowing) narrow(block);
  if (narrowed_ >= changes_.size()) narrow_all();
}

GANGSCHED_INLINE void amount_columns::set(column& of, std::size_t place, std::int64_t allocatable, std::int64_t used,
                                          bool is_node) {
  const double had = of.allocatable[place], used_before = of.used[place];
  const double has = is_node ? static_cast<double>(allocatable) : 1.0;
  const double uses = is_node ? static_cast<double>(used) : 0.0;
  if (had == has && used_before == uses && is_node == (is_node_[place] != 0)) return;
  const bool was_exact = of.inexact == 0;
  put(of, place, has, uses);
  if (is_node) {
    detail::widen(of.ranges[place / amount_block::rows], has, uses, of.free[place], of.share[place]);
    detail::widen(of.range_of_all, has, uses, of.free[place], of.share[place]);
  }
  if (was_exact != (of.inexact == 0)) show();
}

GANGSCHED_INLINE void amount_columns::put(column& of, std::size_t place, double has, double uses) {
  const double had = of.allocatable[place], used_before = of.used[place];
  const bool was_inexact = detail::inexact(had) || detail::inexact(used_before);
  const bool is_inexact = detail::inexact(has) || detail::inexact(uses);
  of.inexact = of.inexact + (is_inexact ? 1 : 0) - (was_inexact ? 1 : 0);
  if (had != has) {
    std::uint8_t& lacking = of.lacking[place / amount_block::rows];
    lacking = static_cast<std::uint8_t>(lacking + (has == 0.0 ? 1 : 0) - (had == 0.0 ? 1 : 0));
    if (has == 0.0) of.lacking_of_all = 1;
    of.allocatable[place] = has;
    of.inverse[place] = has == 0.0 ? 0.0 : 1.0 / has;
  }
  of.used[place] = uses;
  of.free[place] = has - uses;
  of.share[place] = has == 0.0 ? 0.0 : uses > has ? 1.0 : uses / has;
}

GANGSCHED_INLINE void amount_columns::narrow(std::size_t block) {
  changes_[block] = 0;
  ++narrowed_;
  const std::size_t first = block * amount_block::rows;
  std::uint64_t nodes = 0;
  for (std::size_t at = 0; at < amount_block::rows; ++at) nodes |= std::uint64_t{is_node_[first + at]} << at;
  for (column& of : columns_) {
    amount_range& made = of.ranges[block];
    const auto find = [&](const std::vector<double>& values, double& least, double& most) {
      run_lanes<detail::find_range>(values.data() + first, nodes, &least, &most);
    };
    find(of.allocatable, made.least_allocatable, made.most_allocatable);
    find(of.used, made.least_used, made.most_used);
    find(of.free, made.least_free, made.most_free);
    find(of.share, made.least_share, made.most_share);
  }
}

/// From the ranges of the blocks: as often as those of one block are made for each block, so that its cost is theirs.
GANGSCHED_INLINE void amount_columns::narrow_all() {
  narrowed_ = 0;
  for (column& of : columns_) {
    of.range_of_all = {};
    for (const amount_range& one : of.ranges)
      if (one.least_allocatable <= one.most_allocatable) detail::widen(of.range_of_all, one);
    of.lacking_of_all = std::any_of(of.lacking.begin(), of.lacking.end(), [](auto rows) { return rows != 0; }) ? 1 : 0;
  }
}

GANGSCHED_INLINE void amount_columns::permute(std::size_t first, std::span<const row_t> from) {
  const auto move = [&](auto& all) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    const std::remove_reference_t<decltype(all)> before(begin, begin + static_cast<std::ptrdiff_t>(from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) all[first + i] = before[from[i] - first];
  };
  const std::size_t from_block = first / amount_block::rows;
  const std::size_t to_block = (first + from.size() + amount_block::rows - 1) / amount_block::rows;
  move(is_node_);
  for (column& one : columns_) {
    move(one.allocatable), move(one.used), move(one.free), move(one.inverse), move(one.share);
    for (std::size_t block = from_block; block < to_block; ++block) {
      const auto its = one.allocatable.begin() + static_cast<std::ptrdiff_t>(block * amount_block::rows);
      one.lacking[block] = static_cast<std::uint8_t>(std::count(its, its + amount_block::rows, 0.0));
    }
  }
  for (std::size_t block = from_block; block < to_block; ++block) narrow(block);
}

GANGSCHED_INLINE void amount_columns::show() {
  views_.clear();
  views_of_all_.clear();
  for (const column& one : columns_) {
    const bool exact = one.inexact == 0;
    views_.push_back({one.allocatable.data(), one.used.data(), one.free.data(), one.inverse.data(), one.share.data(),
                      one.lacking.data(), one.ranges.data(), exact});
    amount_column& all = views_of_all_.emplace_back();
    all.lacking = &one.lacking_of_all, all.ranges = &one.range_of_all, all.exact = exact;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
