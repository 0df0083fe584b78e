#pragma once
#include "gangsched/kube/simulation.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What is otherwise than in an earlier run, as its JSON said it. Throws bad_input if @p before is no such result.
[[nodiscard]] difference compare(const outcome& now, const source& before);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
