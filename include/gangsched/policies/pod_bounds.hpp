#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "gangsched/core/saturating_add.hpp"
#include "gangsched/model/pod_class.hpp"

/// What the containers of a pod request and may use, of cpu, memory and resources of Kubernetes' own domain (`container_bounds`).
namespace gangsched::inline GANGSCHED_ABI {

namespace detail {
[[nodiscard]] inline std::optional<std::int64_t> given(const std::vector<amount>& all, resource_kind kind) noexcept {
  for (const amount& one : all)
    if (one.kind == kind) return one.value;
  return std::nullopt;
}
}  // namespace detail

/// Calls visit(container_kind, std::optional<std::int64_t> request, std::optional<std::int64_t> limit) for each container, init containers
/// first; nothing for what it does not name. O(containers · resources).
template <class Visit>
void each_container(const pod_class& pod, resource_kind of, const Visit& visit) {
  for (const container_bounds& one : pod.bounds)
    visit(one.kind, detail::given(one.requests, of), detail::given(one.limits, of));
  if (pod.bounds.empty() && pod.image_containers != 0)  // a pod that names a 0 has bounds
    visit(container_kind::app, detail::given(pod.requests, of), std::optional<std::int64_t>{});
}

/// The overhead. O(resources).
[[nodiscard]] inline std::int64_t overhead_of(const pod_class& pod, resource_kind of) noexcept {
  return detail::given(pod.overhead, of).value_or(0);
}

/// The sum of the limits of all containers that run at once, combined like requests: containers and sidecars, or an init container with the
/// sidecars before it; with the overhead if that is not 0. A container without a limit counts as 0. O(containers · resources).
[[nodiscard]] inline std::int64_t limit_of(const pod_class& pod, resource_kind of) noexcept {
  std::int64_t running = 0, sidecars = 0, peak = 0;
  for (const container_bounds& one : pod.bounds) {
    const std::int64_t limit = detail::given(one.limits, of).value_or(0);
    if (one.kind == container_kind::init) {
      peak = std::max(peak, saturating_add(sidecars, limit));
      continue;
    }
    running = saturating_add(running, limit);
    if (one.kind != container_kind::sidecar) continue;
    sidecars = saturating_add(sidecars, limit);
    peak = std::max(peak, sidecars);
  }
  const std::int64_t most = std::max(running, peak);
  return most == 0 ? 0 : saturating_add(most, overhead_of(pod, of));
}

}  // namespace gangsched::inline GANGSCHED_ABI
