#include "gangsched/queues/hived/node_search.hpp"

#include <algorithm>
#include <tuple>

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

GANGSCHED_INLINE std::string_view to_string(obstacle what) noexcept {
  switch (what) {
    case obstacle::quota: return "quota";
    case obstacle::bad_node: return "bad_node";
    case obstacle::not_suggested: return "not_suggested";
    case obstacle::no_usable_cell: return "no_usable_cell";
  }
  return "";
}

GANGSCHED_INLINE std::optional<search_failure> node_search::choose_rooms(const cell_chain& chain,
                                                                         std::span<const std::uint32_t> sizes) {
  std::stable_sort(rooms_.begin(), rooms_.end(), [](const room& a, const room& b) {
    return std::tuple{!a.healthy, !a.suggested, -a.pack, a.avoid} <
           std::tuple{!b.healthy, !b.suggested, -b.pack, b.avoid};
  });
  chosen_.clear();
  std::size_t at = 0;
  std::uint32_t here = 0;
  const auto failure = [&](obstacle why, cell_index cell) {
    const std::uint32_t size = sizes[chosen_.size()];
    std::uint32_t level = 0;
    while (level + 1 < chain.levels.size() && chain.levels[level].devices < size) ++level;
    const auto same = [&](std::uint32_t other) { return other <= chain.levels[level].devices; };
    return search_failure{why, level,
                          static_cast<std::uint32_t>(std::count_if(
                              sizes.begin() + static_cast<std::ptrdiff_t>(chosen_.size()), sizes.end(), same)),
                          cell};
  };
  while (at < rooms_.size() && chosen_.size() < sizes.size()) {
    const room& in = rooms_[at];
    const std::uint32_t size = sizes[chosen_.size()];
    if (in.free < static_cast<std::int32_t>(here + size)) {
      ++at;
      here = 0;
      continue;
    }
    if (!in.healthy) return failure(obstacle::bad_node, in.cell);
    if (!in.suggested) return failure(obstacle::not_suggested, in.cell);
    chosen_.push_back(at);
    here += size;
  }
  if (chosen_.size() < sizes.size()) return failure(obstacle::quota, none);
  return std::nullopt;
}

/// For each pod: of the lowest level at which a cell has enough, the cell whose first device comes first, and of it the first ones.
template <class PriorityOf>
void node_search::choose_devices(const cell_chain& chain, std::span<const std::uint32_t> sizes, std::int32_t below,
                                 const PriorityOf& priority_of, std::vector<cell_index>& out) {
  out.clear();
  for (std::size_t pod = 0; pod < sizes.size(); ++pod) {
    const room& in = rooms_[chosen_[pod]];
    const auto devices = static_cast<std::uint32_t>(in.devices);
    if (pod == 0 || chosen_[pod] != chosen_[pod - 1]) {
      left_.clear();
      for (const bool free : {true, false})
        for (std::uint32_t device = 0; device < devices; ++device) {
          const std::int32_t priority = priority_of(in.first_device + static_cast<cell_index>(device));
          if (free ? priority == unused : priority != unused && priority < below) left_.push_back(device);
        }
    }
    for (const cell_level& level : chain.levels) {
      if (level.devices < sizes[pod]) continue;
      in_group_.assign(devices / level.devices + 1, 0);
      for (const std::uint32_t device : left_) ++in_group_[device / level.devices];
      const auto enough = [&](std::uint32_t device) { return in_group_[device / level.devices] >= sizes[pod]; };
      const auto first = std::find_if(left_.begin(), left_.end(), enough);
      if (first == left_.end()) continue;
      const std::uint32_t group = *first / level.devices;
      std::uint32_t wanted = sizes[pod];
      std::erase_if(left_, [&](std::uint32_t device) {
        if (wanted == 0 || device / level.devices != group) return false;
        --wanted;
        out.push_back(in.first_device + static_cast<cell_index>(device));
        return true;
      });
      break;
    }
  }
}

GANGSCHED_INLINE std::optional<search_failure> node_search::find_virtual(const cell_binding& cells,
                                                                         const virtual_view& view,
                                                                         std::span<const std::uint32_t> sizes,
                                                                         std::int32_t priority, node_choice nodes,
                                                                         std::vector<cell_index>& out) {
  const cell_layout& layout = cells.layout();
  const cell_chain& chain = layout.chains()[view.chain];
  const virtual_cluster& cluster = cells.cluster(layout.virtual_at(view.roots[0]).cluster);
  std::optional<search_failure> failure;
  for (const std::int32_t below : {opportunistic, priority}) {  // first without preemption
    rooms_.clear();
    for (const cell_index cell : view.cells) {
      room in{cell, layout.first_virtual_device(cell),
              static_cast<std::int32_t>(chain.levels[layout.virtual_at(cell).level].devices)};
      in.pack = cluster.used(cell);
      in.free = in.devices - in.pack;
      if (below >= 0)
        for (cell_index device = in.first_device; device < in.first_device + in.devices; ++device)
          if (const std::int32_t held = cluster.priority(device); held != unused && held < below) ++in.free;
      if (const cell_index is = cluster.bound(cell); is != none) {
        in.healthy = !cells.physical().is_bad(is);
        in.suggested = nodes == nullptr || (*nodes)[layout.node_of(layout.first_device(is))];
      }
      rooms_.push_back(in);
    }
    failure = choose_rooms(chain, sizes);
    if (failure) continue;
    choose_devices(
        chain, sizes, below, [&](cell_index device) { return cluster.priority(device); }, out);
    return std::nullopt;
  }
  return failure;
}

GANGSCHED_INLINE std::optional<search_failure> node_search::find_physical(const cell_binding& cells,
                                                                          std::uint32_t chain,
                                                                          std::span<const std::uint32_t> sizes,
                                                                          node_choice nodes,
                                                                          std::vector<cell_index>& out) {
  const cell_layout& layout = cells.layout();
  const buddy_cells& physical = cells.physical();
  const cell_chain& of = layout.chains()[chain];
  const cell_level& level = of.levels[of.node_level];
  rooms_.clear();
  for (cell_index cell = level.first; cell < level.first + level.count; ++cell) {
    room in{cell, layout.first_device(cell), static_cast<std::int32_t>(level.devices)};
    in.pack = physical.opportunistic_in(cell);
    in.avoid = physical.guaranteed_in(cell);
    in.free = in.devices - in.pack - in.avoid;
    in.healthy = !physical.is_bad(cell);
    in.suggested = nodes == nullptr || (*nodes)[layout.node_of(in.first_device)];
    rooms_.push_back(in);
  }
  if (auto failure = choose_rooms(of, sizes)) return failure;
  choose_devices(
      of, sizes, opportunistic, [&](cell_index device) { return physical.priority(device); }, out);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
