#pragma once
#include "gangsched/model/canonical.hpp"
#include "gangsched/model/pod_class.hpp"

/// Canonical bytes of the constraints between pods and nodes, and among pods: selectors, affinity, spread, taints and tolerations.
namespace gangsched::inline GANGSCHED_ABI::canonical {

template <class Out>
void put(Out& out, const label_symbols& v) {
  put_fields(out, v.key, v.value);
}
template <class Out>
void put(Out& out, const taint_symbols& v) {
  put_fields(out, v.key, v.value, v.effect);
}
template <class Out>
void put(Out& out, const toleration_symbols& v) {
  put_fields(out, v.key, v.value, v.op, v.effect);
}
template <class Out>
void put(Out& out, const taint& v) {
  put_fields(out, v.key, v.value, v.effect);
}
template <class Out>
void put(Out& out, const toleration& v) {
  put_fields(out, v.key, v.op, v.value, v.effect);
}
template <class Out>
void put(Out& out, const selector_requirement& v) {
  put_fields(out, v.key, v.op, v.values);
}
template <class Out>
void put(Out& out, const label_selector& v) {
  put_fields(out, v.match_labels, v.match_expressions);
}
template <class Out>
void put(Out& out, const pod_affinity_term& v) {
  put_fields(out, v.topology_key, v.selector, v.namespaces, v.namespace_selector);
}
template <class Out>
void put(Out& out, const preferred_pod_term& v) {
  put_fields(out, v.weight, v.term);
}
template <class Out>
void put(Out& out, const pod_affinity& v) {
  put_fields(out, v.required, v.preferred);
}
template <class Out>
void put(Out& out, const topology_spread& v) {
  put_fields(out, v.topology_key, v.max_skew, v.action, v.selector, v.min_domains, v.node_affinity_policy,
             v.node_taints_policy, v.match_label_keys);
}
template <class Out>
void put(Out& out, const node_selector_term& v) {
  put_fields(out, v.match_expressions, v.match_fields);
}
template <class Out>
void put(Out& out, const node_requirement& v) {
  put_fields(out, v.key, v.op, v.values, v.bound);
}
template <class Out>
void put(Out& out, const node_term& v) {
  put_fields(out, v.expressions, v.fields, static_cast<std::uint8_t>(v.broken));
}
template <class Out>
void put(Out& out, const weighted_node_term& v) {
  put_fields(out, v.weight, v.term);
}

}  // namespace gangsched::inline GANGSCHED_ABI::canonical
