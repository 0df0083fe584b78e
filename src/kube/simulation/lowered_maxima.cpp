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

/// @p to has the fields of @p more that it has not.
void add_fields(argument& to, const argument::fields& more) {
  argument::fields merged;
  if (const argument::fields* own = to.if_fields()) merged = *own;
  for (const auto& [key, value] : more)
    if (to.find(key) == nullptr) merged.emplace_back(key, value);
  to = argument{std::move(merged)};
}

}  // namespace

void add_quota_delays(const manifests& from, scheduler_configuration& to) {
  if (!from.yunikorn) return;
  argument::fields said;
  for (std::size_t i = 0; i < from.yunikorn->names.size(); ++i) {
    constexpr std::int64_t most = 1'000'000'000;  // that the plugin takes: 31 years
    const std::int64_t seconds = std::min<std::int64_t>(
        most, std::chrono::ceil<std::chrono::seconds>(from.yunikorn->settings[i].quota_preemption_delay).count());
    if (seconds > 0) said.emplace_back(from.yunikorn->names[i], argument{std::int64_t{seconds}});
  }
  if (said.empty()) return;
  for (scheduler_profile& profile : to.profiles) {
    if (!names_policy(profile)) continue;
    auto its = std::ranges::find(profile.arguments, yunikorn_policy::name, &std::pair<std::string, argument>::first);
    if (its == profile.arguments.end())
      its = profile.arguments.insert(its, {std::string{yunikorn_policy::name}, argument{}});
    argument both;
    if (const argument* own = its->second.find(delays)) {
      if (own->if_fields() == nullptr) continue;  // the plugin says what is wrong with it
      both = *own;
    }
    add_fields(both, said);
    argument::fields others;
    if (const argument::fields* all = its->second.if_fields())
      std::ranges::copy_if(*all, std::back_inserter(others), [](const auto& one) { return one.first != delays; });
    others.emplace_back(delays, std::move(both));
    its->second = argument{std::move(others)};
  }
}

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
