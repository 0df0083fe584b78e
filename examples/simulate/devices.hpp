#pragma once
#include <gangsched/model/cluster.hpp>
#include <span>
#include <string>
#include <vector>

#include "simulate/outcome.hpp"

namespace simulate {

/// What the pod has of its node's devices, by itself and by claims that it shares.
[[nodiscard]] std::vector<device_outcome> devices_of(const gangsched::cluster& in, gangsched::pod_id pod);
/// How full the GPUs of a node are; none if nothing is known of them.
[[nodiscard]] node_gpus gpus_of(const gangsched::cluster& in, gangsched::node_id node, std::string model);

/// "GPU-0", "GPU-0 300/1000", "GPU-1 1g.5gb@6"
[[nodiscard]] std::string text_of(const device_outcome& device);
/// A row a node, a cell a GPU, and what the marks mean. Empty if no node tells of GPUs.
[[nodiscard]] std::string gpu_map(const outcome& of, bool ascii);

}  // namespace simulate
