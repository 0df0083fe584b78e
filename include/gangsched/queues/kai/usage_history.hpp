#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/queue_tree.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// Which part of the past counts.
struct usage_window {
  instant length = std::chrono::hours{7 * 24};
  instant half_life{};                        ///< after which a sample counts half; 0: all count alike
  std::optional<instant> tumbling_from = {};  ///< the window restarts then and after each length; not set: it slides
};

/// The past use of queues, which lowers their shares (`queue_shares::set_usage`). A queue's usage is the sum of what it held at each
/// sample, over the sum of the capacity; both decayed by the age of the sample. Samples should be equally far apart.
class GANGSCHED_API usage_history {
 public:
  usage_history(std::size_t queues, std::size_t resources, usage_window window = {});

  /// Adds a sample. @param held by queue, then resource. @param capacity by resource. Errors: `malformed` (not as many as there are),
  /// `time_went_back`, `out_of_range` (negative or not finite). O(queues · resources); a sliding window keeps each sample, and when one
  /// leaves it the others are summed up again, so that no rounding error stays: O(samples · queues · resources).
  result<void> record(instant now, std::span<const double> held, std::span<const double> capacity);
  /// The fraction of the cluster that the queue used up to the last sample; 0 without samples or capacity. O(1).
  [[nodiscard]] double usage(queue_index queue, std::size_t resource) const;

 private:
  struct sample {
    instant at;
    std::vector<double> amounts;  ///< held by queues, then the capacity
  };
  void add(const sample& one, instant now);
  [[nodiscard]] double decay(instant age) const;

  std::size_t queues_, resources_;
  usage_window window_;
  std::vector<double> sums_;    ///< of the samples' amounts, decayed to the last one
  std::deque<sample> samples_;  ///< of a sliding window
  std::int64_t round_ = 0;      ///< which tumbling window the sums are of
  std::optional<instant> last_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/usage_history.cpp"
#endif
