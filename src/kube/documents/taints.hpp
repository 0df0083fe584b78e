#pragma once
#include "gangsched/kube/manifests.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Whether a toleration tolerates a taint, by the rules for taints of nodes.
[[nodiscard]] inline bool tolerates(const toleration& one, const taint& of) {
  return (!one.effect || *one.effect == of.effect) && (one.key.empty() || one.key == of.key) &&
         (one.op == toleration_operator::exists || one.value == of.value);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
