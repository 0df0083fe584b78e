#pragma once

#include <cstdint>
#include <vector>

#include "gangsched/queues/kueue/preemptor.hpp"
#include "gangsched/queues/kueue/shape_pool.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

enum class entry_result : std::uint8_t {
  admitted,
  skipped,  ///< an earlier entry took the room, or one of its targets
  pending,
};

/// Why a workload was not admitted; decides how it is requeued.
enum class requeue_reason : std::uint8_t {
  not_requeued,  ///< it was admitted
  no_fit,        ///< no flavor fits
  preemption_no_candidates,
  pending_preemption,       ///< others are being preempted, by this cycle or an earlier one
  failed_after_nomination,  ///< it was skipped
  pods_not_ready,           ///< it fits, but waits until all pods of workloads admitted before are ready
};

/// The head of a queue in one cycle.
struct cycle_entry {
  row_t workload = no_row;
  queue_index queue = no_queue;
  shape_index shape = 0;
  assignment flavors = {};
  std::vector<preemption_target> targets = {};  ///< workloads to preempt
  entry_result result = entry_result::pending;
  requeue_reason reason = requeue_reason::not_requeued;
  bool forgets_flavors = false;  ///< the next search begins with the first flavors
};

/// One choice of the next entry in a tree, with fair sharing.
struct tournament {
  struct share {
    queue_index parent;  ///< the node whose children are compared
    row_t workload;
    double weighted;  ///< of the child that the workload is in, with its usage
  };
  queue_index root;
  row_t winner;
  std::vector<share> shares;  ///< of all entries that were left
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
