#include "gangsched/src/kube/documents/reader.hpp"

#include <fmt/format.h>

#include <cctype>
#include <span>

// From the model's names of fields ("tolerations[2].op") to the manifest's ("spec.tolerations[2].operator"), for errors
// that the model finds.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

using renamed = std::pair<std::string_view, std::string_view>;

// The longest first where one begins like another.
constexpr std::string_view required = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr renamed pod_fields[] = {
    {"name", "metadata.name"},
    {"devices", "devices"},
    {"ns", "metadata.namespace"},
    {"labels", "metadata.labels"},
    {"resources", "spec.resources.requests"},
    {"image_volumes", "spec.volumes"},
    {"affinity_to_pods", "spec.affinity.podAffinity"},
    {"anti_affinity_to_pods", "spec.affinity.podAntiAffinity"},
    {"affinity", "spec.affinity.nodeAffinity"},
    {"priority_class", "spec.priorityClassName"},
    {"preemption", "spec.preemptionPolicy"},
    {"required_node", "spec.nodeName"},
    {"node", "spec.nodeName"},
    {"nominated_node", "status.nominatedNodeName"},
    {"exact_reservation", "metadata.annotations[\"scheduling.koordinator.sh/exact-match-reservation\"].resourceNames"},
    {"reservation_affinity.selector",
     "metadata.annotations[\"scheduling.koordinator.sh/reservation-affinity\"].reservationSelector"},
    {"reservation_affinity.required",
     "metadata.annotations[\"scheduling.koordinator.sh/reservation-affinity\"]."
     "requiredDuringSchedulingIgnoredDuringExecution.reservationSelectorTerms"},
    {"reservation_affinity", "metadata.annotations[\"scheduling.koordinator.sh/reservation-affinity\"]"},
    {"group", "spec.schedulingGroup.podGroupName"}};
constexpr renamed node_fields[] = {{"name", "metadata.name"},
                                   {"devices", "devices"},
                                   {"labels", "metadata.labels"},
                                   {"allocatable", "status.allocatable"},
                                   {"capacity", "status.capacity"},
                                   {"images", "status.images"},
                                   {"declared_features", "status.declaredFeatures"}};
constexpr renamed other_fields[] = {{"name", "metadata.name"},          {"ns", "metadata.namespace"},
                                    {"labels", "metadata.labels"},      {"selector", "spec.selector"},
                                    {"preemption", "preemptionPolicy"}, {"value", "value"}};
constexpr renamed group_fields[] = {{"name", "metadata.name"},
                                    {"ns", "metadata.namespace"},
                                    {"topology.within[0]", "spec.schedulingConstraints.topology[0].key"},
                                    {"topology.when_full", "metadata.annotations[\"gangsched.dev/when-full\"]"},
                                    {"policy.stale_after", "metadata.annotations[\"gangsched.dev/stale-after\"]"},
                                    {"ratios", "metadata.annotations[\"gangsched.dev/ratios\"]"},
                                    {"max_wait", "metadata.annotations[\"gangsched.dev/max-wait\"]"},
                                    {"policy.min_count", "spec.schedulingPolicy.gang.minCount"},
                                    {"parent", "spec.parentCompositePodGroupName"},
                                    {"workload", "spec.workloadRef.workloadName"},
                                    {"disruption", "spec.disruptionMode"},
                                    {"priority_class", "spec.priorityClassName"},
                                    {"preemption", "spec.preemptionPolicy"}};

std::string camel(std::string_view snake) {
  std::string made;
  bool up = false;
  for (const char c : snake) {
    if (c == '_') {
      up = true;
      continue;
    }
    made += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    up = false;
  }
  return made;
}

std::string object_name(std::string_view kind, std::string_view ns, std::string_view name) {
  return fmt::format("{} {}{}{}", kind, ns, ns.empty() ? "" : "/", name);
}

std::string where(const manifests& all, origin from, std::string_view kind, std::string_view ns,
                  std::string_view name) {
  const std::string file = from.file < all.files.size() ? all.files[from.file] : std::string{"?"};
  return fmt::format("{}:{}: {}", file, from.line, object_name(kind, ns, name));
}

void wait_for(manifests& all, pod_manifest& pod, const error& wrong) {
  const std::string own = where(all, pod.from, "Pod", pod.spec.ns, pod.spec.name);
  const bool runs = !pod.node.empty();
  std::string reason = (wrong.object == own ? "" : wrong.object + ": ") + wrong.field + ": " + wrong.reason;
  all.warnings.push_back({own, {}, reason + (runs ? "; it is left out" : "; the pod waits for it")});
  if (!runs) pod.unresolved.push_back(std::move(reason));
}

std::string manifest_path(std::string_view kind, std::string_view field) {
  const bool pod = kind == "Pod", node = kind == "Node";
  const bool group = kind == "PodGroup" || kind == "CompositePodGroup";
  const std::span<const renamed> tops = pod     ? std::span<const renamed>{pod_fields}
                                        : node  ? std::span<const renamed>{node_fields}
                                        : group ? std::span<const renamed>{group_fields}
                                                : std::span<const renamed>{other_fields};
  std::string made;
  std::string_view rest = field;
  bool found = false;
  for (const auto& [from, to] : tops) {
    if (!rest.starts_with(from)) continue;
    const std::string_view after = rest.substr(from.size());
    if (!after.empty() && after[0] != '.' && after[0] != '[') continue;
    made = to;
    rest = after;
    found = true;
    break;
  }
  const bool to_nodes = made.ends_with("nodeAffinity");
  if (!found) made = kind == "PriorityClass" || kind == "Namespace" ? "" : "spec";
  while (!rest.empty()) {
    if (rest[0] == '[') {  // an index, or a quoted key
      const std::size_t end = rest.size() > 1 && rest[1] == '"' ? rest.find("\"]", 2) + 2 : rest.find(']') + 1;
      if (end == 1 || end > rest.size()) break;
      made += rest.substr(0, end);
      rest.remove_prefix(end);
      continue;
    }
    if (rest[0] == '.') rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find_first_of(".["));
    rest.remove_prefix(word.size());
    std::string name = camel(word);
    if (word == "op")
      name = "operator";
    else if (word == "requests")
      name = "resources.requests";
    else if (word == "sidecar")
      name = "restartPolicy";
    else if (word == "action")
      name = "whenUnsatisfiable";
    else if (word == "selector")
      name = "labelSelector";
    else if (word == "required")
      name = std::string{required} + (to_nodes ? ".nodeSelectorTerms" : "");
    else if (word == "preferred")
      name = preferred;
    else if (word == "term")
      name = to_nodes ? "preference" : "podAffinityTerm";
    if (!made.empty()) made += '.';
    made += name;
  }
  return made;
}

/// The line of what @p path leads to, or as far as the object has it.
std::uint32_t line_of(const value& object, std::string_view path) {
  const value* at = &object;
  while (!path.empty()) {
    const value* next = nullptr;
    if (path[0] == '.') path.remove_prefix(1);
    if (path.starts_with("[\"")) {
      const std::size_t end = path.find("\"]");
      if (end == std::string_view::npos) break;
      next = at->find(path.substr(2, end - 2));
      path.remove_prefix(end + 2);
    } else if (path.starts_with("[")) {
      std::size_t index = 0, i = 1;
      for (; i < path.size() && path[i] >= '0' && path[i] <= '9'; ++i)
        index = index * 10 + static_cast<std::size_t>(path[i] - '0');
      if (at->kind == value_kind::list && index < at->items.size()) next = &at->items[index];
      path.remove_prefix(i < path.size() ? i + 1 : i);
    } else {
      const std::string_view word = path.substr(0, path.find_first_of(".["));
      next = at->find(word);
      path.remove_prefix(word.size());
    }
    if (next == nullptr) break;
    at = next;
  }
  return at->line;
}

error in_manifest(const error& wrong, std::string_view kind, std::string_view file, const value& object,
                  std::string_view name) {
  std::string path = manifest_path(kind, wrong.field);
  const std::uint32_t line = line_of(object, path);
  return {wrong.code, std::string{file} + ":" + std::to_string(line) + ": " + std::string{name}, std::move(path),
          wrong.reason};
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
