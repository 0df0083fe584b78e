#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/kai/gangs.hpp"
#include "gangsched/queues/kai/queue_shares.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// A job in the order of jobs to start, or of victims.
struct queued_job {
  queue_index queue = no_queue;
  job_rank rank = {};
  std::vector<double> amounts = {};  ///< what it would allocate; of a victim what it holds
  std::size_t which = 0;             ///< an identifier of the caller's
};

/// Jobs of all queues in the order in which they are tried or, with @p victims, evicted. Among siblings the queue goes first that is first
/// with its best job (`queue_shares::order`), and so on down to a queue's own jobs (`job_order`). For victims all of this is reversed, and
/// a queue counts as if its jobs that were popped before were gone. The shares must outlive this object, and are read at each pop.
class GANGSCHED_API job_queue {
 public:
  job_queue(const queue_shares& shares, bool victims);

  void push(queued_job job);
  [[nodiscard]] bool empty() const noexcept { return jobs_ == 0; }
  /// The next one. O(queues with jobs · resources + jobs of those queues). @pre not empty
  queued_job pop();

 private:
  struct own {
    std::vector<queued_job> jobs = {};
    std::vector<double> popped = {};  ///< what those hold that were popped
  };
  struct best {
    queue_index leaf = no_queue;
    std::size_t place = 0;
  };
  [[nodiscard]] best best_below(queue_index queue) const;
  [[nodiscard]] best best_of(std::span<const queue_index> siblings) const;
  [[nodiscard]] bool before(queue_index a, const best& of_a, queue_index b, const best& of_b) const;
  [[nodiscard]] std::vector<double> leaving(const best& of) const;

  const queue_shares* shares_;
  bool victims_;
  std::size_t jobs_ = 0;
  std::vector<own> own_;                   ///< by queue
  std::vector<std::uint32_t> jobs_below_;  ///< by queue: jobs of it and of those below
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/job_queue.cpp"
#endif
