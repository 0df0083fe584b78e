#include "world.hpp"

#include <algorithm>

#include "specs.hpp"

namespace gangsched::soak {

namespace {

std::int64_t amount_in(const resource_list& list, std::string_view resource) {
  const auto found = list.find(std::string{resource});
  if (found == list.end()) return 0;
  std::int64_t amount = 0;
  const bool fits = resource == "cpu" ? found->second.milli_value(amount) : found->second.value(amount);
  return fits ? amount : 0;
}

std::int64_t need(const pod_spec& spec, std::string_view resource) {
  if (resource == "pods") return 1;
  if (spec.resources && spec.resources->contains(std::string{resource})) {
    return amount_in(*spec.resources, resource) + amount_in(spec.overhead, resource);
  }
  std::int64_t running = 0, starting = 0;  // sidecars run on beside what starts after them
  for (const container& one : spec.init_containers) {
    const std::int64_t amount = amount_in(one.requests, resource);
    if (one.sidecar) running += amount;
    starting = std::max(starting, one.sidecar ? running : running + amount);
  }
  for (const container& one : spec.containers) running += amount_in(one.requests, resource);
  return std::max(running, starting) + amount_in(spec.overhead, resource);
}

}  // namespace

amounts needs_of(const pod_spec& spec) {
  amounts made{};
  for (std::size_t i = 0; i < resources.size(); ++i) made[i] = need(spec, resources[i]);
  return made;
}

amounts amounts_of(const resource_list& list) {
  amounts made{};
  for (std::size_t i = 0; i < resources.size(); ++i) made[i] = amount_in(list, resources[i]);
  return made;
}

std::uint32_t world::members(number group) const {
  return static_cast<std::uint32_t>(
      std::count_if(pods.begin(), pods.end(), [&](const auto& one) { return one.second.group == group; }));
}
std::uint32_t world::placed(number group) const {
  return static_cast<std::uint32_t>(std::count_if(
      pods.begin(), pods.end(), [&](const auto& one) { return one.second.group == group && one.second.placed(); }));
}
std::uint32_t world::placed(number group, std::string_view role) const {
  return static_cast<std::uint32_t>(std::count_if(pods.begin(), pods.end(), [&](const auto& one) {
    return one.second.group == group && one.second.placed() && one.second.spec.role == role;
  }));
}

amounts world::left(number room, number node) const {
  const auto of = rooms.find(room);
  if (of == rooms.end() || !of->second.contains(node)) return {};
  amounts made = of->second.at(node);
  for (const auto& [at, pod] : pods) {
    if (pod.node != node || pod.spec.held_room != room_name(room)) continue;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] -= pod.needs[i];
  }
  for (std::int64_t& one : made) one = std::max<std::int64_t>(0, one);
  return made;
}

std::uint32_t world::ready(number group) const {
  const known_group& of = groups.at(group);
  if (!of.spec.composite) return placed(group);
  std::uint32_t count = 0;
  for (const auto& [child, known] : groups) {
    if (known.above == group && !known.expected && ready(child) >= static_cast<std::uint32_t>(known.min_count()))
      ++count;
  }
  return count;
}

number world::root(number group) const {
  for (auto found = groups.find(group); found != groups.end() && found->second.above != nobody;
       found = groups.find(group)) {
    group = found->second.above;
  }
  return group;
}

std::int32_t world::tree_priority(number group) const {
  const number top = root(group);
  if (const auto found = groups.find(top);
      found != groups.end() && !found->second.expected && found->second.spec.priority) {
    return *found->second.spec.priority;
  }
  std::optional<std::int32_t> most;
  for (const auto& [pod, known] : pods) {
    if (known.group != nobody && root(known.group) == top)
      most = std::max(most.value_or(known.priority), known.priority);
  }
  return most.value_or(0);
}

bool world::may_preempt(const pod_spec& spec) const {
  for (const auto& [at, one] : classes) {
    if (one.name == spec.priority_class) return one.preemption != preemption_policy::never;
  }
  return spec.preemption != preemption_policy::never;
}

std::optional<std::int32_t> world::priority_of(const pod_spec& spec) const {
  if (!spec.priority_class.empty()) {
    for (const auto& [at, one] : classes) {
      if (one.name == spec.priority_class) return one.value;
    }
    return std::nullopt;
  }
  if (spec.priority) return spec.priority;
  std::optional<std::int32_t> standing;  // of several defaults the lowest (Kubernetes' rule)
  for (const auto& [at, one] : classes) {
    if (one.global_default) standing = std::min(standing.value_or(one.value), one.value);
  }
  return standing.value_or(0);
}

bool tolerates(const pod_spec& pod, const taint& one) {
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(), [&](const toleration& with) {
    return (with.key.empty() || with.key == one.key) && (!with.effect || *with.effect == one.effect) &&
           (with.op == toleration_operator::exists || with.value == one.value);
  });
}

bool admits(const node_spec& node, const pod_spec& pod, kube_release release) {
  if (node.unschedulable && !tolerates(pod, {"node.kubernetes.io/unschedulable"})) return false;
  for (const taint& one : node.taints) {
    if (one.effect != taint_effect::prefer_no_schedule && !tolerates(pod, one)) return false;
  }
  const auto value_of = [&](const std::string& key) {
    const auto found = node.labels.find(key);
    return found == node.labels.end() ? std::optional<std::string>{} : std::optional{found->second};
  };
  for (const auto& [key, value] : pod.node_selector) {
    if (value_of(key) != value) return false;
  }
  for (const std::string& feature : pod.required_features) {
    if (release < kube_release::v1_36) break;
    if (std::find(node.declared_features.begin(), node.declared_features.end(), feature) ==
        node.declared_features.end())
      return false;
  }
  if (!pod.affinity.required) return true;
  return std::any_of(pod.affinity.required->begin(), pod.affinity.required->end(), [&](const node_selector_term& term) {
    return std::all_of(
        term.match_expressions.begin(), term.match_expressions.end(), [&](const selector_requirement& one) {
          const std::optional<std::string> value = value_of(one.key);
          const bool among = value && std::find(one.values.begin(), one.values.end(), *value) != one.values.end();
          return one.op == selector_operator::in ? among : !among;  // the others are not made here
        });
  });
}

bool selects(const label_selector& selector, const label_map& labels) {
  return std::all_of(selector.match_labels.begin(), selector.match_labels.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

bool is_against(const pod_spec& mine, const node_spec& my_node, const pod_spec& other, const node_spec& other_node) {
  return std::any_of(
      mine.anti_affinity_to_pods.required.begin(), mine.anti_affinity_to_pods.required.end(),
      [&](const pod_affinity_term& term) {
        if (mine.ns != other.ns || !term.selector || !selects(*term.selector, other.labels)) return false;
        const auto here = my_node.labels.find(term.topology_key), there = other_node.labels.find(term.topology_key);
        return here != my_node.labels.end() && there != other_node.labels.end() && here->second == there->second;
      });
}

bool is_simple(const pod_spec& spec) {
  const pod_volumes& volumes = spec.volumes;
  const auto counts_devices = [](const container& one) {
    return !one.ports.empty() || std::any_of(one.requests.begin(), one.requests.end(), [](const auto& request) {
      return request.first.starts_with("nvidia.com/");
    });
  };
  return !spec.group && !spec.reservation && !spec.reservation_affinity && !spec.ignores_reservations &&
         spec.affinity_to_pods.required.empty() && spec.anti_affinity_to_pods.required.empty() &&
         spec.topology_spread_constraints.empty() && spec.required_node.empty() && spec.devices.empty() &&
         spec.resource_claims.empty() && volumes.disks.empty() && volumes.exclusive_claims.empty() &&
         volumes.zones.empty() && volumes.attachments.empty() && !volumes.unbound_claims && !volumes.nodes &&
         !volumes.bindable_nodes && volumes.claim_problem.empty() && !spec.guaranteed &&
         spec.bind_cpus.policy == cpu_bind_policy::none &&
         std::none_of(spec.containers.begin(), spec.containers.end(), counts_devices);
}

}  // namespace gangsched::soak
