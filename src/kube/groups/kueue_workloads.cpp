#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/groups/groups.hpp"

// Kueue's Workload (kueue.x-k8s.io v1beta1 and v1beta2): what some job asks for, as a gang of all its pod sets.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::size_t most_pod_sets = 64;  // Kueue has 8
constexpr const char* queue_name_label = "kueue.x-k8s.io/queue-name";

/// A request for topology, in the words of the annotations that templates have for it.
bool read_topology_request(reader& read, const place& of, label_map& out) {
  const auto key = [](std::string_view what) { return fmt::format("kueue.x-k8s.io/podset-{}", what); };
  return read.fields(of, [&](std::string_view field, const place& v) {
    if (field == "required") return read.text(v, out[key("required-topology")]);
    if (field == "preferred") return read.text(v, out[key("preferred-topology")]);
    if (field == "podSetGroupName") return read.text(v, out[key("group-name")]);
    if (field == "podSetSliceRequiredTopology") return read.text(v, out[key("slice-required-topology")]);
    if (field == "unconstrained") {
      bool any = false;
      if (!read.boolean(v, any)) return false;
      if (any) out[key("unconstrained-topology")] = "true";
      return true;
    }
    if (field == "podSetSliceSize") {
      std::int64_t size = 0;
      if (!read.integer(v, size, 1, most_count)) return false;
      out[key("slice-size")] = fmt::format("{}", size);
      return true;
    }
    if (field == "podsetSliceRequiredTopologyConstraints")
      return read.warn(v, "layers of slices are read of templates only; it is left out");
    return read.ignore(field, v, {"podIndexLabel", "subGroupIndexLabel", "subGroupCount"});
  });
}

bool read_kueue_pod_set(reader& read, const place& of, pod_set& out, std::string_view ns, const read_options& how) {
  std::optional<std::int64_t> least;
  label_map topology;
  out.role = "main";
  out.count = 1;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.role);
    if (key == "count") return read.integer(v, out.count, 0, most_count);
    if (key == "minCount") return read.integer(v, least.emplace(), 1, most_count);
    if (key == "template") return read_pod_template(read, v, ns, out, how);
    if (key == "topologyRequest") return read_topology_request(read, v, topology);
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  out.least = least.value_or(out.count);
  for (const auto& [name, value] : topology) out.pod.annotations[name] = value;
  return out.least <= out.count ||
         read.fail(errc::out_of_range, of, fmt::format("minCount {} is above count {}", out.least, out.count));
}

/// Whether it has ended.
bool is_finished(const value& object) {
  const value* status = object.find("status");
  const value* conditions = status == nullptr ? nullptr : status->find("conditions");
  return conditions != nullptr && std::ranges::any_of(conditions->items, [](const value& one) {
           const value *type = one.find("type"), *is = one.find("status");
           return type != nullptr && type->text == "Finished" && is != nullptr && is->text == "True";
         });
}

}  // namespace

bool read_kueue_workload(reader& read, const place& of, workload_plan& out, const read_options& how) {
  out.kind = "Workload";
  bool active = true;
  std::string queue;
  std::optional<std::int32_t> priority;
  std::optional<std::int64_t> longest;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return true;  // the caller's
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    std::int64_t all = 0;
    const bool good = read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "queueName") return read.text(w, queue);
      if (field == "active") return read.boolean(w, active);
      if (field == "priority") return read.integer(w, priority.emplace());
      if (field == "maximumExecutionTimeSeconds") return read.integer(w, longest.emplace(), 1, most_count);
      if (field == "podSets") {
        if (w.at->items.size() > most_pod_sets)
          return read.fail(errc::out_of_range, w, fmt::format("has more than {} entries", most_pod_sets));
        return read.list(w, out.sets, [&](const place& item, pod_set& one) {
          if (!read_kueue_pod_set(read, item, one, out.ns, how)) return false;
          all += one.count;
          return std::ranges::count(out.sets, one.role, &pod_set::role) == 1 ||
                 read.fail(errc::duplicate, item, fmt::format("there is another pod set \"{}\"", one.role));
        });
      }
      // What the class says is in `priority`.
      return read.ignore(field, w, {"priorityClassRef", "priorityClassName", "priorityClassSource", "preemptionGates"});
    });
    return good && affordable(read, v, all, out, how);
  });
  if (!fine) return false;
  if (!queue.empty()) out.annotations[queue_name_label] = queue;
  std::int64_t needed = 0;
  for (pod_set& set : out.sets) {
    needed += set.least;
    if (longest && !set.pod.deadline_seconds) set.pod.deadline_seconds = longest;
    if (set.pod.spec.priority_class.empty() && !set.pod.spec.priority) set.pod.spec.priority = priority;
  }
  if (!active || needed == 0 || is_finished(*of.at)) return true;
  out.groups.push_back(gang_of(out, needed));
  for (std::size_t i = 0; i < out.sets.size(); ++i) {
    for (std::int64_t index = 0; index < out.sets[i].count; ++index) {
      planned_pod& one = out.pods.emplace_back();
      one.pod_set = i;
      one.name = fmt::format("{}-{}-{}", out.name, out.sets[i].role, index);
      one.rank = static_cast<std::int32_t>(index);
      one.group = 0;
    }
  }
  return true;
}

void settle_kueue_workloads(std::vector<controller_of_pods>& controllers, manifests& into, group_objects& groups) {
  const auto is_workload = [](const workload_plan& one) { return one.kind == "Workload"; };
  if (std::ranges::none_of(groups.plans, is_workload)) return;
  using key = std::tuple<std::string, std::string, std::string>;  // kind, namespace, name
  std::map<key, label_map*> owners;
  for (controller_of_pods& one : controllers)
    owners.emplace(key{one.kind, one.meta.ns, one.meta.name}, &one.meta.annotations);
  for (workload_plan& one : groups.plans)
    if (!is_workload(one))
      owners.emplace(key{owner_kind(one.kind, volcano_version), one.ns, one.name}, &one.annotations);
  std::map<key, std::vector<std::size_t>> pods;
  for (std::size_t i = 0; i < into.pods.size(); ++i) {
    const pod_manifest& pod = into.pods[i];
    if (!pod.owner_name.empty()) pods[{pod.owner_kind, pod.spec.ns, pod.owner_name}].push_back(i);
    for (const char* const label : {"kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/prebuilt-workload-name"})
      if (const auto found = pod.spec.labels.find(label); found != pod.spec.labels.end())
        pods[{"Workload", pod.spec.ns, found->second}].push_back(i);
  }
  std::erase_if(groups.plans, [&](const workload_plan& one) {
    if (!is_workload(one)) return false;
    const auto queue = one.annotations.find(queue_name_label);
    const key by{one.owner_kind, one.ns, one.owner_name};
    const auto owner = owners.find(by);
    bool made = owner != owners.end();
    if (made && queue != one.annotations.end()) owner->second->emplace(queue_name_label, queue->second);
    for (const key& of : {by, key{"Workload", one.ns, one.name}}) {
      const auto found = pods.find(of);
      if (found == pods.end()) continue;
      made = true;
      for (const std::size_t i : found->second) inherit_queue_words({}, one.annotations, into.pods[i]);
    }
    return made;
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
