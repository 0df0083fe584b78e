#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "gangsched/core/is_among.hpp"
#include "gangsched/kube/volume_binder.hpp"
#include "gangsched/model/name_rules.hpp"
#include "gangsched/src/kube/core/storage_classes.hpp"
#include "gangsched/src/kube/volumes/volumes.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {

std::string claim_name(const pod_manifest& pod, const pod_volume& volume) {
  if (!volume.claim.empty()) return volume.claim;
  if (volume.ephemeral) return pod.spec.name + "-" + volume.name;
  return volume.made_of == nullptr ? std::string{} : volume.name + "-" + pod.spec.name;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube

namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// Names of nodes that pods list together: each costs some 40 bytes.
constexpr std::size_t most_listed_nodes = 20'000'000;

class volume_settler {
 public:
  volume_settler(manifests& into, const volume_objects& objects, const read_options& how)
      : into_(&into), objects_(&objects), how_(&how) {
    for (node_manifest& one : into.nodes) nodes_.emplace(one.spec.name, &one);
    for (const volume_claim_manifest& one : into.volume_claims) claims_.emplace(one.ns, one.name);
  }

  void tell_nodes() {
    for (const csi_node_object& one : objects_->nodes) {
      const auto found = nodes_.find(one.node);
      if (found == nodes_.end()) continue;
      found->second->spec.volume_limits = one.limits;
      found->second->topology_keys = one.topology_keys;
      found->second->migrated_plugins = one.migrated_plugins;
    }
    // What is attached and no pod of the node uses is no room for others.
    std::set<std::tuple<std::string, std::string, std::string>> used;  // node, namespace, claim
    if (!objects_->attachments.empty()) {
      for (const pod_manifest& pod : into_->pods)
        for (const pod_volume& volume : pod.volumes)
          if (!pod.node.empty()) used.emplace(pod.node, pod.spec.ns, claim_name(pod, volume));
    }
    std::map<std::string_view, const volume_manifest*> volumes;
    for (const volume_manifest& one : into_->volumes) volumes.emplace(one.name, &one);
    for (const volume_attachment_object& one : objects_->attachments) {
      const auto volume = volumes.find(one.volume);
      const auto node = nodes_.find(one.node);
      if (volume == volumes.end() || node == nodes_.end() || volume->second->driver.empty() ||
          !volume->second->in_tree.empty())
        continue;
      const auto& claim = volume->second->claim;
      if (claim && used.contains({one.node, claim->ns, claim->name})) continue;
      const auto limit = node->second->spec.volume_limits.find(one.attacher);
      if (limit != node->second->spec.volume_limits.end() && limit->second > 0) --limit->second;
    }
  }

  std::optional<error> tell_pods() {
    const bool any = std::ranges::any_of(into_->pods, [](const pod_manifest& one) { return !one.volumes.empty(); });
    if (!any) return std::nullopt;
    const volume_binder binder{*into_};
    warn_of_classes(binder.presumed_classes());
    std::size_t listed = 0;
    for (pod_manifest& pod : into_->pods) {
      if (pod.volumes.empty()) continue;
      pod_volumes made = binder.needs(pod);
      for (const auto* const names : {&made.nodes, &made.bindable_nodes}) listed += *names ? (*names)->size() : 0;
      if (listed > most_listed_nodes) {
        return error{
            errc::out_of_range, where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name), "spec.volumes",
            fmt::format("the volumes of pods would be in reach of more than {} nodes together", most_listed_nodes)};
      }
      tell_missing(pod, made);
      pod.spec.volumes = std::move(made);
    }
    return std::nullopt;
  }

 private:
  void warn_of_classes(const std::vector<std::string>& presumed) {
    if (presumed.empty()) return;
    std::vector<std::string> named;
    for (const std::string& one : presumed) named.push_back(one.empty() ? "the default one" : "\"" + one + "\"");
    const auto is_one = [&](const volume_claim_manifest& claim) {
      return claim.spec.volume.empty() && is_among(claim.spec.storage_class.value_or(""), presumed);
    };
    const auto first = std::ranges::find_if(into_->volume_claims, is_one);
    into_->warnings.push_back(
        {where(*into_, first->from, "PersistentVolumeClaim", first->ns, first->name), "spec.storageClassName",
         fmt::format(
             "no StorageClass is in the files: presumed is that volumes of these are made wherever they are wanted: {}",
             fmt::join(named, ", "))});
  }

  /// Claims and their volumes that are in no file. Without `whole_cluster` the cluster may have them.
  void tell_missing(const pod_manifest& pod, pod_volumes& made) {
    if (!pod.node.empty()) return;
    constexpr std::string_view begin = "persistentvolume \"", end = " not found";
    if (std::string_view problem = made.claim_problem; problem.starts_with(begin) && problem.ends_with(end)) {
      problem.remove_suffix(end.size());
      warn_of_missing(pod, std::string{problem});
      if (!how_->whole_cluster) made.claim_problem.clear();
    }
    for (const pod_volume& volume : pod.volumes) {
      const std::string name = claim_name(pod, volume);
      if (name.empty() || claims_.contains({pod.spec.ns, name}) || is_refused(pod, name)) continue;
      warn_of_missing(pod, missing_claim(name));
      if (!how_->whole_cluster) made.claim_problem.clear();
    }
  }
  /// By a ResourceQuota, which said so.
  [[nodiscard]] static bool is_refused(const pod_manifest& pod, const std::string& name) {
    const std::string begin = missing_claim(name) + ": ";
    return std::ranges::any_of(pod.unresolved, [&](const std::string& why) { return why.starts_with(begin); });
  }
  /// Once for each object that makes pods.
  void warn_of_missing(const pod_manifest& pod, const std::string& what) {
    if (!told_.emplace(pod.from.file, pod.from.object, what).second) return;
    into_->warnings.push_back(
        {where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name), "spec.volumes",
         fmt::format("no {}; {}", what,
                     how_->whole_cluster ? "the pod waits for it" : "where the volume can be used does not count")});
  }

  manifests* into_;
  const volume_objects* objects_;
  const read_options* how_;
  std::map<std::string_view, node_manifest*> nodes_;
  std::set<std::pair<std::string, std::string>> claims_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> told_;
};

}  // namespace

std::optional<volume_claim_manifest> claim_made_of(const pod_manifest& pod, const pod_volume& volume) {
  const std::string name = claim_name(pod, volume);
  if (volume.made_of == nullptr || !gangsched::detail::is_dns_subdomain(name)) return std::nullopt;
  volume_claim_manifest made;
  made.name = name, made.ns = pod.spec.ns, made.spec = *volume.made_of, made.from = pod.from;
  if (volume.ephemeral) made.owner_pod = pod.spec.name;
  return made;
}

void make_claims(manifests& into, const std::vector<controller_of_pods>& controllers) {
  using key = std::pair<std::string_view, std::string_view>;
  std::map<key, const std::vector<pod_volume>*> templates;
  for (const controller_of_pods& one : controllers)
    if (!one.claim_templates.empty()) templates.emplace(key{one.meta.ns, one.meta.name}, &one.claim_templates);
  std::set<std::pair<std::string, std::string>> known;
  for (const volume_claim_manifest& one : into.volume_claims) known.emplace(one.ns, one.name);
  for (pod_manifest& pod : into.pods) {
    if (!pod.node.empty()) continue;  // its claims were made once
    const auto set = pod.owner_kind == "StatefulSet" ? templates.find({pod.spec.ns, pod.owner_name}) : templates.end();
    for (pod_volume& volume : pod.volumes) {
      const std::string name = claim_name(pod, volume);
      if (name.empty() || known.contains({pod.spec.ns, name})) continue;
      if (set != templates.end() && volume.made_of == nullptr) {  // a pod that its controller has made
        for (const pod_volume& one : *set->second)
          if (name == one.name + "-" + pod.spec.name) volume.made_of = one.made_of;
      }
      auto made = claim_made_of(pod, volume);
      if (!made) continue;
      known.emplace(pod.spec.ns, name);
      into.volume_claims.push_back(*std::move(made));
    }
  }
}

std::optional<error> settle_volumes(manifests& into, const volume_objects& objects, const read_options& how) {
  volume_settler all{into, objects, how};
  all.tell_nodes();
  return all.tell_pods();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
