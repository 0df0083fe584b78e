#include "gangsched/model/node_tree.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace gangsched {

GANGSCHED_INLINE node_tree::node_tree(interner& names, undo_log& undo)
    : undo_(&undo),
      region_key_(names.intern("topology.kubernetes.io/region")),
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

GANGSCHED_INLINE void node_tree::remember() {
  dirty_ = true;
  if (!undo_->recording()) return;
  auto before = std::make_unique<std::vector<zone>>(zones_);
  undo_->save_owned(*this, 0, 0, reinterpret_cast<std::uintptr_t>(before.get()));
  before.release();  // the log has it now
}

GANGSCHED_INLINE void node_tree::restore(row_t, std::uint32_t, std::uint64_t old) noexcept {
  const std::unique_ptr<std::vector<zone>> before{reinterpret_cast<std::vector<zone>*>(static_cast<std::uintptr_t>(old))};
  zones_ = std::move(*before);
  dirty_ = true;
}

GANGSCHED_INLINE void node_tree::discard(std::uint32_t, std::uint64_t old) noexcept {
  const std::unique_ptr<std::vector<zone>> unused{reinterpret_cast<std::vector<zone>*>(static_cast<std::uintptr_t>(old))};
}

GANGSCHED_INLINE void node_tree::digest_into(digest& out, row_t) const {
  for (const zone& z : zones_) {
    out.add(z.nodes.size());
    for (const row_t node : z.nodes) out.add(node);
  }
}

GANGSCHED_INLINE void node_tree::add(row_t node, std::span<const label_symbols> labels) {
  remember();
  zone_of(labels).nodes.push_back(node);
}

GANGSCHED_INLINE void node_tree::update(row_t node, std::span<const label_symbols> labels) {
  remember();  // before the zone is made
  const zone& to = zone_of(labels);
  if (std::find(to.nodes.begin(), to.nodes.end(), node) != to.nodes.end()) return;
  remove(node);  // before it joins: a zone that empties goes, also one just made
  add(node, labels);
}

GANGSCHED_INLINE void node_tree::remove(row_t node) {
  remember();
  for (zone& z : zones_) std::erase(z.nodes, node);
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
