#include "gangsched/plugins/node_resource_topology_match.hpp"

#include "devices/numa_nodes.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_resource_topology_match_test {

using scores = std::vector<std::int64_t>;
using match = node_resource_topology_match;

namespace {

/// Cells of eight CPUs and 80 bytes of memory each, with two GPUs in cell 0.
a_node zones(const std::string& name, unsigned cells, numa_policy policy, numa_scope scope = numa_scope::container) {
  a_node made = a_node(name).cpu(8 * cells).gpus(2).cards(2);
  node_numa numa = sockets_of_eight(cells, 80, policy, scope);
  for (numa_cell& cell : numa.cells)
    for (unsigned to = 0; to < cells; ++to) cell.distances.push_back(to == cell.id ? 10 : 20);
  for (gpu_spec& one : made.spec.devices.gpus) one.numa = 0;
  made.spec.devices.numa = numa;
  return made;
}

}  // namespace

TEST_CASE("NodeResourceTopologyMatch: only nodes with single-numa-node reject what fits no one zone",
          "[plugins][numa]") {
  hooks on{match{}};
  const node_id single = on.add(zones("single", 2, numa_policy::single_numa_node));
  const node_id restricted = on.add(zones("restricted", 2, numa_policy::restricted));
  const node_id pods = on.add(zones("pods", 2, numa_policy::single_numa_node, numa_scope::pod));
  const node_id plain = on.add(a_node{"plain"}.cpu(64));
  const pod_id small = on.add(a_pod{"small"}.guaranteed().cpu(8).memory("80").gpus(2));
  const pod_id wide = on.add(a_pod{"wide"}.guaranteed().cpu(9));
  const pod_id two = on.add(a_pod{"two"}.guaranteed().cpu(8).memory("40").container().cpu(8).memory("40"));
  for (const node_id node : {single, restricted, pods, plain}) CHECK(on.filter(small, node).code == code::success);
  CHECK(on.filter(wide, single).code == code::unschedulable);
  CHECK(on.filter(wide, restricted).code == code::success);
  CHECK(on.filter(wide, plain).code == code::success);
  CHECK(on.filter(two, single).code == code::success);
  CHECK(on.filter(two, pods).code == code::unschedulable);
  // Pods that are not Guaranteed have only their devices aligned.
  CHECK(on.filter(on.add(a_pod{"burstable"}.cpu(9).gpus(2)), single).code == code::success);
  CHECK(on.filter(on.add(a_pod{"plain"}.cpu(9)), single).code == code::success);
  // What pods there have is not available.
  on.add(a_pod{"runs"}.guaranteed().cpu(4).gpus(1).on(single));
  CHECK(on.filter(small, single).code == code::unschedulable);
}

TEST_CASE("NodeResourceTopologyMatch: the strategies rate the zones that are left", "[plugins][numa]") {
  const auto rated = [](match plugin, std::int64_t cpus) {
    hooks on{std::move(plugin)};
    const node_id used = on.add(zones("used", 2, numa_policy::single_numa_node));
    on.add(zones("empty", 2, numa_policy::single_numa_node));
    on.add(zones("restricted", 4, numa_policy::restricted));
    on.add(a_node{"plain"}.cpu(64));
    on.add(a_pod{"there"}.guaranteed().cpu(4).memory("40").on(used));
    return on.scores(on.add(a_pod{"p"}.guaranteed().cpu(cpus).memory("10"))).value();
  };
  // CPU: 4 or 2 of 4 in zone 0, 8 in zone 1; memory 10 of 40 and 80. The worse zone counts.
  CHECK(rated(match{match::strategy::least_allocated}, 2) == scores{62, 81, 0, 0});
  CHECK(rated(match{match::strategy::most_allocated}, 2) == scores{18, 18, 0, 0});
  CHECK(rated(match{match::strategy::balanced_allocation}, 1) == scores{100, 100, 0, 0});
  // A zone costs 100 / 8; half of that comes back as no other zones are closer.
  CHECK(rated(match{match::strategy::least_numa_nodes}, 2) == scores{94, 94, 94, 0});
  CHECK(rated(match{match::strategy::least_numa_nodes}, 12) == scores{82, 82, 82, 0});
  CHECK(rated(match{match::strategy::least_numa_nodes}, 20) == scores{0, 0, 70, 0});
  // With weights memory hardly counts.
  CHECK(rated(match{match::strategy::least_allocated, {{"cpu", 99}, {"memory", 1}}}, 2) == scores{50, 75, 0, 0});
  hooks on{match{}};
  on.add(zones("n", 2, numa_policy::single_numa_node));
  CHECK(on.scores(on.add(a_pod{"burstable"}.cpu(3))) == scores{100});
}

TEST_CASE("NodeResourceTopologyMatch: of what no zone tells a zone has nothing", "[plugins][numa]") {
  const auto rated = [](match plugin, bool twice = false) {
    hooks on{std::move(plugin)};
    on.add(zones("n", 2, numa_policy::single_numa_node).resource("example.com/nic", "4"));
    a_pod asks = a_pod{"p"}.guaranteed().cpu(2).memory("10").resource("example.com/nic", "1");
    if (twice) asks.container().cpu(2).memory("10");
    return on.scores(on.add(asks)).value();
  };
  CHECK(rated(match{match::strategy::least_allocated}) == scores{54});  // 75, 87 and 0
  CHECK(rated(match{match::strategy::least_allocated}, true) == scores{67});
  CHECK(rated(match{match::strategy::most_allocated}) == scores{12});
  CHECK(rated(match{match::strategy::least_allocated, {{"example.com/nic", 9}}}) == scores{14});
  CHECK(rated(match{match::strategy::balanced_allocation}) == scores{77});
  CHECK(rated(match{match::strategy::least_numa_nodes}) == scores{0});
}

TEST_CASE("NodeResourceTopologyMatch arguments", "[plugins][numa]") {
  using fields = argument::fields;
  using list = argument::list;
  const auto strategy = [](argument value) { return fields{{"scoringStrategy", std::move(value)}}; };
  CHECK(match::from({}));
  CHECK(match::from(strategy(fields{{"type", "LeastNUMANodes"}})));
  CHECK(match::from(
      strategy(fields{{"type", "MostAllocated"}, {"resources", list{fields{{"name", "cpu"}, {"weight", 2}}}}})));
  CHECK(match::from(strategy(fields{{"type", "Most"}})).error().code == errc::unknown);
  CHECK(match::from(strategy(fields{{"resources", list{fields{{"name", "cpu"}, {"weight", 0}}}}})).error().code ==
        errc::out_of_range);
  CHECK(match::from(fields{{"cacheResyncPeriodSeconds", 5}}).error().field.find("cacheResync") != std::string::npos);
}

}  // namespace gangsched::testing::node_resource_topology_match_test
