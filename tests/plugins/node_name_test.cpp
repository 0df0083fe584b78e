#include "gangsched/plugins/node_name.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_name_test {

TEST_CASE("NodeName: only the node that the pod names") {
  hooks on{node_name{}};
  const node_id a = on.add(a_node{"a"});
  const node_id b = on.add(a_node{"b"});
  a_pod pod{"p"};
  pod.spec.required_node = "b";
  const pod_id bound_for_b = on.add(pod);
  const verdict elsewhere{code::unresolvable, {"node(s) didn't match the requested node name"}};
  CHECK(on.pre_filter(bound_for_b) == verdict{});
  CHECK(on.filter(bound_for_b, a) == elsewhere);
  CHECK(on.filter(bound_for_b, b) == verdict{});
}

TEST_CASE("NodeName: a node that is not there, and a pod that names none") {
  hooks on{node_name{}};
  const node_id a = on.add(a_node{"a"});
  a_pod pod{"p"};
  pod.spec.required_node = "gone";
  CHECK(on.filter(on.add(pod), a).code == code::unresolvable);
  const pod_id any = on.add(a_pod{"any"});
  CHECK(on.pre_filter(any).code == code::skip);
  CHECK(on.filter(any, a) == verdict{});
}

}  // namespace gangsched::testing::node_name_test
