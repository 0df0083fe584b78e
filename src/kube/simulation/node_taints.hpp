#pragma once
#include <optional>
#include <string>

#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// "key=value:NoExecute", of one that keeps pods out.
[[nodiscard]] std::string text_of(const taint& one);

/// Has pods tolerate what the API server adds to each that says nothing of it (DefaultTolerationSeconds): that their node is not ready, or
/// not reached, for 300 s; where some node, or one of @p shapes, is. O(nodes + pods).
void tolerate_by_default(manifests& what, const manifests& shapes);

/// When Kubernetes' taint eviction controller deletes a pod that is on the node, and for which taint; nothing: it may stay. Taints count
/// from when they were added, if they say so, and not before @p came, when the pod came to the node; else from @p now. Times are from 1970.
[[nodiscard]] std::optional<taint_eviction> eviction_from(const node_manifest& node, const pod_manifest& pod,
                                                          instant came, instant now);

/// Whether the node has no taint that keeps the pod out, or has it go at once.
[[nodiscard]] bool admits(const node_manifest& node, const pod_manifest& pod);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
