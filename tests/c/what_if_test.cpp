// Forks, and questions about nodes that are asked in them.
#include "c/world.hpp"

namespace gangsched::testing::c_what_if_test {

namespace {

/// A world on handles that a fork made.
struct c_fork : c_world {
  explicit c_fork(const c_world& of) {
    gangsched_cluster_destroy(cluster);
    cluster = nullptr;
    of.must(gangsched_scheduler_fork(of.scheduler, &cluster, &scheduler, of.error));
  }
};

struct c_demand {
  gangsched_demand* it = nullptr;
  ~c_demand() { gangsched_demand_destroy(it); }
};

/// Shapes of so many CPUs.
struct c_shapes {
  std::vector<gangsched_amount> amounts;
  std::vector<gangsched_node_spec> nodes;
  std::vector<gangsched_node_shape> all;

  c_shapes() { amounts.reserve(64), nodes.reserve(16); }
  c_shapes& add(const char* name, std::int64_t cpu, std::int64_t price, std::uint32_t most = 0) {
    amounts.push_back({"cpu", nullptr, cpu, 0});
    amounts.push_back({"pods", nullptr, 110, 0});
    gangsched_node_spec like{};
    like.struct_size = sizeof like;
    like.name = name;
    like.allocatable = {amounts.data() + amounts.size() - 2, 2};
    nodes.push_back(like);
    gangsched_node_shape shape{};
    shape.struct_size = sizeof shape;
    shape.like = &nodes.back();
    shape.has_price = true;
    shape.price = price;
    shape.most = most;
    all.push_back(shape);
    return *this;
  }
};

}  // namespace

TEST_CASE("a fork in C decides as its original does, and what is done in it does not show there") {
  c_world world;
  world.node("a", 4);
  const auto train = world.gang("train", 3);
  for (const char* name : {"t0", "t1", "t2"}) world.pod(name, 2, train);
  world.schedules();
  CHECK(world.run() == std::vector<std::string>{"t0 reject", "t1 reject", "t2 reject"});
  const auto before = gangsched_cluster_digest(world.cluster);

  c_fork fork{world};
  CHECK(gangsched_cluster_digest(fork.cluster) == before);
  CHECK(gangsched_scheduler_decisions(fork.scheduler) == gangsched_scheduler_decisions(world.scheduler));
  fork.node("b", 4);
  const std::int64_t later = 20'000'000'000;
  const auto tried = fork.run(later);
  CHECK(tried == std::vector<std::string>{"t0 bind a", "t1 bind b", "t2 bind b"});
  CHECK(gangsched_cluster_digest(world.cluster) == before);
  CHECK(gangsched_scheduler_counts(world.scheduler).unschedulable == 1);  // the gang

  world.node("b", 4);
  CHECK(world.run(later) == tried);
  CHECK(gangsched_cluster_digest(world.cluster) == gangsched_cluster_digest(fork.cluster));
}

TEST_CASE("a fork in C hands out what its original decided and nobody took, and outlives it") {
  auto world = std::make_unique<c_world>();
  world->node("a", 4);
  const auto pod = world->pod("p", 1, {}, 7);
  world->schedules();
  world->must(gangsched_scheduler_schedule_cycle(world->scheduler, 0, nullptr, world->error));
  c_fork fork{*world};
  world.reset();
  gangsched_decision one{};
  std::size_t count = 0;
  fork.must(gangsched_scheduler_take(fork.scheduler, &one, 1, &count, fork.error));
  REQUIRE(count == 1);
  CHECK(one.kind == GANGSCHED_BIND);
  CHECK(one.pod.value == pod.value);
  CHECK(one.pod_cookie == 7);
  fork.must(gangsched_scheduler_confirm(fork.scheduler, one.pod, one.attempt, fork.error));
  CHECK(gangsched_cluster_pod_state(fork.cluster, pod) == GANGSCHED_POD_BOUND);
}

TEST_CASE("a cluster is forked alone for a scheduler of another kind, and forks keep no metrics") {
  c_world world;
  world.node("a", 4);
  world.node("b", 4);
  world.pod("p", 1);
  gangsched_scheduler_options options{};
  options.struct_size = sizeof options;
  options.metrics = GANGSCHED_METRICS_COUNTED;
  world.schedules(nullptr, &options);
  c_world other;
  gangsched_cluster_destroy(other.cluster);
  other.cluster = nullptr;
  world.must(gangsched_cluster_fork(world.cluster, &other.cluster, world.error));
  options.ties = GANGSCHED_TIES_LOWEST_ROW;
  other.schedules(nullptr, &options);
  CHECK(other.run() == std::vector<std::string>{"p bind a"});
  CHECK(gangsched_scheduler_counts(world.scheduler).active == 1);
  c_fork fork{world};
  char* text = nullptr;
  CHECK(gangsched_scheduler_metrics(fork.scheduler, &text, fork.error) == GANGSCHED_WRONG_STATE);
  CHECK(gangsched_scheduler_fork(nullptr, &other.cluster, &other.scheduler, other.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_fork(world.scheduler, nullptr, &other.scheduler, other.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_cluster_fork(world.cluster, nullptr, other.error) == GANGSCHED_MALFORMED);
}

TEST_CASE("demand says in C which nodes make those fit who wait, cheapest first, and whom none helps") {
  c_world world;
  world.node("a", 4);
  const auto train = world.gang("train", 3);
  for (const char* name : {"t0", "t1", "t2"}) world.pod(name, 4, train);
  const auto greedy = world.pod("greedy", 100);
  world.schedules();
  world.run();
  const auto before = gangsched_cluster_digest(world.cluster);

  c_shapes shapes;
  shapes.add("small", 4, 10).add("large", 8, 15);
  gangsched_demand_options options{};
  options.struct_size = sizeof options;
  c_demand demand;
  world.must(gangsched_scheduler_demand(world.scheduler, shapes.all.data(), 2, &options, &demand.it, world.error));
  const gangsched_demand_plan* plans = nullptr;
  const std::size_t count = gangsched_demand_plans(demand.it, &plans);
  REQUIRE(count >= 2);
  CHECK(plans[0].price == 15);  // two beside each other, one where there is room
  REQUIRE(plans[0].node_count == 1);
  CHECK(plans[0].nodes[0].shape == 1);
  CHECK(plans[0].nodes[0].pod_count == 2);
  REQUIRE(plans[0].elsewhere_count == 1);
  CHECK(text_of(gangsched_cluster_node_name(world.cluster, plans[0].elsewhere[0].node)) == "a");
  CHECK(plans[1].price == 20);
  CHECK(plans[1].node_count == 2);
  const gangsched_pod_id* left = nullptr;
  REQUIRE(gangsched_demand_left(demand.it, &left) == 1);
  CHECK(left[0].value == greedy.value);
  CHECK(gangsched_cluster_digest(world.cluster) == before);

  options.groups = &train;
  options.group_count = 1;
  shapes.all[1].most = 0, shapes.all[1].has_price = false;
  c_demand again;
  world.must(gangsched_scheduler_demand(world.scheduler, shapes.all.data(), 2, &options, &again.it, world.error));
  REQUIRE(gangsched_demand_plans(again.it, &plans) >= 1);
  CHECK(plans[0].price == 1);
  CHECK(gangsched_demand_left(again.it, &left) == 0);
}

TEST_CASE("questions about nodes in C say what is wrong with them") {
  c_world world;
  world.node("a", 4);
  world.pod("p", 1);
  world.schedules();
  world.run(5);
  c_shapes shapes;
  shapes.add("small", 4, -1);
  c_demand demand;
  const auto ask = [&](const gangsched_demand_options* options) {
    return gangsched_scheduler_demand(world.scheduler, shapes.all.data(), 1, options, &demand.it, world.error);
  };
  gangsched_demand_options options{};
  options.struct_size = sizeof options;
  options.now = 5;
  CHECK(ask(&options) == GANGSCHED_OUT_OF_RANGE);
  shapes.all[0].price = 1;
  options.now = 4;
  CHECK(ask(&options) == GANGSCHED_TIME_WENT_BACK);
  options.now = 5;
  shapes.all[0].like = nullptr;
  CHECK(ask(&options) == GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "shape 0: like: is null");
  shapes.all[0].like = shapes.nodes.data();
  options.pod_count = 1;
  CHECK(ask(&options) == GANGSCHED_MALFORMED);
  options.pod_count = 0;
  options.struct_size = 4;
  CHECK(ask(&options) == GANGSCHED_MALFORMED);
  CHECK(demand.it == nullptr);
  CHECK(gangsched_scheduler_demand(world.scheduler, nullptr, 1, nullptr, &demand.it, world.error) ==
        GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "shapes: is null");
  CHECK(gangsched_demand_plans(nullptr, nullptr) == 0);

  const gangsched_node_id none{};
  gangsched_removal_options at{};
  at.struct_size = sizeof at;
  at.now = 5;
  gangsched_removable* removable = nullptr;
  CHECK(gangsched_scheduler_removable(world.scheduler, &none, 1, &at, &removable, world.error) == GANGSCHED_UNKNOWN);
  CHECK(gangsched_scheduler_removable(world.scheduler, nullptr, 1, &at, &removable, world.error) ==
        GANGSCHED_MALFORMED);
  at.stay_count = 1;
  CHECK(gangsched_scheduler_removable(world.scheduler, &none, 0, &at, &removable, world.error) == GANGSCHED_MALFORMED);
  CHECK(removable == nullptr);
  CHECK(gangsched_removable_nodes(nullptr, nullptr) == 0);
}

TEST_CASE("removable says in C which nodes can be drained one after another, and where their pods would go") {
  c_world world;
  const gangsched_node_id nodes[] = {world.node("a", 4), world.node("b", 4), world.node("c", 4)};
  const gangsched_pod_id pods[] = {world.pod("p", 2), world.pod("q", 2), world.pod("r", 2)};
  for (std::size_t i = 0; i < 3; ++i) {
    world.must(gangsched_cluster_assume(world.cluster, pods[i], nodes[i], world.error));
    world.must(gangsched_cluster_bind(world.cluster, pods[i], world.error));
  }
  world.schedules();
  gangsched_removable* answer = nullptr;
  world.must(gangsched_scheduler_removable(world.scheduler, nodes, 3, nullptr, &answer, world.error));
  const gangsched_removable_node* found = nullptr;
  REQUIRE(gangsched_removable_nodes(answer, &found) == 1);  // two nodes hold three pods, one does not
  CHECK(found[0].node.value == nodes[0].value);
  REQUIRE(found[0].move_count == 1);
  CHECK(found[0].moves[0].pod.value == pods[0].value);
  CHECK(found[0].moves[0].node.value != nodes[0].value);
  gangsched_removable_destroy(answer);

  gangsched_removal_options options{};
  options.struct_size = sizeof options;
  options.stay = pods;
  options.stay_count = 3;
  world.must(gangsched_scheduler_removable(world.scheduler, nodes, 3, &options, &answer, world.error));
  CHECK(gangsched_removable_nodes(answer, &found) == 0);
  gangsched_removable_destroy(answer);
  CHECK(gangsched_cluster_pod_state(world.cluster, pods[0]) == GANGSCHED_POD_BOUND);
}

}  // namespace gangsched::testing::c_what_if_test
