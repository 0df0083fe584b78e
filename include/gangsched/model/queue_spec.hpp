#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/model/spec.hpp"

/// Queues as a host describes them: who shares the cluster, and what of it is whose. Each policy says in docs/queues/ which of these fields
/// it reads.
namespace gangsched::inline GANGSCHED_ABI {

/// A kind of node that has quota of its own (Kueue's ResourceFlavor). A node is of the first flavor, by name, whose labels it has.
struct flavor_spec {
  std::string name;
  label_map node_labels = {};
  std::vector<taint> taints = {};            ///< pods must tolerate these to be counted on it, beside the node's own
  std::vector<toleration> tolerations = {};  ///< what every pod on it tolerates
};

/// What a queue, with those below it, has of one flavor, of resources that pods can request. A list says nothing of those not named.
struct queue_quota {
  std::string flavor = {};  ///< empty: of all nodes together
  resource_list guaranteed =
      {};                    ///< its own, to be had back if lent; what is not named is 0 (nominalQuota, deserved, min)
  resource_list limit = {};  ///< the most in use at once (max, capability)
  resource_list borrowing_limit = {};  ///< the most above `guaranteed`
  resource_list lending_limit = {};    ///< the most of `guaranteed` that others may use meanwhile; not named: all of it
  /// Its part of what is left when everybody has his guarantee, by resource; of those not named `queue_spec::weight`.
  sorted_map<double> weights = {};
};

enum class queue_state : std::uint8_t {
  open,
  hold,   ///< nobody is admitted; who runs goes on
  drain,  ///< nobody is admitted, and who runs is evicted, if a plugin of the profile reads queues
};

/// Who may go so that a pod or a group of the same queue fits.
enum class queue_preemption : std::uint8_t { never, lower_priority, lower_or_newer_equal_priority };

/// From whom a queue that uses less than its guarantee takes that back.
enum class queue_reclaim : std::uint8_t { never, lower_priority, any };

/// Whether later pods may pass the first one of a queue that does not get in.
enum class head_rule : std::uint8_t { best_effort, strict };

/// Which of its flavors a job gets (Kueue's flavorFungibility). They are looked at in the order of the queue's quotas.
struct flavor_rules {
  bool stops_at_borrowing = true;    ///< stop at the first with room, even if it must be borrowed (whenCanBorrow)
  bool stops_at_preemption = false;  ///< stop at the first with room after preemption (whenCanPreempt)
  bool avoids_borrowing = false;  ///< of those looked at, the one that borrows least wins, not one without preemption
};

struct queue_spec {
  std::string name;                      ///< unique in the cluster
  std::string parent = {};               ///< empty: none. It may come later: until then nobody below is admitted
  std::vector<queue_quota> quotas = {};  ///< each flavor once
  double weight = 1;                     ///< against its siblings; above 0
  std::int32_t priority = 0;             ///< a sibling of a higher one goes first
  queue_state state = queue_state::open;
  head_rule heads = head_rule::best_effort;
  queue_preemption within_queue = queue_preemption::lower_priority;
  queue_reclaim reclaim = queue_reclaim::any;
  /// Whether it takes from others below its priority, up to this one, though it borrows then (Kueue's borrowWithinCohort).
  bool reclaims_to_borrow = false;
  std::optional<std::int32_t> reclaims_to_borrow_up_to = {};
  flavor_rules flavors = {};
  bool lends_running = true;                 ///< false: what runs above its guarantee is never taken back by others
  instant preempt_min_runtime = {};          ///< who has run for less is not taken by its own queue,
  instant reclaim_min_runtime = {};          ///< nor by others
  std::vector<std::string> namespaces = {};  ///< their pods are in this queue, if neither they nor their group name one
  std::optional<std::int32_t> max_running =
      {};  ///< the most groups and single pods on nodes at once (max applications)
  std::uint64_t cookie = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI
