#pragma once
#include "gangsched/framework/past.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The pod's host ports are free: per protocol and port, the wildcard address conflicts with every address (kube-scheduler's NodePorts).
/// Ports that a pod names twice are not compared with each other.
class node_ports {
 public:
  static constexpr std::string_view name = "NodePorts";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  static constexpr events wakes_on = events::node_added | events::pod_removed;

  /// Woken by any new node, and by a pod that leaves and frees a port that this pod needs.
  [[nodiscard]] hint requeue(const event& e, const pod_info& pod) const {
    return e.what == events::node_added || conflict(pod, e.old_pod->spec().ports) ? hint::queue : hint::skip;
  }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.ports().empty() ? status::skip() : status::success();
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::ports> node) const {
    if (!conflict(pod, node.ports())) return status::success();
    return status::unschedulable("node(s) didn't have free ports for the requested pod ports");
  }
  /// Every pod of the class wants the same ports.
  [[nodiscard]] std::int64_t capacity(const pod_view&, node_view<reads::ports>) const { return 1; }

 private:
  static bool conflict(const pod_view& pod, std::span<const host_port> used) noexcept {
    for (const host_port& wanted : pod.ports()) {
      for (const host_port& taken : used)
        if (wanted.conflicts(taken)) return true;
    }
    return false;
  }
};

static_assert(requeue_plugin<node_ports> && pre_filter_plugin<node_ports> && filter_plugin<node_ports>);

}  // namespace gangsched::inline GANGSCHED_ABI
