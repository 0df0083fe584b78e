#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/model/spec.hpp"

/// Queues as a host describes them: how the cluster is shared. docs/queues/ lists for each policy the fields that it reads.
namespace gangsched::inline GANGSCHED_ABI {

/// A kind of node that has quota of its own (Kueue's ResourceFlavor). A node belongs to the first flavor, by name, whose labels it has.
struct flavor_spec {
  std::string name;
  label_map node_labels = {};
  std::vector<taint> taints = {};            ///< pods must tolerate these to be counted on it, beside the node's own
  std::vector<toleration> tolerations = {};  ///< what every pod on it tolerates
};

/// What a queue, with those below it, has of one flavor, of resources that pods can request. A list says nothing of those not named.
struct queue_quota {
  std::string flavor = {};        ///< empty: of all nodes together
  resource_list guaranteed = {};  ///< its own, reclaimed if lent; what is not named is 0 (nominalQuota, deserved, min)
  resource_list limit = {};       ///< the most in use at once (max, capability)
  resource_list borrowing_limit = {};  ///< the most above `guaranteed`
  resource_list lending_limit = {};    ///< the most of `guaranteed` that others may use meanwhile; not named: all of it
  /// Its weight in the division of what is left beyond all guarantees, by resource; of those not named `queue_spec::weight`.
  sorted_map<double> weights = {};
};

/// Whether a queue, with those below it, takes jobs (Kueue's stopPolicy).
enum class queue_state : std::uint8_t {
  open,   ///< jobs are admitted
  hold,   ///< no job is admitted; running ones go on
  drain,  ///< no job is admitted, and running ones are evicted, if a plugin of the profile reads queues
};

/// Which pods may be preempted for a pod or a group of the same queue.
enum class queue_preemption : std::uint8_t { never, lower_priority, lower_or_newer_equal_priority };

/// From which queues a queue that uses less than its guarantee reclaims it.
enum class queue_reclaim : std::uint8_t { never, lower_priority, any };

/// Whether later pods may pass the head of a queue if that is not admitted.
enum class head_rule : std::uint8_t { best_effort, strict };

/// Which of its flavors a job gets (Kueue's flavorFungibility). They are tried in the order of the queue's quotas.
struct flavor_rules {
  bool stops_at_borrowing = true;    ///< stop at the first with room, even if it must be borrowed (whenCanBorrow)
  bool stops_at_preemption = false;  ///< stop at the first with room after preemption (whenCanPreempt)
  bool avoids_borrowing = false;     ///< of those tried, the one that borrows least wins, not one without preemption
};

/// A queue: which part of the cluster it has, and how.
struct queue_spec {
  std::string name;                      ///< unique in the cluster
  std::string parent = {};               ///< empty: none. It may be added later: until then no job below is admitted
  std::vector<queue_quota> quotas = {};  ///< each flavor once
  double weight = 1;                     ///< against its siblings; above 0
  std::int32_t priority = 0;             ///< among siblings the higher one goes first
  queue_state state = queue_state::open;
  head_rule heads = head_rule::best_effort;
  queue_preemption within_queue = queue_preemption::lower_priority;
  queue_reclaim reclaim = queue_reclaim::any;
  /// Whether it preempts pods below its priority, up to this one, even if it then borrows (Kueue's borrowWithinCohort).
  bool reclaims_to_borrow = false;
  std::optional<std::int32_t> reclaims_to_borrow_up_to = {};
  flavor_rules flavors = {};
  bool lends_running = true;                 ///< false: what runs above its guarantee is never reclaimed by others
  instant preempt_min_runtime = {};          ///< jobs that have run for less are not preempted by their own queue,
  instant reclaim_min_runtime = {};          ///< nor by others
  std::vector<std::string> namespaces = {};  ///< their pods are in this queue, if neither they nor their group name one
  std::optional<std::int32_t> max_running =
      {};  ///< the most groups and single pods on nodes at once (max applications)
  std::uint64_t cookie = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI
