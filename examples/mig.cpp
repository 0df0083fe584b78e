// MIG without partitions made beforehand: the library chooses GPU, profile and start, so that what comes later still fits.
#include <gangsched/gangsched.hpp>

#include <iostream>
#include <string>

#include "must.hpp"

using namespace gangsched;

int main() {
  cluster cluster;
  node_devices two_a100 = {.gpu = {.model = "NVIDIA-A100-SXM4-40GB", .memory_mib = 40960},
                           .gpus = {{.id = "GPU-a"}, {.id = "GPU-b"}}};
  for (gpu_spec& gpu : two_a100.gpus) gpu.mig = mig_mode::dynamic;
  must(cluster.add_node({.name = "node", .allocatable = {{"cpu", 64}, {"pods", 110}}, .devices = two_a100}));

  // 3g.20gb goes to slice 4, because at 0 it would keep every 4g out; the 4g beside it fills the first GPU.
  for (const char* profile : {"3g.20gb", "1g.5gb", "4g.20gb", "2g.10gb", "7g.40gb"}) {
    must(cluster.add_pod({.name = "wants-" + std::string{profile}, .devices = {{.mig_profile = profile}}}));
  }

  scheduler scheduler{cluster, profiles::kube_default()};
  while (auto cycle = scheduler.schedule_cycle(instant{})) {
    for (const decision& d : cycle) {
      std::cout << cluster.name_of(d.pod) << ": " << to_string(d.kind);
      for (const device_grant& g : d.devices) {
        std::cout << ' ' << cluster.name_of(d.node, g) << ' ' << cluster.profile_of(g) << " at slice " << g.mig_start;
      }
      if (d.kind == decision_kind::reject) std::cout << ", " << must(scheduler.explain(d.pod)).summary;
      std::cout << '\n';
      if (d.kind == decision_kind::bind) must(scheduler.confirm(d.pod));
    }
  }
}
