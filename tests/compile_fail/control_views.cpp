// expect: success
#include "gangsched/framework/views.hpp"

// What a view reads it may be asked.
std::int64_t asked(
    gangsched::node_view<gangsched::reads::usage | gangsched::reads::allocatable | gangsched::reads::pods> node) {
  std::int64_t sum = node.free("cpu");
  node.each_pod([&](const gangsched::pod_info& pod) { sum += pod.priority(); });
  const gangsched::node_view<gangsched::reads::usage> less = node;
  return sum + less.used("cpu");
}
