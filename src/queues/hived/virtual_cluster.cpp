#include "gangsched/queues/hived/virtual_cluster.hpp"

#include <utility>

#include "gangsched/queues/hived/buddy_cells.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

GANGSCHED_INLINE virtual_cluster::virtual_cluster(std::shared_ptr<const cell_layout> layout, std::uint32_t index)
    : layout_{std::move(layout)}, index_{index}, first_{layout_->clusters()[index].first} {
  const auto cells = static_cast<std::size_t>(this->layout().end - first_);
  bound_.assign(cells, none);
  doomed_.assign(cells, 0);
  used_.assign(cells, 0);
  priority_.assign(cells, unused);
  due_.assign(layout_->slots(), 0);
  dooms_.assign(layout_->slots(), 0);
  for (const virtual_view& view : this->layout().views)
    for (const cell_index root : view.roots) ++due_[slot_of(root)];
}

GANGSCHED_INLINE std::size_t virtual_cluster::slot_of(cell_index cell) const {
  const virtual_cell& of = layout_->virtual_at(cell);
  return layout_->slot(of.chain, of.level);
}

GANGSCHED_INLINE void virtual_cluster::set_doomed(cell_index root, bool to, journal& log) {
  if (is_doomed(root) == to) return;
  log.set(doomed_[at(root)], to ? 1 : 0);
  log.add(dooms_[slot_of(root)], to ? 1 : -1);
}

GANGSCHED_INLINE void virtual_cluster::set_priority(cell_index device, std::int32_t to, journal& log) {
  const std::int32_t delta = (to >= 0 ? 1 : 0) - (priority_[at(device)] >= 0 ? 1 : 0);
  log.set(priority_[at(device)], to);
  for (cell_index cell = device; cell != none; cell = layout_->virtual_at(cell).parent) log.add(used_[at(cell)], delta);
}

GANGSCHED_INLINE void virtual_cluster::add_due(cell_index root, std::int32_t delta, journal& log) {
  log.add(due_[slot_of(root)], delta);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived
