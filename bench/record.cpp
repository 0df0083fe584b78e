#include "gangsched/record/recorder.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "gangsched/record/replayer.hpp"
#include "gangsched/record/snapshot.hpp"
#include "support.hpp"

// What a decision log costs: the same pods with nobody told, recorded, and replayed. And what a snapshot does.
namespace {

using namespace gangsched;

/// nodes, pods
void decision_log(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0)), pods = static_cast<int>(state.range(1));
  const double each = 1e9 / pods;
  const double never = std::numeric_limits<double>::infinity();
  double plain = never, recorded = never, replayed = never;
  std::size_t size = 0;
  std::vector<std::byte> log;
  for (auto _ : state) {
    for (const bool records : {false, true}) {
      cluster cluster;
      std::optional<record::recorder> to;
      if (records) to = bench::must(record::recorder::start(cluster));
      scheduler scheduler{cluster, profiles::kube_default()};
      for (int i = 0; i < nodes; ++i)
        bench::must(cluster.add_node({.name = "node-" + std::to_string(i),
                                      .allocatable = {{"cpu", 64}, {"memory", bench::mebi(262144)}, {"pods", 110}}}));
      const double start = bench::cpu_seconds();
      bench::add_pods(cluster, pods, 10);
      bench::drain(scheduler, static_cast<std::size_t>(pods));
      const double took = bench::cpu_seconds() - start;
      (records ? recorded : plain) = std::min(records ? recorded : plain, took);
      if (records) log = to->take();
    }
    const double start = bench::cpu_seconds();
    record::replayer again = bench::must(record::replayer::open(
        log, {.profiles = [](std::uint32_t) { return std::vector<kernel_table>{profiles::kube_default()}; }}));
    if (bench::must(again.run())) return state.SkipWithError("a replay decides otherwise");
    const double took = bench::cpu_seconds() - start;
    replayed = std::min(replayed, took);
    size = log.size();
    state.SetIterationTime(took);
  }
  state.counters["ns/pod"] = plain * each;
  state.counters["recorded"] = recorded * each;
  state.counters["replayed"] = replayed * each;
  state.counters["bytes/pod"] = static_cast<double>(size) / pods;
}
BENCHMARK(decision_log)
    ->Name("DecisionLog")
    ->ArgNames({"nodes", "pods"})
    ->Args({1000, 10'000})
    ->Args({5000, 50'000})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// nodes, pods that run; and a tenth as many wait
void snapshot(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0)), pods = static_cast<int>(state.range(1));
  cluster cluster;
  scheduler scheduler{cluster, profiles::kube_default()};
  for (int i = 0; i < nodes; ++i)
    bench::must(
        cluster.add_node({.name = "node-" + std::to_string(i),
                          .allocatable = {{"cpu", 64}, {"memory", bench::mebi(262144)}, {"pods", pods / nodes}}}));
  bench::add_pods(cluster, pods, 10);
  bench::drain(scheduler, static_cast<std::size_t>(pods));
  pod_spec waits{.name = "", .containers = {{.requests = {{"cpu", 1}}}}};
  for (int i = 0; i < pods / 10; ++i) {
    waits.name = "waits-" + std::to_string(i);
    bench::must(cluster.add_pod(waits));
  }
  while (scheduler.schedule_cycle(std::chrono::seconds{1})) {
  }
  double taken = std::numeric_limits<double>::infinity();
  std::size_t size = 0;
  for (auto _ : state) {
    double start = bench::cpu_seconds();
    const std::vector<std::byte> bytes = bench::must(record::take_snapshot(cluster, scheduler));
    taken = std::min(taken, bench::cpu_seconds() - start);
    size = bytes.size();
    start = bench::cpu_seconds();
    const forked again = bench::must(record::restore_snapshot(bytes, {.profiles = {profiles::kube_default()}}));
    state.SetIterationTime(bench::cpu_seconds() - start);
    if (again.cluster.digest() != cluster.digest()) return state.SkipWithError("another cluster is restored");
  }
  state.counters["taken ms"] = taken * 1e3;
  state.counters["bytes"] = static_cast<double>(size);
}
BENCHMARK(snapshot)
    ->Name("Snapshot")
    ->ArgNames({"nodes", "pods"})
    ->Args({1000, 10'000})
    ->Args({5000, 50'000})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
