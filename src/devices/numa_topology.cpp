#include "gangsched/devices/numa_topology.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

inline error bad_topology(errc code, std::string field, std::string reason) {
  return {code, "NUMA topology", std::move(field), std::move(reason)};
}
inline std::string cell_field(std::size_t cell, const char* field) {
  return "cells[" + std::to_string(cell) + "]." + field;
}
inline std::string cpu_field(std::size_t cell, std::size_t cpu, const char* field) {
  return cell_field(cell, "cpus[") + std::to_string(cpu) + "]." + field;
}

/// Cell ids, CPU ids, and that no core spans sockets, cells or caches.
inline std::optional<error> bad_cpus(std::span<const numa_cell> cells) {
  if (cells.empty()) return bad_topology(errc::malformed, "cells", "a node has at least one cell");
  if (cells.size() > max_numa_cells)
    return bad_topology(
        errc::out_of_range, "cells",
        std::to_string(cells.size()) + " cells, at most " + std::to_string(max_numa_cells) + " are possible");
  cpu_set seen;
  struct home {
    std::size_t cell;
    numa_cpu cpu;
  };
  std::map<std::uint32_t, home> cores;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (cells[j].id == cells[i].id)
        return bad_topology(errc::duplicate, cell_field(i, "id"),
                            "cell " + std::to_string(cells[i].id) + " is there twice");
    for (std::size_t k = 0; k < cells[i].cpus.size(); ++k) {
      const numa_cpu& cpu = cells[i].cpus[k];
      const std::string name = "CPU " + std::to_string(cpu.id);
      if (cpu.id >= cpu_set::capacity)
        return bad_topology(errc::out_of_range, cpu_field(i, k, "id"),
                            name + " is not below " + std::to_string(cpu_set::capacity));
      if (seen.contains(cpu.id)) return bad_topology(errc::duplicate, cpu_field(i, k, "id"), name + " is there twice");
      seen.insert(cpu.id);
      const home& first = cores.emplace(cpu.core, home{i, cpu}).first->second;
      const std::string core = "core " + std::to_string(cpu.core);
      if (first.cpu.socket != cpu.socket)
        return bad_topology(errc::malformed, cpu_field(i, k, "socket"), core + " is in two sockets");
      if (first.cell != i) return bad_topology(errc::malformed, cpu_field(i, k, "core"), core + " is in two cells");
      if (first.cpu.uncore_cache != cpu.uncore_cache)
        return bad_topology(errc::malformed, cpu_field(i, k, "uncore_cache"), core + " is in two caches");
    }
  }
  if (seen.empty()) return bad_topology(errc::malformed, "cells", "no cell has a CPU");
  return std::nullopt;
}

/// @p order is the cells' positions by ascending id; distances are listed in that order.
inline std::optional<error> bad_distances(std::span<const numa_cell> cells, std::span<const std::size_t> order) {
  const bool given = !cells[0].distances.empty();
  for (std::size_t a = 0; a < order.size(); ++a) {
    const std::size_t i = order[a];
    const std::vector<std::uint32_t>& row = cells[i].distances;
    if (row.size() != (given ? cells.size() : 0))
      return bad_topology(errc::malformed, cell_field(i, "distances"),
                          std::to_string(row.size()) + " distances for " + std::to_string(cells.size()) + " cells");
    for (std::size_t b = 0; b < row.size(); ++b) {
      const std::string field = cell_field(i, "distances[") + std::to_string(b) + "]";
      if (row[b] < 10 || row[b] > 254)
        return bad_topology(errc::out_of_range, field, std::to_string(row[b]) + " is not 10 … 254");
      const std::vector<std::uint32_t>& back = cells[order[b]].distances;
      if (back.size() > a && back[a] != row[b])
        return bad_topology(errc::malformed, field, "the way back is " + std::to_string(back[a]));
    }
  }
  return std::nullopt;
}

/// Sums over all cells and kinds fit into 64 bits.
inline constexpr std::uint64_t most_numa_bytes = std::uint64_t{1} << 56;
inline constexpr const char* too_many_numa_bytes = "more than 2^56 bytes";

inline std::optional<error> bad_memory(std::span<const numa_cell> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].memory_bytes > most_numa_bytes)
      return bad_topology(errc::out_of_range, cell_field(i, "memory_bytes"), too_many_numa_bytes);
    for (std::size_t k = 0; k < cells[i].hugepages.size(); ++k) {
      const std::uint64_t size = cells[i].hugepages[k].page_bytes;
      const std::string field = cell_field(i, "hugepages[") + std::to_string(k) + "].page_bytes";
      if (size == 0) return bad_topology(errc::out_of_range, field, "a page has at least one byte");
      if (cells[i].hugepages[k].bytes > most_numa_bytes)
        return bad_topology(errc::out_of_range, cell_field(i, "hugepages[") + std::to_string(k) + "].bytes",
                            too_many_numa_bytes);
      for (std::size_t j = 0; j < k; ++j)
        if (cells[i].hugepages[j].page_bytes == size)
          return bad_topology(errc::duplicate, field, "pages of " + std::to_string(size) + " bytes are there twice");
    }
  }
  return std::nullopt;
}

/// The groups by ascending id.
inline std::vector<cpu_group> listed(const std::map<std::uint32_t, cpu_set>& groups) {
  std::vector<cpu_group> out;
  for (const auto& [id, cpus] : groups) out.push_back({id, cpus});
  return out;
}

}  // namespace detail

GANGSCHED_INLINE result<numa_topology> numa_topology::build(std::span<const numa_cell> cells) {
  if (auto bad = detail::bad_cpus(cells)) return *std::move(bad);
  if (auto bad = detail::bad_memory(cells)) return *std::move(bad);
  std::vector<std::size_t> order(cells.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cells[a].id < cells[b].id; });
  if (auto bad = detail::bad_distances(cells, order)) return *std::move(bad);

  numa_topology out;
  out.memory_kinds_.push_back(0);
  std::map<std::uint32_t, cpu_set> sockets, caches, cores, by_lowest;
  for (const std::size_t i : order) {
    cpu_group& cell = out.cells_.emplace_back();
    cell.id = cells[i].id;
    for (const numa_cpu& cpu : cells[i].cpus) {
      cell.cpus.insert(cpu.id);
      sockets[cpu.socket].insert(cpu.id);
      caches[cpu.uncore_cache].insert(cpu.id);
      cores[cpu.core].insert(cpu.id);
    }
    out.cpus_ |= cell.cpus;
    if (!cell.cpus.empty()) out.with_cpus_ |= one_cell(static_cast<unsigned>(out.cells_.size() - 1));
    for (const numa_hugepages& pages : cells[i].hugepages) out.memory_kinds_.push_back(pages.page_bytes);
  }
  for (const auto& [id, cpus] : cores) by_lowest[cpus.first()] = cpus;
  out.sockets_ = detail::listed(sockets);
  out.caches_ = detail::listed(caches);
  out.cores_ = detail::listed(by_lowest);
  out.cpu_number_ = out.cpus_.count();

  out.places_.resize(cpu_set::capacity);
  const auto settle = [&](const std::vector<cpu_group>& groups, std::uint32_t place::*field) {
    for (std::uint32_t index = 0; index < groups.size(); ++index)
      groups[index].cpus.for_each([&](unsigned cpu) { out.places_[cpu].*field = index; });
  };
  settle(out.cores_, &place::core);
  settle(out.sockets_, &place::socket);
  settle(out.cells_, &place::cell);
  settle(out.caches_, &place::uncore_cache);

  std::sort(out.memory_kinds_.begin(), out.memory_kinds_.end());
  out.memory_kinds_.erase(std::unique(out.memory_kinds_.begin(), out.memory_kinds_.end()), out.memory_kinds_.end());
  for (const std::size_t i : order) {
    for (const std::uint64_t kind : out.memory_kinds_) {
      std::uint64_t bytes = kind == 0 ? cells[i].memory_bytes : 0;
      for (const numa_hugepages& pages : cells[i].hugepages)
        if (pages.page_bytes == kind) bytes = pages.bytes;
      out.memory_.push_back(bytes);
    }
    out.distances_.values.insert(out.distances_.values.end(), cells[i].distances.begin(), cells[i].distances.end());
  }
  if (!out.distances_.values.empty()) out.distances_.cells = out.cell_number();
  return out;
}

GANGSCHED_INLINE cpu_set numa_topology::cpus_in(cell_mask cells) const noexcept {
  cpu_set all;
  for (unsigned i = 0; i < cells_.size(); ++i)
    if ((cells >> i & 1u) != 0) all |= cells_[i].cpus;
  return all;
}

GANGSCHED_INLINE cpu_set numa_topology::whole_cores(const cpu_set& cpus) const noexcept {
  cpu_set all;
  (cpus & cpus_).for_each([&](unsigned cpu) { all |= cores_[places_[cpu].core].cpus; });
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI
