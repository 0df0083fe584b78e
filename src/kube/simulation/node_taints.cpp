#include "gangsched/src/kube/simulation/node_taints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "gangsched/src/kube/devices/device_taints.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t longest_toleration = std::numeric_limits<std::int32_t>::max();  // as of grace periods

/// What the API server has every pod tolerate for a while that says nothing of it (DefaultTolerationSeconds).
constexpr std::array<std::string_view, 2> tolerated_by_default{"node.kubernetes.io/not-ready",
                                                               "node.kubernetes.io/unreachable"};
constexpr std::int64_t default_seconds = 300;

/// How long the pod tolerates a taint NoExecute, by the first of its tolerations that does; nothing: not at all.
std::optional<std::int64_t> tolerated_for(const pod_manifest& pod, const taint& one) {
  for (std::size_t i = 0; i < pod.spec.tolerations.size(); ++i) {
    if (!detail::tolerates(pod.spec.tolerations[i], one)) continue;
    const bool ends = i < pod.toleration_seconds.size() && pod.toleration_seconds[i];
    return ends ? std::clamp<std::int64_t>(*pod.toleration_seconds[i], 0, longest_toleration) : for_ever;
  }
  return std::nullopt;
}

}  // namespace

std::string text_of(const taint& one) {
  return fmt::format("{}{}{}:{}", one.key, one.value.empty() ? "" : "=", one.value,
                     one.effect == taint_effect::no_execute ? "NoExecute" : "NoSchedule");
}

void tolerate_by_default(manifests& what, const manifests& shapes) {
  for (const std::string_view key : tolerated_by_default) {
    const auto has_it = [&](const node_manifest& node) {
      return std::ranges::any_of(
          node.spec.taints, [&](const taint& one) { return one.key == key && one.effect == taint_effect::no_execute; });
    };
    if (std::ranges::none_of(what.nodes, has_it) && std::ranges::none_of(shapes.nodes, has_it)) continue;
    for (pod_manifest& pod : what.pods) {
      const bool says = std::ranges::any_of(pod.spec.tolerations, [&](const toleration& each) {
        return (each.key.empty() || each.key == key) && (!each.effect || each.effect == taint_effect::no_execute);
      });
      if (says) continue;
      pod.toleration_seconds.resize(pod.spec.tolerations.size());
      pod.spec.tolerations.push_back(
          {.key = std::string{key}, .op = toleration_operator::exists, .effect = taint_effect::no_execute});
      pod.toleration_seconds.emplace_back(default_seconds);
    }
  }
}

std::optional<taint_eviction> eviction_from(const node_manifest& node, const pod_manifest& pod, instant came,
                                            instant now) {
  // The controller sets the time when it sees the first taint that is not tolerated for ever. One that comes later does not change it.
  std::optional<instant> since;
  std::int64_t least = for_ever;
  const taint* shortest = nullptr;
  for (std::size_t i = 0; i < node.spec.taints.size(); ++i) {
    const taint& one = node.spec.taints[i];
    if (one.effect != taint_effect::no_execute) continue;
    const auto seconds = tolerated_for(pod, one);
    if (!seconds) return taint_eviction{0, text_of(one)};
    if (*seconds == for_ever) continue;
    const instant added = i < node.taints_since.size() ? node.taints_since[i].value_or(now) : now;
    const instant seen = std::min(std::max(added, came), now);
    if (since && (seen > *since || (seen == *since && *seconds >= least))) continue;
    since = seen;
    least = *seconds;
    shortest = &one;
  }
  if (shortest == nullptr) return std::nullopt;
  return taint_eviction{std::max<std::int64_t>(0, least - detail::seconds_between(*since, now)), text_of(*shortest)};
}

bool admits(const node_manifest& node, const pod_manifest& pod) {
  return std::ranges::all_of(node.spec.taints, [&](const taint& one) {
    return one.effect == taint_effect::prefer_no_schedule ||
           std::ranges::any_of(pod.spec.tolerations,
                               [&](const toleration& each) { return detail::tolerates(each, one); });
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
