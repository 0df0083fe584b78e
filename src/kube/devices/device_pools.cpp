#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "gangsched/src/kube/devices/devices.hpp"

// Pools of devices (DRA): what a driver publishes in several ResourceSlices, and replaces all at once.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

pool_generations newest_generations(const device_objects& objects) {
  pool_generations newest;
  for (const resource_slice& one : objects.slices) {
    std::int64_t& generation = newest[{one.driver, one.pool}];
    generation = std::max(generation, one.generation);
  }
  return newest;
}

std::string full_name(const resource_slice& in, const other_device& device) {
  return fmt::format("{}/{}/{}", in.driver, in.pool, device.id);
}

void keep_back_pools(manifests& into, device_objects& objects, const pool_generations& newest,
                     const std::set<std::string>& held) {
  struct pool {
    std::vector<resource_slice*> slices = {};
    std::set<std::string_view> names = {};
    std::set<std::string_view> counters = {};
    std::string twice = {};
  };
  std::map<std::pair<std::string_view, std::string_view>, pool> pools;
  for (resource_slice& one : objects.slices) {
    if (one.generation != newest.at({one.driver, one.pool})) continue;
    pool& its = pools[{one.driver, one.pool}];
    its.slices.push_back(&one);
    for (const other_device& device : one.devices)
      if (!its.names.insert(device.id).second && its.twice.empty()) its.twice = device.id;
    for (const auto& [name, amount] : one.counters) its.counters.insert(name);
  }
  for (auto& [name, one] : pools) {
    for (resource_slice* const each : one.slices) {
      for (other_device& device : each->devices) {
        const auto unknown = std::ranges::find_if(
            device.consumes, [&](const counter_use& its) { return !one.counters.contains(its.counter); });
        if (unknown == device.consumes.end()) continue;
        into.warnings.push_back(
            {where(into, each->from, "ResourceSlice", "", each->name), "",
             fmt::format("its device \"{}\" consumes the counter \"{}\", that its pool does not have: it "
                         "is not given out",
                         device.id, unknown->counter)});
        device.healthy = device.healthy && held.contains(full_name(*each, device));
        device.consumes.clear();
      }
    }
  }
  for (const auto& [name, one] : pools) {
    const resource_slice& first = *one.slices.front();
    const auto count = static_cast<std::int64_t>(one.slices.size());
    const bool whole = first.pool_slices == 0 || first.pool_slices == count;
    if (whole && one.twice.empty()) continue;
    const std::string why =
        whole ? fmt::format("two devices \"{}\"", one.twice) : fmt::format("{} slices of {}", count, first.pool_slices);
    into.warnings.push_back({where(into, first.from, "ResourceSlice", "", first.name), "",
                             fmt::format("its pool \"{}\" has {}: nothing of it is given out", name.second, why)});
    for (resource_slice* const each : one.slices)
      for (other_device& device : each->devices)
        device.healthy = device.healthy && !held.empty() && held.contains(full_name(*each, device));
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
