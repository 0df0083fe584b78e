#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/queue_tree.hpp"
#include "gangsched/queues/resource_amounts.hpp"
#include "gangsched/queues/water_filling.hpp"

/// The library's own policy: guarantees, and the rest divided by weight up to the requests. docs/queues/fair-share.md.
namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {

/// A weight of 1; weights are multiples of 2^-20.
inline constexpr std::int64_t weight_unit = std::int64_t{1} << 20;

/// The terms of a queue, with those below it. Amounts by resource; an empty vector names none.
struct queue_terms {
  std::vector<std::int64_t> guaranteed = {};       ///< not named: nothing
  std::vector<std::int64_t> limit = {};            ///< the most in use at once; not named: no limit
  std::vector<std::int64_t> borrowing_limit = {};  ///< the most above `guaranteed`; not named: no limit
  std::vector<std::int64_t> lending_limit =
      {};  ///< the most of `guaranteed` that others may use meanwhile; not named: all of it
  std::vector<std::int64_t> weights = {};  ///< its part of the rest, in weight_unit; not named: `weight`
  std::int64_t weight = weight_unit;       ///< 0: the guarantee alone
  std::int32_t priority = 0;               ///< among siblings the higher one goes first
  bool admits = true;                      ///< false: no job below it starts
  std::int64_t most_running = std::numeric_limits<std::int64_t>::max();  ///< jobs at once
};

/// What each queue of a tree is due of each resource. From the roots down, what a queue is due is divided among its children: each gets
/// its guarantee, as far as it requests it or does not lend it; the rest is divided by weight, as far as children request more and may
/// have it. Shares are whole units, exact as in water_filling; if there is less than all guarantees, they shrink in proportion.
///
/// Incremental: a change of a request costs O(depth), and divide() visits only what changed. Pods are in leaves: what a queue with children
/// holds by itself is not due to it.
class GANGSCHED_API fair_shares {
 public:
  fair_shares() = default;

  /// @p terms by queue. At first nothing is requested, and capacities are 0. Errors name queue and field: `malformed` (not one term for
  /// each queue or one amount for each resource; more than most_resources; a guarantee above the limit), `out_of_range` (a negative amount,
  /// weight or number of jobs, a weight above 2^40), `overflow` (the guarantees of a resource above largest_amount). O(queues · resources).
  static result<fair_shares> make(queue_tree tree, std::size_t resources, std::span<const queue_terms> terms);

  [[nodiscard]] const queue_tree& tree() const noexcept { return tree_; }
  [[nodiscard]] std::size_t resources() const noexcept { return resources_; }

  /// The total of a resource. Errors: `unknown` (no such resource), `out_of_range`.
  result<void> set_capacity(std::size_t resource, std::int64_t amount);
  [[nodiscard]] std::int64_t capacity(std::size_t resource) const { return capacity_[resource]; }

  /// What the pods of a leaf request together, running and waiting ones. Errors name the queue: `unknown` (no such queue or resource),
  /// `malformed` (it has children), `out_of_range`, `overflow` (all requests of the resource above largest_amount). O(depth).
  result<void> set_requested(queue_index queue, std::size_t resource, std::int64_t amount);
  /// For a queue with children: the sum, over them, of each one's request within its limit, or of what is kept for it if that is more.
  [[nodiscard]] std::int64_t requested(queue_index queue, std::size_t resource) const {
    return all_[at(queue, resource)].requested;
  }

  /// Divides what changed since the last time. O(queues with children), and water_filling for each whose children's parts may change.
  void divide();
  /// What the queue is due, as of the last divide().
  [[nodiscard]] std::int64_t due(queue_index queue, std::size_t resource) const {
    return all_[at(queue, resource)].due;
  }
  /// Whether it is due less than it requests.
  [[nodiscard]] bool is_short(queue_index queue, std::size_t resource) const {
    const part& one = all_[at(queue, resource)];
    return one.due < one.requested;
  }

  /// Its own guarantee, or the sum of the guarantees below it if that is more.
  [[nodiscard]] std::int64_t guaranteed(queue_index queue, std::size_t resource) const {
    return all_[at(queue, resource)].guaranteed;
  }
  /// The most that it may use: its limit, or its guarantee with what it may borrow. The largest number if there is no limit.
  [[nodiscard]] std::int64_t most(queue_index queue, std::size_t resource) const {
    return all_[at(queue, resource)].most;
  }
  /// What is kept for it, or for those below it, whether used or not.
  [[nodiscard]] std::int64_t kept(queue_index queue, std::size_t resource) const {
    return all_[at(queue, resource)].kept;
  }
  /// What is kept for the queue itself.
  [[nodiscard]] std::int64_t kept_by_itself(queue_index queue, std::size_t resource) const {
    return all_[at(queue, resource)].own_kept;
  }
  [[nodiscard]] std::int64_t weight(queue_index queue) const { return weight_[queue]; }
  [[nodiscard]] std::int32_t priority(queue_index queue) const { return priority_[queue]; }
  [[nodiscard]] bool admits(queue_index queue) const { return admits_[queue] != 0; }
  [[nodiscard]] std::int64_t most_running(queue_index queue) const { return most_running_[queue]; }
  /// Of the queue and its siblings.
  [[nodiscard]] std::int32_t highest_priority_beside(queue_index queue) const {
    return highest_below_[level_of(queue)];
  }

 private:
  /// A queue's part of a resource.
  struct part {
    std::int64_t guaranteed = 0, most = 0, own_kept = 0, kept = 0, weight = 0;
    std::int64_t requested = 0;
    std::int64_t low = 0, high = 0;  ///< bounds of what it is due, if there is enough
    std::int64_t lows_below = 0;     ///< of its children
    std::int64_t due = 0;
  };
  [[nodiscard]] std::size_t at(queue_index queue, std::size_t resource) const noexcept {
    return resource * tree_.size() + queue;
  }
  /// The children of a queue are a level, and so are the roots, the last one.
  [[nodiscard]] std::size_t level_of(queue_index queue) const {
    const queue_index parent = tree_.parent(queue);
    return parent == no_queue ? tree_.size() : parent;
  }
  static result<void> check(const queue_tree& tree, std::size_t resources, std::span<const queue_terms> terms);
  void take_terms(std::size_t resource, std::span<const queue_terms> terms);
  static void bound(part& one);
  void bound_up(queue_index queue, std::size_t resource);
  void divide_level(std::size_t resource, std::int64_t total, std::span<const queue_index> members);

  queue_tree tree_;
  std::size_t resources_ = 0;
  std::vector<queue_index> inner_;  ///< queues with children, parents first
  std::vector<part> all_;           ///< by resource, then queue
  std::vector<std::int64_t> weight_, most_running_;
  std::vector<unsigned char> admits_;
  std::vector<std::int32_t> priority_, highest_below_;  ///< by queue; by level
  std::vector<std::int64_t> capacity_, requested_in_all_;
  std::vector<unsigned char> stale_;    ///< by resource: something changed
  std::vector<unsigned char> changed_;  ///< by resource, then level: what is divided there, or among which claims
  water_filling fill_;
  std::vector<fill_claim> claims_;
  std::vector<std::int64_t> filled_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/fair_share/fair_shares.cpp"
#endif
