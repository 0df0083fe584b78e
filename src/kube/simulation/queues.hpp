#pragma once
#include <vector>

#include "gangsched/kube/simulation_outcome.hpp"
#include "gangsched/model/cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// The queues of a cluster, each before those below it, with what they have as things stand.
[[nodiscard]] std::vector<queue_outcome> queues_of(const cluster& in);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
