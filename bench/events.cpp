#include <benchmark/benchmark.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support.hpp"

// What the scheduler makes of one event while many wait that it does not help: pods that all differ, gangs that all differ; and what a node
// costs that leaves a large zone.
namespace {

using namespace gangsched;

constexpr instant now{1};
constexpr int events = 100;

node_spec a_node(int i) {
  node_spec node;
  node.name = "node-" + std::to_string(i);
  node.labels = {{"topology.kubernetes.io/zone", "zone"}, {"example.com/rack", "rack-" + std::to_string(i / 4)}};
  node.allocatable = {{"cpu", 8}, {"memory", bench::mebi(32768)}, {"pods", 110}};
  return node;
}

/// @p i makes it a class of its own: no two ask for as much cpu, and none fits on a full node.
pod_spec a_pod(const std::string& name, int i) {
  pod_spec pod;
  pod.name = name;
  pod.containers = {
      {.requests = {{"cpu", quantity::from_milli(2000 + i % 5000)}, {"memory", bench::mebi(1 + i / 5000)}}}};
  return pod;
}

/// Nodes with 7 of 8 cores in use, and a small pod on the first that comes and goes.
struct full_house {
  cluster nodes;
  std::vector<node_id> all;
  pod_id guest;

  explicit full_house(int count) {
    for (int i = 0; i < count; ++i) {
      all.push_back(bench::must(nodes.add_node(a_node(i))));
      pod_spec running;
      running.name = "running-" + std::to_string(i);
      running.node = all.back();
      running.containers = {{.requests = {{"cpu", 7}, {"memory", bench::mebi(512)}}}};
      bench::must(nodes.add_pod(running));
    }
  }
  /// @p count of @p classes in turns, none of which finds room.
  void pods_wait(std::int64_t count, std::int64_t classes) {
    for (std::int64_t i = 0; i < count; ++i)
      bench::must(nodes.add_pod(a_pod("pod-" + std::to_string(i), static_cast<int>(i % classes))));
  }
  void guest_comes() {
    pod_spec small;
    small.name = "guest";
    small.node = all.front();
    small.containers = {{.requests = {{"cpu", quantity::from_milli(10)}}}};
    guest = bench::must(nodes.add_pod(small));
  }
  void guest_goes() {
    if (!nodes.remove_pod(guest)) std::abort();
  }
};

/// Reads @p happens event by event; the best of the iterations, in microseconds an event.
void time_events(benchmark::State& state, scheduler& scheduler, const std::function<void()>& happens) {
  while (scheduler.schedule_cycle(now)) {
  }
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    double seconds = 0;
    for (int i = 0; i < events; ++i) {
      happens();
      const double start = bench::cpu_seconds();
      if (scheduler.schedule_cycle(now)) state.SkipWithError("somebody was woken");
      seconds += bench::cpu_seconds() - start;
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / events);
  }
  state.counters["us/event"] = best;
}

void small_room(benchmark::State& state, full_house& house, scheduler& scheduler) {
  bool there = false;
  time_events(state, scheduler, [&] {
    there ? house.guest_goes() : house.guest_comes();
    there = !there;
  });
}

/// A node becomes free each time, and whoever is woken by that is tried, and rejected; the best of the iterations, in microseconds a time.
void time_attempts(benchmark::State& state, full_house& house, scheduler& scheduler) {
  while (scheduler.schedule_cycle(now)) {
  }
  double best = std::numeric_limits<double>::infinity();
  int next = 0;
  for (auto _ : state) {
    double seconds = 0;
    for (int i = 0; i < events; ++i) {
      const std::string name = "running-" + std::to_string(next++ % static_cast<int>(house.all.size()));
      const auto pod = house.nodes.find_pod("default", name);
      if (!pod || !house.nodes.remove_pod(*pod)) std::abort();
      double start = bench::cpu_seconds();
      int cycles = 0;
      while (scheduler.schedule_cycle(now)) ++cycles;
      seconds += bench::cpu_seconds() - start;
      if (cycles == 0) state.SkipWithError("it was not tried");
      pod_spec running;
      running.name = name;
      running.node = house.all[static_cast<std::size_t>((next - 1) % static_cast<int>(house.all.size()))];
      running.containers = {{.requests = {{"cpu", 7}, {"memory", bench::mebi(512)}}}};
      bench::must(house.nodes.add_pod(running));
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / events);
  }
  state.counters["us/event"] = best;
}

/// Room becomes free that is too small for each of them.
void waiting_pods(benchmark::State& state) {
  full_house house{20};
  scheduler scheduler{house.nodes, profiles::kube_default()};
  house.pods_wait(state.range(0), state.range(0));
  small_room(state, house, scheduler);
}
BENCHMARK(waiting_pods)
    ->Name("Events/WaitingPods")
    ->Arg(200)
    ->Arg(20000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// The same where some are alike: pods, classes.
void waiting_classes(benchmark::State& state) {
  full_house house{20};
  scheduler scheduler{house.nodes, profiles::kube_default()};
  house.pods_wait(state.range(0), state.range(1));
  small_room(state, house, scheduler);
}
BENCHMARK(waiting_classes)
    ->Name("Events/WaitingClasses")
    ->ArgNames({"pods", "classes"})
    ->Args({20000, 2000})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// By hints, a label of a node changes, of which who rejected them did not want to hear. Pods, classes.
void waiting_pods_by_hints(benchmark::State& state) {
  full_house house{20};
  scheduler scheduler{house.nodes, profiles::kube_default(), with_kube_queue()};
  house.pods_wait(state.range(0), state.range(1));
  int version = 0;
  time_events(state, scheduler, [&] {
    node_spec node = a_node(0);
    node.labels["version"] = std::to_string(++version % 2);
    if (!house.nodes.update_node(house.all.front(), node)) std::abort();
  });
}
BENCHMARK(waiting_pods_by_hints)
    ->Name("Events/WaitingPodsByHints")
    ->ArgNames({"pods", "classes"})
    ->Args({200, 200})
    ->Args({20000, 20000})
    ->Args({20000, 2000})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// By hints, what those who rejected them did ask for: a node's room grows, less than any of them needs.
void too_little_room_by_hints(benchmark::State& state) {
  full_house house{20};
  scheduler scheduler{house.nodes, profiles::kube_default(), with_kube_queue()};
  house.pods_wait(state.range(0), state.range(1));
  int version = 0;
  time_events(state, scheduler, [&] {
    node_spec node = a_node(0);
    node.allocatable["cpu"] = 1;
    node.allocatable["memory"] = bench::mebi(32768 + ++version % 2);
    if (!house.nodes.update_node(house.all.front(), node)) std::abort();
  });
}
BENCHMARK(too_little_room_by_hints)
    ->Name("Events/TooLittleRoomByHints")
    ->ArgNames({"pods", "classes"})
    ->Args({20000, 2000})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// A pod that runs ends, and the first that waits gets a place, in turns: an event, a decision. Nodes, classes of pods.
void in_turns(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0)), classes = static_cast<int>(state.range(1));
  constexpr int rounds = 200;
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    cluster nodes;
    std::vector<node_id> all;
    std::vector<pod_id> running;
    const auto a_kind = [&](int i) {
      pod_spec pod;
      pod.name = "pod-" + std::to_string(i);
      pod.containers = {{.requests = {{"cpu", quantity::from_milli(100 + 10 * (i % classes))}}}};
      return pod;
    };
    for (int i = 0; i < count; ++i) all.push_back(bench::must(nodes.add_node(a_node(i))));
    int next = 0;
    for (; next < 10 * count; ++next) {
      pod_spec pod = a_kind(next);
      pod.node = all[static_cast<std::size_t>(next * 7 % count)];
      running.push_back(bench::must(nodes.add_pod(pod)));
    }
    scheduler scheduler{nodes, profiles::kube_default()};
    double seconds = 0;
    for (int round = -rounds / 4; round < rounds; ++round) {  // the first make the indexes
      std::vector<pod_id> waiting;
      const int first = next;
      for (int i = 0; i < events; ++i) waiting.push_back(bench::must(nodes.add_pod(a_kind(next++))));
      const double start = bench::cpu_seconds();
      for (int i = 0; i < events; ++i) {
        pod_id& ends = running[static_cast<std::size_t>(first + i) * 7919 % running.size()];
        bench::must(nodes.remove_pod(ends));
        const cycle made = scheduler.schedule_cycle(now);
        bench::must(scheduler.confirm(made.begin()->pod, made.begin()->attempt));
        ends = waiting[static_cast<std::size_t>(i)];
      }
      if (round >= 0) seconds += bench::cpu_seconds() - start;
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / (rounds * events));
  }
  state.counters["us/turn"] = best;
  state.counters["events/s"] = 1e6 / best;
}
BENCHMARK(in_turns)
    ->Name("Events/InTurns")
    ->ArgNames({"nodes", "classes"})
    ->Args({1000, 1})
    ->Args({1000, 10})
    ->Args({5000, 10})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// Gangs of two, no two alike.
void waiting_gangs(benchmark::State& state) {
  full_house house{20};
  scheduler scheduler{house.nodes, profiles::kube_default()};
  for (int i = 0; i < state.range(0); ++i) {
    const group_id gang = bench::must(
        house.nodes.add_group({.name = "gang-" + std::to_string(i), .policy = gangsched::gang{.min_count = 2}}));
    for (int member = 0; member < 2; ++member) {
      pod_spec pod = a_pod("gang-" + std::to_string(i) + "-" + std::to_string(member), i);
      pod.group = gang;
      bench::must(house.nodes.add_pod(pod));
    }
  }
  small_room(state, house, scheduler);
}
BENCHMARK(waiting_gangs)
    ->Name("Events/WaitingGangs")
    ->Arg(20)
    ->Arg(2000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// Gangs of two that are all alike, of which one is woken, tried and rejected, and the others with it.
void alike_gangs_tried(benchmark::State& state) {
  full_house house{20};
  scheduler_options options;
  options.max_backoff = instant{0};
  scheduler scheduler{house.nodes, profiles::kube_default(), options};
  for (int i = 0; i < state.range(0); ++i) {
    const group_id gang = bench::must(
        house.nodes.add_group({.name = "gang-" + std::to_string(i), .policy = gangsched::gang{.min_count = 2}}));
    for (int member = 0; member < 2; ++member) {
      pod_spec pod = a_pod("gang-" + std::to_string(i) + "-" + std::to_string(member), 3000);
      pod.group = gang;
      bench::must(house.nodes.add_pod(pod));
    }
  }
  time_attempts(state, house, scheduler);
}
BENCHMARK(alike_gangs_tried)
    ->Name("Events/AlikeGangsTried")
    ->Arg(20)
    ->Arg(2000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

void add_gang_of_a_rack(cluster& nodes) {
  group_spec spec{.name = "gang", .policy = gangsched::gang{.min_count = 4}};
  spec.topology.within = {"example.com/rack"};
  const group_id gang = bench::must(nodes.add_group(spec));
  for (int member = 0; member < 4; ++member) {
    pod_spec pod = a_pod("member-" + std::to_string(member), 2000);
    pod.group = gang;
    bench::must(nodes.add_pod(pod));
  }
}

/// One gang that is to be in one of many racks: first what an event costs that does not help it, then one that does not suffice.
void gang_of_domains(benchmark::State& state) {
  full_house house{4 * static_cast<int>(state.range(0))};
  scheduler scheduler{house.nodes, profiles::kube_default()};
  add_gang_of_a_rack(house.nodes);
  small_room(state, house, scheduler);
}
BENCHMARK(gang_of_domains)
    ->Name("Events/GangWithDomains")
    ->Arg(40)
    ->Arg(4000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// The same, when a node becomes free and the gang is tried, and rejected, each time.
void gang_of_domains_tried(benchmark::State& state) {
  full_house house{4 * static_cast<int>(state.range(0))};
  scheduler_options options;
  options.max_backoff = instant{0};
  scheduler scheduler{house.nodes, profiles::kube_default(), options};
  add_gang_of_a_rack(house.nodes);
  time_attempts(state, house, scheduler);
}
BENCHMARK(gang_of_domains_tried)
    ->Name("Events/GangWithDomainsTried")
    ->Arg(40)
    ->Arg(4000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// One that finds a rack free, of many, and leaves again.
void gang_of_domains_placed(benchmark::State& state) {
  cluster nodes;
  for (int i = 0; i < 4 * static_cast<int>(state.range(0)); ++i) bench::must(nodes.add_node(a_node(i)));
  scheduler scheduler{nodes, profiles::kube_default()};
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    double seconds = 0;
    for (int i = 0; i < events; ++i) {
      group_spec spec{.name = "gang", .policy = gangsched::gang{.min_count = 4}};
      spec.topology.within = {"example.com/rack"};
      const group_id gang = bench::must(nodes.add_group(spec));
      std::vector<pod_id> members;
      for (int member = 0; member < 4; ++member) {
        pod_spec pod = a_pod("member-" + std::to_string(member), 2000);
        pod.group = gang;
        members.push_back(bench::must(nodes.add_pod(pod)));
      }
      const double start = bench::cpu_seconds();
      while (scheduler.schedule_cycle(now)) {
      }
      seconds += bench::cpu_seconds() - start;
      for (const pod_id pod : members) {
        if (!nodes.node_of(pod) || !nodes.remove_pod(pod)) state.SkipWithError("it was not placed");
      }
      if (!nodes.remove_group(gang)) std::abort();
    }
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / events);
  }
  state.counters["us/event"] = best;
}
BENCHMARK(gang_of_domains_placed)
    ->Name("Events/GangWithDomainsPlaced")
    ->Arg(40)
    ->Arg(4000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

/// A node leaves a zone, and comes back.
void node_of_a_zone(benchmark::State& state) {
  cluster nodes;
  std::vector<node_id> all;
  for (int i = 0; i < state.range(0); ++i) all.push_back(bench::must(nodes.add_node(a_node(i))));
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const double start = bench::cpu_seconds();
    for (int i = 0; i < events; ++i) {
      const auto at = static_cast<std::size_t>(i) * 97 % all.size();
      if (!nodes.remove_node(all[at])) std::abort();
      all[at] = bench::must(nodes.add_node(a_node(static_cast<int>(at))));
    }
    const double seconds = bench::cpu_seconds() - start;
    state.SetIterationTime(seconds);
    best = std::min(best, seconds * 1e6 / (2 * events));
  }
  state.counters["us/event"] = best;
}
BENCHMARK(node_of_a_zone)
    ->Name("Events/NodeOfAZone")
    ->Arg(800)
    ->Arg(80000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
