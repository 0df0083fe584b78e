#include <benchmark/benchmark.h>

#include <bit>
#include <cmath>
#include <queue>
#include <random>

#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/device_fit.hpp"
#include "gangsched/plugins/mig_packing.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "support.hpp"

// GPUs, MIG instances and devices of claims, through the public API: a pod's record, its decision, and its end.
namespace {

using namespace gangsched;

constexpr const char* a100_profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
constexpr int slices_of[] = {1, 2, 4, 4, 8};

/// @p adverse: every node has another size, and where there are no MIG instances they are of two kinds of machines.
cluster gpu_nodes(int nodes, int gpus, bool mig, bool adverse = false) {
  cluster made;
  for (int i = 0; i < nodes; ++i) {
    node_spec node;
    node.name = "n" + std::to_string(i);
    node.allocatable = {{"cpu", 256}, {"memory", bench::mebi(1 << 20)}, {"pods", 256}};
    if (adverse) node.allocatable["cpu"] = quantity::from_milli(256'000 + 7919 * i % 16384);
    if (gpus == 8 && !mig)
      node.devices =
          make_node_devices(adverse && i % 2 == 0 ? gpu_machine::two_quads : gpu_machine::dgx1_v100, "V100", 32768);
    else
      node.devices.gpus.resize(static_cast<std::size_t>(gpus));
    if (mig) node.devices.gpu.model = "NVIDIA-A100-SXM4-40GB";
    for (gpu_spec& one : node.devices.gpus) one.mig = mig ? mig_mode::dynamic : mig_mode::off;
    bench::must(made.add_node(node));
  }
  return made;
}

/// Adds, schedules and confirms one pod; whether it found a node.
bool place(cluster& cluster, scheduler& scheduler, const pod_spec& spec, pod_id& id) {
  id = bench::must(cluster.add_pod(spec));
  bool bound = false;
  while (const cycle made = scheduler.schedule_cycle(instant{})) {
    for (const decision& one : made) bound = bound || one.kind == decision_kind::bind;
  }
  if (bound)
    scheduler.confirm(id).value();
  else
    cluster.remove_pod(id).value();
  return bound;
}

/// 100 GPUs, arrivals at random moments at the load of all slices, lives with mean 1, 35,000 requests a seed.
void MIGAcceptance(benchmark::State& state) {
  const auto rule = static_cast<mig_rule>(state.range(0));
  const int seeds = static_cast<int>(state.range(1));
  double accepted = 0;
  for (auto _ : state) {
    accepted = 0;
    for (int seed = 0; seed < seeds; ++seed) {
      cluster cluster = gpu_nodes(100, 1, true);
      scheduler scheduler{
          cluster, profile{priority_sort{}, mig_packing{rule}, device_fit{}}, {.ties = tie_rule::lowest_row}};
      std::mt19937_64 random{static_cast<std::uint64_t>(42 + seed)};
      const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0; };
      using leaving = std::pair<double, pod_id>;
      const auto later = [](const leaving& a, const leaving& b) { return a.first > b.first; };
      std::priority_queue<leaving, std::vector<leaving>, decltype(later)> running(later);
      const double rate = 800 / ((1 + 2 + 4 + 4 + 8) / 5.0);
      double now = 0;
      std::int64_t asked = 0, got = 0;
      for (int i = 0; i < 35'000; ++i) {
        now -= std::log(uniform()) / rate;
        for (; !running.empty() && running.top().first <= now; running.pop())
          cluster.remove_pod(running.top().second).value();
        const auto which = std::min<std::size_t>(4, static_cast<std::size_t>(uniform() * 5));
        const double life = -std::log(uniform());
        pod_spec pod{.name = "p" + std::to_string(i), .devices = {{.mig_profile = a100_profiles[which]}}};
        asked += slices_of[which];
        if (pod_id id; place(cluster, scheduler, pod, id)) got += slices_of[which], running.emplace(now + life, id);
      }
      accepted += static_cast<double>(got) / static_cast<double>(asked) / seeds;
    }
  }
  state.counters["accepted"] = accepted;
  state.SetItemsProcessed(state.iterations() * seeds * 35'000);
}
BENCHMARK(MIGAcceptance)
    ->ArgNames({"rule", "seeds"})
    ->Args({static_cast<int>(mig_rule::fragmentation), 10})
    ->Args({static_cast<int>(mig_rule::best_fit), 10})
    ->Args({static_cast<int>(mig_rule::first_fit), 10})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

/// A cluster that is nearly full of pods that come and go: for each that leaves one of the same kind comes.
void churn(benchmark::State& state, cluster& cluster, scheduler& scheduler, std::vector<pod_spec> kinds,
           std::size_t pods) {
  auto random = [next = std::uint64_t{7}]() mutable {
    return mix64(next++);
  };  // (a twister would cost as much as a score)
  std::vector<std::pair<pod_id, std::size_t>> there;
  std::uint64_t number = 0;
  const auto add = [&](std::size_t kind) {
    kinds[kind].name = "p" + std::to_string(number++);
    pod_id id;
    if (!place(cluster, scheduler, kinds[kind], id)) return false;
    there.emplace_back(id, kind);
    return true;
  };
  while (there.size() < pods && add(random() % kinds.size())) {
  }
  bench::label_decisions(state, cluster);
  std::size_t failed = 0;
  const std::size_t before = bench::allocations();
  for (auto _ : state) {
    const std::size_t which = random() % there.size();
    cluster.remove_pod(there[which].first).value();
    const std::size_t kind = there[which].second;
    std::swap(there[which], there.back());
    there.pop_back();
    failed += !add(kind);
  }
  bench::count_allocations(state, static_cast<double>(bench::allocations() - before),
                           static_cast<double>(state.iterations()));
  state.counters["failed"] = static_cast<double>(failed);
  state.counters["pods"] = static_cast<double>(there.size());
  state.SetItemsProcessed(state.iterations());
}

/// One of each kind, or, adverse, of eight sizes.
std::vector<pod_spec> in_sizes(const std::vector<pod_spec>& kinds, bool adverse) {
  if (!adverse) return kinds;
  std::vector<pod_spec> made;
  for (const pod_spec& one : kinds) {
    for (int size = 0; size < 8; ++size) {
      made.push_back(one);
      made.back().containers[0].requests["memory"] = bench::mebi(1000 + 100 * size);
    }
  }
  return made;
}

void MIGMix(benchmark::State& state) {
  const bool adverse = state.range(1) != 0;
  cluster cluster = gpu_nodes(static_cast<int>(state.range(0)), 8, true, adverse);
  scheduler scheduler{cluster, profile{priority_sort{}, node_resources_fit{}, device_fit{}}};
  std::vector<pod_spec> kinds;
  for (const char* profile : a100_profiles) {
    kinds.push_back({.name = {}, .containers = {{.requests = {{"cpu", 1}}}}, .devices = {{.mig_profile = profile}}});
  }
  kinds = in_sizes(kinds, adverse);
  churn(state, cluster, scheduler, kinds, static_cast<std::size_t>(state.range(0)) * 14);
}
BENCHMARK(MIGMix)->ArgNames({"nodes", "adverse"})->ArgsProduct({{1000, 10'000}, {0, 1}});

void NVLinkPack(benchmark::State& state) {
  const bool adverse = state.range(1) != 0;
  cluster cluster = gpu_nodes(static_cast<int>(state.range(0)), 8, false, adverse);
  scheduler scheduler{cluster, profile{priority_sort{}, node_resources_fit{}, device_fit{}}};
  std::vector<pod_spec> kinds;
  for (const int count : {1, 2, 4, 8}) {
    kinds.push_back({.name = {},
                     .containers = {{.requests = {{"cpu", count}}}},
                     .devices = {{.count = count, .within = device_scope::nvlink, .within_preferred = true}}});
  }
  kinds = in_sizes(kinds, adverse);
  churn(state, cluster, scheduler, kinds, static_cast<std::size_t>(state.range(0)) * 2);
}
BENCHMARK(NVLinkPack)->ArgNames({"nodes", "adverse"})->ArgsProduct({{1000, 10'000}, {0, 1}});

/// Kubernetes' SteadyState for dynamic resource allocation: 500 nodes with 10 devices each, full but for ten. Adverse: every node has
/// another size, half of the devices have attributes of their own, and pods are of eight sizes.
void DRASteadyState(benchmark::State& state) {
  const bool adverse = state.range(1) != 0;
  cluster cluster;
  for (int i = 0; i < 500; ++i) {
    node_spec node{.name = "n" + std::to_string(i), .allocatable = {{"cpu", 64}, {"pods", 110}}};
    if (adverse) {
      node.allocatable["cpu"] = quantity::from_milli(64'000 + i);
      node.allocatable["memory"] = bench::mebi(1 << 20);
    }
    for (int device = 0; device < 10; ++device) {
      node.devices.others.push_back(
          {.id = "d" + std::to_string(device),
           .device_class = "test-driver.cdi.k8s.io",
           .attributes = {{"kind", std::string{device % 2 == 0 ? "even" : "odd"}}, {"size", std::int64_t{device}}}});
      if (adverse && device % 4 < 2)
        node.devices.others.back().attributes["serial"] = std::string{"s" + std::to_string(10 * i + device)};
    }
    bench::must(cluster.add_node(node));
  }
  scheduler scheduler{cluster, profile{priority_sort{}, node_resources_fit{}, device_fit{}}};
  const std::vector<pod_spec> kinds = {
      {.name = {}, .containers = {{.requests = {{"cpu", 1}}}}, .devices = {{.device_class = "test-driver.cdi.k8s.io"}}},
      {.name = {},
       .containers = {{.requests = {{"cpu", 1}}}},
       .devices = {{.device_class = "test-driver.cdi.k8s.io",
                    .selectors = {{"kind", attribute_operator::equal, {std::string{"odd"}}}}}}}};
  churn(state, cluster, scheduler, in_sizes(kinds, adverse), static_cast<std::size_t>(state.range(0)));
}
BENCHMARK(DRASteadyState)->ArgNames({"claims", "adverse"})->ArgsProduct({{100, 2500, 4900}, {0, 1}});

}  // namespace
