// The C interface where memory ends: a code, nothing half done, no decision lost.
#include <string>
#include <utility>

#include "c/world.hpp"
#include "memory/failing_new.hpp"

namespace gangsched::testing::c_calls_test {

TEST_CASE("a call for which there is no memory says so, changes nothing and loses no decision") {
  long shortages = 0;
  for (long nth = 1;; ++nth) {
    INFO("allocation " << nth);
    c_world world;
    world.node("a-node-with-a-name-of-some-length", 4);
    const gangsched_pod_id pod = world.pod("a-pod-with-a-name-of-some-length", 1);
    world.schedules();
    gangsched_pod_spec spec{};
    spec.struct_size = sizeof spec;
    spec.name = "another-pod-with-a-name-of-some-length";
    gangsched_event events[2]{};
    events[0].kind = GANGSCHED_ADD_POD;
    events[0].spec = &spec;
    events[1].kind = GANGSCHED_CONFIRM;
    events[1].id = pod.value;
    gangsched_decision decisions[4];
    std::size_t count = 0;
    gangsched_code ran = GANGSCHED_OK, told = GANGSCHED_OK;
    {
      failing_allocation fails{nth};
      ran = gangsched_scheduler_run(world.scheduler, 0, decisions, 4, &count, world.error);
      if (ran == GANGSCHED_OK) told = gangsched_tell(world.cluster, world.scheduler, events, 2, world.error);
      if (!fails.stop()) break;
    }
    ++shortages;
    if (ran != GANGSCHED_OK) {
      REQUIRE(ran == GANGSCHED_NO_MEMORY);
      CHECK(world.error.message() == "no memory");
      std::size_t more = 0;
      world.must(gangsched_scheduler_run(world.scheduler, 0, decisions + count, 4 - count, &more, world.error));
      count += more;
    } else if (told != GANGSCHED_OK) {
      REQUIRE(told == GANGSCHED_NO_MEMORY);
    }
    REQUIRE(count == 1);
    CHECK(decisions[0].kind == GANGSCHED_BIND);
    CHECK(decisions[0].pod.value == pod.value);
    for (gangsched_event& one : events) {
      if (one.code == GANGSCHED_OK && ran == GANGSCHED_OK) continue;
      world.must(gangsched_tell(world.cluster, world.scheduler, &one, 1, world.error));
    }
    CHECK(gangsched_cluster_pod_state(world.cluster, pod) == GANGSCHED_POD_BOUND);
    CHECK(gangsched_cluster_pods(world.cluster, nullptr, 0) == 2);
  }
  CHECK(shortages > 10);
}

TEST_CASE("a fork and a plan for nodes for which there is no memory are refused, and there are none") {
  long shortages = 0;
  for (long nth = 1;; ++nth) {
    INFO("allocation " << nth);
    c_world world;
    world.node("a-node-with-a-name-of-some-length", 4);
    world.pod("a-pod-with-a-name-of-some-length", 1);
    world.pod("a-greedy-pod-with-a-name-of-some-length", 8);
    world.schedules();
    world.must(gangsched_scheduler_schedule_cycle(world.scheduler, 0, nullptr, world.error));
    const gangsched_amount room[] = {{"cpu", nullptr, 16, 0}, {"pods", nullptr, 110, 0}};
    gangsched_node_spec like{};
    like.struct_size = sizeof like;
    like.name = "a-shape-with-a-name-of-some-length";
    like.allocatable = {room, 2};
    gangsched_node_shape shape{};
    shape.struct_size = sizeof shape;
    shape.like = &like;
    const auto before = gangsched_cluster_digest(world.cluster);
    c_world fork;
    gangsched_cluster_destroy(std::exchange(fork.cluster, nullptr));
    gangsched_demand* demand = nullptr;
    gangsched_code forked = GANGSCHED_OK, asked = GANGSCHED_OK;
    {
      failing_allocation fails{nth};
      forked = gangsched_scheduler_fork(world.scheduler, &fork.cluster, &fork.scheduler, world.error);
      if (forked == GANGSCHED_OK)
        asked = gangsched_scheduler_demand(world.scheduler, &shape, 1, nullptr, &demand, world.error);
      if (!fails.stop()) {
        CHECK(gangsched_demand_plans(demand, nullptr) >= 1);
        gangsched_demand_destroy(demand);
        break;
      }
    }
    ++shortages;
    CHECK(gangsched_cluster_digest(world.cluster) == before);
    if (forked != GANGSCHED_OK) {
      REQUIRE(forked == GANGSCHED_NO_MEMORY);
      CHECK(fork.cluster == nullptr);
      CHECK(fork.scheduler == nullptr);
    } else {
      CHECK((asked == GANGSCHED_NO_MEMORY || asked == GANGSCHED_OK));
      CHECK((demand == nullptr) == (asked != GANGSCHED_OK));
      CHECK(fork.run() == world.run());
      gangsched_demand_destroy(demand);
    }
  }
  CHECK(shortages > 100);
}

TEST_CASE("a snapshot for which there is no memory is refused, and nothing is made of one") {
  long shortages = 0;
  for (long nth = 1;; ++nth) {
    INFO("allocation " << nth);
    c_world world;
    world.node("a-node-with-a-name-of-some-length", 4);
    world.pod("a-pod-with-a-name-of-some-length", 1);
    world.schedules();
    const auto before = gangsched_cluster_digest(world.cluster);
    c_world again;
    gangsched_cluster_destroy(std::exchange(again.cluster, nullptr));
    char* bytes = nullptr;
    std::size_t size = 0;
    gangsched_code taken = GANGSCHED_OK, made = GANGSCHED_OK;
    bool enough = false;
    {
      failing_allocation fails{nth};
      taken = gangsched_scheduler_snapshot(world.scheduler, &bytes, &size, world.error);
      if (taken == GANGSCHED_OK)
        made = gangsched_scheduler_from_snapshot(bytes, size, nullptr, nullptr, &again.cluster, &again.scheduler,
                                                 world.error);
      enough = !fails.stop();
    }
    CHECK(gangsched_cluster_digest(world.cluster) == before);
    if (taken != GANGSCHED_OK) {
      REQUIRE(taken == GANGSCHED_NO_MEMORY);
      CHECK(bytes == nullptr);
    } else if (made != GANGSCHED_OK) {
      REQUIRE(made == GANGSCHED_NO_MEMORY);
      CHECK(again.cluster == nullptr);
      CHECK(again.scheduler == nullptr);
    } else {
      CHECK(again.run() == world.run());
    }
    gangsched_free(bytes);
    if (enough) break;
    ++shortages;
  }
  CHECK(shortages > 100);
}

TEST_CASE("a simulation for which there is no memory is refused, and leaves nothing to free") {
  const std::string objects = R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"},
      "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
      "spec": {"hostnam": "x", "containers": [{"name": "c"}]}})";
  const gangsched_source file{"objects.json", objects.data(), objects.size()};
  const c_error error;
  long shortages = 0;
  for (long nth = 1;; nth += 1 + nth / 16) {
    INFO("allocation " << nth);
    char *json = nullptr, *warnings = nullptr;
    gangsched_code ran = GANGSCHED_OK;
    bool failed = false;
    {
      failing_allocation fails{nth};
      ran = gangsched_simulate(&file, 1, nullptr, &json, &warnings, error);
      failed = fails.stop();
    }
    if (!failed) {
      CHECK(ran == GANGSCHED_OK);
      CHECK(json != nullptr);
      CHECK(warnings != nullptr);
      gangsched_free(json);
      gangsched_free(warnings);
      break;
    }
    ++shortages;
    REQUIRE(ran == GANGSCHED_NO_MEMORY);
    REQUIRE(json == nullptr);
    REQUIRE(warnings == nullptr);
  }
  CHECK(shortages > 50);
}

TEST_CASE("decisions that nobody takes are not copied with each turn") {
  constexpr int pods = 100, last = 40;
  const auto allocations_of_last = [&](bool takes) {
    c_world world;
    world.node("a", 1000);
    for (int i = 0; i < pods; ++i) world.pod(("p" + std::to_string(i)).c_str(), 1);
    world.schedules();
    std::size_t before = 0;
    for (int i = 0; i < pods; ++i) {
      if (i == pods - last) before = allocations();
      bool worked = false;
      world.must(gangsched_scheduler_schedule_cycle(world.scheduler, 0, &worked, world.error));
      REQUIRE(worked);
      gangsched_decision taken[4];
      std::size_t count = 0;
      if (takes) world.must(gangsched_scheduler_take(world.scheduler, taken, 4, &count, world.error));
    }
    return allocations() - before;
  };
  CHECK(allocations_of_last(false) <= allocations_of_last(true) + 4);
}

}  // namespace gangsched::testing::c_calls_test
