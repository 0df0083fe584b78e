#include "gangsched/src/kube/simulation/times.hpp"

#include <absl/time/time.h>

#include <cstdint>
#include <limits>
#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

std::optional<instant> read_duration(const std::string& text) {
  constexpr instant longest = std::chrono::hours{100 * 365 * 24};
  const std::optional<instant> made = parse_duration(text);
  return made && *made >= instant{0} && *made <= longest ? made : std::nullopt;
}

std::optional<std::int64_t> read_time(const std::string& text) {
  absl::Time made;
  if (!absl::ParseTime(absl::RFC3339_full, text, &made, nullptr)) return std::nullopt;
  using nanos = std::numeric_limits<std::int64_t>;  // since 1970, as an instant has them
  if (made < absl::FromUnixNanos(nanos::min()) || made > absl::FromUnixNanos(nanos::max())) return std::nullopt;
  return absl::ToUnixSeconds(made);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
