#include "gangsched/plugins/node_resources_fit_plus.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_resources_fit_plus_test {

using fit_plus = node_resources_fit_plus;
using strategy = fit_plus::strategy;
using scores = std::vector<std::int64_t>;

TEST_CASE("NodeResourcesFitPlus: the walk-through of two nodes with eight dongles") {
  hooks on{fit_plus{{{"example.com/dongle", strategy::most_allocated, 20},
                     {"cpu", strategy::least_allocated, 2},
                     {"memory", strategy::least_allocated, 1}}}};
  const auto node = [](const char* name) {
    return a_node{name}.resource("example.com/dongle", 8).cpu(2).memory("2200M");
  };
  const auto pod = [](const char* name) {
    return a_pod{name}.resource("example.com/dongle", 2).cpu_milli(40).memory("40Mi");
  };
  const node_id a = on.add(node("a"));
  const node_id b = on.add(node("b"));
  CHECK(on.scores(on.add(pod("1"))) == scores{34, 34});
  on.add(pod("1-there").on(a));
  CHECK(on.scores(on.add(pod("2"))) == scores{56, 34});
  on.add(pod("2-there").on(a));
  CHECK(on.scores(on.add(pod("3"))) == scores{77, 34});
  on.add(pod("3-there").on(a));
  CHECK(on.scores(on.add(pod("4"))) == scores{98, 34});
  on.add(pod("4-there").on(a));
  CHECK(on.raw_score(on.add(pod("5")), b) == 34);
}

TEST_CASE("NodeResourcesFitPlus: only what the pod requests and the arguments list") {
  hooks on{fit_plus{{{"nvidia.com/gpu", strategy::most_allocated, 1}, {"cpu", strategy::least_allocated, 1}}}};
  on.add(a_node{"gpu"}.cpu(10).gpus(4));
  on.add(a_node{"plain"}.cpu(10));
  CHECK(on.scores(on.add(a_pod{"none"})) == scores{100, 100});
  CHECK(on.scores(on.add(a_pod{"memory"}.memory("1Gi"))) == scores{100, 100});
  CHECK(on.scores(on.add(a_pod{"cpu"}.cpu(2))) == scores{80, 80});
  // A node without the resource scores 0 in it, and the weight counts.
  CHECK(on.scores(on.add(a_pod{"gpu"}.cpu(2).gpus(1))) == scores{(25 + 80) / 2, 80 / 2});
  CHECK(on.scores(on.add(a_pod{"over"}.cpu(20).gpus(8))) == scores{100 / 2, 0});
}

TEST_CASE("NodeResourcesFitPlus: pods without requests count with the defaults") {
  hooks on{fit_plus{{{"cpu", strategy::least_allocated, 1}, {"memory", strategy::most_allocated, 1}}}};
  const node_id node = on.add(a_node{"n"}.cpu(1).memory("1000Mi"));
  on.add(a_pod{"there"}.on(node));
  CHECK(on.scores(on.add(a_pod{"p"}.cpu_milli(100))) == scores{80});
  CHECK(on.scores(on.add(a_pod{"two"}.cpu_milli(100).container())) == scores{70});
  CHECK(on.scores(on.add(a_pod{"memory"}.memory("100Mi"))) == scores{30});
}

TEST_CASE("NodeResourcesFitPlus arguments") {
  using fields = argument::fields;
  hooks on{must(
      fit_plus::from(fields{{"resources", fields{{"nvidia.com/gpu", fields{{"type", "MostAllocated"}, {"weight", 3}}},
                                                 {"cpu", fields{{"type", "LeastAllocated"}, {"weight", 1}}}}}}))};
  on.add(a_node{"n"}.cpu(10).gpus(4));
  CHECK(on.scores(on.add(a_pod{"p"}.cpu(2).gpus(1))) == scores{(3 * 25 + 80) / 4});
  const auto wrong = [](fields of_cpu) {
    auto made = fit_plus::from(fields{{"resources", fields{{"cpu", std::move(of_cpu)}}}});
    REQUIRE_FALSE(made);
    return made.error().message();
  };
  CHECK(wrong({{"type", "Most"}}) ==
        "plugin NodeResourcesFitPlus: args.resources.cpu.type: \"Most\" is not LeastAllocated or MostAllocated");
  CHECK(wrong({{"weight", 0}}) == "plugin NodeResourcesFitPlus: args.resources.cpu.weight: 0 is not in 1 to 1000000");
  CHECK(wrong({{"share", 0}}) == "plugin NodeResourcesFitPlus: args.resources.cpu.share: there is no such argument");
}

TEST_CASE("NodeResourcesFitPlus names the weight that it cannot be made with", "[plugins]") {
  CHECK_FALSE(node_resources_fit_plus::check({{.name = "cpu", .weight = 1'000'000}}));
  for (const std::int64_t weight : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'001}}) {
    const auto wrong = node_resources_fit_plus::check({{.name = "cpu"}, {.name = "memory", .weight = weight}});
    REQUIRE(wrong);
    CHECK(wrong->message() == "plugin NodeResourcesFitPlus: resources[1].weight: is not in 1 to 10^6");
  }
}

}  // namespace gangsched::testing::node_resources_fit_plus_test
