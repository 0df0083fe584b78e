#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support.hpp"

// What it costs to tell a cluster of nodes and pods, with the specs a controller would make: time, and bytes kept.
namespace ingest_bench {
namespace {

using namespace gangsched;

constexpr int batch = 1000;  // specs that are made before the clock runs

/// As operator new and the columns have it, of which large ones are mapped.
double bytes_in_use() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

std::string id_text(int i) {
  std::string digits = std::to_string(i);
  return std::string(7 - std::min<std::size_t>(7, digits.size()), '0') + digits;
}

node_spec a_node(int i) {
  node_spec node;
  node.name = "node-" + id_text(i);
  node.labels = {{"topology.kubernetes.io/zone", "zone-" + std::to_string(i % 10)},
                 {"kubernetes.io/hostname", node.name},
                 {"kubernetes.io/arch", "amd64"},
                 {"node.kubernetes.io/instance-type", "m" + std::to_string(i % 20)}};
  node.allocatable = {{"cpu", 32 + i % 20}, {"memory", bench::mebi(131072)}, {"pods", 110}};
  if (i % 20 == 7) node.taints = {{"dedicated", "gpu", taint_effect::no_schedule}};
  return node;
}

enum class form { plain, full };

/// As a Deployment's pod: of @p cls of its classes. Full: with what most fields of a spec are for.
pod_spec a_pod(form how, int cls) {
  pod_spec pod;
  const std::string app = "app-" + std::to_string(cls);
  pod.labels = {{"app", app}, {"pod-template-hash", "5d4f7c9b8"}};
  pod.controller = {controller_kind::replica_set, app + "-5d4f7c9b8"};
  pod.containers = {
      {.requests = {{"cpu", quantity::from_milli(100)}, {"memory", bench::mebi(200)}}, .image = "registry/app:1"}};
  if (how == form::plain) return pod;
  pod.containers.push_back(
      {.requests = {{"cpu", quantity::from_milli(50)}, {"memory", bench::mebi(64)}}, .image = "registry/proxy:2"});
  pod.tolerations = {{"node.kubernetes.io/not-ready", toleration_operator::exists, "", taint_effect::no_execute},
                     {"dedicated", toleration_operator::equal, "gpu", taint_effect::no_schedule}};
  pod.node_selector = {{"kubernetes.io/arch", "amd64"}};
  pod.affinity.preferred = {{10, {{{"topology.kubernetes.io/zone", selector_operator::in, {"zone-1", "zone-2"}}}}}};
  pod_affinity_term apart;
  apart.topology_key = "kubernetes.io/hostname";
  apart.selector = label_selector{{{"app", app}}, {}};
  pod.anti_affinity_to_pods.preferred = {{100, apart}};
  topology_spread spread;
  spread.topology_key = "topology.kubernetes.io/zone";
  spread.action = when_unsatisfiable::schedule_anyway;
  spread.selector = label_selector{{{"app", app}}, {}};
  pod.topology_spread_constraints = {spread};
  return pod;
}

std::string pod_name(int i) { return "app-5d4f7c9b8-" + id_text(i); }

/// form, classes: pods that come one by one in turns, each with a spec of its own, ready before the clock runs.
void add_pod(benchmark::State& state) {
  const auto how = static_cast<form>(state.range(0));
  const int classes = static_cast<int>(state.range(1));
  constexpr int rounds = 20;
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster cluster;
    bench::must(cluster.reserve({.pods = (rounds + 4) * batch}));
    std::vector<pod_spec> all;
    int next = 0;
    const auto make = [&] {
      all.clear();
      for (int i = 0; i < batch; ++i, ++next) {
        all.push_back(a_pod(how, next % classes));
        all.back().name = pod_name(next);
      }
    };
    double seconds = 0;
    for (int round = -4; round < rounds; ++round) {  // the first see pods for the first time
      make();
      const double start = bench::cpu_seconds();
      for (const pod_spec& one : all) bench::must(cluster.add_pod(one));
      if (round >= 0) seconds += bench::cpu_seconds() - start;
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / (rounds * batch));
  }
  state.counters["us/pod"] = best;
}
BENCHMARK(add_pod)
    ->Name("Ingest/AddPod")
    ->ArgNames({"full", "classes"})
    ->Args({0, 1})
    ->Args({0, 100})
    ->Args({0, 1000})
    ->Args({1, 1})
    ->Args({1, 100})
    ->Args({1, 1000})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

/// form, pods a call.
void add_pods(benchmark::State& state) {
  const auto how = static_cast<form>(state.range(0));
  const int size = static_cast<int>(state.range(1));
  constexpr int pods = 20 * batch;
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster cluster;
    bench::must(cluster.reserve({.pods = pods}));
    const pod_spec like = a_pod(how, 0);
    double seconds = 0;
    std::vector<std::string> names;
    for (int first = 0; first < pods; first += size) {
      names.clear();
      for (int i = first; i < first + size; ++i) names.push_back(pod_name(i));
      const double start = bench::cpu_seconds();
      bench::must(cluster.add_pods(like, names));
      seconds += bench::cpu_seconds() - start;
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / pods);
  }
  state.counters["us/pod"] = best;
}
BENCHMARK(add_pods)
    ->Name("Ingest/AddPods")
    ->ArgNames({"full", "size"})
    ->Args({0, 10})
    ->Args({0, 1000})
    ->Args({1, 1000})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

/// A heartbeat (nothing that counts has changed), the host's own word, a label that nobody asks for, a taint; of a node with twenty images
/// one that is another.
void update_node(benchmark::State& state) {
  const auto what = state.range(0);
  constexpr int nodes = 1000, rounds = 20, images = 20;
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster cluster;
    std::vector<node_id> ids;
    std::vector<node_spec> specs;
    for (int i = 0; i < nodes; ++i) {
      specs.push_back(a_node(i));
      for (int image = 0; what == 4 && image < images; ++image)
        specs.back().images.push_back({{"registry.example.com/team/app-" + std::to_string(image) + ":1.0"}, 1 << 20});
      ids.push_back(bench::must(cluster.add_node(specs.back())));
    }
    double seconds = 0;
    for (int round = 0; round < rounds; ++round) {
      for (node_spec& one : specs) {
        if (what == 1) one.cookie = static_cast<std::uint64_t>(round) + 1;
        if (what == 2) one.labels["example.com/seen"] = std::to_string(round % 2);
        if (what == 4) one.images[static_cast<std::size_t>(round) % images].names[0] += 'x';
        if (what == 3) one.taints = {{"pressure", std::to_string(round % 2), taint_effect::prefer_no_schedule}};
      }
      const double start = bench::cpu_seconds();
      for (std::size_t i = 0; i < ids.size(); ++i) bench::must(cluster.update_node(ids[i], specs[i]));
      seconds += bench::cpu_seconds() - start;
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / (nodes * rounds));
  }
  constexpr const char* words[] = {"nothing", "cookie", "label", "taint", "image"};
  state.SetLabel(words[what]);
  state.counters["us/node"] = best;
}
BENCHMARK(update_node)
    ->Name("Ingest/UpdateNode")
    ->DenseRange(0, 4)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

/// form, with a node or waiting: 20,000 pods of ten classes on 1,000 nodes go in no order of theirs.
void remove_pod(benchmark::State& state) {
  const auto how = static_cast<form>(state.range(0));
  constexpr int nodes = 1000, pods = 20 * batch;
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster cluster;
    std::vector<node_id> ids;
    for (int i = 0; i < nodes; ++i) ids.push_back(bench::must(cluster.add_node(a_node(i))));
    std::vector<pod_id> all;
    for (int i = 0; i < pods; ++i) {
      pod_spec one = a_pod(how, i % 10);
      one.name = pod_name(i);
      if (state.range(1) != 0) one.node = ids[static_cast<std::size_t>(i * 7 % nodes)];
      all.push_back(bench::must(cluster.add_pod(one)));
    }
    const double start = bench::cpu_seconds();
    for (std::size_t i = 0; i < all.size(); ++i) bench::must(cluster.remove_pod(all[i * 7919 % all.size()]));
    const double seconds = bench::cpu_seconds() - start;
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / pods);
  }
  state.counters["us/pod"] = best;
}
BENCHMARK(remove_pod)
    ->Name("Ingest/RemovePod")
    ->ArgNames({"full", "bound"})
    ->Args({0, 0})
    ->Args({0, 1})
    ->Args({1, 0})
    ->Args({1, 1})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

/// form, nodes, pods a node: a whole cluster from specs, as after a restart. Pods know their nodes, and are of a hundred classes.
void whole_cluster(benchmark::State& state) {
  const auto how = static_cast<form>(state.range(0));
  const int nodes = static_cast<int>(state.range(1)), pods = nodes * static_cast<int>(state.range(2));
  double best = std::numeric_limits<double>::infinity(), a_node_takes = 0, a_pod_takes = 0, node_part = 0;
  for (auto _ : state) {
    std::vector<node_spec> node_specs;
    for (int i = 0; i < nodes; ++i) node_specs.push_back(a_node(i));
    std::vector<pod_spec> kinds;
    for (int i = 0; i < 100; ++i) kinds.push_back(a_pod(how, i));
    std::vector<pod_spec> pod_specs(batch);
    const double before = bytes_in_use();
    cluster cluster;
    std::vector<node_id> ids;
    ids.reserve(node_specs.size());
    double seconds = 0;
    double start = bench::cpu_seconds();
    bench::must(
        cluster.reserve({.nodes = static_cast<std::uint32_t>(nodes), .pods = static_cast<std::uint32_t>(pods)}));
    const double with_room = bytes_in_use();
    for (const node_spec& one : node_specs) ids.push_back(bench::must(cluster.add_node(one)));
    seconds += bench::cpu_seconds() - start;
    node_part = seconds;
    const double with_nodes = bytes_in_use();
    for (int first = 0; first < pods; first += batch) {
      for (int i = 0; i < batch; ++i) {
        pod_spec& one = pod_specs[static_cast<std::size_t>(i)];
        one = kinds[static_cast<std::size_t>((first + i) % 100)];
        one.name = pod_name(first + i);
        one.node = ids[static_cast<std::size_t>((first + i) % nodes)];
      }
      start = bench::cpu_seconds();
      for (const pod_spec& one : pod_specs) bench::must(cluster.add_pod(one));
      seconds += bench::cpu_seconds() - start;
    }
    // What a reservation took beforehand is told apart by others, one with room for the nodes, one with room for the log alone.
    const double all = bytes_in_use() - before;
    const auto taken_by = [](const cluster_size& room) {
      const double empty = bytes_in_use();
      gangsched::cluster other;
      bench::must(other.reserve(room));
      return bytes_in_use() - empty;
    };
    const double log = taken_by({});
    const double of_nodes = with_nodes - with_room + taken_by({.nodes = static_cast<std::uint32_t>(nodes)}) - log;
    a_node_takes = of_nodes / nodes;
    a_pod_takes = (all - of_nodes - log) / pods;
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
  }
  state.counters["s"] = best;
  state.counters["of it nodes"] = node_part;
  state.counters["B/node"] = a_node_takes;
  state.counters["B/pod"] = a_pod_takes;
}
BENCHMARK(whole_cluster)
    ->Name("Ingest/WholeCluster")
    ->ArgNames({"full", "nodes", "pods/node"})
    ->Args({0, 10000, 10})
    ->Args({0, 100000, 10})
    ->Args({1, 100000, 10})
    ->UseManualTime()
    ->Iterations(2)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ingest_bench
