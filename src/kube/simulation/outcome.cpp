#include "gangsched/kube/simulation_outcome.hpp"

#include <chrono>

#include "gangsched/core/quantity.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

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

double seconds(instant time) noexcept {
  return static_cast<double>(std::chrono::round<std::chrono::milliseconds>(time).count()) / 1000;
}

std::string_view state_of(const queue_outcome& queue) noexcept {
  if (!queue.known) return "not there";
  switch (queue.state) {
    case queue_state::open: return "";
    case queue_state::hold: return "hold";
    case queue_state::drain: return "drain";
  }
  return "?";
}

std::string amount_text(const std::string& resource, std::int64_t units) {
  if (resource == "cpu") return quantity::from_milli(units).to_string();
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return quantity::from_nanos(quantity{units}.nanos(), bytes ? quantity_format::binary_si : quantity_format::decimal_si)
      .to_string();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
