#pragma once
#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/queues/volcano/votes.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Reads actions and tiers of a volcano-scheduler.conf; fields that it lacks are unchanged. @p spares_critical: conformance is in a tier.
/// Errors name the path; nothing is changed then.
[[nodiscard]] GANGSCHED_API result<void> read_volcano_configuration(const argument& args,
                                                                    queues::volcano::session_options& session,
                                                                    bool& spares_critical);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/volcano_configuration.cpp"
#endif
