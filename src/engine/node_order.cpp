#include "gangsched/engine/node_order.hpp"

#include <algorithm>

namespace gangsched::engine {

GANGSCHED_INLINE node_order::node_order(cluster_state& state)
    : state_(&state),
      region_key_(state.names.intern("topology.kubernetes.io/region")),
      zone_key_(state.names.intern("topology.kubernetes.io/zone")),
      old_region_key_(state.names.intern("failure-domain.beta.kubernetes.io/region")),
      old_zone_key_(state.names.intern("failure-domain.beta.kubernetes.io/zone")) {
  rebuild();  // zones are ordered by when they were first seen from now on
}

GANGSCHED_INLINE void node_order::add(row_t node) {
  const node_record& record = *state_->nodes.record[node];
  // The beta labels win; no label is the zone "".
  const auto either = [&](symbol old_key, symbol key) {
    const auto old_value = record.label(old_key);
    return old_value ? *old_value : record.label(key).value_or(symbol{});
  };
  const symbol region = either(old_region_key_, region_key_);
  const symbol name = either(old_zone_key_, zone_key_);
  auto found = std::find_if(zones_.begin(), zones_.end(), [&](const zone& z) { return z.region == region && z.name == name; });
  if (found == zones_.end()) found = zones_.insert(zones_.end(), {region, name, {}});
  found->nodes.push_back(node);
}

GANGSCHED_INLINE void node_order::remove(row_t node) {
  for (zone& z : zones_) std::erase(z.nodes, node);
  std::erase_if(zones_, [](const zone& z) { return z.nodes.empty(); });
}

GANGSCHED_INLINE void node_order::rebuild() {
  zones_.clear();
  std::vector<row_t> all;
  for (row_t row = 0; row < state_->nodes.rows.count(); ++row) {
    if (state_->nodes.alive(row)) all.push_back(row);
  }
  std::sort(all.begin(), all.end(), [&](row_t a, row_t b) { return state_->nodes.arrival[a] < state_->nodes.arrival[b]; });
  for (const row_t row : all) add(row);
  cursor_ = {state_->log.committed_end(), state_->log.truncations()};
  built_ = dirty_ = true;
}

GANGSCHED_INLINE const std::vector<row_t>& node_order::rows() {
  const change_log& log = state_->log;
  if (!built_ || cursor_.position < log.begin()) rebuild();
  for (; cursor_.position < log.committed_end(); ++cursor_.position) {
    const change& record = log[cursor_.position];
    const bool moved = record.kind == change_kind::node_updated && any(record.facets & reads::labels);
    const bool came = record.kind == change_kind::node_added;
    if (!moved && !came && record.kind != change_kind::node_removed) continue;
    dirty_ = true;
    remove(record.row);
    if (record.kind != change_kind::node_removed && state_->nodes.alive(record.row)) add(record.row);
  }
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

}  // namespace gangsched::engine
