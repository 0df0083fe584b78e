#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/hived/cell_layout.hpp"
#include "gangsched/queues/hived/journal.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// Priorities of groups: opportunistic, or 0 to 1000, which are guaranteed. A device without a group has `unused`.
inline constexpr std::int32_t opportunistic = -1, unused = -2, highest_priority = 1000;

/// The physical cells: which are free, in lists by level from which a buddy allocator takes (a larger cell is split when there is none, and
/// merged when all its children are free again), which are bad, and which groups use the devices. Changes go through a journal.
class GANGSCHED_API buddy_cells {
 public:
  explicit buddy_cells(std::shared_ptr<const cell_layout> layout);

  [[nodiscard]] const cell_layout& layout() const noexcept { return *layout_; }

  /// Free cells of a level that are not part of a larger free one.
  [[nodiscard]] std::span<const cell_index> free(std::uint32_t chain, std::uint32_t level) const;
  /// Whether it is a free cell, or part of one.
  [[nodiscard]] bool is_free(cell_index cell) const { return listed_above(cell) != none; }
  /// The cell in a free list that it is, or is part of, if any. O(levels).
  [[nodiscard]] cell_index listed_above(cell_index cell) const;
  /// The number of free cells of the level, parts of larger ones included. O(levels).
  [[nodiscard]] std::int32_t left(std::uint32_t chain, std::uint32_t level) const;
  [[nodiscard]] std::int32_t bad_left(std::uint32_t chain, std::uint32_t level) const {
    return bad_left_[layout_->slot(chain, level)];
  }
  /// How many cells of each level can be taken for other uses if @p need of them, by level, must remain available together; negative where
  /// they are not. O(levels). @param out by level.
  void spare(std::uint32_t chain, std::span<const std::int32_t> need, std::vector<std::int32_t>& out) const;

  /// Takes a free cell out of the lists; a larger cell that contains it is split. O(levels · children + bad cells in it).
  void take(cell_index cell, journal& log);
  /// Returns it to the lists, and merges.
  void give(cell_index cell, journal& log);

  /// A cell is bad if a device in it is.
  [[nodiscard]] bool is_bad(cell_index cell) const { return bad_[at(cell)] > 0; }
  void set_bad(cell_index device, bool to, journal& log);

  [[nodiscard]] std::int32_t guaranteed_in(cell_index cell) const { return guaranteed_[at(cell)]; }
  [[nodiscard]] std::int32_t opportunistic_in(cell_index cell) const { return opportunistic_[at(cell)]; }
  /// Of a device: `unused`, or the priority of the group that it is for.
  [[nodiscard]] std::int32_t priority(cell_index device) const { return priority_[at(device)]; }
  void set_priority(cell_index device, std::int32_t to, journal& log);

  /// The group that uses the device, and the group that it is held for; `none`, or a number that the caller gave.
  [[nodiscard]] std::int32_t user(cell_index device) const { return user_[at(device)]; }
  [[nodiscard]] std::int32_t heir(cell_index device) const { return heir_[at(device)]; }
  void set_user(cell_index device, std::int32_t to, journal& log) { log.set(user_[at(device)], to); }
  void set_heir(cell_index device, std::int32_t to, journal& log) { log.set(heir_[at(device)], to); }

  /// The virtual cell that is bound to it, or `none`.
  [[nodiscard]] cell_index bound(cell_index cell) const { return bound_[at(cell)]; }
  void bind(cell_index cell, cell_index to, journal& log) { log.set(bound_[at(cell)], to); }

 private:
  [[nodiscard]] static std::size_t at(cell_index cell) noexcept { return static_cast<std::size_t>(cell); }
  void list(cell_index cell, journal& log);
  void unlist(cell_index cell, journal& log);
  void count_bad(cell_index cell, std::int32_t delta, journal& log);

  std::shared_ptr<const cell_layout> layout_;
  std::vector<std::int32_t> lists_;       ///< each level's in the places that its cells have in their numbering
  std::vector<std::int32_t> list_sizes_;  ///< by level of all chains
  std::vector<std::int32_t> place_;       ///< in its list
  std::vector<std::int32_t> bad_left_;    ///< by level of all chains
  std::vector<std::int32_t> bad_;         ///< of a device 0 or 1, of others how many children
  std::vector<std::int32_t> guaranteed_, opportunistic_;  ///< devices in each cell
  std::vector<std::int32_t> priority_, user_, heir_, bound_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/hived/buddy_cells.cpp"
#endif
