#pragma once
#include <string>
#include <utility>
#include <vector>

#include "gangsched/engine/entry_order.hpp"
#include "gangsched/engine/group_limits.hpp"
#include "gangsched/engine/picker.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// A part of a group's attempt: its pending members, or the parts below it. A slice is a part of its group.
struct group_part {
  row_t group = no_row;
  std::size_t layer = 0;       ///< slices around it
  std::vector<row_t> members;  ///< in the order in which they are tried
  std::vector<group_part> parts;
  std::string only_in = {};  ///< of a slice some of whose members have a node: the value of its label there
  bool planned = false;      ///< its members are alike, and a domain choice says how many go where
  [[nodiscard]] bool is_slice() const noexcept { return layer != 0; }
  /// Appends the members of the part and of all below it, in order.
  void collect(std::vector<row_t>& out) const;
  [[nodiscard]] std::vector<row_t> all_members() const {
    std::vector<row_t> all;
    collect(all);
    return all;
  }
};

/// How many members are of each class.
using class_counts = std::vector<std::pair<class_id, std::int64_t>>;

/// What a group needs at least, whatever is evicted for it.
struct group_room {
  class_counts classes;
  std::uint64_t members = 0;  ///< that have to find a node, at least
};

/// The parts of a group's attempt (KEP-4671): which of its members are tried, in which order, and in which runs that share a domain.
class GANGSCHED_API group_parts {
 public:
  group_parts(model::cluster_state& state, const entity_view& entities, const group_limits& limits, picker& picks,
              entry_order& entered) noexcept
      : state_(&state), entities_(&entities), limits_(&limits), picks_(&picks), entered_(&entered) {}

  /// The attempt of a group and of those below it. @p desired: as in `pending_members`.
  [[nodiscard]] group_part of(row_t group, bool desired = false);
  /// A group of pods' pending members in the order in which they are tried: by priority, then rank, then age, but first those that minimums
  /// by role need. Of an elastic gang at most its maximum, or with @p desired its desired count; and at most what its ratios allow.
  [[nodiscard]] std::vector<row_t> pending_members(row_t group, bool desired = false);
  /// Under kube_release::v1_36, for the groups of the tree: their members that may enter the queue have done so (entry_order.hpp).
  void enter(row_t root);
  /// Members that have to find a node for the part to succeed.
  [[nodiscard]] std::uint64_t least_members(const group_part& of) const;
  [[nodiscard]] class_counts count_classes(std::span<const row_t> members);
  [[nodiscard]] group_room room_for(row_t group);
  /// Whether nodes have room for the members, each class judged by itself. Never false if the group fits. O(classes), and the rows that
  /// changed since.
  [[nodiscard]] bool may_fit(const group_room& room);
  /// The same outside of trials. True if a hook throws: the attempt asks it again and reports the error.
  [[nodiscard]] bool may_fit(row_t group);
  /// Cuts the members into the slices that the group's topology asks for. The members of a slice are neighbours in rank, then in age. Those
  /// that complete a slice of which others have a node are bound to the domain of these. Slices are placed in this order: first those with
  /// a member that a minimum by role needs, then by their highest priority.
  void cut(group_part& whole) const;
  /// The properties that the groups and pods of a tree must share, running ones included, and do not (schedule_one_podgroup.go).
  /// O(members).
  [[nodiscard]] status disagreement(row_t root) const;

 private:
  [[nodiscard]] std::vector<row_t> unsorted_pending_members(row_t group) const;
  [[nodiscard]] bool can_plan(const group_part& what);

  model::cluster_state* state_;
  const entity_view* entities_;
  const group_limits* limits_;
  picker* picks_;
  entry_order* entered_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/group_parts.cpp"
#endif
