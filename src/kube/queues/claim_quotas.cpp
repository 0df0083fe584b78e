#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "gangsched/kube/volume_binder.hpp"
#include "gangsched/src/kube/core/storage_classes.hpp"
#include "gangsched/src/kube/queues/queues.hpp"

// What ResourceQuotas say of claims of volumes. They bound no pods: a claim that is too much is refused, and pods that name it wait.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

using claim_key = std::pair<std::string, std::string>;  // namespace, name

constexpr std::string_view claim_class = ".storageclass.storage.k8s.io/", claim_storage = "requests.storage",
                           claim_count = "persistentvolumeclaims", claim_objects = "count/persistentvolumeclaims";

/// "requests.storage=10Gi,…" of those resources of a list that are among @p names.
std::string told(const resource_list& amounts, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const auto found = amounts.find(name);
    parts.push_back(fmt::format("{}={}", name, found == amounts.end() ? "0" : found->second.to_string()));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

/// The claims of a whole set of files, as an API server admits them one after another.
class claim_admission {
 public:
  claim_admission(manifests& into, const queue_objects& queues) : into_(&into), default_(default_class(into)) {
    for (const resource_quota& one : queues.resource_quotas)
      if (!one.hard_claims.empty()) quotas_[one.ns].push_back({&one, {}});
  }

  void run() {
    if (quotas_.empty()) return;
    std::set<claim_key> in_use;  // of pods that run: they were admitted once
    for (const pod_manifest& pod : into_->pods)
      for (const pod_volume& volume : pod.volumes)
        if (!pod.node.empty()) in_use.emplace(pod.spec.ns, claim_name(pod, volume));
    const auto is_new = [&](const volume_claim_manifest& claim) {
      return claim.phase == claim_phase::none && !in_use.contains({claim.ns, claim.name});
    };
    for (const volume_claim_manifest& one : into_->volume_claims)
      if (!is_new(one)) charge(quotas_for(one), charges_of(one));
    for (const volume_claim_manifest& one : into_->volume_claims)
      if (is_new(one)) admit(one);
    if (refused_.empty()) return;
    std::erase_if(into_->volume_claims, [&](const volume_claim_manifest& one) {
      return refused_.contains({one.ns, one.name});
    });
    for (pod_manifest& pod : into_->pods) {
      for (const pod_volume& volume : pod.volumes) {
        const std::string name = claim_name(pod, volume);
        const auto why = refused_.find({pod.spec.ns, name});
        if (why != refused_.end()) pod.unresolved.push_back(missing_claim(name) + ": " + why->second);
      }
    }
  }

 private:
  struct quota_use {
    const resource_quota* quota;
    resource_list used;
  };

  [[nodiscard]] resource_list charges_of(const volume_claim_manifest& claim) const {
    const quantity one{1};
    resource_list made{{std::string{claim_count}, one},
                       {std::string{claim_objects}, one},
                       {std::string{claim_storage}, claim.spec.size}};
    if (const std::string name = class_of(claim, default_); !name.empty()) {
      made.emplace(fmt::format("{}{}{}", name, claim_class, claim_count), one);
      made.emplace(fmt::format("{}{}{}", name, claim_class, claim_storage), claim.spec.size);
    }
    return made;
  }

  [[nodiscard]] std::vector<quota_use*> quotas_for(const volume_claim_manifest& claim) {
    std::vector<quota_use*> made;
    const auto found = quotas_.find(claim.ns);
    if (found == quotas_.end()) return made;
    for (quota_use& one : found->second)
      if (std::ranges::all_of(one.quota->scopes, [&](const quota_scope& scope) { return selects_claim(scope, claim); }))
        made.push_back(&one);
    return made;
  }

  static void charge(const std::vector<quota_use*>& quotas, const resource_list& charges) {
    for (quota_use* const one : quotas)
      for (const auto& [name, amount] : charges) one->used[name] += amount;
  }

  void admit(const volume_claim_manifest& claim) {
    const std::vector<quota_use*> quotas = quotas_for(claim);
    if (quotas.empty()) return;
    const resource_list charges = charges_of(claim);
    for (quota_use* const one : quotas) {
      std::vector<std::string> exceeded;
      for (const auto& [name, most] : one->quota->hard_claims) {
        const auto charged = charges.find(name);
        if (charged == charges.end() || charged->second == quantity{}) continue;
        if (one->used[name] + charged->second > most) exceeded.push_back(name);
      }
      if (exceeded.empty()) continue;
      refuse(claim,
             fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}", one->quota->name,
                         told(charges, exceeded), told(one->used, exceeded), told(one->quota->hard_claims, exceeded)));
      return;
    }
    charge(quotas, charges);
  }

  void refuse(const volume_claim_manifest& claim, std::string why) {
    // Once for each object that makes claims.
    if (told_.emplace(claim.from.file, claim.from.object, claim.owner_pod.empty()).second)
      into_->warnings.push_back({where(*into_, claim.from, "PersistentVolumeClaim", claim.ns, claim.name), "",
                                 why + "; pods that name it wait"});
    refused_.emplace(claim_key{claim.ns, claim.name}, std::move(why));
  }

  manifests* into_;
  const storage_class_manifest* default_;
  std::map<std::string, std::vector<quota_use>> quotas_;  // by namespace
  std::map<claim_key, std::string> refused_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, bool>> told_;
};

}  // namespace

bool is_of_claims(std::string_view resource) {
  if (resource == claim_storage || resource == claim_count || resource == claim_objects) return true;
  const std::size_t at = resource.find(claim_class);
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view what = resource.substr(at + claim_class.size());
  return what == claim_storage || what == claim_count;
}

void refuse_claims(manifests& into, const queue_objects& queues) { claim_admission{into, queues}.run(); }

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
