#pragma once
#include <gangsched/kube/simulation_outcome.hpp>
#include <string>

namespace simulate {

using namespace gangsched::kube::simulation;

/// A row for each queue, resource and flavor; those below a queue are indented. Empty if there are none.
[[nodiscard]] std::string queue_table(const outcome& of);

}  // namespace simulate
