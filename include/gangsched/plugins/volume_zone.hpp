#pragma once
#include "gangsched/core/is_among.hpp"
#include "gangsched/framework/past.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The node is in a zone (and region) of every volume: for each label of a volume the node has one of the values. A node without any
/// zone or region label will do; for a beta label that the node lacks its present name counts too (Kubernetes' VolumeZone).
class volume_zone_plugin {
 public:
  static constexpr std::string_view name = "VolumeZone";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  static constexpr events wakes_on = events::node_added | events::node_labels | events::pod_updated;

  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const { return hint_of_volumes(e, pod); }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.spec().volumes.zones.empty() ? status::skip() : status::success();
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::labels> node) const {
    bool zoned = false;
    for (const std::string_view label : {zone, region, beta_zone, beta_region})
      zoned = zoned || node.label(label).has_value();
    if (!zoned) return status::success();
    for (const zone_choice& choice : pod.spec().volumes.zones) {
      std::optional<symbol> value = node.label(choice.key);
      if (!value) {
        const std::string_view present = present_name(pod.text(choice.key));
        const std::optional<symbol> key = pod.find(present);
        value = key ? node.label(*key) : std::nullopt;
      }
      if (!value || !is_among(*value, choice.values))
        return status::unresolvable("node(s) had no available volume zone");
    }
    return status::success();
  }

 private:
  static constexpr std::string_view zone = "topology.kubernetes.io/zone";
  static constexpr std::string_view region = "topology.kubernetes.io/region";
  static constexpr std::string_view beta_zone = "failure-domain.beta.kubernetes.io/zone";
  static constexpr std::string_view beta_region = "failure-domain.beta.kubernetes.io/region";
  static constexpr std::string_view present_name(std::string_view label) noexcept {
    return label == beta_zone ? zone : label == beta_region ? region : label;
  }
};

static_assert(requeue_plugin<volume_zone_plugin> && pre_filter_plugin<volume_zone_plugin> &&
              filter_plugin<volume_zone_plugin>);

}  // namespace gangsched::inline GANGSCHED_ABI
