#include <algorithm>
#include <utility>

#include "gangsched/queues/hived/cell_binding.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// Collects the virtual cells that have to be bound for the devices. @param out the devices that are bound already, `none` for others.
/// @param roots vertices whose parents are bound, or that have none.
GANGSCHED_INLINE void cell_binding::grow_tree(std::span<const cell_index> devices, std::vector<cell_index>& out,
                                              std::vector<std::uint32_t>& roots) {
  for (const vertex& old : tree_) vertex_of_[static_cast<std::size_t>(old.cell)] = none;
  tree_.clear();
  const auto index_of = [&](cell_index cell) -> std::int32_t& { return vertex_of_[static_cast<std::size_t>(cell)]; };
  for (const cell_index device : devices) {
    out.push_back(bound(device));
    std::int32_t child = none;
    for (cell_index cell = device; cell != none && bound(cell) == none; cell = layout_->virtual_at(cell).parent) {
      const bool known = index_of(cell) != none;
      if (!known) {
        tree_.push_back({cell});
        index_of(cell) = static_cast<std::int32_t>(tree_.size() - 1);
        const cell_index above = layout_->virtual_at(cell).parent;
        if (above == none || bound(above) != none) roots.push_back(static_cast<std::uint32_t>(tree_.size() - 1));
      }
      if (child != none)
        tree_[static_cast<std::size_t>(index_of(cell))].children.push_back(static_cast<std::uint32_t>(child));
      if (known) break;
      child = index_of(cell);
    }
  }
}

GANGSCHED_INLINE bool cell_binding::is_usable(cell_index cell, node_choice nodes) const {
  if (physical_.bound(cell) != none) return false;
  const cell_level& of = layout_->level_at(cell);
  const cell_chain& chain = layout_->chains()[layout_->chain_of(cell)];
  const std::uint32_t in_node = chain.levels[chain.node_level].devices;
  if (of.devices <= in_node && physical_.is_bad(cell)) return false;
  if (nodes == nullptr) return true;
  const cell_index first = layout_->first_device(cell);
  for (cell_index device = first; device < first + static_cast<cell_index>(of.devices);
       device += static_cast<cell_index>(in_node))
    if ((*nodes)[layout_->node_of(device)]) return true;
  return false;
}

/// Those with the fewest opportunistic devices first.
GANGSCHED_INLINE std::vector<cell_index> cell_binding::usable(std::span<const cell_index> among,
                                                              node_choice nodes) const {
  std::vector<cell_index> found;
  std::copy_if(among.begin(), among.end(), std::back_inserter(found),
               [&](cell_index cell) { return is_usable(cell, nodes); });
  std::stable_sort(found.begin(), found.end(), [&](cell_index a, cell_index b) {
    return physical_.opportunistic_in(a) < physical_.opportunistic_in(b);
  });
  return found;
}

GANGSCHED_INLINE std::vector<cell_index> cell_binding::usable_below(cell_index cell, node_choice nodes) const {
  std::vector<cell_index> below(layout_->level_at(cell).children);
  for (std::size_t child = 0; child < below.size(); ++child)
    below[child] = layout_->first_child(cell) + static_cast<cell_index>(child);
  return usable(below, nodes);
}

/// Whether the physical cell can be the virtual one, with all that has to be bound below it; if so, that is chosen.
GANGSCHED_INLINE bool cell_binding::fit(std::uint32_t at, cell_index cell, node_choice nodes) {
  tree_[at].chosen = none;  // a try that fails leaves those below it with what they were tried with
  if (!tree_[at].children.empty() && !match(tree_[at].children, usable_below(cell, nodes), nodes)) return false;
  tree_[at].chosen = cell;
  return true;
}

/// Gives each vertex another cell: the first that fits and is left; where there is none, others make room for it (augmenting paths, so
/// that it fails only if there is no way).
GANGSCHED_INLINE bool cell_binding::match(std::span<const std::uint32_t> vertices, std::span<const cell_index> among,
                                          node_choice nodes) {
  if (among.size() < vertices.size()) return false;
  const std::size_t nobody = vertices.size();
  std::vector<std::size_t> owner(among.size(), nobody), taken(vertices.size(), among.size());
  std::vector<std::size_t> asked_by(among.size());
  std::vector<std::size_t> wanting;
  for (std::size_t next = 0; next < vertices.size(); ++next) {
    // Breadth first from the vertex that has none: which vertices could go elsewhere?
    asked_by.assign(among.size(), nobody);
    wanting.assign(1, next);
    std::size_t free = among.size();
    for (std::size_t turn = 0; turn < wanting.size() && free == among.size(); ++turn) {
      const std::size_t asks = wanting[turn];
      for (const bool left : {true, false})
        for (std::size_t cell = 0; cell < among.size() && free == among.size(); ++cell) {
          if (asked_by[cell] != nobody || (owner[cell] == nobody) != left || !fit(vertices[asks], among[cell], nodes))
            continue;
          asked_by[cell] = asks;
          if (left) {
            free = cell;
          } else {
            wanting.push_back(owner[cell]);
          }
        }
    }
    if (free == among.size()) return false;
    for (std::size_t cell = free;;) {
      const std::size_t asks = asked_by[cell], before = taken[asks];
      owner[cell] = asks;
      taken[asks] = cell;
      if (asks == next) break;
      cell = before;
    }
  }
  for (std::size_t each = 0; each < vertices.size(); ++each)  // fits that were only tried have chosen other cells since
    if (tree_[vertices[each]].chosen != among[taken[each]])
      static_cast<void>(fit(vertices[each], among[taken[each]], nodes));
  return true;
}

/// Chooses a cell for a root: one of @p among, or part of one.
GANGSCHED_INLINE bool cell_binding::search(std::uint32_t at, std::span<const cell_index> among, node_choice nodes) {
  const std::uint32_t level = layout_->virtual_at(tree_[at].cell).level;
  for (const cell_index cell : usable(among, nodes)) {
    if (layout_->level_of(cell) == level ? fit(at, cell, nodes) : search(at, usable_below(cell, nodes), nodes))
      return true;
  }
  return false;
}

GANGSCHED_INLINE bool cell_binding::allocate_buddy(std::uint32_t at, node_choice nodes) {
  const virtual_cell& of = layout_->virtual_at(tree_[at].cell);
  const std::size_t levels = layout_->chains()[of.chain].levels.size();
  std::uint32_t lowest = of.level;
  while (lowest < levels && physical_.free(of.chain, lowest).empty()) ++lowest;
  if (lowest < levels && search(at, physical_.free(of.chain, lowest), nodes)) return true;
  spare(of.chain, spare_);
  for (std::uint32_t level = of.level + 1; level < levels && spare_[level] > 0; ++level)
    if (level != lowest && search(at, physical_.free(of.chain, level), nodes)) return true;
  return false;
}

GANGSCHED_INLINE void cell_binding::bind_tree(std::uint32_t at, journal& log) {
  bind(tree_[at].chosen, tree_[at].cell, log);
  for (const std::uint32_t child : tree_[at].children) bind_tree(child, log);
}

GANGSCHED_INLINE std::optional<unmapped_cells> cell_binding::map(std::span<const cell_index> devices, node_choice nodes,
                                                                 journal& log, std::vector<cell_index>& out) {
  out.clear();
  new_roots_.clear();  // of an attempt that was only a look
  std::vector<std::uint32_t> roots, siblings;
  grow_tree(devices, out, roots);
  const auto parent = [&](std::uint32_t at) { return layout_->virtual_at(tree_[at].cell).parent; };
  const auto level = [&](std::uint32_t at) { return layout_->virtual_at(tree_[at].cell).level; };
  for (const std::uint32_t at : roots) {
    if (parent(at) != none) continue;
    if (!allocate_buddy(at, nodes)) {
      const auto same = [&](std::uint32_t other) {
        return parent(other) == none && level(other) == level(at) && tree_[other].chosen == none;
      };
      return unmapped_cells{level(at), static_cast<std::uint32_t>(std::count_if(roots.begin(), roots.end(), same))};
    }
    bind_tree(at, log);
    take_root(tree_[at].chosen, tree_[at].cell, log);
  }
  for (const std::uint32_t at : roots) {
    if (parent(at) == none || tree_[at].chosen != none) continue;
    siblings.clear();
    for (const std::uint32_t other : roots)
      if (parent(other) == parent(at)) siblings.push_back(other);
    const std::vector<cell_index> among = usable_below(bound(parent(at)), nodes);
    if (!match(siblings, among, nodes))
      return unmapped_cells{
          level(at), static_cast<std::uint32_t>(siblings.size() > among.size() ? siblings.size() - among.size() : 1)};
  }
  for (std::size_t device = 0; device < devices.size(); ++device)
    if (const std::int32_t at = vertex_of_[static_cast<std::size_t>(devices[device])]; out[device] == none)
      out[device] = tree_[static_cast<std::size_t>(at)].chosen;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
