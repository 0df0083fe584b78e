#include "gangsched/model/node_tree.hpp"

#include <algorithm>

namespace gangsched {

GANGSCHED_INLINE node_tree::node_tree(interner& names)
    : region_key_(names.intern("topology.kubernetes.io/region")),
      zone_key_(names.intern("topology.kubernetes.io/zone")),
      old_region_key_(names.intern("failure-domain.beta.kubernetes.io/region")),
      old_zone_key_(names.intern("failure-domain.beta.kubernetes.io/zone")) {}

GANGSCHED_INLINE node_tree::zone& node_tree::zone_of(std::span<const label_symbols> labels) {
  // The beta labels win; no label is the zone "".
  const auto either = [&](symbol old_key, symbol key) {
    symbol value{};
    for (const label_symbols& label : labels) {
      if (label.key == old_key) return label.value;
      if (label.key == key) value = label.value;
    }
    return value;
  };
  const symbol region = either(old_region_key_, region_key_);
  const symbol name = either(old_zone_key_, zone_key_);
  const auto same = [&](const zone& z) { return z.region == region && z.name == name; };
  const auto found = std::find_if(zones_.begin(), zones_.end(), same);
  return found != zones_.end() ? *found : *zones_.insert(zones_.end(), {region, name, {}});
}

GANGSCHED_INLINE void node_tree::add(row_t node, std::span<const label_symbols> labels) {
  zone_of(labels).nodes.push_back(node);
  dirty_ = true;
}

GANGSCHED_INLINE void node_tree::update(row_t node, std::span<const label_symbols> labels) {
  const zone& to = zone_of(labels);
  if (std::find(to.nodes.begin(), to.nodes.end(), node) != to.nodes.end()) return;
  remove(node);  // before it joins: a zone that empties goes, also one just made
  add(node, labels);
}

GANGSCHED_INLINE void node_tree::remove(row_t node) {
  for (zone& z : zones_) {
    if (std::erase(z.nodes, node) != 0) dirty_ = true;
  }
  std::erase_if(zones_, [](const zone& z) { return z.nodes.empty(); });
}

GANGSCHED_INLINE const std::vector<row_t>& node_tree::rows() {
  if (!dirty_) return order_;
  dirty_ = false;
  order_.clear();
  for (std::size_t i = 0, left = 1; left != 0; ++i) {
    left = 0;
    for (const zone& z : zones_) {
      if (i < z.nodes.size()) order_.push_back(z.nodes[i]), ++left;
    }
  }
  return order_;
}

}  // namespace gangsched
