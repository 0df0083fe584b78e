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

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream{source_dir() + path}.rdbuf();
  return text.str();
}

/// What stands between marks, without blanks and backticks around it.
std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(mark, at), text.size());
    std::string_view part = text.substr(at, end - at);
    const std::size_t first = part.find_first_not_of(" \n`"), last = part.find_last_not_of(" \n`");
    parts.emplace_back(first == std::string_view::npos ? std::string_view{} : part.substr(first, last - first + 1));
    at = end + 1;
  }
  return parts;
}

/// In the order of the enumeration.
std::vector<std::string> names_of_points() {
  const std::string all = text_of("/include/gangsched/framework/point.hpp"),
                    before = "enum class point : std::uint8_t {";
  const std::size_t begin = all.find(before) + before.size();
  std::vector<std::string> names = split(std::string_view{all}.substr(begin, all.find('}', begin) - begin), ',');
  std::erase(names, "");
  return names;
}

/// A row of the tables in docs/plugins.md.
struct documented {
  std::string type, header;
  std::vector<std::string> points;
  std::string weight, in;
};
std::map<std::string, documented> documented_plugins(const std::string& page) {
  std::map<std::string, documented> rows;
  for (const std::string& line : split(page, '\n')) {
    if (!line.starts_with('|')) continue;
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 8 || cells[2].find(", ") == std::string::npos || cells[2] == "type, header") continue;
    const std::vector<std::string> names = split(cells[2], ',');
    INFO(line);
    REQUIRE(names.size() == 2);
    CHECK(rows.emplace(cells[1], documented{names[0], names[1], split(cells[3], ','), cells[4], cells[5]}).second);
  }
  return rows;
}

std::vector<std::string> names_in(const kernel_table& table) {
  std::vector<std::string> names;
  for (const plugin_entry& one : table.plugins) names.push_back(one.name);
  return names;
}

/// Plugins that no configuration can make, and why.
const std::map<std::string, std::string> made_by_hosts{{"Extender", "its callbacks are functions of the host"}};

std::vector<std::string> plugins_in_headers() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/include/gangsched/plugins")) {
    const std::string all = text_of("/include/gangsched/plugins/" + file.path().filename().string()),
                      before = "std::string_view name = \"";
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

TEST_CASE("docs/plugins.md has every plugin as it is, and what is in the profiles", "[plugins][registry]") {
  const std::string page = text_of("/docs/plugins.md");
  const std::map<std::string, documented> rows = documented_plugins(page);
  const std::vector<std::string> points = names_of_points();
  REQUIRE(points.size() == point_count);
  const kernel_table usual = profiles::kube_default();
  std::vector<std::string> listed = names_in(usual), with_queues = names_in(profiles::with_queues());
  CHECK(names_in(profiles::bin_packing()) == listed);
  CHECK(with_queues.front() == "FairShare");
  with_queues.erase(with_queues.begin());
  CHECK(with_queues == listed);
  const std::string mark = "<!-- kube_default -->\n";
  const std::size_t begin = page.find(mark) + mark.size();
  CHECK(split(std::string_view{page}.substr(begin, page.find("\n\n", begin) - begin), ',') == listed);

  std::size_t plugins = 0;
  every_plugin::each([&]<class P>() {
    ++plugins;
    const std::string name{std::string_view{P::name}};
    INFO(name);
    REQUIRE(rows.contains(name));
    const documented& row = rows.at(name);
    const std::string header = text_of("/include/gangsched/plugins/" + row.header);
    CHECK(header.find("\nclass " + row.type + " {") != std::string::npos);
    CHECK(header.find("name = \"" + name + "\"") != std::string::npos);
    std::vector<std::string> takes_part;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (P::points::set.has(static_cast<point>(i))) takes_part.push_back(points[i]);
    }
    std::vector<std::string> said = row.points;
    std::sort(said.begin(), said.end());
    std::sort(takes_part.begin(), takes_part.end());
    CHECK(said == takes_part);
    const bool scores = P::points::set.has(point::score) || P::points::set.has(point::score_placement);
    CHECK(row.weight == (scores ? std::to_string(detail::default_weight<P>) : ""));
    const auto in_usual = std::find_if(usual.plugins.begin(), usual.plugins.end(),
                                       [&](const plugin_entry& one) { return one.name == name; });
    CHECK((row.in == "all" || row.in == "ready-made") == (in_usual != usual.plugins.end()));
    CHECK((row.in == "with_queues") == (name == "FairShare"));
    if (in_usual != usual.plugins.end()) CHECK(in_usual->weight == detail::default_weight<P>);
  });
  CHECK(rows.size() == plugins);
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
  const argument supply = list_of(argument{argument::fields{{"model", "T4"}, {"gpus", 8}, {"cpuMilli", 96000}}});
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
