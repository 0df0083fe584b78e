#pragma once
#include <gangsched/kube/simulation_outcome.hpp>
#include <string>

namespace simulate {

using namespace gangsched::kube::simulation;

/// "GPU-0", "GPU-0 300/1000", "GPU-1 1g.5gb@6"
[[nodiscard]] std::string text_of(const device_outcome& device);
/// A row a node, a cell a GPU, and what the marks mean. Empty if no node tells of GPUs.
[[nodiscard]] std::string gpu_map(const outcome& of, bool ascii);

}  // namespace simulate
