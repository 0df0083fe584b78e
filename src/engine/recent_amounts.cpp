#include "gangsched/engine/recent_amounts.hpp"

#include <algorithm>

#include "gangsched/engine/amount_memory.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// As wide as may be: nothing is known of a block.
inline constexpr amount_range any_amount{.least_allocatable = -amount_range::infinite,
                                         .most_allocatable = amount_range::infinite,
                                         .least_used = -amount_range::infinite,
                                         .most_used = amount_range::infinite,
                                         .least_free = -amount_range::infinite,
                                         .most_free = amount_range::infinite,
                                         .least_share = 0.0,
                                         .most_share = 1.0};
inline constexpr amount_range any_amounts[] = {any_amount, any_amount};  // by block

}  // namespace detail

GANGSCHED_INLINE bool recent_amounts::find(const model::cluster_state& state, std::span<const row_t> nodes,
                                           window& out) {
  sync(state);
  if (next_ - round_ + nodes.size() > places) start_over(views_.size());
  std::array<std::uint32_t, amount_block::rows> number;
  std::uint32_t first = ~std::uint32_t{0}, last = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::uint32_t its = number_[nodes[i]];
    if (its < round_) its = put_down(state, nodes[i]);
    number[i] = its;
    first = std::min(first, its), last = std::max(last, its);
  }
  const std::size_t size = std::size_t{last - first} + 1;
  constexpr std::size_t wider = 4;  // a place of a block costs about a fourth of a node that is asked about by itself
  if (size > std::min(amount_block::rows, wider * nodes.size())) return false;
  for (std::size_t i = 0; i < nodes.size(); ++i) out.at[i] = static_cast<std::uint8_t>(number[i] - first);
  out.columns = views_, out.first = first - round_, out.size = size;
  return true;
}

GANGSCHED_INLINE void recent_amounts::sync(const model::cluster_state& state) {
  const std::size_t kinds = std::min<std::size_t>(state.kinds.count(), most_kinds);
  if (!stale_.read(state, amounts, [](reads) { return true; })) {
    stale_.start(state);
    start_over(kinds);
  }
  if (number_.size() < state.nodes.rows.count()) number_.resize(state.nodes.rows.count(), 0);
  if (!stale_.empty()) {
    stale_.take([&](row_t row, reads) {
      if (row < number_.size()) number_[row] = 0;
    });
  }
  stale_.settle(state.log);
  if (kinds != views_.size()) start_over(kinds);
}

/// Nothing is put down.
GANGSCHED_INLINE void recent_amounts::start_over(std::size_t kinds) {
  if (kinds != views_.size()) {
    values_.assign(kinds * columns * length, 0.0);
    lacking_.resize(kinds);
    views_.resize(kinds);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      double* const first = values_.data() + kind * columns * length;
      std::fill_n(first + allocatable * length, length, 1.0);  // (what lies after the last node is read, and divides)
      views_[kind] = {
          first + allocatable * length, first + used * length, first + free * length,   first + inverse * length,
          first + share * length,       lacking_[kind].data(), &detail::any_amounts[0], true};
    }
  }
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    lacking_[kind].fill(0);
    views_[kind].exact = true;
  }
  if (next_ > ~std::uint32_t{0} - 4 * places) {  // numbers begin anew
    std::fill(number_.begin(), number_.end(), 0);
    next_ = 0;
  }
  next_ += static_cast<std::uint32_t>(places);  // (none is 0)
  round_ = next_;
}

GANGSCHED_INLINE std::uint32_t recent_amounts::put_down(const model::cluster_state& state, row_t node) {
  const std::int64_t* const has_of = state.nodes.allocatable.row(node);
  const std::int64_t* const uses_of = state.nodes.used.row(node);
  const std::size_t at = next_ - round_;
  double* place = values_.data() + at;
  for (std::size_t kind = 0; kind < views_.size(); ++kind, place += columns * length) {
    const auto has = static_cast<double>(has_of[kind]), uses = static_cast<double>(uses_of[kind]);
    place[allocatable * length] = has;
    place[used * length] = uses;
    place[free * length] = has - uses;
    place[inverse * length] = has == 0.0 ? 0.0 : 1.0 / has;
    place[share * length] = has == 0.0 ? 0.0 : uses > has ? 1.0 : uses / has;
    if (has == 0.0) ++lacking_[kind][at / amount_block::rows];
    if (has > double{amount_block::limit} || uses > double{amount_block::limit}) views_[kind].exact = false;
  }
  return number_[node] = next_++;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
