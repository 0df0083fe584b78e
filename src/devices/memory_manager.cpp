#include "gangsched/devices/memory_manager.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

inline bool asks_memory(const memory_amounts& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [](std::uint64_t bytes) { return bytes != 0; });
}

/// Calls visit(cell) for the cells of a mask in ascending order.
template <class Visit>
inline void each_cell(cell_mask cells, Visit&& visit) {
  for (unsigned rest = cells; rest != 0; rest &= rest - 1) visit(static_cast<unsigned>(std::countr_zero(rest)));
}

/// Whether a grant over @p cells would make groups overlap: a cell that is used alone or in another group.
inline bool breaks_groups(const memory_state& state, cell_mask cells) {
  if (cell_count(cells) == 1) return false;
  bool breaks = false;
  each_cell(cells, [&](unsigned i) { breaks |= state.cells[i].assignments > 0 && state.cells[i].group != cells; });
  return breaks;
}

/// Whether @p cells have @p wanted free of every kind, @p reusable included when given.
inline bool has_free_memory(const memory_state& state, cell_mask cells, const memory_amounts& wanted,
                            const reusable_memory* reusable) {
  for (std::size_t kind = 0; kind < wanted.size(); ++kind) {
    if (wanted[kind] == 0) continue;
    std::uint64_t free = reusable == nullptr ? 0 : reusable->of(cells, kind);
    each_cell(cells, [&](unsigned i) { free += state.cells[i].free[kind]; });
    if (free < wanted[kind]) return false;
  }
  return true;
}

/// findBestHint, among those that contain @p cells.
inline std::optional<numa_hint> best_memory_hint(const numa_hint_list& hints, cell_mask cells) {
  std::optional<numa_hint> best;
  for (const numa_hint& hint : hints) {
    if ((cells & ~unsigned{hint.cells}) != 0) continue;
    const bool better = !best || (hint.preferred && !best->preferred) ||
                        (hint.preferred == best->preferred &&
                         (cell_count(hint.cells) < cell_count(best->cells) ||
                          (cell_count(hint.cells) == cell_count(best->cells) && hint.cells < best->cells)));
    if (better) best = hint;
  }
  return best;
}

}  // namespace detail

GANGSCHED_INLINE memory_state make_memory_state(const numa_topology& topology) {
  memory_state state;
  for (unsigned i = 0; i < topology.cell_number(); ++i) {
    memory_state::cell& cell = state.cells.emplace_back();
    cell.group = one_cell(i);
    for (std::size_t kind = 0; kind < topology.memory_kinds().size(); ++kind)
      cell.free.push_back(topology.memory(i, kind));
  }
  return state;
}

GANGSCHED_INLINE std::uint64_t reusable_memory::of(cell_mask cells, std::size_t kind) const noexcept {
  for (const entry& e : entries_)
    if (e.cells == cells) return e.bytes[kind];
  return 0;
}

GANGSCHED_INLINE void reusable_memory::leave(cell_mask cells, const memory_amounts& bytes) {
  for (entry& e : entries_) {
    if (e.cells != cells) continue;
    for (std::size_t kind = 0; kind < bytes.size(); ++kind) e.bytes[kind] = std::max(e.bytes[kind], bytes[kind]);
    return;
  }
  entries_.push_back({cells, bytes});
}

GANGSCHED_INLINE void reusable_memory::use(cell_mask cells, const memory_amounts& bytes) {
  for (entry& e : entries_) {
    if (e.cells != cells) continue;
    for (std::size_t kind = 0; kind < bytes.size(); ++kind) e.bytes[kind] -= std::min(e.bytes[kind], bytes[kind]);
  }
}

GANGSCHED_INLINE numa_hint_list memory_hints(const numa_topology& topology, const memory_state& state,
                                             const reusable_memory& reusable, const memory_amounts& wanted) {
  numa_hint_list hints;
  unsigned fewest = topology.cell_number();
  for (unsigned mask = 1; mask <= topology.machine(); ++mask) {
    const auto cells = static_cast<cell_mask>(mask);
    bool possible = true;
    for (std::size_t kind = 0; kind < wanted.size() && possible; ++kind) {
      std::uint64_t total = 0;
      detail::each_cell(cells, [&](unsigned i) { total += topology.memory(i, kind); });
      possible = total >= wanted[kind];
    }
    if (!possible) continue;
    fewest = std::min(fewest, cell_count(cells));
    const bool grouped =
        cell_count(cells) == 1 && cell_count(state.cells[static_cast<std::size_t>(std::countr_zero(mask))].group) > 1;
    if (grouped || detail::breaks_groups(state, cells)) continue;
    if (detail::has_free_memory(state, cells, wanted, &reusable)) hints.push_back({cells, false});
  }
  for (numa_hint& hint : hints) hint.preferred = cell_count(hint.cells) == fewest;
  return hints;
}

GANGSCHED_INLINE std::optional<memory_grant> allocate_memory(const numa_topology& topology, memory_state& state,
                                                             const reusable_memory& reusable,
                                                             const memory_amounts& wanted, numa_hint hint,
                                                             bool whole_groups) {
  if (!detail::asks_memory(wanted)) return memory_grant{};
  std::optional<numa_hint> best = hint;
  if (hint.cells == 0) {
    best = detail::best_memory_hint(memory_hints(topology, state, reusable, wanted), 0);
    if (!best || (hint.preferred && !best->preferred)) return std::nullopt;
  }
  const bool splits = whole_groups && cell_count(best->cells) == 1 &&
                      cell_count(state.cells[static_cast<std::size_t>(std::countr_zero(best->cells))].group) > 1;
  if (splits || !detail::has_free_memory(state, best->cells, wanted, nullptr)) {
    const bool preferred = best->preferred;
    best = detail::best_memory_hint(memory_hints(topology, state, reusable, wanted), best->cells);
    if (!best || (preferred && !best->preferred)) return std::nullopt;
  }
  if (detail::breaks_groups(state, best->cells)) return std::nullopt;

  memory_grant grant{best->cells, 0, wanted};
  for (std::size_t kind = 0; kind < wanted.size(); ++kind) {
    if (wanted[kind] == 0) continue;
    grant.kinds |= 1u << kind;
    std::uint64_t missing = wanted[kind] - std::min(wanted[kind], reusable.of(best->cells, kind));
    detail::each_cell(best->cells, [&](unsigned i) {
      memory_state::cell& cell = state.cells[i];
      ++cell.assignments;
      cell.group = best->cells;
      const std::uint64_t part = std::min(missing, cell.free[kind]);
      cell.free[kind] -= part;
      missing -= part;
    });
  }
  return grant;
}

GANGSCHED_INLINE void release_memory(const numa_topology& topology, memory_state& state, const memory_grant& grant) {
  for (std::size_t kind = 0; kind < grant.bytes.size(); ++kind) {
    if ((grant.kinds >> kind & 1u) == 0) continue;
    std::uint64_t released = grant.bytes[kind];
    detail::each_cell(grant.cells, [&](unsigned i) {
      memory_state::cell& cell = state.cells[i];
      if (--cell.assignments == 0) cell.group = one_cell(i);
      const std::uint64_t part = std::min(released, topology.memory(i, kind) - cell.free[kind]);
      cell.free[kind] += part;
      released -= part;
    });
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
