// Victims of preemption that have notice (scheduler_options::eviction_notice).
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gangsched/fork.hpp"
#include "gangsched/saved_state.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::eviction_notice_test {

namespace {

kernel_table with_gangs() {
  return profile{priority_sort{}, node_resources_fit{}, gang_scheduling{}, group_preemption{}, default_preemption{}}
      .table();
}

scheduler_options noticing(instant span) {
  scheduler_options made = world::lowest_first();
  made.eviction_notice = span;
  return made;
}

/// Two nodes of four CPUs, on which pods of priority 0 run, two on each.
struct busy_world : world {
  explicit busy_world(instant span = 60s) : world(profiles::kube_default(), noticing(span)) {
    for (const char* name : {"n1", "n2"}) add(a_node{name}.cpu(4));
    for (const char* name : {"a", "b", "c", "d"})
      add(a_pod{name}.cpu(2).on(node(std::string_view{name} < "c" ? "n1" : "n2")));
  }
};

}  // namespace

TEST_CASE("a victim may stay as long as the notice says, and goes then", "[preemption][notice]") {
  busy_world w;
  w.add(a_pod{"high"}.cpu(2).priority(10));
  CHECK(w.run() == words{"nominate high n1", "notice b n1"});
  CHECK(w.scheduler.next_deadline() == instant{60s});
  // It does not preempt again meanwhile, whatever happens and however often it is tried.
  w.add(a_node{"small"}.cpu(1));
  CHECK(count(w.run_at(30s), "evict") == 0);
  w.must(w.scheduler.activate(std::vector{w.pod("high")}, w.now));
  CHECK(w.run_at(59s) == words{"reject high"});
  CHECK(w.cluster.nominated_node_of(w.pod("high")) == w.node("n1"));
  CHECK(w.run_at(60s) == words{"evict b n1"});
  // A host that does not listen is told again, a second later.
  CHECK(w.run_at(60s) == words{});
  CHECK(w.run_at(61s) == words{"evict b n1"});
  w.remove(w.pod("b"));
  CHECK(w.run_at(75s) == words{"bind high n1"});
}

TEST_CASE("a victim that ends by itself leaves its room to whom it was for", "[preemption][notice]") {
  busy_world w;
  w.add(a_pod{"high"}.cpu(2).priority(10));
  CHECK(w.run() == words{"nominate high n1", "notice b n1"});
  w.remove(w.pod("b"));
  CHECK(w.run_at(20s) == words{"bind high n1"});
  CHECK(w.run_at(100s) == words{});
}

TEST_CASE("a victim stays if nobody needs its room any more", "[preemption][notice]") {
  busy_world w;
  const pod_id high = w.add(a_pod{"high"}.cpu(2).priority(10));
  CHECK(w.run() == words{"nominate high n1", "notice b n1"});
  SECTION("because whom it was for has other room") {
    w.add(a_node{"n3"}.cpu(4));
    CHECK(w.run_at(20s) == words{"bind high n3", "withdraw b n1"});
  }
  SECTION("because whom it was for is gone") {
    w.remove(high);
    CHECK(w.run_at(20s) == words{"withdraw b n1"});
  }
  SECTION("because whom it was for lost the node to somebody more important, who has notice given to another") {
    w.add(a_pod{"higher"}.cpu(4).priority(20));
    const words said = w.run_at(20s);
    CHECK(count(said, "evict") == 0);
    CHECK(count(said, "notice") >= 1);
    CHECK(w.cluster.nominated_node_of(w.pod("higher")));
    return;
  }
  CHECK(w.run_at(100s) == words{});
  CHECK(w.cluster.state_of(w.pod("b")) == pod_state::bound);
}

TEST_CASE("a victim of two stays as long as one of them needs it", "[preemption][notice]") {
  busy_world w;
  const pod_id one = w.add(a_pod{"one"}.cpu(1).priority(10));
  CHECK(w.run() == words{"nominate one n1", "notice b n1"});
  w.add(a_pod{"two"}.cpu(1).priority(10));
  const words said = w.run_at(10s);
  CHECK(said == words{"nominate two n1"});  // the room that b leaves is enough for both
  w.remove(one);
  CHECK(w.run_at(20s) == words{});
  CHECK(w.run_at(60s) == words{"evict b n1"});
}

TEST_CASE("victims of a gang have notice together", "[preemption][notice]") {
  world w{with_gangs(), noticing(30s)};
  for (const char* name : {"n1", "n2"}) w.add(a_node{name}.cpu(4));
  for (const char* name : {"a", "b"}) w.add(a_pod{name}.cpu(4).on(w.node(name[0] == 'a' ? "n1" : "n2")));
  group_spec spec = a_gang{"train", 2};
  spec.priority = 10;
  const group_id group = w.add(spec);
  for (const char* name : {"t0", "t1"}) w.add(a_pod{name}.cpu(4).priority(10).in(group));
  const words said = w.run();
  CHECK(count(said, "notice") == 2);
  CHECK(count(said, "evict") == 0);
  CHECK(count(w.run_at(29s), "notice") == 0);
  w.remove(w.pod("a"));  // one ends by itself
  CHECK(w.run_at(30s) == words{"evict b n2", "reject t0", "reject t1"});
  w.remove(w.pod("b"));
  CHECK(sorted(w.run_at(60s)) == words{"bind t0 n1", "bind t1 n2"});
}

TEST_CASE("victims of a gang stay when it has too few members left", "[preemption][notice]") {
  world w{with_gangs(), noticing(30s)};
  w.add(a_node{"n"}.cpu(4));
  w.add(a_pod{"runs"}.cpu(4).on(w.node("n")));
  group_spec spec = a_gang{"train", 2};
  spec.priority = 10;
  const group_id group = w.add(spec);
  for (const char* name : {"t0", "t1"}) w.add(a_pod{name}.cpu(2).priority(10).in(group));
  CHECK(count(w.run(), "notice") == 1);
  w.remove(w.pod("t1"));
  CHECK(w.run_at(5s) == words{"withdraw runs n"});
  CHECK(count(w.run_at(100s), "evict") == 0);
}

TEST_CASE("notices go on after a restart, in forks, and are as they were when a call is abandoned",
          "[preemption][notice]") {
  busy_world w;
  w.add(a_pod{"high"}.cpu(2).priority(10));
  CHECK(w.run() == words{"nominate high n1", "notice b n1"});
  const auto goes_on = [](gangsched::cluster& on, gangsched::scheduler& by) {
    words all;
    for (const instant when : {instant{59s}, instant{60s}})
      while (const cycle done = by.schedule_cycle(when))
        for (const decision& one : done)
          all.push_back(std::string{to_string(one.kind)} += ' ' + std::string{on.name_of(one.pod)});
    return all;
  };
  auto saved = saved_state::of(w.cluster, &w.scheduler).value();
  auto again = saved.restore({profiles::kube_default()}, {}, 1'000'000);
  INFO((again ? std::string{} : again.error().message()));
  REQUIRE(again);
  CHECK(goes_on(again->cluster, *again->scheduler) == words{"evict b"});
  forked copy = w.must(w.scheduler.fork());
  CHECK(goes_on(copy.cluster, copy.scheduler) == words{"evict b"});
  CHECK(goes_on(w.cluster, w.scheduler) == words{"evict b"});
  saved.scheduler->binding.notices[0].victim.row = 1000;
  CHECK_FALSE(saved.restore({profiles::kube_default()}, {}, 1'000'000));
}

/// Random lives in which hosts sometimes listen late: nobody is evicted without having had notice for so long, every notice ends, and
/// whoever could push somebody out for its room has it in the end.
TEST_CASE("nobody is evicted before his time, and every notice ends", "[preemption][notice]") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    dice any{seed};
    const instant span = std::chrono::seconds{any.between(1, 40)};
    world w{any.percent(50) ? profiles::kube_default() : with_gangs(), noticing(span)};
    for (std::int64_t i = 0; i < 4; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(8));
    std::map<pod_id, instant> noticed;  // since when
    std::set<pod_id> told, in_gang;
    std::map<std::string, std::int64_t> cpus;
    const auto add = [&](const a_pod& pod, std::int64_t cpu) {
      cpus[pod.spec.name] = cpu;
      const pod_id made = w.add(a_pod{pod}.cpu(cpu));
      if (pod.spec.group) in_gang.insert(made);
    };
    int made = 0;
    const auto hear = [&](const cycle& done) {
      for (const decision& one : done) {
        INFO(w.word(one) << " at " << w.now.count());
        switch (one.kind) {
          case decision_kind::bind: w.confirm(one.pod); break;
          case decision_kind::notice:
            CHECK(noticed.emplace(one.pod, w.now).second);
            CHECK(w.cluster.state_of(one.pod) == pod_state::bound);
            CHECK(one.node == w.cluster.node_of(one.pod));
            break;
          case decision_kind::withdraw:
            CHECK(noticed.erase(one.pod) == 1);
            told.erase(one.pod);
            break;
          case decision_kind::evict:
            REQUIRE(noticed.contains(one.pod));
            CHECK(w.now >= noticed.at(one.pod) + span);
            told.insert(one.pod);
            break;
          default: break;
        }
      }
    };
    const auto remove = [&](pod_id pod) {
      w.remove(pod);
      noticed.erase(pod), told.erase(pod);
    };
    const auto decide = [&] {
      for (int cycles = 0; cycles < 2000; ++cycles) {
        const cycle done = w.decide();
        if (!done) return;
        hear(done);
      }
      FAIL("the loop does not end");
    };
    for (int step = 0; step < 120; ++step) {
      w.now += std::chrono::milliseconds{any.between(0, 9000)};
      const std::vector<pod_id> all = w.cluster.pods();
      if (all.size() < 18 && any.percent(60)) {
        a_pod one{"p" + std::to_string(made++)};
        one.priority(static_cast<std::int32_t>(any.between(0, 3)));
        if (any.percent(20)) {
          group_spec spec = a_gang{"g" + std::to_string(made), 2};
          spec.priority = one.spec.priority;
          const group_id group = w.add(spec);
          add(a_pod{"m" + std::to_string(made)}.priority(*one.spec.priority).in(group), any.between(1, 5));
          one.in(group);
        }
        add(one, any.between(1, 5));
      } else if (!all.empty() && any.percent(40)) {
        remove(all[any.below(all.size())]);
      } else if (any.percent(10)) {
        w.add(a_node{"x" + std::to_string(made++)}.cpu(any.between(1, 8)));
      }
      decide();
      for (const pod_id pod : std::vector<pod_id>(told.begin(), told.end()))
        if (any.percent(70)) remove(pod);
    }
    // The host listens at last: in the end nobody has notice, and nobody waits who is more important than somebody he could push out.
    for (int turn = 0; turn < 40; ++turn) {
      w.now += 45s;
      decide();
      for (const pod_id pod : std::vector<pod_id>(told.begin(), told.end())) remove(pod);
    }
    decide();
    CHECK(noticed.empty());
    const auto cpu_of = [&](pod_id pod) { return cpus.at(std::string{w.cluster.name_of(pod)}); };
    for (const pod_id waits : w.cluster.pods()) {
      if (w.cluster.state_of(waits) != pod_state::pending || in_gang.contains(waits)) continue;
      for (const node_id node : w.cluster.nodes()) {
        const std::vector<pod_id> all = w.cluster.pods();
        // (A gang that lost a member keeps the node it has in view.)
        if (std::any_of(all.begin(), all.end(), [&](pod_id pod) { return w.cluster.nominated_node_of(pod) == node; }))
          continue;
        std::int64_t room = w.cluster.allocatable(node, "cpu") - w.cluster.requested(node, "cpu");
        for (const pod_id runs : w.cluster.pods())
          if (w.cluster.node_of(runs) == node && !in_gang.contains(runs) &&
              w.cluster.priority_of(runs) < w.cluster.priority_of(waits))
            room += 1000 * cpu_of(runs);
        INFO(w.cluster.name_of(waits) << " waits for " << w.cluster.name_of(node));
        CHECK(room < 1000 * cpu_of(waits));
      }
    }
  }
}

}  // namespace gangsched::testing::eviction_notice_test
