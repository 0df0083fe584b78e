#pragma once
#include <algorithm>
#include <cstdint>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Higher priority first, then the entity with the least slack, which is the one that has to start first (docs/deadlines.md): min(deadline
/// − expected run time, entered + max_wait), with the plugin's own longest wait for entities that have neither. Ties go by arrival. (A. K.
/// Mok, Fundamental design problems of distributed systems for the hard real-time environment, 1983: least laxity.)
class least_slack_sort {
 public:
  static constexpr std::string_view name = "LeastSlackSort";
  using points = implements<point::queue_sort>;

  /// @p longest: the longest wait of entities without a deadline or a longest wait; without it they go last.
  explicit least_slack_sort(instant longest = instant::max()) noexcept : longest_(longest) {}
  /// Argument: `maxWait: SECONDS`.
  [[nodiscard]] static result<least_slack_sort> from(const argument& args) {
    instant longest = instant::max();
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key != "maxWait") return read.unknown(path);
      std::int64_t seconds = 0;
      constexpr std::int64_t most = std::chrono::duration_cast<std::chrono::seconds>(instant::max()).count();
      if (!read.number(value, path, 0, most, seconds)) return false;
      longest = std::chrono::seconds{seconds};
      return true;
    });
    if (!fine) return std::move(read).failure();
    return least_slack_sort{longest};
  }

  [[nodiscard]] sort_key key(const queued& one) const noexcept {
    const bool said = one.start_by != instant::max();
    const instant by = said || longest_ == instant::max() ? one.start_by : later_by(one.entered, longest_);
    return {.band = -std::int64_t{one.priority}, .order = by.count()};
  }

 private:
  instant longest_;
};

static_assert(queue_sort_plugin<least_slack_sort>);

}  // namespace gangsched::inline GANGSCHED_ABI
