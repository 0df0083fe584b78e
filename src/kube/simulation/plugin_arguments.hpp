#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/kube/configuration.hpp"

/// What a profile says of one plugin.
namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

[[nodiscard]] inline bool names_plugin(const scheduler_profile& profile, std::string_view plugin) {
  return std::ranges::any_of(profile.plugins, [&](const auto& at) {
    return std::ranges::find(at, plugin, &configured_plugin::name) != at.end();
  });
}

/// Null if it has none. Valid until the profile's arguments change.
[[nodiscard]] inline const argument* arguments_of(const scheduler_profile& profile, std::string_view plugin) {
  const auto found = std::ranges::find(profile.arguments, plugin, &std::pair<std::string, argument>::first);
  return found == profile.arguments.end() ? nullptr : &found->second;
}

/// YuniKorn's argument: by queue, after how many seconds above its maximum pods have to go.
inline constexpr const char* quota_preemption_delays = "quotaPreemptionDelays";

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
