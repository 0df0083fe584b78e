#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched {

/// The host ports a pod wants are free: per protocol and port, the wildcard address conflicts with every address
/// (kube-framework 4, NodePorts). Ports that a pod wants twice are not compared with each other.
class node_ports {
 public:
  static constexpr std::string_view name = "NodePorts";
  using points = implements<point::pre_filter, point::filter>;

  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.ports().empty() ? status::skip() : status::success();
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::ports> node) const {
    for (const host_port& wanted : pod.ports()) {
      for (const host_port& taken : node.ports()) {
        if (wanted.conflicts(taken))
          return status::unschedulable("node(s) didn't have free ports for the requested pod ports");
      }
    }
    return status::success();
  }
};

static_assert(pre_filter_plugin<node_ports> && filter_plugin<node_ports>);

}  // namespace gangsched
