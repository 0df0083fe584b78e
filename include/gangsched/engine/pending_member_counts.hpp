#pragma once
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// How many members of each tree of groups wait for a node, as far as the log has been read: a tree without waiting members leaves the
/// queue. (The cluster's own counts are further on.)
class pending_member_counts {
 public:
  /// No pod waits. Memory for rows beyond @p pods and @p groups is reserved by `grow` and `add`.
  void clear(std::size_t pods, std::size_t groups) {
    root_.assign(pods, no_row);
    count_.assign(groups, 0);
  }
  /// After this there is room for the rows of @p pods pods; @p room: as many as their tables have room for.
  void grow(std::size_t pods, std::size_t room) {
    if (root_.size() < pods) root_.resize(std::max({pods, room, 2 * root_.size()}), no_row);
  }
  /// @p room: as many rows as the tables of groups have room for.
  void add(row_t pod, row_t root, std::size_t room) {
    if (count_.size() <= root) count_.resize(std::max(std::size_t{root} + 1, room));
    ++count_[root];
    root_[pod] = root;
  }
  /// @return the root of the tree for which the pod counted, or no_row.
  row_t remove(row_t pod) noexcept {
    const row_t root = std::exchange(root_[pod], no_row);
    if (root != no_row) --count_[root];
    return root;
  }
  [[nodiscard]] bool counts(row_t pod) const noexcept { return root_[pod] != no_row; }
  [[nodiscard]] bool any(row_t root) const noexcept { return root < count_.size() && count_[root] != 0; }
  /// Where the pod's entry is; null if there is no memory for it yet.
  [[nodiscard]] const row_t* place_of(row_t pod) const noexcept { return pod < root_.size() ? &root_[pod] : nullptr; }

  /// The counted pods, as plain data; and sets them, for the rows of @p pods and @p groups. Error: malformed, and nothing is changed.
  /// O(pods + groups).
  [[nodiscard]] saved_members save() const {
    saved_members made;
    for (row_t pod = 0; pod < root_.size(); ++pod) {
      if (root_[pod] != no_row) made.emplace_back(pod, root_[pod]);
    }
    return made;
  }
  [[nodiscard]] std::optional<error> restore(const saved_members& from, std::size_t pods, std::size_t groups) {
    pending_member_counts made;
    made.clear(pods, groups);
    for (const auto& [pod, root] : from) {
      if (pod >= pods || root >= groups || made.counts(pod)) return model::damaged("members that wait");
      made.add(pod, root, groups);
    }
    *this = std::move(made);
    return std::nullopt;
  }

 private:
  std::vector<row_t> root_;           ///< by pod row: of the tree in which it waits for a node
  std::vector<std::uint32_t> count_;  ///< by root
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
