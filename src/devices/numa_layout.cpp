#include "gangsched/devices/numa_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE cell_mask numa_layout::cell(std::int32_t id) const noexcept {
  for (unsigned i = 0; i < topology.cell_number(); ++i) {
    if (id >= 0 && topology.cells()[i].id == static_cast<std::uint32_t>(id)) return one_cell(i);
  }
  return 0;
}

GANGSCHED_INLINE cpu_set numa_layout::exclusive(const std::int64_t* words, cpu_exclusive_policy policy) const {
  cpu_set all;
  const std::uint32_t first = static_cast<std::uint32_t>(policy) * cpu_words;
  for (std::uint32_t i = 0; i < cpu_words && policy != cpu_exclusive_policy::none; ++i)
    all.set_bits(i, static_cast<std::uint64_t>(words[first + i]));
  return all;
}

GANGSCHED_INLINE numa_node numa_layout::node() const {
  return {&topology, spec.policy, spec.scope, spec.prefer_closest, spec.cpu, spec.static_memory, {}, true};
}

GANGSCHED_INLINE numa_state numa_layout::state(const std::int64_t* words) const {
  numa_state now{empty, make_memory_state(topology), {}};
  cpu_set taken;
  for (std::uint32_t i = 0; i < cpu_words; ++i) taken.set_bits(i, static_cast<std::uint64_t>(words[i]));
  now.cpus.shared -= taken;
  for (unsigned i = 0; i < topology.cell_number(); ++i) {
    const auto group = static_cast<std::uint64_t>(words[group_word(i)]);
    const std::uint64_t grants = group & 0xffffff;
    if (grants == 0) continue;
    // Only claims on sets of cells that overlap, which are never chosen, would make it anything else than a set of cells with this one.
    const auto cells = static_cast<cell_mask>(((group >> 24) / grants & topology.machine()) | one_cell(i));
    now.memory.cells[i].assignments = static_cast<std::uint32_t>(grants);
    now.memory.cells[i].group = cells;
    if (std::countr_zero(cells) != static_cast<int>(i)) continue;
    for (std::size_t kind = 0; kind < kinds(); ++kind) {
      auto used = static_cast<std::uint64_t>(words[memory_word(i, kind)]);
      for (unsigned rest = cells; rest != 0; rest &= rest - 1) {
        std::uint64_t& free = now.memory.cells[static_cast<unsigned>(std::countr_zero(rest))].free[kind];
        const std::uint64_t part = std::min(free, used);
        free -= part;
        used -= part;
      }
    }
  }
  return now;
}

GANGSCHED_INLINE std::string memory_resource(std::uint64_t page_bytes) {
  if (page_bytes == 0) return "memory";
  static constexpr const char* suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t suffix = 0;
  for (; page_bytes % 1024 == 0 && suffix < 6; ++suffix) page_bytes /= 1024;
  return fmt::format("hugepages-{}{}", page_bytes, suffixes[suffix]);
}

GANGSCHED_INLINE result<numa_layout> make_numa_layout(const node_numa& spec, const std::string& object) {
  const auto fail = [&](errc code, const std::string& field, std::string reason) {
    return error{code, object, "devices.numa." + field, std::move(reason)};
  };
  auto topology = numa_topology::build(spec.cells);
  if (!topology) return fail(topology.error().code, topology.error().field, topology.error().reason);
  if (const auto fine = spec.cpu.check(*topology, spec.policy); !fine) {
    return fail(fine.error().code, "cpu." + fine.error().field, fine.error().reason);
  }
  if (spec.prefer_closest && topology->distances().cells == 0) {
    return fail(errc::malformed, "prefer_closest", "the cells have no distances");
  }
  if (spec.cpu_amplification_percent < 1 || spec.cpu_amplification_percent > 100'000) {
    return fail(errc::out_of_range, "cpu_amplification_percent",
                fmt::format("{} is not in 1 to 100000", spec.cpu_amplification_percent));
  }
  cpu_set reserved;
  for (std::size_t i = 0; i < spec.reserved_cpus.size(); ++i) {
    const std::uint32_t cpu = spec.reserved_cpus[i];
    if (!topology->cpus().contains(cpu)) {
      return fail(errc::unknown, fmt::format("reserved_cpus[{}]", i), fmt::format("the node has no CPU {}", cpu));
    }
    reserved.insert(cpu);
  }
  numa_layout made;
  made.spec = spec;
  made.topology = std::move(*topology);
  made.empty = *make_cpu_pool(made.topology, spec.cpu, reserved);
  unsigned last = 0;
  made.topology.cpus().for_each([&](unsigned cpu) { last = cpu; });
  made.cpu_words = last / 64 + 1;
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
