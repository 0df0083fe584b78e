#include "gangsched/model/node_tree.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Lists whose elements have `at` (before, after), in a table by row, between `ends` (first, last).
template <class Table, class Ends>
void list_append(Table& all, Ends& ends, row_t row) noexcept {
  all[row].at = {ends.last, no_row};
  (ends.last == no_row ? ends.first : all[ends.last].at.after) = row;
  ends.last = row;
}

template <class Table, class Ends>
void list_take_out(Table& all, Ends& ends, row_t row) noexcept {
  const auto at = all[row].at;
  (at.before == no_row ? ends.first : all[at.before].at.after) = at.after;
  (at.after == no_row ? ends.last : all[at.after].at.before) = at.before;
}

/// Undoes the last one that was taken out.
template <class Table, class Ends>
void list_put_back(Table& all, Ends& ends, row_t row) noexcept {
  const auto at = all[row].at;
  (at.before == no_row ? ends.first : all[at.before].at.after) = row;
  (at.after == no_row ? ends.last : all[at.after].at.before) = row;
}

template <class Links>
std::uint64_t links_word(const Links& at) noexcept {
  return std::uint64_t{at.before} << 32 | at.after;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE node_tree::node_tree(interner& names, undo_log& undo)
    : undo_(&undo),
      region_key_(names.keep("topology.kubernetes.io/region")),
      zone_key_(names.keep("topology.kubernetes.io/zone")),
      old_region_key_(names.keep("failure-domain.beta.kubernetes.io/region")),
      old_zone_key_(names.keep("failure-domain.beta.kubernetes.io/zone")) {}

GANGSCHED_INLINE node_tree::words node_tree::zone_words(std::span<const label_symbols> labels) const {
  // The beta labels win; no label is the zone "".
  const auto either = [&](symbol old_key, symbol key) {
    symbol value{};
    for (const label_symbols& label : labels) {
      if (label.key == old_key) return label.value;
      if (label.key == key) value = label.value;
    }
    return value;
  };
  return {either(old_region_key_, region_key_).value, either(old_zone_key_, zone_key_).value};
}

/// At the end of its zone, the zone at the end of all if it is its first.
GANGSCHED_INLINE void node_tree::link(row_t node) noexcept {
  const row_t number = places_[node].zone;
  zone& its = zones_[number];
  if (its.count++ == 0) detail::list_append(zones_, order_of_zones_, number);
  detail::list_append(places_, its.nodes, node);
  dirty_ = true;
}

GANGSCHED_INLINE void node_tree::relink(row_t node) noexcept {
  const row_t number = places_[node].zone;
  zone& its = zones_[number];
  if (its.count++ == 0) detail::list_put_back(zones_, order_of_zones_, number);
  detail::list_put_back(places_, its.nodes, node);
  dirty_ = true;
}

GANGSCHED_INLINE void node_tree::unlink(row_t node) noexcept {
  const row_t number = places_[node].zone;
  zone& its = zones_[number];
  detail::list_take_out(places_, its.nodes, node);
  if (--its.count == 0) detail::list_take_out(zones_, order_of_zones_, number);
  dirty_ = true;
}

GANGSCHED_INLINE void node_tree::restore(row_t row, std::uint32_t sub, std::uint64_t old) noexcept {
  const auto low = static_cast<row_t>(old), high = static_cast<row_t>(old >> 32);
  switch (sub) {
    case node_added: unlink(row); break;
    case node_removed: relink(row); break;
    case node_zone: places_[row].zone = low; break;
    case node_links: places_[row].at = {high, low}; break;
    default: zones_[row].at = {high, low}; break;
  }
}

GANGSCHED_INLINE void node_tree::digest_into(digest& out, row_t) const {
  for (row_t z = order_of_zones_.first; z != no_row; z = zones_[z].at.after) {
    out.add(zones_[z].count);
    for (row_t node = zones_[z].nodes.first; node != no_row; node = places_[node].at.after) out.add(node);
  }
}

GANGSCHED_INLINE void node_tree::add(row_t node, std::span<const label_symbols> labels) {
  if (places_.size() <= node) places_.resize(std::max<std::size_t>(node + 1, 2 * places_.size()));
  detail::make_room(zones_);
  const auto [known, fresh] = numbers_.try_emplace(zone_words(labels), static_cast<row_t>(zones_.size()));
  if (fresh) zones_.emplace_back();
  const row_t number = known->second;
  if (undo_->recording()) {  // what a node, or a zone, that went in the same transaction is to be put back by
    undo_->save(*this, number, zone_links, detail::links_word(zones_[number].at));
    undo_->save(*this, node, node_zone, places_[node].zone);
    undo_->save(*this, node, node_links, detail::links_word(places_[node].at));
    undo_->save(*this, node, node_added, 0);
  }
  places_[node].zone = number;
  link(node);
}

GANGSCHED_INLINE void node_tree::update(row_t node, std::span<const label_symbols> labels) {
  const auto known = numbers_.find(zone_words(labels));
  if (known != numbers_.end() && known->second == places_[node].zone) return;
  remove(node);  // before it joins: a zone that empties goes, also one just made
  add(node, labels);
}

GANGSCHED_INLINE void node_tree::remove(row_t node) {
  if (undo_->recording()) undo_->save(*this, node, node_removed, 0);
  unlink(node);
}

GANGSCHED_INLINE std::vector<row_t> node_tree::by_zone() const {
  std::vector<row_t> all;
  for (row_t in = order_of_zones_.first; in != no_row; in = zones_[in].at.after) {
    for (row_t node = zones_[in].nodes.first; node != no_row; node = places_[node].at.after) all.push_back(node);
  }
  return all;
}

GANGSCHED_INLINE void node_tree::sweep() {
  std::vector<zone> kept;
  std::vector<row_t> numbers(zones_.size(), no_row);
  kept.reserve(zones_.size());
  for (row_t z = order_of_zones_.first; z != no_row; z = zones_[z].at.after) {
    numbers[z] = static_cast<row_t>(kept.size());
    kept.push_back(zones_[z]);
  }
  if (kept.size() == zones_.size()) return;
  order_of_zones_ = {};
  for (row_t z = 0; z < kept.size(); ++z) {
    detail::list_append(kept, order_of_zones_, z);
    for (row_t node = kept[z].nodes.first; node != no_row; node = places_[node].at.after) places_[node].zone = z;
  }
  std::erase_if(numbers_, [&](const auto& one) { return numbers[one.second] == no_row; });
  for (auto& [its, number] : numbers_) number = numbers[number];
  zones_ = std::move(kept);
}

GANGSCHED_INLINE const std::vector<row_t>& node_tree::rows() {
  if (!dirty_) return order_;
  order_.clear();
  std::vector<row_t> next;  // of the zones that have more
  for (row_t z = order_of_zones_.first; z != no_row; z = zones_[z].at.after) next.push_back(zones_[z].nodes.first);
  while (!next.empty()) {
    for (row_t& node : next) {
      order_.push_back(node);
      node = places_[node].at.after;
    }
    std::erase(next, no_row);
  }
  dirty_ = false;
  return order_;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
