#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gangsched/src/kube/documents/taints.hpp"
#include "gangsched/src/kube/queues/queues.hpp"

// What Kueue adds to the pods of a workload that it starts on a flavor, so far as it has to be known before.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

class flavor_tolerations {
 public:
  explicit flavor_tolerations(manifests& into) : into_(&into), home_(into) {
    for (const flavor_manifest& one : into.flavors) flavors_.emplace(one.spec.name, &one.spec);
    for (const queue_manifest& one : into.queues) queues_.emplace(one.spec.name, &one.spec);
  }

  void run() {
    if (std::ranges::all_of(into_->flavors, [](const flavor_manifest& one) { return one.spec.tolerations.empty(); }))
      return;
    for (pod_manifest& pod : into_->pods) {
      if (!pod.node.empty()) continue;  // it has got them
      const std::string& queue = home_.of(pod);
      if (queue.empty()) continue;
      auto found = known_.find(queue);
      if (found == known_.end()) found = known_.emplace(queue, of(queue)).first;
      pod.spec.tolerations.insert(pod.spec.tolerations.end(), found->second.begin(), found->second.end());
      pod.toleration_seconds.resize(pod.spec.tolerations.size());
    }
  }

 private:
  /// A pod that is not started yet may come to each of the flavors. What one has must not let it come to another whose taints keep it out.
  std::vector<toleration> of(const std::string& queue) {
    std::vector<const flavor_spec*> all;
    std::string at = queue;
    for (std::size_t steps = 0; all.empty() && steps <= into_->queues.size(); ++steps) {
      const auto found = queues_.find(at);
      if (found == queues_.end()) break;
      for (const queue_quota& one : found->second->quotas)
        if (const auto flavor = flavors_.find(one.flavor); flavor != flavors_.end()) all.push_back(flavor->second);
      at = found->second->parent;
    }
    std::vector<toleration> made;
    for (const flavor_spec* const one : all) {
      for (const toleration& its : one->tolerations) {
        const bool lets_in = std::ranges::any_of(all, [&](const flavor_spec* const other) {
          return std::ranges::any_of(other->taints, [&](const taint& keeps) {
            return keeps.effect != taint_effect::prefer_no_schedule && tolerates(its, keeps) &&
                   std::ranges::none_of(other->tolerations,
                                        [&](const toleration& own) { return tolerates(own, keeps); });
          });
        });
        if (lets_in)
          warn(*one, its.key);
        else if (std::ranges::find(made, its) == made.end())
          made.push_back(its);
      }
    }
    return made;
  }

  void warn(const flavor_spec& of, const std::string& key) {
    if (!warned_.emplace(of.name, key).second) return;
    const auto its =
        std::ranges::find(into_->flavors, of.name, [](const flavor_manifest& one) { return one.spec.name; });
    into_->warnings.push_back({where(*into_, its->from, "ResourceFlavor", {}, of.name), "spec.tolerations",
                               fmt::format("what tolerates \"{}\" would let pods of other flavors come to one that has "
                                           "that taint; it is left out",
                                           key)});
  }

  manifests* into_;
  pod_home home_;
  std::map<std::string, const flavor_spec*> flavors_;
  std::map<std::string, const queue_spec*> queues_;
  std::map<std::string, std::vector<toleration>> known_;
  std::set<std::pair<std::string, std::string>> warned_;
};

}  // namespace

void tolerate_flavors(manifests& into) { flavor_tolerations{into}.run(); }

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
