#include <algorithm>
#include <utility>

#include "gangsched/queues/hived/cell_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

GANGSCHED_INLINE bool cell_scheduler::is_safe(std::uint32_t chain) const {
  std::vector<std::int32_t> spare;
  cells_.spare(chain, spare);
  return std::none_of(spare.begin(), spare.end(), [](std::int32_t one) { return one < 0; });
}

GANGSCHED_INLINE result<std::vector<std::string>> cell_scheduler::restore(
    const group_request& request, std::span<const std::vector<known_device>> pods) {
  if (auto shape = check_shape(request); !shape) return std::move(shape).error();
  const auto wrong = [&](errc code, const char* field, std::string reason) {
    return error{code, "group " + request.name, field, std::move(reason)};
  };
  order by = make_order(request);
  if (pods.size() != by.group.pods.size()) return wrong(errc::malformed, "pods", "its members have another number");
  // Records stand by member, the group's pods by size.
  std::vector<std::size_t> first_of(request.members.size(), 0);
  for (std::size_t each = 1; each < first_of.size(); ++each)
    first_of[each] = first_of[each - 1] + request.members[each - 1].pods;
  group_record& group = by.group;
  std::vector<const std::string*> root_types;
  for (const pod_part& pod : group.pods) {
    const std::vector<known_device>& known = pods[first_of[pod.member]++];
    if (known.size() != pod.count) return wrong(errc::malformed, "pods", "one has another number of devices");
    for (const known_device& one : known) {
      cell_index device = none;
      if (const auto node = layout().find_node(one.node))
        for (const cell_index other : layout().devices_of(*node)) {
          const bool same_kind =
              request.device_type.empty() || layout().level(layout().chain_of(other), 0).type == request.device_type;
          if (device == none && same_kind && layout().number_of(other) == one.number) device = other;
        }
      if (device != none && (cells_.physical().user(device) != none || cells_.physical().heir(device) != none ||
                             std::find(group.devices.begin(), group.devices.end(), device) != group.devices.end()))
        return wrong(errc::wrong_state, "pods", "another has device " + std::to_string(one.number) + " of " + one.node);
      group.devices.push_back(device);
      root_types.push_back(&one.root_type);
    }
  }
  group.as.assign(group.devices.size(), none);
  const std::int32_t slot = new_slot();
  std::vector<std::int32_t> downgraded;
  std::vector<std::string> out;
  attempt doing{log_};
  if (const auto cluster = layout().find_cluster(request.cluster); cluster && request.priority >= 0) {
    group.cluster = *cluster;
    if (restore_guaranteed(request.pin, group, root_types, downgraded)) {
      group.guaranteed = 1;
    } else {
      log_.roll_back();
      downgraded.clear();
      group.as.assign(group.devices.size(), none);
    }
  }
  for (std::size_t each = 0; each < group.devices.size(); ++each) {
    if (group.devices[each] == none) continue;
    if (group.guaranteed == 0) cells_.allocate(group.devices[each], none, opportunistic, log_);
    cells_.set_user(group.devices[each], slot, log_);
  }
  settle(group);
  for (const std::int32_t one : downgraded) out.push_back(at(one).name);
  if (request.priority >= 0 && group.guaranteed == 0) out.push_back(request.name);
  auto record = std::make_unique<group_record>(std::move(group));
  names_.emplace(request.name, slot);
  doing.keep();
  groups_[static_cast<std::size_t>(slot)] = std::move(record);
  free_slots_.pop_back();
  return out;
}

GANGSCHED_INLINE bool cell_scheduler::restore_guaranteed(const std::string& pin, group_record& group,
                                                         std::span<const std::string* const> root_types,
                                                         std::vector<std::int32_t>& downgraded) {
  const std::vector<virtual_view>& views = layout().clusters()[group.cluster].views;
  const auto pinned = layout().pins().find(pin);
  if (!pin.empty() && pinned == layout().pins().end()) return false;
  std::vector<std::uint32_t> chains;
  for (std::size_t each = 0; each < group.devices.size(); ++each) {
    const cell_index device = group.devices[each];
    if (device == none) continue;
    const std::uint32_t chain = layout().chain_of(device);
    const cell_index cell = pin.empty() ? none : pinned->second;
    const auto view = std::find_if(views.begin(), views.end(),
                                   [&](const auto& one) { return one.chain == chain && one.pin == cell; });
    if (view == views.end()) return false;
    group.as[each] = virtual_for(*view, device, *root_types[each], group.priority, downgraded);
    if (group.as[each] == none) return false;
    cells_.allocate(device, group.as[each], group.priority, log_);
    chains.push_back(chain);
  }
  return std::all_of(chains.begin(), chains.end(), [&](std::uint32_t chain) { return is_safe(chain); });
}

/// The virtual device that a physical one can be, if any: what is bound already, from the root down, and else the first that is not.
GANGSCHED_INLINE cell_index cell_scheduler::virtual_for(const virtual_view& view, cell_index device,
                                                        const std::string& root_type, std::int32_t priority,
                                                        std::vector<std::int32_t>& downgraded) {
  const std::vector<cell_level>& levels = layout().chains()[view.chain].levels;
  if (root_type.empty()) return none;
  std::vector<cell_index> path;  // from the device to what its root would be
  for (cell_index cell = device; cell != none; cell = layout().parent(cell)) {
    path.push_back(cell);
    if (view.pin == none ? levels[layout().level_of(cell)].type == root_type : cell == view.pin) break;
  }
  const cell_index top = path.back();
  if (view.pin == none ? levels[layout().level_of(top)].type != root_type : top != view.pin) return none;
  cell_index as = cells_.physical().bound(top);
  if (as == none) {
    if (!cells_.physical().is_free(top)) return none;
    as = root_for(view, layout().level_of(top), priority, downgraded);
    if (as == none || !cells_.physical().is_free(top)) return none;
  } else if (std::find(view.roots.begin(), view.roots.end(), as) == view.roots.end()) {
    return none;
  }
  for (std::size_t level = path.size() - 1; level-- > 0;) {
    const cell_index is = cells_.physical().bound(path[level]);
    if (is != none) {
      as = is;
      continue;
    }
    as = layout().virtual_at(as).first_child;
    while (cells_.bound(as) != none) ++as;  // as many of them are unbound as of the physical cell's children
  }
  return as;
}

/// A root of the level that is not bound; if there is none, the one whose groups have the lowest priority, below @p priority: they become
/// opportunistic.
GANGSCHED_INLINE cell_index cell_scheduler::root_for(const virtual_view& view, std::uint32_t level,
                                                     std::int32_t priority, std::vector<std::int32_t>& downgraded) {
  cell_index best = none;
  std::int32_t lowest = priority;
  const auto devices_in = [&](cell_index root) {
    const cell_index first = layout().first_virtual_device(root);
    return std::pair{first, first + static_cast<cell_index>(layout().level(view.chain, level).devices)};
  };
  for (const cell_index root : view.roots) {
    const virtual_cluster& cluster = cells_.cluster(layout().virtual_at(root).cluster);
    if (layout().virtual_at(root).level != level) continue;
    if (cluster.bound(root) == none) return root;
    if (cluster.used(root) == 0) continue;  // it is doomed: there is nothing better for it
    std::int32_t highest = unused;
    const auto [first, end] = devices_in(root);
    for (cell_index device = first; device < end; ++device) {
      highest = std::max(highest, cluster.priority(device));
      const cell_index is = cluster.bound(device);
      // What a group of the list has, or one that is preempting, stays.
      if (is != none &&
          (cells_.physical().heir(is) != none || (cluster.priority(device) >= 0 && cells_.physical().user(is) == none)))
        highest = highest_priority;
    }
    if (highest >= lowest) continue;
    lowest = highest;
    best = root;
  }
  if (best == none) return none;
  const auto [first, end] = devices_in(best);
  for (cell_index device = first; device < end; ++device) {
    const cell_index is = cells_.bound(device);
    const std::int32_t user = is == none ? none : cells_.physical().user(is);
    if (user == none || at(user).guaranteed == 0) continue;
    downgrade(user);
    downgraded.push_back(user);
  }
  return cells_.bound(best) == none ? best : none;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
