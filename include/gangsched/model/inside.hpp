#pragma once
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/state.hpp"

/// The tables behind a cluster, for transactions and engines. A write here must also be appended to the change log: hosts use the calls of
/// `cluster`, and plugins use views.
namespace gangsched::inline GANGSCHED_ABI::detail {

[[nodiscard]] inline model::cluster_state& inside(cluster_questions& on) noexcept { return *on.state_; }
[[nodiscard]] inline const model::cluster_state& inside(const cluster_questions& on) noexcept { return *on.state_; }

}  // namespace gangsched::inline GANGSCHED_ABI::detail
