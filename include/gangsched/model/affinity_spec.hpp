#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/sorted_map.hpp"

/// Labels, taints, selectors, affinity and spreading, as a host describes them: types, fields and values of Kubernetes' core/v1, by their
/// names there unless a comment says another. Separate from the other specs because plugins read these types directly.
namespace gangsched::inline GANGSCHED_ABI {

using label_map = sorted_map<std::string>;

enum class taint_effect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };
struct taint {
  std::string key;
  std::string value = {};
  taint_effect effect = taint_effect::no_schedule;
};

enum class toleration_operator : std::uint8_t { equal, exists };
struct toleration {
  std::string key = {};  ///< empty: every key (the operator must be exists)
  toleration_operator op = toleration_operator::equal;
  std::string value = {};
  std::optional<taint_effect> effect = {};  ///< absent: every effect
  friend bool operator==(const toleration&, const toleration&) = default;
};

enum class selector_operator : std::uint8_t { in, not_in, exists, does_not_exist, gt, lt };
/// LabelSelectorRequirement and NodeSelectorRequirement.
struct selector_requirement {
  std::string key;
  selector_operator op = selector_operator::in;  ///< gt and lt in node selectors only
  std::vector<std::string> values = {};          ///< of gt and lt: one whole number
};

/// metav1.LabelSelector: everything must hold; an empty one matches everything, an absent one nothing.
struct label_selector {
  label_map match_labels = {};
  std::vector<selector_requirement> match_expressions = {};
};

/// All requirements of a term must hold; a term without any matches nothing.
struct node_selector_term {
  std::vector<selector_requirement> match_expressions = {};  ///< about labels
  std::vector<selector_requirement> match_fields = {};       ///< key metadata.name, operator in or not_in, one value
};

/// PreferredSchedulingTerm.
struct preferred_node_term {
  std::int32_t weight = 1;  ///< 1 to 100
  node_selector_term term = {};
};

struct node_affinity {
  std::optional<std::vector<node_selector_term>> required = {};  ///< one term must hold; present and empty: none does
  std::vector<preferred_node_term> preferred = {};
};

struct pod_affinity_term {
  std::string topology_key;                               ///< node label
  std::optional<label_selector> selector = {};            ///< labelSelector, of pods
  std::vector<std::string> namespaces = {};               ///< of those pods; none, and no selector: the pod's own
  std::optional<label_selector> namespace_selector = {};  ///< beside `namespaces`; empty: all
};

/// WeightedPodAffinityTerm.
struct preferred_pod_term {
  std::int32_t weight = 1;  ///< 1 to 100
  pod_affinity_term term = {};
};

/// PodAffinity and PodAntiAffinity.
struct pod_affinity {
  std::vector<pod_affinity_term> required = {};
  std::vector<preferred_pod_term> preferred = {};
};

enum class when_unsatisfiable : std::uint8_t { do_not_schedule, schedule_anyway };
enum class node_inclusion : std::uint8_t { honor, ignore };
/// TopologySpreadConstraint.
struct topology_spread {
  std::string topology_key;   ///< node label: nodes with equal values are a domain
  std::int32_t max_skew = 1;  ///< pods that a domain may have more than the one with the fewest
  when_unsatisfiable action = when_unsatisfiable::do_not_schedule;  ///< whenUnsatisfiable
  std::optional<label_selector> selector = {};                      ///< labelSelector, of the pods that are counted
  std::int32_t min_domains = 1;                                     ///< with fewer the fewest counts as 0
  node_inclusion node_affinity_policy = node_inclusion::honor;      ///< honor: nodes that do not match it do not count
  node_inclusion node_taints_policy = node_inclusion::ignore;
  std::vector<std::string> match_label_keys = {};
};

enum class protocol : std::uint8_t { tcp, udp, sctp };

/// The controller of a pod, as far as the default spread constraints read its selector (helper.DefaultSelector).
enum class controller_kind : std::uint8_t { none, replication_controller, replica_set, stateful_set, daemon_set };

/// The owner reference with controller = true; kinds that are not listed do not count.
struct controller_ref {
  controller_kind kind = controller_kind::none;
  std::string name = {};
};

/// A PodDisruptionBudget: its selector, and what its status allows now.
struct pod_disruption_budget_spec {
  std::string name;
  std::string ns = "default";
  std::optional<label_selector> selector = {};   ///< absent or empty: in preemption it covers no pod (Kubernetes' rule)
  std::int32_t disruptions_allowed = 0;          ///< status.disruptionsAllowed
  std::vector<std::string> disrupted_pods = {};  ///< status.disruptedPods: pods whose eviction is counted already
};

}  // namespace gangsched::inline GANGSCHED_ABI
