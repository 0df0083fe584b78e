#include "gangsched/plugins/node_resources_allocatable.hpp"

#include <limits>

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_resources_allocatable_test {

using scores = std::vector<std::int64_t>;
using plugin = node_resources_allocatable;

TEST_CASE("NodeResourcesAllocatable: small nodes first, or large ones, whatever runs there") {
  for (const auto mode : {plugin::mode::least, plugin::mode::most}) {
    hooks on{plugin{mode, {{"cpu", 2}, {"memory", 1}}}};
    on.add(a_node{"small"}.cpu_milli(1000).memory("1000"));
    const node_id middle = on.add(a_node{"middle"}.cpu_milli(2000).memory("1001"));
    on.add(a_node{"large"}.cpu_milli(4000).memory("1000"));
    on.add(a_pod{"there"}.cpu(2).on(middle));
    const pod_id pod = on.add(a_pod{"p"}.cpu(1));
    CHECK(on.raw_score(pod, middle) == (mode == plugin::mode::most ? 1667 : -1667));  // (2·2000 + 1001) / 3
    CHECK(on.scores(pod) == (mode == plugin::mode::most ? scores{0, 33, 100} : scores{100, 66, 0}));
  }
}

TEST_CASE("NodeResourcesAllocatable: equal nodes have 0, a resource that nobody knows counts as none") {
  hooks on{plugin{plugin::mode::most, {{"example.com/nowhere", 1}, {"cpu", 1}}}};
  for (const char* name : {"a", "b"}) on.add(a_node{name}.cpu_milli(1001));
  const pod_id pod = on.add(a_pod{"p"});
  CHECK(on.scores(pod) == scores{0, 0});
  CHECK(on.raw_score(pod, on.cluster.nodes()[0]) == 500);
}

TEST_CASE("NodeResourcesAllocatable: products beyond 64 bits are exact") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  hooks on{plugin{plugin::mode::most, {{"memory", 1 << 20}, {"ephemeral-storage", 1 << 20}}}};
  const node_id node =
      on.add(a_node{"n"}.resource("memory", quantity{most}).resource("ephemeral-storage", quantity{most}));
  CHECK(on.raw_score(on.add(a_pod{"p"}), node) == most);
}

TEST_CASE("NodeResourcesAllocatable arguments") {
  using fields = argument::fields;
  hooks on{must(
      plugin::from(fields{{"mode", "Most"}, {"resources", argument::list{fields{{"name", "cpu"}, {"weight", 3}}}}}))};
  on.add(a_node{"small"}.cpu(1).memory("9Gi"));
  on.add(a_node{"large"}.cpu(2).memory("1Gi"));
  CHECK(on.scores(on.add(a_pod{"p"})) == scores{0, 100});
  hooks by_default{must(plugin::from({}))};  // a core is worth 1000 MiB
  by_default.add(a_node{"core-more"}.cpu(2).memory("1Gi"));
  by_default.add(a_node{"memory-more"}.cpu(1).memory("2Gi"));
  CHECK(by_default.scores(by_default.add(a_pod{"p"})) == scores{100, 0});
  CHECK_FALSE(plugin::from(fields{{"mode", "Largest"}}));
  CHECK_FALSE(plugin::from(fields{{"resources", argument::list{fields{{"name", "cpu"}, {"weight", 0}}}}}));
  CHECK_FALSE(plugin::from(fields{{"resource", argument::list{}}}));
}

TEST_CASE("NodeResourcesAllocatable names the weight that it cannot be made with", "[plugins]") {
  CHECK_FALSE(node_resources_allocatable::check(node_resources_allocatable::defaults()));
  for (const std::int64_t weight : {0, -1, (1 << 20) + 1}) {
    const auto wrong = node_resources_allocatable::check({{"cpu", 1}, {"memory", weight}});
    REQUIRE(wrong);
    CHECK(wrong->message() == "plugin NodeResourcesAllocatable: resources[1].weight: is not in 1 to 2^20");
  }
}

}  // namespace gangsched::testing::node_resources_allocatable_test
