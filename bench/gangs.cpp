#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kube_figures.hpp"
#include "kube_shapes.hpp"
#include "support.hpp"

// Gangs on 5,000 nodes, two members a node. Timed: from the arrival of a gang to its last member placed, gang after gang.
namespace {

using namespace gangsched;

struct gang_shape {
  int size, gangs;
  bool racks = false;
  /// Of eight sizes in turns, on nodes that all differ and have pods; a node's images change before each gang.
  bool adverse = false;
};

std::vector<pod_id> add_gang(cluster& to, int number, const gang_shape& of) {
  group_spec spec{.name = bench::numbered("gang-%d", number), .ns = "sched-1", .policy = gang{.min_count = of.size}};
  if (of.racks) spec.topology.within = {"example.com/rack"};
  const group_id group = bench::must(to.add_group(spec));
  std::vector<pod_id> members;
  for (int i = 0; i < of.size; ++i) {
    pod_spec pod =
        bench::pod_of(bench::kind::filler, i, bench::numbered("member-%07d", number * of.size + i), "sched-1");
    pod.containers[0].requests["cpu"] = of.adverse ? quantity::from_milli(10000 + 500 * (i % 8)) : quantity{16};
    pod.group = group;
    members.push_back(bench::must(to.add_pod(pod)));
  }
  return members;
}

/// The best repetition's microseconds a member.
double place_gangs(benchmark::State& state, const gang_shape& of) {
  double best = std::numeric_limits<double>::infinity();
  const bench::node_options shape{.adverse = of.adverse};
  for (auto _ : state) {
    cluster cluster;
    const std::vector<node_id> nodes = bench::add_nodes(cluster, 5000, shape);
    if (of.adverse) bench::add_running(cluster, nodes, bench::kind::plain, 5000, {.adverse = true});
    scheduler scheduler{cluster, profiles::kube_default()};
    const auto members = static_cast<std::size_t>(of.size);
    const std::vector<pod_id> warm = add_gang(cluster, 0, of);
    if (bench::warm_up(scheduler, members).bound != members) state.SkipWithError("not every gang was placed");
    double seconds = 0, allocated = 0;
    for (int g = 1; g <= of.gangs; ++g) {
      add_gang(cluster, g, of);
      if (g == 1) {
        for (const pod_id pod : warm)
          if (!cluster.remove_pod(pod)) std::abort();
      }
      if (of.adverse) bench::change_images(cluster, nodes, g, shape);
      const bench::run_result run = bench::drain(scheduler, members);
      if (run.bound != members) state.SkipWithError("not every gang was placed");
      seconds += run.seconds;
      allocated += 2.0 * static_cast<double>(run.steady_allocations);
    }
    bench::count_allocations(state, allocated, of.size * of.gangs);
    bench::label_decisions(state, cluster);
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / (of.size * of.gangs));
  }
  return best;
}

[[maybe_unused]] const bool gangs_registered = [] {
  const auto add = [](const char* label, gang_shape of, bool in_both_forms = true) {
    const bench::kube_figure& kube = bench::kube_figure_of(label);
    const std::string name = std::string{kube.test} + "/" + label;
    const auto set_up = [](benchmark::internal::Benchmark* made) {
      made->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
    };
    set_up(benchmark::RegisterBenchmark(name.c_str(), [kube, of](benchmark::State& state) {
      bench::count_against_kube(state, place_gangs(state, of), kube);
    }));
    of.adverse = true;
    if (in_both_forms)
      set_up(benchmark::RegisterBenchmark((name + "-adverse").c_str(), [of](benchmark::State& state) {
        state.counters["us/pod"] = place_gangs(state, of);
      }));
  };
  add("gang-64", {64, 20});
  add("gang-1024", {1024, 3});
  add("gang-1024-all", {1024, 1}, false);
  add("gang-64-rack", {64, 3, true});
  return true;
}();

}  // namespace
