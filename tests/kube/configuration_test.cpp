#include "gangsched/kube/configuration.hpp"

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/framework/registry.hpp"
#include "gangsched/plugins/node_declared_features.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::configuration_test {

using namespace gangsched::kube;

namespace {

const plugin_registry& registry() {
  static const plugin_registry all = builtin_plugins();
  return all;
}
result<scheduler_configuration> configuration(const std::string& text, bool gangs = false) {
  return read_configuration({"s.yaml", text}, registry(), {.gang_scheduling = gangs});
}
scheduler_configuration fine(const std::string& text, bool gangs = false) {
  auto made = configuration(text, gangs);
  if (!made) FAIL(made.error().message());
  return *std::move(made);
}
std::string refusal(const std::string& text) {
  const auto made = configuration(text);
  if (!made) return made.error().message();
  for (const scheduler_profile& one : made->profiles)
    if (const auto table = make_table(one, registry()); !table) return table.error().message();
  return "fine";
}
std::string listed(const scheduler_profile& of, point at) {
  std::string all;
  for (const configured_plugin& one : of.at(at))
    all += (all.empty() ? "" : " ") + one.name + (one.weight == 0 ? "" : "*" + std::to_string(one.weight));
  return all;
}
std::string listed(const kernel_table& of, point at) {
  std::string all;
  for (const auto index : of.at(at)) all += (all.empty() ? "" : " ") + of.plugins[index].name;
  return all;
}
/// kube_default has two that kube-scheduler does not know.
std::string listed_of_kube(kernel_table of, point at) {
  std::erase_if(of.order[static_cast<std::size_t>(at)], [&](std::uint16_t index) {
    return of.plugins[index].name == "MigPacking" || of.plugins[index].name == "GpuLinks";
  });
  return listed(of, at);
}
const std::string no_defaults = "      multiPoint:\n        disabled: [{name: '*'}]\n";

}  // namespace

TEST_CASE("nothing written is the default profile", "[kube][configuration]") {
  const scheduler_configuration made = fine("");
  REQUIRE(made.profiles.size() == 1);
  const scheduler_profile& profile = made.profiles[0];
  CHECK(profile.scheduler_name == "default-scheduler");
  CHECK(listed(profile, point::filter) ==
        "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
        "NodeVolumeLimits "
        "VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures");
  CHECK(listed(profile, point::score) ==
        "TaintToleration*3 NodeAffinity*2 NodeResourcesFit*1 VolumeBinding*1 PodTopologySpread*2 InterPodAffinity*2 "
        "DynamicResources*2 NodeResourcesBalancedAllocation*1 ImageLocality*1");
  CHECK(listed(profile, point::permit).empty());
  CHECK(listed(fine("", true).profiles[0], point::permit) == "GangScheduling");
  CHECK(made.options().max_backoff == std::chrono::seconds{10});
}

TEST_CASE("the table has the same plugins as the compile-time profile, without the one for MIG that Kubernetes has not",
          "[kube][configuration]") {
  const kernel_table ours = profiles::kube_default();
  const kernel_table read = *make_table(fine("", true).profiles[0], registry());
  for (std::size_t p = 0; p < point_count; ++p) {
    CAPTURE(p);
    const auto at = static_cast<point>(p);
    // Our NodeName has a pre_filter, our DynamicResources a pre_score, and Kubernetes' have none: they come last there, where the
    // order is nothing to see; nor is it of hints.
    if (at == point::pre_filter || at == point::requeue)
      CHECK(read.at(at).size() == ours.at(at).size());
    else if (at == point::pre_score)
      CHECK(listed(read, at).size() == listed_of_kube(ours, at).size());
    else
      CHECK(listed(read, at) == listed_of_kube(ours, at));
  }
  for (const plugin_entry& one : read.plugins)
    for (const plugin_entry& other : ours.plugins)
      if (one.name == other.name && one.points.has(point::score)) CHECK(one.weight == other.weight);
}

TEST_CASE("plugins are enabled, disabled, reordered and weighted as kube does", "[kube][configuration]") {
  const auto profile = [](const std::string& plugins) {
    return fine("profiles:\n- plugins:\n" + plugins).profiles.at(0);
  };
  // Only what is named, in its order.
  const std::string sort =
      "        enabled: [{name: PrioritySort}, {name: NodePorts}, {name: NodeName}, {name: NodeAffinity, weight: 7}]\n";
  CHECK(listed(profile(no_defaults + sort), point::filter) == "NodePorts NodeName NodeAffinity");
  CHECK(listed(profile(no_defaults + sort), point::score) == "NodeAffinity*7");
  // Named in both lists: first, in the order of the point; others of the point come last.
  CHECK(listed(profile(no_defaults + sort + "      filter: {enabled: [{name: TaintToleration}, {name: NodeName}]}\n"),
               point::filter) == "NodeName NodePorts NodeAffinity TaintToleration");
  // A default plugin in multiPoint keeps its place and gets the weight.
  CHECK(listed(profile("      multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}\n"), point::score)
            .starts_with("TaintToleration*3 NodeAffinity*9 NodeResourcesFit*1"));
  // The weight at score wins over that of multiPoint, and comes first.
  CHECK(listed(profile("      score: {enabled: [{name: ImageLocality, weight: 5}]}\n"), point::score)
            .starts_with("ImageLocality*5 TaintToleration*3"));
  CHECK(listed(profile("      score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}]}\n"), point::score) ==
        "NodeAffinity*1");
  CHECK(listed(profile("      filter: {disabled: [{name: NodeName}]}\n"), point::filter).find("NodeName") ==
        std::string::npos);
  CHECK(listed(profile("      multiPoint: {disabled: [{name: NodeAffinity}]}\n"), point::pre_filter)
            .find("NodeAffinity") == std::string::npos);
}

TEST_CASE("a table takes order, weights and arguments from the profile", "[kube][configuration]") {
  const auto made = fine(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
profiles:
- schedulerName: packing
  plugins:
    score: {disabled: [{name: NodeResourcesBalancedAllocation}], enabled: [{name: NodeResourcesFit, weight: 5}]}
    filter: {enabled: [{name: NodeResourcesFit}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesFitArgs,
     scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
- schedulerName: default-scheduler
)");
  REQUIRE(made.profiles.size() == 2);
  CHECK(made.options().initial_backoff == std::chrono::seconds{2});
  const kernel_table packing = *make_table(made.profiles[0], registry());
  CHECK(packing.scheduler_name == "packing");
  CHECK(listed(packing, point::filter).starts_with("NodeResourcesFit NodeUnschedulable"));
  CHECK(listed(packing, point::score).starts_with("NodeResourcesFit TaintToleration"));
  CHECK(listed(packing, point::score).find("Balanced") == std::string::npos);
  for (const plugin_entry& one : packing.plugins)
    if (one.name == "NodeResourcesFit") CHECK(one.weight == 5);

  cluster on;
  for (const char* name : {"n1", "n2"})
    REQUIRE(on.add_node({.name = name, .allocatable = {{"cpu", 4}, {"memory", 4}, {"pods", 10}}}));
  REQUIRE(on.add_pod({.name = "there", .containers = {{.requests = {{"cpu", 2}}}}, .node = *on.find_node("n2")}));
  pod_spec of_this{.name = "new", .containers = {{.requests = {{"cpu", 1}}}}};
  of_this.scheduler_name = "packing";
  const pod_id pod = *on.add_pod(of_this);
  scheduler packs{on, packing, made.options()};
  CHECK(packs.schedule_cycle({}).begin()->node == *on.find_node("n2"));
  CHECK(on.node_of(pod) == *on.find_node("n2"));
}

TEST_CASE("multiPoint enables plugins that have none of Kubernetes' points", "[kube][configuration]") {
  const auto admitting = [](const std::string& multi_point) {
    const scheduler_configuration made = fine("profiles:\n- plugins: {multiPoint: {" + multi_point + "}}\n");
    return listed(*make_table(made.profiles.front(), registry()), point::admission);
  };
  CHECK(admitting("enabled: [{name: Deadline}]") == "Deadline");
  CHECK(admitting("enabled: [{name: Deadline}, {name: FairShare}]") == "FairShare Deadline");  // FairShare filters, too
  CHECK(admitting("enabled: []").empty());
}

TEST_CASE("who is named at a point as well as at multiPoint comes first there", "[kube][configuration]") {
  const scheduler_configuration made = fine(
      "profiles:\n- plugins: {multiPoint: {enabled: [{name: FairShare}]}, postFilter: {enabled: [{name: "
      "FairShare}]}}\n");
  const std::string at = listed(*make_table(made.profiles.front(), registry()), point::post_filter);
  CHECK(at == listed(profiles::with_queues(), point::post_filter));
  CHECK(at.starts_with("FairShare DefaultPreemption"));
}

TEST_CASE("Koordinator's DeviceShare takes its arguments from the configuration, and chooses before DynamicResources",
          "[kube][configuration]") {
  const auto with = [](const std::string& type) {
    return R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: DeviceShare, weight: 3}]}}
  pluginConfig:
  - name: DeviceShare
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: DeviceShareArgs,
     scoringStrategy: {type: )" +
           type + R"(, resources: [{name: koordinator.sh/gpu-memory-ratio, weight: 2}]}}
)";
  };
  CHECK(refusal(with("Most")).find("plugin DeviceShare: args.scoringStrategy.type: \"Most\" is not") !=
        std::string::npos);
  for (const bool packs : {false, true}) {
    const auto made = fine(with(packs ? "MostAllocated" : "LeastAllocated"));
    const kernel_table table = *make_table(made.profiles[0], registry());
    CHECK(listed(made.profiles[0], point::score).ends_with(" DeviceShare*3"));
    CHECK(listed(table, point::choose_devices) == "DeviceShare DynamicResources");
    cluster on;
    const auto add = [&](const char* name, node_id node) {
      return *on.add_pod({.name = name, .devices = {{.milli = 300, .memory_percent = 30}}, .node = node});
    };
    for (const char* name : {"n1", "n2"})
      REQUIRE(on.add_node({.name = name,
                           .allocatable = {{"cpu", 4}, {"memory", 4}, {"pods", 10}},
                           .devices = {.gpu = {.memory_mib = 1000}, .gpus = {{}, {}}}}));
    add("there", *on.find_node("n1"));
    const pod_id pod = add("new", {});
    scheduler scheduler{on, table, made.options()};
    CHECK(scheduler.schedule_cycle({}).begin()->node == *on.find_node(packs ? "n1" : "n2"));
    CHECK(on.devices_of(pod).front().device == 0);
  }
}

TEST_CASE("mistakes in a configuration name profile, plugin and place", "[kube][configuration]") {
  CHECK(refusal("profiles:\n- schedulerName: a\n  plugins:\n    filter:\n      enabled:\n      - name: NodeNmae\n") ==
        "s.yaml:6: profile a: profiles[0].plugins.filter.enabled[0]: there is no plugin \"NodeNmae\"");
  CHECK(refusal("profiles:\n- schedulerName: a\n  plugins: {score: {enabled: [{name: NodeName}]}}\n") ==
        "s.yaml:2: profile a: profiles[0]: NodeName does not take part in score");
  CHECK(
      refusal("profiles:\n- schedulerName: a\n- schedulerName: a\n").find("there is a profile of that name already") !=
      std::string::npos);
  CHECK(refusal("profiles:\n- plugins: {multiPoint: {disabled: [{name: '*'}]}}\n") ==
        "s.yaml:2: profile default-scheduler: profiles[0]: needs exactly one plugin that sorts the queue");
  CHECK(refusal("profiles:\n- schedulerName: a\n  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: "
                "{type: Best}}}]\n") ==
        "s.yaml:2: profile a: plugin NodeResourcesFit: args.scoringStrategy.type: \"Best\" is not LeastAllocated, "
        "MostAllocated or "
        "RequestedToCapacityRatio");
  CHECK(refusal("profiles:\n- pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]\n")
            .find("arguments of NodeAffinity already") != std::string::npos);
  CHECK(refusal("podMaxBackoffSeconds: 0").find("is less than") != std::string::npos);
  CHECK(refusal("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n") ==
        "s.yaml:1: KubeSchedulerConfiguration: apiVersion: \"kubescheduler.config.k8s.io/v1beta3\" is not "
        "kubescheduler.config.k8s.io/v1");
  CHECK(refusal("kind: Pod") ==
        "s.yaml:1: KubeSchedulerConfiguration: kind: \"Pod\" is not KubeSchedulerConfiguration");
}

TEST_CASE("only a single profile may go without a name", "[kube][configuration]") {
  CHECK(fine("profiles:\n- percentageOfNodesToScore: 3\n").profiles.at(0).scheduler_name == "default-scheduler");
  CHECK(fine("profiles:\n- schedulerName: null\n").profiles.at(0).scheduler_name == "default-scheduler");
  CHECK(refusal("profiles:\n- schedulerName: a\n- {}\n") ==
        "s.yaml:3: KubeSchedulerConfiguration: profiles[1]: needs a schedulerName, as there are several profiles");
  CHECK(refusal("profiles:\n- schedulerName: null\n- schedulerName: a\n")
            .ends_with("profiles[0]: needs a schedulerName, as there are several profiles"));
  CHECK(refusal("profiles:\n- schedulerName: ''\n").ends_with("profiles[0].schedulerName: is empty"));
}

TEST_CASE("what of a configuration has no effect is a warning", "[kube][configuration]") {
  const auto made = fine("extenders: [{urlPrefix: 'http://x'}]\nunknownField: 1\n");
  std::string all;
  for (const warning& one : made.warnings) all += one.message() + "\n";
  CHECK(all.find("the plugin") == std::string::npos);
  CHECK(all.find("extenders are the host's") != std::string::npos);
  CHECK(all.find("unknownField: there is no such field") != std::string::npos);
  CHECK(all.find("DefaultBinder") == std::string::npos);
  CHECK(in_tree_plugins().size() == 23);
}

TEST_CASE("in-tree plugins that a registry lacks are warnings", "[kube][configuration]") {
  plugin_registry few;
  REQUIRE(few.add<priority_sort>());
  REQUIRE(few.add<node_declared_features>());
  const auto made = read_configuration({"s.yaml", "{}"}, few, {});
  REQUIRE(made);
  std::string all;
  for (const warning& one : made->warnings) all += one.message() + "\n";
  CHECK(all.find("the plugin NodeName is not in the registry; it does nothing") != std::string::npos);
  for (const char* name : {"PrioritySort", "NodeDeclaredFeatures", "DefaultBinder"})
    CHECK(all.find(name) == std::string::npos);
}

TEST_CASE("all profiles of a configuration make one scheduler", "[kube][configuration]") {
  const scheduler_configuration two = fine(R"(
percentageOfNodesToScore: 30
profiles:
- {schedulerName: a}
- {schedulerName: b, percentageOfNodesToScore: 0})");
  const auto tables = make_tables(two, registry());
  REQUIRE(tables);
  CHECK((*tables)[0].scheduler_name == "a");
  CHECK((*tables)[0].percentage_of_nodes_to_score == 30);
  CHECK((*tables)[1].scheduler_name == "b");
  CHECK((*tables)[1].percentage_of_nodes_to_score == 0);
  CHECK_FALSE((*make_tables(fine(""), registry()))[0].percentage_of_nodes_to_score);
  scheduler_configuration twins = fine("profiles: [{schedulerName: a}, {schedulerName: b}]");
  twins.profiles[1].scheduler_name = "a";
  CHECK(make_tables(twins, registry()).error().code == errc::duplicate);
}

}  // namespace gangsched::testing::configuration_test
