// expect: a hook asks the node for something that its node_view does not read: add that facet to the node_view it takes
#include "gangsched/framework/views.hpp"

// A hook that says it reads labels cannot read taints.
bool tainted(gangsched::node_view<gangsched::reads::labels> node) { return !node.taints().empty(); }
