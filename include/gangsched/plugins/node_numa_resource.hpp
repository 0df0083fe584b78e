#pragma once
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/percent.hpp"
#include "gangsched/core/saturating_add.hpp"
#include "gangsched/devices/numa_fit.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/weighted_resource.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Koordinator's NodeNUMAResource, for pods that get exclusive CPUs from the scheduler (`pod_spec::bind_cpus`, `node_numa::cpu_bind`).
///
/// The CPUs are chosen by DynamicResources, as everything inside a node. This plugin checks the rest: a pod that binds CPUs must request
/// whole ones and needs a node whose CPUs are known, and where a node's CPU is amplified a bound CPU counts for as much as the ratio says,
/// for the pod and for those there ("Insufficient amplified cpu"). Score: Σ weight·s / Σ weight over the configured resources, rounded
/// down, with most s = 100·used/allocatable and least s = 100·(allocatable − used)/allocatable, used with the pod and at most what is
/// allocatable; bound CPUs count as above, but those there do not for a pod that requests no CPU. Resources that the node lacks, and
/// others than CPU, memory and ephemeral storage that the pod does not request, are not among them. A pod without requests scores 0.
class node_numa_resource {
 public:
  static constexpr std::string_view name = "NodeNUMAResource";
  using points = implements<point::requeue, point::pre_filter, point::filter, point::score>;
  static constexpr events wakes_on =
      events::node_added | events::node_allocatable | events::pod_removed | events::pod_scaled_down;
  using room = node_view<reads::devices | reads::allocatable | reads::usage>;

  using strategy = allocation_strategy;
  using weighted_resource = gangsched::weighted_resource;  ///< weight: 1 to 100
  [[nodiscard]] static std::vector<weighted_resource> defaults() { return {{"cpu", 1}, {"memory", 1}}; }

  explicit node_numa_resource(strategy how = strategy::least_allocated,
                              std::vector<weighted_resource> resources = defaults())
      : strategy_(how), resources_(std::move(resources)) {}
  /// Argument: `scoringStrategy: {type: LeastAllocated | MostAllocated, resources: [{name, weight}]}`. Without resources: the defaults.
  [[nodiscard]] static result<node_numa_resource> from(const argument& args) {
    return by_allocation_strategy<node_numa_resource>(args);
  }

  [[nodiscard]] hint requeue(const event&, const pod_info&) const { return hint::queue; }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    const std::int64_t cpu = pod.request(kinds::cpu);
    if (cpu == 0) return status::skip();
    const bool binds = pod.spec().bind_cpus.policy != cpu_bind_policy::none;
    return binds && cpu % 1000 != 0 ? status::unresolvable("the requested CPUs must be integer") : status::success();
  }
  [[nodiscard]] status filter(const pod_view& pod, room node) const {
    const numa_layout* numa = cells_of(node);
    if (numa == nullptr) {
      const bool binds = pod.spec().bind_cpus.policy != cpu_bind_policy::none;
      return binds ? status::unresolvable("node(s) invalid CPU Topology") : status::success();
    }
    if (numa->spec.cpu_amplification_percent <= 100) return status::success();
    return used_with(numa, pod, node) <= node.allocatable(kinds::cpu)
               ? status::success()
               : status::unschedulable("Insufficient amplified cpu");
  }
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    std::int64_t sum = 0, weights = 0;
    if (pod.spec().requests.empty()) return 0;
    for (const weighted_resource& one : resources_) {
      const auto kind = pod.find_kind(one.name);
      const std::int64_t all = kind ? node.allocatable(*kind) : 0;
      if (all <= 0 || (*kind > kinds::ephemeral_storage && pod.request(*kind) == 0)) continue;
      weights += one.weight;
      const std::int64_t with = *kind == kinds::cpu ? used_with(cells_of(node), pod, node)
                                                    : saturating_add(node.used(*kind), pod.request(*kind));
      const std::int64_t used = std::min(with, all);
      sum += one.weight * percent(strategy_ == strategy::most_allocated ? used : all - used, all);
    }
    return weights == 0 ? 0 : sum / weights;
  }

 private:
  [[nodiscard]] static const numa_layout* cells_of(room node) {
    const device_state devices = node.devices();
    return devices ? devices.inventory->numa.get() : nullptr;
  }
  [[nodiscard]] static bool binds_on(const numa_layout& numa, const pod_view& pod) {
    const auto how = binding_on(numa.spec, pod.spec().bind_cpus, pod.spec().guaranteed);
    return how && how->policy != cpu_bind_policy::none;
  }
  /// Thousandths of CPU that are used with the pod, as bound ones count.
  [[nodiscard]] static std::int64_t used_with(const numa_layout* numa, const pod_view& pod, room node) {
    const std::int64_t asked = pod.request(kinds::cpu), used = node.used(kinds::cpu);
    if (numa == nullptr || asked == 0) return saturating_add(used, asked);
    const std::int64_t ratio = numa->spec.cpu_amplification_percent, bound = bound_milli(*numa, node);
    const std::int64_t more = used >= bound ? amplified(bound, ratio) - bound : 0;
    return saturating_add(saturating_add(used, more), binds_on(*numa, pod) ? amplified(asked, ratio) : asked);
  }
  /// Thousandths of the CPUs that are some pod's own. O(CPUs / 64).
  [[nodiscard]] static std::int64_t bound_milli(const numa_layout& numa, room node) {
    const device_state devices = node.devices();
    std::int64_t cpus = 0;
    for (std::uint32_t word = 0; word < numa.cpu_words; ++word) {
      cpus += std::popcount(static_cast<std::uint64_t>(devices.used[devices.inventory->first_numa() + word]));
    }
    return 1000 * cpus;
  }

  strategy strategy_;
  std::vector<weighted_resource> resources_;
};

static_assert(requeue_plugin<node_numa_resource> && pre_filter_plugin<node_numa_resource> &&
              filter_plugin<node_numa_resource> && score_plugin<node_numa_resource>);

}  // namespace gangsched::inline GANGSCHED_ABI
