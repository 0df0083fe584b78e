// Queues that drain: who runs in them is told to go.
#include "engine_parts.hpp"
#include "gangsched/engine/leaving_pods.hpp"
#include "queue_world.hpp"

namespace gangsched::testing::draining_queues_test {

namespace {

kernel_table with_kai() { return profile{kai_policy{}, node_resources_fit{}}; }

struct teams : queue_world {
  explicit teams(kernel_table profile = profiles::with_queues(), const cluster_options& bounds = {})
      : queue_world(std::move(profile), lowest_first(), bounds) {
    add(a_node{"n"}.cpu(8));
    queue({.name = "all"});
    queue({.name = "a", .parent = "all"});
    queue({.name = "b", .parent = "all"});
  }
  pod_id ask(const char* name, const char* queue, group_id group = {}) {
    return queue_world::ask(a_pod{name}.cpu(1).in(group), queue);
  }
};

const queue_spec drained{.name = "a", .parent = "all", .state = queue_state::drain};

}  // namespace

TEST_CASE("who runs in a queue that drains is evicted, and nobody else", "[engine][queues]") {
  for (const bool kai : {false, true}) {
    CAPTURE(kai);
    teams w{kai ? with_kai() : profiles::with_queues()};
    const pod_id one = w.ask("a-0", "a");
    w.ask("b-0", "b");
    w.add(a_pod{"free"}.cpu(1));
    CHECK(w.run(true).size() == 3);
    w.update(drained);
    w.ask("a-1", "a");
    CHECK(w.run() == words{"evict a-0 n", "reject a-1"});
    CHECK(w.run().empty());  // once at an instant
    w.must(w.cluster.remove_pod(one));
    CHECK(w.run().empty());
    w.now += 10s;
    CHECK(w.run().empty());
    w.update({.name = "a", .parent = "all"});
    CHECK(w.run() == words{"bind a-1 n"});
  }
}

TEST_CASE("a host that lets a pod run in a queue that drains is told again after a second", "[engine][queues]") {
  teams w;
  const pod_id one = w.ask("a-0", "a");
  w.run(true);
  w.update(drained);
  CHECK(w.run() == words{"evict a-0 n"});
  CHECK(w.scheduler.next_deadline() == w.now + 1s);
  w.now += 999ms;
  CHECK(w.run().empty());
  w.now += 1ms;
  CHECK(w.run() == words{"evict a-0 n"});
  SECTION("until it goes") { w.must(w.cluster.set_terminating(one)); }
  SECTION("until the queue is open") { w.update({.name = "a", .parent = "all"}); }
  CHECK(w.run().empty());
  CHECK(!w.scheduler.next_deadline().has_value());
  w.now += 5s;
  CHECK(w.run().empty());
  CHECK(!w.scheduler.next_deadline().has_value());
}

TEST_CASE("queues below one that drains drain, and who comes into one while it runs goes", "[engine][queues]") {
  teams w;
  w.ask("a-0", "a");
  group_spec group = a_gang{"g", 1};
  group.queue = "b";
  const group_id gang = w.add(group);
  w.ask("g-0", "", gang);
  w.ask("outside-0", "outside");
  w.queue({.name = "outside"});
  CHECK(w.run(true).size() == 3);
  SECTION("above") {
    w.update({.name = "all", .state = queue_state::drain});
    CHECK(w.run() == words{"evict a-0 n", "evict g-0 n"});
  }
  SECTION("a group that says another queue") {
    w.update(drained);
    CHECK(w.run() == words{"evict a-0 n"});
    group.queue = "a";
    w.must(w.cluster.update_group(gang, group));
    CHECK(w.run() == words{"evict g-0 n"});
  }
  SECTION("bound there by others") {
    w.update(drained);
    CHECK(w.run() == words{"evict a-0 n"});
    pod_spec other = a_pod{"a-9"}.cpu(1).on(w.node("n"));
    other.queue = "a";
    w.add(other);
    CHECK(w.run() == words{"evict a-9 n"});
  }
  SECTION("a queue that is put below it") {
    w.update(drained);
    CHECK(w.run() == words{"evict a-0 n"});
    w.update({.name = "outside", .parent = "a"});
    CHECK(w.run() == words{"evict outside-0 n"});
  }
}

TEST_CASE("a pod that was decided before its queue drained goes when it runs", "[engine][queues]") {
  teams w;
  const pod_id one = w.ask("a-0", "a");
  CHECK(w.run() == words{"bind a-0 n"});
  w.update(drained);
  CHECK(w.run().empty());
  w.must(w.scheduler.confirm(one));
  CHECK(w.run() == words{"evict a-0 n"});
}

TEST_CASE("queues drain as well when the log was too short to say so", "[engine][queues]") {
  teams w{profiles::with_queues(), {.log_bound = 1}};
  w.ask("a-0", "a");
  w.run(true);
  w.update(drained);
  for (int i = 0; i < 5; ++i) w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(8 + i)));
  CHECK(w.run() == words{"evict a-0 n"});
}

TEST_CASE("where no plugin reads queues none drains", "[engine][queues]") {
  teams w{profiles::kube_default()};
  w.ask("a-0", "a");
  CHECK(w.run(true) == words{"bind a-0 n"});
  w.update(drained);
  CHECK(w.run().empty());
}

TEST_CASE("pods that change in queues that drain while nobody asks who goes take no more memory each time",
          "[engine][queues][parts]") {
  engine_parts w{{}, profiles::with_queues()};
  const node_id node = w.add(a_node{"n"}.cpu(8));
  world::must(w.cluster.queues().add({.name = "a", .state = queue_state::drain}));
  const auto pod = [&](const char* name, int turn) -> pod_spec {
    return a_pod{name}.cpu(1).queue("a").label("turn", std::to_string(turn)).on(node);
  };
  const pod_id one = w.add(pod("one", 0)), two = w.add(pod("two", 0));
  engine::leaving_pods leaving{w.state, w.entities};
  const auto recheck = [&](instant now) {
    std::vector<row_t> told;
    leaving.recheck(now, [&](row_t gone, const char*) { told.push_back(gone); });
    return told;
  };
  CHECK(recheck(0s) == std::vector{one.row, two.row});
  std::uint64_t seen = w.state.log.end();
  for (int i = 1; i < 500; ++i) {
    for (const pod_id which : {one, two})
      world::must(w.cluster.update_pod(which, pod(which == one ? "one" : "two", i)));
    for (; seen < w.state.log.end(); ++seen) leaving.on_change(w.state.log[seen]);
  }
  CHECK(leaving.save().changed.size() <= 100);
  CHECK(recheck(1s) == std::vector{one.row, two.row});
}

}  // namespace gangsched::testing::draining_queues_test
