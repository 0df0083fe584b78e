#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What hooks may read of a node if they are asked once for all nodes with equal allocatable and used amounts.
inline constexpr reads amounts = reads::allocatable | reads::usage;

/// For one class, the results of the hooks that read only amounts, by a node's amounts. In most clusters many nodes are equal: each
/// combination of amounts is evaluated once. While too few lookups hit, the memory is suspended and returns nothing.
class amount_memory {
 public:
  struct answer {
    std::uint8_t asked = 0;    ///< mark of the last filter that was asked
    std::uint8_t verdict = 0;  ///< of the one that rejects, or 0
    bool scored = false;
    std::int64_t score = 0;      ///< weighted sum, if asked for
    std::int64_t capacity = -1;  ///< least of the filters' capacities; −1: not asked for
  };

  /// The entry for nodes with this node's amounts. A new entry is blank, and replaces an older one. Null while the memory is suspended, and
  /// for nodes with volume limits, which are more than amounts. O(kinds of resources).
  [[nodiscard]] answer* find(const model::cluster_state& state, row_t row) {
    if (rest_ != 0) return --rest_, nullptr;
    if (!state.nodes.record[row]->volume_limits.empty()) return nullptr;
    const std::size_t kinds = state.kinds.count();
    make_room(kinds);
    const std::int64_t* const has = state.nodes.allocatable.row(row);
    const std::int64_t* const uses = state.nodes.used.row(row);
    std::uint64_t hash = 0;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      hash =
          (hash ^ static_cast<std::uint64_t>(has[kind])) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(uses[kind]);
    }
    const std::size_t place = static_cast<std::size_t>((hash * 0xff51afd7ed558ccdu) >> 32) % places;
    std::int64_t* const key = keys_.data() + place * 2 * kinds;
    const std::size_t bytes = kinds * sizeof(std::int64_t);
    if (std::memcmp(has, key, bytes) != 0 || std::memcmp(uses, key + kinds, bytes) != 0) {
      std::memcpy(key, has, bytes);
      std::memcpy(key + kinds, uses, bytes);
      answers_[place] = {};
      ++missed_;
    }
    if (++asked_ == places) {
      if (missed_ > places / 2) rest_ = 16 * places;
      asked_ = missed_ = 0;
    }
    return &answers_[place];
  }

  /// Takes the memory for so many kinds, so that `find` does not. O(1), unless there are more or fewer than before.
  void make_room(std::size_t kinds) {
    if (kinds == kinds_) return;
    kinds_ = kinds;
    keys_.assign(places * 2 * kinds, -1);
    answers_.assign(places, {});
  }

  /// Whether the memory stays suspended for at least @p questions more lookups.
  [[nodiscard]] bool rests(std::size_t questions) const noexcept { return rest_ >= questions; }
  /// Counts lookups that were answered elsewhere, so that a suspension ends.
  void asked_elsewhere(std::size_t questions) noexcept { rest_ -= std::min(rest_, questions); }

 private:
  static constexpr std::size_t places = 64;
  std::size_t asked_ = 0, missed_ = 0;  // of the last few
  std::size_t rest_ = 0;                // lookups until the suspension ends
  std::size_t kinds_ = 0;
  std::vector<std::int64_t> keys_;  // by place: allocatable, used; amounts are never negative
  std::vector<answer> answers_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
