#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kube_figures.hpp"
#include "kube_shapes.hpp"
#include "support.hpp"

// Gangs on 5,000 empty nodes, two members a node. Timed: from the arrival of a gang to its last member placed, gang after gang.
namespace {

using namespace gangsched;

std::vector<pod_id> add_gang(cluster& to, int number, int size, bool racks) {
  group_spec spec{.name = bench::numbered("gang-%d", number), .ns = "sched-1", .policy = gang{.min_count = size}};
  if (racks) spec.topology.within = {"example.com/rack"};
  const group_id group = bench::must(to.add_group(spec));
  std::vector<pod_id> members;
  for (int i = 0; i < size; ++i) {
    pod_spec pod = bench::pod_of(bench::kind::filler, i, bench::numbered("member-%07d", number * size + i), "sched-1");
    pod.containers[0].requests["cpu"] = 16;
    pod.group = group;
    members.push_back(bench::must(to.add_pod(pod)));
  }
  return members;
}

void gang_against_kube(benchmark::State& state, const bench::kube_figure& kube, int size, int gangs, bool racks) {
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster cluster;
    bench::add_nodes(cluster, 5000);
    scheduler scheduler{cluster, profiles::kube_default()};
    const auto members = static_cast<std::size_t>(size);
    const std::vector<pod_id> warm = add_gang(cluster, 0, size, racks);
    if (bench::warm_up(scheduler, members).bound != members) state.SkipWithError("not every gang was placed");
    double seconds = 0, allocated = 0;
    for (int g = 1; g <= gangs; ++g) {
      add_gang(cluster, g, size, racks);
      if (g == 1) {
        for (const pod_id pod : warm)
          if (!cluster.remove_pod(pod)) std::abort();
      }
      const bench::run_result run = bench::drain(scheduler, members);
      if (run.bound != members) state.SkipWithError("not every gang was placed");
      seconds += run.seconds;
      allocated += 2.0 * static_cast<double>(run.steady_allocations);
    }
    bench::count_allocations(state, allocated, size * gangs);
    bench::label_decisions(state, cluster);
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / (size * gangs));
  }
  bench::count_against_kube(state, best, kube);
}

[[maybe_unused]] const bool gangs_registered = [] {
  const auto add = [](const char* label, int size, int gangs, bool racks = false) {
    const bench::kube_figure& kube = bench::kube_figure_of(label);
    const std::string name = std::string{kube.test} + "/" + label;
    benchmark::RegisterBenchmark(name.c_str(), gang_against_kube, kube, size, gangs, racks)
        ->UseManualTime()
        ->Iterations(3)
        ->Unit(benchmark::kMillisecond);
  };
  add("gang-64", 64, 20);
  add("gang-1024", 1024, 3);
  add("gang-1024-all", 1024, 1);
  add("gang-64-rack", 64, 3, true);
  return true;
}();

}  // namespace
