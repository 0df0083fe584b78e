#include <fmt/format.h>

#include "gangsched/model/name_rules.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/devices/devices.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_effect(reader& read, const place& of, std::optional<taint_effect>& out) {
  if (of.at->kind == value_kind::text && of.at->text.empty()) return true;
  return read.word(of, out.emplace(),
                   {{"NoSchedule", taint_effect::no_schedule},
                    {"PreferNoSchedule", taint_effect::prefer_no_schedule},
                    {"NoExecute", taint_effect::no_execute}});
}

bool read_taint(reader& read, const place& of, taint& out, std::optional<instant>* since) {
  std::optional<taint_effect> effect;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "key") return read.text(v, out.key);
    if (key == "value") return read.text(v, out.value);
    if (key == "effect") return read_effect(read, v, effect);
    if (key == "timeAdded" && since != nullptr) return read.time(v, since->emplace());
    return read.ignore(key, v, {"timeAdded"});
  });
  if (fine && !effect) return read.fail(errc::malformed, of, "needs an effect");
  if (effect) out.effect = *effect;
  return fine;
}

/// What a node has, by resource. An API server takes any names; those that no pod can ask for are left out.
bool read_node_amounts(reader& read, const place& of, resource_list& out) {
  if (!read.amounts(of, out)) return false;
  for (auto one = out.begin(); one != out.end();) {
    if (gangsched::detail::is_qualified_name(one->first)) {
      ++one;
      continue;
    }
    read.warn(of, fmt::format("\"{}\" is no name of a resource; it is left out", one->first));
    one = out.erase(one);
  }
  return true;
}

/// What Koordinator keeps for others than pods (apis/extension/node_reservation.go, 1.7.0): its scheduler takes it off what is allocatable,
/// but for what is lent to batch, which its controller has without.
static bool read_node_reservation(reader& read, const place& of, node_manifest& out) {
  bool amounts_count = true;
  std::string cpus;
  const bool fine = read_annotation(read, of, "node.koordinator.sh/reservation", [&](reader& in, const place& root) {
    return in.fields(root, [&](std::string_view field, const place& v) {
      if (field == "resources") return in.amounts(v, out.reserved);
      if (field == "applyPolicy")
        return in.word(v, amounts_count, {{"", true}, {"Default", true}, {"ReservedCPUsOnly", false}});
      if (field != "reservedCPUs") return in.ignore(field, v, {});
      if (!in.text(v, cpus)) return false;
      const auto list = parse_cpu_list(cpus);
      if (!list) return in.fail(errc::malformed, v, fmt::format("\"{}\" is no list of CPUs like 0-3,8", cpus));
      out.reserved_cpus = *list;
      return true;
    });
  });
  if (!fine) return false;
  if (!cpus.empty()) out.reserved["cpu"] = quantity{static_cast<std::int64_t>(out.reserved_cpus.size())};
  for (auto& [name, has] : out.spec.allocatable) {
    const auto kept = out.reserved.find(name);
    if (kept == out.reserved.end()) continue;
    const auto all = out.spec.capacity.find(name);
    const auto less = [](const quantity& a, const quantity& b) {
      return quantity::from_nanos(a.nanos() - b.nanos(), a.format());
    };
    const quantity by_kubelet = all == out.spec.capacity.end() ? quantity{} : less(all->second, has);
    if (amounts_count && !name.starts_with("kubernetes.io/batch-"))
      has = has > kept->second ? less(has, kept->second) : quantity{};
    kept->second = std::max(kept->second, by_kubelet);
  }
  return true;
}

bool read_node(reader& read, const place& of, node_manifest& out, const read_options& how) {
  node_spec& spec = out.spec;
  bool has_allocatable = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      spec.name = std::move(meta.name);
      spec.labels = std::move(meta.labels);
      out.annotations = std::move(meta.annotations);
      return true;
    }
    if (key == "spec") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "unschedulable") return read.boolean(w, spec.unschedulable);
        if (field != "taints")
          return read.ignore(field, w, {"configSource", "externalID", "podCIDR", "podCIDRs", "providerID"});
        return read.list(w, spec.taints, [&](const place& item, taint& one) {
          return read_taint(read, item, one, &out.taints_since.emplace_back());
        });
      });
    }
    if (key == "status") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "allocatable") return has_allocatable = true, read_node_amounts(read, w, spec.allocatable);
        if (field == "capacity") return read_node_amounts(read, w, spec.capacity);
        if (field == "declaredFeatures") return read.texts(w, spec.declared_features);
        if (field == "images") {
          return read.list(w, spec.images, [&](const place& item, node_image& one) {
            return read.fields(item, [&](std::string_view name, const place& x) {
              if (name == "names") return read.texts(x, one.names);
              if (name == "sizeBytes") return read.integer(x, one.size_bytes);
              return read.ignore(name, x, {});
            });
          });
        }
        return read.ignore(field, w,
                           {"addresses", "conditions", "config", "daemonEndpoints", "features", "nodeInfo", "phase",
                            "runtimeHandlers", "volumesAttached", "volumesInUse"});
      });
    }
    return read.ignore(key, v, {"apiVersion", "kind"});
  });
  if (how.defaulting && !has_allocatable) spec.allocatable = spec.capacity;
  return fine && read_node_reservation(read, of, out) && read_gpu_labels(read, of, out.annotations, spec);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
