// Deadlines and longest waits (docs/deadlines.md): the order of LeastSlackSort, and the word of Deadline.
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "gangsched/plugins/deadline.hpp"
#include "gangsched/plugins/least_slack_sort.hpp"
#include "support/dice.hpp"
#include "timed_jobs.hpp"

namespace gangsched::testing::deadlines_test {

using namespace timed_jobs;

namespace {

kernel_table by_slack(instant longest = instant::max()) {
  return profile{least_slack_sort{{.max_wait = longest}}, deadline_plugin{}, node_resources_fit{}, gang_scheduling{}}
      .table();
}

std::string reason_of(const world& w, std::string_view pod) {
  const auto why = w.scheduler.why(w.pod(pod));
  return why && !why->plugins.empty() ? std::string{why->plugins.front()} : "";
}

}  // namespace

TEST_CASE("LeastSlackSort: whoever has to start first goes first, by deadline or by longest wait", "[deadline]") {
  world w{by_slack()};
  w.add(job{.name = "nobody-minds"});
  w.add(job{.name = "in-an-hour", .runs = 60min, .deadline = 120min});
  w.add(job{.name = "long", .runs = 100min, .deadline = 130min});
  w.add(job{.name = "impatient", .max_wait = 10min});
  w.add(job{.name = "both", .runs = 1min, .deadline = 100min, .max_wait = 50min});
  w.add(job{.name = "important", .priority = 1});
  w.add(a_node{"n"}.cpu(100));
  CHECK(bound(w.run()) == words{"important", "impatient", "long", "both", "in-an-hour", "nobody-minds"});
}

TEST_CASE("LeastSlackSort: who said nothing waits no longer than the plugin's own longest wait", "[deadline]") {
  const auto order = [](instant longest) {
    world w{by_slack(longest)};
    w.add(job{.name = "old"});
    hear(w);
    w.now = 30min;
    w.add(job{.name = "urgent", .max_wait = 20min});
    w.add(a_node{"n"}.cpu(100));
    return bound(w.run());
  };
  CHECK(order(instant::max()) == words{"urgent", "old"});
  CHECK(order(60min) == words{"urgent", "old"});
  CHECK(order(49min) == words{"old", "urgent"});
}

TEST_CASE("LeastSlackSort: its arguments are seconds and percent", "[deadline]") {
  argument seconds = 90, negative = -1;
  const auto percent = least_slack_sort::from(argument::fields{{"maxWait", seconds}, {"maxWaitPercent", argument{50}}});
  REQUIRE(percent.has_value());
  CHECK(percent->key({.entered = instant{10s}, .expected_run_time = instant{100s}}).order == instant{60s}.count());
  CHECK(percent->key({.entered = instant{10s}, .expected_run_time = instant{900s}}).order == instant{100s}.count());
  CHECK_FALSE(least_slack_sort::from(argument::fields{{"maxWaitPercent", negative}}).has_value());
  const result<least_slack_sort> made = least_slack_sort::from(argument::fields{{"maxWait", seconds}});
  REQUIRE(made.has_value());
  CHECK(made->key({.entered = instant{10s}}).order == instant{100s}.count());
  CHECK(made->key({.entered = instant{10s}, .start_by = instant{5s}}).order == instant{5s}.count());
  const result<least_slack_sort> refused = least_slack_sort::from(argument::fields{{"maxWait", negative}});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message().find("maxWait") != std::string::npos);
}

TEST_CASE("a group has to start when the first of its members that wait has to", "[deadline]") {
  world w{by_slack()};
  group_spec spec = a_gang{"gang", 2};
  spec.deadline = 100min;
  const group_id gang = w.add(spec);
  w.add(job{.name = "m0", .runs = 10min, .group = gang});
  const pod_id longest = w.add(job{.name = "m1", .runs = 50min, .group = gang});
  w.add(job{.name = "m2", .runs = 20min, .group = gang});
  w.add(job{.name = "p", .deadline = 60min});
  hear(w);
  SECTION("by the longest") {
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"m0", "m1", "m2", "p"});
  }
  SECTION("who is removed does not count") {
    w.remove(longest);
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"p", "m0", "m2"});
  }
  SECTION("a member's own deadline is before that of its group") {
    w.must(w.cluster.update_pod(longest, job{.name = "m1", .runs = 50min, .deadline = 200min, .group = gang}));
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"p", "m0", "m1", "m2"});
  }
  SECTION("the group's is put off") {
    spec.deadline = 200min;
    w.must(w.cluster.update_group(gang, spec));
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"p", "m0", "m1", "m2"});
  }
}

TEST_CASE("LeastSlackSort: the order by a plain sort, through random updates", "[deadline]") {
  struct entity_known {
    std::int32_t priority = 0;
    instant entered{};
    std::uint64_t arrival = 0;
    std::optional<instant> deadline;
    instant max_wait{};
    std::vector<std::pair<pod_id, job>> pods;
    std::optional<std::pair<group_id, group_spec>> group;
    [[nodiscard]] std::tuple<std::int32_t, instant, std::uint64_t> order() const {
      instant by = instant::max();
      for (const auto& [id, one] : pods) {
        const std::optional<instant> until = one.deadline ? one.deadline : deadline;
        const instant wait = one.max_wait != 0s ? one.max_wait : max_wait;
        if (until) by = std::min(by, *until - one.runs);
        if (wait != 0s) by = std::min(by, entered + wait);
      }
      return {-priority, by, arrival};
    }
  };
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    const auto some_deadline = [&]() -> std::optional<instant> {
      if (roll.percent(40)) return std::nullopt;
      return std::chrono::seconds{roll.between(2000, 2100)};
    };
    const auto some_wait = [&] { return roll.percent(60) ? instant{0} : std::chrono::seconds{roll.between(1, 400)}; };
    world w{profile{least_slack_sort{}, node_resources_fit{}, gang_scheduling{}}.table()};
    std::vector<entity_known> all;
    for (int i = 0; i < 30; ++i) {
      w.now += std::chrono::seconds{roll.between(0, 20)};
      entity_known one;
      one.priority = static_cast<std::int32_t>(roll.below(2));
      one.arrival = static_cast<std::uint64_t>(i);
      one.entered = w.now;
      const std::string name = "e" + std::to_string(i);
      int members = 1;
      if (roll.percent(40)) {
        group_spec spec = a_gang{name, 1};
        spec.priority = one.priority;
        spec.deadline = one.deadline = some_deadline(), spec.max_wait = one.max_wait = some_wait();
        one.group.emplace(w.add(spec), spec);
        members = static_cast<int>(roll.between(1, 3));
      }
      for (int m = 0; m < members; ++m) {
        job made{.name = name + "-" + std::to_string(m), .runs = std::chrono::seconds{roll.between(0, 300)}};
        made.deadline = some_deadline(), made.max_wait = some_wait(), made.priority = one.priority;
        if (one.group) made.group = one.group->first;
        one.pods.emplace_back(w.add(made), made);
      }
      hear(w);
      all.push_back(std::move(one));
    }
    for (int i = 0; i < 30; ++i) {
      entity_known& one = all[roll.below(all.size())];
      if (one.group && roll.percent(40)) {
        group_spec& spec = one.group->second;
        spec.deadline = one.deadline = some_deadline(), spec.max_wait = one.max_wait = some_wait();
        w.must(w.cluster.update_group(one.group->first, spec));
      } else if (one.pods.size() > 1 && roll.percent(30)) {
        w.remove(one.pods.back().first);
        one.pods.pop_back();
      } else {
        auto& [id, its] = one.pods[roll.below(one.pods.size())];
        its.deadline = some_deadline(), its.max_wait = some_wait();
        its.runs = std::chrono::seconds{roll.between(0, 300)};
        w.must(w.cluster.update_pod(id, its));
      }
      if (roll.percent(50)) hear(w);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.order() < b.order(); });
    words expected;
    for (const entity_known& one : all)
      for (const auto& [id, its] : one.pods) expected.push_back(its.name);
    w.add(a_node{"n"}.cpu(1000));
    CHECK(bound(w.run()) == expected);
  }
}

TEST_CASE("Deadline: who would end too late if he started now is told so at once, and waits for a later deadline",
          "[deadline]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::all, wake_rule::hints}) {
    world w{by_slack(), {.ties = tie_rule::lowest_row, .wake = rule}};
    w.add(a_node{"n"}.cpu(100));
    const pod_id late = w.add(job{.name = "late", .runs = 60min, .deadline = 60min - 1ns});
    w.add(job{.name = "just", .runs = 60min, .deadline = 60min});
    CHECK(w.run() == words{"reject late", "bind just n"});
    CHECK(reason_of(w, "late") == "Deadline");
    CHECK(w.scheduler.why(late)->code == code::unresolvable);
    w.now = 1min;
    w.add(a_node{"m"}.cpu(100));  // more room is no help
    CHECK(w.run().empty());
    w.must(w.cluster.update_pod(late, job{.name = "late", .runs = 60min, .deadline = 70min}));
    CHECK(bound(w.run()) == words{"late"});
  }
}

TEST_CASE("Deadline: of a group all that wait have to be in time", "[deadline]") {
  world w{by_slack()};
  w.add(a_node{"n"}.cpu(100));
  group_spec spec = a_gang{"gang", 2};
  spec.deadline = 60min;
  const group_id gang = w.add(spec);
  w.add(job{.name = "m0", .runs = 10min, .group = gang});
  w.add(job{.name = "m1", .runs = 61min, .group = gang});
  CHECK(w.run() == words{"reject m0", "reject m1"});
  CHECK(reason_of(w, "m0") == "Deadline");
  spec.deadline = 61min;
  w.must(w.cluster.update_group(gang, spec));
  w.now = 1ns;
  CHECK(bound(w.run()).empty());
  spec.deadline = 62min;
  w.must(w.cluster.update_group(gang, spec));
  CHECK(bound(w.run()) == words{"m0", "m1"});
}

TEST_CASE("Deadline: whom it is too late for while he waits is not started any more", "[deadline]") {
  world w{by_slack()};
  const node_id node = w.add(a_node{"n"}.cpu(1));
  const pod_id runs = w.add(job{.name = "runs"});
  w.run();
  w.add(job{.name = "waits", .runs = 10min, .deadline = 20min});
  CHECK(w.run() == words{"reject waits"});
  CHECK(reason_of(w, "waits") == "NodeResourcesFit");
  w.now = 11min;
  w.remove(runs);
  CHECK(w.run() == words{"reject waits"});
  CHECK(reason_of(w, "waits") == "Deadline");
  w.must(w.cluster.update_node(node, a_node{"n"}.cpu(2)));
  CHECK(w.run_at(15min).empty());
}

TEST_CASE("Deadline: whom it becomes too late for while he waits is told at that time, without a search",
          "[deadline]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::all, wake_rule::hints}) {
    world w{by_slack(), {.ties = tie_rule::lowest_row, .wake = rule}};
    w.add(a_node{"n"}.cpu(1));
    w.add(job{.name = "runs"});
    w.run(true);
    w.add(job{.name = "waits", .runs = 10min, .deadline = 12min});
    group_spec spec = a_gang{"gang", 2};
    spec.deadline = 23min;
    const group_id gang = w.add(spec);
    const pod_id longest = w.add(job{.name = "m0", .runs = 22min, .group = gang});
    w.add(job{.name = "m1", .runs = 20min, .group = gang});
    w.add(job{.name = "m2", .group = gang});
    w.add(job{.name = "nobody-minds"});
    w.run();
    CHECK(reason_of(w, "m0") == "NodeResourcesFit");
    SECTION("each when it is too late for him") {
      w.now = 20s;  // nobody backs off any more
      w.run();
      CHECK(w.scheduler.next_deadline() == 1min + 1ns);
      CHECK(w.run_at(1min).empty());
      const std::uint64_t looked = w.scheduler.statistics().decisions;
      CHECK(sorted(w.run_at(1min + 1ns)) == words{"reject m0", "reject m1", "reject m2"});
      CHECK(reason_of(w, "m0") == "Deadline");
      CHECK(w.scheduler.why(longest)->code == code::unresolvable);
      CHECK(reason_of(w, "waits") == "NodeResourcesFit");
      CHECK(w.scheduler.next_deadline() == 2min + 1ns);
      CHECK(w.run_at(2min + 1ns) == words{"reject waits"});
      CHECK(reason_of(w, "waits") == "Deadline");
      CHECK(w.scheduler.statistics().decisions == looked);
      CHECK(w.scheduler.next_deadline().value() > 4min);  // nothing but the timeout
    }
    SECTION("who was in a hurry goes, and the others have time") {
      w.remove(longest);
      w.run_at(20s);
      CHECK(w.run_at(1min + 1ns).empty());
      CHECK(w.run_at(2min + 1ns) == words{"reject waits"});
      CHECK(reason_of(w, "m1") == "NodeResourcesFit");
      CHECK(w.scheduler.next_deadline() == 3min + 1ns);
      CHECK(sorted(w.run_at(3min + 1ns)) == words{"reject m1", "reject m2"});
      CHECK(reason_of(w, "m1") == "Deadline");
    }
    SECTION("the deadline is put off") {
      w.run_at(20s);
      spec.deadline = 30min;
      w.must(w.cluster.update_group(gang, spec));
      w.run_at(40s);
      CHECK(w.run_at(1min + 1ns).empty());
      CHECK(reason_of(w, "m0") == "NodeResourcesFit");
    }
    CHECK(w.scheduler.verify());
  }
}

TEST_CASE("Deadline: a group that was too late for a member that has left is told again when it is for the others",
          "[deadline]") {
  scheduler_options options = world::lowest_first();
  options.wake = wake_rule::hints;
  options.unschedulable_timeout = 100h;
  world w{by_slack(), options};
  const group_id gang = w.add(a_gang{"g", 1});
  w.add(job{.name = "urgent", .runs = 5min, .deadline = 10min, .group = gang});
  w.add(job{.name = "relaxed", .runs = 10min, .deadline = 60min, .group = gang});
  w.now = 6min;
  CHECK(w.run() == words{"reject urgent", "reject relaxed"});
  CHECK(reason_of(w, "relaxed") == "Deadline");
  w.must(w.cluster.remove_pod(w.pod("urgent")));
  w.now = 7min;
  w.run();
  const std::optional<instant> next = w.scheduler.next_deadline();
  REQUIRE(next);
  CHECK(*next <= instant{50min} + instant{1});
  w.now = instant{50min} + instant{1};
  CHECK(w.run() == words{"reject relaxed"});
  CHECK(reason_of(w, "relaxed") == "Deadline");
}

TEST_CASE("without a plugin that goes by time nobody is looked at because of a deadline", "[deadline]") {
  world w{profile{least_slack_sort{}, node_resources_fit{}, gang_scheduling{}}.table()};
  w.add(a_node{"n"}.cpu(1));
  w.add(job{.name = "waits", .runs = 10min, .deadline = 12min, .cpus = 2});
  w.run();
  w.run_at(20s);
  CHECK(w.scheduler.next_deadline().value() > 4min);
  CHECK(w.run_at(2min + 1ns).empty());
}

TEST_CASE("Deadline: verdicts come at the times that a look at everybody gives, through random events", "[deadline]") {
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    dice roll{seed};
    const bool hints = roll.percent(30);  // by which groups would be tried again each nanosecond without a backoff
    const instant backoff = hints || roll.percent(50) ? instant{10s} : instant{0};
    world w{by_slack(),
            {.ties = tie_rule::lowest_row,
             .max_backoff = backoff,
             .wake = hints ? wake_rule::hints : wake_rule::one_per_class}};
    w.add(a_node{"n"}.cpu(2));
    const auto some_deadline = [&]() -> std::optional<instant> {
      if (roll.percent(30)) return std::nullopt;
      return w.now + std::chrono::seconds{roll.between(5, 400)};
    };
    struct known {
      pod_id id;
      job spec;
    };
    std::vector<known> all;
    std::vector<std::pair<group_id, group_spec>> gangs;
    std::vector<group_id> smaller;  // what was said of them stands, though who was in a hurry may be gone
    const auto latest = [&](pod_id pod) {
      const auto of = [&](const known& one) {
        std::optional<instant> until = one.spec.deadline;
        for (const auto& [id, spec] : gangs)
          if (id == one.spec.group && !until) until = spec.deadline;
        return until ? *until - one.spec.runs : instant::max();
      };
      const auto its = std::find_if(all.begin(), all.end(), [&](const known& one) { return one.id == pod; });
      instant least = of(*its);
      for (const known& one : all)
        if (its->spec.group && one.spec.group == its->spec.group && w.cluster.state_of(one.id) == pod_state::pending)
          least = std::min(least, of(one));
      return least;
    };
    for (int step = 0; step < 40; ++step) {
      const std::string name = "p" + std::to_string(step);
      const std::size_t what = roll.below(6);
      if (what < 2) {
        job made{.name = name, .runs = std::chrono::seconds{roll.between(0, 60)}, .deadline = some_deadline()};
        made.cpus = roll.percent(30) ? 1 : 3;
        all.push_back({w.add(made), made});
      } else if (what == 2) {
        group_spec spec = a_gang{name, 2};
        spec.deadline = some_deadline();
        const group_id gang = w.add(spec);
        gangs.emplace_back(gang, spec);
        for (int m = 0; m < 3; ++m) {
          job made{
              .name = name + "-" + std::to_string(m), .runs = std::chrono::seconds{roll.between(0, 60)}, .group = gang};
          made.cpus = 3;
          if (roll.percent(30)) made.deadline = some_deadline();
          all.push_back({w.add(made), made});
        }
      } else if (what == 3 && !all.empty()) {
        const std::size_t at = roll.below(all.size());
        w.remove(all[at].id);
        if (all[at].spec.group) smaller.push_back(all[at].spec.group);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what == 4 && !all.empty()) {
        known& one = all[roll.below(all.size())];
        if (w.cluster.state_of(one.id) != pod_state::pending) continue;
        one.spec.deadline = some_deadline();
        w.must(w.cluster.update_pod(one.id, one.spec));
      } else if (what == 5 && !gangs.empty()) {
        auto& [id, spec] = gangs[roll.below(gangs.size())];
        if (!w.cluster.contains(id)) continue;
        spec.deadline = some_deadline();
        w.must(w.cluster.update_group(id, spec));
      }
      // As a host does that sleeps until the scheduler says.
      w.run(true);
      const instant until = w.now + std::chrono::seconds{roll.between(0, 60)};
      for (auto next = w.scheduler.next_deadline(); next && *next <= until; next = w.scheduler.next_deadline()) {
        w.now = std::max(w.now, *next);
        w.run(true);
      }
      w.now = until;
      w.run(true);
      for (const known& one : all) {
        if (w.cluster.state_of(one.id) != pod_state::pending) continue;
        const auto why = w.scheduler.why(one.id);
        const bool late = latest(one.id) < w.now;
        const bool said = why && !why->plugins.empty() && why->plugins.front() == "Deadline";
        CAPTURE(w.cluster.name_of(one.id), late);
        if (w.scheduler.standing(one.id).value().place == queue_place::gated) continue;  // too few of its gang are left
        if (std::find(smaller.begin(), smaller.end(), one.spec.group) == smaller.end())
          CHECK(said == late);
        else
          CHECK((said || !late));
        told += said ? 1 : 0;
      }
    }
    CHECK(w.scheduler.verify());
  }
  CHECK(told > 300);
}

TEST_CASE("Deadline with backfill: what was reserved for whom it is too late for is free for others",
          "[deadline][backfill]") {
  for (const backfill_rule rule : {backfill_rule::easy, backfill_rule::conservative}) {
    for (const bool gang : {false, true}) {
      CAPTURE(static_cast<int>(rule), gang);
      world w{by_slack(), {.ties = tie_rule::lowest_row, .backfill = rule}};
      w.add(a_node{"n"}.cpu(4));
      const pod_id runs = w.add(job{.name = "runs", .runs = 10min, .cpus = 4});
      w.run(true);
      pod_id big{};
      if (gang) {
        group_spec spec = a_gang{"big", 2};
        spec.deadline = 25min;
        const group_id id = w.add(spec);
        big = w.add(job{.name = "big-0", .runs = 10min, .cpus = 2, .group = id});
        w.add(job{.name = "big-1", .runs = 10min, .cpus = 2, .group = id});
      } else {
        big = w.add(job{.name = "big-0", .runs = 10min, .deadline = 25min, .cpus = 4});
      }
      w.run();
      REQUIRE(w.cluster.reserved_from(big) == 10min);
      w.add(job{.name = "small", .runs = 30min, .cpus = 2});
      CHECK(bound(w.run_at(1min)).empty());
      w.run_at(15min + 1ns);  // who runs takes longer than was said
      CHECK(reason_of(w, "big-0") == "Deadline");
      CHECK_FALSE(w.cluster.reserved_from(big));
      w.now = 20min;
      w.remove(runs);
      CHECK(bound(w.run()) == words{"small"});
      CHECK(w.scheduler.verify());
    }
  }
}

TEST_CASE("Deadline: who is told that there is less time than has passed is told so at once", "[deadline]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::all, wake_rule::hints}) {
    world w{by_slack(), {.ties = tie_rule::lowest_row, .wake = rule}};
    w.add(a_node{"n"}.cpu(1));
    job one{.name = "waits", .runs = 1min, .deadline = 60min, .cpus = 2};
    const pod_id waits = w.add(one);
    w.run();
    CHECK(w.run_at(10min) == words{"reject waits"});
    CHECK(reason_of(w, "waits") == "NodeResourcesFit");
    one.deadline = 5min;
    w.now = 12min;
    w.must(w.cluster.update_pod(waits, one));
    CHECK(w.run() == words{"reject waits"});
    CHECK(reason_of(w, "waits") == "Deadline");
  }
}

TEST_CASE("Deadline with backfill: a verdict when the time that could be reserved is too late",
          "[deadline][backfill]") {
  for (const backfill_rule rule : {backfill_rule::easy, backfill_rule::conservative}) {
    world w{by_slack(), {.ties = tie_rule::lowest_row, .max_backoff = instant{0}, .backfill = rule}};
    w.add(a_node{"n"}.cpu(4));
    const pod_id runs = w.add(job{.name = "runs", .runs = 100min, .cpus = 3});
    w.run(true);
    w.add(job{.name = "late", .runs = 10min, .deadline = 109min, .cpus = 4});
    w.add(job{.name = "in-time", .runs = 5min, .deadline = 120min, .cpus = 4});
    CHECK(w.run(true) == words{"reject late", "nominate in-time n", "reject in-time"});
    CHECK(reason_of(w, "late") == "Deadline");
    CHECK(reason_of(w, "in-time") == "NodeResourcesFit");
    CHECK_FALSE(w.cluster.reserved_from(w.pod("late")).has_value());
    CHECK(w.cluster.reserved_from(w.pod("in-time")) == 100min);
    w.now = 99min;  // it ends earlier than expected
    w.remove(runs);
    CHECK(bound(w.run(true)) == words{"late"});
  }
}

}  // namespace gangsched::testing::deadlines_test
