#include "gangsched/src/kube/core/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "gangsched/src/kube/core/objects.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

void settle_references(manifests& all) {
  std::set<std::string_view> classes{"system-cluster-critical", "system-node-critical"}, nodes;
  for (const priority_class_spec& one : all.priority_classes) classes.insert(one.name);
  for (const node_manifest& one : all.nodes) nodes.insert(one.spec.name);

  const auto no_class = [](const std::string& field, const std::string& name) {
    return error{errc::unknown, {}, field, fmt::format("no priority class \"{}\"", name)};
  };
  std::map<std::pair<std::string_view, std::string_view>, error> groups;  // that name a class in no file
  for (group_manifest& one : all.groups) {
    if (one.priority_class.empty() || one.spec.priority || classes.contains(one.priority_class)) continue;
    error wrong = no_class("spec.priorityClassName", one.priority_class);
    wrong.object = where(all, one.from, one.kind, one.spec.ns, one.spec.name);
    groups.emplace(std::pair<std::string_view, std::string_view>{one.spec.ns, one.spec.name}, std::move(wrong));
    one.priority_class.clear();
  }
  for (pod_manifest& one : all.pods) {
    if (const auto group = groups.find({one.spec.ns, one.group}); group != groups.end())
      wait_for(all, one, group->second);
    if (one.spec.priority_class.empty() || classes.contains(one.spec.priority_class)) continue;
    // A pod that has a number already was admitted when there was such a class.
    if (one.spec.priority) {
      one.spec.priority_class.clear();
      continue;
    }
    error wrong = no_class("spec.priorityClassName", one.spec.priority_class);
    wrong.object = where(all, one.from, "Pod", one.spec.ns, one.spec.name);
    wait_for(all, one, wrong);
    one.spec.priority_class.clear();
  }
  std::erase_if(all.pods, [&](const pod_manifest& one) {
    if (one.node.empty() || nodes.contains(one.node)) return false;
    all.warnings.push_back({where(all, one.from, "Pod", one.spec.ns, one.spec.name), "spec.nodeName",
                            fmt::format("no node \"{}\": it runs there, and is left out", one.node)});
    return true;
  });
}

void inherit_words(manifests& all, std::vector<controller_of_pods>& controllers) {
  using controller_key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<controller_key, const object_meta*> metas;
  for (const controller_of_pods& one : controllers)
    metas.emplace(controller_key{one.kind, one.meta.ns, one.meta.name}, &one.meta);
  const auto inherit = [&](std::string_view kind, const std::string& ns, std::string_view name, pod_manifest& to) {
    constexpr int most_controllers = 3;  // a Deployment's ReplicaSet's pod
    for (int level = 0; level < most_controllers; ++level) {
      const auto owner = metas.find({kind, ns, name});
      if (owner == metas.end()) return;
      inherit_queue_words(owner->second->labels, owner->second->annotations, to);
      kind = owner->second->owner_kind, name = owner->second->owner_name;
    }
  };
  for (pod_manifest& pod : all.pods) inherit(pod.owner_kind, pod.spec.ns, pod.owner_name, pod);
  for (controller_of_pods& one : controllers) inherit(one.kind, one.meta.ns, one.meta.name, one.pod);
}

const priority_class_spec* default_priority_class(const manifests& all) {
  const priority_class_spec* found = nullptr;
  for (const priority_class_spec& one : all.priority_classes) {
    if (!one.global_default) continue;
    if (found == nullptr || std::tie(one.value, one.name) < std::tie(found->value, found->name)) found = &one;
  }
  return found;
}

std::optional<error> settle_priorities(manifests& all, std::size_t new_from, const read_options& how,
                                       mistakes_by_object note) {
  std::map<std::string_view, const priority_class_spec*> classes;
  for (const priority_class_spec& one : all.priority_classes) classes.insert_or_assign(one.name, &one);
  std::set<std::pair<std::uint32_t, std::uint32_t>> told;
  for (std::size_t i = 0; i < all.pods.size(); ++i) {
    pod_manifest& pod = all.pods[i];
    if (pod.spec.priority_class.empty() || !pod.spec.priority) continue;
    const auto found = classes.find(pod.spec.priority_class);
    if (found == classes.end()) continue;
    const priority_class_spec& its = *found->second;
    const bool other_value = *pod.spec.priority != its.value;
    if (!other_value && (pod.spec.preemption != preemption_policy::never || its.preemption == pod.spec.preemption))
      continue;
    error wrong{errc::malformed,
                where(all, pod.from, pod.spec.reservation ? "Reservation" : "Pod",
                      pod.spec.reservation ? std::string{} : pod.spec.ns, pod.spec.name),
                other_value ? "spec.priority" : "spec.preemptionPolicy",
                other_value
                    ? fmt::format("{} is not the {} of its class \"{}\"", *pod.spec.priority, its.value, its.name)
                    : fmt::format("Never is not the policy of its class \"{}\"", its.name)};
    if (how.api_server_rules && !pod.spec.reservation && (i >= new_from || pod.node.empty())) {
      if (!note.told(pod.from, wrong)) return wrong;
      continue;
    }
    pod.spec.priority_class.clear();
    if (told.emplace(pod.from.file, pod.from.line).second)
      all.warnings.push_back({std::move(wrong.object), std::move(wrong.field),
                              wrong.reason + ": it keeps what it has, without the class"});
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
