#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/model/cluster_queues.hpp"
#include "world.hpp"

/// A cluster whose queues go by Kueue's policy.
namespace gangsched::testing::kueue_world {

inline const std::string gpu = "nvidia.com/gpu";

/// A cluster whose host does what it is told: who is evicted goes at once, and comes back as a pod that waits.
struct shared : world {
  explicit shared(const kueue_policy::options& chosen = {})
      : world(profile{kueue_policy{chosen}, scheduling_gates{}, node_affinity_plugin{}, taint_toleration{},
                      node_resources_fit{}, gang_scheduling{}}) {}

  /// A queue that takes its own back, below the cohort "all".
  static queue_spec team(const char* name, std::int64_t nominal) {
    queue_spec made{.name = name, .parent = "all", .quotas = {{.guaranteed = {{gpu, nominal}}}}};
    made.within_queue = queue_preemption::lower_priority;
    return made;
  }
  void cohort() { queue({.name = "all"}); }
  void queue(const queue_spec& spec) { must(cluster.queues().add(spec)); }
  void update(const queue_spec& spec) { must(cluster.queues().update(cluster.queues().find(spec.name).value(), spec)); }
  void flavor(const char* name) { must(cluster.queues().set_flavor({.name = name, .node_labels = {{"kind", name}}})); }
  void gpus(const char* name, std::int64_t count, const char* kind = "") {
    a_node made{name};
    made.cpu(64).gpus(count);
    if (*kind != 0) made.label("kind", kind);
    add(made);
  }
  void ask(pod_spec spec, const std::string& in, std::int32_t priority = 0) {
    spec.queue = in;
    spec.priority = priority;
    specs[spec.name] = spec;
    add(spec);
  }
  /// Pods of one GPU each.
  void ask(const std::string& in, int count, std::int32_t priority = 0) {
    for (int i = 0; i < count; ++i) ask(a_pod{in + "-" + std::to_string(asked++)}.gpus(1), in, priority);
  }
  group_id ask_gang(const std::string& name, const std::string& in, int members, std::int64_t each,
                    std::int32_t priority = 0, int least = 0) {
    a_gang made{name, least == 0 ? members : least};
    made.spec.queue = in;
    made.spec.priority = priority;
    const group_id group = add(made);
    for (int i = 0; i < members; ++i) {
      pod_spec one = a_pod{name + "-" + std::to_string(i)}.gpus(each).in(group);
      one.priority = priority;
      specs[one.name] = one;
      add(one);
    }
    return group;
  }
  /// Until nothing happens at this instant; binds and evictions in words.
  words act(instant when) {
    now = when;
    words all;
    for (bool more = true; more;) {
      REQUIRE(all.size() < 5000);
      const gangsched::cycle done = scheduler.schedule_cycle(now);
      INFO((done.error() != nullptr ? done.error()->message() : std::string{}));
      REQUIRE(done.error() == nullptr);
      more = static_cast<bool>(done);
      std::vector<std::pair<pod_id, std::string>> gone;
      for (const decision& one : done) {
        if (one.kind == decision_kind::bind || one.kind == decision_kind::evict) all.push_back(word(one));
        if (one.kind == decision_kind::bind) must(scheduler.confirm(one.pod));
        if (one.kind == decision_kind::evict) gone.emplace_back(one.pod, cluster.name_of(one.pod));
      }
      for (const auto& [pod, name] : gone) {
        remove(pod);
        add(specs.at(name));
      }
      most_seen();
    }
    return all;
  }
  [[nodiscard]] std::int64_t used(const std::string& name, const char* of = nullptr) const {
    const queue_id id = cluster.queues().find(name).value();
    const queue_usage usage = of == nullptr ? cluster.queues().usage_of(id) : cluster.queues().usage_of(id, of);
    const auto gpus = usage.used.find(gpu);
    return gpus == usage.used.end() ? 0 : gpus->second;
  }
  virtual void most_seen() {}
  virtual ~shared() = default;
  std::map<std::string, pod_spec> specs;
  int asked = 0;
};

inline std::ptrdiff_t count(const words& all, const std::string& what) {
  return std::count_if(all.begin(), all.end(), [&](const std::string& one) { return one.starts_with(what); });
}

}  // namespace gangsched::testing::kueue_world
