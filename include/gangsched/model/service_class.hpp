#pragma once
#include <cstdint>
#include <string_view>

#include "gangsched/core/id.hpp"
#include "gangsched/model/fwd.hpp"

namespace gangsched::inline GANGSCHED_ABI {

struct pod_spec;

/// Koordinator's priority classes, as bands of priorities: those of batch and mid run on what prod pods have requested and do not use.
/// Source: apis/extension/priority.go, 1.7.0.
enum class priority_band : std::uint8_t { none, free, batch, mid, prod };
/// Koordinator's classes of service, from those that get what is left to those with CPUs of their own. Source: apis/extension/qos.go.
enum class qos_class : std::uint8_t { none, be, ls, lsr, lse, system };

/// prod 9000 to 9999, mid 7000 to 7999, batch 5000 to 5999, free 3000 to 3999; none: any other.
[[nodiscard]] constexpr priority_band band_of(std::int32_t priority) noexcept {
  switch (priority < 0 ? -1 : priority / 1000) {
    case 9: return priority_band::prod;
    case 7: return priority_band::mid;
    case 5: return priority_band::batch;
    case 3: return priority_band::free;
    default: return priority_band::none;
  }
}
/// "koord-prod", …; none for any other text.
[[nodiscard]] GANGSCHED_API priority_band band_of(std::string_view name) noexcept;
/// "LSE", "LSR", "LS", "BE", "SYSTEM"; none for any other text.
[[nodiscard]] GANGSCHED_API qos_class qos_of(std::string_view name) noexcept;

/// The labels of a pod that name its class of service, and its band whatever its priority is.
inline constexpr std::string_view qos_label = "koordinator.sh/qosClass";
inline constexpr std::string_view priority_band_label = "koordinator.sh/priority-class";

/// The class that the pod's label names; without one it follows from Kubernetes': LSR for Guaranteed, BE for BestEffort, else LS.
/// O(labels + containers).
[[nodiscard]] GANGSCHED_API qos_class qos_of(const pod_spec& pod);
/// The band that the pod's label names, else that of @p priority, which it has, else that of its class of service: batch for BE, prod for
/// others. O(labels + containers).
[[nodiscard]] GANGSCHED_API priority_band band_of(const pod_spec& pod, std::int32_t priority);
/// The same for an existing pod; none for an unknown id.
[[nodiscard]] GANGSCHED_API qos_class qos_of(const cluster_questions& on, pod_id pod);
[[nodiscard]] GANGSCHED_API priority_band band_of(const cluster_questions& on, pod_id pod);

/// Resources that pods of a band request instead of cpu and memory: cpu in whole thousandths, memory in bytes. "" where that is the
/// resource itself, and for free, which has none.
struct band_resources {
  std::string_view cpu, memory;
};
[[nodiscard]] constexpr band_resources resources_of(priority_band band) noexcept {
  switch (band) {
    case priority_band::batch: return {"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"};
    case priority_band::mid: return {"kubernetes.io/mid-cpu", "kubernetes.io/mid-memory"};
    default: return {};
  }
}
/// Replaces cpu and memory in the requests of a batch or mid pod by the band's resources, as Koordinator's webhook does: in containers and
/// overhead, limits too; a container with a limit but no request requests its limit. Pods of other bands are unchanged. O(size of the
/// spec).
GANGSCHED_API void request_resources_of(priority_band band, pod_spec& pod);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/service_class.cpp"
#endif
