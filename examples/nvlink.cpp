// Two quads of GPUs that NVLink connects: four GPUs come from one quad, and small pods leave the other one whole.
#include <gangsched/gangsched.hpp>

#include <iostream>

#include "must.hpp"

using namespace gangsched;

int main() {
  cluster cluster;
  must(cluster.add_node({.name = "box",
                         .allocatable = {{"cpu", 64}, {"pods", 110}, {"nvidia.com/gpu", 8}},
                         .devices = make_node_devices(gpu_machine::two_quads, "NVIDIA-H200-NVL", 143771)}));

  const auto add = [&](const char* name, device_request request) {
    must(cluster.add_pod({.name = name,
                          .containers = {{.requests = {{"nvidia.com/gpu", request.count}}}},
                          .devices = {std::move(request)}}));
  };
  add("one", {.count = 1});
  add("all-reduce", {.count = 4, .within = device_scope::nvlink});
  add("pair", {.count = 2, .within = device_scope::nvlink});
  add("too-late", {.count = 2, .within = device_scope::nvlink});  // one GPU is left, and no link from it
  add("last", {.count = 1});

  scheduler scheduler{cluster, profiles::kube_default()};
  while (auto cycle = scheduler.schedule_cycle(instant{})) {
    for (const decision& d : cycle) {
      std::cout << cluster.name_of(d.pod) << ": " << to_string(d.kind);
      for (const device_grant& g : d.devices) std::cout << ' ' << g.device;
      std::cout << '\n';
      if (d.kind == decision_kind::bind) must(scheduler.confirm(d.pod));
    }
  }
}
