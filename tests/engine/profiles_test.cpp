// Several profiles in one scheduler: pods name theirs, and those of other schedulers are left alone.
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

}  // namespace gangsched::testing::profiles_test
