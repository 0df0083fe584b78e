// Reservations for who found no room, and what may start meanwhile (scheduler_options::backfill, max_overtake).
#include <map>
#include <optional>
#include <vector>

#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::backfill_test {

namespace {

kernel_table by_age() {
  return profile{arrival_sort{}, node_resources_fit{}, gang_scheduling{}, group_preemption{}, default_preemption{}}
      .table();
}

scheduler_options with(backfill_rule rule, instant max_overtake = instant::max()) {
  return {.ties = tie_rule::lowest_row, .max_backoff = instant{0}, .backfill = rule, .max_overtake = max_overtake};
}

pod_spec job(const std::string& name, std::int64_t cpus, instant runs) {
  pod_spec made = a_pod{name}.cpu(cpus);
  made.expected_run_time = runs;
  return made;
}

/// A job of one pod, for one resource.
struct random_job {
  std::int64_t cpus;
  instant arrives, expected, runs;
};

std::vector<random_job> jobs_by_dice(dice& roll, std::int64_t most, std::size_t count, bool exact) {
  std::vector<random_job> all;
  instant at{0};
  for (std::size_t i = 0; i < count; ++i) {
    at += std::chrono::seconds{roll.between(0, 12)};
    random_job one{roll.between(1, most), at, std::chrono::seconds{roll.between(1, 60)}, {}};
    one.runs = exact ? one.expected : std::chrono::seconds{roll.between(1, 90)};
    all.push_back(one);
  }
  return all;
}

/// EASY as in the papers (Lifka 1995; Mu'alem and Feitelson 2001), on one resource: in order while they fit; the first that does not is
/// told when it will by what is expected of those that run (who is over that may end at any moment); others start that end by then, or use
/// no more than is left beside it then.
class easy_by_the_book {
 public:
  easy_by_the_book(const std::vector<random_job>& jobs, std::int64_t cpus) : jobs_(&jobs), free_(cpus) {}

  void arrives(std::size_t job) { waiting_.push_back(job); }
  void ends(std::size_t job) {
    running_.erase(job);
    free_ += (*jobs_)[job].cpus;
  }
  /// Who starts now, in order.
  std::vector<std::size_t> pass(instant now) {
    std::vector<std::size_t> started, rest;
    std::optional<std::pair<instant, std::int64_t>> shadow;  // when, and what is left beside the first then
    for (const std::size_t one : waiting_) {
      const random_job& job = (*jobs_)[one];
      if (!shadow && job.cpus > free_) shadow = shadow_of(job.cpus, now);
      const bool in_time = !shadow || now + job.expected <= shadow->first;
      if (job.cpus > free_ || (!in_time && job.cpus > shadow->second)) {
        rest.push_back(one);
        continue;
      }
      if (!in_time) shadow->second -= job.cpus;
      free_ -= job.cpus;
      running_[one] = now + job.expected;
      started.push_back(one);
    }
    waiting_ = rest;
    return started;
  }

 private:
  [[nodiscard]] std::pair<instant, std::int64_t> shadow_of(std::int64_t cpus, instant now) const {
    std::multimap<instant, std::int64_t> ends;
    for (const auto& [one, end] : running_) ends.emplace(std::max(end, now), (*jobs_)[one].cpus);
    std::int64_t free = free_;
    for (auto at = ends.begin();;) {
      const instant when = at->first;
      for (; at != ends.end() && at->first == when; ++at) free += at->second;
      if (free >= cpus) return {when, free - cpus};
      REQUIRE(at != ends.end());
    }
  }

  const std::vector<random_job>* jobs_;
  std::int64_t free_;
  std::vector<std::size_t> waiting_;
  std::map<std::size_t, instant> running_;
};

void compare_with_the_book(std::uint64_t seed, bool exact) {
  dice roll{seed};
  constexpr std::int64_t cpus = 16;
  const std::vector<random_job> jobs = jobs_by_dice(roll, cpus, 40, exact);
  easy_by_the_book book{jobs, cpus};
  world w{by_age(), with(backfill_rule::easy)};
  w.add(a_node{"n"}.cpu(cpus));
  std::vector<pod_id> pods(jobs.size());
  std::multimap<instant, std::size_t> ends;
  for (std::size_t next = 0; next < jobs.size() || !ends.empty();) {
    const bool arrival = next < jobs.size() && (ends.empty() || jobs[next].arrives <= ends.begin()->first);
    w.now = arrival ? jobs[next].arrives : ends.begin()->first;
    for (; !ends.empty() && ends.begin()->first == w.now; ends.erase(ends.begin())) {
      w.remove(pods[ends.begin()->second]);
      book.ends(ends.begin()->second);
    }
    for (; next < jobs.size() && jobs[next].arrives == w.now; ++next) {
      pods[next] = w.add(job("j" + std::to_string(next), jobs[next].cpus, jobs[next].expected));
      book.arrives(next);
    }
    words started;
    for (const std::string& one : w.run(true))
      if (one.starts_with("bind")) started.push_back(one);
    words expected;
    for (const std::size_t one : book.pass(w.now)) {
      expected.push_back("bind j" + std::to_string(one) + " n");
      ends.emplace(w.now + jobs[one].runs, one);
    }
    INFO("seed " << seed << ", at " << w.now.count() / 1'000'000'000 << " s");
    REQUIRE(sorted(started) == sorted(expected));
  }
}

/// Gangs whose members ask for one CPU each, on nodes of four: what is free counts wherever it is, so that EASY on a count says who starts.
void compare_gangs_with_the_book(std::uint64_t seed, bool exact) {
  dice roll{seed};
  constexpr std::int64_t nodes = 4, cpus_a_node = 4;
  const std::vector<random_job> jobs = jobs_by_dice(roll, nodes * cpus_a_node, 40, exact);
  easy_by_the_book book{jobs, nodes * cpus_a_node};
  world w{by_age(), with(backfill_rule::easy)};
  for (std::int64_t i = 0; i < nodes; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(cpus_a_node));
  std::vector<std::vector<pod_id>> pods(jobs.size());
  std::multimap<instant, std::size_t> ends;
  for (std::size_t next = 0; next < jobs.size() || !ends.empty();) {
    const bool arrival = next < jobs.size() && (ends.empty() || jobs[next].arrives <= ends.begin()->first);
    w.now = arrival ? jobs[next].arrives : ends.begin()->first;
    for (; !ends.empty() && ends.begin()->first == w.now; ends.erase(ends.begin())) {
      for (const pod_id pod : pods[ends.begin()->second]) w.remove(pod);
      book.ends(ends.begin()->second);
    }
    for (; next < jobs.size() && jobs[next].arrives == w.now; ++next) {
      const std::string name = "j" + std::to_string(next);
      const group_id gang = w.add(a_gang{name, static_cast<std::int32_t>(jobs[next].cpus)});
      for (std::int64_t i = 0; i < jobs[next].cpus; ++i) {
        pod_spec member = job(name + "-" + std::to_string(i), 1, jobs[next].expected);
        member.group = gang;
        pods[next].push_back(w.add(member));
      }
      book.arrives(next);
    }
    words started;
    for (const std::string& one : w.run(true))
      if (one.starts_with("bind") && one.find("-0 ") != std::string::npos)
        started.push_back(one.substr(5, one.find('-') - 5));
    words expected;
    for (const std::size_t one : book.pass(w.now)) {
      expected.push_back("j" + std::to_string(one));
      ends.emplace(w.now + jobs[one].runs, one);
    }
    INFO("seed " << seed << ", at " << w.now.count() / 1'000'000'000 << " s");
    REQUIRE(sorted(started) == sorted(expected));
  }
}

}  // namespace

TEST_CASE("EASY: who starts, and when, is what it is by the book", "[backfill]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) compare_with_the_book(seed, true);
}

TEST_CASE("EASY: so it is when jobs end early, or run longer than expected", "[backfill]") {
  for (std::uint64_t seed = 100; seed < 160; ++seed) compare_with_the_book(seed, false);
}

TEST_CASE("EASY on many nodes: gangs start as they do by the book, which counts", "[backfill]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) compare_gangs_with_the_book(seed, true);
  for (std::uint64_t seed = 100; seed < 140; ++seed) compare_gangs_with_the_book(seed, false);
}

TEST_CASE("EASY: a reservation moves to other nodes for who else would be kept out, if it is no later there",
          "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  for (const char* name : {"a", "b"}) w.add(a_node{name}.cpu(4));
  w.add(job("half", 2, 50s));
  w.add(job("whole", 4, 50s));
  CHECK(w.run(true) == words{"bind half a", "bind whole b"});
  const pod_id wide = w.add(job("wide", 4, 10s));
  CHECK(w.run(true) == words{"nominate wide a", "reject wide"});
  CHECK(w.cluster.reserved_from(wide) == 50s);
  w.add(job("long", 2, 200s));
  CHECK(w.run(true) == words{"nominate wide b", "bind long a", "reject wide"});
  CHECK(w.cluster.reserved_from(wide) == 50s);
  CHECK(w.scheduler.statistics().reservations == 1);
  w.now = 20s;
  w.remove(w.pod("half"));
  w.add(job("longer", 2, 200s));  // beside `long`, away from what is reserved
  CHECK(w.run(true).back() == "bind longer a");
  w.now = 50s;
  w.remove(w.pod("whole"));
  CHECK(count(w.run(true), "bind wide b") == 1);
}

TEST_CASE("nodes are reserved from when others are expected to end; who ends before may start there", "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  w.add(a_node{"n"}.cpu(8));
  w.add(job("long", 4, 100s));
  CHECK(w.run(true) == words{"bind long n"});
  const pod_id wide = w.add(job("wide", 8, 50s));
  CHECK(w.run(true) == words{"nominate wide n", "reject wide"});
  CHECK(w.cluster.reserved_from(wide) == 100s);
  CHECK(w.scheduler.statistics().reservations == 1);
  w.now = 20s;
  w.add(job("short", 4, 80s));
  CHECK(w.run(true) == words{"bind short n"});
  w.remove(w.pod("short"));
  w.add(job("too-long", 4, 81s));
  w.add(job("nobody-knows", 4, 0s));
  CHECK(count(w.run(true), "bind") == 0);
  w.remove(w.pod("long"));
  CHECK(w.run(true).front() == "bind wide n");
  CHECK_FALSE(w.cluster.reserved_from(wide).has_value());
  w.now = 70s;
  w.remove(wide);
  CHECK(sorted(w.run(true)) == words{"bind nobody-knows n", "bind too-long n"});
}

TEST_CASE("without backfill whoever fits starts, and who is more important does anyway", "[backfill]") {
  for (const backfill_rule rule : {backfill_rule::none, backfill_rule::easy}) {
    world w{by_age(), with(rule)};
    w.add(a_node{"n"}.cpu(8));
    w.add(job("long", 4, 100s));
    w.run(true);
    w.add(job("wide", 8, 50s));
    w.run(true);
    w.add(job("later", 4, 200s));
    CHECK((count(w.run(true), "bind later") == 1) == (rule == backfill_rule::none));
    pod_spec urgent = job("urgent", 4, 200s);
    urgent.priority = 1;
    if (rule == backfill_rule::none) w.remove(w.pod("later"));
    w.add(urgent);
    CHECK(count(w.run(true), "bind urgent") == 1);
  }
}

TEST_CASE("a gang has one reservation, its members do not keep it from each other", "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  for (const char* name : {"a", "b"}) w.add(a_node{name}.cpu(4));
  w.add(job("one", 4, 30s));
  w.add(job("two", 2, 60s));
  w.run(true);
  const group_id gang = w.add(a_gang{"gang", 4});
  for (int i = 0; i < 4; ++i) {
    pod_spec member = job("m" + std::to_string(i), 2, 10s);
    member.group = gang;
    w.add(member);
  }
  CHECK(count(w.run(true), "nominate m") == 4);
  for (int i = 0; i < 4; ++i) CHECK(w.cluster.reserved_from(w.pod("m" + std::to_string(i))) == 60s);
  w.now = 30s;
  w.remove(w.pod("one"));
  CHECK(count(w.run(true), "bind") == 0);
  w.add(job("fills", 2, 30s));
  w.add(job("overlaps", 2, 31s));
  CHECK(count(w.run(true), "bind") == 1);
  CHECK(w.cluster.state_of(w.pod("fills")) == pod_state::bound);
  w.now = 60s;
  w.remove(w.pod("two"));
  w.remove(w.pod("fills"));
  CHECK(count(w.run(true), "bind m") == 4);
}

TEST_CASE("conservative: everybody who finds no room has a reservation, and nobody later puts it off", "[backfill]") {
  world w{by_age(), with(backfill_rule::conservative)};
  w.add(a_node{"n"}.cpu(8));
  w.add(job("runs", 5, 100s));
  w.run(true);
  w.add(job("first", 4, 50s));
  w.add(job("second", 6, 50s));
  w.run(true);
  CHECK(w.cluster.reserved_from(w.pod("first")) == 100s);
  CHECK(w.cluster.reserved_from(w.pod("second")).has_value());
  w.add(job("small", 3, 200s));  // fits now and beside the first, not beside the second
  w.add(job("short", 3, 100s));
  const words said = w.run(true);
  CHECK(count(said, "bind short") == 1);
  CHECK(count(said, "bind small") == 0);
  w.now = 50s;  // what comes free early moves all of them, in their order
  w.remove(w.pod("runs"));
  w.run(true);
  CHECK(w.cluster.state_of(w.pod("first")) == pod_state::bound);
  CHECK(w.cluster.reserved_from(w.pod("second")) == 100s);
}

TEST_CASE("room for all of a gang ends its backoff, and who comes in that instant does not take it",
          "[backfill][wake]") {
  for (const bool one_by_one : {true, false}) {
    world w{profiles::bin_packing(), {.ties = tie_rule::lowest_row}};
    w.add(a_node{"n"}.cpu(100).gpus(8));
    for (int i = 0; i < 8; ++i) w.add(a_pod{"old" + std::to_string(i)}.gpus(1));
    w.run(true);
    const auto add = [&](const std::string& name, int size) {
      const group_id gang = w.add(a_gang{name, size});
      for (int i = 0; i < size; ++i) w.add(a_pod{name + std::to_string(i)}.gpus(1).in(gang));
    };
    add("big", 8);
    w.run(true);
    for (int i = 0; i < 7; ++i) {
      if (one_by_one) w.now += 3s;  // it is tried in vain, and backs off longer and longer
      w.remove(w.pod("old" + std::to_string(i)));
      if (one_by_one) w.run(true);
    }
    w.now += 100ms;
    w.remove(w.pod("old7"));
    add("new", 2);
    CHECK(count(w.run(true), "bind big") == 8);
  }
}

TEST_CASE("room for what a gang asks for since an update ends its backoff", "[backfill][wake]") {
  for (const bool new_member : {false, true}) {
    world w{profiles::bin_packing(), {.ties = tie_rule::lowest_row}};
    w.add(a_node{"n"}.cpu(100).gpus(4));
    for (const char* name : {"old0", "old1"}) w.add(a_pod{name}.gpus(2));
    w.run(true);
    const group_id gang = w.add(a_gang{"gang", new_member ? 2 : 1});
    const a_pod smaller = a_pod{"m0"}.gpus(1).in(gang);
    w.add(a_pod{"m0"}.gpus(new_member ? 1 : 4).in(gang));
    if (new_member) w.add(a_pod{"m1"}.gpus(4).in(gang));
    CHECK(count(w.run(true), "reject m0") == 1);
    if (new_member) {
      w.remove(w.pod("m1"));
      w.add(a_pod{"m2"}.cpu(1).gpus(1).in(gang));
    } else {
      w.must(w.cluster.update_pod(w.pod("m0"), smaller));
    }
    w.remove(w.pod("old0"));
    w.add(a_pod{"new"}.gpus(2));
    CHECK(count(w.run(true), "bind m") == (new_member ? 2 : 1));
  }
}

TEST_CASE("who has waited longer than max_overtake is overtaken by nobody any more", "[backfill]") {
  world w{by_age(), with(backfill_rule::none, 100s)};
  for (const char* name : {"a", "b"}) w.add(a_node{name}.cpu(4));
  for (int i = 0; i < 8; ++i) w.add(job("small" + std::to_string(i), 1, 0s));
  w.run(true);
  const group_id gang = w.add(a_gang{"gang", 4});
  for (int i = 0; i < 4; ++i) w.add(a_pod{"m" + std::to_string(i)}.cpu(1).in(gang));
  w.run(true);
  int next = 8;
  bool drained = false;
  for (int second = 10; second < 400 && !drained; second += 10) {
    w.now = std::chrono::seconds{second};
    w.remove(w.pod("small" + std::to_string(next - 8)));  // the oldest ends, and another comes
    w.add(job("small" + std::to_string(next++), 1, 0s));
    const words said = w.run(true);
    drained = count(said, "bind m") == 4;
    if (second <= 100) {
      CHECK(count(said, "bind small") == 1);
    }
  }
  CHECK(drained);
  CHECK(w.now <= 190s);  // four of those on its nodes had to end, and one of all ends every ten seconds
}

TEST_CASE("who waited before the scheduler was told the time has waited since then", "[backfill]") {
  world w{by_age(), with(backfill_rule::none, 100s)};
  w.add(a_node{"n"}.cpu(4));
  w.add(job("runs", 4, 0s));
  w.run(true);
  const pod_id waits = w.add(job("waits", 4, 0s));
  w.scheduler = scheduler{w.cluster, by_age(), with(backfill_rule::none, 100s)};
  CHECK(w.run_at(1000s) == words{"reject waits"});
  CHECK_FALSE(w.cluster.reserved_from(waits).has_value());
  CHECK(count(w.run_at(1400s), "nominate waits") == 1);
}

TEST_CASE("a new scheduler minds the ends that are expected, however much of the log is left", "[backfill]") {
  for (const std::size_t log_bound : {4u, 65536u}) {
    CAPTURE(log_bound);
    world w{by_age(), with(backfill_rule::easy), {.log_bound = log_bound}};
    w.add(a_node{"a"}.cpu(4));
    w.add(a_node{"b"}.cpu(4));
    w.add(job("runs", 4, 100s));
    w.add(job("longer", 4, 150s));
    w.run(true);
    for (int i = 0; i < 20; ++i) w.remove(w.add(a_pod{"passing"}.cpu(1).on(w.node("b"))));
    w.scheduler = scheduler{w.cluster, by_age(), with(backfill_rule::easy)};
    w.add(job("waits", 4, 50s));
    w.run(true);
    CHECK(w.cluster.reserved_from(w.pod("waits")) == 100s);
    // It may end at any moment: who waits is looked at again.
    CHECK(w.run_at(120s) == words{"reject waits", "reject waits"});
    CHECK(w.cluster.nominated_node_of(w.pod("waits")) == w.node("a"));
  }
}

TEST_CASE("conservative: a pod that ends late puts off all reservations, in their order", "[backfill]") {
  world w{by_age(), with(backfill_rule::conservative)};
  w.add(a_node{"n"}.cpu(4));
  const pod_id late = w.add(job("late", 4, 10s));
  w.run(true);
  for (const char* name : {"first", "second"}) w.add(job(name, 4, 10s));
  w.run(true);
  REQUIRE(w.cluster.reserved_from(w.pod("second")) == 20s);
  w.remove(late);
  w.now = 15s;
  CHECK(count(w.run(true), "bind first") == 1);
  CHECK(w.cluster.reserved_from(w.pod("second")) == 25s);
}

TEST_CASE("a gang that may not start any more holds no reservation", "[backfill]") {
  for (const char* why : {"a member leaves", "it needs more members", "the group is removed"}) {
    CAPTURE(why);
    world w{by_age(), with(backfill_rule::easy)};
    w.add(a_node{"a"}.cpu(4)), w.add(a_node{"b"}.cpu(4));
    w.add(job("one", 4, 50s)), w.add(job("two", 4, 60s));
    w.run(true);
    const group_id gang = w.add(a_gang{"gang", 2});
    for (const char* name : {"m0", "m1"}) {
      pod_spec member = job(name, 4, 10s);
      member.group = gang;
      w.add(member);
    }
    w.run(true);
    REQUIRE(w.cluster.reserved_from(w.pod("m0")) == 60s);
    w.add(job("next", 4, 0s));
    w.run(true);
    CHECK_FALSE(w.cluster.reserved_from(w.pod("next")).has_value());
    if (why[0] == 'a')
      w.remove(w.pod("m1"));
    else if (why[0] == 'i')
      w.must(w.cluster.update_group(gang, {.name = "gang", .policy = gangsched::gang{.min_count = 3}}));
    else
      w.must(w.cluster.remove_group(gang));
    w.run(true);
    CHECK_FALSE(w.cluster.reserved_from(w.pod("m0")).has_value());
    CHECK(w.cluster.reserved_from(w.pod("next")) == 50s);
    w.now = 50s;
    w.remove(w.pod("one"));
    CHECK(count(w.run(true), "bind next") == 1);
  }
}

TEST_CASE("EASY: when the owner of the reservation starts the next one gets it", "[backfill]") {
  for (const instant backoff : {0s, 10s}) {
    scheduler_options how = with(backfill_rule::easy);
    how.max_backoff = backoff;
    world w{by_age(), how};
    w.add(a_node{"a"}.cpu(4)), w.add(a_node{"b"}.cpu(4));
    w.add(job("one", 4, 50s)), w.add(job("two", 4, 60s));
    w.run(true);
    for (const char* name : {"first", "second"}) w.add(job(name, 4, 50s));
    w.run(true);
    w.now = 30s;  // the reservation moves, and all are tried
    w.must(w.cluster.set_terminating(w.pod("two"), true));
    w.must(w.cluster.set_terminating(w.pod("one"), true));
    w.run(true);
    w.now = 50s;
    w.remove(w.pod("one"));
    CHECK(count(w.run(true), "bind first") == 1);
    CHECK(w.cluster.reserved_from(w.pod("second")).has_value());
    w.now = 51s;
    w.add(job("endless", 4, 0s));
    w.remove(w.pod("two"));
    const words said = w.run(true);
    CHECK(count(said, "bind second") == 1);
    CHECK(count(said, "bind endless") == 0);
  }
}

TEST_CASE("a gang that has grown has a reservation for all that it needs", "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  for (const char* name : {"a", "b", "c"}) w.add(a_node{name}.cpu(4));
  w.add(job("one", 4, 50s)), w.add(job("two", 4, 60s)), w.add(job("three", 4, 70s));
  w.run(true);
  const group_id gang = w.add(a_gang{"gang", 2});
  const auto member = [&](const char* name) {
    pod_spec made = job(name, 4, 10s);
    made.group = gang;
    return w.add(made);
  };
  member("m0"), member("m1");
  w.run(true);
  REQUIRE(w.cluster.reserved_from(w.pod("m0")) == 60s);
  const pod_id last = member("m2");
  w.must(w.cluster.update_group(gang, {.name = "gang", .policy = gangsched::gang{.min_count = 3}}));
  w.run(true);
  CHECK(w.cluster.reserved_from(last) == 70s);
}

TEST_CASE("the first that waits is tried again when a change may tell when it can start", "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  const node_id n = w.add(a_node{"n"}.cpu(4));
  pod_spec runs = job("runs", 3, 0s);
  runs.start_time = 0s;
  const pod_id running = w.add(runs);
  w.run(true);
  const pod_id waits = w.add(job("waits", 4, 10s));
  w.run(true);
  REQUIRE_FALSE(w.cluster.reserved_from(waits).has_value());
  runs.node = n, runs.expected_run_time = 50s;
  w.must(w.cluster.update_pod(running, runs));
  w.add(job("endless", 1, 0s));
  CHECK(count(w.run(true), "bind") == 0);
  CHECK(w.cluster.reserved_from(waits) == 50s);
}

TEST_CASE("next_deadline names when a pod is expected to end, and when who waits has waited for too long",
          "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  w.add(a_node{"a"}.cpu(5)), w.add(a_node{"b"}.cpu(5));
  w.add(job("x", 4, 80s)), w.add(job("y", 5, 100s));
  w.run(true);
  CHECK_FALSE(w.scheduler.next_deadline().has_value());  // nobody waits
  w.add(job("wide", 5, 10s)), w.add(job("small", 1, 0s));
  w.run(true);
  CHECK(w.scheduler.next_deadline() == instant{80s});
  w.now = 80s;  // x may end at any moment, y's node is later
  w.run(true);
  CHECK(w.scheduler.next_deadline() == instant{100s});

  world bounded{by_age(), with(backfill_rule::none, 60s)};
  bounded.add(a_node{"n"}.cpu(4));
  bounded.add(job("runs", 2, 0s));
  bounded.run(true);
  const pod_id wide = bounded.add(job("wide", 4, 0s));
  bounded.run(true);
  CHECK(bounded.scheduler.next_deadline() == instant{60s} + 1ns);
  bounded.now = 60s + 1ns;
  CHECK(bounded.run(true) == words{"nominate wide n", "reject wide"});
  bounded.add(job("small", 2, 0s));
  CHECK(count(bounded.run(true), "bind") == 0);
  CHECK(bounded.cluster.reserved_from(wide).has_value());
}

TEST_CASE("DaemonSet pods stay, whatever is expected of them", "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  w.add(a_node{"n"}.cpu(4));
  pod_spec daemon = job("daemon", 4, 50s);
  daemon.controller = {controller_kind::daemon_set, "agent"};
  w.add(daemon);
  w.run(true);
  w.add(job("waits", 4, 10s));
  w.run(true);
  CHECK_FALSE(w.cluster.reserved_from(w.pod("waits")).has_value());
}

TEST_CASE("EASY: a node with less than runs there does not keep the reservation from moving", "[backfill]") {
  world w{by_age(), with(backfill_rule::easy)};
  const node_id shrinks = w.add(a_node{"c"}.cpu(20));
  w.add(job("much", 20, 0s));
  w.run(true);
  w.add(a_node{"a"}.cpu(4)), w.add(a_node{"b"}.cpu(4));
  w.add(job("half", 2, 50s)), w.add(job("whole", 4, 50s));
  w.run(true);
  w.must(w.cluster.update_node(shrinks, a_node{"c"}.cpu(4)));
  w.add(job("wide", 4, 10s));
  w.run(true);
  w.add(job("long", 2, 200s));
  CHECK(count(w.run(true), "bind long a") == 1);
}

}  // namespace gangsched::testing::backfill_test
