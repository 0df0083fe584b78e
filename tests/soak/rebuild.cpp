#include "host.hpp"

/// The host starts anew and tells a new cluster what it knows (docs/embedding.md, "Restart").
namespace gangsched::soak {

namespace {

/// Ids of the old cluster, and what they are in the new one. Nothing for objects that are gone.
struct translation {
  std::map<node_id, node_id> nodes;
  std::map<group_id, group_id> groups;
  std::map<resource_claim_id, resource_claim_id> claims;

  template <class Id>
  static Id in(const std::map<Id, Id>& all, Id old) {
    const auto found = all.find(old);
    return found == all.end() ? Id{} : found->second;
  }
  /// Drops what refers to objects that are gone.
  template <class List, class Of>
  void translate(List& all, Of&& of) const {
    for (auto& one : all) of(one) = in(groups, of(one));
    std::erase_if(all, [&](auto& one) { return !of(one); });
  }
};

}  // namespace

void host::rebuild() {
  translation to;
  cluster fresh{on_.cluster};
  check_record();
  std::optional<record::recorder> log = start_record(fresh);
  const auto told = [](auto made, const char* call) { return must(std::move(made), call); };
  for (const auto& [at, one] : known_.classes) told(fresh.set_priority_class(one), "set_priority_class");
  for (auto& [at, node] : known_.nodes) {
    const node_id id = told(fresh.add_node(node.spec), "add_node");
    to.nodes[node.id] = id;
    node.id = id;
    node.lent = 0;
  }
  for (const auto& [name, flavor] : known_.flavors) told(fresh.queues().set_flavor(flavor), "set_flavor");
  for (const auto& [name, queue] : known_.queues) told(fresh.queues().add(queue), "add of a queue");
  known_.has_columns = false, known_.heat.clear(), known_.licences.clear();
  for (const auto& [room, parts] : known_.rooms) {
    held_room_spec spec{.name = room_name(room)};
    for (const auto& [at, held] : parts) {
      spec.parts.push_back(
          {known_.nodes.at(at).id, {{"cpu", quantity::from_milli(held[0])}, {"memory", quantity{held[1]}}}});
    }
    told(fresh.set_held_room(spec), "set_held_room");
  }
  for (const auto& [at, group] : known_.groups) {
    to.groups[group.id] = told(fresh.expect_group("default", group.spec.name, group.spec.composite), "expect_group");
  }
  for (auto& [at, group] : known_.groups) {
    group.id = to.groups.at(group.id);
    group_spec& spec = group.spec;
    spec.parent = translation::in(to.groups, spec.parent);
    to.translate(spec.affinity, [](group_affinity& one) -> group_id& { return one.to; });
    to.translate(spec.start_after, [](group_dependency& one) -> group_id& { return one.on; });
    to.translate(spec.ratios, [](group_ratio& one) -> group_id& { return one.to; });
    if (!group.expected && told(fresh.add_group(spec), "add_group") != group.id)
      wrong("add_group of an expected group makes another one");
  }
  for (auto& [at, claim] : known_.claims) {
    claim.spec.node =
        translation::in(to.nodes, cluster_.users_of(claim.id) == 0 ? cluster_.node_of(claim.id) : node_id{});
    const resource_claim_id id = told(fresh.add_resource_claim(claim.spec), "add_resource_claim");
    to.claims[claim.id] = id;
    claim.id = id;
  }
  for (auto& [at, budget] : known_.budgets) {
    budget = told(fresh.add_disruption_budget(make_budget({.what = act::add_budget, .object = at, .seed = at})),
                  "add_disruption_budget");
  }
  std::map<number, number> draws;
  for (const auto& [at, pod] : known_.pods) draws[at] = number_of(cluster_.reservation_of(pod.id));
  std::vector<number> order;
  for (const bool reservations : {true, false}) {
    for (const auto& [at, pod] : known_.pods)
      if (pod.spec.reservation.has_value() == reservations) order.push_back(at);
  }
  for (const number at : order) {
    known_pod& pod = known_.pods.at(at);
    pod_spec spec = pod.spec;
    spec.priority = pod.priority;  // as it was when it came
    spec.priority_class.clear();
    spec.preemption = pod.may_preempt ? preemption_policy::preempt_lower_priority : preemption_policy::never;
    spec.group = translation::in(to.groups, spec.group);
    for (resource_claim_id& claim : spec.resource_claims) claim = to.claims.at(claim);
    spec.node = pod.state == pod_state::bound ? known_.nodes.at(pod.node).id : node_id{};
    spec.nominated_node = translation::in(to.nodes, cluster_.nominated_node_of(pod.id));
    spec.terminating = pod.terminating && pod.state != pod_state::assumed;
    if (spec.node) spec.scheduling_gates.clear();
    spec.draws_from = spec.node && draws[at] != nobody ? known_.pods.at(draws[at]).id : pod_id{};
    pod.id = told(fresh.add_pod(spec), "add_pod");
    spec.draws_from = {};
    pod.spec = spec;
    pod.used_up = false;
    if (draws[at] != nobody && spec.node) {
      known_pod& holder = known_.pods.at(draws[at]);
      holder.used_up = holder.used_up || holder.spec.reservation->once;
    }
    if (pod.state == pod_state::assumed) {
      pod.needs = needs_of(spec);
      told(fresh.assume(pod.id, known_.nodes.at(pod.node).id), "assume");
      if (pod.terminating) told(fresh.set_terminating(pod.id), "set_terminating");
    }
  }
  known_.namespaces.clear();
  known_.services.clear();
  known_.controllers.clear();
  known_.dead_pods.clear();
  known_.dead_nodes.clear();
  known_.dead_groups.clear();
  scheduler_.reset();
  cluster_ = std::move(fresh);
  record_ = std::move(log);
  restart();
  check_usage();
}

}  // namespace gangsched::soak
