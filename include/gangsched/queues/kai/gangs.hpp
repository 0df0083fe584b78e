#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// Pods of a job that start together, as far as the order of jobs and the choice of victims need it.
struct pod_set {
  std::uint32_t min_available = 1;
  std::uint32_t pods = 0;       ///< all of them
  std::uint32_t allocated = 0;  ///< have a node and stay
  std::uint32_t leaving = 0;    ///< have a node that they are leaving
};

/// The number of pods of a job compared with its minimums.
enum class elastic_state : unsigned char { below_minimum, at_minimum, above_minimum };

/// Below if one of its sets is below its minimum; above if one is above and none is below. O(sets).
[[nodiscard]] GANGSCHED_API elastic_state elastic_state_of(std::span<const pod_set> sets) noexcept;
/// Whether some set has more pods than it needs.
[[nodiscard]] GANGSCHED_API bool is_elastic(std::span<const pod_set> sets) noexcept;

/// A job among those of its queue.
struct job_rank {
  int priority = 0;
  elastic_state state = elastic_state::below_minimum;
  std::int64_t created = 0;  ///< in any unit
  std::string_view name = {};
};
/// The order of jobs: by priority, highest first; then jobs below their minimum, at it, above it; then age; then name. For victims, the
/// reverse.
[[nodiscard]] GANGSCHED_API std::weak_ordering job_order(const job_rank& a, const job_rank& b) noexcept;
/// Which set of a job is filled first: one below its minimum, then the one with the lower ratio of pods to minimum (without a
/// minimum: last). For victims, the reverse.
[[nodiscard]] GANGSCHED_API std::weak_ordering pod_set_order(const pod_set& a, const pod_set& b) noexcept;

/// Pods of one set that are evicted together.
struct set_eviction {
  std::size_t set = 0;  ///< which of the job's
  std::uint32_t pods = 0;
};
/// The next pods of a job to evict: one pod of the set furthest above its minimum; if there is none, all pods. Called again after each
/// eviction it peels off the job. @param out is overwritten. @return whether part of the job stays. O(sets).
GANGSCHED_API bool next_eviction(std::span<const pod_set> sets, std::vector<set_eviction>& out);

/// Whether each set that loses pods keeps its minimum; @p lost by set. A job may lose that much while its minimum run time protects it.
[[nodiscard]] GANGSCHED_API bool keeps_minimum(std::span<const pod_set> sets,
                                               std::span<const std::uint32_t> lost) noexcept;

/// Whether a job has pods on nodes and a set below its minimum, and none of its pods succeeded. Terminating pods count.
[[nodiscard]] GANGSCHED_API bool is_stale(std::span<const pod_set> sets, bool any_succeeded) noexcept;
/// Whether a job that is stale since @p since must be evicted. @param grace negative: never.
[[nodiscard]] constexpr bool stale_too_long(std::optional<instant> since, instant grace, instant now) noexcept {
  return since && grace.count() >= 0 && now >= later_by(*since, grace);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/gangs.cpp"
#endif
