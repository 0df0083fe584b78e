#pragma once
#include <string>
#include <string_view>
#include <tuple>

#include "gangsched/kube/manifests.hpp"

/// Which StorageClass a claim has.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// The default class: of several the youngest. Null: there is none. O(classes).
inline const storage_class_manifest* default_class(const manifests& all) {
  const storage_class_manifest* found = nullptr;
  const auto rank = [](const storage_class_manifest& one) {
    return std::tuple{-one.created.count(), std::string_view{one.name}};
  };
  for (const storage_class_manifest& one : all.storage_classes)
    if (one.is_default && (found == nullptr || rank(one) < rank(*found))) found = &one;
  return found;
}

/// What an API server makes of a claim without a class: of a new one the default class.
inline std::string class_of(const volume_claim_manifest& claim, const storage_class_manifest* by_default) {
  if (claim.spec.storage_class) return *claim.spec.storage_class;
  return claim.phase == claim_phase::none && by_default != nullptr ? by_default->name : std::string{};
}

/// What the reason why a pod waits for a claim begins with.
inline std::string missing_claim(std::string_view name) { return "persistentvolumeclaim \"" + std::string{name} + '"'; }

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
