// Three nodes with two GPUs each, a gang of four and one pod that asks for too much: where pods go, and why one does not fit.
#include <gangsched/gangsched.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

using namespace gangsched::literals;

// Every call that can be refused returns a result: the value, or an error that names object, field and reason.
template <class T>
T must(gangsched::result<T> result) {
  if (!result) {
    std::cerr << result.error().message() << '\n';
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

int main() {
  gangsched::cluster cluster;
  for (const char* name : {"node-a", "node-b", "node-c"}) {
    must(cluster.add_node(
        {.name = name, .allocatable = {{"cpu", 16}, {"memory", "64Gi"_q}, {"pods", 110}, {"nvidia.com/gpu", 2}}}));
  }

  const auto train = must(cluster.add_group({.name = "train", .policy = gangsched::gang{.min_count = 4}}));
  for (int i = 0; i < 4; ++i) {
    must(cluster.add_pod({.name = "train-" + std::to_string(i),
                          .containers = {{.requests = {{"cpu", "1500m"_q}, {"nvidia.com/gpu", 1}}}},
                          .group = train}));
  }
  must(cluster.add_pod({.name = "greedy", .containers = {{.requests = {{"cpu", 15}, {"nvidia.com/gpu", 1}}}}}));

  gangsched::scheduler scheduler{cluster, gangsched::profiles::kube_default()};
  const gangsched::instant now{};  // the host's clock, not ours

  // A host has more to do, and to hear: docs/embedding.md#the-loop. And for each reject it asks why(), which costs less than explain().
  while (auto cycle = scheduler.schedule_cycle(now)) {
    for (const auto& decision : cycle) {
      std::cout << cluster.name_of(decision.pod) << ": " << to_string(decision.kind);
      if (decision.kind == gangsched::decision_kind::bind) {
        std::cout << " to " << cluster.name_of(decision.node) << '\n';
        must(scheduler.confirm(decision.pod));  // the pod runs
      } else {
        std::cout << ", " << must(scheduler.explain(decision.pod)).summary << '\n';
      }
    }
  }
}
