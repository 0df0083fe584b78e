// expect: success
#include "gangsched/gangsched.hpp"

// What a host says with the calls that there are, the log has.
void cordon(gangsched::cluster& on, gangsched::node_id node, gangsched::node_spec spec) {
  spec.unschedulable = true;
  static_cast<void>(on.update_node(node, spec));
}
