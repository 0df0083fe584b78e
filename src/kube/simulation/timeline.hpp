#pragma once
#include <cstddef>
#include <string_view>
#include <vector>
#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/scheduler.hpp"

#include "gangsched/kube/simulation_outcome.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// Writes down which pod has which node when, and why pods are rejected. Pods are known by their place in the list of outcomes.
class timeline {
 public:
  /// @p to and @p of have to outlive it.
  timeline(std::vector<pod_outcome>& to, const manifests& of) : pods_(&to), of_(&of) {}

  /// What the pod requests and in which queue it is, once the cluster knows it.
  void joins(std::size_t pod, const cluster& in, pod_id id);
  void gets_node(std::size_t pod, std::string_view node, instant now);
  /// It has its node no more, if it had one.
  void leaves_node(std::size_t pod, instant now);
  void is_rejected(std::size_t pod, const scheduler& by, pod_id id, instant now);
  [[nodiscard]] std::vector<node_outcome> nodes() const;

 private:
  std::vector<pod_outcome>* pods_;
  const manifests* of_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
