#include <benchmark/benchmark.h>

#include "support.hpp"

// Decisions per second through the public schedule_cycle and confirm: exact, every node considered, default profile.
namespace {

using namespace gangsched;

/// @p add_pods puts pods into a cluster of @p make_nodes that are then placed one by one.
template <class MakeNodes, class AddPods>
void place_all(benchmark::State& state, int pods, const MakeNodes& make_nodes, const AddPods& add_pods) {
  double adding = 0;
  bench::run_result last;
  engine_statistics counted;
  for (auto _ : state) {
    cluster cluster = make_nodes();
    const double start = bench::cpu_seconds();
    add_pods(cluster);
    adding = bench::cpu_seconds() - start;
    scheduler scheduler{cluster, profiles::kube_default()};
    last = bench::drain(scheduler, static_cast<std::size_t>(pods));
    counted = scheduler.statistics();
    state.SetIterationTime(last.seconds);
    if (last.bound != static_cast<std::size_t>(pods)) state.SkipWithError("not every pod was placed");
    bench::label_decisions(state, cluster);
  }
  const double scheduled = static_cast<double>(last.bound);
  state.counters["pods/s"] =
      benchmark::Counter(scheduled * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["ns/pod"] = last.seconds * 1e9 / scheduled;
  state.counters["add ns/pod"] = adding * 1e9 / static_cast<double>(pods);
  bench::count_allocations(state, 2.0 * static_cast<double>(last.steady_allocations), scheduled);
  state.counters["opaque"] = static_cast<double>(counted.opaque_evaluations);
  state.counters["rows/pod"] = static_cast<double>(counted.rows_evaluated) / scheduled;
}

/// nodes, pods, classes
void scheduling_basic(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(1));
  const int classes = static_cast<int>(state.range(2));
  place_all(
      state, pods, [&] { return bench::mixed_nodes(static_cast<int>(state.range(0))); },
      [&](cluster& to) { bench::add_pods(to, pods, classes); });
}
BENCHMARK(scheduling_basic)
    ->Name("SchedulingBasic")
    ->ArgNames({"nodes", "pods", "classes"})
    ->Args({5000, 50000, 1})
    ->Args({5000, 50000, 10})
    ->Args({5000, 1000, 1000})
    ->Args({5000, 20000, 1000})
    ->Args({100000, 1000, 1000})
    ->Args({1000, 20000, 1})
    ->Args({10000, 50000, 1})
    ->Args({100000, 50000, 1})
    ->Args({100000, 1000000, 1})
    ->Args({1000000, 1000000, 1})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// nodes, pods of which no two are alike in anything
void pods_that_differ(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(1));
  place_all(
      state, pods, [&] { return bench::mixed_nodes(static_cast<int>(state.range(0)), true); },
      [&](cluster& to) { bench::add_different_pods(to, pods); });
}
BENCHMARK(pods_that_differ)
    ->Name("PodsThatDiffer")
    ->ArgNames({"nodes", "pods"})
    ->Args({1000, 200})
    ->Args({5000, 1000})
    ->Args({100000, 200})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// 1,000 gangs of 64 on 10,000 nodes of 8 GPUs: all fit.
void gang_scheduling(benchmark::State& state) {
  const int size = static_cast<int>(state.range(0));
  const int gangs = static_cast<int>(state.range(1));
  double seconds = 0;
  std::size_t bound = 0;
  for (auto _ : state) {
    cluster cluster;
    for (int i = 0; i < 10000; ++i) {
      bench::must(cluster.add_node(
          {.name = "node-" + std::to_string(i),
           .allocatable = {{"cpu", 96}, {"memory", bench::mebi(1 << 20)}, {"pods", 110}, {"nvidia.com/gpu", 8}}}));
    }
    for (int g = 0; g < gangs; ++g) {
      const group_id group =
          bench::must(cluster.add_group({.name = "train-" + std::to_string(g), .policy = gang{.min_count = size}}));
      for (int m = 0; m < size; ++m) {
        pod_spec pod;
        pod.name = "train-" + std::to_string(g) + "-" + std::to_string(m);
        pod.group = group;
        pod.containers = {{.requests = {{"cpu", 8}, {"memory", bench::mebi(65536)}, {"nvidia.com/gpu", 1}}}};
        bench::must(cluster.add_pod(pod));
      }
    }
    scheduler scheduler{cluster, profiles::kube_default()};
    const bench::run_result run = bench::drain(scheduler, static_cast<std::size_t>(size * gangs));
    seconds = run.seconds;
    bound = run.bound;
    state.SetIterationTime(seconds);
    if (bound != static_cast<std::size_t>(size * gangs)) state.SkipWithError("not every gang was placed");
    bench::count_allocations(state, 2.0 * static_cast<double>(run.steady_allocations), size * gangs);
    bench::label_decisions(state, cluster);
  }
  state.counters["pods/s"] = benchmark::Counter(static_cast<double>(bound) * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
  state.counters["us/gang"] = seconds * 1e6 / gangs;
}
BENCHMARK(gang_scheduling)
    ->Name("GangScheduling")
    ->ArgNames({"size", "gangs"})
    ->Args({64, 1000})
    ->Args({1024, 50})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
