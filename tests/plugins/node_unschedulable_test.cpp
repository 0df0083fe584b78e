#include "gangsched/plugins/node_unschedulable.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_unschedulable_test {

TEST_CASE("NodeUnschedulable: a cordoned node is for those who tolerate the taint it need not have") {
  hooks on{node_unschedulable{}};
  const node_id open = on.add(a_node{"open"});
  const node_id cordoned = on.add(a_node{"cordoned"}.unschedulable());
  const char* const taint = "node.kubernetes.io/unschedulable";
  const verdict refused{code::unresolvable, {"node(s) were unschedulable"}};

  CHECK(on.filter(on.add(a_pod{"plain"}), open) == verdict{});
  CHECK(on.filter(on.add(a_pod{"plain2"}), cordoned) == refused);
  // Nobody has ever named the taint's key up to here.
  CHECK(on.filter(on.add(a_pod{"other"}.tolerate("example.com/other")), cordoned) == refused);
  CHECK(on.filter(on.add(a_pod{"everything"}.tolerate_everything()), cordoned) == verdict{});
  CHECK(on.filter(on.add(a_pod{"exists"}.tolerate(taint)), cordoned) == verdict{});
  CHECK(on.filter(on.add(a_pod{"no-schedule"}.tolerate(taint, "", taint_effect::no_schedule)), cordoned) == verdict{});
  CHECK(on.filter(on.add(a_pod{"no-execute"}.tolerate(taint, "", taint_effect::no_execute)), cordoned) == refused);
  // The taint has no value, so Equal with one does not tolerate it, and Equal without does.
  CHECK(on.filter(on.add(a_pod{"valued"}.tolerate(taint, "true")), cordoned) == refused);
  a_pod equal{"equal"};
  equal.spec.tolerations.push_back({.key = taint});
  CHECK(on.filter(on.add(equal), cordoned) == verdict{});
}

}  // namespace gangsched::testing::node_unschedulable_test
