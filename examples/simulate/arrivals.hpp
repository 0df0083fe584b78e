#pragma once
#include <gangsched/kube/manifests.hpp>
#include <string>
#include <vector>

#include "simulate/simulation.hpp"

namespace simulate {

/// When pods come and how long they run, by pod: what a table says with columns `name`, `arrival_s` and, if it has it, `duration_s`. A name
/// is that of a pod, of its controller or of its group, with or without a namespace; of lines that mean the same pod the last one counts.
/// Throws bad_input, also if a name is nobody's.
[[nodiscard]] std::vector<lifetime> read_arrivals(const std::string& file, const gangsched::kube::manifests& what);

}  // namespace simulate
