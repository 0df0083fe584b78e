#include "gangsched/queues/hived/buddy_cells.hpp"

#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

GANGSCHED_INLINE buddy_cells::buddy_cells(std::shared_ptr<const cell_layout> layout) : layout_{std::move(layout)} {
  const std::size_t cells = layout_->cells();
  lists_.assign(cells, none);
  list_sizes_.assign(layout_->slots(), 0);
  bad_left_.assign(layout_->slots(), 0);
  for (auto* each : {&place_, &user_, &heir_, &bound_}) each->assign(cells, none);
  for (auto* each : {&bad_, &guaranteed_, &opportunistic_}) each->assign(cells, 0);
  priority_.assign(cells, unused);
  for (const cell_chain& chain : layout_->chains()) {
    const cell_level& top = chain.levels.back();
    list_sizes_[chain.first_slot + chain.levels.size() - 1] = top.count;
    for (cell_index place = 0; place < top.count; ++place) {
      lists_[at(top.first + place)] = top.first + place;
      place_[at(top.first + place)] = place;
    }
  }
}

GANGSCHED_INLINE std::span<const cell_index> buddy_cells::free(std::uint32_t chain, std::uint32_t level) const {
  return std::span{lists_}.subspan(at(layout_->level(chain, level).first),
                                   at(list_sizes_[layout_->slot(chain, level)]));
}

GANGSCHED_INLINE cell_index buddy_cells::listed_above(cell_index cell) const {
  for (; cell != none; cell = layout_->parent(cell))
    if (place_[at(cell)] != none) return cell;
  return none;
}

GANGSCHED_INLINE std::int32_t buddy_cells::left(std::uint32_t chain, std::uint32_t level) const {
  std::int32_t left = 0;
  const cell_chain& of = layout_->chains()[chain];
  for (auto here = static_cast<std::uint32_t>(of.levels.size()); here-- > level;) {
    left += list_sizes_[of.first_slot + here];
    if (here > level) left *= static_cast<std::int32_t>(of.levels[here].children);
  }
  return left;
}

GANGSCHED_INLINE void buddy_cells::spare(std::uint32_t chain, std::span<const std::int32_t> need,
                                         std::vector<std::int32_t>& out) const {
  const cell_chain& of = layout_->chains()[chain];
  out.resize(of.levels.size());
  std::int32_t split = 0;  // those that cells of the level above become which are not needed whole
  for (std::size_t here = of.levels.size(); here-- > 0;) {
    out[here] = list_sizes_[of.first_slot + here] + split - need[here];
    split = (out[here] > 0 ? out[here] : 0) * static_cast<std::int32_t>(of.levels[here].children);
  }
}

GANGSCHED_INLINE void buddy_cells::list(cell_index cell, journal& log) {
  std::int32_t& size = list_sizes_[layout_->slot_of(cell)];
  log.set(lists_[at(layout_->level_at(cell).first + size)], cell);
  log.set(place_[at(cell)], size);
  log.add(size, 1);
}

GANGSCHED_INLINE void buddy_cells::unlist(cell_index cell, journal& log) {
  std::int32_t& size = list_sizes_[layout_->slot_of(cell)];
  const cell_index first = layout_->level_at(cell).first;
  const cell_index last = lists_[at(first + size - 1)];
  const std::int32_t place = place_[at(cell)];
  log.set(lists_[at(first + place)], last);
  log.set(place_[at(last)], place);
  log.set(place_[at(cell)], none);
  log.add(size, -1);
}

GANGSCHED_INLINE void buddy_cells::count_bad(cell_index cell, std::int32_t delta, journal& log) {
  if (!is_bad(cell)) return;
  log.add(bad_left_[layout_->slot_of(cell)], delta);
  const auto children = static_cast<cell_index>(layout_->level_at(cell).children);
  if (children == 0) return;
  const cell_index first = layout_->first_child(cell);
  for (cell_index child = first; child < first + children; ++child) count_bad(child, delta, log);
}

GANGSCHED_INLINE void buddy_cells::take(cell_index cell, journal& log) {
  GANGSCHED_ASSERT(is_free(cell));
  count_bad(cell, -1, log);
  while (place_[at(cell)] == none) {  // from below: its buddies are free now, and what it is part of is not
    const cell_index above = layout_->parent(cell), first = layout_->first_child(above);
    const auto children = static_cast<cell_index>(layout_->level_at(above).children);
    for (cell_index child = first; child < first + children; ++child) list(child, log);
    unlist(cell, log);  // the last of them takes its place, as upstream
    if (is_bad(above)) log.add(bad_left_[layout_->slot_of(above)], -1);
    cell = above;
  }
  unlist(cell, log);
}

GANGSCHED_INLINE void buddy_cells::give(cell_index cell, journal& log) {
  GANGSCHED_ASSERT(!is_free(cell));
  count_bad(cell, 1, log);
  for (cell_index above = layout_->parent(cell); above != none; cell = above, above = layout_->parent(cell)) {
    const cell_index first = layout_->first_child(above);
    const auto end = first + static_cast<cell_index>(layout_->level_at(above).children);
    bool all = true;
    for (cell_index buddy = first; buddy < end; ++buddy) all = all && (buddy == cell || place_[at(buddy)] != none);
    if (!all) break;
    for (cell_index buddy = first; buddy < end; ++buddy)
      if (buddy != cell) unlist(buddy, log);
    if (is_bad(above)) log.add(bad_left_[layout_->slot_of(above)], 1);
  }
  list(cell, log);
}

GANGSCHED_INLINE void buddy_cells::set_bad(cell_index device, bool to, journal& log) {
  if (is_bad(device) == to) return;
  const std::int32_t delta = to ? 1 : -1;
  for (cell_index cell = device; cell != none; cell = layout_->parent(cell)) {
    const bool before = is_bad(cell);
    log.add(bad_[at(cell)], delta);
    if (is_bad(cell) == before) return;
    if (is_free(cell)) log.add(bad_left_[layout_->slot_of(cell)], delta);
  }
}

GANGSCHED_INLINE void buddy_cells::set_priority(cell_index device, std::int32_t to, journal& log) {
  const std::int32_t from = priority_[at(device)];
  log.set(priority_[at(device)], to);
  const std::int32_t held = (to >= 0 ? 1 : 0) - (from >= 0 ? 1 : 0);
  const std::int32_t borrowed = (to == opportunistic ? 1 : 0) - (from == opportunistic ? 1 : 0);
  for (cell_index cell = device; cell != none; cell = layout_->parent(cell)) {
    log.add(guaranteed_[at(cell)], held);
    log.add(opportunistic_[at(cell)], borrowed);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
