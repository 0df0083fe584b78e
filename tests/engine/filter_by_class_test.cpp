// A policy of queues that says `filter_by_class` tells every pod of a class the same: who is placed, taken, where and when is what it is
// where each of them is tried.
#include <algorithm>
#include <chrono>

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/framework/registry.hpp"
#include "queue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::filter_by_class_test {

namespace {

kernel_table table_of(const std::string& policy) {
  static const plugin_registry plugins = builtin_plugins();
  runtime_profile made{plugins};
  argument arguments;
  if (policy == "Volcano") arguments = argument::fields{{"actions", "enqueue, allocate, preempt, reclaim, backfill"}};
  made.enable(policy, 0, arguments);
  if (!plugins.make(policy, arguments)->points.has(point::queue_sort)) made.enable("ArrivalSort");
  for (const char* name : {"NodeResourcesFit", "NodeResourcesBalancedAllocation", "GangScheduling"}) made.enable(name);
  auto table = made.table();
  REQUIRE(table.has_value());
  return *std::move(table);
}

/// The same, and every pod is asked about.
kernel_table asking_each(kernel_table made) {
  std::size_t said_so = 0;
  for (plugin_entry& plugin : made.plugins)
    said_so += std::exchange(plugin.filter.by_class, nullptr) != nullptr ? 1 : 0;
  REQUIRE(said_so == 1);
  return made;
}

/// What is tried again only because of time is not the same: who was not asked about is parked for longer.
scheduler_options without_time() {
  scheduler_options options = world::lowest_first();
  options.initial_backoff = options.max_backoff = instant{};
  options.unschedulable_timeout = std::chrono::hours{24};
  return options;
}

void begin(core_queues& w, const std::string& policy) {
  for (int i = 0; i < 4; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(8));
  if (policy == "ElasticQuota")
    w.queue("above", 24, 48);  // what has no max has nothing to share
  else
    w.queue("above");
  w.queue("a", 12, 20, "above");
  w.queue("b", 8, 16, "above");
  w.queue("c", 4, 24, "above");
}

/// What is bound and who is taken until nothing happens. Who is taken does not come back: some policies would go on for ever.
words decide(core_queues& w, instant when) {
  w.now = when;
  words all;
  for (bool more = true; more;) {
    const gangsched::cycle done = w.decide();
    more = static_cast<bool>(done);
    std::vector<pod_id> gone;
    for (const decision& one : done) {
      if (one.kind != decision_kind::bind && one.kind != decision_kind::evict) continue;
      all.push_back(w.word(one));
      if (one.kind == decision_kind::bind)
        w.must(w.scheduler.confirm(one.pod));
      else
        gone.push_back(one.pod);
    }
    for (const pod_id pod : gone) w.remove(pod);
  }
  return all;
}

/// Something happens.
void step(core_queues& w, std::uint64_t seed, int number) {
  dice roll{seed * 1'000 + static_cast<std::uint64_t>(number)};
  const std::string name = "j" + std::to_string(number);
  const std::string queue{"abc"[roll.below(3)]};
  const std::vector<pod_id> all = w.cluster.pods();
  switch (roll.below(8)) {
    case 0: {
      const auto least = static_cast<std::int32_t>(roll.between(2, 3));
      static_cast<queue_world&>(w).job(a_gang{name, least}, queue, a_pod{""}.cpu(roll.between(1, 3)), least + 1,
                                       static_cast<std::int32_t>(roll.below(2)));
      break;
    }
    case 1:
    case 2:
      if (!all.empty()) w.remove(roll.of(all));
      break;
    case 3: w.update(core_queues::spec_of(queue, roll.between(2, 14), roll.between(14, 26), "above")); break;
    default:
      const bool stays = roll.percent(10);
      for (std::uint64_t i = 0, pods = 1 + roll.below(6); i < pods; ++i) {
        a_pod pod{name + "-" + std::to_string(i)};
        if (stays) pod.label("quota.scheduling.koordinator.sh/preemptible", "false");
        static_cast<queue_world&>(w).ask(pod.cpu(roll.between(1, 3)), queue, static_cast<std::int32_t>(roll.below(2)));
      }
  }
}

}  // namespace

TEST_CASE("pods that a policy of queues tells the same by class are placed as where each is tried",
          "[engine][queues]") {
  const std::string policy =
      GENERATE("FairShare", "CapacityScheduling", "ElasticQuota", "Kueue", "Volcano", "YuniKorn");
  INFO(policy);
  std::size_t binds = 0, evictions = 0;
  std::uint64_t by_class = 0, by_pod = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    core_queues one{table_of(policy), without_time()}, each{asking_each(table_of(policy)), without_time()};
    begin(one, policy), begin(each, policy);
    for (int i = 0; i < 60; ++i) {
      INFO("seed " << seed << ", step " << i);
      step(one, seed, i), step(each, seed, i);
      const words did = decide(one, std::chrono::seconds{30 * i});
      REQUIRE(did == decide(each, std::chrono::seconds{30 * i}));
      for (const std::string& word : did) ++(word.starts_with("bind") ? binds : evictions);
    }
    by_class += one.scheduler.statistics().cycles, by_pod += each.scheduler.statistics().cycles;
  }
  CHECK(binds > 900);
  CHECK(evictions > 50);
  CHECK(by_class < by_pod);
}

namespace {

/// The same, and every group is tried that an event may help.
kernel_table trying_each_group(kernel_table made) {
  std::size_t said_so = 0;
  for (plugin_entry& plugin : made.plugins)
    said_so += std::exchange(plugin.filter.by_alike_groups, nullptr) != nullptr ? 1 : 0;
  REQUIRE(said_so == 1);
  return made;
}

/// Gangs come, some of them alike, pods end, quotas change.
void step_of_gangs(core_queues& w, std::uint64_t seed, int number) {
  dice roll{seed * 1'000 + static_cast<std::uint64_t>(number)};
  const std::string queue{"abc"[roll.below(3)]};
  const std::vector<pod_id> all = w.cluster.pods();
  switch (roll.below(7)) {
    case 0:
    case 1:
      for (std::size_t gone = 1 + roll.below(4); gone > 0; --gone) {
        const pod_id pod = all.empty() ? pod_id{} : roll.of(all);
        if (pod && w.cluster.contains(pod)) w.remove(pod);
      }
      break;
    case 2: w.update(core_queues::spec_of(queue, roll.between(2, 14), roll.between(14, 26), "above")); break;
    case 3:
      w.ask("p" + std::to_string(number), queue, roll.between(1, 3), static_cast<std::int32_t>(roll.below(2)));
      break;
    default: {
      const auto least = static_cast<std::int32_t>(roll.between(2, 3));
      const std::int64_t cores = roll.between(1, 2);
      const auto priority = static_cast<std::int32_t>(roll.below(2));
      for (std::uint64_t i = 0, gangs = 1 + roll.below(4); i < gangs; ++i)
        w.job("g" + std::to_string(number) + "-" + std::to_string(i), queue, least, least, cores, priority);
    }
  }
}

/// The others of its level may have a higher priority than a queue: then it counts how long its first has waited.
void begin_with_priorities(core_queues& w, bool differ) {
  for (int i = 0; i < 4; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(8));
  w.queue("above");
  for (const char* name : {"a", "b", "c"}) {
    queue_spec spec = core_queues::spec_of(name, 8, 20, "above");
    spec.priority = differ ? *name - 'a' : 0;
    static_cast<queue_world&>(w).queue(spec);
  }
}

}  // namespace

TEST_CASE("groups alike that FairShare tells the same are placed as where each is tried", "[engine][queues]") {
  const bool differ = GENERATE(false, true);
  INFO("priorities differ: " << differ);
  std::size_t binds = 0, evictions = 0;
  std::uint64_t by_kind = 0, by_group = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    core_queues one{table_of("FairShare"), without_time()};
    core_queues each{trying_each_group(table_of("FairShare")), without_time()};
    begin_with_priorities(one, differ), begin_with_priorities(each, differ);
    for (int i = 0; i < 60; ++i) {
      INFO("seed " << seed << ", step " << i);
      step_of_gangs(one, seed, i), step_of_gangs(each, seed, i);
      const words did = decide(one, std::chrono::seconds{30 * i});
      REQUIRE(did == decide(each, std::chrono::seconds{30 * i}));
      for (const std::string& word : did) ++(word.starts_with("bind") ? binds : evictions);
    }
    by_kind += one.scheduler.statistics().cycles, by_group += each.scheduler.statistics().cycles;
  }
  CHECK(binds > 2'000);
  CHECK(evictions > 20);
  CHECK(by_kind < by_group);
}

TEST_CASE("of many groups that wait in FairShare's queues few of each kind are tried when pods end",
          "[engine][queues]") {
  const auto attempts_with = [](int waiting) {
    core_queues w{table_of("FairShare"), without_time()};
    for (int i = 0; i < 4; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(8));
    w.queue("above");
    for (const char* name : {"a", "b", "c", "d"}) w.queue(name, 8, -1, "above");
    const auto add = [&](const std::string& name, int number) {
      w.job(name + std::to_string(number), std::string(1, "abcd"[number % 4]), 2, 2, 2);
    };
    for (int i = 0; i < 8; ++i) add("first-", i);
    REQUIRE(decide(w, 1s).size() == 16);
    for (int i = 0; i < waiting; ++i) add("g", i);
    REQUIRE(decide(w, 2s).empty());
    const std::uint64_t before = w.scheduler.statistics().cycles;
    w.remove(w.pod("first-0-0"));
    CHECK(decide(w, 100s).empty());
    w.remove(w.pod("first-0-1"));
    CHECK(decide(w, 200s).size() == 2);
    return w.scheduler.statistics().cycles - before;
  };
  const std::uint64_t with_20 = attempts_with(20);
  CHECK(with_20 <= 25);  // by queue
  CHECK(attempts_with(200) == with_20);
  CHECK(attempts_with(400) == with_20);
}

}  // namespace gangsched::testing::filter_by_class_test
