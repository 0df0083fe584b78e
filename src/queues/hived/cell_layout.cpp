#include "gangsched/queues/hived/cell_layout.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// Builds a layout: types, then how many cells each level has, then the cells from the top, then the virtual ones.
struct cell_layout::maker {
  const configuration& from;
  cell_layout made = {};
  std::map<std::string, const cell_type*, std::less<>> types = {};
  std::map<std::string, std::uint32_t, std::less<>> chain_by_top = {};

  static constexpr std::uint64_t most_cells = std::numeric_limits<cell_index>::max();

  static error wrong(errc code, std::string object, std::string field, std::string reason) {
    return {code, std::move(object), std::move(field), std::move(reason)};
  }

  result<void> read_types() {
    for (const cell_type& type : from.types) {
      const std::string object = "cell type " + type.name;
      if (type.name.empty()) return wrong(errc::malformed, "cell type", "name", "is empty");
      if (type.child.empty()) return wrong(errc::malformed, object, "child", "is empty");
      if (type.children == 0) return wrong(errc::malformed, object, "children", "there are none");
      if (!types.emplace(type.name, &type).second)
        return wrong(errc::duplicate, object, "name", "another cell type has it");
    }
    return {};
  }

  /// The levels below and with @p top, without cells yet.
  result<cell_chain> make_chain(const std::string& top) const {
    std::vector<const cell_type*> down;
    std::string at = top;
    bool has_node = false;
    for (auto found = types.find(at); found != types.end(); found = types.find(at)) {
      down.push_back(found->second);
      if (down.size() > types.size()) return wrong(errc::malformed, "cell type " + top, "child", "it is within itself");
      if (found->second->is_node && std::exchange(has_node, true))
        return wrong(errc::malformed, "cell type " + top, "is_node", "there is a node within a node");
      at = found->second->child;
    }
    if (!has_node) return wrong(errc::malformed, "cell type " + top, "is_node", "no level of it is a node");
    cell_chain chain;
    chain.levels.push_back({at});
    for (auto type = down.rbegin(); type != down.rend(); ++type) {
      const std::uint64_t devices = std::uint64_t{chain.levels.back().devices} * (*type)->children;
      if (devices > most_cells) return wrong(errc::out_of_range, "cell type " + (*type)->name, "children", "too many");
      if ((*type)->is_node) chain.node_level = static_cast<std::uint32_t>(chain.levels.size());
      chain.levels.push_back({(*type)->name, (*type)->children, static_cast<std::uint32_t>(devices)});
    }
    return chain;
  }

  result<void> make_chains() {
    std::uint64_t all = 0;
    for (const physical_cell& cell : from.cells) {
      auto [at, is_new] = chain_by_top.try_emplace(cell.type, static_cast<std::uint32_t>(made.chains_.size()));
      if (is_new) {
        auto chain = make_chain(cell.type);
        if (!chain) return std::move(chain).error();
        made.chains_.push_back(std::move(chain).value());
      }
      std::uint64_t more = 1;
      cell_chain& chain = made.chains_[at->second];
      for (auto level = chain.levels.rbegin(); level != chain.levels.rend(); ++level) {
        all += more;
        if (all >= most_cells) return wrong(errc::out_of_range, "cell type " + cell.type, "children", "too many cells");
        level->count += static_cast<cell_index>(more);
        more *= level->children;
      }
    }
    cell_index next = 0;
    for (cell_chain& chain : made.chains_) {
      chain.first_slot = made.slots_;
      made.slots_ += chain.levels.size();
      for (cell_level& level : chain.levels) {
        level.first = next;
        next += level.count;
      }
    }
    const auto cells = static_cast<std::size_t>(next);
    made.chain_of_.resize(cells);
    made.level_of_.resize(cells);
    made.node_of_.resize(cells);
    made.number_of_.resize(cells);
    for (std::uint32_t chain = 0; chain < made.chains_.size(); ++chain)
      for (std::uint32_t at = 0; at < made.chains_[chain].levels.size(); ++at) {
        const cell_level& level = made.level(chain, at);
        std::fill_n(made.chain_of_.begin() + level.first, level.count, chain);
        std::fill_n(made.level_of_.begin() + level.first, level.count, at);
      }
    return {};
  }

  /// What the record says of the cell @p at and those in it. @p node: the one that it is in.
  result<void> fill(const physical_cell& cell, cell_index at, std::optional<std::uint32_t> node) {
    const cell_chain& chain = made.chains_[made.chain_of(at)];
    const std::uint32_t level = made.level_of(at);
    const std::string object = "physical cell " + (cell.node.empty() ? chain.levels[level].type : cell.node);
    if (!cell.pin.empty() && !made.pins_.emplace(cell.pin, at).second)
      return wrong(errc::duplicate, object, "pin", "another cell is " + cell.pin);
    if (level == chain.node_level) {
      if (cell.node.empty()) return wrong(errc::malformed, object, "node", "is empty");
      const auto next = static_cast<std::uint32_t>(made.nodes_.size());
      const auto [found, is_new] = made.node_by_name_.emplace(cell.node, next);
      if (is_new) {
        made.nodes_.push_back(cell.node);
        made.node_devices_.emplace_back();
      }
      node = found->second;
    } else if (!cell.node.empty()) {
      return wrong(errc::malformed, object, "node", "a " + chain.levels[level].type + " is no node");
    }
    if (level == 0) {
      const auto devices = static_cast<std::int32_t>(chain.levels[chain.node_level].devices);
      const std::int32_t number = cell.device.value_or((at - chain.levels[0].first) % devices);
      for (const cell_index other : made.node_devices_[*node])
        if (made.chain_of(other) == made.chain_of(at) && made.number_of(other) == number)
          return wrong(errc::duplicate, "node " + made.nodes_[*node], "device",
                       "there are two of " + std::to_string(number));
      made.node_of_[static_cast<std::size_t>(at)] = *node;
      made.number_of_[static_cast<std::size_t>(at)] = number;
      made.node_devices_[*node].push_back(at);
      return {};
    }
    const std::uint32_t children = chain.levels[level].children;
    if (cell.children.empty() ? level > chain.node_level : cell.children.size() != children)
      return wrong(errc::malformed, object, "children",
                   "a " + chain.levels[level].type + " has " + std::to_string(children) + ", not " +
                       std::to_string(cell.children.size()));
    for (std::uint32_t child = 0; child < children; ++child)
      if (auto filled = fill(cell.children.empty() ? physical_cell{} : cell.children[child],
                             made.first_child(at) + static_cast<cell_index>(child), node);
          !filled)
        return filled;
    return {};
  }

  result<void> fill_cells() {
    std::vector<cell_index> next;
    for (const cell_chain& chain : made.chains_) next.push_back(chain.levels.back().first);
    for (const physical_cell& cell : from.cells)
      if (auto filled = fill(cell, next[chain_by_top.find(cell.type)->second]++, std::nullopt); !filled) return filled;
    return {};
  }

  /// A tree of virtual cells, level by level, so that those below one cell stand side by side. False: there are too many.
  bool add_tree(std::uint32_t cluster, std::uint32_t chain, std::uint32_t level, virtual_view& view) {
    const std::vector<cell_level>& levels = made.chains_[chain].levels;
    if (made.virtual_.size() + 2 * std::uint64_t{levels[level].devices} * levels.size() > most_cells) return false;
    const auto root = static_cast<cell_index>(made.virtual_.size());
    made.virtual_.push_back({none, none, root, chain, level, cluster, view.pin});
    view.roots.push_back(root);
    for (auto at = static_cast<std::size_t>(root); at < made.virtual_.size(); ++at) {
      const std::uint32_t here = made.virtual_[at].level;
      if (here == 0) break;
      made.virtual_[at].first_child = static_cast<cell_index>(made.virtual_.size());
      for (std::uint32_t child = 0; child < levels[here].children; ++child)
        made.virtual_.push_back({static_cast<cell_index>(at), none, root, chain, here - 1, cluster, none});
    }
    return true;
  }

  /// Its cells of the level of nodes, then roots below it, the highest first.
  void choose_cells(virtual_view& view) const {
    const std::uint32_t node_level = made.chains_[view.chain].node_level;
    for (std::uint32_t level = node_level + 1; level-- > 0;)
      for (const cell_index root : view.roots) {
        const std::uint32_t top = made.virtual_at(root).level;
        if (level != std::min(top, node_level)) continue;
        cell_index first = root, count = 1;
        for (std::uint32_t at = top; at > level; --at) {
          first = made.virtual_at(first).first_child;
          count *= static_cast<cell_index>(made.level(view.chain, at).children);
        }
        for (cell_index cell = first; cell < first + count; ++cell) view.cells.push_back(cell);
      }
  }

  result<void> make_clusters() {
    std::set<cell_index> pinned;
    for (const virtual_cluster_spec& spec : from.clusters) {
      const std::string object = "virtual cluster " + spec.name;
      const auto cluster = static_cast<std::uint32_t>(made.clusters_.size());
      if (spec.name.empty()) return wrong(errc::malformed, "virtual cluster", "name", "is empty");
      if (made.find_cluster(spec.name)) return wrong(errc::duplicate, object, "name", "another virtual cluster has it");
      virtual_layout& out = made.clusters_.emplace_back();
      out.name = spec.name;
      out.first = static_cast<cell_index>(made.virtual_.size());
      const auto crowded = [&] { return wrong(errc::out_of_range, object, "cells", "too many"); };
      for (const cell_quota& quota : spec.cells) {
        const auto chain = chain_by_top.find(quota.chain.empty() ? quota.type : quota.chain);
        if (chain == chain_by_top.end())
          return wrong(errc::unknown, object, "cells",
                       "no top cell is a " + (quota.chain.empty() ? quota.type : quota.chain));
        const std::vector<cell_level>& levels = made.chains_[chain->second].levels;
        const auto level =
            std::find_if(levels.begin(), levels.end(), [&](const auto& at) { return at.type == quota.type; });
        if (level == levels.end())
          return wrong(errc::unknown, object, "cells", "there is no " + quota.type + " in a " + chain->first);
        if (std::uint64_t{quota.count} * level->devices > most_cells) return crowded();
        if (quota.count == 0) continue;
        auto view = std::find_if(out.views.begin(), out.views.end(),
                                 [&](const auto& one) { return one.pin == none && one.chain == chain->second; });
        if (view == out.views.end()) view = out.views.insert(view, {chain->second});
        for (std::uint32_t count = 0; count < quota.count; ++count)
          if (!add_tree(cluster, chain->second, static_cast<std::uint32_t>(level - levels.begin()), *view))
            return crowded();
      }
      for (const std::string& pin : spec.pins) {
        const auto cell = made.pins_.find(pin);
        if (cell == made.pins_.end()) return wrong(errc::unknown, object, "pins", "no cell is " + pin);
        if (!pinned.insert(cell->second).second)
          return wrong(errc::duplicate, object, "pins", pin + " is given away already");
        virtual_view& view = out.views.emplace_back();
        view.chain = made.chain_of(cell->second);
        view.pin = cell->second;
        if (!add_tree(cluster, view.chain, made.level_of(cell->second), view)) return crowded();
      }
      out.end = static_cast<cell_index>(made.virtual_.size());
      for (virtual_view& view : out.views) choose_cells(view);
    }
    return {};
  }
};

GANGSCHED_INLINE result<cell_layout> cell_layout::make(const configuration& from) {
  maker by{from};
  for (const auto step : {&maker::read_types, &maker::make_chains, &maker::fill_cells, &maker::make_clusters})
    if (auto done = (by.*step)(); !done) return std::move(done).error();
  return std::move(by.made);
}

GANGSCHED_INLINE cell_index cell_layout::parent(cell_index cell) const {
  const cell_chain& chain = chains_[chain_of(cell)];
  const std::uint32_t at = level_of(cell);
  if (at + 1 == chain.levels.size()) return none;
  const cell_level& above = chain.levels[at + 1];
  return above.first + (cell - chain.levels[at].first) / static_cast<cell_index>(above.children);
}

GANGSCHED_INLINE cell_index cell_layout::first_child(cell_index cell) const {
  const cell_chain& chain = chains_[chain_of(cell)];
  const std::uint32_t at = level_of(cell);
  return chain.levels[at - 1].first +
         (cell - chain.levels[at].first) * static_cast<cell_index>(chain.levels[at].children);
}

GANGSCHED_INLINE cell_index cell_layout::first_device(cell_index cell) const {
  const cell_chain& chain = chains_[chain_of(cell)];
  const cell_level& at = chain.levels[level_of(cell)];
  return chain.levels[0].first + (cell - at.first) * static_cast<cell_index>(at.devices);
}

GANGSCHED_INLINE std::optional<std::uint32_t> cell_layout::find_node(std::string_view name) const {
  const auto found = node_by_name_.find(name);
  return found == node_by_name_.end() ? std::nullopt : std::optional{found->second};
}

GANGSCHED_INLINE std::optional<std::uint32_t> cell_layout::find_cluster(std::string_view name) const {
  for (std::uint32_t at = 0; at < clusters_.size(); ++at)
    if (clusters_[at].name == name) return at;
  return std::nullopt;
}

GANGSCHED_INLINE cell_index cell_layout::first_virtual_device(cell_index cell) const {
  while (virtual_at(cell).level > 0) cell = virtual_at(cell).first_child;
  return cell;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
