#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kube_figures.hpp"
#include "kube_shapes.hpp"
#include "support.hpp"

// Workloads of scheduler_perf, one pod cycle after another on a warm scheduler: every node considered, default profile. The names
// are scheduler_perf's and then the label of the shape, as kube_figures.cpp has it.
namespace {

using namespace gangsched;
using bench::kind;

constexpr int warm_up_pods = 20;
constexpr int repetitions = 5;  // the best counts, as with kube-scheduler

struct workload {
  const char* label;
  int nodes;
  kind running;
  int bound;
  kind measured;
  int pods;
  bench::node_options shape = {};
};

constexpr workload workloads[] = {
    {"basic-500", 500, kind::plain, 500, kind::plain, 5000},
    {"basic-5000", 5000, kind::plain, 5000, kind::plain, 5000},
    {"basic-20000", 20000, kind::plain, 20000, kind::plain, 2000},
    {"basic-5000-50k", 5000, kind::plain, 5000, kind::plain, 50000},
    {"basic-500-all", 500, kind::plain, 500, kind::plain, 2500},
    {"basic-5000-all", 5000, kind::plain, 5000, kind::plain, 500},
    {"basic-20000-all", 20000, kind::plain, 20000, kind::plain, 100},
    {"basic-5000-smallnode", 5000, kind::plain, 1000, kind::plain, 5000, {.small = true}},
    // Batching is kube-scheduler's: here all four do the same.
    {"one-per-node-default", 5000, kind::plain, 0, kind::filler, 3000},
    {"one-per-node-signable", 5000, kind::plain, 0, kind::filler, 3000},
    {"one-per-node-signable-nobatch", 5000, kind::plain, 0, kind::filler, 3000},
    {"one-per-node-all-signable", 5000, kind::plain, 0, kind::filler, 3000},
    {"anti-affinity", 5000, kind::anti, 1000, kind::anti, 1000},
    {"anti-affinity-all", 5000, kind::anti, 1000, kind::anti, 300},
    {"prefer-affinity", 5000, kind::prefer, 5000, kind::prefer, 500},
    {"prefer-affinity-all", 5000, kind::prefer, 5000, kind::prefer, 250},
    {"prefer-anti-affinity", 5000, kind::prefer_anti, 5000, kind::prefer_anti, 500},
    {"prefer-anti-affinity-all", 5000, kind::prefer_anti, 5000, kind::prefer_anti, 250},
    {"zone-affinity", 5000, kind::zone, 5000, kind::zone, 500},
    {"zone-affinity-all", 5000, kind::zone, 5000, kind::zone, 250},
    {"zone-affinity-1zone", 5000, kind::zone, 5000, kind::zone, 500, {.one_zone = true}},
    {"spread-hard", 5000, kind::plain, 5000, kind::spread_hard, 2000},
    {"spread-hard-all", 5000, kind::plain, 5000, kind::spread_hard, 300},
    {"spread-soft", 5000, kind::plain, 5000, kind::spread_soft, 2000},
    {"spread-soft-all", 5000, kind::plain, 5000, kind::spread_soft, 300},
    {"node-affinity", 5000, kind::node_aff, 5000, kind::node_aff, 2000},
    {"node-affinity-all", 5000, kind::node_aff, 5000, kind::node_aff, 400},
    {"mixed", 5000, kind::plain, 5000, kind::mixed, 1400},
    {"mixed-all", 5000, kind::plain, 5000, kind::mixed, 280},
};

struct measured {
  double us_per_pod = std::numeric_limits<double>::infinity();
  engine_statistics before, after;
};

/// Once: outside the clock are nodes, pods and the warm-up, whose pods are taken back.
void measure(benchmark::State& state, const workload& of, const bench::pod_options& how, measured& best) {
  cluster cluster;
  for (const char* ns : {"sched-0", "sched-1"}) {
    if (how.by_selector && !cluster.set_namespace({ns, {{"team", "devops"}}})) std::abort();
  }
  const std::vector<node_id> nodes = bench::add_nodes(cluster, of.nodes, of.shape);
  bench::add_running(cluster, nodes, of.running, of.bound, how);
  scheduler scheduler{cluster, profiles::kube_default()};
  const auto add = [&](const char* format, int first, int count) {
    std::vector<pod_id> made;
    for (int i = first; i < first + count; ++i)
      made.push_back(
          bench::must(cluster.add_pod(bench::pod_of(of.measured, i, bench::numbered(format, i), "sched-1", how))));
    return made;
  };
  const std::vector<pod_id> warm = add("warm-%06d", 0, warm_up_pods);
  bench::warm_up(scheduler, warm.size());
  const int at_once = how.adverse ? 100 : of.pods;
  bench::run_result run;
  engine_statistics before;
  for (int first = 0; first < of.pods; first += at_once) {
    const int some = std::min(at_once, of.pods - first);
    add("pod-%06d", first, some);
    if (first == 0) {
      for (const pod_id pod : warm) {  // after the others came: no counter dies in between
        if (!cluster.remove_pod(pod)) std::abort();
      }
      before = scheduler.statistics();
    }
    const double start = bench::cpu_seconds();
    if (how.adverse) bench::change_images(cluster, nodes, first / at_once, of.shape);
    const bench::run_result placed = bench::drain(scheduler, static_cast<std::size_t>(some));
    run.seconds += bench::cpu_seconds() - start;
    run.bound += placed.bound;
    run.steady_allocations += placed.steady_allocations;
  }
  state.SetIterationTime(run.seconds);
  if (run.bound != static_cast<std::size_t>(of.pods)) state.SkipWithError("not every pod was placed");
  bench::count_allocations(state, 2.0 * static_cast<double>(run.steady_allocations), of.pods);
  bench::label_decisions(state, cluster);
  const double us_per_pod = run.seconds * 1e6 / of.pods;
  if (us_per_pod < best.us_per_pod) best = {us_per_pod, before, scheduler.statistics()};
}

void count(benchmark::State& state, const workload& of, const measured& best) {
  state.counters["pods/s"] = 1e6 / best.us_per_pod;
  state.counters["rows/pod"] = static_cast<double>(best.after.rows_evaluated - best.before.rows_evaluated) / of.pods;
  state.counters["builds"] = static_cast<double>(best.after.index_builds - best.before.index_builds);
  state.counters["scans"] = static_cast<double>(best.after.scans - best.before.scans);
}

void workload_against_kube(benchmark::State& state, const workload& of, const bench::kube_figure& kube) {
  measured best;
  for (auto _ : state) measure(state, of, {}, best);
  count(state, of, best);
  bench::count_against_kube(state, best.us_per_pod, kube);
}

/// Shapes of scheduler_perf that kube-scheduler was not timed on.
void alone(benchmark::State& state, const workload& of) {
  measured best;
  for (auto _ : state) measure(state, of, {.by_selector = true}, best);
  count(state, of, best);
  state.counters["us/pod"] = best.us_per_pod;
}

/// The same workload where little is alike: every node has another size, pods of 97 sizes run there, there are 1,000 zones, pods are of
/// eight sizes in turns, and a node's images change before every hundredth.
void adverse(benchmark::State& state, workload of) {
  of.shape.adverse = true;
  measured best;
  for (auto _ : state) measure(state, of, {.adverse = true}, best);
  count(state, of, best);
  state.counters["us/pod"] = best.us_per_pod;
}

void set_up(benchmark::internal::Benchmark* made) {
  made->UseManualTime()->Iterations(repetitions)->Unit(benchmark::kMillisecond);
}

[[maybe_unused]] const bool workloads_registered = [] {
  for (const workload& of : workloads) {
    const bench::kube_figure& kube = bench::kube_figure_of(of.label);
    const std::string name = std::string{kube.test} + "/" + of.label;
    set_up(benchmark::RegisterBenchmark(name.c_str(), workload_against_kube, of, kube));
    if (of.nodes <= 5000 && of.bound != 0 && !of.shape.small && !of.shape.one_zone)
      set_up(benchmark::RegisterBenchmark((name + "-adverse").c_str(), adverse, of));
  }
  constexpr workload by_selector[] = {
      {"SchedulingRequiredPodAffinityWithNSSelector", 5000, kind::zone, 5000, kind::zone, 20000},
      {"SchedulingRequiredPodAntiAffinityWithNSSelector", 5000, kind::anti, 1000, kind::anti, 3900},
      {"SchedulingPreferredAffinityWithNSSelector", 5000, kind::prefer, 5000, kind::prefer, 20000},
      {"SchedulingPreferredAntiAffinityWithNSSelector", 5000, kind::prefer_anti, 5000, kind::prefer_anti, 20000},
  };
  for (const workload& of : by_selector) set_up(benchmark::RegisterBenchmark(of.label, alone, of));
  return true;
}();

}  // namespace
