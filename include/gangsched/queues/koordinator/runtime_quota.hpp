#pragma once

#include <cstdint>
#include <span>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::koordinator {

/// How shares are rounded to whole units.
enum class share_rounding : std::uint8_t {
  nearest,  ///< each share by itself, in doubles, as up to 1.7.0: the sum is off by up to half a unit per quota and round
  largest_remainder,  ///< exact, as in later releases: larger remainders get one more, ties the lower `order`
};

/// One of several quotas that share a resource, with its request.
struct quota_claim {
  std::int64_t floor = 0;    ///< what it gets before sharing: scaled min, or what is guaranteed if that is more
  std::int64_t request = 0;  ///< up to its max
  std::int64_t weight = 0;
  bool lends = true;         ///< the part of its floor that it does not request is for others
  std::uint32_t order = 0;   ///< decides ties of remainders
  std::int64_t runtime = 0;  ///< out: what it gets
  bool sharing = false;      ///< out: whether it gets less than it requests
};

/// Divides @p total among @p claims, in place. A quota that requests no more than its floor gets the request, or the floor if it does not
/// lend; the others get their floors and, as long as something is left, shares by weight up to their requests. Floors are given whatever
/// the total is. O(n) a round; a round that satisfies no quota is the last. Only largest_remainder allocates.
/// Source: `redistribution`, pkg/scheduler/plugins/elasticquota/core/runtime_quota_calculator.go.
GANGSCHED_API void share_runtime(std::int64_t total, std::span<quota_claim> claims,
                                 share_rounding rounding = share_rounding::nearest);

/// What is left of @p min where @p total does not cover the mins of all that share it: those that scale share what @p fixed leaves of
/// the total, in doubles, rounded down. @p scalable: the sum of the mins that scale, this one's included; @p fixed: of the others.
/// Source: `getScaledMinQuota`, scale_minquota_when_over_root_res.go.
[[nodiscard]] GANGSCHED_API std::int64_t scaled_min(std::int64_t min, std::int64_t total, std::int64_t scalable,
                                                    std::int64_t fixed = 0);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::koordinator

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/koordinator/runtime_quota.cpp"
#endif
