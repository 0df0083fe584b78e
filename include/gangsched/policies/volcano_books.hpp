#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/policies/queue_list.hpp"
#include "gangsched/queues/volcano/votes.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Queues and jobs of a cluster in the terms of Volcano's plugins. Its queues are those without children that were added; a job is a tree
/// of groups, or a pod without one. What is deserved follows the requests, as of the last change that was read; what is allocated is the
/// cluster's own count, in a trial with its changes.
class GANGSCHED_API volcano_books {
 public:
  using resources = queues::volcano::resources;
  /// A tree of groups by the row of its root, or a pod by its own; the other is no_row.
  using job_key = std::pair<row_t, row_t>;
  [[nodiscard]] static job_key key_of(const pod_info& pod) {
    const auto group = pod.group();
    return group ? job_key{group->root().row(), no_row} : job_key{no_row, pod.row()};
  }

  /// Updates them to the last committed change. O(1) if none matters, O(queues · resources) and a division if only pods changed, else
  /// O(nodes), too.
  void read(const cluster_view& cluster, const queues::volcano::plugin_tiers& tiers);

  [[nodiscard]] queues::queue_index find(const std::optional<queue_view>& queue) const { return list_.find(queue); }
  [[nodiscard]] queues::queue_index find_row(std::size_t row) const { return list_.find_row(row); }
  [[nodiscard]] std::size_t queue_count() const { return list_.size(); }
  [[nodiscard]] const resources& total() const { return total_; }
  /// Null if neither proportion nor capacity is configured.
  [[nodiscard]] queues::volcano::queue_shares* shares() { return shares_ ? &*shares_ : nullptr; }
  [[nodiscard]] const queues::volcano::queue_shares* shares() const { return shares_ ? &*shares_ : nullptr; }

  [[nodiscard]] resources request_of(const pod_view& pod) const;
  /// The allocatable and free amounts of a node.
  [[nodiscard]] resources free_of(const node_info& node) const;
  /// Sets the shares to the present use of the queue's pods plus @p more.
  void follow(const cluster_view& cluster, queues::queue_index queue, const resources& more = {});
  /// The minimum of the tree's gangs, of all their members in order of arrival.
  [[nodiscard]] resources least_of(const group_view& root) const;
  [[nodiscard]] double share_of(const group_view& root) const;

  /// What is reserved by jobs with a pod on a node, or nominated to one, and what they have above their minimum; all but @p job.
  /// O(nodes + pods on them) once after a change.
  struct reservations {
    resources inqueue = {};      ///< of all queues
    resources own_inqueue = {};  ///< of the queue
    resources own_elastic = {};
  };
  [[nodiscard]] reservations reserved(const cluster_view& cluster, queues::queue_index queue, job_key job);
  [[nodiscard]] resources used(const cluster_view& cluster) const;

  /// A tree of weights with a node for each queue; null where drf has no hierarchy. It contains the jobs with a pod on a node, and one for
  /// all waiting jobs of a queue. O(nodes + pods on them) once after a change.
  struct tree {
    queues::volcano::fair_hierarchy jobs;
    std::vector<queues::volcano::fair_hierarchy::node_index> queue_nodes = {};
    std::map<job_key, queues::volcano::fair_hierarchy::node_index> leaves = {};
  };
  [[nodiscard]] const tree* hierarchy(const cluster_view& cluster);

  [[nodiscard]] queues::volcano::votes votes(const cluster_view& cluster, const queues::volcano::plugin_tiers& tiers) {
    const tree* const of = hierarchy(cluster);
    if (of == nullptr) return {&tiers, &total_, shares(), nullptr, {}};
    return {&tiers, &total_, shares(), &of->jobs, of->queue_nodes};
  }

 private:
  struct running_job {
    queues::volcano::job_load load = {};
    resources kept = {}, elastic = {};
    pod_id one = {};
  };
  void make(const cluster_view& cluster, const queues::volcano::plugin_tiers& tiers);
  void count(const cluster_view& cluster);
  void read_jobs(const cluster_view& cluster);
  void name_kinds(const cluster_view& cluster, const std::vector<queue_view>& all);
  template <class Amount>
  [[nodiscard]] resources sum_of(const Amount& amount) const;
  [[nodiscard]] resources listed(const std::vector<amount>& list) const;
  [[nodiscard]] queues::volcano::queue_spec spec_of(const queue_view& queue, std::int32_t weight) const;

  demand_news news_;
  queue_list list_;
  std::vector<resource_kind> devices_;  ///< from queues::volcano::first_device on
  bool counts_pods_ = false;            ///< some node has a limit of pods
  bool has_hierarchy_ = false;
  resources total_;
  std::optional<queues::volcano::queue_shares> shares_;

  std::optional<cluster_view::log_standing> jobs_of_, tree_of_;  ///< including an open transaction's changes
  std::map<job_key, running_job> jobs_;
  std::vector<reservations> of_queue_;  ///< its own alone
  resources inqueue_;
  std::optional<tree> tree_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/volcano_books.cpp"
#endif
