#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/amount.hpp"

/// Kueue's admission: quota of flavors, cohorts that lend and borrow it, preemption and fair sharing, without nodes. Types and values are
/// those of Kueue's API (ClusterQueue, Cohort, ResourceFlavor); a comment names the field where it is called otherwise there.
namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// The quota of a queue or a cohort of one resource in one flavor (ResourceQuota), in units of the host's.
struct quota {
  std::int64_t nominal = 0;                  ///< nominalQuota
  std::int64_t borrowing_limit = unlimited;  ///< how much above nominal it may use
  std::int64_t lending_limit = unlimited;    ///< how much of its quota others may use
  friend bool operator==(const quota&, const quota&) = default;
};

/// FlavorQuotas.
struct flavor_quota {
  std::string flavor;
  std::vector<quota> quotas;  ///< one for each resource of the group, in its order
};

/// Resources that a pod set gets of one flavor together (resourceGroups: coveredResources, flavors).
struct resource_group {
  std::vector<std::string> resources;
  std::vector<flavor_quota> flavors;  ///< in order of preference
};

/// A taint's effect.
enum class effect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };

/// A taint of a flavor's nodes (nodeTaints).
struct node_taint {
  std::string key;
  std::string value = {};
  effect what = effect::no_schedule;  ///< preferences exclude no flavor
};

/// A toleration.
struct tolerated_taint {
  std::string key = {};                   ///< empty: every key, whatever the value
  std::optional<std::string> value = {};  ///< absent: every value (operator Exists)
  std::optional<effect> what = {};        ///< absent: every effect
};

/// A kind of nodes with quota of its own (ResourceFlavor).
struct flavor_spec {
  std::string name;
  std::map<std::string, std::string> labels = {};  ///< nodeLabels
  std::vector<node_taint> taints = {};
  std::vector<tolerated_taint> tolerations = {};  ///< that its pods get
};

/// A Cohort.
struct cohort_spec {
  std::string name;
  std::string parent = {};  ///< parentName; empty: a root
  double weight = 1;        ///< in fair sharing (fairSharing.weight); 0: any borrowing counts as an infinite share
  std::vector<resource_group> groups = {};
};

/// Whether workloads behind one that is not admitted are tried (best effort), or wait (strict).
enum class queueing_strategy : std::uint8_t { strict_fifo, best_effort_fifo };

/// Whom preemption may take: withinClusterQueue has the first three, reclaimWithinCohort never, lower_priority and any.
enum class victim_policy : std::uint8_t { never, lower_priority, lower_or_newer_equal_priority, any };

/// A ClusterQueue's `preemption`.
struct preemption_rules {
  victim_policy within_queue = victim_policy::never;   ///< withinClusterQueue
  victim_policy within_cohort = victim_policy::never;  ///< reclaimWithinCohort
  /// borrowWithinCohort: whether it may preempt others below its priority even if it borrows then, and up to which priority.
  bool while_borrowing = false;
  std::optional<std::int32_t> max_priority = {};
};

/// Whether the next flavor is tried beside one that would do: MayStopSearch, TryNextFlavor.
enum class flavor_search : std::uint8_t { may_stop, try_next };
/// Which of the flavors that were tried is better.
enum class flavor_preference : std::uint8_t { borrowing_over_preemption, preemption_over_borrowing };

/// When a flavor is good enough not to try the next one, and which of those tried is the best.
struct flavor_fungibility {
  flavor_search when_can_borrow = flavor_search::may_stop;
  flavor_search when_can_preempt = flavor_search::try_next;
  flavor_preference preference = flavor_preference::borrowing_over_preemption;
};

/// A ClusterQueue.
struct queue_spec {
  std::string name;
  std::string cohort = {};  ///< cohortName; empty: no cohort
  queueing_strategy strategy = queueing_strategy::best_effort_fifo;
  double weight = 1;
  std::vector<resource_group> groups = {};
  preemption_rules preemption = {};
  flavor_fungibility fungibility = {};
  /// Admission fair sharing: workloads of local queues that used less in the past come first (UsageBasedAdmissionFairSharing).
  bool by_local_usage = false;
};

/// Everything that is configured.
struct configuration_spec {
  std::vector<flavor_spec> flavors = {};
  std::vector<cohort_spec> cohorts = {};  ///< one that is only named by others has no quota of its own and the weight 1
  std::vector<queue_spec> queues = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
