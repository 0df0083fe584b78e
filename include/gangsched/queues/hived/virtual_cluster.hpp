#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/hived/cell_layout.hpp"
#include "gangsched/queues/hived/journal.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// The virtual cells of one virtual cluster: the physical cell that each is bound to, if any, and what is used. Changes go through a
/// journal.
class GANGSCHED_API virtual_cluster {
 public:
  virtual_cluster(std::shared_ptr<const cell_layout> layout, std::uint32_t index);

  [[nodiscard]] const virtual_layout& layout() const { return layout_->clusters()[index_]; }

  /// The physical cell that it is bound to, or `none`.
  [[nodiscard]] cell_index bound(cell_index cell) const { return bound_[at(cell)]; }
  void bind(cell_index cell, cell_index to, journal& log) { log.set(bound_[at(cell)], to); }
  /// Whether the root is bound to a bad cell because there is no better one.
  [[nodiscard]] bool is_doomed(cell_index root) const { return doomed_[at(root)] != 0; }
  void set_doomed(cell_index root, bool to, journal& log);

  /// The number of its devices that groups use.
  [[nodiscard]] std::int32_t used(cell_index cell) const { return used_[at(cell)]; }
  [[nodiscard]] std::int32_t priority(cell_index device) const { return priority_[at(device)]; }
  void set_priority(cell_index device, std::int32_t to, journal& log);

  /// The number of cells of a level that it is due and that are not bound yet.
  [[nodiscard]] std::int32_t due(std::uint32_t chain, std::uint32_t level) const {
    return due_[layout_->slot(chain, level)];
  }
  [[nodiscard]] std::int32_t doomed(std::uint32_t chain, std::uint32_t level) const {
    return dooms_[layout_->slot(chain, level)];
  }
  void add_due(cell_index root, std::int32_t delta, journal& log);

 private:
  [[nodiscard]] std::size_t at(cell_index cell) const { return static_cast<std::size_t>(cell - first_); }
  [[nodiscard]] std::size_t slot_of(cell_index cell) const;

  std::shared_ptr<const cell_layout> layout_;
  std::uint32_t index_;
  cell_index first_;
  std::vector<std::int32_t> bound_, doomed_, used_, priority_;
  std::vector<std::int32_t> due_, dooms_;  ///< by level of all chains
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/hived/virtual_cluster.cpp"
#endif
