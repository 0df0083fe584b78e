#pragma once
#include <cstdint>
#include <span>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/id.hpp"
#include "gangsched/core/tie_rule.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A row's contribution to its hash: callers that break many ties may cache it.
struct row_mixer {
  [[nodiscard]] std::uint64_t operator()(row_t row) const noexcept { return mix64(row); }
};

/// The uniform rule, a pure function of (seed, decision, the set of tied rows, the number of rows); never of the order in which an index
/// holds the set. Sets of n rows with n² ≥ rows: draw rows until one is in the set (uniform by rejection, rows/n draws on average). Smaller
/// sets: the row with the smallest hash (uniform as well, n hashes). Either way O(√rows). @p contains(row): whether the row is in the set;
/// @p each(visit) calls visit(row) for every member in any order; @p count is the number of members. An empty set gives no_row. @p
/// mixed(row) returns what row_mixer does.
template <class Contains, class Each, class Mixed = row_mixer>
[[nodiscard]] row_t break_tie(std::uint64_t seed, std::uint64_t decision, std::uint64_t count, row_t rows,
                              Contains&& contains, Each&& each, const Mixed& mixed = {}) {
  if (count == 0) return no_row;
  const std::uint64_t key = mix64(seed ^ mix64(decision));
  if (count * count >= rows) {
    for (std::uint64_t draw = 0;; ++draw) {
      __extension__ using wide = unsigned __int128;
      const auto row = static_cast<row_t>((wide{mix64(key + draw)} * rows) >> 64);
      if (contains(row)) return row;
    }
  }
  row_t best = no_row;
  std::uint64_t least = ~std::uint64_t{0};
  each([&](row_t row) {
    const std::uint64_t hash = mix64(key ^ mixed(row));
    if (hash < least || (hash == least && row < best)) {  // (no_row is the highest of all)
      best = row;
      least = hash;
    }
  });
  return best;
}

}  // namespace gangsched::inline GANGSCHED_ABI
