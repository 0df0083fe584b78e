#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::koordinator {

/// How long one quota has been over its runtime quota without interruption, as far as `look` saw it.
/// Source: `QuotaOverUsedGroupMonitor`, pkg/scheduler/plugins/elasticquota/quota_overuse_revoke.go.
class overuse_monitor {
 public:
  /// @p delay: DelayEvictTime.
  explicit overuse_monitor(instant now, std::chrono::nanoseconds delay = std::chrono::seconds{120}) noexcept
      : within_(now), delay_(delay) {}

  /// @return whether pods are to be revoked: it is over now, and was at each call for longer than the delay. The time then starts again.
  [[nodiscard]] bool look(instant now, bool is_over) noexcept {
    const bool revoke = is_over && now > later_by(within_, delay_);
    if (!is_over || revoke) within_ = now;
    return revoke;
  }

 private:
  instant within_;  ///< when the quota was last seen not over, or pods were last revoked
  std::chrono::nanoseconds delay_;
};

/// A pod that uses a quota.
struct assigned_pod {
  std::span<const std::int64_t> request;  ///< by resource; unnamed for resources that it does not request
  std::int32_t priority = 0;
  instant start{};
  bool preemptible = true;
};

/// Which of @p pods, all of one quota, to evict until @p used is within @p runtime. As many as needed are removed, the least important
/// first (lower priority, then later start, then later in @p pods); then, the most important first, those that fit are given back. Returns
/// indexes of the pods not given back, most important first; or, if the quota is over even without any preemptible pod, of all of those,
/// least important first. @p used and @p runtime by resource, unnamed where unknown or without limit. As upstream, a resource that the last
/// pod considered does not name is not compared from there on. O(pods · (log pods + resources)).
/// Source: `getToRevokePodList`, as above.
[[nodiscard]] GANGSCHED_API std::vector<std::uint32_t> pods_to_revoke(std::span<const std::int64_t> used,
                                                                      std::span<const std::int64_t> runtime,
                                                                      std::span<const assigned_pod> pods);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::koordinator

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/koordinator/overuse.cpp"
#endif
