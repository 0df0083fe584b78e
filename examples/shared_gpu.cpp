// Parts of GPUs by thousandths, by memory and by percent, and what of each GPU is left.
#include <gangsched/devices/device_inventory.hpp>
#include <gangsched/gangsched.hpp>

#include <iostream>

#include "must.hpp"

using namespace gangsched;

int main() {
  cluster cluster;
  const node_id node =
      must(cluster.add_node({.name = "node",
                             .allocatable = {{"cpu", 64}, {"pods", 110}},
                             .devices = {.gpu = {.model = "NVIDIA-L40S", .memory_mib = 46068}, .gpus = {{}, {}, {}}}}));
  const auto add = [&](const char* name, device_request request) {
    must(cluster.add_pod({.name = name, .devices = {std::move(request)}}));
  };
  add("notebook", {.milli = 250, .memory_mib = 8192});
  add("inference", {.milli = 500, .memory_percent = 50});
  add("embedding", {.milli = 0, .memory_mib = 12000});  // memory only
  add("training", {.count = 2});
  add("picky", {.milli = 100, .models = {"NVIDIA-H200"}});

  scheduler scheduler{cluster, profiles::kube_default()};
  while (auto cycle = scheduler.schedule_cycle(instant{})) {
    for (const decision& d : cycle) {
      std::cout << cluster.name_of(d.pod) << ": " << to_string(d.kind);
      for (const device_grant& g : d.devices)
        std::cout << " GPU " << g.device << " (" << g.milli << "/1000, " << g.amount << " MiB)";
      std::cout << '\n';
      if (d.kind == decision_kind::bind) must(scheduler.confirm(d.pod));
    }
  }
  const device_state left = cluster.devices_of(node);
  for (std::size_t gpu = 0; gpu < left.gpu_count(); ++gpu)
    std::cout << "GPU " << gpu << ": " << left.free_milli(gpu) << "/1000 free\n";
}
