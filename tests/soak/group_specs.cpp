#include <array>

#include "specs.hpp"

namespace gangsched::soak {

namespace {

using namespace std::chrono_literals;

constexpr std::array<chance, static_cast<std::size_t>(group_trait::count)> all_group_chances{{
    {"a gang", 75},          {"a maximum", 30},
    {"a desired count", 20}, {"roles", 10},
    {"permit mode", 35},     {"atomic", 30},
    {"a match policy", 20},  {"strict", 20},
    {"goes stale", 20},      {"a priority", 50},
    {"never preempts", 10},  {"within", 35},
    {"or anywhere", 15},     {"a choice", 20},
    {"moves", 15},           {"a spread", 8},
    {"slices", 8},           {"a disruption mode", 60},
    {"affinity", 10},        {"starts after", 8},
    {"a ratio", 8},          {"done", 0},
    {"composite", 0},        {"a deadline", 15},
    {"a longest wait", 15},
}};

gang gang_of(const step& from) {
  dice details = from.details();
  gang made{.min_count = static_cast<std::int32_t>(details.between(1, 4))};
  if (auto of = from.trait(group_trait::most))
    made.max_count = static_cast<std::int32_t>(made.min_count + of->between(0, 2));
  if (auto of = from.trait(group_trait::desired)) {
    made.desired_count = static_cast<std::int32_t>(
        made.min_count + of->between(0, made.max_count ? *made.max_count - made.min_count : 2));
  }
  if (from.trait(group_trait::roles)) made.roles = {{"head", 1}};
  if (from.trait(group_trait::permit)) made.mode = gang_mode::permit;
  made.timeout = 1s * details.between(1, 60);
  made.atomic = from.trait(group_trait::atomic).has_value();
  if (auto of = from.trait(group_trait::match)) made.match = static_cast<match_policy>(of->below(3));
  made.strict = made.mode == gang_mode::permit && from.trait(group_trait::strict);
  if (auto of = from.trait(group_trait::stale)) made.stale_after = 1s * of->between(0, 40);
  return made;
}

group_topology topology_of(const step& from) {
  group_topology made;
  if (auto of = from.trait(group_trait::within)) {
    made.within = of->percent(50) ? std::vector<std::string>{"rack"} : std::vector<std::string>{"rack", "zone"};
  }
  made.or_anywhere = from.trait(group_trait::or_anywhere).has_value();
  if (auto of = from.trait(group_trait::choice)) made.choice = static_cast<domain_choice>(of->below(5));
  if (from.trait(group_trait::moves)) made.when_full = full_domain::move;
  if (auto of = from.trait(group_trait::spread)) {
    made.spread_key = "rack";
    made.spread_most = static_cast<std::int32_t>(1 + of->below(2));
  }
  if (from.trait(group_trait::slices)) made.slices = {{"rack", 2}};
  return made;
}

}  // namespace

std::span<const chance> group_chances() noexcept { return all_group_chances; }

std::string group_name(number group) { return "g" + std::to_string(group); }

step as_can_be(step group) {
  if (!group.trait(group_trait::permit) || group.seed % 8 == 0) return group;
  for (const group_trait one : {group_trait::most, group_trait::desired, group_trait::roles, group_trait::within,
                                group_trait::or_anywhere, group_trait::choice, group_trait::moves, group_trait::spread,
                                group_trait::slices, group_trait::affinity, group_trait::ratio}) {
    group.traits &= ~bit(one);
  }
  return group;
}

group_spec make_group(const step& asked, const references& to) {
  const step from = as_can_be(asked);
  group_spec made{.name = group_name(from.object)};
  made.cookie = from.object;
  made.parent = to.group;
  if (auto of = from.trait(group_trait::deadline)) made.deadline = 1s * of->between(0, 400);
  if (auto of = from.trait(group_trait::max_wait)) made.max_wait = 1s * of->between(1, 100);
  if (from.queue != nobody) made.queue = queue_name(from.queue);
  made.topology = topology_of(from);
  if (from.trait(group_trait::composite)) {
    made.composite = true;
    made.policy = gang{.min_count = static_cast<std::int32_t>(1 + from.details().below(2))};
    made.topology = {};
    if (from.trait(group_trait::within)) made.topology.within = {"zone"};
  } else if (from.trait(group_trait::gang)) {
    gang policy = gang_of(from);
    if (to.group) policy.mode = gang_mode::group_cycle, policy.strict = false;
    made.policy = policy;
  }
  if (!to.group) {
    if (auto of = from.trait(group_trait::priority)) made.priority = static_cast<std::int32_t>(10 * of->below(5));
    if (from.trait(group_trait::never_preempts)) made.preemption = preemption_policy::never;
  }
  if (auto of = from.trait(group_trait::disruption)) made.disruption = static_cast<disruption_mode>(of->below(3));
  if (to.other) {
    if (auto of = from.trait(group_trait::affinity)) made.affinity.push_back({to.other, "rack", of->percent(50)});
    if (auto of = from.trait(group_trait::start_after))
      made.start_after.push_back({to.other, static_cast<dependency_state>(of->below(2))});
    if (auto of = from.trait(group_trait::ratio)) {
      made.ratios.push_back(
          {to.other, static_cast<std::int32_t>(1 + of->below(2)), static_cast<std::int32_t>(1 + of->below(2))});
    }
  }
  made.done = from.trait(group_trait::done).has_value();
  return made;
}

resource_claim_spec make_claim(const step& from, node_id node) {
  dice details = from.details();
  resource_claim_spec made{.name = "claim" + std::to_string(from.object)};
  device_request one;
  if (details.percent(50)) one.device_class = "rdma";
  made.devices = {one};
  if (details.percent(20)) made.most_pods = 1;
  made.node = node;
  return made;
}

pod_disruption_budget_spec make_budget(const step& from) {
  dice details = from.details();
  pod_disruption_budget_spec made{.name = "b" + std::to_string(from.object)};
  made.selector = label_selector{.match_labels = {{"app", "a" + std::to_string(details.below(4))}}};
  made.disruptions_allowed = static_cast<std::int32_t>(details.below(2));
  return made;
}

priority_class_spec make_priority_class(const step& from) {
  dice details = from.details();
  priority_class_spec made{.name = "pc" + std::to_string(from.object)};
  made.value = static_cast<std::int32_t>(10 * details.below(6));
  made.global_default = details.percent(20);
  if (details.percent(15)) made.preemption = preemption_policy::never;
  return made;
}

}  // namespace gangsched::soak
