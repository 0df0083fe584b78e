#include "gangsched/queues/koordinator/overuse.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "gangsched/queues/resource_amounts.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::koordinator {
namespace detail {

inline bool is_within(std::span<const std::int64_t> used, std::span<const std::int64_t> runtime) {
  for (std::size_t resource = 0; resource < used.size(); ++resource)
    if (is_named(used[resource]) && is_named(runtime[resource]) && used[resource] > runtime[resource]) return false;
  return true;
}

inline void add_request(std::span<std::int64_t> used, std::span<const std::int64_t> request, std::int64_t sign) {
  for (std::size_t resource = 0; resource < used.size(); ++resource)
    if (is_named(request[resource])) used[resource] = amount_or_zero(used[resource]) + sign * request[resource];
}

/// What upstream's Mask does: only what the pod names stays known.
inline void keep_named(std::span<std::int64_t> used, std::span<const std::int64_t> request) {
  for (std::size_t resource = 0; resource < used.size(); ++resource)
    if (!is_named(request[resource])) used[resource] = unnamed;
}

}  // namespace detail

GANGSCHED_INLINE std::vector<std::uint32_t> pods_to_revoke(std::span<const std::int64_t> used,
                                                           std::span<const std::int64_t> runtime,
                                                           std::span<const assigned_pod> pods) {
  GANGSCHED_ASSERT(used.size() == runtime.size());
  std::vector<std::uint32_t> least_important_first(pods.size());
  std::iota(least_important_first.begin(), least_important_first.end(), std::uint32_t{0});
  std::sort(least_important_first.begin(), least_important_first.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (pods[a].priority != pods[b].priority) return pods[a].priority < pods[b].priority;
    return pods[a].start != pods[b].start ? pods[a].start > pods[b].start : a > b;
  });

  std::vector<std::int64_t> left(used.begin(), used.end());
  std::vector<std::uint32_t> gone;
  for (const std::uint32_t pod : least_important_first) {
    if (detail::is_within(left, runtime)) break;
    if (!pods[pod].preemptible) continue;
    detail::add_request(left, pods[pod].request, -1);
    detail::keep_named(left, pods[pod].request);
    gone.push_back(pod);
  }
  if (!detail::is_within(left, runtime)) return gone;

  std::vector<std::uint32_t> revoked;
  for (auto pod = gone.rbegin(); pod != gone.rend(); ++pod) {
    detail::add_request(left, pods[*pod].request, 1);
    detail::keep_named(left, pods[*pod].request);
    if (detail::is_within(left, runtime)) continue;
    detail::add_request(left, pods[*pod].request, -1);
    revoked.push_back(*pod);
  }
  return revoked;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::koordinator
