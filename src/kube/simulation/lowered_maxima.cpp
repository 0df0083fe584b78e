#include "gangsched/src/kube/simulation/lowered_maxima.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

constexpr const char* delays = "quotaPreemptionDelays";

bool names_policy(const scheduler_profile& profile) {
  return std::ranges::any_of(profile.plugins, [](const auto& at) {
    return std::ranges::find(at, yunikorn_policy::name, &configured_plugin::name) != at.end();
  });
}

const argument* arguments_of(const scheduler_profile& profile) {
  const auto found =
      std::ranges::find(profile.arguments, yunikorn_policy::name, &std::pair<std::string, argument>::first);
  return found == profile.arguments.end() ? nullptr : &found->second;
}

}  // namespace

result<std::optional<lowered_maxima>> lowered_maxima::made_for(const scheduler_configuration& profiles) {
  const auto first = std::ranges::find_if(profiles.profiles, names_policy);
  const argument* args = first == profiles.profiles.end() ? nullptr : arguments_of(*first);
  const argument* said = args == nullptr ? nullptr : args->find(delays);
  if (said == nullptr || said->if_fields() == nullptr) return std::optional<lowered_maxima>{};
  result<yunikorn_policy> policy = yunikorn_policy::from(*args);
  if (!policy) return std::move(policy).error();
  std::int64_t longest = 0;
  for (const auto& [queue, delay] : *said->if_fields()) longest = std::max(longest, *delay.if_int());
  if (longest == 0) return std::optional<lowered_maxima>{};
  return std::optional{lowered_maxima{*std::move(policy), std::chrono::seconds{longest}}};
}

std::optional<instant> lowered_maxima::next(instant last_change) const {
  const instant when = watch_.next();
  if (when == instant::max() || when > later_by(last_change, longest_)) return std::nullopt;
  return when;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
