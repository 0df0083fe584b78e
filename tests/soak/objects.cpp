#include <algorithm>
#include <set>

#include "host.hpp"

/// Nodes and pods.
namespace gangsched::soak {

std::optional<references> host::find_references(const step& one) const {
  references made;
  if (one.group != nobody) {
    const auto group = known_.groups.find(one.group);
    if (group == known_.groups.end()) return std::nullopt;
    made.group = group->second.id;
    made.above_priority = group->second.spec.priority.value_or(10);
  }
  if (const auto node = known_.nodes.find(one.node); node != known_.nodes.end()) made.node = node->second.id;
  if (const auto claim = known_.claims.find(one.other); claim != known_.claims.end()) made.claim = claim->second.id;
  if (const auto other = known_.groups.find(one.other); other != known_.groups.end()) made.other = other->second.id;
  return made;
}

void host::add_node(const step& one) {
  if (known_.nodes.contains(one.object)) return;
  const node_spec spec = make_node(one);
  called<"cluster::add_node">();
  const result<node_id> made = tell([&] { return cluster_.add_node(spec); });
  if (made) known_.nodes[one.object] = {*made, one, spec, amounts_of(spec.allocatable)};
}

void host::update_node(const step& one) {
  const auto node = known_.nodes.find(one.object);
  if (node == known_.nodes.end()) return;
  const node_spec spec = make_node(one);
  called<"cluster::update_node">();
  if (!tell([&] { return cluster_.update_node(node->second.id, spec); })) return;
  node->second.made = one;
  node->second.spec = spec;
  node->second.allocatable = amounts_of(spec.allocatable);
}

void host::remove_node(const step& one) {
  const auto node = known_.nodes.find(one.object);
  if (node == known_.nodes.end()) return;
  called<"cluster::remove_node">();
  const std::vector<removed_pod> gone = must(cluster_.remove_node(node->second.id), "remove_node");
  std::set<pod_id> expected;
  std::vector<number> dead;
  for (auto& [at, pod] : known_.pods) {
    if (pod.node != one.object) continue;
    if (pod.state == pod_state::bound) {
      expected.insert(pod.id);
      dead.push_back(at);
    }
    owe(at);
    pod.state = pod_state::pending;
    pod.node = nobody;
    pod.waiting = pod.decided = false;
  }
  for (const removed_pod& one_gone : gone) {
    const number at = number_of(one_gone.id);
    if (expected.erase(one_gone.id) == 0) wrong("remove_node returns other pods than ran there");
    const pod_spec& spec = known_.pods.at(at).spec;
    if (one_gone.name != spec.name || one_gone.ns != spec.ns || one_gone.cookie != spec.cookie)
      wrong("remove_node returns a pod with a wrong name or cookie", text_of(at));
  }
  if (!expected.empty()) wrong("remove_node returns fewer pods than ran there");
  for (auto& [room, parts] : known_.rooms) parts.erase(one.object);
  known_.heat.erase(one.object);
  for (const number pod : dead) {
    std::erase_if(owed_, [&](const auto& owed) { return owed.second == pod; });
    known_.dead_pods.push_back(known_.pods.at(pod).id);
    known_.pods.erase(pod);
  }
  drop_gone_groups();
  known_.dead_nodes.push_back(node->second.id);
  known_.nodes.erase(node);
}

/// What the scheduler decided about the pod ends by what the host does to the cluster.
void host::owe(number at) {
  const known_pod& pod = known_.pods.at(at);
  if (pod.waiting || pod.decided) owed_[pod.attempt] = at;
}

void host::set_device_health(const step& one) {
  const auto node = known_.nodes.find(one.object);
  if (node == known_.nodes.end()) return;
  std::vector<gpu_spec>& gpus = node->second.spec.devices.gpus;
  std::vector<other_device>& others = node->second.spec.devices.others;
  if (gpus.empty() && others.empty()) return;
  dice any = one.details();
  const std::size_t at = any.below(gpus.size() + others.size());
  const bool healthy = any.percent(60);
  std::string id;
  if (at < gpus.size()) {
    id = gpus[at].id.empty() ? std::to_string(at) : gpus[at].id;
    gpus[at].healthy = healthy;
  } else {
    id = others[at - gpus.size()].id;
    others[at - gpus.size()].healthy = healthy;
  }
  called<"cluster::set_device_health">();
  const std::vector<pod_id> has = must(cluster_.set_device_health(node->second.id, id, healthy), "set_device_health");
  for (const auto& [other, pod] : known_.pods) {
    if (pod.node != one.object) continue;
    for (const device_grant& grant : cluster_.devices_of(pod.id)) {
      if (grant.of_container() || cluster_.name_of(node->second.id, grant) != id) continue;
      if (std::find(has.begin(), has.end(), pod.id) == has.end())
        wrong("set_device_health leaves out a pod that has the device", text_of(other));
    }
  }
}

/// What a pod is once the cluster took @p spec for it.
void host::learn(known_pod& pod, const pod_spec& spec, const step& one) {
  const std::optional<std::int32_t> priority = known_.priority_of(spec);
  if (!priority) wrong("a pod with an unknown priority class is taken", spec.name);
  pod.made = one;
  pod.spec = spec;
  pod.priority = *priority;
  pod.may_preempt = known_.may_preempt(spec);
  pod.needs = needs_of(spec);
  pod.used_up = pod.used_up && spec.reservation;
  pod.given_up = false;
  if (spec.node && !pod.placed()) {
    pod.in_flight = false;
    pod.by_others = true;
  }
  if (spec.node && pod.state != pod_state::bound) {
    pod.state = pod_state::bound;
    pod.by_others = true;
    pod.node = one.node;
    pod.waiting = pod.decided = false;
  }
}

void host::add_pod(const step& one) {
  const std::optional<references> to = find_references(one);
  if (!to || known_.pods.contains(one.object)) return;
  const pod_spec spec = make_pod(one, *to);
  called<"cluster::add_pod">();
  const result<pod_id> made = tell([&] { return cluster_.add_pod(spec); });
  if (!made) return;
  known_pod pod{.id = *made, .made = one, .spec = spec, .group = one.group};
  pod.terminating = spec.terminating;
  learn(pod, spec, one);
  known_.pods[one.object] = std::move(pod);
}

void host::add_pods(const step& one) {
  const std::optional<references> to = find_references(one);
  if (!to) return;
  pod_spec like = make_pod(one, *to);
  like.node = like.nominated_node = {};
  like.terminating = like.preempted = false;
  const number count = static_cast<number>(2 + one.details().below(4));
  std::vector<std::string> names;
  for (number i = 0; i < count; ++i) {
    if (known_.pods.contains(one.object + i)) return;
    names.push_back(pod_name(one.object + i));
  }
  called<"cluster::add_pods">();
  const result<std::vector<pod_id>> made = tell([&] { return cluster_.add_pods(like, names); });
  if (!made) return;
  if (made->size() != count) wrong("add_pods makes another number of pods");
  for (number i = 0; i < count; ++i) {
    like.name = names[i];
    known_pod pod{.id = (*made)[i], .made = one, .spec = like, .group = one.group};
    learn(pod, like, one);
    known_.pods[one.object + i] = std::move(pod);
    if (like.rank) ++*like.rank;
  }
}

void host::update_pod(const step& one) {
  const auto found = known_.pods.find(one.object);
  if (found == known_.pods.end()) return;
  known_pod& pod = found->second;
  step made = one;
  made.group = pod.group;
  const std::optional<references> to = find_references(made);
  if (!to) return;
  pod_spec spec = make_pod(made, *to);
  spec.name = pod.spec.name;
  spec.ns = pod.spec.ns;
  spec.cookie = pod.spec.cookie;
  if (spec.ns != "default") spec.resource_claims.clear();
  if (pod.placed()) spec.scheduler_name = pod.spec.scheduler_name;
  if (pod.state == pod_state::bound) {
    spec.node = known_.nodes.at(pod.node).id;
    spec.nominated_node = {};
    spec.scheduling_gates.clear();
    made.node = pod.node;
  }
  spec.terminating = spec.preempted = false;
  called<"cluster::update_pod">();
  if (!tell([&] { return cluster_.update_pod(pod.id, spec); })) return;
  if (spec.node && made.node != pod.node) owe(one.object);
  learn(pod, spec, made);
}

void host::resize_pods(const step& one) {
  const auto first = known_.pods.find(one.object);
  if (first == known_.pods.end()) return;
  std::vector<number> all;
  for (const auto& [at, pod] : known_.pods) {
    const bool mate = at == one.object || (pod.group != nobody && pod.group == first->second.group);
    if (mate && pod.placed()) all.push_back(at);
  }
  if (all.empty()) return;
  std::vector<pod_id> ids;
  std::vector<pod_spec> specs;
  dice any = one.details();
  const std::int64_t cpu = 250 * any.between(1, 12);
  for (const number at : all) {
    const known_pod& pod = known_.pods.at(at);
    ids.push_back(pod.id);
    specs.push_back(pod.spec);
    specs.back().containers[0].requests["cpu"] = quantity::from_milli(cpu);
    specs.back().nominated_node = {};
    if (pod.state == pod_state::bound) specs.back().node = known_.nodes.at(pod.node).id;
  }
  const auto short_of = [&](const known_pod& pod) {  // of cpu
    const known_node& node = known_.nodes.at(pod.node);
    return std::max<std::int64_t>(0, cluster_.requested(node.id, "cpu") - node.allocatable[0]);
  };
  std::vector<std::int64_t> before;
  for (const number at : all) before.push_back(short_of(known_.pods.at(at)));
  called<"cluster::resize_pods">();
  if (!tell([&] { return cluster_.resize_pods(ids, specs); })) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    known_pod& pod = known_.pods.at(all[i]);
    step made = pod.made;
    made.node = pod.node;
    learn(pod, specs[i], made);
    if (short_of(pod) > before[i]) wrong("resize_pods takes what does not fit", text_of(all[i]));
  }
}

void host::forget_pod(number pod) {
  const auto found = known_.pods.find(pod);
  std::erase_if(owed_, [&](const auto& one) { return one.second == pod; });
  if (known_.dead_pods.size() < 64) known_.dead_pods.push_back(found->second.id);
  known_.pods.erase(found);
  drop_gone_groups();
}

void host::remove_pod(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end()) return;
  called<"cluster::remove_pod">();
  must(cluster_.remove_pod(pod->second.id), "remove_pod");
  forget_pod(one.object);
}

void host::set_terminating(const step& one) {
  const auto pod = known_.pods.find(one.object);
  if (pod == known_.pods.end()) return;
  called<"cluster::set_terminating">();
  must(cluster_.set_terminating(pod->second.id, one.details().percent(50)), "set_terminating");
  pod->second.terminating = true;
}

}  // namespace gangsched::soak
