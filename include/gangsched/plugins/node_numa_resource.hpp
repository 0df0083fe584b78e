#pragma once
#include <algorithm>
#include <bit>
#include <optional>

#include "gangsched/devices/numa_fit.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Koordinator's NodeNUMAResource, for pods that get CPUs of their own from the scheduler (`pod_spec::bind_cpus`, `node_numa::cpu_bind`).
///
/// Which CPUs is DynamicResources' affair, as with all that is inside a node. This plugin says the rest: a pod that binds CPUs needs a
/// node whose CPUs are known, and where a node's CPU is amplified a bound CPU counts for as much as the ratio says, of the pod and of those
/// there ("Insufficient amplified cpu"). Score, of pods that bind CPUs: how much of the node's CPU is bound with the pod, 0 for the others.
class node_numa_resource {
 public:
  static constexpr std::string_view name = "NodeNUMAResource";
  using points = implements<point::requeue, point::pre_filter, point::filter, point::score>;
  static constexpr events wakes_on =
      events::node_added | events::node_allocatable | events::pod_removed | events::pod_scaled_down;
  using room = node_view<reads::devices | reads::allocatable | reads::usage>;

  enum class strategy : std::uint8_t { least_allocated, most_allocated };

  explicit node_numa_resource(strategy how = strategy::least_allocated) : strategy_(how) {}
  /// Argument: `scoringStrategy: {type: LeastAllocated | MostAllocated}`.
  [[nodiscard]] static result<node_numa_resource> from(const argument& args) {
    strategy how = strategy::least_allocated;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key != "scoringStrategy") return read.unknown(path);
      return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
        if (field != "type") return read.unknown(at);
        std::string text;
        if (!read.text(v, at, text)) return false;
        if (text != "LeastAllocated" && text != "MostAllocated") {
          return read.fail(errc::unknown, at, '"' + text + "\" is not LeastAllocated or MostAllocated");
        }
        how = text == "MostAllocated" ? strategy::most_allocated : strategy::least_allocated;
        return true;
      });
    });
    if (!fine) return std::move(read).failure();
    return node_numa_resource{how};
  }

  [[nodiscard]] hint requeue(const event&, const pod_info&) const { return hint::queue; }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    return pod.request(kinds::cpu) == 0 ? status::skip() : status::success();
  }
  [[nodiscard]] status filter(const pod_view& pod, room node) const {
    const numa_layout* numa = cells_of(node);
    if (numa == nullptr) {
      const bool binds = pod.spec().bind_cpus.policy != cpu_bind_policy::none;
      return binds ? status::unresolvable("node(s) invalid CPU Topology") : status::success();
    }
    const std::int64_t percent = numa->spec.cpu_amplification_percent, bound = bound_milli(*numa, node);
    if (percent <= 100) return status::success();
    const std::int64_t wanted =
        binds_on(*numa, pod) ? amplified(pod.request(kinds::cpu), percent) : pod.request(kinds::cpu);
    std::int64_t used = node.used(kinds::cpu);
    if (used >= bound) used += amplified(bound, percent) - bound;
    return wanted <= node.allocatable(kinds::cpu) - used ? status::success()
                                                         : status::unschedulable("Insufficient amplified cpu");
  }
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const numa_layout* numa = cells_of(node);
    if (numa == nullptr || !binds_on(*numa, pod)) return 0;
    const std::int64_t all = node.allocatable(kinds::cpu), taken = bound_milli(*numa, node) + pod.request(kinds::cpu);
    if (all <= 0) return 0;
    if (strategy_ == strategy::most_allocated) return std::min(taken, all) * max_node_score / all;
    return std::max<std::int64_t>(all - taken, 0) * max_node_score / all;
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
};

static_assert(requeue_plugin<node_numa_resource> && pre_filter_plugin<node_numa_resource> &&
              filter_plugin<node_numa_resource> && score_plugin<node_numa_resource>);

}  // namespace gangsched::inline GANGSCHED_ABI
