#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/core/config.hpp"

/// Which nodes to buy, as a question of amounts alone: bin packing with bins of several sizes and prices.
namespace gangsched::inline GANGSCHED_ABI::what_if {

/// Pods with equal amounts. Amounts are in one order of resources throughout.
struct packed_kind {
  std::vector<std::int64_t> needs = {};
  std::uint32_t count = 0;
  std::vector<bool> on_bin = {};   ///< by bin kind: whether it may be there
  std::vector<bool> on_open = {};  ///< by open bin
};

struct bin_kind {
  std::vector<std::int64_t> room = {};
  std::int64_t price = 0;
  std::uint32_t most = 0;
};

struct packing_problem {
  std::vector<packed_kind> items;
  std::vector<bin_kind> bins;
  std::vector<std::vector<std::int64_t>> open;  ///< free amounts of existing bins, which cost nothing
};

struct packing {
  std::int64_t price = 0;                       ///< of all bins, saturating
  std::vector<std::size_t> bins;                ///< the kind of each bought bin
  std::vector<std::vector<std::size_t>> where;  ///< by item kind, of each: an open bin, or open.size() + a bought one
};

/// The cheapest packing that was found with bin kinds for which @p allowed is true; nothing if none was found. Never dearer than first fit
/// decreasing with any one of them, items by the sum of their first two amounts relative to a bin's, or by the largest of all; optimal if
/// @p steps suffice, and there are at most 256 items. O(items · bins) and O(steps).
[[nodiscard]] std::optional<packing> pack_cheaply(const packing_problem& what, const std::vector<bool>& allowed,
                                                  std::uint32_t steps);

}  // namespace gangsched::inline GANGSCHED_ABI::what_if

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/what_if/node_packing.cpp"
#endif
