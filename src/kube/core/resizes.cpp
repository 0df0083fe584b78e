#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/src/kube/core/objects.hpp"

// In-place resizes of pods: what a pod requests while what it asks for is not yet what it has (component-helpers 0.36
// resource.PodRequests with UseStatusResources): of each resource the largest of what the spec requests, what kubelet has
// allocated and what runs; if the resize is infeasible, of the last two.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// What a status says of a container, or of a pod as a whole.
struct actual_resources {
  std::string name;
  resource_list allocated, actuated;
  bool said = false;  ///< `resources` is there: without it the spec counts alone
};

bool read_actual(reader& read, const place& of, actual_resources& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.name);
    if (key == "allocatedResources") return read.amounts(v, out.allocated);
    if (key != "resources" || v.at->kind == value_kind::null) return true;
    out.said = true;
    return read.fields(v, [&](std::string_view field, const place& w) {
      return field == "requests" ? read.amounts(w, out.actuated) : true;
    });
  });
}

void take_larger(resource_list& into, const resource_list& other) {
  for (const auto& [name, value] : other) {
    const auto found = into.find(name);
    if (found == into.end())
      into.emplace(name, value);
    else
      found->second = std::max(found->second, value);
  }
}

/// @p requests become what counts.
void settle(resource_list& requests, const actual_resources& is, bool infeasible) {
  if (!is.said) return;
  if (infeasible) requests.clear();
  take_larger(requests, is.actuated);
  take_larger(requests, is.allocated);
}

bool is_infeasible(const value& status) {
  const value* const conditions = status.find("conditions");
  if (conditions == nullptr || conditions->kind != value_kind::list) return false;
  for (const value& one : conditions->items) {
    const value* const type = one.find("type");
    if (type == nullptr || type->text != "PodResizePending") continue;
    const value* const reason = one.find("reason");
    return reason != nullptr && reason->text == "Infeasible";
  }
  return false;
}

}  // namespace

bool read_resizes(reader& read, const place& of, pod_manifest& out) {
  const value* const status = of.at->find("status");
  const value* const spec = of.at->find("spec");
  if (status == nullptr || spec == nullptr) return true;
  const place at{status, &of, "status"};
  const bool infeasible = is_infeasible(*status);
  std::map<std::string, actual_resources, std::less<>> all;  // by name: there may be as many as containers
  for (const char* const statuses : {"containerStatuses", "initContainerStatuses"}) {
    const value* const found = status->find(statuses);
    const auto note = [&](const place& item) {
      actual_resources is;
      if (!read_actual(read, item, is)) return false;
      std::string name = is.name;
      all.insert_or_assign(std::move(name), std::move(is));
      return true;
    };
    if (found != nullptr && !read.items(place{found, &at, statuses}, note)) return false;
  }
  const auto settle_each = [&](const char* list, std::vector<container>& of_pod, bool sidecars_only) {
    const value* const names = spec->find(list);
    if (names == nullptr || names->kind != value_kind::list) return;
    for (std::size_t i = 0; i < of_pod.size() && i < names->items.size(); ++i) {
      const value* const name = names->items[i].find("name");
      const auto is = name == nullptr ? all.end() : all.find(name->text);
      if (is != all.end() && (of_pod[i].sidecar || !sidecars_only)) settle(of_pod[i].requests, is->second, infeasible);
    }
  };
  settle_each("containers", out.spec.containers, false);
  settle_each("initContainers", out.spec.init_containers, true);
  if (!out.spec.resources) return true;
  actual_resources whole;
  if (!read_actual(read, at, whole)) return false;
  resource_list now = *out.spec.resources;
  settle(now, whole, infeasible);
  for (auto& [name, value] : *out.spec.resources)  // no other resource counts for the pod as a whole
    if (const auto found = now.find(name); found != now.end()) value = found->second;
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
