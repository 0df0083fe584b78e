#include "gangsched/src/kube/simulation/lowered_maxima.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gangsched/src/kube/simulation/plugin_arguments.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
result<std::optional<lowered_maxima>> lowered_maxima::made_for(const scheduler_configuration& profiles) {
  const auto first = std::ranges::find_if(
      profiles.profiles, [](const scheduler_profile& one) { return names_plugin(one, yunikorn_policy::name); });
  const argument* args = first == profiles.profiles.end() ? nullptr : arguments_of(*first, yunikorn_policy::name);
  const argument* said = args == nullptr ? nullptr : args->find(quota_preemption_delays);
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
