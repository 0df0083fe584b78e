#include "gangsched/plugins/scarce_resource_avoidance.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::scarce_resource_avoidance_test {

using scores = std::vector<std::int64_t>;

TEST_CASE("ScarceResourceAvoidance: the share of unused resource types that are not scarce") {
  hooks on{scarce_resource_avoidance{{"nvidia.com/gpu", "example.com/fpga"}}};
  on.add(a_node{"plain"}.cpu(8).memory("8Gi"));
  on.add(a_node{"gpu"}.cpu(8).memory("8Gi").gpus(4));
  on.add(a_node{"disk"}.cpu(8).memory("8Gi").gpus(4).resource("ephemeral-storage", "100Gi"));
  on.add(a_node{"both"}.cpu(8).memory("8Gi").gpus(4).resource("example.com/fpga", 1).resource("example.com/other", 1));
  on.add(a_node{"no-gpus"}.cpu(8).memory("8Gi").gpus(0));
  // Everything is used: nothing left to be scarce.
  CHECK(on.scores(on.add(a_pod{"cpu"}.cpu(1).memory("1Gi"))) == scores{100, 0, 50, 33, 100});
  CHECK(on.scores(on.add(a_pod{"gpu"}.cpu(1).memory("1Gi").gpus(1))) == scores{100, 100, 100, 50, 100});
  // Requests nothing: cpu and memory are unused as well; a request of 0 is none.
  CHECK(on.scores(on.add(a_pod{"none"})) == scores{100, 66, 75, 60, 100});
  CHECK(on.scores(on.add(a_pod{"zero"}.cpu(1).memory("1Gi").gpus(0))) == scores{100, 0, 50, 33, 100});
}

TEST_CASE("ScarceResourceAvoidance: a resource that appears later counts without being asked anew") {
  hooks on{scarce_resource_avoidance{{"nvidia.com/gpu"}}};
  on.add(a_node{"plain"}.cpu(8));
  const pod_id pod = on.add(a_pod{"p"}.cpu(1));
  CHECK(on.scores(pod) == scores{100});
  on.add(a_node{"gpu"}.cpu(8).gpus(1));
  CHECK(on.scores(pod) == scores{100, 0});
}

TEST_CASE("ScarceResourceAvoidance arguments") {
  using fields = argument::fields;
  hooks on{must(scarce_resource_avoidance::from(fields{{"resources", argument::list{"nvidia.com/gpu"}}}))};
  on.add(a_node{"gpu"}.cpu(8).gpus(1));
  CHECK(on.scores(on.add(a_pod{"p"}.cpu(1))) == scores{0});
  CHECK(scarce_resource_avoidance::from({}));
  CHECK_FALSE(scarce_resource_avoidance::from(fields{{"resources", "nvidia.com/gpu"}}));
  CHECK_FALSE(scarce_resource_avoidance::from(fields{{"scarce", argument::list{}}}));
}

}  // namespace gangsched::testing::scarce_resource_avoidance_test
