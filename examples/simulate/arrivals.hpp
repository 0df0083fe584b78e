#pragma once
#include <gangsched/kube/simulation.hpp>
#include <string>
#include <vector>

namespace simulate {

/// A table of when pods come and how long they run, with columns `name`, `arrival_s` and, if it has it, `duration_s`. Throws
/// replay::bad_input.
[[nodiscard]] std::vector<gangsched::kube::simulation::arrival> read_arrivals(const std::string& file);

}  // namespace simulate
