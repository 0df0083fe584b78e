// Every plugin of the library can be had by its name.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "gangsched/plugins.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/source_dir.hpp"

namespace gangsched::testing::registry_test {

namespace {

/// Plugins that no configuration can make, and why.
const std::map<std::string, std::string> made_by_hosts{{"Extender", "its callbacks are functions of the host"}};

std::vector<std::string> plugins_in_headers() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/include/gangsched/plugins")) {
    std::ostringstream text;
    text << std::ifstream{file.path()}.rdbuf();
    const std::string all = text.str(), before = "std::string_view name = \"";
    INFO(file.path());
    const std::size_t at = all.find(before);
    REQUIRE(at != std::string::npos);
    const std::size_t begin = at + before.size();
    names.push_back(all.substr(begin, all.find('"', begin) - begin));
  }
  std::sort(names.begin(), names.end());
  return names;
}

argument list_of(argument one) { return argument{argument::list{std::move(one)}}; }
argument field(std::string name, argument value) {
  return argument{argument::fields{{std::move(name), std::move(value)}}};
}
argument some_pods() {
  return list_of(argument{argument::fields{{"cpuMilli", 1000}, {"gpus", 1}, {"milli", 500}, {"count", 3}}});
}

std::string refused(std::string_view name, const argument& args) {
  const auto made = builtin_plugins().make(name, args);
  return made ? std::string{} : made.error().object + " " + made.error().field;
}

}  // namespace

TEST_CASE("the list of plugins has the plugin of every header, once", "[plugins][registry]") {
  std::vector<std::string> listed;
  every_plugin::each([&]<class P>() {
    STATIC_REQUIRE(detail::keeps_contract<P>());
    STATIC_REQUIRE(detail::well_formed<P>);
    listed.emplace_back(std::string_view{P::name});
  });
  std::sort(listed.begin(), listed.end());
  CHECK(listed == plugins_in_headers());
  CHECK(std::adjacent_find(listed.begin(), listed.end()) == listed.end());
}

TEST_CASE("every plugin of the list is in the registry, or only a host can make it", "[plugins][registry]") {
  const std::vector<std::string> names = builtin_plugins().names();
  CHECK(plugins_in_headers().size() == names.size() + made_by_hosts.size());
  every_plugin::each([&]<class P>() {
    const std::string name{std::string_view{P::name}};
    INFO(name);
    CHECK((std::find(names.begin(), names.end(), name) != names.end()) != made_by_hosts.contains(name));
    CHECK(configurable<P> != made_by_hosts.contains(name));
  });
}

TEST_CASE("the plugins for GPUs take their arguments by name", "[plugins][registry]") {
  const plugin_registry all = builtin_plugins();
  CHECK(all.make("MigPacking", {})->weight == mig_packing::default_weight);
  CHECK(all.make("MigPacking", field("rule", "BestFit")));
  CHECK(refused("MigPacking", field("rule", "Best")) == "plugin MigPacking args.rule");
  CHECK(all.make("GpuLinks", field("pods", "Described"))->weight == gpu_links::default_weight);
  CHECK(refused("GpuLinks", field("pods", "Some")) == "plugin GpuLinks args.pods");
  CHECK(all.make("GpuRandom", field("seed", 7)));
  CHECK(refused("GpuRandom", field("seed", -7)) == "plugin GpuRandom args.seed");
  CHECK(all.make("GpuFragmentation", field("expected", some_pods())));
  CHECK(refused("GpuFragmentation", {}) == "plugin GpuFragmentation args.expected");
  CHECK(refused("GpuFragmentation", field("expected", list_of(field("milli", 0)))) ==
        "plugin GpuFragmentation args.expected[0].milli");
  const argument supply = list_of(argument{argument::fields{{"model", "T4"}, {"gpus", 8}}});
  CHECK(all.make("GpuPricing", argument{argument::fields{{"expected", some_pods()}, {"supply", supply}}}));
  CHECK(refused("GpuPricing", field("expected", some_pods())) == "plugin GpuPricing args.supply");
}

TEST_CASE("a host registers plugins that hold something of its own, each under a name of its own",
          "[plugins][registry]") {
  int asked = 0;
  plugin_registry all = builtin_plugins();
  const auto with = [&](const char* rejected) {
    return [&asked, rejected](const argument&) -> result<plugin_entry> {
      extender::callbacks host;
      host.filter = [&asked, rejected](const pod_info&, const cluster_view& cluster,
                                       std::span<extender::judged_node> nodes) {
        ++asked;
        for (extender::judged_node& one : nodes) {
          if (cluster.node_at(one.node.row)->name() == rejected)
            one.verdict = status::unschedulable("the host says so");
        }
        return true;
      };
      return lower(extender{std::move(host)});
    };
  };
  REQUIRE(all.add("quota", with("a")));
  REQUIRE(all.add("licences", with("b")));
  CHECK_FALSE(all.add("quota", with("c")));
  auto table = runtime_profile{all}.enable("PrioritySort").enable("quota").enable("licences").table();
  REQUIRE(table);
  CHECK(table->plugins[1].name == "quota");
  CHECK(table->plugins[2].name == "licences");
  gangsched::cluster cluster;
  for (const char* name : {"a", "b", "c"}) REQUIRE(cluster.add_node(a_node{name}.cpu(1)));
  const pod_id pod = cluster.add_pod(a_pod{"p"}.cpu(1)).value();
  scheduler scheduler{cluster, std::move(*table)};
  while (scheduler.schedule_cycle(instant{})) {
  }
  CHECK(cluster.name_of(cluster.node_of(pod)) == "c");
  CHECK(asked == 2);
}

}  // namespace gangsched::testing::registry_test
