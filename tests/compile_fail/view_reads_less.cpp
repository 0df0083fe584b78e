// expect: taints|constraints not satisfied
#include "gangsched/framework/views.hpp"

// A hook that says it reads labels cannot read taints.
bool tainted(gangsched::node_view<gangsched::reads::labels> node) { return !node.taints().empty(); }
