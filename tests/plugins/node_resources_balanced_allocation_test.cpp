#include "gangsched/plugins/node_resources_balanced_allocation.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_resources_balanced_allocation_test {

using balanced = node_resources_balanced_allocation;
using scores = std::vector<std::int64_t>;

TEST_CASE("NodeResourcesBalancedAllocation: the change of evenness around 75") {
  hooks on{balanced{}};
  const node_id uneven = on.add(a_node{"uneven"}.cpu(4).memory("10000"));
  on.add(a_node{"even"}.cpu(6).memory("10000"));
  // 0.75 and 0.5: deviation 0.125, evenness 87 after 100, 50 + (50 − 13)/2 = 68; 0.5 and 0.5: nothing changes.
  CHECK(on.scores(on.add(a_pod{"p"}.cpu(3).memory("5000"))) == scores{68, 75});
  // 0.75 and 0 gave 62; the memory that lacked makes 100 of it: 50 + (50 + 38)/2.
  on.add(a_pod{"cpu"}.on(uneven).cpu(3).memory("0"));
  CHECK(on.scores(on.add(a_pod{"memory"}.memory("7500"))) == scores{94, 50 + (50 + 62 - 100) / 2});
}

TEST_CASE("NodeResourcesBalancedAllocation: skipped for pods that request none of the resources") {
  hooks on{balanced{}};
  on.add(a_node{"n"}.cpu(4).memory("10000").gpus(4));
  CHECK(on.scores(on.add(a_pod{"none"})) == std::nullopt);  // the defaults for scoring do not count
  CHECK(on.scores(on.add(a_pod{"zero"}.cpu(0))) == std::nullopt);
  CHECK(on.scores(on.add(a_pod{"gpu"}.gpus(1))) == std::nullopt);
  CHECK(on.scores(on.add(a_pod{"cpu"}.cpu(4))) == scores{50 + (50 + 50 - 100) / 2});
}

TEST_CASE("NodeResourcesBalancedAllocation: plain usage, pod-level requests, and no more than full") {
  hooks on{balanced{}};
  const node_id node = on.add(a_node{"n"}.cpu(10).memory("10000"));
  on.add(a_pod{"no-requests"}.on(node));  // 100m and 200Mi are not counted here
  a_pod level = a_pod{"level"}.cpu(1).memory("5000");
  level.spec.resources = resource_list{{"cpu", 5}};
  CHECK(on.scores(on.add(level)) == scores{75});
  CHECK(on.scores(on.add(a_pod{"over"}.cpu(30).memory("20000"))) == scores{75});
}

TEST_CASE("NodeResourcesBalancedAllocation: three resources") {
  hooks on{balanced{{"cpu", "memory", "nvidia.com/gpu"}}};
  on.add(a_node{"gpu"}.cpu(10).memory("1000").gpus(4));
  on.add(a_node{"none"}.cpu(10).memory("1000"));
  // 0.5, 0.5, 1: deviation sqrt(1/18) = 0.2357, evenness 76, 50 + (50 − 24)/2 = 63. Without GPUs two are even.
  CHECK(on.scores(on.add(a_pod{"p"}.cpu(5).memory("500").gpus(4))) == scores{63, 75});
  // Not requested: out of both sides, so two remain.
  CHECK(on.scores(on.add(a_pod{"q"}.cpu(5).memory("500"))) == scores{75, 75});
}

TEST_CASE("NodeResourcesBalancedAllocation: one resource is always even") {
  hooks on{balanced{{"cpu"}}};
  on.add(a_node{"n"}.cpu(10));
  CHECK(on.scores(on.add(a_pod{"p"}.cpu(5))) == scores{75});
}

TEST_CASE("NodeResourcesBalancedAllocation arguments") {
  using fields = argument::fields;
  using list = argument::list;
  hooks on{must(balanced::from(
      fields{{"resources", list{fields{{"name", "cpu"}, {"weight", 1}}, fields{{"name", "nvidia.com/gpu"}}}}}))};
  on.add(a_node{"n"}.cpu(10).gpus(4));
  CHECK(on.scores(on.add(a_pod{"p"}.cpu(5).gpus(2))) == scores{75});
  CHECK(on.scores(on.add(a_pod{"q"}.gpus(2))) == scores{50 + (50 + 75 - 100) / 2});
  CHECK(balanced::from({}));
  const auto wrong = balanced::from(fields{{"resources", list{fields{{"name", "cpu"}, {"weight", 2}}}}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message() ==
        "plugin NodeResourcesBalancedAllocation: args.resources[0].weight: 2 is not in 1 to 1");
}

}  // namespace gangsched::testing::node_resources_balanced_allocation_test
