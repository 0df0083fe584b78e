#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/kai/fair_share.hpp"
#include "gangsched/queues/queue_tree.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// Amounts, one for each resource; entries beyond a list's end are 0.
using amounts = std::span<const double>;

/// The host's terms for a queue and a resource (KAI's QueueResource).
struct quota {
  double deserved = 0;       ///< quota: what it may have at any time
  double limit = unlimited;  ///< the most in use at once
  double weight = 1;         ///< overQuotaWeight: its part of what nobody deserves
};

/// The keys that order siblings.
struct queue_rank {
  int priority = 0;          ///< highest first
  std::int64_t created = 0;  ///< lowest first, in any unit, then by name
};

/// What a queue holds and requests of a resource.
struct queue_load {
  double request = 0;
  double allocated = 0;
  double allocated_non_preemptible = 0;
};

/// The limit that a job would exceed, and its queue.
struct capacity_shortage {
  queue_index queue = no_queue;
  std::size_t resource = 0;
  bool non_preemptible = false;  ///< true: the limit is what the queue deserves, for a job that is not preemptible
  double exceeded_by = 0;
};

/// A queue that competes with its siblings, by the job that it would start.
struct queue_candidate {
  queue_index queue = no_queue;
  amounts job = {};      ///< what it would allocate
  amounts victims = {};  ///< what the victims to be taken from it hold
};

/// A tree of queues with the use and entitlement of each for every resource. A job counts at its queue and all above it. Calls that change
/// what a job holds cost O(depth · resources) and no memory; fair shares are those of the last `divide`.
class GANGSCHED_API queue_shares {
 public:
  /// Every queue deserves nothing, has no limit, weight 1 and no load; all totals are 0.
  queue_shares(queue_tree tree, std::size_t resources);

  [[nodiscard]] const queue_tree& tree() const noexcept { return tree_; }
  [[nodiscard]] std::size_t resources() const noexcept { return total_.size(); }
  [[nodiscard]] const resource_share& share(queue_index queue, std::size_t resource) const {
    return shares_[queue * resources() + resource];
  }
  [[nodiscard]] double total(std::size_t resource) const { return total_[resource]; }
  [[nodiscard]] const queue_rank& rank(queue_index queue) const { return ranks_[queue]; }

  // Input of the host. Errors name the queue: `unknown` (no such queue, no such resource), `out_of_range` (negative and not `unlimited`, or
  // not finite).

  /// The total that is divided among the roots.
  result<void> set_total(std::size_t resource, double amount);
  result<void> set_quota(queue_index queue, std::size_t resource, const quota& to);
  result<void> set_rank(queue_index queue, queue_rank to);
  /// The queue's past usage, as a part of the cluster.
  result<void> set_usage(queue_index queue, std::size_t resource, double to);
  /// The load of this queue alone, for hosts that compute sums themselves.
  result<void> set_load(queue_index queue, std::size_t resource, const queue_load& to);
  /// The fair share, for hosts that divide by another rule; the next `divide` replaces it.
  result<void> set_fair_share(queue_index queue, std::size_t resource, double to);

  // A job's life. It requests as long as it exists, and is allocated while it has nodes. Sums are exact as long as amounts are whole or
  // binary fractions.

  void add_request(queue_index queue, amounts job) noexcept { add(queue, job, 1, &resource_share::request); }
  void remove_request(queue_index queue, amounts job) noexcept { add(queue, job, -1, &resource_share::request); }
  void allocate(queue_index queue, amounts job, bool preemptible) noexcept { hold(queue, job, preemptible, 1); }
  void release(queue_index queue, amounts job, bool preemptible) noexcept { hold(queue, job, preemptible, -1); }

  /// Divides the total among the roots and every queue's fair share among its children (`fair_share_division`). Allocates nothing.
  void divide(double k = 0);

  /// What the queue may hold without being reclaimed from, `unlimited` for no bound.
  [[nodiscard]] double allocatable(queue_index queue, std::size_t resource) const {
    return share(queue, resource).allocatable();
  }
  /// The largest ratio, over resources, of what the queue holds, plus @p more, minus @p less, to what it may hold (to the total, if that is
  /// unlimited). Each unit of a resource of which it may hold nothing counts 1000.
  [[nodiscard]] double dominant_share(queue_index queue, amounts more = {}, amounts less = {}) const;

  /// The order of siblings; less: @p a goes first. Keys in this order: not above its fair share in every resource; with its job within what
  /// it deserves; higher priority; holds none of the resources that it may not hold; lower dominant share with the job and without the
  /// victims, then as it is now; may hold less; older; by name. For victims, the reverse.
  [[nodiscard]] std::weak_ordering order(const queue_candidate& a, const queue_candidate& b) const;

  /// The first limit on the way up that a job would exceed, or, if it is not preemptible, deserved amount. Limits first, the lowest queue
  /// first.
  [[nodiscard]] std::optional<capacity_shortage> shortage(queue_index queue, amounts job, bool preemptible) const;

 private:
  resource_share& at(queue_index queue, std::size_t resource) { return shares_[queue * resources() + resource]; }
  void add(queue_index queue, amounts job, double sign, double resource_share::*where) noexcept;
  void hold(queue_index queue, amounts job, bool preemptible, double sign) noexcept;
  void sort_siblings();
  void divide_among(std::span<const queue_index> siblings, std::size_t resource, double total, double k);
  [[nodiscard]] result<void> check(queue_index queue, std::size_t resource) const;
  [[nodiscard]] error refused(errc code, queue_index queue, std::string field, std::string reason) const;

  queue_tree tree_;
  std::vector<double> total_;           ///< by resource
  std::vector<queue_rank> ranks_;       ///< by queue
  std::vector<resource_share> shares_;  ///< by queue, then resource
  std::vector<queue_index> ranked_;     ///< children of every queue in order; the roots last
  std::vector<std::uint32_t> first_;    ///< by queue, then for the roots: where the children begin in ranked_
  bool sorted_ = false;                 ///< whether ranked_ matches ranks_
  std::vector<claim> claims_;
  fair_share_division division_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/queue_shares.cpp"
#endif
