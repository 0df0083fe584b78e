#pragma once
#include "gangsched/kube/manifests.hpp"

/// References to what no file has: who makes them waits, and the rest goes on.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Where the files are the whole cluster: priority classes that pods and groups name, and the nodes that pods run on. O(size).
void settle_references(manifests& all);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
