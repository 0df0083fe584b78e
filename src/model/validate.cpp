#include "gangsched/model/validate.hpp"

#include <string>
#include <utility>

#include "gangsched/src/model/spec_checker.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// What is wrong by one of these functions, if anything is; @p object: calls for its name.
template <class Spec, class Object>
std::optional<error> failure_of(bool (spec_checker::*check)(const Spec&), const Spec& spec, const Object& object) {
  spec_checker checker;
  return (checker.*check)(spec) ? std::nullopt : std::optional{std::move(checker).failure(object())};
}

}  // namespace detail

GANGSCHED_INLINE std::optional<error> check(const node_spec& spec) {
  return detail::failure_of(&detail::spec_checker::node, spec, [&] { return "node " + spec.name; });
}

GANGSCHED_INLINE std::optional<error> check(const node_spec& spec, const right_before& right) {
  detail::spec_checker checker;
  if (checker.node_again(spec, right)) return std::nullopt;
  return std::move(checker).failure("node " + spec.name);
}

GANGSCHED_INLINE std::optional<error> check(const pod_spec& spec) {
  detail::spec_checker checker;
  const auto object = [&] { return fmt::format("pod {}/{}", spec.ns, spec.name); };
  if (!checker.pod(spec)) return std::move(checker).failure(object());
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    if (spec.devices[i].container == 0 || spec.devices[i].container < spec.containers.size()) continue;
    return error{errc::unknown, object(), fmt::format("devices[{}].container", i), "the pod has no such container"};
  }
  auto wrong = check(spec.devices, {});
  if (!wrong) wrong = check(spec.device_constraints, spec.devices, {}, "device_constraints");
  if (wrong) wrong->object = object();
  return wrong;
}

GANGSCHED_INLINE std::optional<error> check_own(const pod_spec& spec) {
  return detail::failure_of(&detail::spec_checker::pod_own, spec,
                            [&] { return fmt::format("pod {}/{}", spec.ns, spec.name); });
}

GANGSCHED_INLINE std::optional<error> check(const resource_claim_spec& spec) {
  const std::string object = fmt::format("resource claim {}/{}", spec.ns, spec.name);
  if (auto wrong = detail::failure_of(&detail::spec_checker::resource_claim, spec, [&] { return object; }))
    return wrong;
  if (auto wrong = check(spec.devices, object)) return wrong;
  return check(spec.constraints, spec.devices, object, "constraints");
}

GANGSCHED_INLINE std::optional<error> check(const group_spec& spec) {
  return detail::failure_of(&detail::spec_checker::group, spec,
                            [&] { return fmt::format("group {}/{}", spec.ns, spec.name); });
}

GANGSCHED_INLINE std::optional<error> check(const priority_class_spec& spec) {
  return detail::failure_of(&detail::spec_checker::priority_class, spec, [&] { return "priority class " + spec.name; });
}

GANGSCHED_INLINE std::optional<error> check(const pod_disruption_budget_spec& spec) {
  return detail::failure_of(&detail::spec_checker::budget, spec,
                            [&] { return fmt::format("disruption budget {}/{}", spec.ns, spec.name); });
}

GANGSCHED_INLINE std::optional<error> check(const namespace_spec& spec) {
  return detail::failure_of(&detail::spec_checker::namespace_, spec, [&] { return "namespace " + spec.name; });
}

GANGSCHED_INLINE std::optional<error> check(const held_room_spec& spec) {
  return detail::failure_of(&detail::spec_checker::held_room, spec, [&] { return "held room " + spec.name; });
}

GANGSCHED_INLINE std::optional<error> check(const service_spec& spec) {
  return detail::failure_of(&detail::spec_checker::service, spec,
                            [&] { return fmt::format("service {}/{}", spec.ns, spec.name); });
}

GANGSCHED_INLINE std::optional<error> check(const controller_spec& spec) {
  return detail::failure_of(&detail::spec_checker::controller, spec,
                            [&] { return detail::controller_object(spec.kind, spec.ns, spec.name); });
}

}  // namespace gangsched::inline GANGSCHED_ABI
