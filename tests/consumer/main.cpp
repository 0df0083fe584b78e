// A program of somebody else, built against gangsched in each way that it can be had: places a gang, and reads an error.
#include <gangsched/gangsched.hpp>

#include <iostream>
#include <string>

int main() {
  gangsched::cluster cluster;
  const auto node =
      cluster.add_node({.name = "a", .allocatable = {{"cpu", 4}, {"memory", 1 << 30}, {"pods", 10}}}).value();
  const auto group = cluster.add_group({.name = "train", .policy = gangsched::gang{.min_count = 2}}).value();
  for (int i = 0; i < 2; ++i) {
    cluster.add_pod({.name = "train-" + std::to_string(i), .containers = {{.requests = {{"cpu", 2}}}}, .group = group})
        .value();
  }
  gangsched::scheduler scheduler{cluster, gangsched::profiles::kube_default()};
  int bound = 0;
  while (const auto cycle = scheduler.schedule_cycle(gangsched::instant{})) {
    for (const auto& decision : cycle)
      bound += decision.kind == gangsched::decision_kind::bind && decision.node == node;
  }
  const auto refused = cluster.add_node({.name = "a"});
  std::cout << bound << " bound; " << refused.error().message() << '\n';
  return bound == 2 && refused.error().message() == "node a: name: exists already" ? 0 : 1;
}
