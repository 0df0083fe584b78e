#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "support.hpp"

// Policies of queues as plugins, on a cluster of 100 nodes with eight GPUs that queues are guaranteed in equal parts.
namespace {

using namespace gangsched;

constexpr int machines = 100, gpus = 8 * machines;
constexpr const char* gpu_name = "nvidia.com/gpu";

struct divided_cluster {
  explicit divided_cluster(const std::string& policy, int queues, int nodes = machines) {
    for (int i = 0; i < nodes; ++i)
      bench::must(
          of.add_node({.name = "node-" + std::to_string(i),
                       .allocatable = {{"cpu", 96}, {"memory", bench::mebi(1 << 20)}, {"pods", 110}, {gpu_name, 8}}}));
    bench::must(of.queues().add({.name = "all"}));
    for (int i = 0; i < queues; ++i) {
      gangsched::queue_spec one{.name = "q" + std::to_string(i), .parent = "all"};
      one.quotas.push_back({.guaranteed = {{"cpu", 96 * nodes / queues}, {gpu_name, 8 * nodes / queues}}});
      bench::must(of.queues().add(one));
    }
    const plugin_registry plugins = builtin_plugins();
    runtime_profile profile{plugins};
    profile.enable(policy);
    if (!bench::must(plugins.make(policy, {})).points.has(point::queue_sort)) profile.enable("ArrivalSort");
    for (const char* name : {"NodeResourcesFit", "NodeResourcesBalancedAllocation", "GangScheduling"})
      profile.enable(name);
    by.emplace(of, bench::must(profile.table()));
    count = queues;
  }
  pod_id add() {
    pod_spec pod{.name = "pod-" + std::to_string(made)};
    pod.queue = "q" + std::to_string(made++ % count);
    pod.containers = {{.requests = {{"cpu", 8}, {gpu_name, 1}}}};
    return bench::must(of.add_pod(pod));
  }
  /// Who was placed.
  std::vector<pod_id> schedule(instant time) {
    std::vector<pod_id> placed;
    while (const cycle each = by->schedule_cycle(time)) {
      for (const decision& one : each) {
        if (one.kind != decision_kind::bind) continue;
        bench::must(by->confirm(one.pod));
        placed.push_back(one.pod);
      }
    }
    return placed;
  }
  cluster of;
  std::optional<scheduler> by;
  int count = 0, made = 0;
};

/// As many pods as there are GPUs, all waiting when it begins.
void queue_policy_fills(benchmark::State& state, const char* policy) {
  std::size_t placed = 0;
  for (auto _ : state) {
    state.PauseTiming();
    divided_cluster on{policy, static_cast<int>(state.range(0))};
    for (int i = 0; i < gpus; ++i) on.add();
    state.ResumeTiming();
    placed = on.schedule(instant{}).size();
    if (placed != std::size_t{gpus}) state.SkipWithError("not every pod was placed");
  }
  state.counters["us/pod"] =
      benchmark::Counter(static_cast<double>(gpus) * static_cast<double>(state.iterations()) * 1e-6,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// The cluster is full and 1,000 pods wait: of each queue in turn a pod ends, and another one comes.
void queue_policy_full(benchmark::State& state, const char* policy) {
  const int queues = static_cast<int>(state.range(0));
  divided_cluster on{policy, queues};
  for (int i = 0; i < gpus; ++i) on.add();
  std::vector<pod_id> running = on.schedule(instant{});
  if (running.empty()) return state.SkipWithError("nobody was placed");
  for (int i = 0; i < 1'000; ++i) on.add();
  instant time = std::chrono::hours{1};
  on.schedule(time);
  std::size_t turn = 0, placed = 0;
  for (auto _ : state) {
    time += std::chrono::minutes{1};
    pod_id& one = running[turn++ % running.size()];
    bench::must(on.of.remove_pod(one));
    on.add();
    const std::vector<pod_id> next = on.schedule(time);
    if (next.size() != 1) {
      state.SkipWithError("a pod ended, and another one was not placed");
      break;
    }
    one = next.front();
    ++placed;
  }
}

/// 1,000 nodes, all of whose GPUs one of two queues has lent from the other. Of that 200 pods come, and take theirs back one by one, or as
/// a gang; who is evicted leaves at once.
void queue_policy_reclaims(benchmark::State& state, const char* policy) {
  constexpr int nodes = 1'000, wanted = 200;
  const bool is_gang = state.range(0) != 0;
  std::size_t evicted = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto on = std::make_unique<divided_cluster>(policy, 2, nodes);
    for (int i = 0; i < 8 * nodes; ++i) {
      pod_spec pod{.name = "lent-" + std::to_string(i)};
      pod.queue = "q0";
      pod.node = on->of.find_node("node-" + std::to_string(i / 8)).value();
      pod.start_time = std::chrono::seconds{i};
      pod.containers = {{.requests = {{"cpu", 8}, {gpu_name, 1}}}};
      bench::must(on->of.add_pod(pod));
    }
    group_id group{};
    if (is_gang) {
      group_spec spec{.name = "gang", .policy = gang{.min_count = wanted}};
      spec.queue = "q1";
      group = bench::must(on->of.add_group(spec));
    }
    for (int i = 0; i < wanted; ++i) {
      pod_spec pod{.name = "own-" + std::to_string(i)};
      pod.queue = "q1";
      if (is_gang) pod.group = group;
      pod.containers = {{.requests = {{"cpu", 8}, {gpu_name, 1}}}};
      bench::must(on->of.add_pod(pod));
    }
    state.ResumeTiming();
    int placed = 0;
    while (const cycle each = on->by->schedule_cycle(std::chrono::hours{24})) {
      std::vector<pod_id> gone;
      for (const decision& one : each) {
        if (one.kind == decision_kind::evict) gone.push_back(one.pod);
        if (one.kind != decision_kind::bind) continue;
        bench::must(on->by->confirm(one.pod));
        ++placed;
      }
      for (const pod_id one : gone) bench::must(on->of.remove_pod(one));
      evicted += gone.size();
    }
    state.PauseTiming();
    if (placed != wanted) state.SkipWithError("not everybody got his own back");
    on.reset();
    state.ResumeTiming();
  }
  state.counters["evicted"] = static_cast<double>(evicted) / static_cast<double>(state.iterations());
}

/// A full cluster in 100 queues, and many gangs of two that wait: a gang ends, and another one comes in its queue.
void queue_policy_gangs(benchmark::State& state, const char* policy) {
  constexpr int queues = 100;
  divided_cluster on{policy, queues};
  int made = 0;
  std::vector<std::pair<pod_id, pod_id>> running;  ///< in the order in which they came to be
  const auto add = [&](int queue) {
    group_spec spec{.name = "gang-" + std::to_string(made), .policy = gang{.min_count = 2}};
    spec.queue = "q" + std::to_string(queue);
    const group_id group = bench::must(on.of.add_group(spec));
    for (int i = 0; i < 2; ++i) {
      pod_spec pod{.name = spec.name + "-" + std::to_string(i)};
      pod.queue = spec.queue;
      pod.group = group;
      pod.containers = {{.requests = {{"cpu", 8}, {gpu_name, 1}}}};
      bench::must(on.of.add_pod(pod));
    }
    ++made;
  };
  const auto run = [&](instant time) {
    const std::vector<pod_id> placed = on.schedule(time);
    for (std::size_t i = 0; i + 1 < placed.size(); i += 2) running.emplace_back(placed[i], placed[i + 1]);
    return placed.size();
  };
  for (int i = 0; i < gpus / 2; ++i) add(i % queues);
  if (run(instant{}) != std::size_t{gpus}) return state.SkipWithError("not every gang was placed");
  for (int i = 0; i < state.range(0); ++i) add(i % queues);
  instant time = std::chrono::hours{1};
  run(time);
  const std::uint64_t before = on.by->statistics().cycles;
  std::size_t turn = 0;
  for (auto _ : state) {
    time += std::chrono::minutes{1};
    const auto [first, second] = running[turn++];
    const int queue = std::stoi(std::string{on.of.queues().name_of(on.of.queues().queue_of(first)).substr(1)});
    bench::must(on.of.remove_pod(first));
    bench::must(on.of.remove_pod(second));
    add(queue);
    if (run(time) != 2) {
      state.SkipWithError("a gang ended, and another one was not placed");
      break;
    }
  }
  state.counters["attempts/event"] =
      static_cast<double>(on.by->statistics().cycles - before) / static_cast<double>(std::max<std::size_t>(turn, 1));
}

/// Queues three deep, ten gangs of two that wait in each of the lowest, on 1,000 nodes.
struct deep_cluster : divided_cluster {
  static constexpr int nodes = 1'000, room = 8 * nodes / 2;  ///< for so many gangs
  int leaves, gangs = 0;

  deep_cluster(const std::string& policy, int lowest) : divided_cluster(policy, 1, nodes), leaves(lowest) {
    const auto add_queue = [&](const std::string& name, const std::string& parent, int parts) {
      gangsched::queue_spec one{.name = name, .parent = parent};
      one.quotas.push_back({.guaranteed = {{"cpu", 96 * nodes / parts}, {gpu_name, 8 * nodes / parts}}});
      bench::must(of.queues().add(one));
    };
    for (int i = 0; i < 10; ++i) add_queue("top" + std::to_string(i), "all", 10);
    for (int i = 0; i < 100; ++i) add_queue("inner" + std::to_string(i), "top" + std::to_string(i % 10), 100);
    for (int i = 0; i < leaves; ++i) add_queue("leaf" + std::to_string(i), "inner" + std::to_string(i % 100), leaves);
    for (int i = 0; i < 10 * leaves; ++i) add_gang();
  }
  void add_gang() {
    group_spec spec{.name = "gang-" + std::to_string(gangs), .policy = gang{.min_count = 2}};
    spec.queue = "leaf" + std::to_string(gangs++ % leaves);
    const group_id group = bench::must(of.add_group(spec));
    for (int i = 0; i < 2; ++i) {
      pod_spec pod{.name = spec.name + "-" + std::to_string(i)};
      pod.group = group;
      pod.containers = {{.requests = {{"cpu", 8}, {gpu_name, 1}}}};
      bench::must(of.add_pod(pod));
    }
  }
  /// Until the cluster is full; nobody if somebody does not start before that.
  std::vector<pod_id> fill() {
    std::vector<pod_id> running;
    while (running.size() < std::size_t{2 * room}) {
      const cycle each = by->schedule_cycle(instant{});
      if (!each) return {};
      for (const decision& one : each) {
        if (one.kind != decision_kind::bind) continue;
        bench::must(by->confirm(one.pod));
        running.push_back(one.pod);
      }
    }
    return running;
  }
};

/// As many of them start as there is room for.
void queue_policy_starts(benchmark::State& state, const char* policy) {
  for (auto _ : state) {
    state.PauseTiming();
    auto on = std::make_unique<deep_cluster>(policy, static_cast<int>(state.range(0)));
    state.ResumeTiming();
    if (on->fill().empty()) state.SkipWithError("the cluster was not filled");
    state.PauseTiming();
    on.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * deep_cluster::room);
}

/// The cluster is full: a gang ends, another one comes, and one starts.
void queue_policy_deep(benchmark::State& state, const char* policy) {
  deep_cluster on{policy, static_cast<int>(state.range(0))};
  const std::vector<pod_id> running = on.fill();
  if (running.empty()) return state.SkipWithError("the cluster was not filled");
  on.schedule(instant{});
  instant time = std::chrono::hours{1};
  std::size_t turn = 0;
  const std::uint64_t before = on.by->statistics().cycles;
  for (auto _ : state) {
    time += std::chrono::minutes{1};
    for (int i = 0; i < 2; ++i) bench::must(on.of.remove_pod(running[turn++]));
    on.add_gang();
    if (on.schedule(time).size() != 2) {
      state.SkipWithError("a gang ended, and another one was not placed");
      break;
    }
  }
  state.counters["attempts/event"] = static_cast<double>(on.by->statistics().cycles - before) /
                                     static_cast<double>(std::max<std::size_t>(turn / 2, 1));
}

void each_policy() {
  for (const char* policy :
       {"FairShare", "Kueue", "Kai", "CapacityScheduling", "ElasticQuota", "HiveD", "Volcano", "YuniKorn"}) {
    const std::string name{policy};
    benchmark::RegisterBenchmark(("QueuePolicyFills/" + name).c_str(), queue_policy_fills, policy)
        ->ArgName("queues")
        ->Arg(10)
        ->Arg(100)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("QueuePolicyFull/" + name).c_str(), queue_policy_full, policy)
        ->ArgName("queues")
        ->Arg(10)
        ->Arg(100)
        ->Unit(benchmark::kMicrosecond);
  }
  for (const char* policy : {"FairShare", "Kueue", "Volcano", "YuniKorn", "ElasticQuota"}) {
    benchmark::RegisterBenchmark((std::string{"QueuePolicyGangs/"} + policy).c_str(), queue_policy_gangs, policy)
        ->ArgName("waiting")
        ->Arg(1'000)
        ->Arg(10'000)
        ->Iterations(20)
        ->Unit(benchmark::kMicrosecond);
  }
  for (const char* policy : {"FairShare", "Kueue", "YuniKorn"}) {
    benchmark::RegisterBenchmark((std::string{"QueuePolicyStarts/"} + policy).c_str(), queue_policy_starts, policy)
        ->ArgName("leaves")
        ->Arg(1'000)
        ->Arg(10'000)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((std::string{"QueuePolicyDeep/"} + policy).c_str(), queue_policy_deep, policy)
        ->ArgName("leaves")
        ->Arg(1'000)
        ->Iterations(3)
        ->Unit(benchmark::kMillisecond);
  }
  for (const char* policy : {"FairShare", "Kueue", "Kai"}) {
    benchmark::RegisterBenchmark((std::string{"QueuePolicyReclaims/"} + policy).c_str(), queue_policy_reclaims, policy)
        ->ArgName("gang")
        ->Arg(0)
        ->Arg(1)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
}
[[maybe_unused]] const bool registered = (each_policy(), true);

}  // namespace
