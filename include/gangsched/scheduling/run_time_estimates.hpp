#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// How estimates are made of past runs.
struct run_time_options {
  std::int32_t percent = 90;        ///< percentage of past runs that were no longer than the estimate: 1 to 100
  std::size_t remembered = 64;      ///< runs kept for each key, the last ones
  std::size_t fewest = 3;           ///< runs below which a key gives no estimate
  std::size_t most_keys = 100'000;  ///< beyond it the key whose last run ended first is dropped
};

/// How long jobs are expected to run, for `pod_spec::expected_run_time` where the user gives none: a quantile of the last run times of
/// similar jobs. The host names by keys what is similar, from the most specific to the most general: "alice/train", "alice", "queue a".
/// (Tsafrir, Etsion and Feitelson, Backfilling using system-generated predictions rather than user runtime estimates, 2007, take the mean
/// of the user's last two.) Schedulers do not use it by themselves. The same calls give the same answers.
class GANGSCHED_API run_time_estimates {
 public:
  /// Counts and percent outside their range are clamped to it.
  explicit run_time_estimates(const run_time_options& options = {});

  /// Records a job that ended after running for @p ran. (Leave out jobs that were stopped early, for another job or by a lost node.)
  /// Negative times count as 0. If memory runs out nothing is changed. O(keys · log keys known).
  void ended(std::span<const std::string_view> keys, instant ran);
  /// Of the first key with enough runs: the ⌈percent · n / 100⌉-th shortest of its last n runs. Nothing if no key has enough. O(keys · log
  /// keys known + remembered).
  [[nodiscard]] std::optional<instant> estimate(std::span<const std::string_view> keys) const;

  /// The state of the estimates, for a restart: a key with its runs, oldest first. `save` lists the key whose last run ended latest first.
  struct learnt {
    std::string key;
    std::vector<instant> runs;
    friend bool operator==(const learnt&, const learnt&) = default;
  };
  [[nodiscard]] std::vector<learnt> save() const;
  /// Replaces all state; beyond the limits the keys and runs that ended last are kept. Error: malformed (a key that comes twice, a negative
  /// time), and nothing is changed.
  [[nodiscard]] result<void> restore(std::span<const learnt> from);

 private:
  struct history {
    std::deque<instant> runs;
    std::uint64_t last = 0;  ///< number of the `ended` call that last named it
  };

  run_time_options options_;
  std::map<std::string, history, std::less<>> by_key_;
  std::map<std::uint64_t, std::string> by_last_;
  std::uint64_t ends_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/scheduling/run_time_estimates.cpp"
#endif
