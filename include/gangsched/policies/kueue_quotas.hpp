#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/policies/queue_list.hpp"
#include "gangsched/queues/kueue/quota_ledger.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

inline queues::kueue::effect kueue_effect(taint_effect of) noexcept {
  return of == taint_effect::no_schedule          ? queues::kueue::effect::no_schedule
         : of == taint_effect::prefer_no_schedule ? queues::kueue::effect::prefer_no_schedule
                                                  : queues::kueue::effect::no_execute;
}

}  // namespace detail

/// The queues of a cluster in Kueue's terms: those without children are ClusterQueues, the others cohorts, and what pods use on
/// nodes counts as admitted.
///
/// Quotas that name a resource in common are a resource group, its flavors in their order. A queue without quotas has the groups of the
/// nearest queue above that has some, and nothing of its own. A cohort's own quota is what it is guaranteed beside those below it. A limit
/// bounds what is borrowed. A flavor without labels, and quota of all nodes together, is of all nodes that are of none of the group's other
/// flavors.
class GANGSCHED_API kueue_quotas {
 public:
  using queue_index = queues::queue_index;
  using amounts = std::vector<queues::kueue::fr_amount>;

  std::vector<std::string> by_local_usage = {};  ///< queues with local usage; set before the first read()

  /// Updates the quotas to the last change of a queue or flavor; true if they changed. O(changes since), or O(queues · resources · flavors)
  /// if there was one.
  bool read(const cluster_view& cluster);
  /// Why Kueue's arithmetic cannot represent the queues; empty if it can.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  /// Kueue's number of a queue; no_queue if it is a cohort, or there is a fault.
  [[nodiscard]] queue_index find(const queue_view& queue) const noexcept {
    return queue.row() < index_of_.size() ? index_of_[queue.row()] : queues::no_queue;
  }
  [[nodiscard]] const queues::kueue::configuration& all() const noexcept { return *quotas_; }
  [[nodiscard]] queues::kueue::quota_ledger& ledger() noexcept { return *ledger_; }
  [[nodiscard]] queue_index root_of(queue_index queue) const { return quotas_->tree().root_of(queue); }

  /// Sets the ledger to the present use of a tree's queues on nodes, and nothing else. O(queues of the tree · resources).
  void count(const cluster_view& cluster, queue_index root);
  /// What a pod of the queue uses on a node of the flavor.
  void add_amounts(const pod_view& pod, queue_index queue, flavor_id node, amounts& to) const;
  /// Whether nodes of flavor @p node belong to Kueue's flavor @p chosen in which the queue has the resource.
  [[nodiscard]] bool is_on(queue_index queue, queues::kueue::resource_index resource,
                           queues::kueue::flavor_index chosen, flavor_id node) const;
  /// Whether the queue has quota of any resource there.
  [[nodiscard]] bool has_some_on(queue_index queue, flavor_id node) const;

 private:
  /// A resource in a flavor that a queue has quota of, and the nodes on which its use counts.
  struct counted {
    queues::kueue::fr_index of;
    resource_kind kind;
    flavor_id flavor;  ///< default: all nodes, but for those
    std::vector<flavor_id> without = {};

    [[nodiscard]] bool is_on(flavor_id node) const noexcept;
  };

  void make(const cluster_view& cluster);
  void note(queue_index queue, const cluster_view& cluster);

  queue_news news_;
  std::string fault_;
  std::vector<queue_index> index_of_;  ///< by row
  std::vector<flavor_id> flavors_;     ///< by Kueue's number; a default id if it has no labels
  std::optional<queues::kueue::configuration> quotas_;
  std::optional<queues::kueue::quota_ledger> ledger_;
  std::vector<queue_id> ids_;                                  ///< by number
  std::vector<std::vector<counted>> counted_;                  ///< by number
  std::map<queue_index, std::vector<queue_index>> queues_of_;  ///< by root
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/kueue_quotas.cpp"
#endif
