#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "gangsched/core/is_among.hpp"
#include "gangsched/policies/hived_books.hpp"

// Cells for pods that run already, where they are.
namespace gangsched::inline GANGSCHED_ABI {

/// Notes pods on the node that are in no unit.
GANGSCHED_INLINE void hived_books::look_at(const node_info& node) {
  node.each_pod([&](const pod_info& pod) {
    if (devices_of(pod) == 0) return;
    const auto its = unit_of_.find(pod.id());
    if (its != unit_of_.end() && !units_.at(its->second).promised) return;
    if (!is_among(pod.id(), found_)) found_.push_back(pod.id());
  });
}

/// Units that run in another virtual cluster now, with another priority, or with other devices, are found cells anew.
GANGSCHED_INLINE void hived_books::drop_changed(const cluster_view& cluster) {
  std::vector<std::uint32_t> changed;
  for (const auto& [number, one] : units_) {
    const auto pod = cluster.pod(one.parts.front().pod);
    if (!pod) continue;
    const demand now = demand_of(*pod);
    const bool resized = std::any_of(one.parts.begin(), one.parts.end(), [&](const unit::part& part) {
      const auto its = cluster.pod(part.pod);
      return its && devices_of(*its) != part.devices;
    });
    if (resized || now.cluster != one.whose.cluster || now.priority != one.whose.priority) changed.push_back(number);
  }
  for (const std::uint32_t number : changed) find_anew(number);
}

GANGSCHED_INLINE bool hived_books::is_bad(const unit::part& of) const {
  const auto node = cells_->layout().find_node(of.node_name);
  return node && bad_[*node] != 0;
}

/// What pods have that run is theirs, whatever was promised: promises of devices that nobody is on are cancelled on their nodes until what
/// is left is enough for them, those of the lowest priority first, then the latest. (They are made anew, if that is due.)
GANGSCHED_INLINE void hived_books::cancel_promises(const std::vector<unit>& found) {
  std::map<node_id, std::pair<const std::string*, std::size_t>> wanted;
  for (const unit& one : found)
    for (const unit::part& part : one.parts) {
      auto& [name, devices] = wanted[part.node];
      name = &part.node_name;
      devices += part.devices;
    }
  for (const auto& [node, its] : wanted) {
    const auto& [name, devices] = its;
    const auto at = cells_->layout().find_node(*name);
    const auto there = on_node_.find(node.row);
    if (!at || there == on_node_.end()) continue;
    const auto is_free = [&](cell_index one) { return cells_->user(one).empty() && cells_->heir(one).empty(); };
    const auto holds = [&](std::uint32_t number) {
      const auto found_one = units_.find(number);
      if (found_one == units_.end() || !found_one->second.promised) return false;
      const std::vector<unit::part>& parts = found_one->second.parts;
      return std::any_of(parts.begin(), parts.end(), [&](const unit::part& part) {
        return part.node == node && std::any_of(part.numbers.begin(), part.numbers.end(), [&](std::int32_t each) {
                 const std::string_view user = cells_->user(device(part.node_name, each));
                 return user.empty() || user == std::to_string(number);
               });
      });
    };
    for (;;) {
      const auto& all = cells_->layout().devices_of(*at);
      if (static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_free)) >= devices) break;
      std::optional<std::uint32_t> last;
      const auto rank = [&](std::uint32_t of) { return std::pair{-units_.at(of).whose.priority, of}; };
      for (const std::uint32_t number : there->second)
        if (holds(number) && (!last || rank(*last) < rank(number))) last = number;
      if (!last) break;
      forget(*last);
    }
  }
}

/// Pods that have nodes without having been asked about are a unit with the others of their tree.
GANGSCHED_INLINE void hived_books::adopt_found(const cluster_view& cluster) {
  std::vector<unit> made;
  std::erase_if(found_, [&](pod_id id) {
    const auto pod = cluster.pod(id);
    return !pod || !pod->node() || devices_of(*pod) == 0;
  });
  std::sort(found_.begin(), found_.end());
  for (const pod_id id : found_) {
    const pod_info pod = *cluster.pod(id);
    const node_info node = *pod.node();
    demand whose = demand_of(pod);
    auto its = std::find_if(made.begin(), made.end(), [&](const unit& one) {
      return whose.tree && one.whose.tree == whose.tree && one.whose.cluster == whose.cluster;
    });
    if (its == made.end()) its = made.insert(made.end(), unit{.whose = std::move(whose)});
    its->whose.pods.push_back({id, devices_of(pod)});
    its->parts.push_back({id, devices_of(pod), node.id(), std::string{node.name()}});
  }
  found_.clear();
  std::stable_sort(made.begin(), made.end(),
                   [](const unit& a, const unit& b) { return a.whose.priority > b.whose.priority; });
  cancel_promises(made);
  for (unit& one : made) {
    const std::uint32_t number = next_++;
    const auto by_size = [](const auto& a, const auto& b) { return a.devices < b.devices; };
    std::stable_sort(one.whose.pods.begin(), one.whose.pods.end(), by_size);
    std::stable_sort(one.parts.begin(), one.parts.end(), by_size);
    add(number, std::move(one));
    adopt(number);
  }
}

/// Devices of the node that no group has, all in one cell of the type that the virtual cluster has or could have: as many as it has, or
/// all that there are.
GANGSCHED_INLINE std::vector<std::int32_t> hived_books::free_devices(const unit::part& of, const std::string& root_type,
                                                                     std::uint32_t cluster,
                                                                     const std::vector<cell_index>& taken) const {
  const auto& layout = cells_->layout();
  const auto& physical = cells_->cells().physical();
  const auto node = layout.find_node(of.node_name);
  std::map<std::pair<bool, cell_index>, std::vector<std::int32_t>> by_root;  // those that it has first
  if (!node) return {};
  for (const cell_index one : layout.devices_of(*node)) {
    if (physical.user(one) != none || physical.heir(one) != none || is_among(one, taken)) continue;
    cell_index root = one;
    while (root != none && !root_type.empty() && layout.level_at(root).type != root_type) root = layout.parent(root);
    if (root_type.empty()) root = none;
    if (!root_type.empty()) {
      if (root == none) continue;
      const cell_index as = physical.bound(root);
      if (as == none ? !physical.is_free(root) : layout.virtual_at(as).cluster != cluster) continue;
    }
    by_root[{root != none && physical.bound(root) == none, root}].push_back(layout.number_of(one));
  }
  std::vector<std::int32_t> best;
  for (auto& [root, numbers] : by_root)
    if (best.size() < of.devices && numbers.size() > best.size()) best = std::move(numbers);
  if (best.size() > of.devices) best.resize(of.devices);
  return best;
}

/// Whether it is in its virtual cluster with that. If the node has fewer devices than a pod, the pod is on all of them.
GANGSCHED_INLINE bool hived_books::restore(std::uint32_t number, const std::string& root_type) {
  unit& one = units_.at(number);
  queues::hived::group_request request;
  request.name = std::to_string(number);
  request.cluster = one.whose.cluster;
  request.priority = root_type.empty() ? queues::hived::opportunistic : one.whose.priority;
  request.device_type = one.whose.device_type;
  request.pin = root_type.empty() ? std::string{} : one.whose.pin;
  request.lazy_preemption = options_.lazy_preemption;
  const auto cluster = cells_->layout().find_cluster(one.whose.cluster);
  std::vector<cell_index> taken;
  std::vector<std::vector<queues::hived::known_device>> pods;
  for (unit::part& part : one.parts) {
    const bool keeps = part.numbers.size() == part.devices &&
                       std::all_of(part.numbers.begin(), part.numbers.end(), [&](std::int32_t each) {
                         const cell_index at = device(part.node_name, each);
                         return at != none && cells_->cells().physical().user(at) == none &&
                                cells_->cells().physical().heir(at) == none && !is_among(at, taken);
                       });
    if (!keeps) part.numbers = free_devices(part, root_type, cluster.value_or(0), taken);
    // (It cannot be where its virtual cluster has too few: only what nobody has left on the node may be missing.)
    if (!root_type.empty() && part.numbers.size() < part.devices &&
        free_devices(part, {}, 0, taken).size() > part.numbers.size())
      return false;
    const auto has = static_cast<std::uint32_t>(part.numbers.size());
    if (has == 0) continue;
    if (request.members.empty() || request.members.back().devices != has) request.members.push_back({0, has});
    ++request.members.back().pods;
    auto& known = pods.emplace_back();
    for (const std::int32_t each : part.numbers) {
      taken.push_back(device(part.node_name, each));
      known.push_back({part.node_name, each, root_type});
    }
  }
  if (pods.empty()) return false;
  const auto said = cells_->restore(request, pods);
  if (!said) return false;
  if (!is_among(request.name, *said)) return true;
  cells_->remove(request.name).value();
  return false;
}

/// Cells for those of a unit that run: in its virtual cluster if there is a way, otherwise opportunistically.
GANGSCHED_INLINE void hived_books::adopt(std::uint32_t number) {
  unit& one = units_.at(number);
  const auto cluster = cells_->layout().find_cluster(one.whose.cluster);
  if (one.whose.priority >= 0 && cluster) {
    std::vector<std::string> types;
    if (!one.root_type.empty()) types.push_back(one.root_type);
    for (const auto& view : cells_->layout().clusters()[*cluster].views)
      for (const cell_index root : view.roots) {
        const auto& at = cells_->layout().virtual_at(root);
        const std::string& type = cells_->layout().level(at.chain, at.level).type;
        if (!is_among(type, types)) types.push_back(type);
      }
    for (const std::string& type : types) {
      const std::vector<unit::part> before = one.parts;
      if (restore(number, type)) return one.root_type = type, static_cast<void>(0);
      one.parts = before;
    }
  }
  one.root_type.clear();
  if (!restore(number, "")) erase(number);
}

/// Its pods, which run, are found cells anew.
GANGSCHED_INLINE void hived_books::find_anew(std::uint32_t number) {
  const unit& one = units_.at(number);
  for (const unit::part& part : one.parts)
    if (!one.promised && !is_among(part.pod, found_)) found_.push_back(part.pod);
  forget(number);
}

/// A unit that is on fewer devices than its pods have, because others were on the rest, is found cells anew once some are free there.
GANGSCHED_INLINE void hived_books::drop_short(std::uint32_t number) {
  const auto found = units_.find(number);
  if (found == units_.end() || found->second.promised) return;
  const std::vector<unit::part>& parts = found->second.parts;
  if (std::any_of(parts.begin(), parts.end(), [&](const unit::part& part) {
        return part.numbers.size() < part.devices && !free_devices(part, {}, 0, {}).empty();
      }))
    find_anew(number);
}

}  // namespace gangsched::inline GANGSCHED_ABI
