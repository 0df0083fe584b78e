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

struct run_time_options {
  std::int32_t percent = 90;        ///< of those that ran before, so many ran no longer: from 1 to 100
  std::size_t remembered = 64;      ///< the last runs of each key
  std::size_t fewest = 3;           ///< runs without which a key says nothing
  std::size_t most_keys = 100'000;  ///< beyond it the key goes of which nobody ended for longest
};

/// How long jobs are expected to run, for `pod_spec::expected_run_time` where nobody says it: a quantile of the last run times of similar
/// jobs. The host says by keys what is similar, from the most particular to the most general: "alice/train", "alice", "queue a". (Tsafrir,
/// Etsion and Feitelson, Backfilling using system-generated predictions rather than user runtime estimates, 2007, take the mean of the
/// user's last two.) It stands beside a scheduler, which does not know of it; the same calls give the same answers.
class GANGSCHED_API run_time_estimates {
 public:
  /// Counts and percent out of their range are moved into it.
  explicit run_time_estimates(const run_time_options& options = {});

  /// A job ran so long and ended. (Leave out jobs that were stopped early, for another job or by a lost node: their times say too little.)
  /// Negative times count as 0. Where memory runs out nothing is changed. O(keys · log keys known).
  void ended(std::span<const std::string_view> keys, instant ran);
  /// Takes the first key with enough ended jobs: the ⌈percent · n / 100⌉-th shortest of its last n runs. Nothing if no key has enough.
  /// O(keys · log keys known + remembered).
  [[nodiscard]] std::optional<instant> estimate(std::span<const std::string_view> keys) const;

  /// What it has learnt, to go on with after a restart: its keys, that of the latest end first, each with its runs, oldest first.
  struct learnt {
    std::string key;
    std::vector<instant> runs;
    friend bool operator==(const learnt&, const learnt&) = default;
  };
  [[nodiscard]] std::vector<learnt> save() const;
  /// Replaces what it has learnt; beyond its limits it keeps the keys and runs that ended last. Error: malformed (a key that comes twice, a
  /// negative time), and nothing is changed.
  [[nodiscard]] result<void> restore(std::span<const learnt> from);

 private:
  struct history {
    std::deque<instant> runs;
    std::uint64_t last = 0;  ///< when somebody ended, in calls
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
