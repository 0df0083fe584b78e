#include <fmt/format.h>

#include <charconv>

#include "conformance/cases.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/node_selector.hpp"
#include "gangsched/model/validate.hpp"

// quantities.jsonl and selectors.jsonl: a row is a case of one step.
namespace gangsched::conformance {
namespace {

bool is_true(const kube::value& of, std::string_view key) {
  const kube::value* found = of.find(key);
  return found != nullptr && found->text == "true";
}

/// An integer in the recording, or the words of an overflow.
std::string integer(const result<std::int64_t>& of) { return of ? fmt::format("{}", *of) : std::string{"overflow"}; }

std::string_view format_name(quantity_format format) {
  switch (format) {
    case quantity_format::decimal_si: return "DecimalSI";
    case quantity_format::binary_si: return "BinarySI";
    case quantity_format::decimal_exponent: return "DecimalExponent";
  }
  return "?";
}

/// A recorded selector may break the rules for label values: then it does not parse, as the library's check says.
enum class verdict { match, nomatch, error };
std::string_view name_of(verdict v) {
  return v == verdict::match ? "match" : v == verdict::nomatch ? "nomatch" : "error";
}

label_map labels_of(const kube::value& of, const std::string& file) {
  label_map made;
  const kube::value* found = of.find("labels");
  if (found == nullptr || found->kind == kube::value_kind::null) return made;
  if (found->kind != kube::value_kind::object) refuse(file, *found, "labels have to be an object");
  for (std::size_t i = 0; i < found->keys.size(); ++i) made[found->keys[i]] = found->items[i].text;
  return made;
}

verdict label_verdict(const kube::value& recorded, const label_map& labels, const std::string& file) {
  const kube::value& selector = field(recorded, "selector", file);
  if (selector.kind == kube::value_kind::null) return verdict::nomatch;
  const auto read = kube::read_label_selector(selector, file);
  if (!read) return verdict::error;
  pod_spec carrier;
  carrier.name = "x";
  carrier.affinity_to_pods.required.push_back({"x", *read});
  if (check(carrier)) return verdict::error;
  return matches(*read, labels) ? verdict::match : verdict::nomatch;
}

/// What selectors ask of a node.
struct bare_node {
  std::string node_name;
  label_map labels;
  [[nodiscard]] std::optional<std::string_view> label(std::string_view key) const {
    const auto found = labels.find(std::string{key});
    if (found == labels.end()) return std::nullopt;
    return std::string_view{found->second};
  }
  [[nodiscard]] std::string_view name() const { return node_name; }
};

/// Upstream: a matching term wins; else an error if some term does not parse.
verdict node_verdict_of(const kube::value& recorded, const bare_node& node, const std::string& file) {
  const kube::value& selector = field(recorded, "nodeSelector", file);
  const kube::value* terms = selector.find("nodeSelectorTerms");
  bool broken = false;
  if (terms == nullptr) return verdict::nomatch;
  for (const kube::value& item : terms->items) {
    kube::value one{.kind = kube::value_kind::object, .line = item.line, .keys = {"nodeSelectorTerms"}};
    one.items.push_back({.kind = kube::value_kind::list, .line = item.line, .items = {item}});
    const auto read = kube::read_node_selector(one, file);
    if (!read) {
      broken = true;
      continue;
    }
    pod_spec carrier;
    carrier.name = "x";
    carrier.affinity.required = *read;
    // The API has one field; upstream's matching takes any, and a node has none of the others.
    for (selector_requirement& wanted : carrier.affinity.required->front().match_fields) wanted.key = "metadata.name";
    const node_selector_term& term = read->front();
    bool parses_all = !check(carrier);
    for (const selector_requirement& wanted : term.match_expressions) parses_all = parses_all && parses(wanted);
    if (matches(term, node) && parses_all) return verdict::match;
    broken = broken || !parses_all;
  }
  return broken ? verdict::error : verdict::nomatch;
}

}  // namespace

void run_quantity_row(const kube::value& recorded, const std::string& file, tally& into) {
  ++into.steps;
  const std::string& text = text_field(recorded, "in", file);
  const std::string where = fmt::format("{}:{} \"{}\"", file, recorded.line, text);
  const bool ok = is_true(recorded, "ok");
  const auto parsed = quantity::parse(text);
  const std::string mantissa = text.substr(0, text.find_first_not_of("+-.0123456789"));
  const bool digits = mantissa.find_first_of("0123456789") != std::string::npos;
  if (!digits) {  // upstream takes these for 0, the library refuses them: quantity.hpp
    if (parsed) into.add({where, "parse", "", "an error", parsed->to_string()});
    return;
  }
  // Beyond 2^127 nanos the library gives an error where upstream has a number that it cannot use.
  const bool beyond = is_true(recorded, "valueOverflow") && is_true(recorded, "milliOverflow");
  if (!parsed && parsed.error().code == errc::out_of_range && ok && beyond) return;
  if (parsed.has_value() != ok) {
    into.add(
        {where, "parse", "", ok ? "a quantity" : "an error", parsed ? parsed->to_string() : parsed.error().message()});
    return;
  }
  if (!ok) return;
  const auto compare = [&](std::string_view key, const std::string& got) {
    const std::string expected =
        is_true(recorded, fmt::format("{}Overflow", key)) ? "overflow" : text_field(recorded, key, file);
    // Without the overflow mark of this reading the recorded number counts.
    if (expected != got) into.add({where, std::string{key}, "", expected, got});
  };
  // Of negative amounts outside its 64-bit form upstream's integers are accidents ("-1.1n" has value 1); the library
  // rounds away from zero, and no amount of a resource is negative.
  if (!parsed->negative()) {
    compare("value", integer(parsed->value()));
    compare("milli", integer(parsed->milli_value()));
  }
  const std::string& format = text_field(recorded, "format", file);
  if (format != format_name(parsed->format()))
    into.add({where, "format", "", format, std::string{format_name(parsed->format())}});
  const std::string& canonical = text_field(recorded, "canonical", file);
  const auto same = quantity::parse(canonical);
  if (!same || *same != *parsed) into.add({where, "canonical", "", canonical, parsed->to_string()});
  const auto ours = quantity::parse(parsed->to_string());
  if (!ours || *ours != *parsed) into.add({where, "canonical", "", canonical, parsed->to_string()});
}

void run_selector_row(const kube::value& recorded, const std::string& file, tally& into) {
  ++into.steps;
  const std::string& kind = text_field(recorded, "kind", file);
  const label_map labels = labels_of(recorded, file);
  verdict got = verdict::error;
  if (kind == "label") {
    got = label_verdict(recorded, labels, file);
  } else if (kind == "node") {
    const kube::value* name = recorded.find("name");
    got = node_verdict_of(recorded, bare_node{name == nullptr ? std::string{} : name->text, labels}, file);
  } else {
    refuse(file, recorded, "kind \"" + kind + "\" is neither label nor node");
  }
  const std::string& expected = text_field(recorded, "result", file);
  if (expected != name_of(got)) {
    const kube::value* selector = recorded.find(kind == "label" ? "selector" : "nodeSelector");
    into.add({fmt::format("{}:{} {}", file, recorded.line, selector == nullptr ? "" : to_json(*selector)), "selector",
              "", expected, std::string{name_of(got)}});
  }
}

}  // namespace gangsched::conformance
