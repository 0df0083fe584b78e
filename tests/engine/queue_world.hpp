#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/model/cluster_queues.hpp"
#include "world.hpp"

/// Clusters with queues, for tests of their policies.
namespace gangsched::testing {

/// With quota of one resource on all nodes together: a guarantee of 0 and a limit below 0 are none.
[[nodiscard]] inline queue_spec queue_of(const std::string& resource, const std::string& name, std::int64_t guaranteed,
                                         std::int64_t limit = -1, const std::string& parent = "") {
  queue_quota quota;
  if (guaranteed > 0) quota.guaranteed[resource] = guaranteed;
  if (limit >= 0) quota.limit[resource] = limit;
  return {.name = name, .parent = parent, .quotas = {std::move(quota)}};
}

struct queue_world : world {
  using world::world;

  queue_id queue(const queue_spec& spec) { return must(cluster.queues().add(spec)); }
  void update(const queue_spec& spec) { must(cluster.queues().update(cluster.queues().find(spec.name).value(), spec)); }
  /// A pod that stands in @p queue; "": where its spec says.
  pod_id ask(pod_spec spec, const std::string& queue, std::int32_t priority = 0) {
    if (!queue.empty()) spec.queue = queue;
    spec.priority = priority;
    const pod_id pod = add(spec);
    spec.node = {};
    specs[spec.name] = std::move(spec);
    return pod;
  }
  /// Pods like @p one, "name-0", …, in a group in @p queue. Those that have a name in @p on run there.
  group_id job(group_spec spec, const std::string& queue, a_pod one, int pods, std::int32_t priority = 0,
               const std::vector<std::string>& on = {}) {
    spec.queue = queue;
    const group_id group = add(spec);
    for (int i = 0; i < pods; ++i) {
      const auto which = static_cast<std::size_t>(i);
      one.spec.name = spec.name + "-" + std::to_string(i);
      one.in(group).on(which < on.size() ? node(on[which]) : node_id{});
      ask(one, "", priority);
    }
    return group;
  }
  /// What the queue's pods use, of @p flavor if one is named.
  [[nodiscard]] std::int64_t used(const std::string& queue, const std::string& resource,
                                  const char* flavor = nullptr) const {
    const queue_id id = cluster.queues().find(queue).value();
    const queue_usage all = flavor == nullptr ? cluster.queues().usage_of(id) : cluster.queues().usage_of(id, flavor);
    const auto its = all.used.find(resource);
    return its == all.used.end() ? 0 : its->second;
  }

  /// The loop once a second.
  words run_each_second(int from, int to) {
    words all;
    for (int second = from; second < to; ++second) {
      for (const std::string& one : run_at(std::chrono::seconds{second})) all.push_back(one);
    }
    return all;
  }
  /// The loop of a host who does what he is told, until nothing happens at this instant: who is evicted goes at once, and comes back as a
  /// pod that waits. Binds and evictions in words. Calls look() after each cycle.
  template <class Look>
  words act(instant when, const Look& look) {
    now = when;
    words all;
    for (bool more = true; more;) {
      REQUIRE(all.size() < 5000);
      const gangsched::cycle done = decide();
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
      look();
    }
    return all;
  }
  words act(instant when) {
    return act(when, [] {});
  }

  std::map<std::string, pod_spec> specs = {};  ///< who asked, by name, without a node
};

/// Queues of cores.
struct core_queues : queue_world {
  using queue_world::ask;
  using queue_world::job;
  using queue_world::queue;
  using queue_world::queue_world;

  [[nodiscard]] static queue_spec spec_of(const std::string& name, std::int64_t guaranteed, std::int64_t limit = -1,
                                          const std::string& parent = "") {
    return queue_of("cpu", name, guaranteed, limit, parent);
  }
  queue_id queue(const std::string& name, std::int64_t guaranteed = 0, std::int64_t limit = -1,
                 const std::string& parent = "") {
    return queue(spec_of(name, guaranteed, limit, parent));
  }
  [[nodiscard]] a_pod of(const std::string& name, const std::string& queue, std::int64_t cores,
                         std::int32_t priority = 0, const char* on = "") const {
    a_pod one{name};
    one.queue(queue).cpu(cores).priority(priority);
    if (*on != 0) one.on(node(on));
    return one;
  }
  pod_id ask(const std::string& name, const std::string& queue, std::int64_t cores, std::int32_t priority = 0,
             const char* on = "") {
    return add(of(name, queue, cores, priority, on));
  }
  group_id job(const std::string& name, const std::string& queue, std::int32_t least, int pods, std::int64_t cores,
               std::int32_t priority = 0, const std::vector<std::string>& on = {}) {
    return job(a_gang{name, least}.priority(priority), queue, a_pod{""}.cpu(cores), pods, priority, on);
  }
};

/// Queues of GPUs.
struct gpu_queues : queue_world {
  using queue_world::ask;
  using queue_world::queue_world;

  [[nodiscard]] static queue_spec team(const std::string& name, std::int64_t guaranteed,
                                       const std::string& parent = "") {
    return queue_of("nvidia.com/gpu", name, guaranteed, -1, parent);
  }
  /// A node with so many, and with the label `kind` if one is named.
  void gpus(const std::string& name, std::int64_t count, const std::string& kind = "") {
    a_node made{name};
    made.cpu(64).gpus(count);
    if (!kind.empty()) made.label("kind", kind);
    add(made);
  }
  /// Pods of one GPU each.
  void ask(const std::string& queue, int count, std::int32_t priority = 0) {
    for (int i = 0; i < count; ++i) ask(a_pod{queue + "-" + std::to_string(asked++)}.gpus(1), queue, priority);
  }
  [[nodiscard]] std::int64_t used(const std::string& queue, const char* flavor = nullptr) const {
    return queue_world::used(queue, "nvidia.com/gpu", flavor);
  }
  int asked = 0;
};

}  // namespace gangsched::testing
