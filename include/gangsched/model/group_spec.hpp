#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"

/// Groups as a host describes them: pods that start together, and groups of such groups, up to four levels.
namespace gangsched::inline GANGSCHED_ABI {

/// Whether pods may be evicted for it (preemptionPolicy).
enum class preemption_policy : std::uint8_t { preempt_lower_priority, never };

/// How members start together. `permit` together with a parent, roles, counts above the minimum, `topology`, `affinity` or `ratios` is
/// refused as malformed.
enum class gang_mode : std::uint8_t {
  group_cycle,  ///< the whole group is tried in one transaction
  permit,       ///< members are placed one by one and wait in the permit room until the minimum is there
};

/// Which members count for the minimum in the permit room (Koordinator's match-policy).
enum class match_policy : std::uint8_t {
  waiting_and_running,  ///< those that have a node, running or not (Kubernetes)
  only_waiting,         ///< those that wait now
  once_satisfied,       ///< as waiting_and_running; and once the minimum was there, no member waits any more
};

/// At least so many members of a role.
struct role_minimum {
  std::string role;
  std::int32_t min_count = 1;
};

/// One member, or one child group, is enough.
struct basic {};

/// All or nothing, up to a minimum.
struct gang {
  std::int32_t min_count = 1;  ///< members; of a group of groups: child groups
  /// Elastic gangs: members above `desired_count` take only room that is free, members above `max_count` wait.
  std::optional<std::int32_t> desired_count = {};
  std::optional<std::int32_t> max_count = {};
  std::vector<role_minimum> roles = {};  ///< minimums that hold beside min_count
  gang_mode mode = gang_mode::group_cycle;
  instant timeout = std::chrono::minutes{5};  ///< how long a member waits in the permit room; 15 minutes at most
  bool atomic = false;  ///< a member that fails before the group is confirmed takes its siblings back
  match_policy match = match_policy::waiting_and_running;
  bool strict = false;  ///< permit mode: a member without a node sends the waiting ones back
  /// Evicts the members when for so long some ran but fewer than the minimum had a node, here or in a group below (KAI's stale gangs:
  /// 60 s), and again after the same time, at least a second, while they run on. Absent: they stay, as do those of a group that is done.
  std::optional<instant> stale_after = {};
};

/// What goes with a member that is evicted (KEP-5710).
enum class disruption_mode : std::uint8_t {
  single,   ///< nothing
  all,      ///< the whole group, and every group below it
  surplus,  ///< nothing while the gang keeps its minimum, then the whole group
};

/// How a domain is chosen among those with room.
enum class domain_choice : std::uint8_t {
  scored,      ///< by the profile's placement scores (Kubernetes)
  best_fit,    ///< the least room that suffices, in as few domains as possible (Kueue's BestFit)
  least_free,  ///< small ones first (Kueue's LeastFreeCapacity)
  most_free,   ///< large ones first (Koordinator)
  balanced,    ///< evenly over as few as possible (Kueue's balanced placement)
};

/// Runs of `size` members, by rank, share a domain of `key` each.
struct topology_slice {
  std::string key;
  std::int32_t size = 1;
};

/// What happens to a group that cannot get its minimum in the domain of its placed members, for example after one lost its node.
enum class full_domain : std::uint8_t {
  wait,  ///< those without a node wait
  move,  ///< its members are evicted together if the whole group finds room then, in another domain or in this one
};

/// Where the members of a group, or of the groups below it, may be.
struct group_topology {
  /// Node labels. All members share one domain of the first; if none has room, of the second, and so on.
  std::vector<std::string> within = {};
  bool or_anywhere = false;                 ///< … and last of all nodes
  std::vector<topology_slice> slices = {};  ///< outer ones first; each size divides the one before
  std::string spread_key = {};              ///< at most `spread_most` members in a domain of this label
  std::int32_t spread_most = 0;
  domain_choice choice = domain_choice::scored;
  full_domain when_full = full_domain::wait;
};

/// What another group must have come to before this one starts.
enum class dependency_state : std::uint8_t {
  running,  ///< its minimum runs
  done,     ///< the host says that it is done
};
struct group_dependency {
  group_id on;
  dependency_state until = dependency_state::running;
};

/// In the same domain as another group's members, or in another one.
struct group_affinity {
  group_id to;
  std::string key;  ///< node label
  bool apart = false;
};

/// This group and another one grow in step, above their minimums: `mine` members with a node of this one for `theirs` of the other. One
/// more member gets a node while placed * theirs <= placed of the other * mine, so that a group is ahead by one member at most.
struct group_ratio {
  group_id to;
  std::int32_t mine = 1;
  std::int32_t theirs = 1;
};

/// Everything that is said of a group (Kubernetes' PodGroup, and more).
struct group_spec {
  std::string name;
  std::string ns = "default";
  std::variant<basic, gang> policy = basic{};
  bool composite = false;     ///< its members are groups (Kubernetes' CompositePodGroup); they have names of their own
  group_id parent = {};       ///< the composite group it is in; it may be one that is only expected
  std::string workload = {};  ///< all groups of a tree name the same one, if any
  std::optional<std::int32_t> priority = {};  ///< of the whole tree and its pods; absent: the highest of a member
  std::optional<gangsched::preemption_policy> preemption = {};  ///< absent: that of its pods
  std::string queue = {};  ///< of its pods that name none, and of those of groups in it; empty: as for pods
  group_topology topology = {};
  disruption_mode disruption = disruption_mode::single;
  std::vector<group_dependency> start_after = {};
  std::vector<group_affinity> affinity = {};
  std::vector<group_ratio> ratios = {};  ///< all of them hold; one to a group that is gone does not
  /// For its pods that do not say it themselves (`pod_spec`): by when they should have ended, and how long they should wait at most; 0:
  /// no limit. A group that starts as one has to start when the first of its waiting members has to.
  std::optional<instant> deadline = {};
  instant max_wait{0};
  bool done = false;  ///< nothing of it runs any more and nothing will
  std::uint64_t cookie = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI
