#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/queue_spec.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/spec.hpp"
#include "gangsched/scheduling/explanation.hpp"

/// What became of manifests in a run (simulation.hpp).
namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// What became of a pod in the end: `running` ran from the start, `waiting` has a node reserved and waits for its group.
enum class fate : std::uint8_t { unscheduled, waiting, placed, ended, evicted, running };
/// "unscheduled". O(1).
[[nodiscard]] GANGSCHED_API std::string_view name_of(fate is) noexcept;

/// A device, or a part of one, that a pod has.
struct device_outcome {
  std::string name;
  std::string claim;             ///< by which pods share it
  bool other = false;            ///< no GPU
  bool replica = false;          ///< the pod has a replica of the GPU (time-slicing, MPS)
  std::int32_t milli = 0;        ///< of a GPU; 1000 is all of it
  std::int32_t taken_milli = 0;  ///< of a GPU: compute, slices or turns; beside that a share takes `memory_mib`
  std::int64_t memory_mib = 0;   ///< of a share
  std::string mig_profile;
  std::int32_t mig_start = -1;
  std::int64_t units = 0;  ///< of another device
  bool whole = false;      ///< `units` are all that the device has
  std::vector<std::pair<std::string, std::int64_t>>
      capacities;                    ///< how much is used of each, of a device that is shared
  std::string cpus;                  ///< that are the pod's own: "0-3,8"
  std::int64_t bytes = 0;            ///< of memory
  std::vector<std::uint32_t> cells;  ///< the NUMA cells that it is in
};

/// A GPU at the end of the run.
struct gpu_cell {
  std::string name;
  bool healthy = true;
  std::int32_t milli = 0;  ///< in use, of compute or of memory
  std::int64_t used_memory_mib = 0;
  std::int32_t replicas = 0;
  std::int32_t slices = 0;                       ///< of memory, if MIG is on
  std::uint32_t used_slices = 0, instances = 0;  ///< as bits; what is divided already
};
struct node_gpus {
  std::string node, model;
  std::int64_t memory_mib = 0;  ///< of each; 0: not known
  std::vector<gpu_cell> gpus;
};

/// The time during which a pod had room on a node, even if the room was only reserved.
struct stay {
  std::string node;
  instant from{};
  std::optional<instant> until;  ///< absent: it still has it
};
/// Why a pod was rejected at `at`. The reason holds until another rejection is recorded.
struct rejection {
  instant at{};
  std::string reason;
};

/// What became of a pod. Times are since the start.
struct pod_outcome {
  std::string ns, name, group;
  std::int32_t priority = 0;
  fate is = fate::unscheduled;
  bool was_running = false;  ///< from the start
  std::string node;
  std::string nominated_node;  ///< the node where pods were evicted for it; tried before all other nodes
  std::optional<std::int64_t> score;
  std::uint32_t attempts = 0;
  std::optional<instant> arrived_at;  ///< later than at the start
  std::optional<instant> placed_at, evicted_at, gone_at, ended_at;
  std::string evicted_by;
  std::vector<std::string> evicts;
  std::vector<device_outcome> devices;
  std::string reason;   ///< why it has no node
  bool failed = false;  ///< its last try ended in an error
  // With a time line:
  integer_resources requests;
  std::string queue;
  std::vector<stay> stays;
  std::vector<rejection> rejections;
};

/// What there is of a node, for the time line.
struct node_outcome {
  std::string name;
  integer_resources allocatable;
};

/// A role that a group needs members of.
struct role_outcome {
  std::string role;
  std::int64_t minimum = 0, bound = 0;
};

/// What became of a group, or of a group of groups.
struct group_outcome {
  std::string ns, name, parent;
  bool composite = false;
  bool known = false;        ///< false: other objects name the group, but no object defines it
  std::int64_t minimum = 0;  ///< members; of a composite one groups
  std::int64_t bound = 0;    ///< pods with a node now, those of groups below included
  std::int64_t pending = 0;  ///< pods that want one
  std::vector<role_outcome> roles;
  std::optional<instant> scheduled_at;  ///< when it came to its minimum first
  std::string reason, message;          ///< of Kubernetes' condition
  std::string domain_key, domain;       ///< the topology label whose value its members share

  /// The type of Kubernetes' condition which says that the group reached its minimum.
  [[nodiscard]] std::string_view condition() const noexcept {
    return composite ? "CompositePodGroupInitiallyScheduled" : "PodGroupInitiallyScheduled";
  }
};

/// What a queue has of a resource, in the end: cpu in milli, others in whole units.
struct queue_amount {
  std::string resource, flavor;                   ///< flavor: empty, of all nodes
  std::optional<std::int64_t> guaranteed, limit;  ///< limit: the most that it may use, what it may borrow included
  std::int64_t used = 0;
  std::optional<std::int64_t> borrowed;  ///< what is used above `guaranteed`; absent: nothing
  std::optional<std::int64_t> waiting;   ///< requested by pods without a node, which have no flavor yet
};
struct queue_outcome {
  std::string name, parent;
  std::size_t depth = 0;  ///< 0: no queue above it is there
  bool known = false;     ///< false: other objects name the queue, but no object defines it
  queue_state state = queue_state::open;
  std::uint32_t running = 0;  ///< groups and single pods that have a pod on a node, those of queues below included
  std::vector<queue_amount> amounts;
};

/// Something that would make a pod fit, and on how many nodes.
struct helpful_change {
  std::string text;  ///< "if node-7 had 2 cpu more", "without the node selector gpu=a100"
  std::size_t nodes = 0;
};

/// What the nodes say to the pod that was asked about.
struct asked {
  std::size_t pod = 0;  ///< in outcome::pods
  instant at{};
  explanation why;
  std::vector<helpful_change> changes;  ///< if it fits nowhere
  std::string change_for_group;         ///< the smallest change that lets its group start, if it waits for the group
};

/// How many members of the group in question fit where, at the end of the run; of a tree one answer for each pod group.
struct asked_group {
  std::string ns, name;
  std::vector<group_explanation> why;
};

/// A node that would have to be added so that pods left without a node run.
struct added_node {
  std::string shape;
  std::vector<std::string> pods;  ///< that would run there, "namespace/name"
};
struct scale_up_plan {
  std::int64_t price = 0;
  std::vector<added_node> nodes;
};
struct scale_up_outcome {
  std::vector<scale_up_plan> plans;  ///< cheapest first
  std::vector<std::string> left;     ///< pods that none of these nodes help
};

/// A node that can be drained after those before it, and where its pods would go.
struct removable_outcome {
  std::string node;
  std::vector<std::pair<std::string, std::string>> moves;  ///< pods ("namespace/name") and nodes
};

/// An object whose outcome differs between two runs; `before` or `now` is empty if that run does not mention it.
struct changed_object {
  std::string name, before, now;  ///< "default/web-1", "placed on node-1"
};
struct changed_number {
  std::string what;
  double before = 0, now = 0;
};
struct difference {
  std::vector<changed_object> pods, groups;
  std::vector<changed_number> numbers;
};

/// The outcome of a run. If there are `errors`, the other members have no meaning.
struct outcome {
  std::vector<error>
      errors;  ///< mistakes of the user's, with file, line and object; `contract`: a plugin of the host's broke it
  std::vector<warning> warnings;  ///< what was left out, and pods that are no longer re-created
  std::vector<pod_outcome> pods;  ///< all, in the order of the files
  std::vector<group_outcome> groups;
  std::vector<node_gpus> gpus;        ///< of all nodes that tell of some
  std::vector<queue_outcome> queues;  ///< each before those below it
  std::size_t nodes = 0;
  std::vector<node_outcome> node_list;  ///< with a time line: in the order of the files
  instant end{};                        ///< of the last change
  std::optional<asked> explained;
  std::optional<asked_group> explained_group;
  std::optional<scale_up_outcome> scale_up;  ///< if it was asked for; and so are the next
  std::optional<std::vector<removable_outcome>> scale_down;
  std::optional<difference> diff;

  struct counts {
    std::size_t to_place = 0, placed = 0, ended = 0, evicted = 0, unscheduled = 0;
  };
  /// O(pods).
  [[nodiscard]] GANGSCHED_API counts count() const;
};

/// "default/web-1"
[[nodiscard]] GANGSCHED_API std::string full_name(const pod_outcome& pod);
/// Whether it has a node now.
[[nodiscard]] GANGSCHED_API bool holds_node(const pod_outcome& pod) noexcept;
/// Rounded to milliseconds: the scheduler's retries come a nanosecond late, which would only distract the reader.
[[nodiscard]] GANGSCHED_API double seconds(instant time) noexcept;
/// "hold", "drain", "not there"; "" for a queue that is open.
[[nodiscard]] GANGSCHED_API std::string_view state_of(const queue_outcome& queue) noexcept;
/// "1500m", "16Gi": so much of a resource, in the units of `integer_resources`.
[[nodiscard]] GANGSCHED_API std::string amount_text(const std::string& resource, std::int64_t units);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
