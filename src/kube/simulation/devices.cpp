#include "gangsched/src/kube/simulation/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/devices/numa_layout.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

/// "0-3,8"
std::string list_of(const cpu_set& cpus) {
  std::string made;
  for (unsigned first = 0; first < cpu_set::capacity; ++first) {
    if (!cpus.contains(first)) continue;
    unsigned last = first;
    while (cpus.contains(last + 1)) ++last;
    made += fmt::format("{}{}", made.empty() ? "" : ",", first);
    if (last != first) made += fmt::format("-{}", last);
    first = last;
  }
  return made;
}

/// How much of its GPU a grant is, but for memory.
std::int32_t taken_of(const device_inventory& of, const device_grant& grant) {
  using form = device_grant::form;
  if (grant.kind == form::share) return grant.milli;
  if (grant.kind == form::replica) return 1000 / std::max(1, of.replicas);
  if (grant.kind != form::mig) return 1000;
  const std::optional<mig_profile_index> profile = of.find_profile(grant.mig_profile);
  if (!profile) return 0;
  const auto slices = of.mig->slices({*profile, static_cast<std::uint8_t>(grant.mig_start)});
  return 1000 * std::popcount(slices) / of.mig->memory_slices();
}

/// What the grants are called on the node.
void add(const cluster& in, node_id node, std::span<const device_grant> grants, std::vector<device_outcome>& out) {
  using form = device_grant::form;
  cpu_set cpus;
  for (const device_grant& one : grants) {
    if (one.kind == form::cpus) {
      const auto word = static_cast<std::size_t>(one.milli) / 64;
      cpus.set_bits(word, cpus.bits(word) | one.cpu_mask());
      continue;
    }
    if (one.kind == form::capacity) {  // of the device before it
      out.back().capacities.emplace_back(in.capacity_of(node, one), one.amount);
      continue;
    }
    device_outcome& to = out.emplace_back();
    to.name = in.name_of(node, one);
    to.other = one.kind == form::other;
    to.replica = one.kind == form::replica;
    if (one.kind == form::gpu) to.milli = 1000;
    if (one.kind == form::share) to.milli = one.milli, to.memory_mib = one.amount;
    if (one.is_gpu()) to.taken_milli = taken_of(*in.devices_of(node).inventory, one);
    if (one.kind == form::other) {
      to.units = one.amount;
      const device_inventory::other& device = in.devices_of(node).inventory->others[one.device];
      to.whole = one.amount == (device.shared ? 1 : device.units);
    }
    if (one.kind == form::memory) {
      to.bytes = one.amount;
      const auto cells = in.devices_of(node).inventory->numa->topology.cells();
      for (std::size_t i = 0; i < cells.size(); ++i)
        if ((one.device >> i & 1) != 0) to.cells.push_back(cells[i].id);
    }
    if (one.kind != form::mig) continue;
    to.mig_profile = in.profile_of(one);
    to.mig_start = one.mig_start;
  }
  if (cpus.empty()) return;
  device_outcome& own = out.emplace_back();
  own.name = "cpu";
  own.cpus = list_of(cpus);
}

}  // namespace

std::vector<device_outcome> devices_of(const cluster& in, pod_id pod) {
  std::vector<device_outcome> made;
  const node_id node = in.node_of(pod);
  add(in, node, in.devices_of(pod), made);
  for (const resource_claim_id claim : in.claims_of(pod)) {
    if (in.node_of(claim) != node) continue;
    const std::size_t own = made.size();
    add(in, node, in.devices_of(claim), made);
    for (std::size_t i = own; i < made.size(); ++i) made[i].claim = in.name_of(claim);
  }
  return made;
}

node_gpus gpus_of(const cluster& in, node_id node, std::string model) {
  node_gpus made{std::string{in.name_of(node)}, std::move(model), 0, {}};
  const device_state now = in.devices_of(node);
  for (std::uint16_t i = 0; i < now.gpu_count(); ++i) {
    const device_inventory& inventory = *now.inventory;
    made.memory_mib = inventory.gpu_memory_mib;
    const gpu_word word = now.gpu(i);
    gpu_cell& to = made.gpus.emplace_back();
    to.name = in.name_of(node, {.kind = device_grant::form::gpu, .device = i});
    to.healthy = !word.unhealthy();
    to.used_memory_mib = now.used_memory_mib(i);
    to.replicas = word.replicas();
    // Compute or memory, whichever is scarcer.
    std::int64_t milli = word.milli();
    if (inventory.gpu_memory_mib > 0) milli = std::max(milli, 1000 * to.used_memory_mib / inventory.gpu_memory_mib);
    if (inventory.replicas > 1) milli = std::max<std::int64_t>(milli, 1000 * word.replicas() / inventory.replicas);
    to.milli = static_cast<std::int32_t>(milli);
    if (inventory.gpus[i].mig == mig_mode::off) continue;
    to.slices = inventory.mig->memory_slices();
    to.used_slices = word.slices() & ((1u << to.slices) - 1);
    for (const mig_placement& one : inventory.gpus[i].instances) to.instances |= inventory.mig->slices(one);
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
