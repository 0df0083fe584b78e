#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "gangsched/devices/gpu_outlook.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The value of a GPU with so many thousandths left (the index, 0 to 1000) for the expected pods.
using bid_values = std::vector<std::int32_t>;

/// By a linear program: patterns of shares, and of whole GPUs, are cut from @p gpus GPUs so that as much as possible is in use when the
/// expected demand fills all of them; the duals are the values of the room of each size, and a knapsack over them gives the value of any
/// room. Column generation on a grid of 10 thousandths. O(iterations · sizes²), milliseconds.
[[nodiscard]] GANGSCHED_API bid_values bid_for_shares(std::span<const expected_pods> expected, std::int64_t gpus);

/// The estimated distribution of pods: a prior, worth @p prior_pods of them, and all pods seen so far.
class GANGSCHED_API demand_learner {
 public:
  explicit demand_learner(std::span<const expected_pods> prior, std::int64_t prior_pods = 300);

  /// Records a pod. True if the bids should be computed again: after 256 pods, and whenever their number has doubled. O(log lines).
  bool see(const expected_pods& arrival);
  /// The expected pods now. O(lines).
  [[nodiscard]] std::vector<expected_pods> expected() const;

 private:
  std::int64_t prior_pods_, arrived_ = 0, next_ = 256;
  std::map<expected_pods, std::int64_t> prior_, seen_;  // by line, whose count is 0
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/gpu_bids.cpp"
#endif
