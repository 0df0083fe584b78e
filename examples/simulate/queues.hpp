#pragma once
#include <gangsched/kube/manifests.hpp>
#include <gangsched/model/cluster.hpp>
#include <string>
#include <vector>

#include "simulate/outcome.hpp"

namespace simulate {

/// The queues of a cluster, each before those below it, with what they have as things stand.
[[nodiscard]] std::vector<queue_outcome> queues_of(const gangsched::cluster& in);
/// A row for each queue, resource and flavor; those below a queue are indented. Empty if there are none.
[[nodiscard]] std::string queue_table(const outcome& of);
/// "1500m", "16Gi": so much of a resource, in the units of `integer_resources`.
[[nodiscard]] std::string amount_text(const std::string& resource, std::int64_t units);
/// "hold", "" for open
[[nodiscard]] std::string_view state_of(const queue_outcome& queue) noexcept;

}  // namespace simulate
