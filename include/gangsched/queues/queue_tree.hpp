#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"

/// Queues that share a cluster: trees of quotas and what each queue is due. Arithmetic alone, without nodes, pods or a cluster.
namespace gangsched::inline GANGSCHED_ABI::queues {

/// The index of a queue in its tree: 0, 1, … in the order in which the host named them.
using queue_index = std::uint32_t;
inline constexpr queue_index no_queue = ~queue_index{0};

/// A queue as the host names it.
struct queue_link {
  std::string_view name;
  std::string_view parent = {};  ///< empty: a root
};

/// The tree of queues; any number of roots, any depth. Immutable: a host that adds, moves or removes a queue makes another. Policies keep
/// their data about queues in vectors beside it, by queue_index.
class GANGSCHED_API queue_tree {
 public:
  queue_tree() = default;

  /// @return the tree of @p queues, in any order. Errors name the queue: `malformed` (no name, or it is below itself), `duplicate`,
  /// `unknown` (a parent that is not among them). O(n log n).
  static result<queue_tree> make(std::span<const queue_link> queues);

  [[nodiscard]] std::size_t size() const noexcept { return parent_.size(); }
  [[nodiscard]] const std::string& name(queue_index queue) const { return name_[queue]; }
  /// O(log n).
  [[nodiscard]] std::optional<queue_index> find(std::string_view name) const;
  /// Its rank among all queues in the order of names: a tie broken by it does not depend on the host's order.
  [[nodiscard]] std::uint32_t name_rank(queue_index queue) const { return name_rank_[queue]; }

  /// `no_queue` for a root.
  [[nodiscard]] queue_index parent(queue_index queue) const { return parent_[queue]; }
  /// In the order in which the host named them.
  [[nodiscard]] std::span<const queue_index> children(queue_index queue) const {
    return std::span{children_}.subspan(first_child_[queue], first_child_[queue + 1] - first_child_[queue]);
  }
  [[nodiscard]] bool is_leaf(queue_index queue) const { return children(queue).empty(); }
  [[nodiscard]] std::span<const queue_index> roots() const noexcept { return roots_; }
  /// Every queue, parents before their children; in reverse, children first.
  [[nodiscard]] std::span<const queue_index> top_down() const noexcept { return top_down_; }

  /// The number of queues above it.
  [[nodiscard]] std::uint32_t depth(queue_index queue) const { return depth_[queue]; }
  /// The distance to its furthest leaf; 0 for a leaf.
  [[nodiscard]] std::uint32_t height(queue_index queue) const { return height_[queue]; }
  [[nodiscard]] queue_index root_of(queue_index queue) const { return root_[queue]; }
  /// The lowest queue that is above both, or is one of them; `no_queue` if they are in different trees. O(depth).
  [[nodiscard]] queue_index common_ancestor(queue_index a, queue_index b) const;
  /// Whether @p above is @p queue or one above it. O(depth).
  [[nodiscard]] bool is_within(queue_index queue, queue_index above) const;

 private:
  std::vector<std::string> name_;
  std::vector<queue_index> by_name_;      ///< sorted by name
  std::vector<std::uint32_t> name_rank_;  ///< the position of each in by_name_
  std::vector<queue_index> parent_, root_, roots_, top_down_;
  std::vector<queue_index> children_;       ///< of all queues, concatenated
  std::vector<std::uint32_t> first_child_;  ///< where the children of each queue begin; one more than there are queues
  std::vector<std::uint32_t> depth_, height_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/queue_tree.cpp"
#endif
