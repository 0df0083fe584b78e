#include <algorithm>

#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/pod_counting.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Collects the counters that a class names.
struct counter_names {
  const kube_semantics& semantics;
  interner& names;
  model::topology_table& topologies;
  model::choice_table& choices;
  model::counter_table& counters;
  const std::vector<spread_defaults>& defaults;
  pod_class& made;

  counter_id named(const counter_spec& spec) {
    const counter_id id = counters.number(spec);
    made.counters.named.push_back(id);
    return id;
  }

  /// InterPodAffinity's terms. @p incoming: as upstream reads the terms of the pod that is being placed: a namespace selector that the
  /// empty set of labels satisfies (NotIn and DoesNotExist only) takes in every namespace, unless it is to be as documented.
  model::pod_query query(const pod_affinity_term& term, bool incoming) {
    model::pod_query made_query{term.selector, {}, term.namespace_selector};
    for (const std::string& ns : term.namespaces) made_query.namespaces.push_back(names.intern(ns));
    if (term.namespaces.empty() && !term.namespace_selector) made_query.namespaces.push_back(made.ns);
    incoming = incoming && semantics.has(quirk::negative_namespace_selectors);
    if (incoming && term.namespace_selector && matches(*term.namespace_selector, {})) {
      made_query.namespace_selector = label_selector{};
    }
    std::sort(made_query.namespaces.begin(), made_query.namespaces.end());
    return made_query;
  }
  topology_id topology(const pod_affinity_term& term) { return topologies.number(names.intern(term.topology_key)); }

  void carries(const pod_affinity_term& term, counts what, std::int32_t weight = 0) {
    const scope_id about = counters.scope_number({query(term, false)});
    made.counters.counted.push_back(
        named({.what = what, .weight = weight, .topology = topology(term), .scope = about}));
  }
  counter_id asks(const pod_affinity_term& term) {
    return named({.topology = topology(term), .scope = counters.scope_number({query(term, true)})});
  }

  void affinity() {
    if (!made.affinity_to_pods.required.empty()) {
      model::pod_scope all;
      for (const pod_affinity_term& term : made.affinity_to_pods.required) all.push_back(query(term, true));
      const scope_id scope = counters.scope_number(std::move(all));
      for (const pod_affinity_term& term : made.affinity_to_pods.required) {
        made.counters.affinity.push_back(named({.topology = topology(term), .scope = scope}));
        carries(term, counts::carrying_affinity);
      }
      std::vector<counter_id>& keys = made.counters.affinity;
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    }
    for (const pod_affinity_term& term : made.anti_affinity_to_pods.required) {
      made.counters.anti_affinity.push_back(asks(term));
      carries(term, counts::carrying_anti);
    }
    const auto preferred = [&](const pod_affinity& side, std::int32_t sign) {
      for (const preferred_pod_term& one : side.preferred) {
        made.counters.preferred.push_back({asks(one.term), sign * one.weight});
        carries(one.term, counts::carrying_preference, sign * one.weight);
      }
    };
    preferred(made.affinity_to_pods, +1);
    preferred(made.anti_affinity_to_pods, -1);
  }

  /// PodTopologySpread. A node counts if it has the keys of all constraints of the same kind, but for soft constraints of
  /// the system's defaults, where a missing label is an empty one.
  spread_rule rule(const topology_spread& one, const std::optional<label_selector>& selector,
                   const std::vector<topology_spread>& all, bool system) {
    const bool hard = one.action == when_unsatisfiable::do_not_schedule;
    const symbol key = names.intern(one.topology_key);
    counter_spec spec{.spread = true};
    spec.nobody = selector && selector->match_labels.empty() && selector->match_expressions.empty();
    spec.scope = counters.scope_number({{selector, {made.ns}, std::nullopt}});
    // A soft constraint on the hostname counts the node's own pods, whatever its label says and the policies are.
    if (hard || one.topology_key != "kubernetes.io/hostname") {
      model::node_choice choice;
      for (const topology_spread& other : all) {
        if (other.action != one.action || (system && !hard) || other.topology_key == one.topology_key) continue;
        choice.keys.push_back(names.intern(other.topology_key));
      }
      std::sort(choice.keys.begin(), choice.keys.end());
      choice.keys.erase(std::unique(choice.keys.begin(), choice.keys.end()), choice.keys.end());
      if (one.node_affinity_policy == node_inclusion::honor) {
        choice.node_selector = made.node_selector;
        choice.required = made.required_nodes;
      }
      if (one.node_taints_policy == node_inclusion::honor) {
        choice.taints = true;
        choice.tolerations = made.tolerations;
      }
      spec.nodes = choices.number(std::move(choice));
      spec.topology = topologies.number(key, system && !hard);
    }
    return {named(spec), key, one.max_skew, one.min_domains, one.action};
  }

  void spread() {
    for (const topology_spread& one : made.spread) {
      made.counters.spread.push_back(rule(one, one.selector, made.spread, false));
    }
    if (!made.default_selector) return;
    for (const spread_defaults& set : defaults) {
      std::vector<spread_rule>& rules = made.counters.default_spread.emplace_back();
      for (const topology_spread& one : set.constraints) {
        rules.push_back(rule(one, made.default_selector, set.constraints, set.system));
      }
    }
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE void pod_counting::name_counters(pod_class& made) {
  made.counters = {};
  detail::counter_names all{semantics_, names_, topologies_, choices_, counters_, default_spread, made};
  all.affinity();
  all.spread();
  std::vector<counter_id>& named = made.counters.named;
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
}

GANGSCHED_INLINE void pod_counting::match_counters(pod_class& made, std::vector<counter_id> matched) const {
  pod_counters& of = made.counters;
  const auto counts_pods = [&](counter_id id) { return counters_.spec(id).what == counts::matching; };
  std::erase_if(of.counted, counts_pods);
  of.minded.clear();
  for (const counter_id id : matched) (counts_pods(id) ? of.counted : of.minded).push_back(id);
  of.matched = std::move(matched);
  made.key.resize(made.key_prefix);
  canonical::append(made.key, of.matched, made.default_selector);
  if (made.default_selector) canonical::append(made.key, default_spread.size());
  if (!made.owned.empty()) canonical::append(made.key, made.owned);
}

GANGSCHED_INLINE std::optional<label_selector> pod_counting::default_selector(symbol ns, const label_map& labels,
                                                                              const controller_ref& controller) const {
  label_selector all;
  for (row_t row = 0; row < named_.services.rows.count(); ++row) {
    const service_record* service = named_.services.record[row];
    if (service == nullptr || service->ns != ns || service->spec.selector.empty()) continue;
    if (!matches(label_selector{.match_labels = service->spec.selector}, labels)) continue;
    for (const auto& [key, value] : service->spec.selector) all.match_labels.insert_or_assign(key, value);
  }
  const row_t row = controller.kind == controller_kind::none || controller.kind == controller_kind::daemon_set
                        ? no_row
                        : named_.controllers.by_name.find(ns, controller_key(controller.kind, controller.name));
  if (row != no_row && named_.controllers.record[row]->spec.selector) {
    const label_selector& own = *named_.controllers.record[row]->spec.selector;
    for (const auto& [key, value] : own.match_labels) {
      if (controller.kind == controller_kind::replication_controller)
        all.match_labels.insert_or_assign(key, value);
      else
        all.match_expressions.push_back({key, selector_operator::in, {value}});
    }
    all.match_expressions.insert(all.match_expressions.end(), own.match_expressions.begin(),
                                 own.match_expressions.end());
  }
  if (all.match_labels.empty() && all.match_expressions.empty()) return std::nullopt;
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
