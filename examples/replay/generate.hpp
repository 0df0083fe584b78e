#pragma once
#include <cstdint>

#include "replay/openb.hpp"
#include "replay/philly.hpp"

/// Clusters and jobs of the traces' shape for machines that do not have the traces. The same seed gives the same bytes everywhere.
namespace replay {

/// All GPU nodes of openb (1,213 with 6,212 GPUs), and 30,000 pods with the sizes and lifetimes of openb's. openb's pods come over
/// 149 days and rarely hold more than 1 % of the GPUs at a time; these come within 90 minutes, so that the cluster fills up.
/// One in ten of the pods with one GPU names the models it may run on. Lifetimes end at a day.
[[nodiscard]] openb::trace generate_openb(std::uint64_t seed);

/// 13,716 jobs with the gang sizes, durations and arrivals of the Philly trace.
[[nodiscard]] philly::trace generate_philly(std::uint64_t seed);

}  // namespace replay
