#include "gangsched/model/node_table.hpp"

#include <algorithm>

#include "gangsched/model/canonical_devices.hpp"
#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/device_record.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<std::uint32_t> device_record::find(std::string_view id) const noexcept {
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - ids.begin());
}

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE std::optional<symbol> node_record::label(symbol key) const noexcept {
  const auto found = std::lower_bound(labels.begin(), labels.end(), key,
                                      [](const label_symbols& label, symbol wanted) { return label.key < wanted; });
  if (found == labels.end() || found->key != key) return std::nullopt;
  return found->value;
}

GANGSCHED_INLINE void node_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::append(text, name, std::vector(labels.begin(), labels.end()), std::vector(taints.begin(), taints.end()),
                    std::vector(allocatable.begin(), allocatable.end()));
  std::vector<std::pair<symbol, std::int64_t>> sizes;
  for (const image_symbols& image : images) sizes.emplace_back(image.name, image.size_bytes);
  canonical::append(text, sizes);
  for (const volume_limit& limit : volume_limits) canonical::append(text, limit.driver, limit.most);
  if (devices) {
    canonical::append(text, *devices->inventory, devices->ids);
    for (const bool one : devices->unhealthy) canonical::append(text, one);
  }
  canonical::append(text, unschedulable, cookie);
  std::vector<amount> beside;
  for (const resource_kind kind : beside_spec) beside.push_back({kind, 0});
  canonical::append(text, beside);
  if (!features.empty()) canonical::append(text, std::vector(features.begin(), features.end()));
  out.add(text.bytes);
}

GANGSCHED_INLINE node_table::node_table(interner& names, undo_log& undo)
    : rows(undo),
      record(undo),
      inventory(undo),
      allocatable(undo),
      used(undo),
      devices(undo),
      first_pod(undo, no_row),
      first_nominated(undo, no_row),
      next_wanted(undo, no_row),
      prev_wanted(undo, no_row),
      first_wanted(undo, no_row),
      arrival(undo),
      ports(undo),
      tree(names, undo),
      images(undo),
      by_name(undo, record),
      total(undo) {
  first_wanted.grow(1);
  total.grow(1);
}

GANGSCHED_INLINE void node_table::grow(row_t to, resource_kind kinds) {
  record.grow(to), inventory.grow(to), first_pod.grow(to), first_nominated.grow(to);
  arrival.grow(to), allocatable.grow(to, kinds), used.grow(to, kinds);
}

GANGSCHED_INLINE void node_table::set_record(row_t row, std::unique_ptr<const node_record> to) {
  inventory.set(row, to != nullptr && to->devices ? to->devices->inventory.get() : nullptr);
  record.set(row, std::move(to));
}

/// A node enters or leaves the list of those that pods are nominated to.
GANGSCHED_INLINE void node_table::want(row_t node, bool wanted) {
  if (wanted) next_wanted.grow(node + 1), prev_wanted.grow(node + 1);
  const row_t first = first_wanted[0];
  const row_t next = wanted ? first : next_wanted[node];
  const row_t prev = wanted ? no_row : prev_wanted[node];
  if (wanted) {
    next_wanted.set(node, next);
    prev_wanted.set(node, no_row);
    first_wanted.set(0, node);
  } else if (prev == no_row) {
    first_wanted.set(0, next);
  } else {
    next_wanted.set(prev, next);
  }
  if (next != no_row) prev_wanted.set(next, wanted ? node : prev);
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
