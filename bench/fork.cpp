#include "gangsched/fork.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>

#include "kube_shapes.hpp"
#include "support.hpp"

// What a fork costs: the copy of a cluster in which ten pods run on each node, and a queue with a thousand that find no room.
namespace {

using namespace gangsched;
using bench::kind;

void fork_of(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  cluster cluster;
  const std::vector<node_id> all = bench::add_nodes(cluster, nodes, true);
  bench::add_running(cluster, all, kind::plain, 10 * nodes);
  scheduler scheduler{cluster, profiles::kube_default()};
  for (int i = 0; i < 1000; ++i)
    bench::must(cluster.add_pod(bench::pod_of(kind::giant, i, bench::numbered("giant-%d", i), "sched-1")));
  bench::drain(cluster, scheduler, 1);
  double best = std::numeric_limits<double>::infinity(), first = best;
  int number = 0;
  for (auto _ : state) {
    double start = bench::cpu_seconds();
    forked copy = bench::must(scheduler.fork());
    const double made = bench::cpu_seconds() - start;
    // The first pod of a class has its index made anew.
    bench::must(copy.cluster.add_pod(bench::pod_of(kind::plain, ++number, "one-more", "sched-1")));
    start = bench::cpu_seconds();
    while (const cycle cycle = copy.scheduler.schedule_cycle(instant{1})) {
    }
    first = std::min(first, bench::cpu_seconds() - start);
    state.SetIterationTime(made);
    best = std::min(best, made);
  }
  state.counters["ms"] = best * 1e3;
  state.counters["first_ms"] = first * 1e3;
}
BENCHMARK(fork_of)->Name("Fork")->ArgName("nodes")->Arg(1000)->Arg(5000)->Arg(100'000)->UseManualTime()->Unit(
    benchmark::kMillisecond);

}  // namespace
