#pragma once
#include <span>
#include <string>

#include "gangsched/model/spec.hpp"
#include "step.hpp"

/// Objects as steps describe them: a spec is a function of the step's number, seed and traits.
namespace gangsched::soak {

enum class node_trait : std::uint8_t {
  no_rack,
  ssd,
  licences,
  taint,
  unschedulable,
  image,
  volume_limit,
  gpus,
  named_gpus,
  sick_gpu,
  replicas,
  dynamic_mig,
  fixed_mig,
  nics,
  shared_nics,
  counters,
  numa,
  numa_memory,
  features,
  count
};
enum class pod_trait : std::uint8_t {
  other_namespace,
  own_label,
  no_cpu,
  memory,
  licences,
  counted_devices,
  port,
  image,
  second_container,
  init_container,
  sidecar,
  overhead,
  pod_resources,
  zone_selector,
  node_affinity,
  preferred_nodes,
  toleration,
  anti_affinity,
  affinity,
  preferred_pods,
  hard_spread,
  soft_spread,
  priority,
  priority_class,
  never_preempts,
  gate,
  other_scheduler,
  guaranteed,
  bound_cpus,
  device,
  second_device,
  constraint,
  claim,
  disk,
  exclusive_claim,
  volume_zone,
  attachment,
  unbound_claim,
  rank,
  role,
  controller,
  start_time,
  required_node,
  nominated,
  by_others,  ///< bound by somebody else
  terminating,
  preempted,
  run_time,
  deadline,
  max_wait,
  volume_nodes,
  bindable_nodes,
  claim_problem,
  load,
  features,
  count
};
enum class group_trait : std::uint8_t {
  gang,
  most,
  desired,
  roles,
  permit,
  atomic,
  match,
  strict,
  stale,
  priority,
  never_preempts,
  within,
  or_anywhere,
  choice,
  moves,
  spread,
  slices,
  disruption,
  affinity,
  start_after,
  ratio,
  done,
  composite,
  deadline,
  max_wait,
  count
};

/// A trait, and how often objects have it.
struct chance {
  std::string_view name;
  unsigned percent;
};
[[nodiscard]] inline std::string queue_name(number queue) { return "queue" + std::to_string(queue); }
[[nodiscard]] inline std::string room_name(number room) { return "room" + std::to_string(room); }
[[nodiscard]] std::span<const chance> node_chances() noexcept;
[[nodiscard]] std::span<const chance> pod_chances() noexcept;
[[nodiscard]] std::span<const chance> group_chances() noexcept;

/// What of an object is not its own.
struct references {
  group_id group = {};  ///< of a pod; of a group the one above
  node_id node = {};
  resource_claim_id claim = {};
  group_id other = {};
  std::int32_t above_priority = 10;  ///< of the group: about that of its pods
};

[[nodiscard]] node_spec make_node(const step& from);
[[nodiscard]] pod_spec make_pod(const step& from, const references& to);
/// Groups in permit mode are refused if they have what only the group cycle knows; most of them are spared that.
[[nodiscard]] step as_can_be(step group);
[[nodiscard]] group_spec make_group(const step& from, const references& to);
[[nodiscard]] resource_claim_spec make_claim(const step& from, node_id node);
[[nodiscard]] pod_disruption_budget_spec make_budget(const step& from);
[[nodiscard]] priority_class_spec make_priority_class(const step& from);

[[nodiscard]] std::string node_name(number node);
[[nodiscard]] std::string pod_name(number pod);
[[nodiscard]] std::string group_name(number group);

/// The step in words, with the traits of what it makes.
[[nodiscard]] std::string describe(const step& one);

}  // namespace gangsched::soak
