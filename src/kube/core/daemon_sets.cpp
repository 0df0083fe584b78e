#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/model/node_selector.hpp"
#include "gangsched/src/kube/core/node_facts.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/devices/device_taints.hpp"

// DaemonSets: a pod for each node that it may run on, as the controller decides (pkg/controller/daemon of Kubernetes 1.36).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

namespace {

/// What the controller adds (AddOrUpdateDaemonPodTolerations). Those in the host's network bring up that of the others.
void add_tolerations(pod_spec& to, bool host_network) {
  const auto add = [&](const char* name, taint_effect effect) {
    to.tolerations.push_back(
        {.key = std::string{"node.kubernetes.io/"} + name, .op = toleration_operator::exists, .effect = effect});
  };
  add("not-ready", taint_effect::no_execute);
  add("unreachable", taint_effect::no_execute);
  for (const char* const name : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"})
    add(name, taint_effect::no_schedule);
  if (host_network) add("network-unavailable", taint_effect::no_schedule);
}

/// nodeShouldRunDaemonPod: its selectors and the node's taints; room is the scheduler's affair.
bool runs_on(const pod_spec& pod, const node_spec& node) {
  const node_facts facts{&node};
  for (const auto& [key, value] : pod.node_selector)
    if (facts.label(key) != std::string_view{value}) return false;
  const auto holds = [&](const node_selector_term& term) { return matches(term, facts); };
  if (pod.affinity.required && std::ranges::none_of(*pod.affinity.required, holds)) return false;
  return std::ranges::all_of(node.taints, [&](const taint& one) {
    return one.effect == taint_effect::prefer_no_schedule ||
           std::ranges::any_of(pod.tolerations, [&](const toleration& mine) { return tolerates(mine, one); });
  });
}

}  // namespace

pod_manifest daemon_pod(const controller_of_pods& of) {
  pod_manifest made = of.pod;
  add_tolerations(made.spec, of.host_network);
  return made;
}

void keep_to(pod_manifest& pod, const std::string& node) {
  pod.spec.affinity.required.emplace() = {
      {.match_fields = {{.key = "metadata.name", .op = selector_operator::in, .values = {node}}}}};
}

std::vector<const std::string*> nodes_without_daemon(const pod_manifest& pod, const manifests& all,
                                                     std::span<const std::size_t> its) {
  std::set<std::string_view> served;
  for (const std::size_t i : its) {
    const pod_manifest& one = all.pods[i];
    served.insert(one.node);
    // One that waits says by its affinity for which node it was made.
    if (!one.node.empty() || !one.spec.affinity.required) continue;
    for (const node_selector_term& term : *one.spec.affinity.required)
      for (const selector_requirement& field : term.match_fields)
        if (field.key == "metadata.name" && field.values.size() == 1) served.insert(field.values.front());
  }
  std::vector<const std::string*> nodes;
  for (const node_manifest& node : all.nodes)
    if (!served.contains(node.spec.name) && runs_on(pod.spec, node.spec)) nodes.push_back(&node.spec.name);
  return nodes;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
