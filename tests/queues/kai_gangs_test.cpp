#include "gangsched/queues/kai/gangs.hpp"

#include <algorithm>
#include <compare>
#include <random>
#include <vector>

#include "gangsched/queues/kai/min_runtime.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::kai_gangs_test {

using namespace gangsched::queues;
using namespace std::chrono_literals;
using kai::pod_set;

TEST_CASE("jobs go by priority, then by how much they lack, then by age") {
  using enum kai::elastic_state;
  CHECK(elastic_state_of(std::vector<pod_set>{{2, 4, 2}, {1, 1, 0}}) == below_minimum);
  CHECK(elastic_state_of(std::vector<pod_set>{{2, 4, 2}, {1, 1, 1}}) == at_minimum);
  CHECK(elastic_state_of(std::vector<pod_set>{{2, 4, 3}, {1, 1, 1}}) == above_minimum);
  CHECK(is_elastic(std::vector<pod_set>{{2, 2}, {1, 2}}));
  CHECK_FALSE(is_elastic(std::vector<pod_set>{{2, 2}, {1, 1}}));
  CHECK(std::is_lt(kai::job_order({50, above_minimum, 9}, {40, below_minimum, 1})));
  CHECK(std::is_lt(kai::job_order({50, at_minimum, 9}, {50, above_minimum, 1})));
  CHECK(std::is_lt(kai::job_order({50, below_minimum, 9}, {50, at_minimum, 1})));
  CHECK(std::is_lt(kai::job_order({50, below_minimum, 1}, {50, below_minimum, 9})));
  CHECK(std::is_lt(kai::job_order({50, below_minimum, 1, "a"}, {50, below_minimum, 1, "b"})));
  CHECK(std::is_eq(kai::job_order({50, below_minimum, 1, "a"}, {50, below_minimum, 1, "a"})));
}

TEST_CASE("a set below its minimum is filled first, then the one with the lower ratio") {
  CHECK(std::is_lt(kai::pod_set_order({2, 4, 1}, {1, 4, 1})));
  CHECK(std::is_eq(kai::pod_set_order({2, 4, 1}, {3, 4, 0})));
  CHECK(std::is_lt(kai::pod_set_order({2, 4, 3}, {1, 4, 2})));
  CHECK(std::is_gt(kai::pod_set_order({0, 4, 0}, {1, 4, 2})));
}

TEST_CASE("a job loses its surplus pod by pod, the most stretched set first, and then everything at once") {
  std::vector<pod_set> sets{{1, 3, 2}, {2, 5, 5}};
  std::vector<kai::set_eviction> out;
  std::vector<std::size_t> from;
  bool stays = true;
  while (stays) {
    stays = next_eviction(sets, out);
    for (const auto& one : out) {
      sets[one.set].allocated -= one.pods;
      if (stays) CHECK(one.pods == 1);
      from.push_back(one.set);
    }
  }
  CHECK(from == std::vector<std::size_t>{1, 0, 1, 1, 0, 1});  // 5/2, 2/1 (as 4/2, but it comes first), 4/2, 3/2, both
  CHECK(sets[0].allocated + sets[1].allocated == 0);
  CHECK_FALSE(next_eviction(sets, out));
  CHECK(out.empty());
}

TEST_CASE("peeling a job never takes a pod below a minimum while a set has more, and ends") {
  std::size_t steps = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 dice{seed};
    std::vector<pod_set> sets(1 + dice() % 4);
    for (pod_set& set : sets) set = {static_cast<std::uint32_t>(dice() % 4), 9, static_cast<std::uint32_t>(dice() % 6)};
    std::vector<kai::set_eviction> out;
    for (bool stays = true; stays; ++steps) {
      const std::vector<pod_set> before = sets;
      stays = next_eviction(sets, out);
      for (const auto& one : out) sets[one.set].allocated -= one.pods;
      const bool surplus =
          std::ranges::any_of(before, [](const pod_set& set) { return set.allocated > set.min_available; });
      if (surplus) {
        REQUIRE(out.size() == 1);
        REQUIRE(sets[out[0].set].allocated >= sets[out[0].set].min_available);
      } else {
        REQUIRE_FALSE(stays);
      }
    }
    for (const pod_set& set : sets) REQUIRE(set.allocated == 0);
  }
  CHECK(steps > 1000);
}

TEST_CASE("a protected job may lose what every set has beyond its minimum, counting pods that are leaving as there") {
  const std::vector<pod_set> sets{{2, 4, 3}, {1, 3, 1, 1}};
  CHECK(keeps_minimum(sets, std::vector<std::uint32_t>{1, 1}));
  CHECK_FALSE(keeps_minimum(sets, std::vector<std::uint32_t>{2, 0}));
  CHECK(keeps_minimum(std::vector<pod_set>{{5, 5, 1}}, std::vector<std::uint32_t>{0}));  // loses nothing
}

TEST_CASE(
    "case 24: a gang below its minimum is stale, and goes after the grace unless one succeeded or it is never to go") {
  CHECK(is_stale(std::vector<pod_set>{{2, 3, 1}}, false));
  CHECK(is_stale(std::vector<pod_set>{{2, 3, 2}, {1, 1, 0}}, false));
  CHECK_FALSE(is_stale(std::vector<pod_set>{{2, 3, 1}}, true));
  CHECK_FALSE(is_stale(std::vector<pod_set>{{2, 3, 1, 1}}, false));  // one is still leaving
  CHECK_FALSE(is_stale(std::vector<pod_set>{{2, 3, 0}}, false));     // not there at all
  CHECK_FALSE(kai::stale_too_long(10s, 60s, 69s));
  CHECK(kai::stale_too_long(10s, 60s, 70s));
  CHECK_FALSE(kai::stale_too_long(10s, -1s, 1000s));
  CHECK_FALSE(kai::stale_too_long(std::nullopt, 60s, 1000s));
}

/// The queues of case 23.
struct departments {
  queue_tree tree = queue_tree::make(std::vector<queue_link>{{"dev"},
                                                             {"prod"},
                                                             {"research"},
                                                             {"dev-team1", "dev"},
                                                             {"dev-team2", "dev"},
                                                             {"prod-team1", "prod"},
                                                             {"prod-team2", "prod"},
                                                             {"research-project", "research"}})
                        .value();
  kai::min_runtimes times{.preempt = {5s, 20s, 4s, std::nullopt, std::nullopt, std::nullopt, 15s},
                          .reclaim = {10s, 30s, 6s, 8s, std::nullopt, std::nullopt, 35s, 9s},
                          .default_preempt = 2s,
                          .default_reclaim = 1s};
  [[nodiscard]] instant preempt(std::string_view victim) const {
    return preempt_min_runtime(tree, times, tree.find(victim).value());
  }
  [[nodiscard]] instant reclaim(std::string_view reclaimer, std::string_view victim) const {
    return reclaim_min_runtime(tree, times, tree.find(reclaimer).value(), tree.find(victim).value());
  }
};

TEST_CASE("case 23: minimum run times are those of the child of the lowest common queue, or of the victim's own") {
  departments of;
  CHECK(of.preempt("prod-team1") == 20s);
  CHECK(of.preempt("prod-team2") == 15s);
  CHECK(of.preempt("dev-team1") == 5s);
  CHECK(of.preempt("research-project") == 4s);
  CHECK(of.reclaim("dev-team1", "prod-team2") == 30s);
  CHECK(of.reclaim("dev-team2", "dev-team1") == 8s);
  CHECK(of.reclaim("prod-team1", "prod-team2") == 35s);
  CHECK(of.reclaim("prod-team2", "prod-team2") == 35s);
  CHECK(of.reclaim("dev-team1", "dev-team2") == 10s);
  CHECK(of.reclaim("dev-team1", "research-project") == 6s);
  of.times.method = kai::reclaim_protection::own_queue;
  CHECK(of.reclaim("dev-team1", "prod-team2") == 35s);
  CHECK(of.reclaim("dev-team1", "dev-team2") == 10s);
  CHECK(of.reclaim("dev-team1", "research-project") == 9s);
  of.times = {.preempt = {}, .reclaim = {}, .default_preempt = 2s, .default_reclaim = 1s};
  CHECK(of.preempt("dev-team1") == 2s);
  CHECK(of.reclaim("dev-team1", "prod-team2") == 1s);
}

TEST_CASE("a job is protected until it ran its time, and not before it started") {
  CHECK(kai::is_protected(100s, 8s, 107s));
  CHECK_FALSE(kai::is_protected(100s, 8s, 108s));
  CHECK_FALSE(kai::is_protected(std::nullopt, 8s, 0s));
  CHECK(kai::is_protected(100s, instant::max(), instant::max() - 1ns));
}

}  // namespace gangsched::testing::kai_gangs_test
