#include "gangsched/src/kube/simulation/times.hpp"

#include <absl/time/time.h>

#include <cstdint>

#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

std::optional<instant> read_duration(const std::string& text) {
  const std::optional<instant> made = parse_duration(text);
  return made && *made >= instant{0} && *made <= longest_duration ? made : std::nullopt;
}

std::optional<std::int64_t> read_time(const std::string& text) {
  absl::Time made;
  if (!absl::ParseTime(absl::RFC3339_full, text, &made, nullptr)) return std::nullopt;
  // 100 years from 1970, and as many again of virtual time, are an instant.
  const absl::Duration most = absl::Nanoseconds(longest_duration.count());
  if (made < absl::UnixEpoch() - most || made > absl::UnixEpoch() + most) return std::nullopt;
  return absl::ToUnixSeconds(made);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
