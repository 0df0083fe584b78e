#include "gangsched/plugins/node_resources_fit.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_resources_fit_test {

using namespace gangsched::literals;
using fit = node_resources_fit;
using strategy = fit::strategy;
using scores = std::vector<std::int64_t>;

namespace {

fit with(strategy how, std::vector<fit::weighted_resource> resources = {{"cpu", 1}, {"memory", 1}},
         std::vector<fit::shape_point> shape = {}) {
  return fit{{.strategy = how, .resources = std::move(resources), .shape = std::move(shape)}};
}

/// Two nodes of different size, a pod of 3 cores and 5000 bytes: kube's scoring tests.
scores of_two_nodes(fit plugin) {
  hooks on{std::move(plugin)};
  on.add(a_node{"small"}.cpu(4).memory("10000"));
  on.add(a_node{"large"}.cpu(6).memory("10000"));
  return on.scores(on.add(a_pod{"p"}.cpu(3).memory("5000"))).value();
}

/// The score of one pod on an empty node with 100m cpu.
std::int64_t at_utilization(std::int64_t percent, std::vector<fit::shape_point> shape) {
  hooks on{with(strategy::requested_to_capacity_ratio, {{"cpu", 1}}, std::move(shape))};
  const node_id node = on.add(a_node{"n"}.cpu_milli(100));
  return on.raw_score(on.add(a_pod{"p"}.cpu_milli(percent)), node);
}

}  // namespace

TEST_CASE("NodeResourcesFit filter: room, and all that lacks") {
  hooks on{fit{}};
  const node_id node = on.add(a_node{"n"}.cpu(10).memory("20").gpus(4).resource("ephemeral-storage", "100"));
  on.add(a_pod{"there"}.on(node).cpu(8).memory("19").gpus(1));
  const auto ask = [&](const a_pod& spec) {
    const pod_id pod = on.add(spec);
    const verdict said = on.filter(pod, node);
    must(on.cluster.remove_pod(pod));
    return said;
  };
  CHECK(ask(a_pod{"p"}) == verdict{});
  CHECK(ask(a_pod{"p"}.cpu(2).memory("1").gpus(3)) == verdict{});
  CHECK(ask(a_pod{"p"}.cpu_milli(2001)) == verdict{code::unschedulable, {"Insufficient cpu"}});
  CHECK(ask(a_pod{"p"}.cpu(3).memory("2").gpus(4)) ==
        verdict{code::unschedulable, {"Insufficient cpu", "Insufficient memory", "Insufficient nvidia.com/gpu"}});
  // One resource of which the node has less in all makes the whole verdict unresolvable.
  CHECK(ask(a_pod{"p"}.cpu(3).memory("21")) ==
        verdict{code::unresolvable, {"Insufficient cpu", "Insufficient memory"}});
  CHECK(ask(a_pod{"p"}.cpu(11)) == verdict{code::unresolvable, {"Insufficient cpu"}});
  CHECK(ask(a_pod{"p"}.cpu(10)) == verdict{code::unschedulable, {"Insufficient cpu"}});
  CHECK(ask(a_pod{"p"}.resource("ephemeral-storage", "101")) ==
        verdict{code::unresolvable, {"Insufficient ephemeral-storage"}});
  // What no node has.
  CHECK(ask(a_pod{"p"}.resource("example.com/foo", 1)) ==
        verdict{code::unresolvable, {"Insufficient example.com/foo"}});
}

TEST_CASE("NodeResourcesFit filter: the number of pods is never unresolvable") {
  hooks on{fit{}};
  const node_id one = on.add(a_node{"one"}.cpu(1).pods(1));
  const node_id none = on.add(a_node{"none"}.cpu(1).pods(0));
  const pod_id pod = on.add(a_pod{"p"});
  CHECK(on.filter(pod, one) == verdict{});
  CHECK(on.filter(pod, none) == verdict{code::unschedulable, {"Too many pods"}});
  on.add(a_pod{"there"}.on(one));
  CHECK(on.filter(pod, one) == verdict{code::unschedulable, {"Too many pods"}});
  CHECK(on.filter(on.add(a_pod{"large"}.cpu(2)), one) ==
        verdict{code::unresolvable, {"Insufficient cpu", "Too many pods"}});
}

TEST_CASE("NodeResourcesFit filter: an overcommitted node takes pods that want nothing of what lacks") {
  hooks on{fit{}};
  const node_id node = on.add(a_node{"n"}.cpu(1).memory("100"));
  on.add(a_pod{"there"}.on(node).cpu(3).memory("50"));
  CHECK(on.filter(on.add(a_pod{"a"}.memory("50")), node) == verdict{});
  CHECK(on.filter(on.add(a_pod{"b"}.cpu_milli(1)), node) == verdict{code::unschedulable, {"Insufficient cpu"}});
  CHECK(on.filter(on.add(a_pod{"c"}.cpu(0)), node) == verdict{});
}

TEST_CASE("NodeResourcesFit filter: init containers, sidecars, overhead and pod-level requests count") {
  hooks on{fit{}};
  const node_id node = on.add(a_node{"n"}.cpu(4));
  const auto ask = [&](const pod_spec& spec) { return on.filter(on.add(spec), node).code; };
  a_pod init = a_pod{"init"}.cpu(1);
  init.spec.init_containers.push_back({.requests = {{"cpu", 5}}});
  CHECK(ask(init) == code::unresolvable);
  a_pod sidecar = a_pod{"sidecar"}.cpu(2);
  sidecar.spec.init_containers.push_back({.requests = {{"cpu", 2}}, .sidecar = true});
  CHECK(ask(sidecar) == code::success);
  sidecar.spec.name = "sidecar2";
  sidecar.spec.overhead = {{"cpu", "1m"_q}};
  CHECK(ask(sidecar) == code::unresolvable);
  a_pod level = a_pod{"level"}.cpu(1);
  level.spec.resources = resource_list{{"cpu", 5}};
  CHECK(ask(level) == code::unresolvable);
  a_pod exact = a_pod{"exact"}.resource("cpu", "3999500u");  // two halves of a milli-core make one
  exact.container().resource("cpu", "500u");
  CHECK(ask(exact) == code::success);
}

TEST_CASE("NodeResourcesFit filter: ignored extended resources") {
  hooks on{fit{{.ignored_resources = {"example.com/foo", "cpu"}, .ignored_groups = {"other.io"}}}};
  const node_id node = on.add(a_node{"n"}.cpu(1));
  const auto ask = [&](const char* name, std::int64_t amount) {
    return on.filter(on.add(a_pod{"p" + std::to_string(amount)}.resource(name, amount)), node).code;
  };
  CHECK(ask("example.com/foo", 1) == code::success);
  CHECK(ask("other.io/anything", 2) == code::success);
  CHECK(ask("example.com/bar", 3) == code::unresolvable);
  CHECK(ask("cpu", 4) == code::unresolvable);  // no extended resource: not ignored
}

TEST_CASE("NodeResourcesFit: LeastAllocated") {
  CHECK(of_two_nodes(fit{}) == scores{37, 50});  // (25 + 50)/2, (50 + 50)/2
  CHECK(of_two_nodes(with(strategy::least_allocated, {{"cpu", 2}, {"memory", 1}})) == scores{33, 50});
  CHECK(of_two_nodes(with(strategy::least_allocated, {{"memory", 1}})) == scores{50, 50});
  CHECK(of_two_nodes(with(strategy::least_allocated, {{"example.com/foo", 1}})) == scores{0, 0});

  hooks on{fit{}};
  const node_id node = on.add(a_node{"n"}.cpu(10).memory("20000"));
  on.add(a_pod{"there"}.on(node).cpu(6).memory("10000"));
  CHECK(on.scores(on.add(a_pod{"p"}.cpu(3).memory("5000"))) == scores{(10 + 25) / 2});
  CHECK(on.scores(on.add(a_pod{"over"}.cpu(5).memory("5000"))) == scores{(0 + 25) / 2});
}

TEST_CASE("NodeResourcesFit: MostAllocated") {
  CHECK(of_two_nodes(with(strategy::most_allocated)) == scores{62, 50});  // (75 + 50)/2
  CHECK(of_two_nodes(with(strategy::most_allocated, {{"cpu", 2}, {"memory", 1}})) == scores{66, 50});
  hooks on{with(strategy::most_allocated)};
  const node_id node = on.add(a_node{"n"}.cpu(10).memory("20000"));
  on.add(a_pod{"there"}.on(node).cpu(6).memory("10000"));
  CHECK(on.scores(on.add(a_pod{"over"}.cpu(5).memory("5000"))) == scores{(100 + 75) / 2});
}

TEST_CASE("NodeResourcesFit: RequestedToCapacityRatio") {
  const std::vector<fit::shape_point> least{{0, 10}, {100, 0}};
  const std::vector<fit::shape_point> most{{0, 0}, {100, 10}};
  const auto by = [](std::vector<fit::shape_point> shape) {
    return with(strategy::requested_to_capacity_ratio, {{"cpu", 1}, {"memory", 1}}, std::move(shape));
  };
  CHECK(of_two_nodes(by(least)) == scores{38, 50});  // (25 + 50)/2 rounded
  CHECK(of_two_nodes(by(most)) == scores{63, 50});

  SECTION("the broken line") {
    const std::vector<fit::shape_point> broken{{10, 2}, {20, 5}, {70, 1}};
    CHECK(at_utilization(5, broken) == 20);  // before the first point
    CHECK(at_utilization(10, broken) == 20);
    CHECK(at_utilization(13, broken) == 29);  // 20 + 30·3/10
    CHECK(at_utilization(20, broken) == 50);
    CHECK(at_utilization(33, broken) == 40);  // 50 − 40·13/50 = 50 − 10.4, truncated to −10
    CHECK(at_utilization(70, broken) == 10);
    CHECK(at_utilization(100, broken) == 10);             // past the last
    CHECK(at_utilization(33, {{0, 10}, {70, 0}}) == 53);  // −47.1 becomes −47
    CHECK(at_utilization(500, most) == 100);              // more than there is counts as full
  }
  SECTION("a resource that scores 0 does not weigh") {
    hooks on{by(most)};
    on.add(a_node{"n"}.cpu(1).memory("1000"));
    CHECK(on.scores(on.add(a_pod{"half"}.cpu_milli(500).memory("0"))) == scores{50});
    CHECK(on.scores(on.add(a_pod{"nothing"}.cpu(0).memory("0"))) == scores{0});
  }
}

TEST_CASE("NodeResourcesFit score: defaults for containers that name no cpu or memory") {
  hooks on{fit{}};
  const node_id node = on.add(a_node{"n"}.cpu(1).memory("1000Mi"));
  CHECK(on.scores(on.add(a_pod{"none"})) == scores{(90 + 80) / 2});  // 100m and 200Mi
  CHECK(on.scores(on.add(a_pod{"two"}.container())) == scores{(80 + 60) / 2});
  CHECK(on.scores(on.add(a_pod{"zero"}.cpu(0).memory("0"))) == scores{100});
  on.add(a_pod{"there"}.on(node));
  CHECK(on.scores(on.add(a_pod{"next"})) == scores{(80 + 60) / 2});
}

TEST_CASE("NodeResourcesFit score: pod-level requests are ignored of the new pod, and count of those that run") {
  hooks on{with(strategy::least_allocated, {{"cpu", 1}})};
  const node_id node = on.add(a_node{"n"}.cpu(10));
  a_pod pod = a_pod{"p"}.cpu(1);
  pod.spec.resources = resource_list{{"cpu", 5}};
  CHECK(on.scores(on.add(pod)) == scores{90});
  pod.spec.name = "there";
  on.add(pod.on(node));
  CHECK(on.scores(on.add(a_pod{"next"}.cpu(1))) == scores{40});
}

TEST_CASE("NodeResourcesFit score: what is left out of the mean") {
  hooks on{with(strategy::least_allocated, {{"cpu", 1}, {"ephemeral-storage", 1}, {"nvidia.com/gpu", 5}, {"pods", 9}})};
  on.add(a_node{"all"}.cpu(10).resource("ephemeral-storage", "100").gpus(8));
  on.add(a_node{"bare"}.cpu(10));
  // Scalars only if requested, nothing of which the node has none, and "pods" is none of them.
  CHECK(on.scores(on.add(a_pod{"cpu"}.cpu(2))) == scores{(80 + 100) / 2, 80});
  CHECK(on.scores(on.add(a_pod{"gpu"}.cpu(2).gpus(4))) == scores{(80 + 100 + 5 * 50) / 7, 80});
}

TEST_CASE("NodeResourcesFit score: exact where a product leaves 64 bits") {
  hooks on{with(strategy::least_allocated, {{"memory", 1}})};
  const node_id node = on.add(a_node{"n"}.resource("memory", "9223372036854775807"));
  on.add(a_pod{"there"}.on(node).memory("4611686018427387904"));
  CHECK(on.scores(on.add(a_pod{"p"}.memory("2305843009213693952"))) == scores{24});  // (2^61 − 1)·100/(2^63 − 1) < 25
  CHECK(on.scores(on.add(a_pod{"over"}.memory("9223372036854775807"))) == scores{0});
}

TEST_CASE("NodeResourcesFit arguments") {
  using fields = argument::fields;
  using list = argument::list;
  const auto strategy_of = [](fields of) { return argument{fields{{"scoringStrategy", std::move(of)}}}; };
  const auto wrong = [](const argument& args) {
    auto made = fit::from(args);
    REQUIRE_FALSE(made);
    return made.error().message();
  };
  SECTION("what Kubernetes takes") {
    CHECK(of_two_nodes(must(fit::from({}))) == scores{37, 50});
    CHECK(of_two_nodes(must(fit::from(strategy_of({{"type", "MostAllocated"}})))) == scores{62, 50});
    CHECK(of_two_nodes(must(fit::from(strategy_of({{"type", "LeastAllocated"}, {"resources", list{}}})))) ==
          scores{37, 50});
    CHECK(of_two_nodes(must(fit::from(strategy_of(
              {{"type", "MostAllocated"},
               {"resources", list{fields{{"name", "cpu"}, {"weight", 2}}, fields{{"name", "memory"}}}}})))) ==
          scores{66, 50});
    const list shape{fields{{"utilization", 0}, {"score", 10}}, fields{{"utilization", 100}, {"score", 0}}};
    CHECK(of_two_nodes(must(fit::from(strategy_of(
              {{"type", "RequestedToCapacityRatio"}, {"requestedToCapacityRatio", fields{{"shape", shape}}}})))) ==
          scores{38, 50});
    hooks on{must(fit::from(fields{{"kind", "NodeResourcesFitArgs"},
                                   {"ignoredResources", list{"example.com/foo"}},
                                   {"ignoredResourceGroups", list{"other.io"}}}))};
    const node_id node = on.add(a_node{"n"});
    CHECK(on.filter(on.add(a_pod{"p"}.resource("example.com/foo", 1).resource("other.io/x", 1)), node) == verdict{});
  }
  SECTION("mistakes name their place") {
    CHECK(wrong(1) == "plugin NodeResourcesFit: args: has to be an object");
    CHECK(wrong(fields{{"ignored", list{}}}) == "plugin NodeResourcesFit: args.ignored: there is no such argument");
    CHECK(wrong(fields{{"ignoredResources", "x"}}) ==
          "plugin NodeResourcesFit: args.ignoredResources: has to be a list");
    CHECK(wrong(fields{{"ignoredResources", list{1}}}) ==
          "plugin NodeResourcesFit: args.ignoredResources[0]: has to be a text");
    CHECK(contains(wrong(strategy_of({{"type", "Random"}})), "args.scoringStrategy.type: \"Random\" is not"));
    CHECK(wrong(strategy_of({{"resources", list{fields{{"name", "cpu"}, {"weight", 101}}}}})) ==
          "plugin NodeResourcesFit: args.scoringStrategy.resources[0].weight: 101 is not in 1 to 100");
    CHECK(contains(wrong(strategy_of({{"type", "RequestedToCapacityRatio"}})), "at least one point"));
    const list falling{fields{{"utilization", 50}, {"score", 1}}, fields{{"utilization", 50}, {"score", 2}}};
    CHECK(contains(wrong(strategy_of({{"type", "RequestedToCapacityRatio"},
                                      {"requestedToCapacityRatio", fields{{"shape", falling}}}})),
                   "shape[1].utilization: has to be more"));
    CHECK(contains(wrong(fields{{"ignoredResourceGroups", list{"a/b"}}}), "before the '/'"));
    CHECK(contains(wrong(fields{{"ignoredResources", list{}}, {"ignoredResources", list{}}}), "is there twice"));
  }
}

TEST_CASE("NodeResourcesFit options are checked") {
  CHECK_FALSE(fit::check({}));
  CHECK(fit::check({.resources = {{"cpu", 0}}})->field == "resources[0].weight");
  CHECK(fit::check({.strategy = strategy::requested_to_capacity_ratio})->field == "shape");
  CHECK(fit::check({.shape = {{0, 11}}})->field == "shape[0].score");
  CHECK(fit::check({.shape = {{-1, 1}}})->field == "shape[0].utilization");
  CHECK(fit::check({.shape = {{5, 1}, {4, 1}}})->field == "shape[1].utilization");
  CHECK(fit::check({.ignored_groups = {"a", "b/c"}})->field == "ignored_groups[1]");
}

}  // namespace gangsched::testing::node_resources_fit_test
