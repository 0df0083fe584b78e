#include "gangsched/devices/numa_fit.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "gangsched/devices/numa_layout.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// The wants of a pod as the kinds of devices that the kubelet knows.
class numa_fitting {
 public:
  numa_fitting(const device_state& state, const device_wants& wants)
      : state_(state), wants_(wants), layout_(*state.inventory->numa), node_(layout_.node()) {
    now_ = layout_.state(state.used + state.inventory->first_numa());
    for (std::size_t i = 0; i < wants.size(); ++i) {
      // What no container has a part in, the kubelet does not see.
      const bool seen = std::any_of(wants.containers.begin(), wants.containers.end(),
                                    [i](const numa_container& one) { return one.devices[i] != 0; });
      kind_of_.push_back(seen ? kind_for(wants[i]) : not_aligned);
    }
  }

  [[nodiscard]] status run(device_wants& narrowed, boost::container::small_vector<device_grant, 8>& own) {
    const numa_pod pod = by_kind();
    const bool bound = wants_.binding.policy != cpu_bind_policy::none;
    if (bound) {
      if (const status wrong = cannot_bind(); !wrong.ok()) return wrong;
    }
    const auto devices = [this](auto... args) { return choose(args...); };
    const numa_admission got = bound ? bind(pod, devices) : numa_admit(node_, now_, pod, devices);
    if (!got.admitted) return bound ? not_bound(got.reason) : refusal(got.reason);
    for (std::size_t i = 0; i < wants_.size(); ++i) narrow(i, got, narrowed);
    grant_own(got, own);
    return status::success();
  }

  [[nodiscard]] numa_zones zones() const {
    const numa_topology& topology = layout_.topology;
    numa_zones made;
    made.resources.push_back({.numa_affine = true, .whole = 1000});
    made.resources.resize(1 + layout_.kinds(), {.numa_affine = true});
    made.resources.resize(made.resources.size() + kinds_.size());
    for (const kind_info& kind : kinds_) {
      made.devices.push_back(kind.demand->wants_gpu() ? state_.inventory->resource : kind.demand->device_class);
    }
    made.pod.resources = made.resources;
    made.pod.scope = node_.scope;
    made.pod.guaranteed = wants_.guaranteed;
    for (unsigned cell = 0; cell < topology.cell_number(); ++cell) {
      numa_zone& zone = made.pod.zones.emplace_back();
      zone.id = cell;
      zone.available.push_back(1000 * std::int64_t{(now_.cpus.available() & topology.cells()[cell].cpus).count()});
      for (const std::uint64_t free : now_.memory.cells[cell].free)
        zone.available.push_back(static_cast<std::int64_t>(free));
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        std::int64_t all = 0, free = 0;
        for (unsigned device = 0; device < node_.devices[kind].cells.size(); ++device) {
          if ((node_.devices[kind].cells[device] & one_cell(cell)) == 0) continue;
          ++all;
          free += now_.free_devices[kind].contains(device);
        }
        zone.available.push_back(all == 0 ? not_listed : free);
      }
      const numa_distances& distances = topology.distances();
      for (unsigned to = 0; to < distances.cells; ++to) zone.costs.push_back(distances.at(cell, to));
    }
    const numa_pod pod = by_kind();
    for (const numa_container& from : pod.containers) {
      numa_zone_container& one = made.pod.containers.emplace_back();
      one.init = from.kind != container_kind::app;
      const auto add = [&](std::int64_t amount) { one.requests.push_back(amount == 0 ? not_listed : amount); };
      add(from.cpu_milli);
      for (std::size_t kind = 0; kind < layout_.kinds(); ++kind) {
        add(kind < from.memory.size() ? static_cast<std::int64_t>(from.memory[kind]) : 0);
      }
      for (const unsigned count : from.devices) add(count);
    }
    return made;
  }

 private:
  static constexpr int not_aligned = -1;

  /// What one number of a kind is: a GPU, or another device.
  struct kind_info {
    const device_demand* demand;
    std::vector<std::uint16_t> hardware;
  };

  [[nodiscard]] static status refusal(numa_refusal reason) noexcept {
    switch (reason) {
      case numa_refusal::smt_alignment: return status::unschedulable("node(s) would refuse the pod: SMTAlignmentError");
      case numa_refusal::topology_affinity:
        return status::unschedulable("node(s) would refuse the pod: TopologyAffinityError");
      case numa_refusal::none:
      case numa_refusal::devices:
      case numa_refusal::cpus:
      case numa_refusal::memory: break;
    }
    return status::unschedulable("node(s) would refuse the pod: UnexpectedAdmissionError");
  }

  /// koord-scheduler's words.
  [[nodiscard]] static status not_bound(numa_refusal reason) noexcept {
    switch (reason) {
      case numa_refusal::topology_affinity: return status::unschedulable("node(s) NUMA Topology affinity error");
      case numa_refusal::memory: return status::unschedulable("Insufficient NUMA memory");
      case numa_refusal::devices: return status::unschedulable("Insufficient NUMA devices");
      case numa_refusal::none:
      case numa_refusal::smt_alignment:
      case numa_refusal::cpus: break;
    }
    return status::unschedulable("not enough cpus available to satisfy request");
  }
  /// What no state of the node changes.
  [[nodiscard]] status cannot_bind() const noexcept {
    if (wants_.cpu_milli % 1000 != 0) return status::unresolvable("the requested CPUs must be integer");
    if (wants_.binding_conflict) {
      return status::unresolvable("node(s) cpu bind policy conflicts with pod's required cpu bind policy");
    }
    const bool whole = wants_.binding.required && wants_.binding.policy == cpu_bind_policy::full_pcpus;
    return !whole || wants_.cpu_milli / 1000 % layout_.topology.cpus_per_core() == 0
               ? status::success()
               : status::unresolvable("node(s) requested cpus not multiple cpus per core");
  }

  /// All CPUs are the first container's, whole pods are aligned, and hints know only the CPUs that a required policy can use.
  [[nodiscard]] numa_admission bind(numa_pod pod, const numa_device_choice& devices) const {
    numa_node node = node_;
    node.scope = numa_scope::pod;
    node.cpu = {.is_static = true};
    numa_state now = now_;
    const cpu_binding& how = wants_.binding;
    if (how.required)
      now.cpus.shared = cpus_for(layout_.topology, now.cpus.available(), how.policy) | now.cpus.reserved;
    pod.guaranteed = true;
    const cpu_set others = layout_.exclusive(state_.used + state_.inventory->first_numa(), how.exclusive);
    std::int64_t left = wants_.cpu_milli;
    for (numa_container& one : pod.containers)
      one.cpu_milli = one.kind == container_kind::app ? std::exchange(left, 0) : 0;
    return numa_admit(node, now, pod, devices, [&](const cpu_set& available, cell_mask cells, unsigned wanted) {
      return bind_cpus_in(layout_.topology, available, cells, wanted, how, layout_.spec.cpu_strategy, others);
    });
  }

  [[nodiscard]] int kind_for(const device_want& want) {
    const device_demand& demand = *want.what;
    if (!demand.first_of.empty() || demand.all || demand.admin || !demand.expressions.empty() ||
        !demand.capacities.empty())
      return not_aligned;
    if (demand.wants_gpu() && state_.inventory->gpus.empty()) return not_aligned;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const device_demand& other = *kinds_[i].demand;
      if (demand.kind == device_demand::form::whole && other.kind == demand.kind) return static_cast<int>(i);
      const bool same = demand.kind == device_demand::form::other && other.kind == demand.kind &&
                        other.units == demand.units && other.device_class == demand.device_class &&
                        other.selectors.empty() && demand.selectors.empty();
      if (same) return static_cast<int>(i);
    }
    kinds_.push_back({&demand, {}});
    node_.devices.emplace_back();
    now_.free_devices.emplace_back();
    if (demand.wants_gpu())
      add_gpus(demand);
    else
      add_others(demand);
    return static_cast<int>(kinds_.size()) - 1;
  }

  /// One more device of the kind that is being made; what is more than a kubelet's kind has here is left out.
  void add(std::size_t hardware, std::int32_t numa, bool free) {
    std::vector<cell_mask>& cells = node_.devices.back().cells;
    if (cells.size() == device_set::capacity) return;
    if (free) now_.free_devices.back().insert(static_cast<unsigned>(cells.size()));
    cells.push_back(layout_.cell(numa));
    kinds_.back().hardware.push_back(static_cast<std::uint16_t>(hardware));
  }

  void add_gpus(const device_demand& demand) {
    const device_inventory& inventory = *state_.inventory;
    using form = device_demand::form;
    const bool parts = demand.kind == form::replica || demand.kind == form::mig;
    const std::uint32_t fit = parts ? 0 : gpus_for(state_, demand);
    const auto profile = demand.kind == form::mig ? inventory.find_profile(demand.mig_profile) : std::nullopt;
    const auto most = static_cast<unsigned>(device_set::capacity / inventory.gpus.size());
    for (std::size_t gpu = 0; gpu < inventory.gpus.size(); ++gpu) {
      unsigned all = 1, free = fit >> gpu & 1u;
      if (demand.kind == form::replica) {
        all = static_cast<unsigned>(inventory.replicas);
        free = static_cast<unsigned>(std::max(0, free_replicas(state_, gpu)));
      } else if (demand.kind == form::mig) {
        all = profile ? mig_room(state_, gpu, *profile, true) : 0;
        free = profile ? mig_room(state_, gpu, *profile, false) : 0;
      }
      for (unsigned i = 0; i < std::min(all, most); ++i) add(gpu, inventory.gpus[gpu].numa, i < free);
    }
  }

  void add_others(const device_demand& demand) {
    const device_inventory& inventory = *state_.inventory;
    for (std::size_t i = 0; i < inventory.others.size(); ++i) {
      if (!is_kind(inventory, demand, i)) continue;
      add(i, inventory.others[i].numa, is_free(state_, demand, i));
    }
  }

  [[nodiscard]] numa_pod by_kind() const {
    numa_pod pod{wants_.guaranteed, wants_.containers};
    for (numa_container& container : pod.containers) {
      std::vector<unsigned> devices(kinds_.size(), 0);
      for (std::size_t i = 0; i < container.devices.size(); ++i) {
        if (kind_of_[i] != not_aligned) devices[static_cast<std::size_t>(kind_of_[i])] += container.devices[i];
      }
      container.devices = std::move(devices);
    }
    return pod;
  }

  /// As allocate_devices, but whole GPUs by their links.
  [[nodiscard]] std::optional<device_set> choose(std::size_t kind, const device_set& free, const device_set& reusable,
                                                 cell_mask affinity, unsigned wanted) const {
    const device_kind& all = node_.devices[kind];
    if (kinds_[kind].demand->kind == device_demand::form::whole && reusable.empty()) {
      std::uint32_t near = 0;
      free.for_each([&](unsigned gpu) {
        if (affinity == 0 || (all.cells[gpu] & affinity) != 0) near |= std::uint32_t{1} << gpu;
      });
      const bool enough = static_cast<unsigned>(std::popcount(near)) >= wanted;
      if (const std::uint32_t best = enough ? best_gpus(*state_.inventory, near, wanted, *kinds_[kind].demand) : 0;
          best != 0) {
        device_set chosen;
        chosen.set_bits(0, best);
        return chosen;
      }
    }
    return allocate_devices(all, free, reusable, affinity, wanted);
  }

  /// What is left for a want: what the kubelet gave, where that says which GPUs; elsewhere what is in the same cells.
  void narrow(std::size_t want, const numa_admission& got, device_wants& out) const {
    const device_want& from = wants_[want];
    if (kind_of_[want] == not_aligned) return out.push_back(from);
    const auto kind = static_cast<std::size_t>(kind_of_[want]);
    bool again = false;  // what an init container leaves is used again
    device_set exact;
    for (std::size_t i = 0; i < got.grants.size(); ++i) {
      if (wants_.containers[i].devices[want] == 0) continue;
      exact |= got.grants[i].devices[kind];
      again |= wants_.containers[i].kind == container_kind::init;
    }
    if (again || from.what->kind == device_demand::form::whole) return restrict(from, from.count, kind, exact, out);
    for (std::size_t i = 0; i < got.grants.size(); ++i) {
      const unsigned count = wants_.containers[i].devices[want];
      if (count == 0) continue;
      device_set near;
      bool all = got.grants[i].hint.cells == 0;
      for (unsigned d = 0; d < node_.devices[kind].cells.size(); ++d) {
        const bool inside = (node_.devices[kind].cells[d] & got.grants[i].hint.cells) != 0;
        if (inside)
          near.insert(d);
        else
          all |= got.grants[i].devices[kind].contains(d);
      }
      const auto last = static_cast<unsigned>(node_.devices[kind].cells.size());
      restrict(from, static_cast<std::int32_t>(count), kind, all ? device_set::range(0, last) : near, out);
    }
  }

  void restrict(const device_want& from, std::int32_t count, std::size_t kind, const device_set& devices,
                device_wants& out) const {
    device_want made = from;
    made.count = count;
    const std::vector<std::uint16_t>& hardware = kinds_[kind].hardware;
    if (from.what->wants_gpu()) {
      made.gpus = 0;
      devices.for_each([&](unsigned device) { made.gpus |= std::uint32_t{1} << hardware[device]; });
    } else {
      made.others = static_cast<std::int16_t>(out.allowed.size());
      device_wants::other_set& allowed = out.allowed.emplace_back();
      devices.for_each([&](unsigned device) { allowed.insert(hardware[device]); });
    }
    out.push_back(made);
  }

  /// A CPU that an init container leaves to others is theirs.
  void grant_own(const numa_admission& got, boost::container::small_vector<device_grant, 8>& own) const {
    cpu_set later;
    for (std::size_t i = got.grants.size(); i-- > 0;) {
      const numa_grant& from = got.grants[i];
      const cpu_set mine = from.cpus - later;
      later |= mine;
      for (unsigned cell = 0; cell < layout_.topology.cell_number() && !mine.empty(); ++cell) {
        const cpu_set here = mine & layout_.topology.cells()[cell].cpus;
        for (std::uint32_t word = 0; word < layout_.cpu_words; ++word) {
          if (here.bits(word) == 0) continue;
          own.push_back({.kind = device_grant::form::cpus,
                         .request = static_cast<std::uint8_t>(i),
                         .device = static_cast<std::uint16_t>(cell),
                         .milli = static_cast<std::int32_t>(64 * word),
                         .mig_start = exclusive_start(wants_.binding),
                         .amount = static_cast<std::int64_t>(here.bits(word))});
        }
      }
      for (std::size_t kind = 0; kind < layout_.kinds(); ++kind) {
        if ((from.memory.kinds >> kind & 1u) == 0) continue;
        own.push_back({.kind = device_grant::form::memory,
                       .request = static_cast<std::uint8_t>(i),
                       .device = from.memory.cells,
                       .milli = static_cast<std::int32_t>(kind),
                       .amount = static_cast<std::int64_t>(from.memory.bytes[kind])});
      }
    }
    std::stable_sort(own.begin(), own.end(),
                     [](const device_grant& a, const device_grant& b) { return a.request < b.request; });
  }

  const device_state& state_;
  const device_wants& wants_;
  const numa_layout& layout_;
  numa_node node_;
  numa_state now_;
  std::vector<kind_info> kinds_;
  std::vector<int> kind_of_;  ///< by want
};

}  // namespace detail

GANGSCHED_INLINE std::optional<cpu_binding> binding_on(const node_numa& node, const cpu_binding& of_pod,
                                                       bool guaranteed) noexcept {
  const bool bound = of_pod.policy != cpu_bind_policy::none;
  if (node.cpu_bind == cpu_bind_policy::none || (!bound && !guaranteed)) return of_pod;
  if (of_pod.required && bound && of_pod.policy != node.cpu_bind) return std::nullopt;
  return cpu_binding{node.cpu_bind, true, of_pod.exclusive};
}

GANGSCHED_INLINE status fit_cells(const device_state& state, const device_wants& wants, device_wants& narrowed,
                                  boost::container::small_vector<device_grant, 8>& own) {
  return detail::numa_fitting{state, wants}.run(narrowed, own);
}

GANGSCHED_INLINE numa_zones zones_of(const device_state& state, const device_wants& wants) {
  return detail::numa_fitting{state, wants}.zones();
}

GANGSCHED_INLINE bool is_free_in_cells(const device_state& state, const device_grant& grant) {
  if (!state.inventory->numa) return false;
  const numa_layout& layout = *state.inventory->numa;
  const numa_state now = layout.state(state.used + state.inventory->first_numa());
  if (grant.kind == device_grant::form::cpus) {
    if (grant.device >= layout.topology.cell_number() || grant.milli < 0 || grant.milli % 64 != 0) return false;
    const auto word = static_cast<std::size_t>(grant.milli / 64);
    if (word >= layout.cpu_words) return false;
    const cpu_set free = now.cpus.available() & layout.topology.cells()[grant.device].cpus;
    return (grant.cpu_mask() & ~free.bits(word)) == 0;
  }
  const auto kind = static_cast<std::size_t>(grant.milli);
  if (grant.device == 0 || (grant.device & ~unsigned{layout.topology.machine()}) != 0 || kind >= layout.kinds())
    return false;
  std::uint64_t free = 0;
  for (unsigned rest = grant.device; rest != 0; rest &= rest - 1) {
    const memory_state::cell& cell = now.memory.cells[static_cast<unsigned>(std::countr_zero(rest))];
    if (cell.assignments != 0 && cell.group != grant.device) return false;
    free += cell.free[kind];
  }
  return grant.amount >= 0 && static_cast<std::uint64_t>(grant.amount) <= free;
}

GANGSCHED_INLINE void add_cells_grant(const device_inventory& inventory, const device_grant& grant,
                                      device_claim& claim) {
  const numa_layout& layout = *inventory.numa;
  const std::uint32_t first = inventory.first_numa();
  const auto add = [&](std::uint32_t word, std::uint64_t more) {
    if (more != 0) claim.changes.push_back({first + word, more});
  };
  if (grant.kind == device_grant::form::cpus) {
    const auto word = static_cast<std::uint32_t>(grant.milli / 64);
    if (grant.mig_start > 0)
      add(static_cast<std::uint32_t>(grant.mig_start) * layout.cpu_words + word, grant.cpu_mask());
    return add(word, grant.cpu_mask());
  }
  const auto lowest = static_cast<unsigned>(std::countr_zero(grant.device));
  add(layout.memory_word(lowest, static_cast<std::size_t>(grant.milli)), static_cast<std::uint64_t>(grant.amount));
  for (unsigned rest = grant.device; rest != 0; rest &= rest - 1) {
    add(layout.group_word(static_cast<unsigned>(std::countr_zero(rest))), numa_layout::group_change(grant.device));
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
