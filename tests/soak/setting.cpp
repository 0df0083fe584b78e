#include "setting.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "gangsched/framework/profile.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/dice.hpp"

namespace gangsched::soak {

namespace {

using namespace std::chrono_literals;
using testing::dice;

/// Without these the model's rules about places would not hold.
constexpr std::array<std::string_view, 23> always{"SchedulingGates",     "PrioritySort",
                                                  "NodeUnschedulable",   "NodeName",
                                                  "TaintToleration",     "NodeAffinity",
                                                  "NodePorts",           "NodeResourcesFit",
                                                  "VolumeRestrictions",  "NodeVolumeLimits",
                                                  "VolumeBinding",       "VolumeZone",
                                                  "PodTopologySpread",   "InterPodAffinity",
                                                  "DynamicResources",    "GangScheduling",
                                                  "DefaultPreemption",   "NodeResourcesBalancedAllocation",
                                                  "ImageLocality",       "TopologyPlacementGenerator",
                                                  "PodGroupPodsCount",   "GroupPreemption",
                                                  "NodeDeclaredFeatures"};

/// Expressions on devices, in a language of the host's: "speed N" or anything else, which cannot be evaluated.
device_verdict matches_speed(void*, std::string_view expression, const other_device& device) {
  if (!expression.starts_with("speed ")) return {false, "no such language"};
  const auto speed = device.attributes.find("speed");
  return {speed != device.attributes.end() && std::get<std::int64_t>(speed->second) >= expression.back() - '0'};
}

/// Arguments for some plugins that can have or need some.
argument random_arguments(std::string_view plugin, dice& any) {
  if (plugin == "NodeResourcesFit" && any.percent(50)) {
    return argument::fields{
        {"scoringStrategy", argument::fields{{"type", any.percent(50) ? "MostAllocated" : "LeastAllocated"}}}};
  }
  if (plugin == "PodTopologySpread" && any.percent(50)) {
    const argument::fields zones{{"topologyKey", "zone"}, {"maxSkew", 1}, {"whenUnsatisfiable", "ScheduleAnyway"}};
    return argument::fields{{"defaultingType", "List"}, {"defaultConstraints", argument::list{zones}}};
  }
  if (plugin == "LoadAwareScheduling" && any.percent(70)) {
    return argument::fields{
        {"allowCustomizeEstimation", any.percent(70)},
        {"usageThresholds", argument::fields{{"cpu", any.between(20, 90)}}},
        {"estimatedSecondsAfterPodScheduled", any.between(0, 60)},
        {"aggregated", argument::fields{{"usageAggregationType", "p95"}, {"scoreAggregationType", "avg"}}}};
  }
  if (plugin == "LeastSlackSort" && any.percent(50)) return argument::fields{{"maxWaitPercent", any.between(1, 500)}};
  if (plugin == "NetworkCost") {
    const argument::fields rack{{"key", "rack"}, {"cost", 1}}, zone{{"key", "zone"}, {"cost", 4}};
    return argument::fields{{"levels", argument::list{rack, zone}}};
  }
  return {};
}

kernel_table random_table(std::uint64_t seed) {
  static const plugin_registry registry = builtin_plugins();
  static const std::vector<std::string> names = registry.names();
  dice any{seed};
  for (int tries = 0; tries < 100; ++tries) {  // some of the rest need arguments
    runtime_profile made{registry};
    for (const std::string_view name : always) made.enable(name, 0, random_arguments(name, any));
    for (const std::string& name : names) {
      if (std::find(always.begin(), always.end(), name) != always.end() || !any.percent(25)) continue;
      made.enable(name, any.between(0, 3), random_arguments(name, any));
      if (name == "Kueue" || name == "ArrivalSort" || name == "LeastSlackSort")
        made.disable("PrioritySort");  // they sort, too
    }
    if (result<kernel_table> table = made.table()) return *std::move(table);
  }
  throw std::logic_error("no profile can be made of the registry's plugins");
}

kernel_table one_table(const setting& of, std::uint64_t seed) {
  kernel_table made;
  switch (of.profile) {
    case setting::base::kube_default: made = profiles::kube_default(); break;
    case setting::base::bin_packing: made = profiles::bin_packing(); break;
    case setting::base::random: made = random_table(seed); break;
  }
  made.percentage_of_nodes_to_score = of.percentage;
  return made;
}

}  // namespace

setting make_setting(std::uint64_t seed) {
  dice any{mix64(seed) ^ 0x736f616bu};
  setting made{.seed = seed};
  constexpr std::array<std::size_t, 4> bounds{4, 64, std::size_t{1} << 16, std::size_t{1} << 16};
  made.cluster.log_bound = any.of(bounds);
  if (any.percent(35)) made.cluster.semantics = kube_semantics{static_cast<kube_release>(any.below(3))};
  made.scheduler.seed = any.next();
  made.scheduler.ties = static_cast<tie_rule>(any.below(3));
  made.scheduler.wake = static_cast<wake_rule>(any.below(3));
  made.scheduler.holds = static_cast<hold_rule>(any.percent(30));
  if (any.percent(8)) made.scheduler.timers = timer_rule::by_host;
  if (any.percent(30)) made.scheduler.backoff_window = 1s;
  if (any.percent(8)) made.scheduler.max_backoff = 0s;
  if (any.percent(5)) made.scheduler.unschedulable_timeout = 20s;
  made.scheduler.search_budget = any.percent(50) ? 10'000 : any.below(60);
  made.scheduler.indexed_classes = any.percent(50) ? 64 : 1 + any.below(3);
  made.scheduler.check_hooks = any.percent(20);
  constexpr std::array<setting::base, 5> kinds{setting::base::kube_default, setting::base::kube_default,
                                               setting::base::bin_packing, setting::base::random,
                                               setting::base::random};
  made.profile = any.of(kinds);
  if (any.percent(12)) made.percentage = static_cast<std::int32_t>(10 + any.below(60));
  made.two_profiles = any.percent(15);
  made.devices = any.percent(50);
  made.numa = any.percent(50);
  made.host_decides = any.percent(25);
  made.host_plugin = any.percent(25);
  made.broken_hooks = made.host_plugin && any.percent(20);
  if (any.percent(50)) made.cluster.device_matcher = {matches_speed, nullptr};
  for (const quirk one :
       {quirk::negative_namespace_selectors, quirk::scores_without_pod_level_requests, quirk::trials_know_ports_once,
        quirk::trials_count_terminating_pods, quirk::idle_affinity_filter}) {
    if (any.percent(10)) made.cluster.semantics = made.cluster.semantics.without(one);
  }
  made.held_rooms = any.percent(20);
  made.columns = any.percent(20);
  made.queues = any.percent(20);
  made.reservations = dice{mix64(~seed)}.percent(25);
  if (any.percent(20)) made.scheduler.backfill = any.percent(50) ? backfill_rule::easy : backfill_rule::conservative;
  if (any.percent(10)) made.scheduler.max_overtake = 20s;
  if (dice{mix64(seed + 1)}.percent(15)) made.scheduler.eviction_notice = 4s;
  if (dice{mix64(seed + 2)}.percent(50)) made.scheduler.indexed_at_once = 1;
  return made;
}

std::vector<kernel_table> make_tables(const setting& of, const std::shared_ptr<host_rules>& rules) {
  std::vector<kernel_table> made{one_table(of, of.seed)};
  for (std::uint64_t other = 1; of.two_profiles && made.size() < 2; ++other) {
    made.push_back(one_table(of, of.seed + other));
    made.back().scheduler_name = "other";
    if (!scheduler::check(made)) made.pop_back();  // it orders queues otherwise
  }
  if (of.host_plugin) {
    for (kernel_table& one : made) add_plugin(one, lower(host_plugin{rules}));
  }
  return made;
}

std::string describe(const setting& of) {
  constexpr std::array<std::string_view, 3> kinds{"kube_default", "bin_packing", "random"};
  constexpr std::array<std::string_view, 3> releases{"1.35", "1.36", "1.37"};
  constexpr std::array<std::string_view, 3> ties{"uniform", "lowest_row", "kube_heap"};
  constexpr std::array<std::string_view, 3> wakes{"one_per_class", "all", "hints"};
  const auto in = [](const auto& names, auto value) { return std::string{names[static_cast<std::size_t>(value)]}; };
  std::string text = "profile " + in(kinds, of.profile);
  if (of.two_profiles) text += " twice";
  if (of.percentage) text += ", " + std::to_string(*of.percentage) + "% of nodes";
  text += ", release " + in(releases, of.cluster.semantics.release()) + ", log_bound " +
          std::to_string(of.cluster.log_bound);
  text += ", ties " + in(ties, of.scheduler.ties) + ", wake " + in(wakes, of.scheduler.wake);
  if (of.scheduler.holds == hold_rule::timers_only) text += ", holds timers_only";
  if (of.scheduler.timers == timer_rule::by_host) text += ", timers by_host";
  if (of.scheduler.backoff_window != 0s) text += ", backoff windows of 1 s";
  if (of.scheduler.max_backoff == 0s) text += ", max_backoff 0";
  if (of.scheduler.unschedulable_timeout != 5min) text += ", unschedulable_timeout 20 s";
  text += ", search_budget " + std::to_string(of.scheduler.search_budget) + ", indexed_classes " +
          std::to_string(of.scheduler.indexed_classes);
  if (of.scheduler.indexed_at_once == 1) text += ", indexed_at_once 1";
  if (of.scheduler.check_hooks) text += ", check_hooks";
  if (of.host_plugin) text += of.broken_hooks ? ", a plugin of the host's that throws" : ", a plugin of the host's";
  if (of.host_decides) text += ", the host decides too";
  if (of.held_rooms) text += ", held rooms";
  if (of.reservations) text += ", reservations";
  if (of.columns) text += ", columns of the host's";
  if (of.queues) text += ", queues";
  if (of.scheduler.backfill == backfill_rule::easy) text += ", backfill easy";
  if (of.scheduler.backfill == backfill_rule::conservative) text += ", backfill conservative";
  if (of.scheduler.max_overtake == 20s) text += ", max_overtake 20 s";
  if (of.scheduler.eviction_notice == 4s) text += ", eviction_notice 4 s";
  return text;
}

}  // namespace gangsched::soak
