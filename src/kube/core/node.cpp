#include <fmt/format.h>

#include "gangsched/model/name_rules.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/devices/devices.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_effect(reader& read, const place& of, std::optional<taint_effect>& out) {
  if (of.at->kind == value_kind::text && of.at->text.empty()) return true;
  return read.word(of, out.emplace(),
                   {{"NoSchedule", taint_effect::no_schedule},
                    {"PreferNoSchedule", taint_effect::prefer_no_schedule},
                    {"NoExecute", taint_effect::no_execute}});
}

bool read_taint(reader& read, const place& of, taint& out) {
  std::optional<taint_effect> effect;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "key") return read.text(v, out.key);
    if (key == "value") return read.text(v, out.value);
    if (key == "effect") return read_effect(read, v, effect);
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
        return read.list(w, spec.taints, [&](const place& item, taint& one) { return read_taint(read, item, one); });
      });
    }
    if (key == "status") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "allocatable") return has_allocatable = true, read_node_amounts(read, w, spec.allocatable);
        if (field == "capacity") return read_node_amounts(read, w, spec.capacity);
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
                           {"addresses", "conditions", "config", "daemonEndpoints", "declaredFeatures", "features",
                            "nodeInfo", "phase", "runtimeHandlers", "volumesAttached", "volumesInUse"});
      });
    }
    return read.ignore(key, v, {"apiVersion", "kind"});
  });
  if (how.defaulting && !has_allocatable) spec.allocatable = spec.capacity;
  return fine && read_gpu_labels(read, of, out.annotations, spec);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
