#include <algorithm>

#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "host.hpp"

/// Questions, which change nothing and agree with the model; and calls that have to be refused.
namespace gangsched::soak {

void host::ask(const step& one) {
  if (const auto pod = known_.pods.find(one.object); pod != known_.pods.end()) {
    called<"cluster::class_of">();  // looks at the pod anew, which the digest may say
    if (!cluster_.class_of(pod->second.id)) wrong("a question is answered wrongly", "class_of");
  }
  const std::uint64_t before = inside(cluster_).digest_with_derived();
  const auto unchanged = [&](const char* call) {
    if (inside(cluster_).digest_with_derived() != before) wrong("a question changes the digest", call);
  };
  const auto agree = [](bool holds, const char* call) {
    if (!holds) wrong("a question is answered wrongly", call);
  };
  called<"cluster::nodes">();
  called<"cluster::pods">();
  called<"cluster::assumed">();
  called<"cluster::digest">();
  agree(cluster_.nodes().size() == known_.nodes.size(), "nodes");
  agree(cluster_.pods().size() == known_.pods.size(), "pods");
  const auto assumed = std::count_if(known_.pods.begin(), known_.pods.end(),
                                     [](const auto& of) { return of.second.state == pod_state::assumed; });
  agree(cluster_.assumed().size() == static_cast<std::size_t>(assumed), "assumed");

  if (const auto node = known_.nodes.find(one.node); node != known_.nodes.end()) {
    const node_id id = node->second.id;
    called<"cluster::find_node">();
    called<"cluster::contains(node_id)">();
    called<"cluster::name_of(node_id)">();
    called<"cluster::cookie_of(node_id)">();
    called<"cluster::devices_of(node_id)">();
    agree(cluster_.find_node(node->second.spec.name) == id && cluster_.contains(id), "find_node");
    agree(cluster_.name_of(id) == node->second.spec.name, "name_of(node_id)");
    agree(cluster_.cookie_of(id) == node->second.spec.cookie, "cookie_of(node_id)");
    const node_devices& devices = node->second.spec.devices;
    agree(static_cast<bool>(cluster_.devices_of(id)) ==
              (!devices.gpus.empty() || !devices.others.empty() || devices.numa),
          "devices_of(node_id)");
  }
  if (const auto pod = known_.pods.find(one.object); pod != known_.pods.end()) {
    const pod_id id = pod->second.id;
    const pod_spec& spec = pod->second.spec;
    called<"cluster::find_pod">();
    called<"cluster::contains(pod_id)">();
    called<"cluster::name_of(pod_id)">();
    called<"cluster::namespace_of(pod_id)">();
    agree(cluster_.namespace_of(id) == spec.ns, "namespace_of(pod_id)");
    called<"cluster::group_of">();
    agree(cluster_.group_of(id) == spec.group, "group_of");
    called<"cluster::is_terminating">();
    agree(cluster_.is_terminating(id) == pod->second.terminating, "is_terminating");
    called<"cluster::cookie_of(pod_id)">();
    called<"cluster::claims_of">();
    called<"cluster::nominated_node_of">();
    agree(cluster_.find_pod(spec.ns, spec.name) == id && cluster_.contains(id), "find_pod");
    called<"cluster::find_reservation">();
    agree(cluster_.find_reservation(spec.name).has_value() == spec.reservation.has_value(), "find_reservation");
    agree(cluster_.name_of(id) == spec.name, "name_of(pod_id)");
    agree(cluster_.cookie_of(id) == spec.cookie, "cookie_of(pod_id)");
    agree(std::ranges::equal(cluster_.claims_of(id), spec.resource_claims), "claims_of");
    called<"cluster::priority_of">();
    agree(cluster_.priority_of(id) == pod->second.priority, "priority_of");
    if (pod->second.placed()) agree(!cluster_.nominated_node_of(id), "nominated_node_of");
    called<"cluster::reserved_from">();
    agree(!cluster_.reserved_from(id) || cluster_.nominated_node_of(id), "reserved_from");
    called<"scheduler::explain(pod_id)">();
    const auto why = scheduler_->explain(id);
    unchanged("explain(pod)");
    agree(!why || why->nodes.empty() || why->nodes.size() <= known_.nodes.size(), "explain(pod)");
  }
  if (const auto group = known_.groups.find(one.group); group != known_.groups.end()) {
    const group_id id = group->second.id;
    called<"cluster::find_group">();
    called<"cluster::contains(group_id)">();
    called<"cluster::name_of(group_id)">();
    agree(cluster_.find_group("default", group->second.spec.name, group->second.spec.composite) == id &&
              cluster_.contains(id),
          "find_group");
    agree(cluster_.name_of(id) == group->second.spec.name, "name_of(group_id)");
    called<"cluster::namespace_of(group_id)">();
    agree(cluster_.namespace_of(id) == group->second.spec.ns, "namespace_of(group_id)");
    called<"cluster::cookie_of(group_id)">();
    agree(!cluster_.spec_of(id) || cluster_.cookie_of(id) == group->second.spec.cookie, "cookie_of(group_id)");
    called<"cluster::spec_of">();
    const group_spec* const said = cluster_.spec_of(id);
    agree(said == nullptr || said->name == group->second.spec.name, "spec_of");
    called<"scheduler::explain(group_id)">();
    static_cast<void>(scheduler_->explain(id));
    unchanged("explain(group)");
    called<"scheduler::plan_moves">();
    static_cast<void>(scheduler_->plan_moves(id));
    unchanged("plan_moves");
  }
  for (const auto& [at, spec] : known_.classes) {
    called<"cluster::find_priority_class">();
    agree(cluster_.find_priority_class(spec.name) == spec.value, "find_priority_class");
  }
  for (const auto& [at, budget] : known_.budgets) {
    called<"cluster::find_disruption_budget">();
    called<"cluster::contains(budget_id)">();
    agree(cluster_.find_disruption_budget("default", "b" + std::to_string(at)) == budget && cluster_.contains(budget),
          "find_disruption_budget");
  }
  for (const auto& [at, claim] : known_.claims) {
    called<"cluster::find_resource_claim">();
    called<"cluster::contains(resource_claim_id)">();
    called<"cluster::name_of(resource_claim_id)">();
    called<"cluster::users_of">();
    agree(cluster_.find_resource_claim("default", claim.spec.name) == claim.id && cluster_.contains(claim.id),
          "find_resource_claim");
    agree(cluster_.name_of(claim.id) == claim.spec.name, "name_of(resource_claim_id)");
    const resource_claim_id id = claim.id;
    const auto users = std::count_if(known_.pods.begin(), known_.pods.end(), [&](const auto& of) {
      const auto& claims = of.second.spec.resource_claims;
      return of.second.placed() && std::find(claims.begin(), claims.end(), id) != claims.end();
    });
    agree(cluster_.users_of(id) == static_cast<std::uint32_t>(users), "users_of");
  }
  called<"scheduler::statistics">();
  agree(scheduler_->statistics().cycles >= handled_, "statistics");
  static_cast<void>(scheduler_->next_deadline());
  unchanged("next_deadline");
  static_cast<void>(scheduler_->counts());
  static_cast<void>(scheduler_->in_flight());
  unchanged("counts");
}

void host::misuse(const step& one) {
  must(scheduler_->catch_up(now_), "catch_up");  // from here on it is known what time it is
  const std::uint64_t before = inside(cluster_).digest_with_derived();
  const auto refused = [&](const auto& made, errc why, const char* call) {
    const error* said = nullptr;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(made)>, cycle>)
      said = made.error();
    else
      said = made ? nullptr : &made.error();
    if (said == nullptr || said->code != why) wrong("a wrong call is taken, or refused for another reason", call);
    if (inside(cluster_).digest_with_derived() != before) wrong("a refused call changes something", call);
  };
  for (const pod_id dead : known_.dead_pods) {
    if (cluster_.contains(dead) || cluster_.state_of(dead) != pod_state::none) wrong("an id lives on after its object");
  }
  for (const node_id dead : known_.dead_nodes) {
    if (cluster_.contains(dead)) wrong("an id lives on after its object");
  }
  for (const group_id dead : known_.dead_groups) {
    if (cluster_.contains(dead)) wrong("an id lives on after its object");
  }
  dice any = one.details();
  const std::vector<attempt> flying = scheduler_->in_flight();
  const auto flies = [&](const auto& id) {
    return std::any_of(flying.begin(), flying.end(), [&](const attempt& tried) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(id)>, pod_id>)
        return !tried.group && tried.pod == id;
      else
        return tried.group == id;
    });
  };
  if (!known_.dead_pods.empty()) {
    const pod_id dead = any.of(known_.dead_pods);
    refused(cluster_.remove_pod(dead), errc::unknown, "remove_pod");
    refused(cluster_.set_terminating(dead), errc::unknown, "set_terminating");
    refused(cluster_.bind(dead), errc::unknown, "bind");
    refused(cluster_.release(dead), errc::unknown, "release");
    refused(cluster_.nominate(dead, {}), errc::unknown, "nominate");
    refused(cluster_.update_pod(dead, {.name = "nobody"}), errc::unknown, "update_pod");
    refused(scheduler_->standing(dead), errc::unknown, "standing");
    called<"scheduler::why">();
    refused(scheduler_->why(dead), errc::unknown, "why");
    called<"scheduler::restore(const waiting_pod &)">();
    waiting_pod held;
    held.pod = dead;
    refused(scheduler_->restore(held), errc::unknown, "restore");
    refused(scheduler_->explain(dead), errc::unknown, "explain");
    if (!flies(dead)) refused(scheduler_->done(dead), errc::unknown, "done");
    refused(scheduler_->activate({&dead, 1}, now_), errc::unknown, "activate");
    if (!flies(dead)) refused(scheduler_->add_unschedulable(dead, {}, now_), errc::unknown, "add_unschedulable");
    if (scheduler_->confirm(dead) || scheduler_->allow(dead) || scheduler_->reject(dead, "") ||
        scheduler_->restore(dead, {})) {
      wrong("a call about a pod that is gone is taken");
    }
    if (scheduler_->fail(dead, "").error() == nullptr) wrong("fail of a pod that is gone is taken");
  }
  if (!known_.dead_nodes.empty()) {
    const node_id dead = any.of(known_.dead_nodes);
    refused(cluster_.remove_node(dead), errc::unknown, "remove_node");
    refused(cluster_.update_node(dead, {.name = "nobody"}), errc::unknown, "update_node");
    refused(cluster_.set_device_health(dead, "0", true), errc::unknown, "set_device_health");
    refused(cluster_.add_pod({.name = "nobody", .node = dead}), errc::unknown, "add_pod on a node that is gone");
  }
  if (!known_.dead_groups.empty()) {
    const group_id dead = any.of(known_.dead_groups);
    refused(cluster_.remove_group(dead), errc::unknown, "remove_group");
    refused(cluster_.update_group(dead, {.name = "nobody"}), errc::unknown, "update_group");
    refused(cluster_.add_pod({.name = "nobody", .group = dead}), errc::unknown, "add_pod of a group that is gone");
    refused(scheduler_->explain(dead), errc::unknown, "explain");
    refused(scheduler_->plan_moves(dead), errc::unknown, "plan_moves");
    if (!flies(dead)) refused(scheduler_->done(dead), errc::unknown, "done");
    if (!flies(dead)) refused(scheduler_->add_unschedulable(dead, {}, now_), errc::unknown, "add_unschedulable");
  }
  const instant earlier = now_ - instant{1};
  refused(scheduler_->schedule_cycle(earlier), errc::time_went_back, "schedule_cycle");
  refused(scheduler_->permit(earlier), errc::time_went_back, "permit");
  refused(scheduler_->pop(earlier), errc::time_went_back, "pop");
  refused(scheduler_->catch_up(earlier), errc::time_went_back, "catch_up");
  refused(scheduler_->flush_backoff(earlier), errc::time_went_back, "flush_backoff");
  refused(scheduler_->flush_unschedulable(earlier), errc::time_went_back, "flush_unschedulable");
  if (!known_.pods.empty()) {
    const auto& [at, pod] = *std::next(known_.pods.begin(), static_cast<std::ptrdiff_t>(any.below(known_.pods.size())));
    pod_spec again = pod.spec;
    again.node = again.nominated_node = {};
    again.group = {};
    again.role.clear();
    again.rank.reset();
    again.resource_claims.clear();
    again.priority_class.clear();
    refused(cluster_.add_pod(again), errc::duplicate, "add_pod of a name that is there");
    if (pod.state != pod_state::assumed) refused(cluster_.bind(pod.id), errc::wrong_state, "bind");
    if (pod.state != pod_state::assumed) refused(cluster_.release(pod.id), errc::wrong_state, "release");
    if (pod.placed() && !known_.nodes.empty())
      refused(cluster_.assume(pod.id, known_.nodes.begin()->second.id), errc::wrong_state, "assume");
    if (!flies(pod.id)) refused(scheduler_->done(pod.id), errc::wrong_state, "done");
  }
  if (!known_.nodes.empty()) {
    const known_node& node = known_.nodes.begin()->second;
    refused(cluster_.add_node(node.spec), errc::duplicate, "add_node");
    node_spec renamed = node.spec;
    renamed.name = "other";
    refused(cluster_.update_node(node.id, renamed), errc::wrong_state, "update_node");
    refused(cluster_.set_device_health(node.id, "no such device", true), errc::unknown, "set_device_health");
  }
}

}  // namespace gangsched::soak
