#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gangsched/gangsched.hpp"

// A host that has pods come, run and go in batches: what bindings/go measures with BenchmarkDecisions and BenchmarkPods, without Go.
namespace {

using namespace gangsched;

constexpr int batch = 1000;

struct host {
  cluster nodes;
  std::vector<pod_spec> pods;
  std::vector<pod_id> ids;
  std::int64_t now = 0;

  host() {
    for (int i = 0; i < 1000; ++i)
      if (!nodes.add_node({.name = "n" + std::to_string(i), .allocatable = {{"cpu", 64}, {"pods", 110}}})) std::abort();
    for (int i = 0; i < batch; ++i)
      pods.push_back({.name = "p" + std::to_string(i), .containers = {{.requests = {{"cpu", 1}}}}});
  }
  void add() {
    ids.clear();
    for (const pod_spec& one : pods) ids.push_back(nodes.add_pod(one).value());
  }
  void decide(scheduler& by) {
    ++now;
    int bound = 0;
    while (const cycle made = by.schedule_cycle(instant{now}))
      for (const decision& one : made) bound += by.confirm(one.pod, one.attempt).has_value();
    static_cast<void>(by.permit(instant{now}));
    if (bound != batch) std::abort();
  }
  void remove() {
    for (const pod_id one : ids)
      if (!nodes.remove_pod(one)) std::abort();
  }
};

void decisions_in_turns(benchmark::State& state) {
  host one;
  scheduler by{one.nodes, profiles::kube_default()};
  for (auto unused : state) {
    static_cast<void>(unused);
    state.PauseTiming();
    one.add();
    state.ResumeTiming();
    one.decide(by);
    state.PauseTiming();
    one.remove();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(decisions_in_turns)->Unit(benchmark::kMicrosecond);

void pods_in_turns(benchmark::State& state) {
  host one;
  scheduler by{one.nodes, profiles::kube_default()};
  for (auto unused : state) {
    static_cast<void>(unused);
    one.add();
    one.decide(by);
    one.remove();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}
BENCHMARK(pods_in_turns)->Unit(benchmark::kMicrosecond);

}  // namespace
