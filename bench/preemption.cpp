#include <benchmark/benchmark.h>

#include "support.hpp"

// scheduler_perf's PreemptionBasic: small nodes full of four low pods each, and pods of a higher priority that need three of the
// four places. Timed: the cycle that fails and finds the victims, their removal, and the cycle that places the pod.
namespace {

using namespace gangsched;

cluster full_of_low(int nodes) {
  cluster made;
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "node-" + std::to_string(i);
    const node_id node =
        bench::must(made.add_node({.name = name,
                                   .labels = {{"kubernetes.io/hostname", name},
                                              {"topology.kubernetes.io/zone", "zone" + std::to_string(i % 3 + 1)}},
                                   .allocatable = {{"cpu", 4}, {"memory", bench::mebi(32768)}, {"pods", 110}}}));
    for (int k = 0; k < 4; ++k) {
      pod_spec low;
      low.name = "low-" + std::to_string(i) + "-" + std::to_string(k);
      low.containers = {{.requests = {{"cpu", quantity::from_milli(900)}, {"memory", bench::mebi(500)}}}};
      low.node = node;
      bench::must(made.add_pod(low));
    }
  }
  return made;
}

/// nodes, preemptors, priority of these: 10 preempts, 0 tries in vain
void preemption_basic(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const int pods = static_cast<int>(state.range(1));
  const auto priority = static_cast<std::int32_t>(state.range(2));
  std::size_t evicted = 0;
  double seconds = 0;
  for (auto _ : state) {
    cluster cluster = full_of_low(nodes);
    scheduler scheduler{cluster, profiles::kube_default()};
    std::vector<pod_id> waiting;
    const double start = bench::cpu_seconds();
    std::size_t bound = 0;
    evicted = 0;
    for (int i = 0; i < pods; ++i) {
      pod_spec high;
      high.name = "high-" + std::to_string(i);
      high.priority = priority;
      high.containers = {{.requests = {{"cpu", 3}, {"memory", bench::mebi(500)}}}};
      bench::must(cluster.add_pod(high));
      std::vector<pod_id> victims;
      for (;;) {
        const cycle done = scheduler.schedule_cycle(instant{1});
        if (!done) break;
        for (const decision& one : done) {
          if (one.kind == decision_kind::evict) victims.push_back(one.pod);
          if (one.kind == decision_kind::bind) ++bound, static_cast<void>(scheduler.confirm(one.pod));
        }
        for (const pod_id victim : victims) static_cast<void>(cluster.remove_pod(victim));
        evicted += victims.size();
        victims.clear();
      }
    }
    seconds = bench::cpu_seconds() - start;
    state.SetIterationTime(seconds);
    if (bound != static_cast<std::size_t>(priority > 0 ? pods : 0)) state.SkipWithError("not every pod was placed");
  }
  state.counters["preemptors/s"] = static_cast<double>(pods) / seconds;
  state.counters["us/preemptor"] = seconds * 1e6 / pods;
  state.counters["victims"] = static_cast<double>(evicted);
}
BENCHMARK(preemption_basic)
    ->Name("PreemptionBasic")
    ->ArgNames({"nodes", "pods", "priority"})
    ->Args({500, 250, 10})
    ->Args({5000, 250, 10})
    ->Args({5000, 2500, 10})
    ->Args({5000, 2500, 0})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
