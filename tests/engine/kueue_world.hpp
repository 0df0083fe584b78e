#pragma once
#include <string>

#include "queue_world.hpp"

/// A cluster whose queues go by Kueue's policy.
namespace gangsched::testing::kueue_world {

inline const std::string gpu = "nvidia.com/gpu";

inline kernel_table with_kueue(const kueue_policy::options& chosen = {}) {
  return profile{kueue_policy{chosen}, scheduling_gates{},   node_affinity_plugin{},
                 taint_toleration{},   node_resources_fit{}, gang_scheduling{}};
}

struct shared : gpu_queues {
  explicit shared(const kueue_policy::options& chosen = {}) : gpu_queues(with_kueue(chosen)) {}

  /// A queue that takes its own back, below the cohort "all".
  static queue_spec team(const std::string& name, std::int64_t nominal) {
    queue_spec made{.name = name, .parent = "all", .quotas = {{.guaranteed = {{gpu, nominal}}}}};
    made.within_queue = queue_preemption::lower_priority;
    return made;
  }
  void cohort() { queue({.name = "all"}); }
  void flavor(const char* name) { must(cluster.queues().set_flavor({.name = name, .node_labels = {{"kind", name}}})); }
  group_id ask_gang(const std::string& name, const std::string& in, int members, std::int64_t each,
                    std::int32_t priority = 0, int least = 0) {
    const a_gang made = a_gang{name, least == 0 ? members : least}.priority(priority);
    return job(made, in, a_pod{""}.gpus(each), members, priority);
  }
};

/// Ten GPUs, of which infer has four and train six.
struct two_teams : shared {
  explicit two_teams(const kueue_policy::options& chosen = {}) : shared(chosen) {
    gpus("n", 5);
    gpus("m", 5);
    cohort();
    queue(team("infer", 4));
    queue(team("train", 6));
  }
};

}  // namespace gangsched::testing::kueue_world
