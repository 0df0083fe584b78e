#pragma once
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// When a CronJob runs, as Kubernetes reads it (robfig's cron): five fields of numbers, names of months and weekdays, ranges, steps and
/// lists; @hourly and the like; @every.
class cron_schedule {
 public:
  /// @p zone: a name of the tz database; empty: UTC. Throws std::invalid_argument, which says what is wrong.
  cron_schedule(const std::string& text, const std::string& zone);

  /// The first time after @p seconds since 1970; nothing if there is none within nine years (29 February may be eight years away).
  [[nodiscard]] std::optional<std::int64_t> after(std::int64_t seconds) const;
  /// Whether it runs at intervals, from when it is made on.
  [[nodiscard]] bool is_interval() const noexcept { return every_ != 0; }

 private:
  [[nodiscard]] bool is_its_day(absl::CivilDay day) const;

  // A bit for each number.
  std::uint64_t minutes_ = 0, hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
  bool any_day_ = false, any_weekday_ = false;  // "*": the other one decides; else either does
  std::int64_t every_ = 0;                      // seconds; 0: by the fields
  absl::TimeZone zone_ = absl::UTCTimeZone();
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
