#include "simulate/outcome.hpp"

#include <chrono>
#include <cmath>

namespace simulate {

std::string_view name_of(fate is) noexcept {
  switch (is) {
    case fate::unscheduled: return "unscheduled";
    case fate::waiting: return "waiting";
    case fate::placed: return "placed";
    case fate::ended: return "ended";
    case fate::evicted: return "evicted";
    case fate::running: return "running";
  }
  return "";
}

outcome::counts outcome::count() const {
  counts all;
  for (const pod_outcome& pod : pods) {
    if (!pod.was_running) {
      ++all.to_place;
      if (pod.is == fate::placed) ++all.placed;
      if (pod.is == fate::unscheduled || pod.is == fate::waiting) ++all.unscheduled;
    }
    if (pod.is == fate::ended) ++all.ended;
    if (pod.is == fate::evicted) ++all.evicted;
  }
  return all;
}

std::string full_name(const pod_outcome& pod) { return pod.ns + "/" + pod.name; }

bool holds_node(const pod_outcome& pod) noexcept {
  return pod.is == fate::placed || pod.is == fate::running || (pod.is == fate::evicted && !pod.gone_at);
}

/// The scheduler's retries come a nanosecond late: nobody wants to read that.
double seconds(instant time) noexcept {
  return static_cast<double>(std::chrono::round<std::chrono::milliseconds>(time).count()) / 1000;
}

}  // namespace simulate
