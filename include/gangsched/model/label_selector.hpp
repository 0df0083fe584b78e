#pragma once
#include "gangsched/core/config.hpp"
#include "gangsched/model/affinity_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Whether every requirement of @p selector holds for @p labels (metav1.LabelSelector). O(requirements · their
/// values).
[[nodiscard]] GANGSCHED_API bool matches(const label_selector& selector, const label_map& labels);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/label_selector.cpp"
#endif
