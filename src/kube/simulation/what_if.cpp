#include "gangsched/src/kube/simulation/what_if.hpp"

#include <fmt/format.h>
#include "gangsched/kube/volume_binder.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "gangsched/src/kube/simulation/bad_input.hpp"
#include "gangsched/src/kube/simulation/must.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

constexpr const char* zone_label = "topology.kubernetes.io/zone";

std::string full_name(const cluster& on, pod_id pod) {
  return fmt::format("{}/{}", on.namespace_of(pod), on.name_of(pod));
}

/// Adds the claims of the pod's ephemeral volumes, which go with it, as they are made anew for the pod that comes instead.
void add_renewed_claims(const pod_manifest& pod, std::vector<volume_claim_manifest>& to) {
  for (const pod_volume& volume : pod.volumes) {
    if (!volume.ephemeral || volume.made_of == nullptr) continue;
    to.push_back({.name = claim_name(pod, volume),
                  .ns = pod.spec.ns,
                  .spec = *volume.made_of,
                  .uid = renewed_claim,
                  .owner_pod = pod.spec.name,
                  .from = pod.from});
  }
}

/// Puts @p renewed in the place of claims of their names. O(claims · log renewed).
void replace_claims(std::vector<volume_claim_manifest>& claims, std::vector<volume_claim_manifest> renewed) {
  if (renewed.empty()) return;
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const volume_claim_manifest& one : renewed) names.emplace(one.ns, one.name);
  std::erase_if(claims, [&](const volume_claim_manifest& one) { return names.contains({one.ns, one.name}); });
  std::ranges::move(renewed, std::back_inserter(claims));
}

/// Pods of the node look for another one. @p lost: those of DaemonSets and mirror pods are gone.
void put_out(manifests& what, const std::string& node, bool lost, std::vector<warning>& warnings) {
  std::vector<volume_claim_manifest> renewed;
  std::erase_if(what.pods, [&](pod_manifest& pod) {
    if (pod.nominated_node == node) pod.nominated_node.clear();
    if (pod.node != node) return false;
    if (pod.owner_kind == "DaemonSet" || is_mirror(pod)) return lost;
    const bool made_again = !pod.owner_kind.empty() || !pod.group.empty();
    if (!made_again && !pod.spec.terminating)
      warnings.push_back(
          {fmt::format("Pod {}/{}", pod.spec.ns, pod.spec.name),
           {},
           fmt::format("has no controller that would make it again: it is gone with node \"{}\"", node)});
    if (!made_again || pod.spec.terminating) return true;
    pod.node.clear();
    pod.held_devices.clear();
    pod.spec.start_time.reset();
    add_renewed_claims(pod, renewed);
    return false;
  });
  replace_claims(what.volume_claims, std::move(renewed));
  for (resource_claim_manifest& claim : what.claims)
    if (claim.node == node) claim.node.clear();
}

std::int64_t number_in(const node_manifest& node, const char* key, std::int64_t otherwise) {
  const auto found = node.annotations.find(key);
  if (found == node.annotations.end()) return otherwise;
  const std::string& text = found->second;
  std::int64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{} || end != text.data() + text.size() || number < 0)
    throw bad_input{"Node " + node.spec.name, fmt::format("metadata.annotations[\"{}\"]", key),
                    fmt::format("\"{}\" is no number from 0 on", text)};
  return number;
}

}  // namespace

bool is_mirror(const pod_manifest& pod) {
  return pod.owner_kind == "Node" || pod.annotations.contains("kubernetes.io/config.mirror");
}

void drain(manifests& what, const std::string& node, std::vector<warning>& warnings) {
  const auto found = std::ranges::find_if(what.nodes, [&](const node_manifest& one) { return one.spec.name == node; });
  if (found == what.nodes.end()) throw bad_input{the_options, "drain", fmt::format("no node \"{}\"", node)};
  found->spec.unschedulable = true;
  put_out(what, node, false, warnings);
}

void lose(manifests& what, const std::string& node_or_zone, std::vector<warning>& warnings) {
  const auto is_lost = [&](const node_manifest& one) {
    const auto zone = one.spec.labels.find(zone_label);
    return one.spec.name == node_or_zone || (zone != one.spec.labels.end() && zone->second == node_or_zone);
  };
  if (std::ranges::none_of(what.nodes, is_lost))
    throw bad_input{the_options, "lose", fmt::format("no node and no zone \"{}\"", node_or_zone)};
  for (const node_manifest& one : what.nodes)
    if (is_lost(one)) put_out(what, one.spec.name, true, warnings);
  std::erase_if(what.nodes, is_lost);
}

void settle_volumes(manifests& what) {
  std::vector<pod_volumes> needs(what.pods.size());
  {
    const volume_binder binder{what};
    for (std::size_t i = 0; i < needs.size(); ++i)
      if (!what.pods[i].volumes.empty()) needs[i] = binder.needs(what.pods[i]);
  }
  for (std::size_t i = 0; i < needs.size(); ++i)
    if (!what.pods[i].volumes.empty() && what.pods[i].node.empty()) what.pods[i].spec.volumes = std::move(needs[i]);
}

std::vector<node_shape> shapes_of(const manifests& from) {
  std::vector<node_shape> shapes;
  for (const node_manifest& one : from.nodes) {
    node_shape& made = shapes.emplace_back();
    made.like = one.spec;
    made.price = number_in(one, "gangsched.dev/price", made.price);
    made.most =
        static_cast<std::uint32_t>(std::min<std::int64_t>(made.most, number_in(one, "gangsched.dev/most", made.most)));
  }
  return shapes;
}

scale_up_outcome scale_up(const scheduler& by, const cluster& on, std::span<const node_shape> shapes, instant now) {
  const demand_answer answer = must(demand(by, shapes, {.now = now}));
  scale_up_outcome made;
  for (const demand_plan& plan : answer.plans) {
    scale_up_plan& to = made.plans.emplace_back();
    to.price = plan.price;
    for (const demand_plan::added_node& node : plan.nodes) {
      added_node& added = to.nodes.emplace_back();
      added.shape = shapes[node.shape].like.name;
      for (const pod_id pod : node.pods) added.pods.push_back(full_name(on, pod));
    }
  }
  for (const pod_id pod : answer.left) made.left.push_back(full_name(on, pod));
  return made;
}

std::vector<removable_outcome> scale_down(const scheduler& by, const cluster& on, std::span<const pod_id> mirrors,
                                          instant now) {
  const std::vector<node_id> nodes = on.nodes();
  std::vector<removable_outcome> all;
  for (const removable_node& one : must(removable(by, nodes, {.now = now, .with_node = mirrors}))) {
    removable_outcome& made = all.emplace_back();
    made.node = on.name_of(one.node);
    for (const assignment& move : one.moves)
      made.moves.emplace_back(full_name(on, move.pod), std::string{on.name_of(move.node)});
  }
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
