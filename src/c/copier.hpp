#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/c/objects.h"
#include "gangsched/model/spec.hpp"
#include "gangsched/src/c/handles.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {

/// Which field is meant, as "affinity.required[1].match_fields". It is put into words only if something is wrong there. It knows the
/// place around it by its address: one that is not named lives until the end of the expression.
class place {
 public:
  place(const char* name) noexcept : name_(name) {}
  place(const place& around, const char* name) noexcept : around_(&around), name_(name) {}
  place(const place& around, std::size_t index) noexcept : around_(&around), index_(index) {}

  [[nodiscard]] std::string text() const {
    std::string made = around_ == nullptr ? std::string{} : around_->text();
    if (name_ == nullptr) return (made += "[" + std::to_string(index_)) += "]";
    return (around_ == nullptr ? made : made += ".") += name_;
  }

 private:
  const place* around_ = nullptr;
  const char* name_ = nullptr;
  std::size_t index_ = 0;
};

/// Copies what a struct points to; the first thing that is wrong is kept, and the rest is read as if it were not there.
class copier {
 public:
  copier(const char* kind, const char* ns, const char* name) : kind_(kind), ns_(text(ns)), name_(text(name)) {}

  template <class Spec>
  result<Spec> done(Spec&& made) {
    if (wrong_) return *std::move(wrong_);
    return std::forward<Spec>(made);
  }

  void fail(errc code, std::string field, std::string reason) {
    if (wrong_) return;
    std::string object = std::string{kind_} + " ";
    if (!ns_.empty()) (object += ns_) += "/";
    wrong_ = error{code, object.append(name_), std::move(field), std::move(reason)};
  }

  /// Whether @p items may be read: something is there if something is counted.
  template <class Item>
  bool there(const Item* items, std::size_t count, const place& field) {
    if (items != nullptr || count == 0) return count != 0;
    fail(errc::malformed, field.text(), "is null, and not empty");
    return false;
  }

  /// Calls visit(element, its place in words) for each struct of an array, whose elements have the size that the first one says.
  template <class Struct, class Visit>
  void each_sized(const Struct* items, std::size_t count, const place& field, Visit&& visit) {
    if (!there(items, count, field)) return;
    const std::size_t stride = items->struct_size;
    const auto* at = reinterpret_cast<const unsigned char*>(items);
    for (std::size_t i = 0; i < count; ++i, at += stride) {
      const auto one = sized(reinterpret_cast<const Struct*>(at), stride);
      if (!one)
        return fail(errc::malformed, place{place{field, i}, "struct_size"}.text(), "is not what the library can read");
      visit(*one);
    }
  }

  template <class Enum>
  void pick(std::int32_t from, Enum last, Enum& into, const place& field) {
    if (from < 0 || from > static_cast<std::int32_t>(last))
      return fail(errc::out_of_range, field.text(), std::to_string(from) + " is none of them");
    into = static_cast<Enum>(from);
  }

  label_map pairs(const gangsched_pairs& from, const place& field) {
    label_map made;
    if (!there(from.items, from.count, field)) return made;
    made.reserve(from.count);
    for (std::size_t i = 0; i < from.count; ++i) {
      const gangsched_pair& one = from.items[i];
      if (!made.insert({std::string{text(one.key)}, std::string{text(one.value)}}).second)
        fail(errc::duplicate, field.text(), "\"" + std::string{text(one.key)} + "\" is there twice");
    }
    return made;
  }

  std::vector<std::string> texts(const gangsched_texts& from, const place& field) {
    std::vector<std::string> made;
    if (!there(from.items, from.count, field)) return made;
    made.reserve(from.count);
    for (std::size_t i = 0; i < from.count; ++i) made.emplace_back(text(from.items[i]));
    return made;
  }

  quantity amount(const gangsched_amount& from, const place& field) {
    const auto named = [&] { return field.text() + "[" + std::string{text(from.resource)} + "]"; };
    if (from.quantity != nullptr) {
      auto parsed = quantity::parse(from.quantity);
      if (parsed) return *parsed;
      fail(parsed.error().code, named(), "\"" + std::string{from.quantity} + "\" " + parsed.error().reason);
      return {};
    }
    constexpr std::int32_t least = -9, most = 18;
    if (from.scale == 0) return from.value;
    if (from.scale < least || from.scale > most) {
      fail(errc::out_of_range, named(), "a scale of " + std::to_string(from.scale) + ", not from -9 to 18");
      return {};
    }
    quantity::nanos_t nanos = from.value;
    for (std::int32_t power = least; power < from.scale; ++power) {
      if (!__builtin_mul_overflow(nanos, quantity::nanos_t{10}, &nanos)) continue;
      fail(errc::out_of_range, named(), "is more than a quantity can be");
      return {};
    }
    return quantity::from_nanos(nanos);
  }

  resource_list amounts(const gangsched_amounts& from, const place& field) {
    resource_list made;
    if (!there(from.items, from.count, field)) return made;
    made.reserve(from.count);
    for (std::size_t i = 0; i < from.count; ++i) {
      const gangsched_amount& one = from.items[i];
      if (!made.insert({std::string{text(one.resource)}, amount(one, field)}).second)
        fail(errc::duplicate, field.text(), "\"" + std::string{text(one.resource)} + "\" is there twice");
    }
    return made;
  }

  std::vector<taint> taints(const gangsched_taint* from, std::size_t count) {
    std::vector<taint> made;
    if (!there(from, count, "taints")) return made;
    const place all{"taints"};
    for (std::size_t i = 0; i < count; ++i) {
      taint& one = made.emplace_back(taint{std::string{text(from[i].key)}, std::string{text(from[i].value)}});
      if (from[i].effect != 0)
        pick(from[i].effect - 1, taint_effect::no_execute, one.effect, {place{all, i}, "effect"});
    }
    return made;
  }

  std::vector<toleration> tolerations(const gangsched_toleration* from, std::size_t count) {
    std::vector<toleration> made;
    if (!there(from, count, "tolerations")) return made;
    const place all{"tolerations"};
    for (std::size_t i = 0; i < count; ++i) {
      toleration& one = made.emplace_back();
      one.key = text(from[i].key);
      one.value = text(from[i].value);
      if (from[i].exists) one.op = toleration_operator::exists;
      if (from[i].effect != 0)
        pick(from[i].effect - 1, taint_effect::no_execute, one.effect.emplace(), {place{all, i}, "effect"});
    }
    return made;
  }

  std::vector<selector_requirement> requirements(const gangsched_requirements& from, const place& field) {
    std::vector<selector_requirement> made;
    if (!there(from.items, from.count, field)) return made;
    for (std::size_t i = 0; i < from.count; ++i) {
      selector_requirement& one = made.emplace_back();
      one.key = text(from.items[i].key);
      const place its{field, i};
      pick(from.items[i].op, selector_operator::lt, one.op, {its, "op"});
      one.values = texts(from.items[i].values, {its, "values"});
    }
    return made;
  }

  std::optional<label_selector> selector(const gangsched_selector* from, const place& field) {
    if (from == nullptr) return std::nullopt;
    return label_selector{pairs(from->match_labels, {field, "match_labels"}),
                          requirements(from->match_expressions, {field, "match_expressions"})};
  }

  node_selector_term term(const gangsched_node_term& from, const place& field) {
    return {requirements(from.match_expressions, {field, "match_expressions"}),
            requirements(from.match_fields, {field, "match_fields"})};
  }

  pod_affinity_term term(const gangsched_pod_term& from, const place& field) {
    return {std::string{text(from.topology_key)}, selector(from.selector, {field, "selector"}),
            texts(from.namespaces, {field, "namespaces"}),
            selector(from.namespace_selector, {field, "namespace_selector"})};
  }
  void terms(const gangsched_pod_terms& required, const gangsched_pod_terms& preferred, pod_affinity& into,
             const place& field) {
    const place its_required{field, "required"}, its_preferred{field, "preferred"};
    if (there(required.items, required.count, its_required))
      for (std::size_t i = 0; i < required.count; ++i)
        into.required.push_back(term(required.items[i], {its_required, i}));
    if (there(preferred.items, preferred.count, its_preferred))
      for (std::size_t i = 0; i < preferred.count; ++i)
        into.preferred.push_back({preferred.items[i].weight, term(preferred.items[i], {its_preferred, i})});
  }

  std::vector<container> containers(const gangsched_container* from, std::size_t count, const place& field) {
    std::vector<container> made;
    each_sized(from, count, field, [&](const gangsched_container& one) {
      const place its{field, made.size()}, ports{its, "ports"};
      container& to = made.emplace_back();
      to.requests = amounts(one.requests, {its, "requests"});
      to.limits = amounts(one.limits, {its, "limits"});
      to.image = text(one.image);
      to.sidecar = one.sidecar;
      if (!there(one.ports, one.port_count, ports)) return;
      for (std::size_t i = 0; i < one.port_count; ++i) {
        container_port& port = to.ports.emplace_back();
        port.host_port = one.ports[i].host_port;
        port.host_ip = text(one.ports[i].host_ip);
        pick(one.ports[i].protocol, protocol::sctp, port.protocol, {place{ports, i}, "protocol"});
      }
    });
    return made;
  }

 private:
  const char* kind_;
  std::string_view ns_, name_;
  std::optional<error> wrong_;
};

template <class Spec>
error wrong_struct(const char* kind, const Spec&) {
  return {errc::malformed, kind, "struct_size", "is not what this version of the library can read"};
}

}  // namespace gangsched::inline GANGSCHED_ABI::c
