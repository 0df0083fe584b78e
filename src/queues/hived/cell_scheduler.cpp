#include "gangsched/queues/hived/cell_scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

GANGSCHED_INLINE result<cell_scheduler> cell_scheduler::make(const configuration& from) {
  auto layout = cell_layout::make(from);
  if (!layout) return std::move(layout).error();
  auto cells = cell_binding::make(std::make_shared<const cell_layout>(std::move(layout).value()));
  if (!cells) return std::move(cells).error();
  return cell_scheduler{std::move(cells).value()};
}

/// (The journal points into the cells, and is empty between calls.)
GANGSCHED_INLINE cell_scheduler::cell_scheduler(const cell_scheduler& other)
    : cells_{other.cells_}, names_{other.names_} {
  groups_.reserve(other.groups_.size());
  for (const auto& one : other.groups_) groups_.push_back(one ? std::make_unique<group_record>(*one) : nullptr);
  free_slots_.reserve(groups_.size());
  free_slots_ = other.free_slots_;
}

GANGSCHED_INLINE result<void> cell_scheduler::check_shape(const group_request& group) const {
  const std::string object = "group " + group.name;
  if (group.name.empty()) return error{errc::malformed, "group", "name", "is empty"};
  if (names_.contains(group.name)) return error{errc::duplicate, object, "name", "there is one already"};
  if (group.priority < opportunistic || group.priority > highest_priority)
    return error{errc::out_of_range, object, "priority", std::to_string(group.priority) + " is not from -1 to 1000"};
  if (group.members.empty()) return error{errc::malformed, object, "members", "there are none"};
  std::uint64_t devices = 0;
  for (const member& one : group.members) {
    if (one.pods == 0 || one.devices == 0)
      return error{errc::out_of_range, object, "members", "one has no pods, or no devices"};
    devices += std::uint64_t{one.pods} * one.devices;
    if (devices > layout().cells()) return error{errc::out_of_range, object, "members", "more devices than there are"};
  }
  return {};
}

/// The group without devices, and its pods by size.
GANGSCHED_INLINE cell_scheduler::order cell_scheduler::make_order(const group_request& group) {
  order made;
  made.group.name = group.name;
  made.group.priority = group.priority;
  made.group.lazy = group.lazy_preemption;
  std::vector<std::uint32_t> by_size(group.members.size());
  std::iota(by_size.begin(), by_size.end(), 0U);
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::uint32_t a, std::uint32_t b) {
    return group.members[a].devices < group.members[b].devices;
  });
  std::size_t first = 0;
  for (const std::uint32_t of : by_size)
    for (std::uint32_t pod = 0; pod < group.members[of].pods; ++pod) {
      made.group.pods.push_back({of, first, group.members[of].devices});
      made.sizes.push_back(group.members[of].devices);
      first += group.members[of].devices;
    }
  return made;
}

GANGSCHED_INLINE result<cell_scheduler::order> cell_scheduler::check(const group_request& group) const {
  if (auto shape = check_shape(group); !shape) return std::move(shape).error();
  const std::string object = "group " + group.name;
  const auto cluster = layout().find_cluster(group.cluster);
  if (!cluster) return error{errc::unknown, object, "cluster", "there is no virtual cluster " + group.cluster};
  const std::vector<virtual_view>& views = layout().clusters()[*cluster].views;
  order made = make_order(group);
  made.group.cluster = *cluster;
  if (group.nodes) made.nodes = choice(*group.nodes);

  const auto find_chains = [&](const std::string& type) {
    for (std::uint32_t chain = 0; chain < layout().chains().size(); ++chain)
      if (layout().level(chain, 0).type == type) made.chains.push_back(chain);
  };
  if (!group.device_type.empty()) {
    find_chains(group.device_type);
  } else {
    for (std::uint32_t chain = 0; chain < layout().chains().size(); ++chain)
      if (std::find(made.chains.begin(), made.chains.end(), chain) == made.chains.end())
        find_chains(layout().level(chain, 0).type);
  }
  if (made.chains.empty()) return error{errc::unknown, object, "device_type", "there is no " + group.device_type};

  std::uint32_t largest = 0;
  if (!group.pin.empty()) {
    const auto pin = layout().pins().find(group.pin);
    const auto view = std::find_if(views.begin(), views.end(), [&](const virtual_view& one) {
      return pin != layout().pins().end() && one.pin == pin->second;
    });
    if (view == views.end())
      return error{errc::unknown, object, "pin", "the virtual cluster has no pinned cell " + group.pin};
    if (group.priority < 0) return error{errc::malformed, object, "pin", "an opportunistic group has no pinned cell"};
    made.views.push_back(&*view);
  } else if (group.priority >= 0) {
    for (const std::uint32_t chain : made.chains)
      for (const virtual_view& view : views)
        if (view.chain == chain && view.pin == none) made.views.push_back(&view);
    if (made.views.empty())
      return error{errc::unknown, object, "device_type",
                   "the virtual cluster has no " + (group.device_type.empty() ? "cells" : group.device_type)};
  }
  // What cannot hold the largest pod is not searched.
  const auto is_small = [&](std::uint32_t chain, std::uint32_t level) {
    const std::uint32_t devices = layout().level(chain, level).devices;
    largest = std::max(largest, devices);
    return devices < made.sizes.back();
  };
  if (group.priority >= 0) {
    std::erase_if(made.views, [&](const virtual_view* view) {
      return is_small(view->chain, layout().virtual_at(view->cells.front()).level);
    });
  } else {
    std::erase_if(made.chains,
                  [&](std::uint32_t chain) { return is_small(chain, layout().chains()[chain].node_level); });
  }
  if (made.sizes.back() > largest)
    return error{errc::out_of_range, object, "members",
                 "a pod wants " + std::to_string(made.sizes.back()) + " devices; the largest cell of one node has " +
                     std::to_string(largest)};
  return made;
}

GANGSCHED_INLINE std::vector<bool> cell_scheduler::choice(const std::vector<std::string>& nodes) const {
  std::vector<bool> chosen(layout().nodes().size(), false);
  for (const std::string& name : nodes)
    if (const auto node = layout().find_node(name)) chosen[*node] = true;
  return chosen;
}

/// @return whether there is a place: group.as and group.devices then.
GANGSCHED_INLINE bool cell_scheduler::find_guaranteed(order& by, decision& out, std::vector<std::int32_t>& downgraded) {
  group_record& group = by.group;
  for (const virtual_view* view : by.views) {
    const cell_chain& chain = layout().chains()[view->chain];
    shortage missing;
    missing.chain = chain.levels.back().type;
    const auto lacks = [&](obstacle why, std::uint32_t level, std::uint32_t count) {
      missing.why = why;
      missing.cell_type = chain.levels[level].type;
      missing.level = level;
      missing.count = count;
      out.missing = missing;
    };
    if (const auto failed = search_.find_virtual(cells_, *view, by.sizes, group.priority, by.choice(), group.as)) {
      if (failed->cell != none) {
        const cell_index is = cells_.bound(failed->cell);
        missing.node = layout().nodes()[layout().node_of(layout().first_device(is))];
      }
      lacks(failed->why, failed->level, failed->count);
      continue;
    }
    const std::size_t before = log_.mark();
    for (const cell_index as : group.as) {
      const cell_index device = cells_.bound(as);
      const std::int32_t user = device == none ? none : cells_.physical().user(device);
      if (user == none || cells_.physical().heir(device) != none || !at(user).lazy || at(user).guaranteed == 0)
        continue;
      downgrade(user);
      downgraded.push_back(user);
    }
    const auto unmapped = cells_.map(group.as, by.choice(), log_, group.devices);
    if (!unmapped) return true;
    log_.roll_back(before);
    downgraded.clear();
    lacks(obstacle::no_usable_cell, unmapped->level, unmapped->count);
  }
  return false;
}

GANGSCHED_INLINE bool cell_scheduler::find_opportunistic(order& by, decision& out) {
  for (const std::uint32_t chain : by.chains) {
    const auto failed = search_.find_physical(cells_, chain, by.sizes, by.choice(), by.group.devices);
    if (!failed) {
      by.group.as.assign(by.group.devices.size(), none);
      return true;
    }
    const std::vector<cell_level>& levels = layout().chains()[chain].levels;
    shortage missing{failed->why, levels.back().type, levels[failed->level].type, failed->level, failed->count};
    if (failed->cell != none) missing.node = layout().nodes()[layout().node_of(layout().first_device(failed->cell))];
    out.missing = std::move(missing);
  }
  return false;
}

GANGSCHED_INLINE result<decision> cell_scheduler::place(const group_request& group) { return decide(group, true); }
GANGSCHED_INLINE result<decision> cell_scheduler::look(const group_request& group) { return decide(group, false); }

GANGSCHED_INLINE result<decision> cell_scheduler::decide(const group_request& request, bool commit) {
  auto checked = check(request);
  if (!checked) return std::move(checked).error();
  order by = std::move(checked).value();
  const std::int32_t slot = new_slot();
  decision out;
  std::vector<std::int32_t> downgraded, victims, cancelled;
  const attempt doing{log_};
  if (!(request.priority >= 0 ? find_guaranteed(by, out, downgraded) : find_opportunistic(by, out))) return out;

  const auto add = [](std::vector<std::int32_t>& to, std::int32_t one) {
    if (one != none && std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  };
  for (const cell_index device : by.group.devices) {
    add(victims, cells_.physical().user(device));
    add(cancelled, cells_.physical().heir(device));
  }
  out.missing.reset();
  out.state = victims.empty() ? group_state::allocated : group_state::preempting;
  out.pods = places(by.group);
  for (const auto& [from, to] : {std::pair{&victims, &out.victims}, std::pair{&cancelled, &out.cancelled},
                                 std::pair{&downgraded, &out.downgraded}})
    for (const std::int32_t one : *from) to->push_back(at(one).name);
  if (!commit) return out;

  for (const std::int32_t one : cancelled) cancel(one);
  auto record = std::make_unique<group_record>(std::move(by.group));
  record->guaranteed = request.priority >= 0 ? 1 : 0;
  record->preempting = victims.empty() ? 0 : 1;
  take(*record, slot, !victims.empty());
  settle(*record);
  names_.emplace(request.name, slot);
  log_.keep();
  groups_[static_cast<std::size_t>(slot)] = std::move(record);
  free_slots_.pop_back();
  for (const std::int32_t one : cancelled) forget(one);
  return out;
}

/// Gives the group its devices; those that others are on only in the books, if it is preempting.
GANGSCHED_INLINE void cell_scheduler::take(group_record& group, std::int32_t as, bool preempting) {
  for (std::size_t each = 0; each < group.devices.size(); ++each) {
    const cell_index device = group.devices[each];
    if (device == none) continue;
    if (cells_.physical().priority(device) != unused) cells_.release(device, log_);
    cells_.allocate(device, group.as[each], group.priority, log_);
    preempting ? cells_.set_heir(device, as, log_) : cells_.set_user(device, as, log_);
  }
}

/// It stays where it is, but its virtual cluster has its cells back, and any guaranteed group may evict it.
GANGSCHED_INLINE void cell_scheduler::downgrade(std::int32_t slot) {
  group_record& group = at(slot);
  for (const cell_index device : group.devices) {
    if (device == none || cells_.physical().heir(device) != none) continue;  // an heir has it in the books already
    cells_.release(device, log_);
    cells_.allocate(device, none, opportunistic, log_);
  }
  log_.set(group.guaranteed, 0);
}

/// Takes back a preemption: groups that are still on the devices have them again.
GANGSCHED_INLINE void cell_scheduler::cancel(std::int32_t slot) {
  for (const cell_index device : at(slot).devices) {
    cells_.release(device, log_);
    cells_.set_heir(device, none, log_);
    const std::int32_t user = cells_.physical().user(device);
    if (user == none) continue;
    const group_record& back = at(user);
    cell_index as = none;
    if (back.guaranteed != 0) {
      const auto found = std::find(back.devices.begin(), back.devices.end(), device);
      as = back.as[static_cast<std::size_t>(found - back.devices.begin())];
    }
    cells_.allocate(device, as, back.priority, log_);
  }
}

GANGSCHED_INLINE void cell_scheduler::settle(const group_record& group) {
  std::vector<std::uint32_t> chains;
  for (const cell_index device : group.devices)
    if (device != none)
      if (const std::uint32_t chain = layout().chain_of(device);
          std::find(chains.begin(), chains.end(), chain) == chains.end())
        chains.push_back(chain);
  for (const std::uint32_t chain : chains) cells_.settle(chain, log_);
}

GANGSCHED_INLINE result<start_outcome> cell_scheduler::start(std::string_view name,
                                                             const std::optional<std::vector<std::string>>& nodes) {
  const auto found = names_.find(name);
  if (found == names_.end()) return error{errc::unknown, "group " + std::string{name}, "name", "there is none"};
  const std::int32_t slot = found->second;
  group_record& group = at(slot);
  if (group.preempting == 0) return error{errc::wrong_state, "group " + group.name, "state", "it has its devices"};
  std::vector<bool> chosen(layout().nodes().size(), true);
  if (nodes) chosen = choice(*nodes);
  const buddy_cells& physical = cells_.physical();
  const auto is_unfit = [&](cell_index device) { return physical.is_bad(device) || !chosen[layout().node_of(device)]; };
  attempt doing{log_};
  if (std::any_of(group.devices.begin(), group.devices.end(), is_unfit)) {
    cancel(slot);
    settle(group);
    doing.keep();
    forget(slot);
    return start_outcome::cancelled;
  }
  const auto in_use = [&](cell_index device) { return physical.user(device) != none; };
  if (std::any_of(group.devices.begin(), group.devices.end(), in_use)) return start_outcome::must_wait;
  for (const cell_index device : group.devices) {
    cells_.set_heir(device, none, log_);
    cells_.set_user(device, slot, log_);
  }
  log_.set(group.preempting, 0);
  doing.keep();
  return start_outcome::started;
}

GANGSCHED_INLINE result<void> cell_scheduler::remove(std::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end()) return error{errc::unknown, "group " + std::string{name}, "name", "there is none"};
  const std::int32_t slot = found->second;
  group_record& group = at(slot);
  attempt doing{log_};
  if (group.preempting != 0) {
    cancel(slot);
  } else {
    for (const cell_index device : group.devices) {
      if (device == none) continue;
      cells_.set_user(device, none, log_);
      if (cells_.physical().heir(device) == none) cells_.release(device, log_);
    }
  }
  settle(group);
  doing.keep();
  forget(slot);
  return {};
}

GANGSCHED_INLINE result<void> cell_scheduler::shrink(std::string_view name, std::string_view on,
                                                     std::span<const std::int32_t> devices) {
  const auto found = names_.find(name);
  if (found == names_.end()) return error{errc::unknown, "group " + std::string{name}, "name", "there is none"};
  group_record& group = at(found->second);
  if (group.preempting != 0) return error{errc::wrong_state, "group " + group.name, "state", "it has no devices yet"};
  const auto node = layout().find_node(on);
  std::vector<std::size_t> lost;
  for (const std::int32_t number : devices) {
    const auto its = std::find_if(group.devices.begin(), group.devices.end(), [&](cell_index device) {
      return device != none && node && layout().node_of(device) == *node && layout().number_of(device) == number;
    });
    if (its == group.devices.end())
      return error{errc::malformed, "group " + group.name, "devices",
                   "it has no device " + std::to_string(number) + " of " + std::string{on}};
    lost.push_back(static_cast<std::size_t>(its - group.devices.begin()));
  }
  attempt doing{log_};
  for (const std::size_t each : lost) {
    if (cells_.physical().user(group.devices[each]) == none) continue;  // named twice
    cells_.set_user(group.devices[each], none, log_);
    if (cells_.physical().heir(group.devices[each]) == none) cells_.release(group.devices[each], log_);
  }
  settle(group);
  doing.keep();
  for (const std::size_t each : lost) group.devices[each] = none;
  return {};
}

GANGSCHED_INLINE result<void> cell_scheduler::set_bad(std::string_view name, bool to) {
  const auto node = layout().find_node(name);
  if (!node) return error{errc::unknown, "node " + std::string{name}, "name", "no cell is it"};
  attempt doing{log_};
  std::vector<std::uint32_t> chains;
  for (const cell_index device : layout().devices_of(*node)) {
    cells_.set_bad(device, to, log_);
    if (const std::uint32_t chain = layout().chain_of(device); chains.empty() || chains.back() != chain)
      chains.push_back(chain);
  }
  for (const std::uint32_t chain : chains) cells_.settle(chain, log_);
  doing.keep();
  return {};
}

/// The slot that the next group gets. It is given by taking it out of free_slots_, which has room for all.
GANGSCHED_INLINE std::int32_t cell_scheduler::new_slot() {
  if (free_slots_.empty()) {
    free_slots_.reserve(groups_.size() + 1);
    groups_.emplace_back();
    free_slots_.push_back(static_cast<std::int32_t>(groups_.size() - 1));
  }
  return free_slots_.back();
}

GANGSCHED_INLINE void cell_scheduler::forget(std::int32_t slot) noexcept {
  names_.erase(names_.find(at(slot).name));
  groups_[static_cast<std::size_t>(slot)].reset();
  free_slots_.push_back(slot);
}

GANGSCHED_INLINE std::vector<pod_place> cell_scheduler::places(const group_record& group) const {
  std::vector<pod_place> made;
  for (const pod_part& pod : group.pods) {
    pod_place& place = made.emplace_back();
    place.member = pod.member;
    for (std::size_t each = pod.first; each < pod.first + pod.count; ++each) {
      const cell_index device = group.devices[each];
      if (device == none) continue;
      place.node = layout().nodes()[layout().node_of(device)];
      place.devices.push_back(layout().number_of(device));
    }
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const pod_place& a, const pod_place& b) { return a.member < b.member; });
  return made;
}

GANGSCHED_INLINE std::optional<group_status> cell_scheduler::group(std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  const group_record& of = *groups_[static_cast<std::size_t>(found->second)];
  return group_status{of.preempting != 0 ? group_state::preempting : group_state::allocated, of.priority,
                      of.guaranteed != 0, places(of)};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
