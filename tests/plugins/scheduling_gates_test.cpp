#include "gangsched/plugins/scheduling_gates.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::scheduling_gates_test {

TEST_CASE("SchedulingGates: a pod with gates stays out of the queue, unresolvably") {
  cluster cluster;
  const pod_id free = must(cluster.add_pod(a_pod{"free"}));
  const pod_id gated = must(cluster.add_pod(a_pod{"gated"}.gate("example.com/foo").gate("example.com/bar")));
  const auto ask = [&](pod_id pod) { return scheduling_gates{}.pre_enqueue(pod_info{inside(cluster), pod.row}); };
  CHECK(ask(free).ok());
  CHECK(ask(gated).code == code::unresolvable);
  CHECK(ask(gated).reason == std::string{"waiting for scheduling gates"});

  must(cluster.update_pod(gated, a_pod{"gated"}));
  CHECK(ask(gated).ok());
}

}  // namespace gangsched::testing::scheduling_gates_test
