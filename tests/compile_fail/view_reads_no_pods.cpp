// expect: a hook asks the node for something that its node_view does not read: add that facet to the node_view it takes
#include "gangsched/framework/views.hpp"

// Nor which pods are there, or what is free, which is two facets.
int pods(gangsched::node_view<gangsched::reads::usage> node) {
  int count = node.free("cpu") > 0 ? 1 : 0;
  node.each_pod([&](const gangsched::pod_info&) { ++count; });
  return count;
}
