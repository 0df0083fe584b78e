#pragma once
#include "gangsched/model/state.hpp"

/// From the terms and constraints of a class to the counters they are about.
namespace gangsched {

/// Fills what @p made names: counters of its affinity terms, its own spread constraints or, without any, the registered default
/// ones with `default_selector`. New counters get numbers and do not live yet. O(terms).
GANGSCHED_API void name_counters(cluster_state& state, pod_class& made);
/// Makes @p matched what the class is matched by, with all that follows from it, and completes its key. O(matched).
GANGSCHED_API void match_counters(const cluster_state& state, pod_class& made, std::vector<counter_id> matched);

/// The selector of a pod's services and controller (kube-framework 7.1, helper.DefaultSelector): the services' selectors that match
/// it, and its controller's. Absent if it comes to nothing. O(services).
[[nodiscard]] GANGSCHED_API std::optional<label_selector> default_selector(const cluster_state& state, symbol ns,
                                                                           const label_map& labels,
                                                                           const controller_ref& controller);

}  // namespace gangsched

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/class_counters.cpp"
#endif
