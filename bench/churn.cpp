#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>

#include "kube_shapes.hpp"
#include "support.hpp"

// scheduler_perf's workloads in which other things happen while pods are placed, and pods that know their node. What happens and what
// the scheduler makes of it is timed too.
namespace {

using namespace gangsched;
using bench::kind;

constexpr int between =
    100;  // pods from one event to the next: at kube-scheduler's speed about the interval of scheduler_perf

/// Places @p pods plain pods; @p happens is called before every hundredth. Best of three, in microseconds a pod.
void with_events(benchmark::State& state, int pods, const std::function<void(cluster&, std::vector<node_id>&)>& prepare,
                 const std::function<void(cluster&, std::vector<node_id>&, int)>& happens) {
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster cluster;
    std::vector<node_id> nodes;
    prepare(cluster, nodes);
    scheduler scheduler{cluster, profiles::kube_default()};
    std::size_t bound = 0;
    double seconds = 0;
    for (int first = 0; first < pods; first += between) {
      for (int i = first; i < first + between; ++i)
        bench::must(cluster.add_pod(bench::pod_of(kind::plain, i, bench::numbered("pod-%06d", i), "sched-1")));
      const double start = bench::cpu_seconds();
      happens(cluster, nodes, first / between);
      bound += bench::drain(scheduler, between).bound;
      seconds += bench::cpu_seconds() - start;
    }
    state.SetIterationTime(seconds);
    if (bound != static_cast<std::size_t>(pods)) state.SkipWithError("not every pod was placed");
    bench::label_decisions(state, cluster);
    best = std::min(best, seconds * 1e6 / pods);
  }
  state.counters["us/pod"] = best;
  state.counters["pods/s"] = 1e6 / best;
}

pod_spec important_giant(int i) {
  pod_spec pod = bench::pod_of(kind::giant, i, bench::numbered("giant-%d", i), "sched-1");
  pod.priority = 10;
  return pod;
}

/// Pods that fit nowhere come one after another, and stay.
void unschedulable(benchmark::State& state) {
  const int running = static_cast<int>(state.range(0));
  with_events(
      state, 10000,
      [&](cluster& cluster, std::vector<node_id>& nodes) {
        nodes = bench::add_nodes(cluster, 5000, {.small = true});
        bench::add_running(cluster, nodes, kind::plain, running);
      },
      [](cluster& cluster, std::vector<node_id>&, int i) { bench::must(cluster.add_pod(important_giant(i))); });
}
BENCHMARK(unschedulable)
    ->Name("Unschedulable")
    ->ArgName("running")
    ->Arg(100)
    ->Arg(20000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// A node, a pod that fits nowhere and a service come and go.
void mixed_churn(benchmark::State& state) {
  pod_id giant;
  node_id guest;
  with_events(
      state, 10000,
      [](cluster& cluster, std::vector<node_id>& nodes) { nodes = bench::add_nodes(cluster, 5000, {.small = true}); },
      [&](cluster& cluster, std::vector<node_id>&, int i) {
        if (i % 2 == 0) {
          giant = bench::must(cluster.add_pod(important_giant(i)));
          guest = bench::must(cluster.add_node({.name = "guest", .allocatable = {{"cpu", 4}, {"pods", 0}}}));
          if (!cluster.set_service({"guest", "sched-1", {{"app", "guest"}}})) std::abort();
        } else if (!cluster.remove_pod(giant) || !cluster.remove_node(guest) ||
                   !cluster.remove_service("sched-1", "guest")) {
          std::abort();
        }
      });
}
BENCHMARK(mixed_churn)->Name("SchedulingWithMixedChurn")->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);

/// Pods that may go to one node of 15,001 only.
void daemonset(benchmark::State& state) {
  constexpr int pods = 30000;
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster cluster;
    bench::must(cluster.add_node(
        {.name = "scheduler-perf-node", .allocatable = {{"cpu", 4}, {"memory", bench::mebi(32768)}, {"pods", 90000}}}));
    bench::add_nodes(cluster, 15000, {.small = true});
    scheduler scheduler{cluster, profiles::kube_default()};
    for (int i = 0; i < pods; ++i) {
      pod_spec pod;
      pod.name = bench::numbered("daemonset-%05d", i);
      pod.containers = {{.image = "example.com/pause:1"}};
      pod.affinity.required = {{.match_fields = {{"metadata.name", selector_operator::in, {"scheduler-perf-node"}}}}};
      bench::must(cluster.add_pod(pod));
    }
    const bench::run_result run = bench::drain(scheduler, pods);
    state.SetIterationTime(run.seconds);
    if (run.bound != pods) state.SkipWithError("not every pod was placed");
    bench::count_allocations(state, 2.0 * static_cast<double>(run.steady_allocations), pods);
    bench::label_decisions(state, cluster);
    best = std::min(best, run.seconds * 1e6 / pods);
  }
  state.counters["us/pod"] = best;
  state.counters["pods/s"] = 1e6 / best;
}
BENCHMARK(daemonset)->Name("SchedulingDaemonset")->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace
