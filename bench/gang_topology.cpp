#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "kube_shapes.hpp"
#include "support.hpp"

// Gangs of GPU pods in racks, blocks and zones, one after another through the public API: from the arrival of the group and its pods to
// the last decision. Shapes: Gang64x1000, Gang1024 and CPGTopologyAware; percentiles are over gangs.
namespace {

using namespace gangsched;

/// Nodes with 8 GPUs: 40 to a rack, 10 racks to a block, 10 blocks to a zone.
cluster gpu_nodes(int nodes) {
  cluster made;
  if (!made.reserve({.nodes = static_cast<std::uint32_t>(nodes), .pods = 70'000, .groups = 5'000})) std::abort();
  for (int i = 0; i < nodes; ++i) {
    node_spec node;
    node.name = bench::numbered("node-%06d", i);
    node.labels = {{"rack", bench::numbered("rack-%05d", i / 40)},
                   {"block", bench::numbered("block-%04d", i / 400)},
                   {"zone", bench::numbered("zone-%03d", i / 4000)}};
    node.allocatable = {{"cpu", 128}, {"memory", bench::mebi(1 << 20)}, {"pods", 110}, {"nvidia.com/gpu", 8}};
    bench::must(made.add_node(node));
  }
  return made;
}

pod_spec gpu_pod(std::string name, group_id group, int gpus) {
  pod_spec pod;
  pod.name = std::move(name);
  container one;
  one.requests = {{"cpu", gpus * 8}, {"memory", bench::mebi(8192 * gpus)}, {"nvidia.com/gpu", gpus}};
  pod.containers = {one};
  pod.group = group;
  return pod;
}

struct shape {
  int nodes, gangs, size, gpus;
  const char* within;
  bool turnover;  ///< each gang leaves before the next one comes
};

void report(benchmark::State& state, std::vector<double>& microseconds, double placing) {
  std::sort(microseconds.begin(), microseconds.end());
  const auto at = [&](double share) {
    return microseconds[std::min(microseconds.size() - 1,
                                 static_cast<std::size_t>(share * static_cast<double>(microseconds.size())))];
  };
  state.counters["p50_us"] = at(0.5);
  state.counters["p99_us"] = at(0.99);
  state.counters["cycle_us"] = placing / static_cast<double>(microseconds.size());
}

/// Runs one entity and confirms its decisions; the microseconds that schedule_cycle took.
double run(benchmark::State& state, scheduler& scheduler, std::size_t expected) {
  const double begin = bench::cpu_seconds();
  const auto made = scheduler.schedule_cycle(instant{0});
  const double took = (bench::cpu_seconds() - begin) * 1e6;
  if (static_cast<std::size_t>(std::distance(made.begin(), made.end())) != expected) {
    state.SkipWithError("the gang was not placed");
    return took;
  }
  for (const decision& one : made) {
    if (one.kind != decision_kind::bind || !scheduler.confirm(one.pod)) state.SkipWithError("a member was not placed");
  }
  return took;
}

void gangs(benchmark::State& state, const shape& of) {
  for (auto _ : state) {
    cluster cluster = gpu_nodes(of.nodes);
    scheduler scheduler{cluster, profiles::kube_default()};
    std::vector<double> each;
    double placing = 0;
    for (int g = -2; g < of.gangs; ++g) {
      std::vector<std::string> names;
      for (int i = 0; i < of.size; ++i) names.push_back(bench::numbered("m-%09d", (g + 2) * of.size + i));
      const double begin = bench::cpu_seconds();
      group_spec spec{.name = bench::numbered("gang-%d", g + 2), .policy = gang{.min_count = of.size}};
      if (of.within != nullptr) spec.topology.within = {of.within};
      const group_id group = bench::must(cluster.add_group(spec));
      const std::vector<pod_id> members = bench::must(cluster.add_pods(gpu_pod({}, group, of.gpus), names));
      const double arrived = (bench::cpu_seconds() - begin) * 1e6;
      const double placed = run(state, scheduler, members.size());
      if (g >= 0) each.push_back(arrived + placed), placing += placed;  // the first ones build the indexes
      if (g < 0 || (of.turnover && g + 1 != of.gangs)) {
        for (const pod_id one : members)
          if (!cluster.remove_pod(one)) std::abort();
        if (!cluster.remove_group(group)) std::abort();
      }
    }
    report(state, each, placing);
    bench::label_decisions(state, cluster);
  }
}

/// Trees: the zone for the tree, a rack for each of its two groups.
void trees(benchmark::State& state, int nodes, int count, int size) {
  for (auto _ : state) {
    cluster cluster = gpu_nodes(nodes);
    scheduler scheduler{cluster, profiles::kube_default()};
    std::vector<double> each;
    double placing = 0;
    for (int t = 0; t < count; ++t) {
      std::vector<std::string> names;
      for (int i = 0; i < 2 * size; ++i) names.push_back(bench::numbered("m-%09d", 2 * t * size + i));
      const double begin = bench::cpu_seconds();
      group_spec root{.name = bench::numbered("tree-%d", t), .policy = gang{.min_count = 2}, .composite = true};
      root.topology.within = {"zone"};
      const group_id top = bench::must(cluster.add_group(root));
      for (int g = 0; g < 2; ++g) {
        group_spec leaf{
            .name = bench::numbered("leaf-%d", 2 * t + g), .policy = gang{.min_count = size}, .parent = top};
        leaf.topology.within = {"rack"};
        const std::span<const std::string> mine{names.data() + g * size, static_cast<std::size_t>(size)};
        bench::must(cluster.add_pods(gpu_pod({}, bench::must(cluster.add_group(leaf)), 1), mine));
      }
      const double arrived = (bench::cpu_seconds() - begin) * 1e6;
      const double placed = run(state, scheduler, static_cast<std::size_t>(2 * size));
      placing += placed;
      each.push_back(arrived + placed);
    }
    report(state, each, placing);
    bench::label_decisions(state, cluster);
  }
}

/// A gang that needs every node, each full of ten pods of lower priority: one cycle says who goes.
void preemption(benchmark::State& state, int nodes) {
  for (auto _ : state) {
    cluster cluster = gpu_nodes(nodes);
    std::vector<std::string> names;
    for (const node_id node : cluster.nodes()) {
      for (int i = 0; i < 10; ++i) {
        pod_spec running = gpu_pod(std::string{cluster.name_of(node)} + bench::numbered("-%d", i), {}, 0);
        running.containers[0].requests = {{"cpu", 12}};
        running.node = node;
        bench::must(cluster.add_pod(running));
      }
      names.push_back("m-" + std::string{cluster.name_of(node)});
    }
    scheduler scheduler{cluster, profiles::kube_default()};
    const group_id group =
        bench::must(cluster.add_group({.name = "gang", .policy = gang{.min_count = nodes}, .priority = 10}));
    pod_spec member = gpu_pod({}, group, 8);
    member.priority = 10;
    member.containers[0].requests["cpu"] = 120;
    bench::must(cluster.add_pods(member, names));
    const double begin = bench::cpu_seconds();
    const auto made = scheduler.schedule_cycle(instant{0});
    state.counters["cycle_us"] = (bench::cpu_seconds() - begin) * 1e6;
    const auto evictions =
        std::count_if(made.begin(), made.end(), [](const decision& one) { return one.kind == decision_kind::evict; });
    if (evictions != 10 * nodes) state.SkipWithError("not everybody has to go");
  }
}

[[maybe_unused]] const bool topology_registered = [] {
  const auto add = [](const char* name, const shape& of) {
    benchmark::RegisterBenchmark(name, gangs, of)->Iterations(1)->Unit(benchmark::kMillisecond);
  };
  add("Gang64x1000/required_rack/10000nodes", {10'000, 1000, 64, 1, "rack", false});
  add("Gang1024/1gpu/10000nodes", {10'000, 20, 1024, 1, nullptr, true});
  add("Gang1024/8gpu/10000nodes", {10'000, 20, 1024, 8, nullptr, true});
  add("Gang1024/8gpu/100000nodes", {100'000, 20, 1024, 8, nullptr, true});
  add("TopologyAwareScheduling/750x4/5000nodes", {5'000, 750, 4, 1, "rack", false});
  benchmark::RegisterBenchmark("CPGTopologyAware/1500x2x4/5000nodes", trees, 5'000, 1500, 4)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("CPGTopologyAware/3x2x160/5000nodes", trees, 5'000, 3, 160)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("GangPreemption/1x100/evict:1000", preemption, 100)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("GangPreemption/1x1000/evict:10000", preemption, 1000)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
