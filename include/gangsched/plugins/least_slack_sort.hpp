#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Higher priority first, then the entity with the least slack, which is the one that has to start first (docs/deadlines.md): min(deadline
/// − expected run time, entered + longest wait), with the plugin's own longest wait for entities that have neither: the shorter of a time
/// and a percentage of the expected run time. Ties go by arrival. (A. K. Mok, Fundamental design problems of distributed systems for the
/// hard real-time environment, 1983: least laxity. With the percentage alone it is shortest job first with aging.)
class least_slack_sort {
 public:
  static constexpr std::string_view name = "LeastSlackSort";
  using points = implements<point::queue_sort>;

  /// The longest wait of entities that have neither a deadline nor a longest wait. Without it they go last.
  struct options {
    instant max_wait = instant::max();
    std::int32_t max_wait_percent = 0;  ///< of the expected run time, if that is known; 0: only `max_wait` counts
  };
  least_slack_sort() noexcept : least_slack_sort(options{}) {}
  /// Negative percentages count as 0.
  explicit least_slack_sort(const options& chosen) noexcept : options_(chosen) {}
  /// Arguments: `maxWait: SECONDS`, `maxWaitPercent: PERCENT`.
  [[nodiscard]] static result<least_slack_sort> from(const argument& args) {
    options chosen;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      std::int64_t number = 0;
      if (key == "maxWait") {
        constexpr std::int64_t most = std::chrono::duration_cast<std::chrono::seconds>(instant::max()).count();
        if (!read.number(value, path, 0, most, number)) return false;
        chosen.max_wait = std::chrono::seconds{number};
      } else if (key == "maxWaitPercent") {
        if (!read.number(value, path, 0, std::numeric_limits<std::int32_t>::max(), number)) return false;
        chosen.max_wait_percent = static_cast<std::int32_t>(number);
      } else {
        return read.unknown(path);
      }
      return true;
    });
    if (!fine) return std::move(read).failure();
    return least_slack_sort{chosen};
  }

  [[nodiscard]] bool reads_run_time() const noexcept { return options_.max_wait_percent > 0; }
  [[nodiscard]] sort_key key(const queued& one) const noexcept {
    const instant wait = one.start_by == instant::max() ? longest_wait(one) : instant::max();
    const instant by = wait == instant::max() ? one.start_by : later_by(one.entered, wait);
    return {.band = -std::int64_t{one.priority}, .order = by.count()};
  }

 private:
  [[nodiscard]] instant longest_wait(const queued& one) const noexcept {
    const std::int64_t percent = options_.max_wait_percent;
    if (percent <= 0 || one.expected_run_time == instant{0}) return options_.max_wait;
    const instant hundredth = one.expected_run_time / 100;
    return hundredth > options_.max_wait / percent ? options_.max_wait : hundredth * percent;
  }

  options options_;
};

static_assert(queue_sort_plugin<least_slack_sort>);

}  // namespace gangsched::inline GANGSCHED_ABI
