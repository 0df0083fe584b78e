#include "simulate/times.hpp"

#include <absl/time/time.h>

namespace simulate {

std::optional<instant> parse_duration(const std::string& text) {
  absl::Duration made;
  if (!absl::ParseDuration(text, &made) || made < absl::ZeroDuration() || made > absl::Hours(100 * 365 * 24))
    return std::nullopt;
  return instant{absl::ToInt64Nanoseconds(made)};
}

std::optional<std::int64_t> parse_time(const std::string& text) {
  absl::Time made;
  if (!absl::ParseTime(absl::RFC3339_full, text, &made, nullptr)) return std::nullopt;
  return absl::ToUnixSeconds(made);
}

}  // namespace simulate
