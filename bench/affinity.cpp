#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "support.hpp"

// scheduler_perf's affinity and spread workloads, one pod cycle after another on a warm scheduler, every node considered.
// Shapes: nodes of 32 cores and 64 Gi in three zones; one term or constraint a pod, on its own colour, over both namespaces.
namespace {

using namespace gangsched;

std::string numbered(const char* format, int i) {
  char text[32];
  std::snprintf(text, sizeof text, format, i);
  return text;
}

enum kind : int { plain, anti, prefer, prefer_anti, zone, spread_hard, spread_soft, node_aff, mixed };

/// @p by_selector: the namespaces of terms are chosen by their labels instead of their names.
pod_spec pod_of(int which, const std::string& name, const char* ns, bool by_selector) {
  static const char* const colours[] = {"", "green", "red", "yellow", "blue", "black", "white", ""};
  pod_spec pod;
  pod.name = name;
  pod.ns = ns;
  pod.containers = {
      {.requests = {{"cpu", quantity::from_milli(100)}, {"memory", bench::mebi(500)}}, .image = "example.com/pause:1"}};
  const std::string colour = colours[which];
  if (!colour.empty()) pod.labels = {{"color", colour}};
  const auto term = [&](const char* key) {
    pod_affinity_term made{key, label_selector{.match_labels = {{"color", colour}}}};
    if (by_selector)
      made.namespace_selector = label_selector{.match_labels = {{"team", "devops"}}};
    else
      made.namespaces = {"sched-1", "sched-0"};
    return made;
  };
  const char* const host = "kubernetes.io/hostname";
  const char* const zones = "topology.kubernetes.io/zone";
  switch (which) {
    case anti: pod.anti_affinity_to_pods.required = {term(host)}; break;
    case prefer: pod.affinity_to_pods.preferred = {{1, term(host)}}; break;
    case prefer_anti: pod.anti_affinity_to_pods.preferred = {{1, term(host)}}; break;
    case zone: pod.affinity_to_pods.required = {term(zones)}; break;
    case spread_hard:
    case spread_soft: {
      topology_spread one;
      one.topology_key = zones;
      one.max_skew = 5;
      one.action = which == spread_hard ? when_unsatisfiable::do_not_schedule : when_unsatisfiable::schedule_anyway;
      one.selector = label_selector{.match_labels = {{"color", colour}}};
      pod.topology_spread_constraints = {one};
      break;
    }
    case node_aff:
      pod.affinity.required = {{.match_expressions = {{zones, selector_operator::in, {"zone1", "zone2"}}}}};
      break;
    default: break;
  }
  return pod;
}

int kind_of(int workload, int i) {
  if (workload != mixed) return workload;
  const int s = 27 * i % 70;
  return s < 28 ? plain : anti + (s - 28) / 6;
}

void affinity(benchmark::State& state, int workload, int bound_kind, int bound, int pods, bool by_selector) {
  const int nodes = static_cast<int>(state.range(0));
  bench::run_result last;
  engine_statistics before, after;
  for (auto _ : state) {
    cluster cluster;
    for (const char* ns : {"sched-0", "sched-1"}) {
      if (by_selector && !cluster.set_namespace({ns, {{"team", "devops"}}})) std::abort();
    }
    std::vector<node_id> ids;
    for (int i = 0; i < nodes; ++i) {
      node_spec node;
      node.name = numbered("node-%05d", i);
      node.labels = {{"kubernetes.io/hostname", node.name},
                     {"topology.kubernetes.io/zone", "zone" + std::to_string(i % 3 + 1)},
                     {"example.com/rack", numbered("rack%04d", i / 32)}};
      node.allocatable = {{"cpu", 32}, {"memory", bench::mebi(65536)}, {"pods", 110}};
      ids.push_back(bench::must(cluster.add_node(node)));
    }
    for (int i = 0; i < bound; ++i) {
      const int place = bound_kind == zone ? 3 * (i % ((nodes + 2) / 3)) : i % nodes;
      pod_spec pod = pod_of(bound_kind, numbered("init-%06d", i), "sched-0", by_selector);
      pod.node = ids[static_cast<std::size_t>(place)];
      bench::must(cluster.add_pod(pod));
    }
    scheduler scheduler{cluster, profiles::kube_default()};
    std::vector<pod_id> warm;
    for (int i = 0; i < 70; ++i) {
      warm.push_back(
          bench::must(cluster.add_pod(pod_of(kind_of(workload, i), numbered("warm-%06d", i), "sched-1", by_selector))));
    }
    bench::drain(cluster, scheduler, warm.size());
    for (int i = 0; i < pods; ++i) {
      bench::must(cluster.add_pod(pod_of(kind_of(workload, i), numbered("pod-%06d", i), "sched-1", by_selector)));
    }
    for (const pod_id pod : warm) {  // after the others came: no counter dies in between
      if (!cluster.remove_pod(pod)) std::abort();
    }
    before = scheduler.statistics();
    last = bench::drain(cluster, scheduler, static_cast<std::size_t>(pods));
    after = scheduler.statistics();
    state.SetIterationTime(last.seconds);
    if (last.bound != static_cast<std::size_t>(pods)) state.SkipWithError("not every pod was placed");
  }
  const double scheduled = static_cast<double>(last.bound);
  state.counters["pods/s"] =
      benchmark::Counter(scheduled * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["us/pod"] = last.seconds * 1e6 / scheduled;
  state.counters["rows/pod"] = static_cast<double>(after.rows_evaluated - before.rows_evaluated) / scheduled;
  state.counters["builds"] = static_cast<double>(after.index_builds - before.index_builds);
  state.counters["scans"] = static_cast<double>(after.scans - before.scans);
}

#define GANGSCHED_WORKLOAD(label, ...)            \
  BENCHMARK_CAPTURE(affinity, label, __VA_ARGS__) \
      ->Name(#label)                              \
      ->ArgName("nodes")                          \
      ->Arg(5000)                                 \
      ->UseManualTime()                           \
      ->Iterations(3)                             \
      ->Unit(benchmark::kMillisecond)
GANGSCHED_WORKLOAD(TopologySpreading, spread_hard, plain, 5000, 20000, false);
GANGSCHED_WORKLOAD(PreferredTopologySpreading, spread_soft, plain, 5000, 20000, false);
GANGSCHED_WORKLOAD(SchedulingPodAffinity, zone, zone, 5000, 20000, false);
GANGSCHED_WORKLOAD(SchedulingPodAntiAffinity, anti, anti, 1000, 3900, false);
GANGSCHED_WORKLOAD(SchedulingPreferredPodAffinity, prefer, prefer, 5000, 20000, false);
GANGSCHED_WORKLOAD(SchedulingPreferredPodAntiAffinity, prefer_anti, prefer_anti, 5000, 20000, false);
GANGSCHED_WORKLOAD(SchedulingRequiredPodAffinityWithNSSelector, zone, zone, 5000, 20000, true);
GANGSCHED_WORKLOAD(SchedulingRequiredPodAntiAffinityWithNSSelector, anti, anti, 1000, 3900, true);
GANGSCHED_WORKLOAD(SchedulingPreferredAffinityWithNSSelector, prefer, prefer, 5000, 20000, true);
GANGSCHED_WORKLOAD(SchedulingPreferredAntiAffinityWithNSSelector, prefer_anti, prefer_anti, 5000, 20000, true);
GANGSCHED_WORKLOAD(MixedSchedulingBasePod, mixed, plain, 5000, 20000, false);
#undef GANGSCHED_WORKLOAD

}  // namespace
