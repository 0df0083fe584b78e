#include "gangsched/devices/cpu_manager.hpp"

#include <algorithm>
#include <array>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

inline error bad_cpu_policy(std::string field, std::string reason) {
  return {errc::malformed, "CPU manager policy", std::move(field), std::move(reason)};
}

/// takeByTopology with the policy's options.
inline std::optional<cpu_set> take_cpus(const numa_topology& topology, const cpu_policy& policy, const cpu_set& from,
                                        unsigned wanted) {
  if (!policy.distribute_cpus_across_numa)
    return take_cpus_packed(topology, from, wanted, policy.distribute_cpus_across_cores,
                            policy.prefer_align_cpus_by_uncorecache);
  const unsigned group = policy.full_pcpus_only ? topology.cpus_per_core() : 1;
  return take_cpus_distributed(topology, from, wanted, group, policy.distribute_cpus_across_cores);
}

inline unsigned sockets_of(const numa_topology& topology, cell_mask cells) {
  const cpu_set cpus = topology.cpus_in(cells);
  return static_cast<unsigned>(std::count_if(topology.sockets().begin(), topology.sockets().end(),
                                             [&](const cpu_group& socket) { return !(socket.cpus & cpus).empty(); }));
}

}  // namespace detail

GANGSCHED_INLINE result<void> cpu_policy::check(const numa_topology& topology, numa_policy numa) const {
  using detail::bad_cpu_policy;
  const std::string both = "not together with ";
  if (distribute_cpus_across_cores && full_pcpus_only)
    return bad_cpu_policy("distribute-cpus-across-cores", both + "full-pcpus-only");
  if (distribute_cpus_across_cores && distribute_cpus_across_numa)
    return bad_cpu_policy("distribute-cpus-across-cores", both + "distribute-cpus-across-numa");
  if (prefer_align_cpus_by_uncorecache && distribute_cpus_across_cores)
    return bad_cpu_policy("prefer-align-cpus-by-uncorecache", both + "distribute-cpus-across-cores");
  if (prefer_align_cpus_by_uncorecache && distribute_cpus_across_numa)
    return bad_cpu_policy("prefer-align-cpus-by-uncorecache", both + "distribute-cpus-across-numa");
  if (align_by_socket && numa == numa_policy::single_numa_node)
    return bad_cpu_policy("align-by-socket", both + "the topology policy single-numa-node");
  if (align_by_socket && topology.sockets().size() > cell_count(topology.cells_with_cpus()))
    return bad_cpu_policy("align-by-socket", "the node has more sockets than NUMA cells");
  return {};
}

GANGSCHED_INLINE result<cpu_pool> make_cpu_pool(const numa_topology& topology, const cpu_policy& policy,
                                                const cpu_set& reserved) {
  if (const cpu_set strange = reserved - topology.cpus(); !strange.empty())
    return error{errc::unknown, "CPU manager policy", "reserved",
                 "the node has no CPU " + std::to_string(strange.first())};
  return cpu_pool{policy.strict_cpu_reservation ? topology.cpus() - reserved : topology.cpus(), reserved};
}

GANGSCHED_INLINE smt_alignment check_smt_alignment(const numa_topology& topology, const cpu_policy& policy,
                                                   const cpu_pool& pool, unsigned cpus) {
  if (!policy.full_pcpus_only) return smt_alignment::fits;
  if (cpus % topology.cpus_per_core() != 0) return smt_alignment::not_whole_cores;
  // A reserved thread spoils its whole core, though its siblings are available to the allocation itself.
  const cpu_set physical = pool.shared - topology.whole_cores(pool.reserved);
  return cpus > physical.count() ? smt_alignment::too_few_free_cores : smt_alignment::fits;
}

GANGSCHED_INLINE numa_hint_list cpu_hints(const numa_topology& topology, const cpu_policy& policy,
                                          const cpu_set& available, const cpu_set& reusable, unsigned wanted) {
  const cell_mask with_cpus = topology.cells_with_cpus();
  std::array<unsigned, max_numa_cells> all{}, free{};
  cell_mask reused = 0;
  for (unsigned cell = 0; cell < topology.cell_number(); ++cell) {
    const cpu_set& cpus = topology.cells()[cell].cpus;
    all[cell] = cpus.count();
    free[cell] = (cpus & available).count();
    if (!(cpus & reusable).empty()) reused |= one_cell(cell);
  }
  const unsigned to_reuse = (reusable & topology.cpus()).count();

  numa_hint_list hints;
  unsigned fewest = cell_count(with_cpus);
  for (unsigned mask = 1; mask <= with_cpus; ++mask) {
    if ((mask & ~unsigned{with_cpus}) != 0) continue;
    const auto cells = static_cast<cell_mask>(mask);
    unsigned total = 0, usable = to_reuse;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const auto cell = static_cast<unsigned>(std::countr_zero(rest));
      total += all[cell];
      usable += free[cell];
    }
    if (total >= wanted) fewest = std::min(fewest, cell_count(cells));
    if ((reused & ~mask) == 0 && usable >= wanted) hints.push_back({cells, false});
  }

  const auto sockets = static_cast<unsigned>(topology.sockets().size());
  const unsigned cells_per_socket = cell_count(with_cpus) / sockets;
  const bool by_socket = policy.align_by_socket && cells_per_socket > 0;
  const unsigned fewest_sockets = by_socket ? (fewest + cells_per_socket - 1) / cells_per_socket : 0;
  for (numa_hint& hint : hints)
    hint.preferred =
        cell_count(hint.cells) == fewest || (by_socket && detail::sockets_of(topology, hint.cells) == fewest_sockets);
  return hints;
}

GANGSCHED_INLINE std::optional<cpu_set> allocate_cpus(const numa_topology& topology, const cpu_policy& policy,
                                                      const cpu_set& allocatable, cell_mask affinity, unsigned wanted) {
  cpu_set taken;
  if (affinity != 0) {
    cpu_set near = topology.cpus_in(affinity);
    if (policy.align_by_socket) {
      const cpu_set in_cells = near;
      for (const cpu_group& socket : topology.sockets())
        if (!(socket.cpus & in_cells).empty()) near |= socket.cpus;
    }
    near &= allocatable;
    const std::optional<cpu_set> aligned = detail::take_cpus(topology, policy, near, std::min(near.count(), wanted));
    if (!aligned) return std::nullopt;
    taken = *aligned;
  }
  const std::optional<cpu_set> rest =
      detail::take_cpus(topology, policy, allocatable - taken, wanted - std::min(wanted, taken.count()));
  if (!rest) return std::nullopt;
  return taken | *rest;
}

}  // namespace gangsched::inline GANGSCHED_ABI
