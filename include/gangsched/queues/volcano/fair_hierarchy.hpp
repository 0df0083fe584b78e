#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/volcano/queue_shares.hpp"
#include "gangsched/queues/volcano/resources.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

/// A queue or a part of its path, in the tree of fair_hierarchy.
struct hierarchy_node {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::string name;
  std::uint32_t parent = none;
  double weight = 1;
  resources allocated = {};  ///< of those below, scaled so that none of the unsaturated ones counts more than the least
  resources request = {};    ///< of a job, which is a leaf: of all its tasks
  double share = 0;          ///< dominant share of allocated in the cluster
  bool saturated = false;    ///< nothing below can use more
  bool is_job = false;
  std::vector<std::uint32_t> children = {};
};

/// Hierarchical dominant resource fairness, as in Volcano 1.10's plugin drf with `hierarchy`: queues are leaves of a tree of weights, and
/// jobs are below them. A job is saturated if it has all that it requests of some kind, or requests a kind that is used up in the cluster.
/// A change costs O(depth · children), and O(tree) if a kind is used up, or available again.
class GANGSCHED_API fair_hierarchy {
 public:
  using node_index = std::uint32_t;
  static constexpr node_index root = 0;

  /// A tree of the root alone. Errors: `out_of_range` (an amount is negative or not finite).
  static result<fair_hierarchy> make(const resources& total);

  /// @return the queue's node; queues may share parts of their paths, and the weight of a part is the one of the queue that named it first,
  /// at least 1. Errors name the queue: `malformed` (fewer weights than parts, or one is not a number).
  result<node_index> add_queue(std::string_view queue, std::string_view path, std::string_view weights);
  /// The same for a path below the root, whose parts may have any name. O(depth · children).
  struct part {
    std::string name;
    double weight = 1;
  };
  node_index add_queue(std::span<const part> path);
  /// @return the job's node below its queue, without any allocation.
  node_index add_job(node_index queue, std::string name, const resources& request);

  /// The job has got, or has lost, a node for a task.
  void allocate(node_index job, const resources& task);
  void release(node_index job, const resources& task);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const hierarchy_node& node(node_index at) const { return nodes_[at]; }
  /// Names from the root on, with '/' between them.
  [[nodiscard]] std::string path(node_index at) const;

  /// The order of queues: from the root down, unsaturated ones first, then the smaller share for its weight.
  [[nodiscard]] std::weak_ordering order(node_index queue_a, node_index queue_b) const;

  /// A task that may be evicted, of a job below @p queue.
  struct candidate {
    node_index queue = root;
    node_index job = root;
    resources request = {};
  };
  /// Puts into @p victims the indexes of those whose queue would still come after the reclaimer's, if it had the task and only that
  /// candidate were gone. O(tree) memory.
  void reclaimable(const candidate& reclaimer, std::span<const candidate> candidates,
                   std::vector<std::uint32_t>& victims) const;

 private:
  explicit fair_hierarchy(const resources& total);
  node_index add(node_index parent, std::string name, double weight);
  void changed(node_index job);
  void settle(hierarchy_node& one);
  [[nodiscard]] std::uint32_t wanted() const;

  resources total_, allocated_;
  std::uint32_t demanding_ = 0;  ///< kinds that are not used up in the cluster, as bits
  std::vector<hierarchy_node> nodes_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/volcano/fair_hierarchy.cpp"
#endif
