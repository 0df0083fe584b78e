#include "gangsched/model/node_tree.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE node_tree::node_tree(interner& names, undo_log& undo)
    : undo_(&undo),
      region_key_(names.keep("topology.kubernetes.io/region")),
      zone_key_(names.keep("topology.kubernetes.io/zone")),
      old_region_key_(names.keep("failure-domain.beta.kubernetes.io/region")),
      old_zone_key_(names.keep("failure-domain.beta.kubernetes.io/zone")) {}

GANGSCHED_INLINE node_tree::zone node_tree::named(std::span<const label_symbols> labels) const {
  // The beta labels win; no label is the zone "".
  const auto either = [&](symbol old_key, symbol key) {
    symbol value{};
    for (const label_symbols& label : labels) {
      if (label.key == old_key) return label.value;
      if (label.key == key) value = label.value;
    }
    return value;
  };
  return {either(old_region_key_, region_key_), either(old_zone_key_, zone_key_), {}};
}

GANGSCHED_INLINE std::vector<node_tree::zone>::iterator node_tree::find(const zone& like) {
  return std::find_if(zones_.begin(), zones_.end(),
                      [&](const zone& one) { return one.region == like.region && one.name == like.name; });
}

GANGSCHED_INLINE void node_tree::restore(row_t, std::uint32_t sub, std::uint64_t old) noexcept {
  dirty_ = true;
  if (sub == added) {  // as the last of its zone, with which the zone came if nobody else is there
    std::vector<row_t>& nodes = zones_[static_cast<std::size_t>(old)].nodes;
    nodes.pop_back();
    if (nodes.empty()) zones_.pop_back();
    return;
  }
  const std::unique_ptr<std::vector<zone>> before{
      reinterpret_cast<std::vector<zone>*>(static_cast<std::uintptr_t>(old))};
  zones_ = std::move(*before);
}

GANGSCHED_INLINE void node_tree::discard(std::uint32_t sub, std::uint64_t old) noexcept {
  if (sub == whole) delete reinterpret_cast<std::vector<zone>*>(static_cast<std::uintptr_t>(old));
}

GANGSCHED_INLINE void node_tree::digest_into(digest& out, row_t) const {
  for (const zone& z : zones_) {
    out.add(z.nodes.size());
    for (const row_t node : z.nodes) out.add(node);
  }
}

GANGSCHED_INLINE void node_tree::add(row_t node, std::span<const label_symbols> labels) {
  zone made = named(labels);
  auto to = find(made);
  const auto place = static_cast<std::size_t>(to - zones_.begin());
  const bool fresh = to == zones_.end();
  if (fresh) detail::make_room(zones_);
  detail::make_room(fresh ? made.nodes : to->nodes);
  if (undo_->recording()) undo_->save(*this, node, added, place);
  dirty_ = true;
  if (fresh) zones_.push_back(std::move(made));
  zones_[place].nodes.push_back(node);
}

GANGSCHED_INLINE void node_tree::update(row_t node, std::span<const label_symbols> labels) {
  const auto to = find(named(labels));
  if (to != zones_.end() && std::find(to->nodes.begin(), to->nodes.end(), node) != to->nodes.end()) return;
  remove(node);  // before it joins: a zone that empties goes, also one just made
  add(node, labels);
}

GANGSCHED_INLINE void node_tree::remove(row_t node) {
  if (undo_->recording()) {
    auto before = std::make_unique<std::vector<zone>>(zones_);
    undo_->save_owned(*this, 0, whole, reinterpret_cast<std::uintptr_t>(before.get()));
    static_cast<void>(before.release());  // the log has it now
  }
  dirty_ = true;
  for (zone& z : zones_) std::erase(z.nodes, node);
  std::erase_if(zones_, [](const zone& z) { return z.nodes.empty(); });
}

GANGSCHED_INLINE const std::vector<row_t>& node_tree::rows() {
  if (!dirty_) return order_;
  order_.clear();
  for (std::size_t i = 0, left = 1; left != 0; ++i) {
    left = 0;
    for (const zone& z : zones_) {
      if (i < z.nodes.size()) order_.push_back(z.nodes[i]), ++left;
    }
  }
  dirty_ = false;
  return order_;
}

}  // namespace gangsched::inline GANGSCHED_ABI
