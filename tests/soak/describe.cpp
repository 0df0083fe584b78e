#include <array>

#include "specs.hpp"

namespace gangsched::soak {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(act::last) + 1> act_names{
    "add_node",
    "update_node",
    "remove_node",
    "set_device_health",
    "add_pod",
    "add_pods",
    "update_pod",
    "resize_pods",
    "remove_pod",
    "set_terminating",
    "add_group",
    "expect_group",
    "update_group",
    "remove_group",
    "set_namespace",
    "remove_namespace",
    "set_service",
    "remove_service",
    "set_controller",
    "remove_controller",
    "set_priority_class",
    "remove_priority_class",
    "add_resource_claim",
    "remove_resource_claim",
    "deallocate",
    "add_disruption_budget",
    "update_disruption_budget",
    "remove_disruption_budget",
    "hold room, or no more",
    "set_column",
    "change a queue or a flavor",
    "reserve",
    "a trial that is rolled back",
    "assume and bind in a transaction",
    "time passes",
    "schedule_cycle",
    "a turn",
    "turns until everybody had a chance",
    "catch_up",
    "flush_backoff and flush_unschedulable",
    "pop",
    "the host decides",
    "confirm",
    "confirm and fail again",
    "fail",
    "allow",
    "reject",
    "activate",
    "restore",
    "forget_cached",
    "a new scheduler",
    "a new cluster and a new scheduler",
    "a hook will throw",
    "questions",
    "calls that are refused",
    "verify"};

std::string list(std::span<const chance> all, std::uint64_t traits) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((traits >> i & 1) != 0) text += (text.empty() ? "; " : ", ") + std::string{all[i].name};
  }
  return text;
}

std::string list(const resource_list& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) text += (text.empty() ? "" : ", ") + name + " " + amount.to_string();
  return text;
}

std::string of_node(const step& one) {
  const node_spec made = make_node(one);
  std::string text = made.name + " {" + list(made.allocatable) + "; " + made.labels.at("zone");
  if (made.labels.contains("rack")) text += ", " + made.labels.at("rack");
  return text + list(node_chances(), one.traits) + "}";
}

std::string of_reservation(const reservation_spec& one) {
  std::string text = one.once ? "; a reservation for once" : "; a reservation";
  for (const reservation_owner& owner : one.owners) {
    text += &owner == one.owners.data() ? " of" : " or";
    if (!owner.ns.empty()) text += " in " + owner.ns;
    if (!owner.pod.empty()) text += " " + owner.pod;
    if (owner.labels) text += " " + owner.labels->match_labels.at("app");
    if (owner.controller.kind != controller_kind::none) text += " a controller " + owner.controller.name;
  }
  if (one.policy == allocate_policy::restricted)
    text += one.restricted.empty() ? ", restricted" : ", restricted in cpu";
  if (one.pre_allocation == pre_allocation::if_needed) text += ", pre-allocation if needed";
  if (one.pre_allocation == pre_allocation::required) text += ", pre-allocation";
  if (one.unschedulable) text += ", unschedulable";
  if (!one.taints.empty()) text += ", tainted";
  return text;
}

std::string of_pod(const step& one) {
  const pod_spec made = make_pod(one, {});
  std::string text = made.name + " {" + list(made.containers[0].requests) + "; " + made.labels.at("app");
  if (made.priority) text += "; priority " + std::to_string(*made.priority);
  if (one.group != nobody) text += "; of " + group_name(one.group);
  if (!made.role.empty()) text += " as " + made.role;
  if (!made.held_room.empty()) text += "; owns " + made.held_room;
  if (made.reservation) text += of_reservation(*made.reservation);
  if (made.reservation_affinity) text += "; has to be in a reservation";
  if (!made.exact_reservation.empty()) text += "; of reservations of its size";
  if (made.ignores_reservations) text += "; ignores reservations";
  if (!made.queue.empty()) text += "; in " + made.queue;
  return text + list(pod_chances(), one.traits) + "}";
}

std::string of_group(const step& one) {
  const group_spec made = make_group(one, {});
  std::string text = made.name + " {";
  if (const gang* policy = std::get_if<gang>(&made.policy)) {
    text += "gang, least " + std::to_string(policy->min_count);
    if (policy->max_count) text += ", most " + std::to_string(*policy->max_count);
    text += ", timeout " + std::to_string(policy->timeout.count() / 1'000'000'000) + " s";
    if (policy->stale_after)
      text += ", stale after " + std::to_string(policy->stale_after->count() / 1'000'000'000) + " s";
  } else {
    text += "basic";
  }
  if (made.priority) text += "; priority " + std::to_string(*made.priority);
  if (one.group != nobody) text += "; below " + group_name(one.group);
  if (one.other != nobody) text += "; refers to " + group_name(one.other);
  if (!made.queue.empty()) text += "; in " + made.queue;
  return text + list(group_chances(), as_can_be(one).traits) + "}";
}

}  // namespace

std::string_view to_string(act what) noexcept { return act_names[static_cast<std::size_t>(what)]; }

std::string describe(const step& one) {
  std::string text{to_string(one.what)};
  text += ' ';
  switch (one.what) {
    case act::add_node:
    case act::update_node: return text + of_node(one);
    case act::remove_node:
    case act::set_device_health: return text + node_name(one.object);
    case act::add_pod:
    case act::add_pods:
    case act::update_pod: text += of_pod(one); break;
    case act::add_group:
    case act::update_group: return text + of_group(one);
    case act::expect_group:
    case act::remove_group: return text + group_name(one.object);
    case act::pass_time: return text + std::to_string(one.time.count() / 1'000'000) + " ms";
    case act::resize_pods:
    case act::remove_pod:
    case act::set_terminating:
    case act::commit:
    case act::confirm:
    case act::confirm_again:
    case act::fail:
    case act::allow:
    case act::reject:
    case act::activate:
    case act::restore: return text + pod_name(one.object);
    case act::ask:
      if (one.object != nobody) text += pod_name(one.object) + " ";
      if (one.group != nobody) text += group_name(one.group) + " ";
      break;
    default:
      if (one.object != nobody) text += std::to_string(one.object);
  }
  if (one.node != nobody) text += " on " + node_name(one.node);
  return text;
}

}  // namespace gangsched::soak
