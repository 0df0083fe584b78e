#include <algorithm>
#include <charconv>

#include "gangsched/src/kube/reader.hpp"

// The small objects: namespaces, priority classes, groups, services, budgets.
namespace gangsched::kube::detail {

bool read_namespace(reader& read, const place& of, namespace_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "metadata") return read.ignore(key, v, {"apiVersion", "kind", "spec", "status"});
    object_meta meta;
    if (!read_meta(read, v, meta)) return false;
    out.name = std::move(meta.name);
    out.labels = std::move(meta.labels);
    out.labels.emplace("kubernetes.io/metadata.name", out.name);  // the API server's own
    return true;
  });
}

bool read_priority_class(reader& read, const place& of, priority_class_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      out.name = std::move(meta.name);
      return true;
    }
    if (key == "value") return read.integer(v, out.value);
    if (key == "globalDefault") return read.boolean(v, out.global_default);
    if (key == "preemptionPolicy") {
      return read.word(
          v, out.preemption,
          {{"PreemptLowerPriority", preemption_policy::preempt_lower_priority}, {"Never", preemption_policy::never}});
    }
    return read.ignore(key, v, {"apiVersion", "kind", "description"});
  });
}

/// One of basic and gang. Error: none, or both.
bool read_group_policy(reader& read, const place& of, group_spec& out) {
  int policies = 0;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "basic") {
      ++policies;
      out.policy = basic{};
      return read.fields(v, [&](std::string_view field, const place& w) { return read.ignore(field, w, {}); });
    }
    if (key != "gang") return read.ignore(key, v, {});
    ++policies;
    gang made{.min_count = 0};
    const bool good = read.fields(v, [&](std::string_view field, const place& w) {
      return field == "minCount" ? read.integer(w, made.min_count) : read.ignore(field, w, {});
    });
    out.policy = made;
    return good;
  });
  if (fine && policies != 1) return read.fail(errc::malformed, of, "needs either basic or gang");
  return fine;
}

bool read_pod_group(reader& read, const place& of, group_manifest& out) {
  group_spec& spec = out.spec;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      spec.name = std::move(meta.name);
      if (!meta.ns.empty()) spec.ns = std::move(meta.ns);
      return true;
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    if (v.at->find("schedulingPolicy") == nullptr) return read.fail(errc::malformed, v, "needs a schedulingPolicy");
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "schedulingPolicy") return read_group_policy(read, w, spec);
      if (field == "priority") return read.integer(w, spec.priority.emplace());
      if (field == "priorityClassName") return read.text(w, out.priority_class);
      if (field == "schedulingConstraints") {
        return read.fields(w, [&](std::string_view name, const place& x) {
          if (name != "topology") return read.ignore(name, x, {});
          if (x.at->items.size() > 1) return read.fail(errc::malformed, x, "has at most one entry");
          return read.items(x, [&](const place& item) {
            return read.fields(item, [&](std::string_view word, const place& y) {
              return word == "key" ? read.text(y, spec.topology.within.emplace_back()) : read.ignore(word, y, {});
            });
          });
        });
      }
      for (const std::string_view other :
           {"disruptionMode", "preemptionPolicy", "resourceClaims", "parentCompositePodGroupName"}) {
        if (field == other) return read.warn(w, "is not modelled; it is left out");
      }
      return read.ignore(field, w, {"workloadRef", "podGroupTemplateRef"});
    });
  });
}

bool read_workload(reader& read, const place& of, std::vector<group_manifest>& out) {
  object_meta meta;
  if (const value* found = of.at->find("metadata"); found != nullptr && found->kind != value_kind::null) {
    if (!read_meta(read, {found, &of, "metadata"}, meta)) return false;
  }
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "metadata", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "compositePodGroupTemplates") return read.warn(w, "composite groups are not modelled");
      if (field != "podGroups") return read.ignore(field, w, {"controllerRef", "podGroupTemplates"});
      return read.items(w, [&](const place& item) {
        group_manifest& one = out.emplace_back();
        if (!meta.ns.empty()) one.spec.ns = meta.ns;
        one.from.line = item.at->line;
        std::string name;
        const bool fine = read.fields(item, [&](std::string_view word, const place& x) {
          if (word == "name") return read.text(x, name);
          if (word == "policy") return read_group_policy(read, x, one.spec);
          return read.ignore(word, x, {});
        });
        one.spec.name = meta.name + "-" + name;
        return fine;
      });
    });
  });
}

/// Names an object that lives in a namespace; without one it is the default one.
static bool read_names(reader& read, const place& of, std::string& name, std::string& ns) {
  object_meta meta;
  if (!read_meta(read, of, meta)) return false;
  name = std::move(meta.name);
  ns = meta.ns.empty() ? "default" : std::move(meta.ns);
  return true;
}

bool read_service(reader& read, const place& of, service_manifest& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, out.name, out.ns);
    // Of a service nothing but the selector is read: its other fields are many, and none is about pods.
    if (key == "spec") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        return field != "selector" || read.texts_by_name(w, out.selector);
      });
    }
    return read.ignore(key, v, {"apiVersion", "kind", "status"});
  });
}

bool read_count_or_percent(reader& read, const place& of, count_or_percent& out) {
  if (of.at->kind == value_kind::number)
    return read.integer(of, out.number, 0, std::numeric_limits<std::int32_t>::max());
  std::string word;
  if (!read.text(of, word)) return false;
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), out.number);
  out.percent = true;
  const bool fits = wrong == std::errc{} && end == word.data() + word.size() - 1 && *end == '%' && out.number >= 0 &&
                    out.number <= 100;
  return fits || read.fail(errc::malformed, of, "\"" + word + "\" is neither a number nor a percentage like 20%");
}

bool read_budget(reader& read, const place& of, disruption_budget_manifest& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, out.name, out.ns);
    if (key == "spec") {
      const bool fine = read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "selector") return read_label_selector(read, w, out.selector.emplace());
        if (field == "minAvailable") return read_count_or_percent(read, w, out.min_available.emplace());
        if (field == "maxUnavailable") return read_count_or_percent(read, w, out.max_unavailable.emplace());
        return read.ignore(field, w, {"unhealthyPodEvictionPolicy"});
      });
      if (fine && out.min_available && out.max_unavailable)
        return read.fail(errc::malformed, v, "minAvailable and maxUnavailable exclude each other");
      return fine;
    }
    if (key == "status") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "disruptionsAllowed") return read.integer(w, out.disruptions_allowed.emplace());
        if (field != "disruptedPods")
          return read.ignore(field, w,
                             {"conditions", "currentHealthy", "desiredHealthy", "expectedPods", "observedGeneration"});
        const bool fine = read.fields(w, [&](std::string_view pod, const place&) {
          out.disrupted_pods.emplace_back(pod);
          return true;
        });
        std::sort(out.disrupted_pods.begin(), out.disrupted_pods.end());
        return fine;
      });
    }
    return read.ignore(key, v, {"apiVersion", "kind"});
  });
}

}  // namespace gangsched::kube::detail
