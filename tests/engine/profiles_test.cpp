// Several profiles in one scheduler: pods name theirs, and those of other schedulers are left alone.
#include <limits>

#include "world.hpp"

namespace gangsched::testing::profiles_test {

namespace {

kernel_table named(std::string name, kernel_table table) {
  table.scheduler_name = std::move(name);
  return table;
}
kernel_table spreader() {
  return profile{priority_sort{}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}};
}
kernel_table packer() {
  return named("packer",
               profile{priority_sort{}, node_resources_fit{{.strategy = node_resources_fit::strategy::most_allocated}},
                       gang_scheduling{}});
}
a_pod of(const std::string& name, std::string scheduler) {
  a_pod pod = a_pod{name}.cpu(1);
  pod.spec.scheduler_name = std::move(scheduler);
  return pod;
}

struct two_profiles : world {
  two_profiles() : world(std::vector{spreader(), packer()}) {
    add(a_node{"a"}.cpu(8));
    add(a_node{"b"}.cpu(8));
    add(of("there", "somebody-else").on(node("a")));
  }
};

}  // namespace

TEST_CASE("each pod goes by the profile that it names", "[engine][profiles]") {
  two_profiles w;
  w.add(of("s", "default-scheduler"));
  w.add(of("p", "packer"));
  w.add(of("q", "packer"));
  w.add(of("gated", "packer").gate("wait"));  // this profile has no gates
  CHECK(w.run() == words{"bind s b", "bind p a", "bind q a", "bind gated a"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("pods of other schedulers are left alone until they become ours", "[engine][profiles]") {
  two_profiles w;
  const pod_id foreign = w.add(of("f", "somebody-else"));
  CHECK(w.run().empty());
  CHECK(w.scheduler.counts().active == 0);
  CHECK(w.scheduler.explain(foreign)->summary == "no profile has the scheduler name \"somebody-else\"");
  w.must(w.cluster.update_pod(foreign, of("f", "packer")));
  CHECK(w.run() == words{"bind f a"});
  const pod_id lost = w.add(of("l", "packer"));
  w.must(w.cluster.update_pod(lost, of("l", "somebody-else")));
  CHECK(w.run().empty());
}

TEST_CASE("members of a group have one scheduler name, or the group fails with an error", "[engine][profiles]") {
  two_profiles w;
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(of("foreign", "somebody-else").in(gang));
  const pod_id one = w.add(of("one", "packer").in(gang));
  CHECK(w.run() == words{"reject one"});
  CHECK(w.scheduler.explain(one)->summary.find("different scheduler names") != std::string::npos);
}

namespace {
struct one_queue {
  static constexpr std::string_view name = "OneQueue";
  using points = implements<point::queue_order>;
  [[nodiscard]] std::int64_t queue_of(const pod_info&) const { return 0; }
  [[nodiscard]] bool queue_before(const queue_head&, const queue_head&, const cluster_view&) const { return false; }
};
}  // namespace

TEST_CASE("profiles have one plugin that orders several queues, or none of them has", "[engine][profiles]") {
  kernel_table first = spreader(), second = packer();
  add_plugin(first, lower(one_queue{}));
  CHECK(scheduler::check(std::vector{first}));
  CHECK(scheduler::check(std::vector{first, second}).error().message() ==
        "profile packer: queue_order: all profiles have the same queues: it is OneQueue elsewhere");
  CHECK(scheduler::check(std::vector{second, first}).error().field == "queue_order");
  add_plugin(second, lower(one_queue{}));
  CHECK(scheduler::check(std::vector{first, second}));
  second.plugins.back().name = "Another";
  CHECK(scheduler::check(std::vector{first, second}).error().field == "queue_order");
  add_plugin(first, lower(one_queue{}));
  CHECK(scheduler::check(std::vector{first}).error().reason == "a profile has at most one");
}

TEST_CASE("profiles that cannot share a queue are refused", "[engine][profiles]") {
  CHECK(scheduler::check(std::vector{spreader(), packer()}));
  CHECK(scheduler::check({}).error().code == errc::malformed);
  const result<void> twice = scheduler::check(std::vector{packer(), packer()});
  CHECK(twice.error().message() == "profile packer: scheduler_name: two profiles have it");
  kernel_table other = spreader();
  other.scheduler_name = "other";
  other.plugins[other.at(point::queue_sort)[0]].name = "MySort";
  CHECK(scheduler::check(std::vector{spreader(), other}).error().field == "queue_sort");
  other.order[static_cast<std::size_t>(point::queue_sort)].clear();
  CHECK(scheduler::check(std::vector{spreader(), other}).error().object == "profile other");
}

TEST_CASE("a scheduler throws what check says of its profiles, and the cluster can have another",
          "[engine][profiles]") {
  cluster on;
  CHECK_THROWS_AS(scheduler(on, kernel_table{}), bad_result_access);
  CHECK_THROWS_AS(scheduler(on, std::vector<kernel_table>{}), bad_result_access);
  try {
    const scheduler never{on, std::vector{packer(), packer()}};
    FAIL("two profiles of one name");
  } catch (const bad_result_access& thrown) {
    CHECK(std::string{thrown.what()} == "profile packer: scheduler_name: two profiles have it");
  }
  on.add_node({.name = "n", .allocatable = {{"cpu", 4}, {"pods", 10}}}).value();
  const pod_id pod =
      on.add_pod({.name = "p", .containers = {{.requests = {{"cpu", 1}}}}, .scheduler_name = "packer"}).value();
  scheduler good{on, packer()};
  static_cast<void>(good.schedule_cycle(instant{0}));
  CHECK(on.state_of(pod) == pod_state::assumed);
}

namespace {
struct lets_all_by {
  static constexpr std::string_view name = "LetsAllBy";
  using points = implements<point::filter, point::permit>;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::nothing>) const { return status::success(); }
  [[nodiscard]] permit_verdict permit(const reservation&, permit_room&) const { return {}; }
};
struct all_the_same {
  static constexpr std::string_view name = "AllTheSame";
  using points = implements<point::score, point::score_placement>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::nothing>) const { return 100; }
  [[nodiscard]] std::int64_t score_placement(const group_view&, const placement_view&,
                                             std::span<const assignment>) const {
    return 100;
  }
};
/// A profile with so many more plugins like @p one at the point.
kernel_table with_more(plugin_entry one, point at, std::size_t count) {
  one.points = {};
  one.points.add(at);
  kernel_table made = spreader();
  while (made.at(at).size() < count) add_plugin(made, one);
  return made;
}
}  // namespace

TEST_CASE("a profile with more filters or permit plugins than are told apart is refused", "[engine][profiles]") {
  const auto check = [](point at, std::size_t count) {
    return scheduler::check(std::vector{with_more(lower(lets_all_by{}), at, count)});
  };
  CHECK(check(point::filter, 253));
  const result<void> filters = check(point::filter, 254);
  REQUIRE_FALSE(filters);
  CHECK(filters.error().code == errc::out_of_range);
  CHECK(filters.error().message() == "profile default-scheduler: filter: a profile has at most 253 plugins there");
  CHECK(check(point::permit, 64));
  const result<void> permits = check(point::permit, 65);
  REQUIRE_FALSE(permits);
  CHECK(permits.error().message() == "profile default-scheduler: permit: a profile has at most 64 plugins there");
}

TEST_CASE("a profile whose weighted scores could add up to more than doubles count is refused", "[engine][profiles]") {
  constexpr std::int64_t most = (std::int64_t{1} << 53) / 100;
  for (const point at : {point::score, point::score_placement}) {
    const auto check = [&](std::vector<std::int64_t> weights) {
      kernel_table made{profile{priority_sort{}, gang_scheduling{}}.table()};
      for (const std::int64_t weight : weights) {
        plugin_entry one = lower(all_the_same{}, weight);
        one.points = {};
        one.points.add(at);
        add_plugin(made, std::move(one));
      }
      return scheduler::check(std::vector{made});
    };
    CHECK(check({most}));
    CHECK(check({most - 5, 5}));
    const result<void> negative = check({3, -1});
    REQUIRE_FALSE(negative);
    CHECK(negative.error().message() == "profile default-scheduler: AllTheSame.weight: is negative");
    for (const std::vector<std::int64_t>& weights :
         {std::vector{most + 1}, std::vector{most - 5, std::int64_t{6}},
          std::vector{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()}}) {
      const result<void> refused = check(weights);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == errc::out_of_range);
      CHECK(refused.error().object == "profile default-scheduler");
      CHECK(refused.error().field == (at == point::score ? "score" : "score_placement"));
      CHECK(refused.error().reason == "total score of its plugins, weight x 100, could exceed 2^53");
    }
  }
}

}  // namespace gangsched::testing::profiles_test
