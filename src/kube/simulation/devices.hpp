#pragma once
#include <span>
#include <string>
#include <vector>
#include "gangsched/model/cluster.hpp"

#include "gangsched/kube/simulation_outcome.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What the pod has of its node's devices, by itself and by claims that it shares.
[[nodiscard]] std::vector<device_outcome> devices_of(const cluster& in, pod_id pod);
/// How full the GPUs of a node are; none if nothing is known of them.
[[nodiscard]] node_gpus gpus_of(const cluster& in, node_id node, std::string model);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
