#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A pod that names its node fits only that node (kube-scheduler's NodeName).
class node_name {
 public:
  static constexpr std::string_view name = "NodeName";
  using points = implements<point::requeue, point::pre_filter, point::filter>;
  static constexpr events wakes_on = events::node_added;

  [[nodiscard]] hint requeue(const event&, const pod_info&) const { return hint::queue; }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.spec().required_node ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::name> node) const {
    const symbol wanted = pod.spec().required_node;
    if (!wanted || wanted == node.name_symbol()) return status::success();
    return status::unresolvable("node(s) didn't match the requested node name");
  }
};

static_assert(requeue_plugin<node_name> && pre_filter_plugin<node_name> && filter_plugin<node_name>);

}  // namespace gangsched::inline GANGSCHED_ABI
