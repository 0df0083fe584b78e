#pragma once
#include <span>
#include <string>
#include <vector>
#include "gangsched/kube/manifests.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/what_if/autoscaling.hpp"

#include "gangsched/kube/simulation_outcome.hpp"

/// Clusters as they might be: with nodes drained or lost before the run, and which nodes it would take, or take not, after it.
namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// Whether it stands for a static pod, which is its kubelet's: it ends with its node, and no controller makes another one.
[[nodiscard]] bool is_mirror(const pod_manifest& pod);

/// As `kubectl drain`: the node takes no more pods, and its own look for another one. Those of DaemonSets and mirror pods stay. Adds to @p
/// warnings which pods have no controller that would make them again, and are gone. Throws bad_input if there is no such node.
void drain(manifests& what, const std::string& node, std::vector<warning>& warnings);
/// The node, or all nodes of a zone (topology.kubernetes.io/zone), are gone; what ran there as for `drain`, but that pods of DaemonSets and
/// mirror pods are gone with it. Throws bad_input if nothing is called so.
void lose(manifests& what, const std::string& node_or_zone, std::vector<warning>& warnings);

/// After those two: what the volumes of pods without a node ask of nodes as things stand then.
void settle_volumes(manifests& what);

/// The nodes of these manifests as shapes: annotations gangsched.dev/price (1) and gangsched.dev/most say what one costs and how many there
/// may be. Throws bad_input.
[[nodiscard]] std::vector<node_shape> shapes_of(const manifests& from);

/// Which nodes of @p shapes make the waiting pods fit.
[[nodiscard]] scale_up_outcome scale_up(const scheduler& by, const cluster& on, std::span<const node_shape> shapes,
                                        instant now);
/// Which nodes can be drained, one after another. @p mirrors: the mirror pods of all nodes.
[[nodiscard]] std::vector<removable_outcome> scale_down(const scheduler& by, const cluster& on,
                                                        std::span<const pod_id> mirrors, instant now);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
