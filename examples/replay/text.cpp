#include "replay/text.hpp"

#include <fmt/format.h>

namespace replay {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string time_span(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 0.05) return "< 0.1 s";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} d", seconds / 86400);
}

std::string time_span(instant length) { return time_span(seconds_of(length)); }

std::string short_time(double nanos) {
  if (nanos < 1e3) return fmt::format("{:.0f} ns", nanos);
  if (nanos < 1e6) return fmt::format("{:.1f} us", nanos / 1e3);
  return fmt::format("{:.1f} ms", nanos / 1e6);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

}  // namespace replay
