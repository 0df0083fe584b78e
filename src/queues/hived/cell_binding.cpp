#include "gangsched/queues/hived/cell_binding.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

GANGSCHED_INLINE cell_binding::cell_binding(std::shared_ptr<const cell_layout> layout)
    : layout_{std::move(layout)}, physical_{layout_} {
  for (std::uint32_t cluster = 0; cluster < layout_->clusters().size(); ++cluster)
    clusters_.emplace_back(layout_, cluster);
  vertex_of_.assign(clusters_.empty() ? 0 : static_cast<std::size_t>(layout_->clusters().back().end), none);
}

GANGSCHED_INLINE result<cell_binding> cell_binding::make(std::shared_ptr<const cell_layout> layout) {
  cell_binding made{std::move(layout)};
  // In the order of cells: which are free, and in which order, does not depend on that of the virtual clusters then.
  std::vector<const virtual_view*> pins;
  for (const virtual_layout& cluster : made.layout_->clusters())
    for (const virtual_view& view : cluster.views)
      if (view.pin != none) pins.push_back(&view);
  std::stable_sort(pins.begin(), pins.end(), [](const auto* a, const auto* b) { return a->pin < b->pin; });
  for (const virtual_view* view : pins)
    if (auto pinned = made.pin(*view); !pinned) return std::move(pinned).error();
  if (auto safe = made.check_safety(); !safe) return std::move(safe).error();
  return made;
}

GANGSCHED_INLINE result<void> cell_binding::pin(const virtual_view& view) {
  const std::uint32_t cluster = layout_->virtual_at(view.roots[0]).cluster;
  if (!physical_.is_free(view.pin))
    return error{errc::malformed, "virtual cluster " + layout_->clusters()[cluster].name, "pins",
                 "a pinned " + layout_->level_at(view.pin).type + " is part of another pinned cell, or has one"};
  journal log;
  bind(view.pin, view.roots[0], log);
  take_root(view.pin, view.roots[0], log);
  new_roots_.clear();
  return {};
}

GANGSCHED_INLINE result<void> cell_binding::check_safety() {
  for (std::uint32_t chain = 0; chain < layout_->chains().size(); ++chain) {
    const std::size_t levels = layout_->chains()[chain].levels.size();
    due_.assign(levels, 0);
    for (const virtual_cluster& cluster : clusters_)
      for (std::uint32_t level = 0; level < levels; ++level) {
        due_[level] += cluster.due(chain, level);
        if (cluster.due(chain, level) == 0) continue;
        physical_.spare(chain, due_, spare_);
        const auto least = std::min_element(spare_.begin(), spare_.end());
        if (*least < 0)
          return error{errc::out_of_range, "virtual cluster " + cluster.layout().name, "cells",
                       "its " + std::to_string(cluster.due(chain, level)) + " " + layout_->level(chain, level).type +
                           " of " + layout_->chains()[chain].levels.back().type +
                           " do not fit: " + std::to_string(-*least) + " " +
                           layout_->level(chain, static_cast<std::uint32_t>(least - spare_.begin())).type + " missing"};
      }
  }
  return {};
}

GANGSCHED_INLINE void cell_binding::spare(std::uint32_t chain, std::vector<std::int32_t>& out) const {
  std::vector<std::int32_t> due(layout_->chains()[chain].levels.size(), 0);
  for (const virtual_cluster& cluster : clusters_)
    for (std::uint32_t level = 0; level < due.size(); ++level) due[level] += cluster.due(chain, level);
  physical_.spare(chain, due, out);
}

GANGSCHED_INLINE void cell_binding::bind(cell_index cell, cell_index as, journal& log) {
  physical_.bind(cell, as, log);
  cluster_of(as).bind(as, cell, log);
}

GANGSCHED_INLINE void cell_binding::unbind(cell_index cell, journal& log) {
  const cell_index as = physical_.bound(cell);
  physical_.bind(cell, none, log);
  cluster_of(as).bind(as, none, log);
}

GANGSCHED_INLINE void cell_binding::unbind_below(cell_index cell, journal& log) {
  const auto children = static_cast<cell_index>(layout_->level_at(cell).children);
  if (children == 0) return;
  const cell_index first = layout_->first_child(cell);
  for (cell_index child = first; child < first + children; ++child)
    if (physical_.bound(child) != none) {
      unbind_below(child, log);
      unbind(child, log);
    }
}

/// Of a root that is bound.
GANGSCHED_INLINE void cell_binding::take_root(cell_index cell, cell_index as, journal& log) {
  new_roots_.push_back(cell);
  physical_.take(cell, log);
  cluster_of(as).add_due(as, -1, log);
}

GANGSCHED_INLINE void cell_binding::give_root(cell_index cell, journal& log) {
  const cell_index as = physical_.bound(cell);
  cluster_of(as).set_doomed(as, false, log);
  unbind_below(cell, log);
  unbind(cell, log);
  physical_.give(cell, log);
  cluster_of(as).add_due(as, 1, log);
}

GANGSCHED_INLINE void cell_binding::allocate(cell_index device, cell_index as, std::int32_t priority, journal& log) {
  GANGSCHED_ASSERT(physical_.priority(device) == unused);
  if (as == none) return physical_.set_priority(device, opportunistic, log);
  physical_.set_priority(device, priority, log);
  cluster_of(as).set_priority(as, priority, log);
  for (cell_index cell = device; as != none && bound(as) == none; cell = layout_->parent(cell)) {
    bind(cell, as, log);
    const cell_index above = layout_->virtual_at(as).parent;
    if (above == none) take_root(cell, as, log);
    as = above;
  }
}

GANGSCHED_INLINE void cell_binding::release(cell_index device, journal& log) {
  const bool guaranteed = physical_.priority(device) >= 0;
  physical_.set_priority(device, unused, log);
  if (!guaranteed) return;
  const cell_index as = physical_.bound(device);
  cluster_of(as).set_priority(as, unused, log);
  loosen(device, log);
}

/// Unbinds what is not used any more, from the device up. What is bad stays bound as long as its root does.
GANGSCHED_INLINE void cell_binding::loosen(cell_index device, journal& log) {
  for (cell_index cell = device; physical_.guaranteed_in(cell) == 0; cell = layout_->parent(cell)) {
    const cell_index as = physical_.bound(cell);
    const virtual_cell& of = layout_->virtual_at(as);
    if (of.parent == none) {
      if (of.pin == none && !cluster_of(as).is_doomed(as)) give_root(cell, log);
      return;
    }
    if (!physical_.is_bad(cell)) unbind(cell, log);
  }
}

/// Binds the bad cells below one that is bound.
GANGSCHED_INLINE void cell_binding::show_bad(cell_index cell, journal& log) {
  const auto children = static_cast<cell_index>(layout_->level_at(cell).children);
  if (children == 0 || !physical_.is_bad(cell)) return;
  const cell_index first = layout_->first_child(cell);
  for (cell_index child = first; child < first + children; ++child) {
    if (!physical_.is_bad(child)) continue;
    if (physical_.bound(child) == none) {  // as many of the virtual cell's children are unbound
      cell_index as = layout_->virtual_at(physical_.bound(cell)).first_child;
      while (bound(as) != none) ++as;
      bind(child, as, log);
    }
    show_bad(child, log);
  }
}

GANGSCHED_INLINE void cell_binding::set_bad(cell_index device, bool to, journal& log) {
  if (physical_.is_bad(device) == to) return;
  physical_.set_bad(device, to, log);
  if (to) {
    cell_index root = none;
    for (cell_index cell = device; cell != none; cell = layout_->parent(cell))
      if (physical_.bound(cell) != none) root = cell;
    if (root != none) show_bad(root, log);
    return;
  }
  for (cell_index cell = device; cell != none && !physical_.is_bad(cell); cell = layout_->parent(cell)) {
    const cell_index as = physical_.bound(cell);
    if (as == none) continue;
    const bool in_use = physical_.guaranteed_in(cell) > 0;
    const virtual_cell& of = layout_->virtual_at(as);
    if (of.parent != none) {
      if (!in_use) unbind(cell, log);
    } else if (cluster_of(as).is_doomed(as)) {
      in_use ? cluster_of(as).set_doomed(as, false, log) : give_root(cell, log);
    }
  }
}

GANGSCHED_INLINE cell_index cell_binding::unbound_root(std::uint32_t chain, std::uint32_t level,
                                                       const virtual_cluster& cluster) const {
  for (const virtual_view& view : cluster.layout().views)
    if (view.chain == chain && view.pin == none)
      for (const cell_index root : view.roots)
        if (layout_->virtual_at(root).level == level && cluster.bound(root) == none) return root;
  return none;
}

/// A bad free cell that can be taken without taking from what others are due; the first there is.
GANGSCHED_INLINE cell_index cell_binding::bad_to_give(std::uint32_t chain, std::uint32_t level) {
  if (physical_.bad_left(chain, level) == 0) return none;
  spare(chain, spare_);
  const cell_level& of = layout_->level(chain, level);
  for (cell_index cell = of.first; cell < of.first + of.count; ++cell) {
    if (!physical_.is_bad(cell)) continue;
    const cell_index from = physical_.listed_above(cell);
    if (from == none) continue;
    std::uint32_t at = layout_->level_of(from);
    while (at > level && spare_[at] > 0) --at;
    if (at == level) return cell;
  }
  return none;
}

GANGSCHED_INLINE void cell_binding::leave_to_healthy(std::uint32_t chain, std::uint32_t level, virtual_cluster& cluster,
                                                     journal& log) {
  for (const virtual_view& view : cluster.layout().views) {
    if (view.chain != chain || view.pin != none) continue;
    for (const cell_index root : view.roots) {
      if (cluster.due(chain, level) >= physical_.left(chain, level) - physical_.bad_left(chain, level)) return;
      if (layout_->virtual_at(root).level != level || !cluster.is_doomed(root)) continue;
      const cell_index cell = cluster.bound(root);
      physical_.guaranteed_in(cell) > 0 ? cluster.set_doomed(root, false, log) : give_root(cell, log);
    }
  }
}

GANGSCHED_INLINE void cell_binding::doom(std::uint32_t chain, std::uint32_t level, virtual_cluster& cluster,
                                         journal& log) {
  while (cluster.due(chain, level) > physical_.left(chain, level) - physical_.bad_left(chain, level)) {
    const cell_index cell = bad_to_give(chain, level);
    if (cell == none) return;
    const cell_index root = unbound_root(chain, level, cluster);
    bind(cell, root, log);
    cluster.set_doomed(root, true, log);
    take_root(cell, root, log);
    show_bad(cell, log);
  }
}

GANGSCHED_INLINE void cell_binding::settle(std::uint32_t chain, journal& log) {
  for (const cell_index cell : new_roots_)
    if (physical_.bound(cell) != none) show_bad(cell, log);
  new_roots_.clear();
  // From the top: what is taken or given at a level changes how many healthy cells there are at lower ones only.
  for (auto level = static_cast<std::uint32_t>(layout_->chains()[chain].levels.size()); level-- > 0;) {
    for (virtual_cluster& cluster : clusters_)
      if (cluster.doomed(chain, level) > 0) leave_to_healthy(chain, level, cluster, log);
    if (physical_.bad_left(chain, level) == 0) continue;
    for (virtual_cluster& cluster : clusters_) doom(chain, level, cluster, log);
  }
  new_roots_.clear();
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
