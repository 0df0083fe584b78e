#include "differential_profiles.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::testing {
namespace {

namespace ref = reference;

// --- The user's own plugins, once for the library and once for the reference.

/// Opaque by node_info: a node takes at most three pods of one namespace, and the fewer pods it has the better.
struct few_of_a_kind {
  static constexpr std::string_view name = "FewOfAKind";
  using points = implements<point::filter, point::score>;

  [[nodiscard]] status filter(const pod_view& pod, node_info node) const {
    int same = 0;
    node.each_pod([&](const pod_info& other) { same += other.ns() == pod.ns() ? 1 : 0; });
    return same < 3 ? status::success() : status::unschedulable("node(s) had enough of the namespace");
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_info node) const {
    std::int64_t count = 0;
    node.each_pod([&](const pod_info&) { ++count; });
    return std::max<std::int64_t>(0, 100 - 9 * count);
  }
};
ref::plugin few_of_a_kind_rule() {
  ref::plugin rule{"FewOfAKind"};
  rule.filter = [](const ref::world&, const ref::pod& pod, row_t,
                   const ref::usage& used) -> std::optional<ref::rejection> {
    const auto same = std::count_if(used.pods.begin(), used.pods.end(),
                                    [&](const ref::pod* other) { return other->spec.ns == pod.spec.ns; });
    if (same < 3) return std::nullopt;
    return ref::rejection{code::unschedulable, {"node(s) had enough of the namespace"}};
  };
  rule.score = [](const ref::world&, const ref::pod&, row_t, const ref::usage& used) {
    return std::max<std::int64_t>(0, 100 - 9 * static_cast<std::int64_t>(used.pods.size()));
  };
  return rule;
}

/// Opaque by pod_info: a label that belongs to no class decides, so pods of one class differ.
struct own_color {
  static constexpr std::string_view name = "OwnColor";
  using points = implements<point::filter>;

  [[nodiscard]] status filter(const pod_info& pod, node_view<reads::labels> node) const {
    const auto mine = pod.label(color_label);
    const auto theirs = node.label(color_label);
    return !mine || !theirs || *mine == *theirs ? status::success() : status::unresolvable("node(s) had another color");
  }
};
ref::plugin own_color_rule() {
  ref::plugin rule{"OwnColor"};
  rule.filter = [](const ref::world& in, const ref::pod& pod, row_t row,
                   const ref::usage&) -> std::optional<ref::rejection> {
    const auto& node = in.nodes.at(row).spec;
    const auto mine = pod.spec.labels.find(color_label);
    const auto theirs = node.labels.find(color_label);
    if (mine == pod.spec.labels.end() || theirs == node.labels.end() || mine->second == theirs->second)
      return std::nullopt;
    return ref::rejection{code::unresolvable, {"node(s) had another color"}};
  };
  return rule;
}

/// Keyed: zones with an odd number of letters are closed to namespace "blue"; the score is the zone's share of the candidates.
struct zone_share {
  static constexpr std::string_view name = "ZoneShare";
  using points = implements<point::filter, point::score>;
  using zoned = node_view<reads::labels>;

  static std::int64_t zone_of(const pod_view& pod, const zoned& node) {
    const auto zone = node.label(std::string_view{"topology.kubernetes.io/zone"});
    return zone ? static_cast<std::int64_t>(pod.find(*zone)->value) : -1;
  }
  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, zoned node) const { return zone_of(pod, node); }
  void finish_filter(const pod_view& pod, std::span<filtered_group> zones) const {
    for (filtered_group& zone : zones) {
      if (zone.key < 0 || pod.ns() != "blue") continue;
      const std::string_view text = pod.text(symbol{static_cast<std::uint32_t>(zone.key)});
      if (text.size() % 2 == 1) zone.verdict = status::unschedulable("node(s) were in an odd zone");
    }
  }
  [[nodiscard]] std::int64_t score_key(const pod_view& pod, zoned node) const { return zone_of(pod, node); }
  void finish_score(const pod_view&, std::span<scored_group> zones) const {
    std::int64_t all = 0;
    for (const scored_group& zone : zones) all += zone.population;
    for (scored_group& zone : zones) zone.score = 100 * std::int64_t{zone.population} / all;
  }
};
ref::plugin zone_share_rule() {
  ref::plugin rule{"ZoneShare"};
  const auto zone_of = [](const ref::world& in, row_t row) -> std::optional<std::string> {
    const auto& labels = in.nodes.at(row).spec.labels;
    const auto found = labels.find("topology.kubernetes.io/zone");
    return found == labels.end() ? std::nullopt : std::optional{found->second};
  };
  rule.filter = [zone_of](const ref::world& in, const ref::pod& pod, row_t row,
                          const ref::usage&) -> std::optional<ref::rejection> {
    const auto zone = zone_of(in, row);
    if (!zone || pod.spec.ns != "blue" || zone->size() % 2 == 0) return std::nullopt;
    return ref::rejection{code::unschedulable, {"node(s) were in an odd zone"}};
  };
  rule.score_all = [zone_of](const ref::world& in, const ref::pod&, const std::vector<row_t>& rows) {
    std::vector<std::int64_t> scores;
    for (const row_t row : rows) {
      const auto same =
          std::count_if(rows.begin(), rows.end(), [&](row_t r) { return zone_of(in, r) == zone_of(in, row); });
      scores.push_back(100 * static_cast<std::int64_t>(same) / static_cast<std::int64_t>(rows.size()));
    }
    return scores;
  };
  return rule;
}

// --- Arguments three ways

using fit = node_resources_fit;
using plus = node_resources_fit_plus;

const char* const resource_names[] = {"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/dongle"};

/// Fit's options as the plugin, its arguments and the rule have them.
struct fit_choice {
  fit::options options;
  argument args;
  ref::plugin rule{"NodeResourcesFit"};
};
fit_choice choose_fit(dice& roll) {
  fit_choice made;
  made.rule.resources.clear();
  made.options.resources.clear();
  argument::list resources;
  for (const char* name : resource_names) {
    if (!roll.percent(name == resource_names[0] ? 100 : 45)) continue;
    const std::int64_t weight = roll.between(1, 5);
    made.options.resources.push_back({name, weight});
    made.rule.resources.push_back({name, weight});
    resources.push_back(argument::fields{{"name", name}, {"weight", weight}});
  }
  const char* const types[] = {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"};
  const std::size_t which = roll.below(3);
  made.options.strategy = static_cast<fit::strategy>(which);
  made.rule.strategy = static_cast<ref::strategy>(which);
  argument::fields strategy{{"type", types[which]}, {"resources", resources}};
  if (which == 2) {
    argument::list shape;
    for (std::int64_t at = roll.between(0, 30); at <= 100; at += roll.between(1, 60)) {
      const std::int64_t score = roll.between(0, 10);
      made.options.shape.push_back({at, score});
      made.rule.shape.push_back({at, score});
      shape.push_back(argument::fields{{"utilization", at}, {"score", score}});
    }
    strategy.emplace_back("requestedToCapacityRatio", argument::fields{{"shape", shape}});
  }
  argument::fields args{{"scoringStrategy", strategy}};
  if (roll.percent(20)) {
    made.options.ignored_resources = made.rule.ignored = {"example.com/dongle"};
    args.emplace_back("ignoredResources", argument::list{"example.com/dongle"});
  }
  if (roll.percent(10)) {
    made.options.ignored_groups = made.rule.ignored_groups = {"nvidia.com"};
    args.emplace_back("ignoredResourceGroups", argument::list{"nvidia.com"});
  }
  made.args = args;
  return made;
}

struct plus_choice {
  std::vector<plus::resource> options;
  argument args;
  ref::plugin rule{"NodeResourcesFitPlus"};
};
plus_choice choose_plus(dice& roll) {
  plus_choice made;
  made.rule.resources.clear();
  argument::fields resources;
  for (const char* name : resource_names) {
    if (!roll.percent(60)) continue;
    const bool most = roll.percent(50);
    const std::int64_t weight = roll.between(1, 20);
    made.options.push_back({name, most ? plus::strategy::most_allocated : plus::strategy::least_allocated, weight});
    made.rule.resources.push_back({name, weight, most ? ref::strategy::most : ref::strategy::least});
    resources.emplace_back(name,
                           argument::fields{{"type", most ? "MostAllocated" : "LeastAllocated"}, {"weight", weight}});
  }
  made.args = argument::fields{{"resources", resources}};
  return made;
}

struct affinity_choice {
  node_affinity added;
  argument args;
  ref::plugin rule{"NodeAffinity"};
};
affinity_choice choose_affinity(dice& roll) {
  affinity_choice made;
  argument::fields terms;
  if (roll.percent(40)) {
    made.added.required = {{.match_expressions = {{"disk", selector_operator::not_in, {"floppy"}}}}};
    const argument term = argument::fields{
        {"matchExpressions", argument::list{argument::fields{
                                 {"key", "disk"}, {"operator", "NotIn"}, {"values", argument::list{"floppy"}}}}}};
    terms.emplace_back("requiredDuringSchedulingIgnoredDuringExecution",
                       argument::fields{{"nodeSelectorTerms", argument::list{term}}});
  }
  if (roll.percent(40)) {
    const auto weight = static_cast<std::int32_t>(roll.between(1, 100));
    made.added.preferred = {{weight, {.match_expressions = {{"disk", selector_operator::exists, {}}}}}};
    const argument term = argument::fields{
        {"matchExpressions", argument::list{argument::fields{{"key", "disk"}, {"operator", "Exists"}}}}};
    terms.emplace_back("preferredDuringSchedulingIgnoredDuringExecution",
                       argument::list{argument::fields{{"weight", std::int64_t{weight}}, {"preference", term}}});
  }
  if (!terms.empty()) made.args = argument::fields{{"addedAffinity", terms}};
  made.rule.added = made.added;
  return made;
}

plugin_registry registry_of_the_test() {
  plugin_registry all = builtin_plugins();
  static_cast<void>(all.add<few_of_a_kind>().has_value());
  static_cast<void>(all.add<own_color>().has_value());
  static_cast<void>(all.add<zone_share>().has_value());
  return all;
}

/// Puts the second and third way together, plugin by plugin in running order.
struct assembly {
  plugin_registry registry = registry_of_the_test();
  runtime_profile names{registry};
  reference::profile rules;

  assembly& add(const char* name, std::int64_t weight = 0, const argument& args = {}) {
    return add(ref::plugin{name}, weight, args);
  }
  assembly& add(ref::plugin rule, std::int64_t weight = 0, const argument& args = {}) {
    static const std::map<std::string, std::int64_t> defaults = {{"TaintToleration", 3}, {"NodeAffinity", 2}};
    names.enable(rule.name, weight, args);
    const auto usual = defaults.find(rule.name);
    rule.weight = weight != 0 ? weight : usual != defaults.end() ? usual->second : 1;
    rules.push_back(std::move(rule));
    return *this;
  }
  threefold_profile with(std::string name, kernel_table compiled) {
    return {std::move(name), std::move(compiled), names.table().value(), std::move(rules)};
  }
};

}  // namespace

threefold_profile make_profile(unsigned kind, dice& roll) {
  assembly a;
  const auto weight = [&] { return roll.between(1, 9); };
  const fit_choice room = choose_fit(roll);
  const affinity_choice affine = choose_affinity(roll);
  const plus_choice more = choose_plus(roll);
  switch (kind) {
    case 0:
      a.add("PrioritySort").add("SchedulingGates").add("GangScheduling").add("NodeUnschedulable").add("NodeName");
      a.add("TaintToleration").add("NodeAffinity").add("NodePorts").add("NodeResourcesFit");
      a.add("NodeResourcesBalancedAllocation").add("ImageLocality").add("NodeDeclaredFeatures");
      return a.with("kube's default",
                    profile{priority_sort{}, scheduling_gates{}, gang_scheduling{}, node_unschedulable{}, node_name{},
                            taint_toleration{}, node_affinity_plugin{}, node_ports{}, node_resources_fit{},
                            node_resources_balanced_allocation{}, image_locality{}, node_declared_features{}});
    case 1: {
      const std::int64_t taints = weight(), fits = weight(), plus_weight = weight();
      a.add("GangScheduling").add("SchedulingGates").add(room.rule, fits, room.args).add("NodePorts");
      a.add(more.rule, plus_weight, more.args).add("TaintToleration", taints).add("NodeUnschedulable");
      a.add(affine.rule, 0, affine.args).add("PrioritySort");
      return a.with("resources first",
                    profile{gang_scheduling{}, scheduling_gates{}, weighted{fit{room.options}, fits}, node_ports{},
                            weighted{plus{more.options}, plus_weight}, weighted{taint_toleration{}, taints},
                            node_unschedulable{}, node_affinity_plugin{affine.added}, priority_sort{}});
    }
    case 2: {
      const std::int64_t scarce = weight();
      ref::plugin avoid{"ScarceResourceAvoidance"};
      avoid.scarce = {"nvidia.com/gpu", "ephemeral-storage"};
      ref::plugin even{"NodeResourcesBalancedAllocation"};
      even.resources = {{"cpu", 1}, {"memory", 1}, {"nvidia.com/gpu", 1}};
      argument::list even_args;
      for (const auto& one : even.resources) even_args.push_back(argument::fields{{"name", one.name}, {"weight", 1}});
      a.add("PrioritySort")
          .add("SchedulingGates")
          .add("NodeAffinity")
          .add("TaintToleration")
          .add(room.rule, 1, room.args);
      a.add(avoid, scarce, argument::fields{{"resources", argument::list{"nvidia.com/gpu", "ephemeral-storage"}}});
      a.add(even, 4, argument::fields{{"resources", even_args}}).add("GangScheduling");
      return a.with("scarce resources",
                    profile{priority_sort{}, scheduling_gates{}, node_affinity_plugin{}, taint_toleration{},
                            weighted{fit{room.options}, 1},
                            weighted{scarce_resource_avoidance{{"nvidia.com/gpu", "ephemeral-storage"}}, scarce},
                            weighted{node_resources_balanced_allocation{{"cpu", "memory", "nvidia.com/gpu"}}, 4},
                            gang_scheduling{}});
    }
    case 3: {
      const std::int64_t few = weight(), share = weight();
      a.add("PrioritySort").add("SchedulingGates").add("GangScheduling").add(few_of_a_kind_rule(), few);
      a.add("NodeUnschedulable").add("TaintToleration").add(zone_share_rule(), share).add(own_color_rule());
      a.add(room.rule, 2, room.args);
      return a.with("with the user's plugins",
                    profile{priority_sort{}, scheduling_gates{}, gang_scheduling{}, weighted{few_of_a_kind{}, few},
                            node_unschedulable{}, taint_toleration{}, weighted{zone_share{}, share}, own_color{},
                            weighted{fit{room.options}, 2}});
    }
    default: {
      const std::int64_t share = weight();
      a.add("PrioritySort").add("SchedulingGates").add("GangScheduling").add("NodeName").add("NodeDeclaredFeatures");
      a.add("NodePorts").add(room.rule, 1, room.args).add(affine.rule, 3, affine.args).add(zone_share_rule(), share);
      return a.with("keyed", profile{priority_sort{}, scheduling_gates{}, gang_scheduling{}, node_name{},
                                     node_declared_features{}, node_ports{}, weighted{fit{room.options}, 1},
                                     weighted{node_affinity_plugin{affine.added}, 3}, weighted{zone_share{}, share}});
    }
  }
}

}  // namespace gangsched::testing
