#include "gangsched/fork.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>

#include "gangsched/what_if/autoscaling.hpp"
#include "kube_shapes.hpp"
#include "support.hpp"

// What a fork costs: the copy of a cluster in which ten pods run on each node, and a queue with a thousand that find no room.
namespace {

using namespace gangsched;
using bench::kind;

void fork_of(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  cluster cluster;
  const std::vector<node_id> all = bench::add_nodes(cluster, nodes, {.small = true});
  bench::add_running(cluster, all, kind::plain, 10 * nodes);
  scheduler scheduler{cluster, profiles::kube_default()};
  for (int i = 0; i < 1000; ++i)
    bench::must(cluster.add_pod(bench::pod_of(kind::giant, i, bench::numbered("giant-%d", i), "sched-1")));
  bench::drain(scheduler, 1);
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

/// Beside nodes that run ten pods each wait a hundred pods that fit none: which of three shapes?
void missing_nodes(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  cluster cluster;
  const std::vector<node_id> all = bench::add_nodes(cluster, nodes, {.small = true});
  bench::add_running(cluster, all, kind::plain, 10 * nodes);
  scheduler scheduler{cluster, profiles::kube_default()};
  for (int i = 0; i < 100; ++i) {
    pod_spec pod{.name = "large-" + std::to_string(i)};
    pod.containers = {{.requests = {{"cpu", 8 + i % 5}, {"memory", bench::mebi(1024 * (4 + i % 3))}}}};
    bench::must(cluster.add_pod(pod));
  }
  std::vector<node_shape> shapes;
  for (const int cpu : {16, 32, 64}) {
    shapes.push_back({.like = {.name = "cpu-" + std::to_string(cpu)}, .price = cpu + 4});
    shapes.back().like.allocatable = {{"cpu", cpu}, {"memory", bench::mebi(4096 * cpu)}, {"pods", 110}};
  }
  double best = std::numeric_limits<double>::infinity(), drained = best;
  std::int64_t price = 0;
  for (auto _ : state) {
    double start = bench::cpu_seconds();
    const demand_answer answer = bench::must(demand(scheduler, shapes, {.now = instant{1}}));
    const double took = bench::cpu_seconds() - start;
    if (answer.plans.empty()) return state.SkipWithError("no plan was found");
    price = answer.plans.front().price;
    start = bench::cpu_seconds();
    const auto removed = bench::must(removable(scheduler, std::span{all}.first(20), {.now = instant{1}}));
    drained = std::min(drained, (bench::cpu_seconds() - start) / 20);
    if (removed.size() != 20) return state.SkipWithError("not every node can be drained");
    state.SetIterationTime(took);
    best = std::min(best, took);
  }
  state.counters["ms"] = best * 1e3;
  state.counters["drained_ms"] = drained * 1e3;
  state.counters["price"] = static_cast<double>(price);
}
BENCHMARK(missing_nodes)
    ->Name("MissingNodes")
    ->ArgName("nodes")
    ->Arg(1000)
    ->Arg(5000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
