#pragma once
#include "gangsched/model/requests.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The class of a pod with this (checked) spec, its requests and its resolved priority; new names are interned. O(size of the spec).
[[nodiscard]] GANGSCHED_API class_id make_class(model::cluster_state& state, const pod_spec& spec,
                                                const pod_requests& requests, std::int32_t priority,
                                                preemption_policy preemption);

/// The parts that nodes and pods resolve in the same way.
[[nodiscard]] GANGSCHED_API std::vector<label_symbols> to_symbols(interner& names, const label_map& labels);
[[nodiscard]] GANGSCHED_API std::vector<amount> to_amounts(model::cluster_state& state,
                                                           const integer_resources& resources);
[[nodiscard]] GANGSCHED_API node_term to_term(interner& names, const node_selector_term& term);

/// ImageLocality: ":latest" is appended unless a ':' follows the last '/'.
[[nodiscard]] GANGSCHED_API std::string normalised_image(std::string_view name);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/make_class.cpp"
#endif
