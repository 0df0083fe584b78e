#include <algorithm>
#include <charconv>
#include <limits>

#include "gangsched/src/kube/core/objects.hpp"

// The small objects: namespaces, priority classes, services, budgets.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

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

/// What PreemptionToleration reads of a class. If a text is no number, any pod may preempt its pods, as upstream.
static void read_toleration(reader& read, const place& of, const label_map& annotations, priority_class_spec& out) {
  const auto number = [&](const char* key, auto fallback) {
    const auto found = annotations.find(std::string{"preemption-toleration.scheduling.x-k8s.io/"} + key);
    if (found == annotations.end()) return true;
    std::string_view text = found->second;
    if (text.starts_with('+')) text.remove_prefix(1);  // Go's ParseInt takes one
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), fallback);
    if (bad != std::errc{} || end != text.data() + text.size() || text.starts_with('+')) return false;
    if constexpr (sizeof(fallback) == 4)
      out.minimum_preemptable = fallback;
    else
      out.toleration_seconds = fallback;
    return true;
  };
  if (number("minimum-preemptable-priority", std::int32_t{}) && number("toleration-seconds", std::int64_t{})) return;
  static_cast<void>(read.warn(of, "PreemptionToleration's annotations are not numbers: anybody may take its pods"));
  out.minimum_preemptable = std::numeric_limits<std::int32_t>::min();
}

bool read_priority_class(reader& read, const place& of, priority_class_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      out.name = std::move(meta.name);
      read_toleration(read, v, meta.annotations, out);
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

bool read_names(reader& read, const place& of, std::string& name, std::string& ns) {
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

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
