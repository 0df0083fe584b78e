#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/status.hpp"
#include "gangsched/core/tie_break.hpp"
#include "gangsched/model/spec.hpp"

/// A scheduler as naive as can be, to compare the real one with: plain specs in maps, everything computed anew at every question,
/// straight from the rules (of kube-scheduler and its plugins, KEP-4671, and Koordinator's scores). It shares no code with the
/// library but specs, quantities, status codes and the published formula for ties; tests/engine/reference_test.cpp reads its
/// includes.
namespace reference {

using gangsched::code;
using gangsched::group_id;
using gangsched::group_spec;
using gangsched::instant;
using gangsched::no_row;
using gangsched::node_id;
using gangsched::node_spec;
using gangsched::pod_id;
using gangsched::pod_spec;
using gangsched::quantity;
using gangsched::row_t;

// --- what there is

/// Amounts by resource: cpu in milli, everything else in whole units.
using amounts = std::map<std::string, std::int64_t>;
/// The amount of @p name, 0 if there is none.
[[nodiscard]] std::int64_t amount_of(const amounts& all, const std::string& name);

/// What a pod asks for: for filters, for the Fit scorers, and what it adds to a node's cpu and memory with defaults.
struct asks {
  amounts filter;
  amounts score;
  std::int64_t placed_cpu = 0;
  std::int64_t placed_memory = 0;
};
[[nodiscard]] asks asks_of(const pod_spec& spec);
[[nodiscard]] amounts integers_of(const gangsched::resource_list& list);

enum class stage : std::uint8_t { pending, waiting, assumed, bound };

struct node {
  node_spec spec;
  amounts allocatable;
  std::uint64_t joined = 0;  ///< order of coming into its zone
};
struct pod {
  pod_id id;
  pod_spec spec;
  asks wants;
  reference::stage stage = reference::stage::pending;
  row_t node = no_row;
  row_t nominated = no_row;
  bool terminating = false;
  std::uint64_t arrival = 0;
  [[nodiscard]] std::int32_t priority() const { return spec.priority.value_or(0); }
};
struct group {
  group_id id;
  group_spec spec;
  std::uint64_t arrival = 0;
  [[nodiscard]] const gangsched::gang* gang() const { return std::get_if<gangsched::gang>(&spec.policy); }
  /// How many must stand together.
  [[nodiscard]] int minimum() const { return gang() != nullptr ? gang()->min_count : 1; }
  /// Whether members are tried together, in one cycle.
  [[nodiscard]] bool together() const { return gang() == nullptr || gang()->mode == gangsched::gang_mode::group_cycle; }
};

/// The objects, as told.
struct world {
  std::map<row_t, node> nodes;
  std::map<pod_id, pod> pods;
  std::map<group_id, group> groups;
  std::map<std::string, std::uint64_t> zones;  ///< those with nodes, by when they came up
  row_t rows = 0;                              ///< node rows ever used
  std::uint64_t joined = 0;
  std::uint64_t arrivals = 0;
  std::uint64_t group_arrivals = 0;
  std::size_t start = 0;  ///< in snapshot order: the node to examine first (nextStartNodeIndex)

  void put_node(node_id id, const node_spec& spec);
  /// The pods bound there go with it; what was assumed there is pending again. Both are returned.
  struct losses {
    std::vector<pod_id> gone, released;
  };
  losses drop_node(node_id id);
  void drop_from_zone(row_t row);
  void put_pod(pod_id id, const pod_spec& spec);
  void put_group(group_id id, const group_spec& spec);

  [[nodiscard]] std::vector<const pod*> pods_on(row_t node) const;
  [[nodiscard]] std::vector<const pod*> members(group_id group) const;  ///< by arrival
  [[nodiscard]] const group* group_of(const pod& of) const;
  /// Members with a node, reserved or running.
  [[nodiscard]] int placed(group_id group) const;
  void place(pod_id id, row_t node, reference::stage as);
  void release(pod_id id);
};

// --- the rules of a profile

struct rejection {
  gangsched::code code;
  std::vector<std::string> reasons;
};

/// What a node has in use, summed over the pods on it (and over some more, if a filter asks "what if they were there").
struct usage {
  amounts requested;
  std::int64_t placed_cpu = 0;
  std::int64_t placed_memory = 0;
  std::vector<const pod*> pods;
};

enum class strategy : std::uint8_t { least, most, ratio };
struct shape_point {
  std::int64_t utilization = 0;
  std::int64_t score = 0;  ///< 0 to 10
};
struct weighted_resource {
  std::string name;
  std::int64_t weight = 1;
  reference::strategy strategy = reference::strategy::least;  ///< NodeResourcesFitPlus only
};

/// One plugin of a profile: a rule by Kubernetes' name, or the user's own functions.
struct plugin {
  std::string name;
  std::int64_t weight = 1;
  reference::strategy strategy = reference::strategy::least;               ///< NodeResourcesFit
  std::vector<weighted_resource> resources = {{"cpu", 1}, {"memory", 1}};  ///< Fit, Balanced, FitPlus
  std::vector<shape_point> shape = {};                                     ///< NodeResourcesFit, ratio
  std::vector<std::string> ignored = {};                                   ///< NodeResourcesFit: ignoredResources
  std::vector<std::string> ignored_groups = {};                            ///< NodeResourcesFit: ignoredResourceGroups
  std::vector<std::string> scarce = {};                                    ///< ScarceResourceAvoidance
  gangsched::node_affinity added = {};                                     ///< NodeAffinity: addedAffinity

  using filter_rule = std::function<std::optional<rejection>(const world&, const pod&, row_t, const usage&)>;
  using score_rule = std::function<std::int64_t(const world&, const pod&, row_t, const usage&)>;
  using score_all_rule = std::function<std::vector<std::int64_t>(const world&, const pod&, const std::vector<row_t>&)>;
  filter_rule filter = {};
  score_rule score = {};
  score_all_rule score_all = {};  ///< normalised scores of the feasible nodes
};
using profile = std::vector<plugin>;

// --- single rules, for reference.cpp and for tests of the reference itself

[[nodiscard]] bool tolerates(const gangsched::toleration& one, const gangsched::taint& taint);
[[nodiscard]] bool matches(const gangsched::node_selector_term& term, const node_spec& node);
/// Node selector and required terms of the pod.
[[nodiscard]] bool matches_own_affinity(const pod_spec& pod, const node_spec& node);
/// The names the required terms narrow the nodes to; nothing if they do not narrow.
[[nodiscard]] std::optional<std::vector<std::string>> narrowed_to(const pod_spec& pod);
[[nodiscard]] std::optional<rejection> filtered(const plugin& rule, const world& in, const pod& what, row_t where,
                                                const usage& used);
struct raw_and_normal {
  std::vector<std::int64_t> raw, normalized;
};
/// The plugin's scores over @p nodes; nothing if it skips the pod or scores nothing.
[[nodiscard]] std::optional<raw_and_normal> scored(const plugin& rule, const world& in, const pod& what,
                                                   const std::vector<row_t>& nodes, const std::vector<usage>& used);

// --- the answer for one pod

struct score_line {
  std::string plugin;
  std::int64_t raw = 0, normalized = 0, weight = 1;
  friend bool operator==(const score_line&, const score_line&) = default;
};
struct node_word {
  gangsched::code code = gangsched::code::success;
  std::string plugin;                ///< the first that rejects
  std::vector<std::string> reasons;  ///< sorted
  std::vector<score_line> lines;
  std::int64_t total = 0;
};
/// All there is to say about a pod as things stand.
struct outlook {
  std::string rejected_by;  ///< before any filter
  gangsched::code code = gangsched::code::success;
  std::map<row_t, node_word> nodes;
  std::vector<row_t> feasible;
  std::vector<row_t> narrowed;  ///< left out before any filter
  bool examined = true;         ///< the nodes were looked at one after another
  std::vector<row_t> best;      ///< the feasible with the greatest total
  std::string summary;          ///< empty if some node is feasible
};

struct options {
  reference::profile rules;
  std::uint64_t seed = 0;
  gangsched::tie_rule ties = gangsched::tie_rule::uniform;
  int percentage = 100;  ///< of nodes to score; 0: by their number
  [[nodiscard]] bool in_order() const { return percentage < 100 || ties == gangsched::tie_rule::kube_heap; }
};

/// The plugin that keeps the pod itself out of the queue; nothing if none does.
[[nodiscard]] std::optional<std::string> own_gate(const world& in, const pod& what, const options& with);
/// The same for what the pod stands in the queue with: a group that is tried as one waits for every member.
[[nodiscard]] std::optional<std::string> gated_by(const world& in, const pod& what, const options& with);
[[nodiscard]] outlook look(const world& in, pod_id what, const options& with);

struct choice {
  row_t node = no_row;
  std::int64_t score = 0;
  std::size_t start = 0;  ///< what the world's is after it
};
/// The node for the pod; @p decision numbers the tie-break.
[[nodiscard]] choice choose(const world& in, pod_id what, const options& with, std::uint64_t decision);
/// One of several equal nodes.
[[nodiscard]] row_t choose_among(const world& in, const outlook& seen, const options& with, std::uint64_t decision);
/// kube-scheduler's order of nodes: zones take turns, each in order of joining.
[[nodiscard]] std::vector<row_t> snapshot_order(const world& in);

// --- the answer for a group

/// What a group's cycle comes to. `placed` is empty unless the group stands.
struct group_answer {
  bool stands = false;
  std::vector<std::pair<pod_id, choice>> placed;  ///< in the order tried
  std::vector<pod_id> left;                       ///< members that got no node
  std::uint64_t picks = 0;                        ///< decisions numbered on the way
  std::size_t start = 0;                          ///< what the world's is after it
};
/// The members in the order in which a group's cycle tries them.
[[nodiscard]] std::vector<pod_id> trial_order(const world& in, group_id group);
[[nodiscard]] group_answer try_group(world in, group_id group, const options& with, std::uint64_t decision);

}  // namespace reference
