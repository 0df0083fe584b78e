#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/core/is_among.hpp"
#include "gangsched/model/pod_class.hpp"

/// Node selectors against a node (kube's NodeAffinity). A node is anything with label(symbol), label(string_view), name_symbol(),
/// name() and text(symbol): a view that reads labels and name.
namespace gangsched::inline GANGSCHED_ABI {

/// The number in a gt or lt requirement or in the label it looks at: a signed decimal 64-bit integer, leading zeros and '+' allowed.
[[nodiscard]] GANGSCHED_API std::optional<std::int64_t> selector_number(std::string_view text) noexcept;

/// Whether upstream can parse a requirement on labels: every value is a label value ("-5" is none), for gt and lt a number. The API accepts
/// any value, and a term with one that does not parse matches nothing.
[[nodiscard]] GANGSCHED_API bool parses(const selector_requirement& wanted) noexcept;

namespace detail {

/// A node has one field.
template <class Name>
std::optional<Name> if_name(std::string_view field, Name name) {
  return field == "metadata.name" ? std::optional{name} : std::nullopt;
}

/// How an operator compares a label value: whether it exists, whether it is among the requirement's values, and as numbers.
template <class Listed, class Number>
bool requirement_holds(selector_operator op, bool present, const Listed& listed, const Number& number,
                       const std::optional<std::int64_t>& bound) {
  switch (op) {
    case selector_operator::in: return present && listed();
    case selector_operator::not_in: return !present || !listed();
    case selector_operator::exists: return present;
    case selector_operator::does_not_exist: return !present;
    case selector_operator::gt:
    case selector_operator::lt: {
      if (!present || !bound) return false;
      const std::optional<std::int64_t> value = number();
      return value && (op == selector_operator::gt ? *value > *bound : *value < *bound);
    }
  }
  return false;
}

template <class Node>
bool requirement_matches(const node_requirement& wanted, std::optional<symbol> value, const Node& node) {
  return requirement_holds(
      wanted.op, value.has_value(), [&] { return is_among(*value, wanted.values); },
      [&] { return selector_number(node.text(*value)); }, wanted.bound);
}
inline bool requirement_matches(const selector_requirement& wanted, std::optional<std::string_view> value) {
  const bool numeric = wanted.op == selector_operator::gt || wanted.op == selector_operator::lt;
  return requirement_holds(
      wanted.op, value.has_value(), [&] { return is_among(*value, wanted.values); },
      [&] { return selector_number(*value); },
      numeric && !wanted.values.empty() ? selector_number(wanted.values.front()) : std::nullopt);
}

}  // namespace detail

/// Whether all requirements hold and there is one. O(requirements · (log labels + values)).
template <class Node>
[[nodiscard]] bool matches(const node_term& term, const Node& node) {
  if (term.broken || (term.expressions.empty() && term.fields.empty())) return false;
  for (const node_requirement& one : term.expressions)
    if (!detail::requirement_matches(one, node.label(one.key), node)) return false;
  for (const node_requirement& one : term.fields)
    if (!detail::requirement_matches(one, detail::if_name(node.text(one.key), node.name_symbol()), node)) return false;
  return true;
}

/// The same for a term in the host's form: of a plugin's arguments, for example, whose strings need not be interned.
template <class Node>
[[nodiscard]] bool matches(const node_selector_term& term, const Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const selector_requirement& one : term.match_expressions)
    if (!parses(one) || !detail::requirement_matches(one, node.label(std::string_view{one.key}))) return false;
  for (const selector_requirement& one : term.match_fields)
    if (!detail::requirement_matches(one, detail::if_name(one.key, node.name()))) return false;
  return true;
}

/// The node that a term names, or that it names two different ones.
struct named_node {
  symbol name;
  bool conflict = false;
};
/// Nothing if the term names no node. O(fields).
[[nodiscard]] inline std::optional<named_node> node_named_by(const node_term& term) {
  std::optional<named_node> chosen;
  for (const node_requirement& one : term.fields) {
    if (one.op != selector_operator::in) continue;
    if (!chosen)
      chosen = named_node{one.values.front()};
    else
      chosen->conflict |= one.values.front() != chosen->name;
  }
  return chosen;
}
/// The one node that required affinity restricts a pod to by its name, as for DaemonSets' pods; nothing if it names none, or several.
/// O(terms · fields).
[[nodiscard]] inline std::optional<symbol> required_node(const pod_class& pod) {
  if (!pod.required_nodes) return std::nullopt;
  std::optional<symbol> found;
  for (const node_term& term : *pod.required_nodes) {
    const std::optional<named_node> one = node_named_by(term);
    if (one && one->conflict) continue;  // no node meets it
    if (!one || (found && *found != one->name)) return std::nullopt;
    found = one->name;
  }
  return found;
}

/// nodeSelector and required node affinity: every pair, and one term.
template <class Node>
[[nodiscard]] bool matches_required(std::span<const label_symbols> node_selector,
                                    const std::optional<std::vector<node_term>>& required, const Node& node) {
  for (const label_symbols& pair : node_selector)
    if (node.label(pair.key) != pair.value) return false;
  if (!required) return true;
  for (const node_term& term : *required)
    if (matches(term, node)) return true;
  return false;
}
/// Those of a class.
template <class Node>
[[nodiscard]] bool matches_required(const pod_class& pod, const Node& node) {
  return matches_required(pod.node_selector, pod.required_nodes, node);
}

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_selector.cpp"
#endif
