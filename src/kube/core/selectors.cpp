#include <utility>

#include "gangsched/src/kube/core/objects.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_requirement(reader& read, const place& of, selector_requirement& out, bool numeric) {
  using op = selector_operator;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "key") return read.text(v, out.key);
    if (key == "values") return read.texts(v, out.values);
    if (key != "operator") return read.ignore(key, v, {});
    if (numeric) {
      return read.word(v, out.op,
                       {{"In", op::in},
                        {"NotIn", op::not_in},
                        {"Exists", op::exists},
                        {"DoesNotExist", op::does_not_exist},
                        {"Gt", op::gt},
                        {"Lt", op::lt}});
    }
    return read.word(
        v, out.op,
        {{"In", op::in}, {"NotIn", op::not_in}, {"Exists", op::exists}, {"DoesNotExist", op::does_not_exist}});
  });
}

/// An operator has no default: without this check "In" would be one.
bool has_operator(reader& read, const place& of) {
  const value* found = of.at->find("operator");
  if (found != nullptr && found->kind != value_kind::null) return true;
  return read.fail(errc::malformed, of, "needs an operator");
}

bool read_requirements(reader& read, const place& of, std::vector<selector_requirement>& out, bool numeric) {
  return read.list(of, out, [&](const place& item, selector_requirement& one) {
    return read_requirement(read, item, one, numeric) && has_operator(read, item);
  });
}

bool read_node_term(reader& read, const place& of, node_selector_term& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "matchExpressions") return read_requirements(read, v, out.match_expressions, true);
    if (key == "matchFields") return read_requirements(read, v, out.match_fields, true);
    return read.ignore(key, v, {});
  });
}

bool read_node_affinity(reader& read, const place& of, node_affinity& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution")
      return read_node_selector(read, v, out.required.emplace());
    if (key != "preferredDuringSchedulingIgnoredDuringExecution") return read.ignore(key, v, {});
    return read.list(v, out.preferred, [&](const place& item, preferred_node_term& one) {
      one.weight = 0;
      return read.fields(item, [&](std::string_view field, const place& w) {
        if (field == "weight") return read.integer(w, one.weight);
        if (field == "preference") return read_node_term(read, w, one.term);
        return read.ignore(field, w, {});
      });
    });
  });
}

/// The API server writes the two lists of keys into the selector; what is there already was merged before.
void merge_label_keys(const label_map& labels, const std::vector<std::string>& keys, selector_operator op,
                      std::optional<label_selector>& into) {
  if (!into) return;
  for (const std::string& key : keys) {
    const auto label = labels.find(key);
    if (label == labels.end() || into->match_labels.find(key) != into->match_labels.end()) continue;
    bool there = false;
    for (const selector_requirement& one : into->match_expressions) there = there || one.key == key;
    if (!there) into->match_expressions.push_back({key, op, {label->second}});
  }
}

bool read_pod_term(reader& read, const place& of, pod_affinity_term& out, term_label_keys at,
                   std::vector<term_label_keys>& keys) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "topologyKey") return read.text(v, out.topology_key);
    if (key == "labelSelector") return read_label_selector(read, v, out.selector.emplace());
    if (key == "namespaces") return read.texts(v, out.namespaces);
    if (key == "namespaceSelector") return read_label_selector(read, v, out.namespace_selector.emplace());
    if (key == "matchLabelKeys") return read.texts(v, at.match);
    if (key == "mismatchLabelKeys") return read.texts(v, at.mismatch);
    return read.ignore(key, v, {});
  });
  if (!at.match.empty() || !at.mismatch.empty()) keys.push_back(std::move(at));
  return fine;
}

void merge_label_keys(pod_spec& pod, const std::vector<term_label_keys>& keys) {
  for (const term_label_keys& one : keys) {
    pod_affinity& list = one.anti ? pod.anti_affinity_to_pods : pod.affinity_to_pods;
    pod_affinity_term& term = one.preferred ? list.preferred[one.term].term : list.required[one.term];
    merge_label_keys(pod.labels, one.match, selector_operator::in, term.selector);
    merge_label_keys(pod.labels, one.mismatch, selector_operator::not_in, term.selector);
  }
}

bool read_pod_affinity(reader& read, const place& of, bool anti, pod_affinity& out,
                       std::vector<term_label_keys>& keys) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      return read.list(v, out.required, [&](const place& item, pod_affinity_term& one) {
        return read_pod_term(read, item, one, {.anti = anti, .term = out.required.size() - 1}, keys);
      });
    }
    if (key != "preferredDuringSchedulingIgnoredDuringExecution") return read.ignore(key, v, {});
    return read.list(v, out.preferred, [&](const place& item, preferred_pod_term& one) {
      one.weight = 0;
      return read.fields(item, [&](std::string_view field, const place& w) {
        if (field == "weight") return read.integer(w, one.weight);
        if (field == "podAffinityTerm") {
          return read_pod_term(read, w, one.term, {.anti = anti, .preferred = true, .term = out.preferred.size() - 1},
                               keys);
        }
        return read.ignore(field, w, {});
      });
    });
  });
}

bool read_label_selector(reader& read, const place& of, label_selector& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "matchLabels") return read.texts_by_name(v, out.match_labels);
    if (key == "matchExpressions") return read_requirements(read, v, out.match_expressions, false);
    return read.ignore(key, v, {});
  });
}

bool read_node_selector(reader& read, const place& of, std::vector<node_selector_term>& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "nodeSelectorTerms") return read.ignore(key, v, {});
    return read.list(v, out,
                     [&](const place& item, node_selector_term& one) { return read_node_term(read, item, one); });
  });
}

bool read_affinity(reader& read, const place& of, pod_spec& out, std::vector<term_label_keys>& keys) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "nodeAffinity") return read_node_affinity(read, v, out.affinity);
    if (key == "podAffinity") return read_pod_affinity(read, v, false, out.affinity_to_pods, keys);
    if (key == "podAntiAffinity") return read_pod_affinity(read, v, true, out.anti_affinity_to_pods, keys);
    return read.ignore(key, v, {});
  });
}

bool read_spread(reader& read, const place& of, topology_spread& out) {
  const std::initializer_list<std::pair<std::string_view, node_inclusion>> policies = {
      {"Honor", node_inclusion::honor}, {"Ignore", node_inclusion::ignore}};
  bool acts = false;
  out.max_skew = 0;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "topologyKey") return read.text(v, out.topology_key);
    if (key == "maxSkew") return read.integer(v, out.max_skew);
    if (key == "whenUnsatisfiable") {
      acts = true;
      return read.word(v, out.action,
                       {{"DoNotSchedule", when_unsatisfiable::do_not_schedule},
                        {"ScheduleAnyway", when_unsatisfiable::schedule_anyway}});
    }
    if (key == "labelSelector") return read_label_selector(read, v, out.selector.emplace());
    if (key == "minDomains") return read.integer(v, out.min_domains);
    if (key == "nodeAffinityPolicy") return read.word(v, out.node_affinity_policy, policies);
    if (key == "nodeTaintsPolicy") return read.word(v, out.node_taints_policy, policies);
    if (key == "matchLabelKeys") return read.texts(v, out.match_label_keys);
    return read.ignore(key, v, {});
  });
  if (fine && !acts) return read.fail(errc::malformed, of, "needs whenUnsatisfiable");
  return fine;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
