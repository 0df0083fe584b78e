#pragma once

#include <cstdint>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// When fair sharing lets a workload preempt one of a queue whose share is larger. The shares compared are those of the two nodes right
/// below the lowest common cohort, the preemptor's with its workload.
enum class fair_strategy : std::uint8_t {
  less_or_equal_final,  ///< the preemptor's is at most the other's after the preemption
  less_than_initial,    ///< the preemptor's is less than the other's before
};

struct fair_sharing_options {
  bool enabled = false;
  fair_strategy first = fair_strategy::less_or_equal_final;
  bool then_less_than_initial =
      true;  ///< this one is tried on candidates that the first refuses, at most one of each queue
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
