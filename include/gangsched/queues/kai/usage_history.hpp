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

/// Which past counts.
struct usage_window {
  instant length = std::chrono::hours{7 * 24};
  instant half_life{};                        ///< after which a sample counts half; 0: all count alike
  std::optional<instant> tumbling_from = {};  ///< the window begins anew each length after this; not set: it slides
};

/// What queues used of the cluster, which makes their shares smaller (`queue_shares::set_usage`). A queue's usage is the sum of what it
/// held at each sample, over the sum of what there was; both decayed by the age of the sample. Samples are to be equally far apart.
class GANGSCHED_API usage_history {
 public:
  usage_history(std::size_t queues, std::size_t resources, usage_window window = {});

  /// A sample. @param held by queue, then resource. @param capacity by resource. Errors: `malformed` (not as many as there are),
  /// `time_went_back`, `out_of_range` (negative or not finite). O(queues · resources); a sliding window keeps each sample, and when one is
  /// over the others are summed up anew, so that no rounding stays: O(samples · queues · resources).
  result<void> record(instant now, std::span<const double> held, std::span<const double> capacity);
  /// The part of the cluster that the queue used until the last sample; 0 without one, and of what there was none of. O(1).
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
