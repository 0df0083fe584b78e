#pragma once
#include <utility>
#include <vector>

#include "gangsched/src/kube/colocation/colocation.hpp"
#include "gangsched/src/kube/core/runtime_classes.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// What happens to a new pod, in an API server's order: built-in plugins, then webhooks.
class admission_chain final : public pod_admission {
 public:
  admission_chain(manifests& into, const std::vector<runtime_class>& classes, const colocation_objects& colocation)
      : classes_(into, classes), profiles_(into, colocation) {}

  void admit(pod_manifest& pod, const admission_words& words) override {
    if (auto wrong = classes_.admit(pod, words.runtime_class))
      profiles_.mistakes.emplace_back(pod.from, *std::move(wrong));
    profiles_.admit(pod, words);
  }
  void settle() { profiles_.settle(); }
  [[nodiscard]] const std::vector<std::pair<origin, error>>& mistakes() const { return profiles_.mistakes; }

 private:
  runtime_classes classes_;
  profile_admission profiles_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
