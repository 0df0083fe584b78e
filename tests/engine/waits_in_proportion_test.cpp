// LeastSlackSort where the longest wait is a part of the run time (docs/deadlines.md).
#include "gangsched/plugins/least_slack_sort.hpp"
#include "timed_jobs.hpp"

namespace gangsched::testing::waits_in_proportion_test {

using namespace timed_jobs;

namespace {

kernel_table in_proportion(std::int32_t percent, instant longest = instant::max()) {
  return profile{least_slack_sort{{.max_wait = longest, .max_wait_percent = percent}}, node_resources_fit{},
                 gang_scheduling{}}
      .table();
}

}  // namespace

TEST_CASE("LeastSlackSort: who said nothing may wait for a part of its run time", "[deadline]") {
  world w{in_proportion(10, 100min)};
  w.add(job{.name = "unknown"});                  // by 100
  w.add(job{.name = "long", .runs = 500min});     // by 50
  w.add(job{.name = "longer", .runs = 9000min});  // by 100, the plugin's own
  w.add(job{.name = "said", .runs = 500min, .max_wait = 60min});
  hear(w);
  w.now = 40min;
  w.add(job{.name = "short", .runs = 90min});  // by 49
  w.add(job{.name = "late", .runs = 110min});  // by 51
  w.add(a_node{"n"}.cpu(100));
  CHECK(bound(w.run()) == words{"short", "long", "late", "said", "unknown", "longer"});
}

TEST_CASE("LeastSlackSort: of a group the longest run time counts of those that wait", "[deadline]") {
  world w{in_proportion(10)};
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(job{.name = "m0", .runs = 10min, .group = gang});
  w.add(job{.name = "m1", .runs = 10min, .group = gang});
  const pod_id longest = w.add(job{.name = "m2", .runs = 50min, .group = gang});
  w.add(job{.name = "p", .runs = 20min});
  hear(w);
  SECTION("of all") {
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"p", "m0", "m1", "m2"});
  }
  SECTION("who is removed does not count") {
    w.remove(longest);
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"m0", "m1", "p"});
  }
  SECTION("of a group that was tried in vain, too") {
    w.add(job{.name = "q", .runs = 60min});
    w.run();  // there is no node
    w.now = 1min;
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"p", "m0", "m1", "m2", "q"});
  }
  SECTION("it is what the pod says now") {
    w.must(w.cluster.update_pod(longest, job{.name = "m2", .runs = 15min, .group = gang}));
    w.add(a_node{"n"}.cpu(100));
    CHECK(bound(w.run()) == words{"m0", "m1", "m2", "p"});
  }
}

TEST_CASE("LeastSlackSort: a gang that was tried in vain takes another turn when its longest member is gone",
          "[deadline]") {
  world w{in_proportion(10)};
  pod_id longest;
  for (const char* name : {"a", "b"}) {
    const group_id gang = w.add(a_gang{name, 2});
    const std::string of = name;
    w.add(job{.name = of + "0", .runs = of == "a" ? 10min : 20min, .group = gang});
    w.add(job{.name = of + "1", .runs = of == "a" ? 10min : 20min, .group = gang});
    const pod_id third = w.add(job{.name = of + "2", .runs = of == "a" ? 50min : 20min, .group = gang});
    if (of == "a") longest = third;
  }
  w.run();  // there is no node
  SECTION("all are there") {
    w.add(a_node{"n"}.cpu(3));
    CHECK(bound(w.run()) == words{"b0", "b1", "b2"});
  }
  SECTION("one is gone") {
    w.remove(longest);
    w.add(a_node{"n"}.cpu(2));
    CHECK(bound(w.run()) == words{"a0", "a1"});
  }
}

TEST_CASE("LeastSlackSort: a wait beyond all time is none", "[deadline]") {
  const auto order = [](instant runs, std::int32_t percent, instant entered = instant{10s}) {
    return least_slack_sort{{.max_wait_percent = percent}}.key({.entered = entered, .expected_run_time = runs}).order;
  };
  CHECK(order(instant{1000s}, 5) == instant{60s}.count());
  CHECK(order(instant{1000s}, 0) == instant::max().count());
  CHECK(order(instant{1000s}, -5) == instant::max().count());
  CHECK(order(instant::max(), 100) >= instant::max().count() - 100);
  CHECK(order(instant::max(), 2'000'000'000) == instant::max().count());
  CHECK(order(instant::max(), 2'000'000'000, -instant{10s}) == instant::max().count());
}

}  // namespace gangsched::testing::waits_in_proportion_test
