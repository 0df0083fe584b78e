#pragma once
#include <vector>
#include "gangsched/kube/manifests.hpp"
#include "gangsched/scheduler.hpp"

#include "gangsched/kube/simulation_outcome.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What would make a pod that fits nowhere fit: each thing that it asks for left out by itself, or what is short on the nearest node. If
/// no single change helps, one of as few as were found. Each was tried in a fork. @p spec is what the cluster was told of the pod.
/// O(changes · nodes · filters).
[[nodiscard]] std::vector<helpful_change> changes_for(const scheduler& by, pod_id pod, const pod_spec& spec,
                                                      const manifests& all);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
