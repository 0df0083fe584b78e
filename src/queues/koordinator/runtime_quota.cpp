#include "gangsched/queues/koordinator/runtime_quota.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gangsched::inline GANGSCHED_ABI::queues::koordinator {
namespace detail {

__extension__ using wide_weight = __int128;

/// Adds to each of those that share its part of @p left, rounded by itself.
inline void add_nearest(std::int64_t left, wide_weight weights, std::span<quota_claim> claims) {
  const double whole = static_cast<double>(weights);
  for (quota_claim& claim : claims)
    if (claim.sharing)
      claim.runtime +=
          static_cast<std::int64_t>(static_cast<double>(claim.weight) * static_cast<double>(left) / whole + 0.5);
}

/// Adds @p left to those that share, to the last unit.
inline void add_by_remainder(std::int64_t left, wide_weight weights, std::span<quota_claim> claims) {
  struct remainder {
    wide_weight amount;
    quota_claim* claim;
  };
  std::vector<remainder> remainders;
  std::int64_t over = left;
  for (quota_claim& claim : claims) {
    if (!claim.sharing || claim.weight <= 0) continue;
    const wide_weight product = wide_weight{claim.weight} * left;
    const auto whole = static_cast<std::int64_t>(product / weights);
    claim.runtime += whole;
    over -= whole;
    remainders.push_back({product % weights, &claim});
  }
  const auto end = remainders.begin() + static_cast<std::ptrdiff_t>(over);  // fewer than there are: each is below one
  std::partial_sort(remainders.begin(), end, remainders.end(), [](const remainder& a, const remainder& b) {
    return a.amount != b.amount ? a.amount > b.amount : a.claim->order < b.claim->order;
  });
  std::for_each(remainders.begin(), end, [](const remainder& one) { ++one.claim->runtime; });
}

}  // namespace detail

GANGSCHED_INLINE void share_runtime(std::int64_t total, std::span<quota_claim> claims, share_rounding rounding) {
  std::int64_t left = total;
  for (quota_claim& claim : claims) {
    claim.sharing = claim.request > claim.floor;
    claim.runtime = claim.sharing || !claim.lends ? claim.floor : claim.request;
    left -= claim.runtime;
  }
  while (left > 0) {
    detail::wide_weight weights = 0;
    for (const quota_claim& claim : claims)
      if (claim.sharing) weights += claim.weight;
    if (weights <= 0) return;
    if (rounding == share_rounding::nearest) {
      detail::add_nearest(left, weights, claims);
    } else {
      detail::add_by_remainder(left, weights, claims);
    }
    left = 0;
    for (quota_claim& claim : claims) {
      if (!claim.sharing || claim.runtime < claim.request) continue;
      left += claim.runtime - claim.request;
      claim.runtime = claim.request;
      claim.sharing = false;
    }
  }
}

GANGSCHED_INLINE std::int64_t scaled_min(std::int64_t min, std::int64_t total, std::int64_t scalable,
                                         std::int64_t fixed) {
  if (total >= scalable + fixed) return min;
  if (total <= fixed || scalable <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(total - fixed) * static_cast<double>(min) /
                                   static_cast<double>(scalable));
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::koordinator
