#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "gangsched/engine/reservations.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// A member with the node that it has in a trial.
struct member_place {
  row_t pod;
  row_t node;
  std::int64_t score;
  std::size_t turn;  ///< how many members had a node when this one was found
};

/// Members of a group that have a node inside the caller's transaction, in the order in which they were tried: assumed, with devices, and
/// with reserve hooks called. When the list is destroyed, members that were not taken over are unreserved, the last one first; the
/// transaction undoes their state in the cluster.
class GANGSCHED_API placed_members {
 public:
  placed_members(model::cluster_state& state, reservations& reserved) noexcept : state_(&state), reserved_(&reserved) {}
  placed_members(placed_members&& other) noexcept
      : state_(other.state_), reserved_(other.reserved_), all_(other.take()) {}
  placed_members& operator=(placed_members&& other) noexcept {
    discard();
    state_ = other.state_, reserved_ = other.reserved_, all_ = other.take();
    return *this;
  }
  ~placed_members() { discard(); }

  /// Reserves the node inside a transaction of its own. False if a reserve hook rejects, with its status in @p said, or if the node's usage
  /// would overflow.
  bool place(row_t pod, const picked& where, status& said);
  /// Members of one class swap places: the member at `which` in the list gets the node, and the score, of
  /// the member at `of`. Nodes are reserved in the order in which they were found, so that each is available
  /// as it was then. Not success if one is not: the list then has only the members that still have a node.
  struct move {
    std::size_t which;
    std::size_t of;
  };
  [[nodiscard]] status swap_places(std::span<const move> moves);
  /// Before the trial is rolled back: what reserve hooks did outside the cluster is undone, down to the first @p left.
  void discard(std::size_t left = 0) noexcept;
  /// Takes nodes back in a trial that goes on, down to the first @p left.
  void undo(std::size_t left);

  /// The plugin whose reserve hook rejected last.
  [[nodiscard]] const plugin_entry* refused_by() const noexcept { return reserved_->refused_by(); }

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// O(members).
  [[nodiscard]] bool has(row_t pod) const noexcept {
    return std::any_of(all_.begin(), all_.end(), [&](const member_place& one) { return one.pod == pod; });
  }
  [[nodiscard]] const member_place& operator[](std::size_t which) const noexcept { return all_[which]; }
  /// Without the first @p from.
  [[nodiscard]] std::vector<assignment> assignments(std::size_t from = 0) const;
  /// The reservations stand: they are the caller's now.
  [[nodiscard]] std::vector<member_place> take() noexcept { return std::exchange(all_, {}); }

 private:
  model::cluster_state* state_;
  reservations* reserved_;
  std::vector<member_place> all_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/placed_members.cpp"
#endif
