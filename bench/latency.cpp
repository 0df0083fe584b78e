#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <vector>

#include "support.hpp"

// An open loop: pods come at a fixed rate, whether or not those before are done. Each is recorded, scheduled and confirmed, and when the
// cluster has its number an older one is removed; what one takes is the thread's own CPU time. Pods wait for those before them, as they
// would in a scheduler of one thread, so that a pause is seen by all that come during it.
namespace {

using namespace gangsched;

double thread_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

constexpr int sizes = 10;

pod_spec kind_of(int i) {
  pod_spec pod;
  pod.labels = {{"app", "web"}};
  pod.containers = {
      {.requests = {{"cpu", quantity::from_milli(100 + 10 * (i % sizes))}, {"memory", bench::mebi(200)}}}};
  return pod;
}

struct open_loop {
  cluster nodes;
  scheduler by;
  std::vector<pod_spec> kinds;
  std::deque<pod_id> running;
  std::size_t most, came = 0, failed = 0;

  open_loop(int count, std::size_t pods)
      : nodes(bench::mixed_nodes(count)), by(nodes, profiles::kube_default()), most(pods) {
    // Ahead of what comes, as docs/embedding.md says: no table moves later.
    bench::must(nodes.reserve({.nodes = static_cast<std::uint32_t>(count),
                               .pods = static_cast<std::uint32_t>(20 * static_cast<std::size_t>(count) + pods)}));
    for (int i = 0; i < sizes; ++i) kinds.push_back(kind_of(i));
  }
  void next() {
    pod_spec& pod = kinds[came % kinds.size()];
    pod.name = "pod-" + std::to_string(came++);
    const pod_id id = bench::must(nodes.add_pod(pod));
    bool bound = false;
    while (const cycle made = by.schedule_cycle(instant{1}))
      for (const decision& one : made) bound = bound || (one.kind == decision_kind::bind && by.confirm(one.pod));
    failed += !bound;
    running.push_back(id);
    if (running.size() <= most) return;
    bench::must(nodes.remove_pod(running.front()));
    running.pop_front();
  }
};

void latency(benchmark::State& state) {
  const auto rate = static_cast<double>(state.range(1));
  constexpr std::size_t pods = 300'000;
  open_loop of{static_cast<int>(state.range(0)), 50'000};
  std::vector<double> latencies, taken;
  double busy = 0;
  const double begun = thread_seconds();
  of.next();  // the first call looks at every node and pod
  const double first = thread_seconds() - begun;
  for (auto _ : state) {
    double done = 0;
    for (std::size_t i = 0; i < pods; ++i) {
      const double start = thread_seconds();
      of.next();
      const double took = thread_seconds() - start;
      const double came = static_cast<double>(i) / rate;
      done = std::max(done, came) + took;
      latencies.push_back((done - came) * 1e6);
      taken.push_back(took * 1e6);
      busy += took;
    }
    state.SetIterationTime(busy);
  }
  if (of.failed != 0) state.SkipWithError("not every pod was placed");
  std::sort(latencies.begin(), latencies.end());
  std::sort(taken.begin(), taken.end());
  const auto at = [](const std::vector<double>& of_all, double part) {
    return of_all[static_cast<std::size_t>(part * static_cast<double>(of_all.size() - 1))];
  };
  state.counters["p50_us"] = at(latencies, 0.5);
  state.counters["p99_us"] = at(latencies, 0.99);
  state.counters["p99.9_us"] = at(latencies, 0.999);
  state.counters["max_us"] = latencies.back();
  state.counters["first_us"] = first * 1e6;
  state.counters["took_p50_us"] = at(taken, 0.5);
  state.counters["took_p99.9_us"] = at(taken, 0.999);
  state.counters["longest_us"] = taken.back();
  state.counters["busy"] = busy * rate / static_cast<double>(latencies.size());
}
// Pods a second: half a million, and as many as leave room for the pauses of a slow machine.
BENCHMARK(latency)
    ->Name("OpenLoop")
    ->ArgNames({"nodes", "rate"})
    ->Args({5'000, 500'000})
    ->Args({5'000, 100'000})
    ->Args({100'000, 500'000})
    ->Args({100'000, 100'000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
