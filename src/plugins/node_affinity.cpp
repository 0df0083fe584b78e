#include "gangsched/plugins/node_affinity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE bool read_operator(argument_reader& read, const argument& value, const std::string& path,
                                    selector_operator& out) {
  using op = selector_operator;
  return read.word(value, path,
                   {{"In", op::in},
                    {"NotIn", op::not_in},
                    {"Exists", op::exists},
                    {"DoesNotExist", op::does_not_exist},
                    {"Gt", op::gt},
                    {"Lt", op::lt}},
                   out);
}

GANGSCHED_INLINE bool read_requirements(argument_reader& read, const argument& value, const std::string& path,
                                        std::vector<selector_requirement>& out) {
  return read.items(value, path, [&](const argument& item, const std::string& at) {
    selector_requirement& one = out.emplace_back();
    return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
      if (field == "key") return read.text(v, where, one.key);
      if (field == "operator") return read_operator(read, v, where, one.op);
      if (field == "values") return read.texts(v, where, one.values);
      return read.unknown(where);
    });
  });
}

GANGSCHED_INLINE bool read_term(argument_reader& read, const argument& value, const std::string& path,
                                node_selector_term& out) {
  return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
    if (field == "matchExpressions") {
      if (!read_requirements(read, v, at, out.match_expressions)) return false;
      // Of a pod such a term matches nothing; of a profile upstream refuses it.
      const bool fine = std::all_of(out.match_expressions.begin(), out.match_expressions.end(), parses);
      return fine ||
             read.fail(errc::malformed, at, "has a value that is no label value, or of Gt and Lt no whole number");
    }
    if (field == "matchFields") return read_requirements(read, v, at, out.match_fields);
    return read.unknown(at);
  });
}

GANGSCHED_INLINE bool read_required(argument_reader& read, const argument& value, const std::string& path,
                                    std::vector<node_selector_term>& out) {
  return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
    if (field != "nodeSelectorTerms") return read.unknown(at);
    return read.items(v, at, [&](const argument& item, const std::string& where) {
      return read_term(read, item, where, out.emplace_back());
    });
  });
}

GANGSCHED_INLINE bool read_preferred(argument_reader& read, const argument& value, const std::string& path,
                                     std::vector<preferred_node_term>& out) {
  return read.items(value, path, [&](const argument& item, const std::string& at) {
    preferred_node_term& one = out.emplace_back();
    return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
      if (field == "preference") return read_term(read, v, where, one.term);
      if (field != "weight") return read.unknown(where);
      std::int64_t weight = 0;
      const bool fine = read.number(v, where, 1, 100, weight);
      one.weight = static_cast<std::int32_t>(weight);
      return fine;
    });
  });
}

/// The labels that a term looks at; false if it looks at fields, too.
inline bool put_label_keys(const node_term& term, std::vector<symbol>& keys) {
  for (const node_requirement& one : term.expressions) keys.push_back(one.key);
  return term.fields.empty();
}

}  // namespace detail

GANGSCHED_INLINE bool node_affinity_plugin::filter_label_keys(const choosy& pod, std::vector<symbol>& keys) const {
  if (added_.required) return false;
  for (const label_symbols& pair : pod.node_selector()) keys.push_back(pair.key);
  if (!pod.required_nodes()) return true;
  return std::all_of(pod.required_nodes()->begin(), pod.required_nodes()->end(),
                     [&](const node_term& term) { return detail::put_label_keys(term, keys); });
}

GANGSCHED_INLINE bool node_affinity_plugin::score_label_keys(const choosy& pod, std::vector<symbol>& keys) const {
  if (!added_.preferred.empty()) return false;
  return std::all_of(pod.preferred_nodes().begin(), pod.preferred_nodes().end(),
                     [&](const weighted_node_term& one) { return detail::put_label_keys(one.term, keys); });
}

GANGSCHED_INLINE result<node_affinity_plugin> node_affinity_plugin::from(const argument& args) {
  node_affinity added;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key != "addedAffinity") return read.unknown(path);
    return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
      if (field == "requiredDuringSchedulingIgnoredDuringExecution")
        return detail::read_required(read, v, at, added.required.emplace());
      if (field == "preferredDuringSchedulingIgnoredDuringExecution")
        return detail::read_preferred(read, v, at, added.preferred);
      return read.unknown(at);
    });
  });
  if (!fine) return std::move(read).failure();
  // The rules for its terms are those for a pod's.
  pod_spec carrier;
  carrier.name = "added-affinity";
  carrier.affinity = added;
  if (auto wrong = check(carrier))
    return error{wrong->code, "plugin NodeAffinity", "args.addedAffinity: " + wrong->field, wrong->reason};
  return node_affinity_plugin{std::move(added)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
