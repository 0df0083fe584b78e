#include "gangsched/engine/node_answers.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <vector>

// In which order `node_answers` has the nodes, so that those that are alike stand side by side.
namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

/// Of more blocks than that only some are put in order at a time: bounds how long a pick takes that does it.
inline constexpr std::size_t most_blocks = 128, some_blocks = 32;

/// In twelve bits: how large an amount (not negative) is, in steps of less than a half. (Finer ones leave too few nodes of a size to tell
/// full ones from empty ones by blocks.)
inline std::uint64_t rough_size(double amount) noexcept {
  return std::bit_cast<std::uint64_t>(amount) >> 51 & 0xfff;  // what is left of the exponent and one bit more
}

/// Of nodes of one group and size each, in turns, the emptiest and the fullest come first: so a block in which one of these ends and
/// another begins has nodes that are about as full.
inline void turn_every_second(std::vector<std::pair<std::uint64_t, row_t>>& standing) {
  bool turn = false;
  for (auto first = standing.begin(); first != standing.end(); turn = !turn) {
    const auto end =
        std::find_if(first, standing.end(), [&](const auto& one) { return one.first >> 32 != first->first >> 32; });
    if (turn) std::reverse(first, end);
    first = end;
  }
}

/// What stood at place from[i] stands at first + i; those are the same places. Nothing happens to what is empty; what has fewer places gets
/// more.
template <class T>
void permute(std::vector<T>& all, std::size_t first, std::span<const row_t> from, const T& more = {}) {
  if (all.empty()) return;
  if (all.size() < first + from.size()) all.resize(first + from.size(), more);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  const std::vector<T> before(begin, begin + static_cast<std::ptrdiff_t>(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) all[first + i] = before[from[i] - first];
}
/// @p first is the first place of a block; places after the last of @p from have no bit.
inline void permute(row_bits& all, std::size_t first, std::span<const row_t> from) {
  constexpr std::size_t bits = row_bits::rows_in_word;
  if (all.words() == 0) return;
  all.grow(first + from.size());
  std::vector<std::uint64_t> before;
  for (std::size_t which = first / bits; which * bits < first + from.size(); ++which) before.push_back(all.word(which));
  for (std::size_t i = 0; i < from.size(); i += bits) {
    std::uint64_t word = 0;
    for (std::size_t at = 0; at < bits && i + at < from.size(); ++at) {
      const std::size_t was = from[i + at] - first;
      word |= (before[was / bits] >> was % bits & 1u) << at;
    }
    all.word((first + i) / bits) = word;
  }
}

}  // namespace detail

GANGSCHED_INLINE void node_answers::answer::find_most(std::size_t from, std::size_t to) {
  constexpr auto rows = static_cast<std::ptrdiff_t>(amount_block::rows);
  for (std::size_t block = from; block < std::min(to, most.size()); ++block) {
    const auto its = ratings.begin() + static_cast<std::ptrdiff_t>(block) * rows;
    most[block] = *std::max_element(its, its + rows);
  }
}

/// Nodes of a group stand side by side, of those nodes of about one size, and of those ones about as full: so ranges of blocks are narrow.
/// Of many nodes a stretch at a time, in turns; `start` has put all in order by size.
GANGSCHED_INLINE void node_answers::reorder() {
  const std::size_t blocks = (order_.size() + amount_block::rows - 1) / amount_block::rows;
  const std::size_t at_once = blocks <= detail::most_blocks ? std::max<std::size_t>(blocks, 1) : detail::some_blocks;
  const std::size_t stretches = (blocks + at_once - 1) / at_once, some = at_once * amount_block::rows;
  // It is as much work as to rate blocks of a fraction of the nodes: only after as many were rated, and enough has moved.
  if (std::min(since_.moved, since_.rated) <
      std::max<std::size_t>(std::min(some, order_.size()) / 4, 2 * amount_block::rows))
    return;
  for (std::size_t* count : {&since_.moved, &since_.rated})  // what is left is for the other stretches
    *count = std::min(*count - std::min(*count, some), (std::max<std::size_t>(stretches, 1) - 1) * some);
  if (groupings_.empty()) return;
  if (since_.next_stretch >= stretches) since_.next_stretch = 0;
  const std::size_t first = since_.next_stretch++ * some;
  put_in_order(first, std::min(first + some, order_.size()));
}

GANGSCHED_INLINE void node_answers::order_many() {
  if (order_.size() <= detail::most_blocks * amount_block::rows) return;  // `reorder` does it, when there are groups
  put_in_order(0, order_.size());
  since_.moved = 0;
}

/// Those of the places from one to before another.
GANGSCHED_INLINE void node_answers::put_in_order(std::size_t first, std::size_t end) {
  if (first >= end || amounts_.by_kind().size() <= kinds::memory) return;
  const auto latest = std::max_element(groupings_.begin(), groupings_.end(),
                                       [](const auto& a, const auto& b) { return a->used < b->used; });
  const amount_column& cpu = amounts_.by_kind()[kinds::cpu];
  const amount_column& memory = amounts_.by_kind()[kinds::memory];
  std::vector<std::pair<std::uint64_t, row_t>> standing;  // by what they are put in order, and the place
  standing.reserve(end - first);
  for (std::size_t place = first; place < end; ++place) {
    const bool grouped = latest != groupings_.end() && place < (*latest)->group.size();
    const std::uint32_t its = grouped ? (*latest)->group[place] : key_groups::none;
    const std::uint64_t group = std::min<std::uint64_t>(its, 255);
    const std::uint64_t size =
        detail::rough_size(cpu.allocatable[place]) << 12 | detail::rough_size(memory.allocatable[place]);
    const auto load = static_cast<std::uint64_t>((cpu.share[place] + memory.share[place]) * double{1 << 20});
    standing.emplace_back(group << 56 | size << 32 | load, static_cast<row_t>(place));
  }
  std::sort(standing.begin(), standing.end());
  detail::turn_every_second(standing);
  std::vector<row_t> from;
  from.reserve(standing.size());
  for (const auto& one : standing) from.push_back(one.second);
  order_.permute(first, from);
  detail::permute(nodes_, first, from);
  for (const auto& one : kept_) {
    detail::permute(one->rejects, first, from);
    detail::permute(one->values, first, from);
    detail::permute(one->asked, first, from);
    detail::permute(one->ratings, first, from);
    one->ratings.resize(one->ratings.empty() ? 0 : places(), 0.0);
    one->most.resize(one->ratings.size() / amount_block::rows, 0.0);
    one->find_most(first / amount_block::rows, (end - 1) / amount_block::rows + 1);
  }
  for (const auto* all : {&groupings_, &alike_}) {
    for (const auto& one : *all) {
      detail::permute(one->group, first, from, key_groups::none);
      detail::permute(one->numbered, first, from);
      for (row_bits& each : one->places) detail::permute(each, first, from);
    }
  }
  amounts_.permute(first, from);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
