// A score plugin of one's own: prefers nodes by GPU model and by how many of their GPUs are free.
#include <gangsched/framework/profile.hpp>
#include <gangsched/gangsched.hpp>
#include <gangsched/plugins/node_resources_fit.hpp>
#include <gangsched/plugins/priority_sort.hpp>

#include <algorithm>
#include <iostream>
#include <string>

#include "must.hpp"

namespace {

using namespace gangsched;
constexpr auto gpu_facts = reads::labels | reads::allocatable | reads::usage;

/// Three parts model, one part free GPUs. That it reads these facts only is in the type: the engine asks again when one changes.
struct gpu_priority {
  static constexpr std::string_view name = "GpuPriority";
  using points = implements<point::score>;

  std::int64_t score(const pod_view& pod, node_view<gpu_facts> node) const {
    const std::int64_t all = node.allocatable("nvidia.com/gpu");
    if (all == 0 || pod.request("nvidia.com/gpu") == 0) return 0;
    const std::int64_t free = std::max<std::int64_t>(0, 100 * node.free("nvidia.com/gpu") / all);
    const std::string_view model = node.label("gpu.model").value_or("");
    const std::int64_t speed = model == "H100" ? 100 : model == "A100" ? 60 : 20;
    return (3 * speed + free) / 4;
  }
};

}  // namespace

int main() {
  cluster cluster;
  for (const auto& [name, model] : {std::pair{"old", "V100"}, {"mid-1", "A100"}, {"mid-2", "A100"}, {"new", "H100"}}) {
    must(cluster.add_node({.name = name,
                           .labels = {{"gpu.model", model}},
                           .allocatable = {{"cpu", 32}, {"pods", 110}, {"nvidia.com/gpu", 4}}}));
  }
  for (int i = 0; i < 6; ++i) {
    must(cluster.add_pod(
        {.name = "job-" + std::to_string(i), .containers = {{.requests = {{"cpu", 1}, {"nvidia.com/gpu", 2}}}}}));
  }

  scheduler scheduler{cluster, profile{priority_sort{}, node_resources_fit{}, weighted{gpu_priority{}, 10}}};
  while (auto cycle = scheduler.schedule_cycle(instant{})) {
    for (const decision& d : cycle) {
      if (d.kind != decision_kind::bind) continue;
      std::cout << cluster.name_of(d.pod) << " -> " << cluster.name_of(d.node) << " with score " << d.score << '\n';
      must(scheduler.confirm(d.pod));
    }
  }
}
