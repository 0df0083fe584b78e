#include <algorithm>
#include <bit>

#include "gangsched/devices/numa_fit.hpp"
#include "gangsched/model/canonical.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched {
namespace detail {

/// What each container wants. @p counted: of which resources the last wants are.
GANGSCHED_INLINE void want_containers(const pod_class& cls, const device_record& devices, std::span<const resource_kind> counted,
                                      device_wants& wants) {
  const node_numa& node = devices.inventory->numa->spec;
  wants.cpu_milli = cls.request(kinds::cpu);
  if (wants.cpu_milli != 0) {
    const std::optional<cpu_binding> bound = binding_on(node, cls.bind_cpus, cls.guaranteed);
    wants.binding = bound.value_or(cls.bind_cpus);
    wants.binding_conflict = !bound;
  }
  const bool own = cls.guaranteed && (node.cpu.is_static || node.static_memory);
  if (wants.empty() && !own && wants.binding.policy == cpu_bind_policy::none) return;
  wants.guaranteed = cls.guaranteed;
  std::size_t app = 0;
  for (const container_needs& from : cls.containers) {
    const auto request = [&](resource_kind kind) -> std::int64_t {
      const auto found = std::find_if(from.requests.begin(), from.requests.end(), [&](const amount& one) { return one.kind == kind; });
      return found == from.requests.end() ? 0 : found->value;
    };
    numa_container& one = wants.containers.emplace_back();
    one.kind = from.kind;
    one.cpu_milli = request(kinds::cpu);
    for (const resource_kind kind : devices.memory_kinds) one.memory.push_back(static_cast<std::uint64_t>(request(kind)));
    one.devices.assign(wants.size(), 0);
    const std::size_t first = wants.size() - counted.size();
    for (std::size_t i = 0; i < wants.size(); ++i) {
      if (i >= first) one.devices[i] = static_cast<unsigned>(std::min<std::int64_t>(request(counted[i - first]), 1 << 20));
      else if (from.kind == container_kind::app && wants[i].what->container == app) one.devices[i] = static_cast<unsigned>(wants[i].count);
    }
    if (from.kind == container_kind::app) ++app;
  }
}

/// The CPUs and memory that the host says a pod holds, as grants.
GANGSCHED_INLINE void grants_of(const cluster_state& state, const device_record& devices, const held_device& held,
                                std::vector<device_grant>& out) {
  if (!devices.inventory->numa) return;
  const numa_layout& layout = *devices.inventory->numa;
  const auto container = static_cast<std::uint8_t>(std::clamp(held.request, 0, 255));
  if (held.id == "cpu") {
    for (unsigned cell = 0; cell < layout.topology.cell_number(); ++cell) {
      cpu_set here;
      for (const std::uint32_t cpu : held.places)
        if (layout.topology.cells()[cell].cpus.contains(cpu)) here.insert(cpu);
      for (std::uint32_t word = 0; word < layout.cpu_words; ++word) {
        if (here.bits(word) == 0) continue;
        out.push_back({.kind = device_grant::form::cpus,
                       .request = container,
                       .device = static_cast<std::uint16_t>(cell),
                       .milli = static_cast<std::int32_t>(64 * word),
                       .amount = static_cast<std::int64_t>(here.bits(word))});
      }
    }
    return;
  }
  unsigned cells = 0;
  for (const std::uint32_t id : held.places) cells |= layout.cell(static_cast<std::int32_t>(id));
  for (std::size_t kind = 0; kind < devices.memory_kinds.size(); ++kind) {
    if (state.kind_name(devices.memory_kinds[kind]) != held.id || cells == 0) continue;
    out.push_back({.kind = device_grant::form::memory,
                   .request = container,
                   .device = static_cast<std::uint16_t>(cells),
                   .milli = static_cast<std::int32_t>(kind),
                   .amount = static_cast<std::int64_t>(held.bytes)});
  }
}

/// And back.
GANGSCHED_INLINE held_device held_of(const cluster_state& state, const device_record& devices, const device_grant& grant) {
  held_device made{.id = {}, .request = grant.request};
  const auto each = [&](std::uint64_t bits, const auto& what) {
    for (; bits != 0; bits &= bits - 1) made.places.push_back(what(static_cast<unsigned>(std::countr_zero(bits))));
  };
  if (grant.kind == device_grant::form::cpus) {
    made.id = "cpu";
    each(grant.cpu_mask(), [&](unsigned bit) { return static_cast<std::uint32_t>(grant.milli) + bit; });
  } else {
    made.id = state.kind_name(devices.memory_kinds[static_cast<std::size_t>(grant.milli)]);
    each(grant.device, [&](unsigned bit) { return devices.inventory->numa->topology.cells()[bit].id; });
    made.bytes = static_cast<std::uint64_t>(grant.amount);
  }
  return made;
}

}  // namespace detail

GANGSCHED_INLINE std::optional<std::uint32_t> device_record::find(std::string_view id) const noexcept {
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - ids.begin());
}

GANGSCHED_INLINE device_wants cluster_state::wants_of(const pod_class& cls, row_t node) const {
  device_wants wants;
  bool gpus = false;
  for (std::size_t i = 0; i < cls.devices.size(); ++i) {
    const device_demand& one = cls.devices[i];
    wants.push_back({&one, one.count, static_cast<std::uint8_t>(i)});
    gpus = gpus || one.wants_gpu();
  }
  const std::optional<device_record>& devices = nodes.record[node]->devices;
  if (!devices) return wants;
  boost::container::small_vector<resource_kind, 4> counted;
  for (const auto& [kind, demand] : devices->counted) {
    if (gpus) break;  // requests for GPUs say how the counted ones are to be chosen
    const std::int64_t count = cls.request(kind);
    if (count <= 0) continue;
    wants.push_back({&demand, static_cast<std::int32_t>(std::min<std::int64_t>(count, 1 << 20)), counted_request});
    counted.push_back(kind);
  }
  if (devices->inventory->numa && !cls.containers.empty()) detail::want_containers(cls, *devices, {counted.data(), counted.size()}, wants);
  return wants;
}

GANGSCHED_INLINE bool cluster_state::claim_devices(row_t pod, row_t node, const device_rules& rules) {
  const device_wants wants = wants_of(classes[pods.cls[pod]], node);
  if (wants.nothing()) return true;
  auto made = std::make_unique<device_claim>();
  if (!choose_devices(devices_of(node), wants, rules, *made).ok()) return false;
  pods.claim.set(pod, std::move(made));
  return true;
}

GANGSCHED_INLINE void cluster_state::count_devices(row_t pod, row_t node, std::int64_t sign) {
  const device_claim* claim = pods.claim[pod];
  if (claim == nullptr) return;
  for (const device_claim::change& one : claim->changes) {
    const auto used = static_cast<std::uint64_t>(nodes.devices.at(node, one.word));
    nodes.devices.set(node, one.word, static_cast<std::int64_t>(sign > 0 ? used + one.more : used - one.more));
  }
}

GANGSCHED_INLINE void cluster_state::clear_devices(row_t node) {
  const std::optional<device_record>& devices = nodes.record[node]->devices;
  for (std::uint32_t word = 0; devices && word < devices->inventory->words(); ++word) {
    if (nodes.devices.at(node, word) != 0) nodes.devices.set(node, word, 0);
  }
}

GANGSCHED_INLINE void cluster_state::mark_devices(row_t node) {
  const std::optional<device_record>& devices = nodes.record[node]->devices;
  if (!devices) return;
  const device_inventory& inventory = *devices->inventory;
  nodes.devices.grow(nodes.rows.count(), inventory.words());
  for (std::uint32_t i = 0; i < devices->unhealthy.size(); ++i) {
    const std::uint32_t word = i < inventory.gpu_count() ? 2 * i : inventory.first_other() + i - inventory.gpu_count();
    if (devices->unhealthy[i]) nodes.devices.set(node, word, static_cast<std::int64_t>(gpu_word::unhealthy_bit));
  }
}

/// What cannot be had is left out: the host is right that the pod runs there, and nobody else may lose what he has.
GANGSCHED_INLINE void cluster_state::claim_held(row_t pod, row_t node, std::span<const held_device> held) {
  const std::optional<device_record>& devices = nodes.record[node]->devices;
  if (!devices) return;
  device_wants wants = wants_of(classes[pods.cls[pod]], node);
  device_state now = devices_of(node);
  std::vector<std::int64_t> words(now.used, now.used + now.inventory->words());
  now.used = words.data();
  auto made = std::make_unique<device_claim>();
  const auto take = [&](const device_grant& grant) {
    if (!is_free(now, grant)) return false;
    std::size_t next = made->changes.size();
    for (add_grant(*now.inventory, grant, *made); next < made->changes.size(); ++next) {
      words[made->changes[next].word] += static_cast<std::int64_t>(made->changes[next].more);
    }
    return true;
  };
  std::vector<device_grant> own;
  for (const held_device& one : held) {
    if (!one.places.empty()) {
      detail::grants_of(*this, *devices, one, own);
      continue;
    }
    const std::optional<std::uint32_t> index = devices->find(one.id);
    if (!index) continue;
    const bool gpu = *index < now.gpu_count();
    const auto want = std::find_if(wants.begin(), wants.end(), [&](const device_want& w) {
      return w.what->wants_gpu() == gpu && w.count > 0 && (one.request < 0 || w.request == one.request);
    });
    if (want == wants.end()) continue;
    if (take(grant_of(*now.inventory, *want, gpu ? *index : *index - now.gpu_count(), one.mig_start))) --want->count;
  }
  for (const device_grant& one : own) static_cast<void>(take(one));
  pods.claim.set(pod, std::move(made));
}

GANGSCHED_INLINE std::vector<pod_devices> cluster_state::take_claims(row_t node) {
  std::vector<pod_devices> all;
  for (row_t pod = nodes.first_pod[node]; pod != no_row; pod = pods.next_on_node[pod]) {
    pod_devices& one = all.emplace_back(pod_devices{pod, std::nullopt});
    if (pods.claim[pod] == nullptr) continue;
    one.held.emplace();
    const device_record& devices = *nodes.record[node]->devices;
    for (const device_grant& grant : pods.claim[pod]->grants) {
      if (grant.kind > device_grant::form::other) {
        one.held->push_back(detail::held_of(*this, devices, grant));
        continue;
      }
      const bool other = grant.kind == device_grant::form::other;
      one.held->push_back({.id = devices.ids[other ? devices.inventory->gpu_count() + grant.device : grant.device],
                           .request = grant.request == counted_request ? -1 : grant.request,
                           .mig_start = grant.mig_start});
    }
    drop_claim(pod);
  }
  std::sort(all.begin(), all.end(), [](const pod_devices& a, const pod_devices& b) { return a.pod < b.pod; });
  clear_devices(node);
  return all;
}

/// First those that say what they had, so that the others choose among the rest.
GANGSCHED_INLINE void cluster_state::give_claims(row_t node, std::span<const pod_devices> all) {
  mark_devices(node);
  if (!nodes.record[node]->devices) return;
  for (const pod_devices& one : all) {
    if (!one.held) continue;
    claim_held(one.pod, node, *one.held);
    count_devices(one.pod, node, +1);
  }
  for (const pod_devices& one : all) {
    if (!one.held && claim_devices(one.pod, node)) count_devices(one.pod, node, +1);
  }
}

}  // namespace gangsched
