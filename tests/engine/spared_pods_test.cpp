// Pods that may not be evicted before they have run for long enough: who could take their place is tried again when that time is over.
#include "gangsched/plugins.hpp"
#include "gangsched/policies/kai_snapshot.hpp"
#include "queue_world.hpp"

namespace gangsched::testing::spared_pods_test {

namespace {

constexpr wake_rule rules[] = {wake_rule::one_per_class, wake_rule::all, wake_rule::hints};

scheduler_options by(wake_rule rule) {
  scheduler_options options = world::lowest_first();
  options.wake = rule;
  return options;
}

/// As many nodes for one pod each as pods that have run there since these times, in a queue that others may take from after a minute.
struct borrowed : gpu_queues {
  borrowed(kernel_table table, wake_rule rule, const std::vector<instant>& since, bool by_kai = false)
      : gpu_queues(std::move(table), by(rule)) {
    const auto all = static_cast<std::int64_t>(since.size());
    for (queue_spec spec : {team("owner", all), team("borrower", 0)}) {
      if (spec.name == "owner") spec.quotas[0].guaranteed["cpu"] = all;
      if (by_kai) {
        spec.quotas[0].guaranteed["cpu"] = quantity::from_milli(kai_snapshot::unbounded);
        spec.quotas[0].guaranteed["memory"] = kai_snapshot::unbounded;
      }
      spec.reclaim_min_runtime = 60s;
      queue(spec);
    }
    for (std::size_t i = 0; i < since.size(); ++i) {
      add(a_node{"n" + std::to_string(i)}.cpu(1).gpus(1));
      a_pod one = a_pod{"b" + std::to_string(i)}.cpu(1).gpus(1).on(node("n" + std::to_string(i)));
      one.spec.start_time = since[i];
      ask(one, "borrower");
    }
  }
  pod_id ask(const a_pod& one, const char* queue) { return queue_world::ask(one, queue); }
  pod_id ask(const char* name) { return ask(a_pod{name}.cpu(1).gpus(1), "owner"); }
};

kernel_table fair() { return profiles::with_queues(); }
kernel_table kai() { return profile{kai_policy{}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}}; }
kernel_table volcano() {
  using namespace queues::volcano;
  volcano_policy::options chosen;
  chosen.session = {{action::allocate, action::reclaim}, {{{.name = plugin_name::capacity}}}};
  return profile{volcano_policy{chosen}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}};
}

std::vector<std::pair<const char*, kernel_table>> policies() {
  std::vector<std::pair<const char*, kernel_table>> all;
  all.emplace_back("FairShare", fair()), all.emplace_back("Kai", kai()), all.emplace_back("Volcano", volcano());
  return all;
}

/// A hook that says of the pods on nodes what time it is told to.
struct says_until {
  static constexpr std::string_view name = "SaysUntil";
  using points = implements<point::post_filter>;
  std::vector<instant> times = {};
  victim_plan post_filter(trial& attempt, const pod_info&) const {
    for (const instant one : times) attempt.spared_until(one);
    return {};
  }
};

}  // namespace

TEST_CASE("a queue gets back what another borrowed as soon as pods there have run for the minimum",
          "[engine][preemption]") {
  for (const wake_rule rule : rules) {
    for (auto& [name, table] : policies()) {
      INFO(name << ' ' << static_cast<int>(rule));
      borrowed w{std::move(table), rule, {10s}, name == std::string{"Kai"}};
      w.ask("o");
      CHECK(w.run_at(30s) == words{"reject o"});
      CHECK(w.scheduler.next_deadline() == 70s);
      CHECK(w.run_at(70s - 1ns).empty());
      CHECK(sorted(w.run_at(70s)) == words{"evict b0 n0", "nominate o n0"});
      CHECK(w.scheduler.verify());
    }
  }
}

TEST_CASE("a pod whose class tolerates preemption for a time is evicted when it is over", "[engine][preemption]") {
  for (const wake_rule rule : rules) {
    world w{profile{priority_sort{}, node_resources_fit{}, preemption_toleration{}}, by(rule)};
    w.add(a_node{"n"}.cpu(1));
    REQUIRE(w.cluster.set_priority_class(
        {.name = "kept", .value = 100, .minimum_preemptable = 1000, .toleration_seconds = 60}));
    a_pod victim = a_pod{"victim"}.cpu(1).priority_class("kept").on(w.node("n"));
    victim.spec.start_time = 100s;
    w.add(victim);
    w.add(a_pod{"urgent"}.cpu(1).priority(500));
    CHECK(w.run_at(110s) == words{"reject urgent"});
    CHECK(w.scheduler.next_deadline() == 160s);
    CHECK(sorted(w.run_at(160s)) == words{"evict victim n", "nominate urgent n"});
  }
}

TEST_CASE("of equal pods one is tried when a pod may go, and the next one when it was helped", "[engine][preemption]") {
  borrowed w{fair(), wake_rule::one_per_class, {10s, 20s, 20s}};
  for (const char* const name : {"o0", "o1", "o2"}) w.ask(name);
  w.run_at(30s);
  CHECK(w.scheduler.next_deadline() == 70s);
  const std::uint64_t before = w.scheduler.statistics().wake_ups;
  CHECK(sorted(w.run_at(70s)) == words{"evict b0 n0", "nominate o0 n0", "reject o1"});
  CHECK(w.scheduler.statistics().wake_ups == before + 2);
  CHECK(w.scheduler.next_deadline() == 80s);
  w.must(w.cluster.set_terminating(w.pod("b0"), true));
  CHECK(count(w.run_at(80s), "evict") == 2);
  for (const char* const name : {"o0", "o1", "o2"}) CHECK(w.cluster.nominated_node_of(w.pod(name)));
  CHECK(w.scheduler.verify());
}

TEST_CASE("gangs, equal ones too, are tried again when time lets others go", "[engine][preemption]") {
  for (auto& [name, table] : policies()) {
    INFO(name);
    borrowed w{std::move(table), wake_rule::one_per_class, {10s, 20s}, name == std::string{"Kai"}};
    for (const char* const gang : {"first", "second"})
      w.job(a_gang{gang, 2}.spec, "owner", a_pod{""}.cpu(1).gpus(1), 2);
    w.run_at(30s);
    CHECK(count(w.run_at(79s), "evict") == 0);
    CHECK(count(w.run_at(80s), "evict") == 2);
    CHECK(w.cluster.nominated_node_of(w.pod("first-0")));
    CHECK_FALSE(w.cluster.nominated_node_of(w.pod("second-0")));
  }
}

TEST_CASE("nobody is tried again for a pod that is gone", "[engine][preemption]") {
  borrowed w{fair(), wake_rule::one_per_class, {10s}};
  const pod_id asks = w.ask("o");
  w.run_at(30s);
  w.remove(asks);
  w.run_at(31s);
  CHECK_FALSE(w.scheduler.next_deadline());
}

TEST_CASE("of the times that hooks give the earliest counts that is to come", "[engine][preemption]") {
  for (const std::vector<instant>& times : {std::vector<instant>{5s}, {instant::min()}, {instant::max()}, {}}) {
    world other{profile{priority_sort{}, node_resources_fit{}, says_until{times}}};
    other.add(a_pod{"p"}.cpu(1));
    CHECK(other.run_at(5s) == words{"reject p"});
    CHECK(other.scheduler.next_deadline().value_or(instant::max()) >= 5s + 5min);
  }
  world several{profile{priority_sort{}, node_resources_fit{}, says_until{{40s, 7s, 90s}}}};
  several.add(a_pod{"p"}.cpu(1));
  several.run_at(5s);
  CHECK(several.scheduler.next_deadline() == 7s);
}

}  // namespace gangsched::testing::spared_pods_test
