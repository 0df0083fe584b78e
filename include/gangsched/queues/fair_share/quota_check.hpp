#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/usage.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {

enum class refusal : std::uint8_t {
  none,
  closed,           ///< the queue admits no job
  too_many,         ///< as many jobs run as are allowed
  over_limit,       ///< more than it may use
  kept_for_others,  ///< what is left is kept for queues that do not lend it
};

/// Whether quota lets a job start, and if not, which limit prevents it.
struct quota_verdict {
  refusal why = refusal::none;
  queue_index queue = no_queue;  ///< whose limit it is; of kept_for_others: the queue that would borrow
  std::size_t resource = 0;
  std::int64_t most = 0;     ///< that may be in use there
  std::int64_t missing = 0;  ///< how much would have to end first

  [[nodiscard]] bool ok() const noexcept { return why == refusal::none; }
};

/// Whether a job of the queue that needs @p request, by resource, may start: no queue above it is closed, runs its maximum of jobs, or
/// would exceed its limit; and a queue that would exceed its guarantee takes nothing that is kept for others, of what their parents may use
/// and of the total. The lowest queue that refuses is named.
/// @p runs: part of the job runs already, so it does not count as another job.
/// O(depth · resources); where something is kept O(queues) for each resource.
[[nodiscard]] GANGSCHED_API quota_verdict check_quota(const fair_shares& shares, queue_index queue,
                                                      std::span<const std::int64_t> request, const usage& now,
                                                      bool runs = false);

struct borrower {
  queue_index queue = no_queue;
  std::int64_t above = 0;  ///< what it uses above what it is due
};

/// The queues without children within @p within (no_queue: all) that use more of the resource than they are due, most first; ties in the
/// order of the tree. O(queues · log queues).
[[nodiscard]] GANGSCHED_API std::vector<borrower> borrowers(const fair_shares& shares, queue_index within,
                                                            std::size_t resource, const usage& now);

/// The verdict as a sentence: which limit of which queue, how much is missing, which queues use more than they are due, and what would have
/// to end. @p resource_names by resource.
[[nodiscard]] GANGSCHED_API std::string explain(const fair_shares& shares, const quota_verdict& verdict,
                                                std::span<const std::string_view> resource_names, const usage& now);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/fair_share/quota_check.cpp"
#endif
