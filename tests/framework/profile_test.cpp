#include "gangsched/framework/profile.hpp"

#include <algorithm>

#include "gangsched/framework/registry.hpp"
#include "gangsched/plugins.hpp"
#include "gangsched/profiles.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::profile_test {

using names = std::vector<std::string>;

namespace {

struct loves_everybody {
  static constexpr std::string_view name = "LovesEverybody";
  using points = implements<point::score>;
  std::int64_t score(const pod_view&, node_view<reads::name>) const { return 100; }
};

/// Made by a host alone.
struct needs_something : loves_everybody {
  explicit needs_something(int) {}
};
struct takes_arguments : needs_something {
  using needs_something::needs_something;
  static result<takes_arguments> from(const argument&) { return takes_arguments{1}; }
};

names order_at(const kernel_table& table, point at) {
  names all;
  for (const std::uint16_t index : table.at(at)) all.push_back(table.plugins[index].name);
  return all;
}
std::vector<std::pair<std::string, std::int64_t>> weights(const kernel_table& table) {
  std::vector<std::pair<std::string, std::int64_t>> all;
  for (const std::uint16_t index : table.at(point::score)) {
    all.emplace_back(table.plugins[index].name, table.plugins[index].weight);
  }
  return all;
}
bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
std::string refusal(const runtime_profile& profile) {
  const auto made = profile.table();
  REQUIRE_FALSE(made);
  return made.error().message();
}

}  // namespace

TEST_CASE("a plugin can be configured if it is made from arguments or from nothing") {
  STATIC_REQUIRE(configurable<loves_everybody>);
  STATIC_REQUIRE(configurable<takes_arguments>);
  STATIC_REQUIRE_FALSE(configurable<needs_something>);
}

TEST_CASE("kube_default has kube-scheduler's plugins, order and weights, and scores for MIG and NVLinks") {
  const kernel_table table = profiles::kube_default();
  CHECK(table.scheduler_name == "default-scheduler");
  names all;
  for (const plugin_entry& entry : table.plugins) all.push_back(entry.name);
  CHECK(all == names{"SchedulingGates",
                     "PrioritySort",
                     "NodeUnschedulable",
                     "NodeName",
                     "TaintToleration",
                     "NodeAffinity",
                     "NodePorts",
                     "NodeResourcesFit",
                     "VolumeRestrictions",
                     "NodeVolumeLimits",
                     "VolumeBinding",
                     "VolumeZone",
                     "PodTopologySpread",
                     "InterPodAffinity",
                     "DynamicResources",
                     "MigPacking",
                     "GpuLinks",
                     "GangScheduling",
                     "DefaultPreemption",
                     "NodeResourcesBalancedAllocation",
                     "ImageLocality",
                     "NodeDeclaredFeatures",
                     "TopologyPlacementGenerator",
                     "PodGroupPodsCount",
                     "GroupPreemption"});
  CHECK(order_at(table, point::queue_sort) == names{"PrioritySort"});
  CHECK(order_at(table, point::pre_enqueue) == names{"SchedulingGates", "GangScheduling"});
  CHECK(order_at(table, point::filter) == names{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity",
                                                "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
                                                "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
                                                "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"});
  CHECK(order_at(table, point::permit) == names{"GangScheduling"});
  CHECK(order_at(table, point::placement_feasible) == names{"GangScheduling"});
  CHECK(order_at(table, point::post_filter) == names{"DefaultPreemption"});
  CHECK(weights(table) == std::vector<std::pair<std::string, std::int64_t>>{{"TaintToleration", 3},
                                                                            {"NodeAffinity", 2},
                                                                            {"NodeResourcesFit", 1},
                                                                            {"PodTopologySpread", 2},
                                                                            {"InterPodAffinity", 2},
                                                                            {"DynamicResources", 2},
                                                                            {"MigPacking", 5},
                                                                            {"GpuLinks", 5},
                                                                            {"NodeResourcesBalancedAllocation", 1},
                                                                            {"ImageLocality", 1}});
  CHECK(weights(profiles::bin_packing()) == weights(table));
}

TEST_CASE("a compile-time profile runs in its order, with default or given weights") {
  const kernel_table table = profile{priority_sort{}, weighted{loves_everybody{}, 5}, taint_toleration{},
                                     weighted{node_affinity_plugin{}, 7}, weighted{node_resources_fit{}, 0}};
  CHECK(weights(table) ==
        std::vector<std::pair<std::string, std::int64_t>>{
            {"LovesEverybody", 5}, {"TaintToleration", 3}, {"NodeAffinity", 7}, {"NodeResourcesFit", 1}});
  CHECK(order_at(table, point::filter) == names{"TaintToleration", "NodeAffinity", "NodeResourcesFit"});
}

TEST_CASE("the library's plugins are registered by Kubernetes' names, the host's beside them") {
  plugin_registry registry = builtin_plugins();
  const auto known = registry.names();
  for (const char* plugin : {"NodeResourcesFit", "DefaultPreemption", "GangScheduling", "GroupPreemption"})
    CHECK(std::count(known.begin(), known.end(), plugin) == 1);
  REQUIRE(registry.add<loves_everybody>());
  CHECK(registry.make("LovesEverybody", {}));
  const auto twice = registry.add<loves_everybody>();
  REQUIRE_FALSE(twice);
  CHECK(twice.error().code == errc::duplicate);
  CHECK(registry.make("LovesNobody", {}).error().code == errc::unknown);
  CHECK(registry.make("NodeName", argument::fields{{"x", 1}}).error().message() ==
        "plugin NodeName: args: takes no arguments");
}

TEST_CASE("a run-time profile: order, weights, arguments, and what is switched off") {
  plugin_registry registry = builtin_plugins();
  REQUIRE(registry.add<loves_everybody>());
  runtime_profile chosen{registry, "mine"};
  chosen
      .enable("NodeResourcesFit", 4, argument::fields{{"scoringStrategy", argument::fields{{"type", "MostAllocated"}}}})
      .enable("PrioritySort")
      .enable("TaintToleration")
      .enable("NodeAffinity")
      .enable("LovesEverybody", 9)
      .enable("NodePorts")
      .disable("NodePorts")
      .disable("NodeAffinity", point::score);
  const auto made = chosen.table();
  REQUIRE(made);
  CHECK(made->scheduler_name == "mine");
  CHECK(order_at(*made, point::filter) == names{"NodeResourcesFit", "TaintToleration", "NodeAffinity"});
  CHECK(weights(*made) == std::vector<std::pair<std::string, std::int64_t>>{
                              {"NodeResourcesFit", 4}, {"TaintToleration", 3}, {"LovesEverybody", 9}});
}

TEST_CASE("a run-time profile says what is wrong with it") {
  const plugin_registry registry = builtin_plugins();
  const auto with = [&] { return runtime_profile{registry}.enable("PrioritySort"); };
  CHECK(with().table());
  CHECK(refusal(runtime_profile{registry}) ==
        "profile default-scheduler: plugins: needs exactly one plugin that sorts the queue");
  CHECK(contains(refusal(with().enable("NodeFit")), "plugin NodeFit: name"));
  CHECK(refusal(with().enable("NodePorts").enable("NodePorts")) ==
        "profile default-scheduler: plugins: NodePorts is enabled twice");
  CHECK(refusal(with().enable("TaintToleration", -1)) ==
        "profile default-scheduler: TaintToleration.weight: is negative");
  CHECK(
      refusal(with().enable("TaintToleration", std::int64_t{1} << 52).enable("ImageLocality", std::int64_t{1} << 60)) ==
      "profile default-scheduler: score: total score of its plugins, weight x 100, could exceed 2^53");
  CHECK(contains(refusal(with().enable("NodeResourcesFit", 1, argument::fields{{"typo", 1}})), "args.typo"));
  CHECK(contains(refusal(with().disable("PrioritySort", point::queue_sort)), "sorts the queue"));
}

namespace {
struct one_queue {
  static constexpr std::string_view name = "OneQueue";
  using points = implements<point::queue_order>;
  std::int64_t queue_of(const pod_info&) const { return 0; }
  bool queue_before(const queue_head&, const queue_head&, const cluster_view&) const { return false; }
};
}  // namespace

TEST_CASE("a run-time profile has at most one plugin that orders several queues") {
  plugin_registry registry = builtin_plugins();
  REQUIRE(registry.add<one_queue>());
  REQUIRE(registry.add("Other", [](const argument&) -> result<plugin_entry> { return lower(one_queue{}); }));
  runtime_profile chosen{registry};
  chosen.enable("PrioritySort").enable("OneQueue");
  CHECK(chosen.table());
  CHECK(contains(refusal(chosen.enable("Other")), "plugin that orders several queues"));
}

TEST_CASE("a run-time profile of the default plugins is the default profile") {
  const plugin_registry registry = builtin_plugins();
  const kernel_table expected = profiles::kube_default();
  runtime_profile same{registry};
  for (const plugin_entry& entry : expected.plugins) same.enable(entry.name);
  const auto made = same.table();
  REQUIRE(made);
  CHECK(made->order == expected.order);
  CHECK(weights(*made) == weights(expected));
  for (std::size_t i = 0; i < expected.plugins.size(); ++i) {
    CHECK(made->plugins[i].points.bits == expected.plugins[i].points.bits);
    CHECK(made->plugins[i].filter.rows == expected.plugins[i].filter.rows);
    CHECK(made->plugins[i].score.one == expected.plugins[i].score.one);
  }
}

}  // namespace gangsched::testing::profile_test
