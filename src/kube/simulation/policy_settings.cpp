#include "gangsched/src/kube/simulation/policy_settings.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/plugins/hived.hpp"
#include "gangsched/plugins/yunikorn.hpp"
#include "gangsched/src/kube/simulation/plugin_arguments.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

namespace yk = queues::yunikorn;

/// The plugin's arguments, with those of @p more that it has not; of a field that is @p merged, the fields.
void add_arguments(scheduler_profile& profile, std::string_view plugin, const argument::fields& more,
                   std::string_view merged = {}) {
  auto its = std::ranges::find(profile.arguments, plugin, &std::pair<std::string, argument>::first);
  if (its == profile.arguments.end())
    its = profile.arguments.insert(its, {std::string{plugin}, argument{argument::fields{}}});
  if (!its->second.empty() && its->second.if_fields() == nullptr) return;  // the plugin says what is wrong with it
  argument::fields all;
  if (const argument::fields* own = its->second.if_fields()) all = *own;
  for (const auto& [key, value] : more) {
    const auto said = std::ranges::find(all, key, &std::pair<std::string, argument>::first);
    if (said == all.end()) {
      all.emplace_back(key, value);
    } else if (key == merged && said->second.if_fields() != nullptr) {
      argument::fields both = *said->second.if_fields();
      for (const auto& one : *value.if_fields())
        if (said->second.find(one.first) == nullptr) both.push_back(one);
      said->second = argument{std::move(both)};
    }
  }
  its->second = argument{std::move(all)};
}

argument texts(const std::vector<std::string>& from) { return argument{argument::list{from.begin(), from.end()}}; }

/// Limits of users and groups, one after the other as they are tried.
argument limits_of(const yunikorn_queues& from) {
  argument::list made;
  for (std::size_t i = 0; i < from.names.size(); ++i) {
    for (const yk::user_limit& one : from.settings[i].limits) {
      argument::fields most;
      yk::resources::for_each(one.max.types(), [&](yk::resource_type type) {
        most.emplace_back(from.types[type], argument{one.max[type]});
      });
      const auto add = [&](const char* what, const std::string& who) {
        argument::fields limit{{"queue", argument{from.names[i]}}, {what, argument{who}}};
        limit.emplace_back("maxApplications", argument{std::int64_t{one.max_applications}});
        if (!most.empty()) limit.emplace_back("maxResources", argument{most});
        made.emplace_back(std::move(limit));
      };
      for (const std::string& user : one.users) add("user", user);
      for (const std::string& group : one.groups) add("group", group);
    }
  }
  return argument{std::move(made)};
}

argument::fields arguments_of(const yunikorn_queues& from, std::vector<warning>& warnings) {
  std::vector<std::string> priority_fences, preemption_fences;
  argument::fields quota_delays;
  const std::set<std::string_view> parents{from.parents.begin(), from.parents.end()};
  std::size_t leaves = 0, fair = 0, share_first = 0;
  for (std::size_t i = 0; i < from.names.size(); ++i) {
    const yk::queue_settings& its = from.settings[i];
    if (its.priority == yk::priority_policy::fence) priority_fences.push_back(from.names[i]);
    if (its.preemption == yk::preemption_policy::fence) preemption_fences.push_back(from.names[i]);
    constexpr std::int64_t most = 1'000'000'000;  // that the plugin takes: 31 years
    const std::int64_t seconds =
        std::min<std::int64_t>(most, std::chrono::ceil<std::chrono::seconds>(its.quota_preemption_delay).count());
    if (seconds > 0) quota_delays.emplace_back(from.names[i], argument{std::int64_t{seconds}});
    if (parents.contains(from.names[i])) continue;
    ++leaves;
    fair += its.order == yk::application_order::fair ? 1 : 0;
    share_first += its.priority_first ? 0 : 1;
  }
  const auto one_for_all = [&](std::size_t with, const char* property, const char* what) {
    if (with != 0 && with != leaves)
      warnings.push_back({"queues.yaml", property,
                          std::string{"queues differ in it, and the plugin has one for all of them: "} + what});
    return with == leaves && with != 0;
  };
  argument::fields made;
  if (one_for_all(fair, "application.sort.policy", "fifo"))
    made.emplace_back("applicationSortPolicy", argument{std::string{"fair"}});
  if (one_for_all(share_first, "application.sort.priority", "enabled"))
    made.emplace_back("applicationSortPriority", argument{std::string{"disabled"}});
  if (!priority_fences.empty()) made.emplace_back("priorityFences", texts(priority_fences));
  if (!preemption_fences.empty()) made.emplace_back("preemptionFences", texts(preemption_fences));
  if (argument limits = limits_of(from); !limits.if_list()->empty()) made.emplace_back("limits", std::move(limits));
  if (!quota_delays.empty()) made.emplace_back(quota_preemption_delays, argument{std::move(quota_delays)});
  return made;
}

argument physical(const queues::hived::physical_cell& from) {
  argument::fields made;
  if (!from.type.empty()) made.emplace_back("cellType", argument{from.type});
  if (!from.node.empty()) made.emplace_back("cellAddress", argument{from.node});
  if (from.device) made.emplace_back("cellAddress", argument{std::to_string(*from.device)});
  if (!from.pin.empty()) made.emplace_back("pinnedCellId", argument{from.pin});
  argument::list children;
  for (const queues::hived::physical_cell& one : from.children) children.push_back(physical(one));
  if (!children.empty()) made.emplace_back("cellChildren", argument{std::move(children)});
  return argument{std::move(made)};
}

/// The way to a type of cell, as HiveD has it: V100-RACK.V100-NODE.V100.
std::string way_to(const queues::hived::configuration& of, const queues::hived::cell_quota& cell) {
  if (cell.chain.empty()) return cell.type;
  std::string made = cell.chain;
  std::string at = cell.chain;
  for (std::size_t steps = 0; at != cell.type && steps <= of.types.size(); ++steps) {
    const auto found = std::ranges::find(of.types, at, &queues::hived::cell_type::name);
    if (found == of.types.end()) break;
    at = found->child;
    made += "." + at;
  }
  return made;
}

argument::fields arguments_of(const queues::hived::configuration& from) {
  argument::fields types, clusters;
  for (const queues::hived::cell_type& one : from.types)
    types.emplace_back(one.name, argument{argument::fields{{"childCellType", argument{one.child}},
                                                           {"childCellNumber", argument{std::int64_t{one.children}}},
                                                           {"isNodeLevel", argument{one.is_node}}}});
  argument::list cells;
  for (const queues::hived::physical_cell& one : from.cells) cells.push_back(physical(one));
  for (const queues::hived::virtual_cluster_spec& one : from.clusters) {
    argument::list due, pins;
    for (const queues::hived::cell_quota& cell : one.cells)
      due.emplace_back(argument::fields{{"cellType", argument{way_to(from, cell)}},
                                        {"cellNumber", argument{std::int64_t{cell.count}}}});
    for (const std::string& pin : one.pins) pins.emplace_back(argument::fields{{"pinnedCellId", argument{pin}}});
    clusters.emplace_back(one.name, argument{argument::fields{{"virtualCells", argument{std::move(due)}},
                                                              {"pinnedCells", argument{std::move(pins)}}}});
  }
  argument::fields all{{"cellTypes", argument{std::move(types)}}, {"physicalCells", argument{std::move(cells)}}};
  return {{"physicalCluster", argument{std::move(all)}}, {"virtualClusters", argument{std::move(clusters)}}};
}

}  // namespace

void add_policy_settings(manifests& from, scheduler_configuration& to, std::vector<warning>& warnings) {
  const auto each = [&](std::string_view plugin, const auto& visit) {
    for (scheduler_profile& profile : to.profiles)
      if (names_plugin(profile, plugin)) visit(profile);
  };
  if (from.yunikorn && std::ranges::any_of(to.profiles, [](const scheduler_profile& one) {
        return names_plugin(one, yunikorn_policy::name);
      })) {
    const argument::fields said = arguments_of(*from.yunikorn, warnings);
    each(yunikorn_policy::name, [&](scheduler_profile& profile) {
      if (!said.empty()) add_arguments(profile, yunikorn_policy::name, said, quota_preemption_delays);
    });
    std::map<std::string_view, std::int32_t> offsets;
    for (std::size_t i = 0; i < from.yunikorn->names.size(); ++i)
      offsets.emplace(from.yunikorn->names[i], from.yunikorn->settings[i].priority_offset);
    for (queue_manifest& queue : from.queues)
      if (const auto offset = offsets.find(queue.spec.name);
          offset != offsets.end() && queue.api == "yunikorn.apache.org")
        queue.spec.priority = offset->second;
  }
  if (from.hived) {
    const argument::fields said = arguments_of(from.hived->configuration);
    each(hived_policy::name, [&](scheduler_profile& profile) {
      const argument* const own = arguments_of(profile, hived_policy::name);
      const bool has_cells =
          own != nullptr && (own->find("physicalCluster") != nullptr || own->find("virtualClusters") != nullptr);
      if (!has_cells) add_arguments(profile, hived_policy::name, said);
    });
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
