// What docs/embedding.md says of threads; preset tsan finds the races.
#include <array>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/fork.hpp"
#include "gangsched/gangsched.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::const_calls_test {

namespace {

/// Catch's own checks belong to one thread.
template <class T>
T must(result<T> made) {
  if (!made) throw std::runtime_error(made.error().message());
  return *std::move(made);
}

/// A cluster with some of everything: pods that run, are assumed, wait in the permit room, wait for room, are gated; gangs, devices,
/// claims.
struct busy_cluster {
  gangsched::cluster cluster;
  std::vector<resource_claim_id> claims;
  std::unique_ptr<gangsched::scheduler> scheduler;

  explicit busy_cluster(std::uint64_t seed) {
    dice any{seed};
    for (int i = 0; i < 6; ++i) {
      node_spec node{.name = "n" + std::to_string(i), .labels = {{"zone", i % 2 == 0 ? "a" : "b"}}};
      node.allocatable = {{"cpu", 4}, {"memory", std::int64_t{8} << 30}, {"pods", 10}, {"nvidia.com/gpu", 2}};
      node.devices.gpus = {{.id = "g0"}, {.id = "g1"}};
      must(cluster.add_node(node));
    }
    claims.push_back(must(cluster.add_resource_claim({.name = "shared", .devices = {{}}})));
    const group_id gang = must(cluster.add_group({.name = "gang", .policy = gangsched::gang{.min_count = 3}}));
    const group_id waits = must(
        cluster.add_group({.name = "waits", .policy = gangsched::gang{.min_count = 9, .mode = gang_mode::permit}}));
    must(cluster.add_disruption_budget({.name = "budget", .selector = label_selector{{{"app", "x"}}, {}}}));
    for (int i = 0; i < 40; ++i) {
      pod_spec pod{.name = "p" + std::to_string(i), .labels = {{"app", any.percent(50) ? "x" : "y"}}};
      pod.containers = {{.requests = {{"cpu", quantity::from_milli(250 * any.between(1, 8))}}}};
      pod.priority = static_cast<std::int32_t>(any.below(3));
      if (any.percent(20)) pod.devices = {{.milli = 500}};
      if (any.percent(10)) pod.resource_claims = claims;
      if (any.percent(5)) pod.scheduling_gates = {"gate"};
      if (any.percent(20))
        pod.topology_spread_constraints = {{.topology_key = "zone", .selector = label_selector{{{"app", "x"}}, {}}}};
      if (any.percent(20)) pod.group = any.percent(50) ? gang : waits;
      must(cluster.add_pod(pod));
    }
    scheduler = std::make_unique<gangsched::scheduler>(cluster, profiles::kube_default());
    std::vector<pod_id> bound;
    while (const cycle cycle = scheduler->schedule_cycle(instant{0})) {
      for (const decision& one : cycle) {
        if (one.kind == decision_kind::bind && any.percent(70)) bound.push_back(one.pod);
      }
    }
    for (const pod_id pod : bound)
      static_cast<void>(cluster.state_of(pod) == pod_state::assumed && cluster.bind(pod).has_value());
  }
};

/// A word made of all that const calls answer.
std::uint64_t ask_everything(const busy_cluster& of) {
  const gangsched::cluster& cluster = of.cluster;
  const gangsched::scheduler& scheduler = *of.scheduler;
  std::uint64_t word = cluster.digest();
  const auto add = [&](std::uint64_t more) { word = mix64(word ^ more); };
  for (const node_id node : cluster.nodes()) {
    add(cluster.find_node(cluster.name_of(node)) == node);
    add(cluster.contains(node) ? cluster.cookie_of(node) : 1);
    add(static_cast<std::uint64_t>(cluster.requested(node, "cpu") + cluster.allocatable(node, "nvidia.com/gpu")));
    add(static_cast<bool>(cluster.devices_of(node)));
  }
  for (const pod_id pod : cluster.pods()) {
    add(cluster.find_pod("default", cluster.name_of(pod)) == pod);
    add(static_cast<std::uint64_t>(cluster.state_of(pod)) + cluster.node_of(pod).row +
        cluster.nominated_node_of(pod).row);
    add(cluster.contains(pod) ? cluster.cookie_of(pod) : 1);
    add(cluster.claims_of(pod).size());
    for (const device_grant& grant : cluster.devices_of(pod)) {
      add(cluster.name_of(cluster.node_of(pod), grant).size() + cluster.profile_of(grant).size());
      add(cluster.capacity_of(cluster.node_of(pod), grant).size());
    }
    const auto stands = scheduler.standing(pod);
    add(stands ? static_cast<std::uint64_t>(stands->place) * 100 + stands->failures : 7);
  }
  for (const char* name : {"gang", "waits"}) {
    const auto group = cluster.find_group("default", name);
    add(group && cluster.contains(*group) ? cluster.name_of(*group).size() : 0);
  }
  const auto budget = cluster.find_disruption_budget("default", "budget");
  add(budget && cluster.contains(*budget));
  for (const resource_claim_id claim : of.claims) {
    add(cluster.find_resource_claim("default", cluster.name_of(claim)) == claim && cluster.contains(claim));
    add(cluster.users_of(claim) + cluster.node_of(claim).row + cluster.devices_of(claim).size());
  }
  add(cluster.assumed().size());
  const auto due = scheduler.next_deadline();
  add(due ? static_cast<std::uint64_t>(due->count()) : 0);
  const queue_counts counts = scheduler.counts();
  add(counts.active + 10 * counts.backoff + 100 * counts.unschedulable + 1000 * counts.gated + 10'000 * counts.waiting);
  add(scheduler.in_flight().size());
  add(scheduler.statistics().cycles);
  return word;
}

/// What each of four threads comes to.
std::array<std::uint64_t, 4> at_once(const std::function<std::uint64_t(std::size_t)>& what) {
  std::array<std::uint64_t, 4> made{};
  std::atomic<int> ready{0};
  std::array<std::thread, 4> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      for (++ready; ready < 4;) std::this_thread::yield();
      made[i] = what(i);
    });
  }
  for (std::thread& one : threads) one.join();
  return made;
}

}  // namespace

TEST_CASE("const calls from four threads at once answer as one thread does") {
  const busy_cluster of{1};
  const std::uint64_t alone = ask_everything(of);
  const auto all = at_once([&](std::size_t) {
    std::uint64_t word = 0;
    for (int i = 0; i < 20; ++i) word = ask_everything(of);
    return word;
  });
  for (const std::uint64_t one : all) CHECK(one == alone);
}

TEST_CASE("const calls may be the first after the cluster changed") {
  busy_cluster of{2};
  CHECK(of.cluster.add_pod({.name = "late", .containers = {{.requests = {{"cpu", 1}}}}}));
  CHECK(of.cluster.remove_node(*of.cluster.find_node("n0")));
  const auto all = at_once([&](std::size_t) { return ask_everything(of); });
  for (const std::uint64_t one : all) CHECK(one == all[0]);
}

TEST_CASE("clusters of four threads share nothing") {
  const auto life = [](std::size_t seed) {
    const busy_cluster of{seed % 2};
    return ask_everything(of);
  };
  const auto all = at_once(life);
  CHECK(all[0] == life(0));
  CHECK(all[1] == life(1));
  CHECK(all[2] == all[0]);
  CHECK(all[3] == all[1]);
}

TEST_CASE("forks of one scheduler are made and run side by side on four threads") {
  const busy_cluster of{3};
  const std::uint64_t before = ask_everything(of);
  const auto life = [&](std::size_t thread) {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i <= thread % 2; ++i) {
      forked trial = must(of.scheduler->fork());
      node_spec node{.name = "more"};
      node.allocatable = {{"cpu", 8}, {"memory", std::int64_t{8} << 30}, {"pods", 20}};
      must(trial.cluster.add_node(node));
      while (const cycle cycle = trial.scheduler.schedule_cycle(std::chrono::hours{1})) {
      }
      last = trial.cluster.digest();
    }
    return last;
  };
  const auto all = at_once(life);
  for (const std::uint64_t one : all) CHECK(one == all[0]);
  CHECK(ask_everything(of) == before);
}

}  // namespace gangsched::testing::const_calls_test
