#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/gangsched.hpp"
#include "gangsched/plugins.hpp"
#include "support/builders.hpp"

/// What a scheduler with one plugin explains, by node.
namespace gangsched::testing {

class explained {
 public:
  template <class Plugin>
  explicit explained(Plugin plugin) : scheduler_(cluster, profile{priority_sort{}, std::move(plugin)}) {}

  gangsched::cluster cluster;

  node_id add(const node_spec& spec) { return cluster.add_node(spec).value(); }
  pod_id add(const pod_spec& spec) { return cluster.add_pod(spec).value(); }

  /// By node: "" if the pod fits, the code's first letter and reason ("U …", "UU …" for unresolvable) if not.
  std::map<std::string, std::string> verdicts(const pod_spec& spec) {
    std::map<std::string, std::string> made;
    look(spec, [&](const node_verdict& node) {
      made[node.name] =
          node.reasons.empty() ? "" : (node.code == code::unresolvable ? "UU " : "U ") + node.reasons.front();
    });
    return made;
  }
  /// The nodes that fit, by row, as "a b".
  std::string fitting(const pod_spec& spec) {
    std::string names;
    look(spec, [&](const node_verdict& node) {
      if (node.code == code::success) (names += names.empty() ? "" : " ") += node.name;
    });
    return names;
  }
  /// Scores by row of feasible nodes; nothing if the plugin has none.
  std::optional<std::vector<std::int64_t>> scores(const pod_spec& spec) {
    std::optional<std::vector<std::int64_t>> made;
    look(spec, [&](const node_verdict& node) {
      if (!node.scores.empty())
        made ? made->push_back(node.scores.front().normalized)
             : static_cast<void>(made = {node.scores.front().normalized});
    });
    return made;
  }

 private:
  template <class Visit>
  void look(const pod_spec& spec, const Visit& visit) {
    pod_spec incoming = spec;
    incoming.name = "incoming";
    const pod_id pod = add(incoming);
    const explanation why = scheduler_.explain(pod).value();
    for (const node_verdict& node : why.nodes) visit(node);
    if (!cluster.remove_pod(pod)) throw std::runtime_error("the pod is gone");
  }
  scheduler scheduler_;
};

}  // namespace gangsched::testing
