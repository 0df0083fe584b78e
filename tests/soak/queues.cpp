#include <algorithm>

#include "host.hpp"

/// Queues and flavors, and what the model says that each uses.
namespace gangsched::soak {

namespace {

constexpr std::size_t most_flavors = 3;
std::string flavor_name(std::size_t flavor) { return "flavor" + std::to_string(flavor); }

}  // namespace

void host::change_queue(const step& one) {
  dice any = one.details();
  cluster_queues queues = cluster_.queues();
  called<"cluster::queues">();
  if (any.percent(25)) return change_flavor(any);
  const std::string name = queue_name(one.object);
  called<"queue_questions::find">();
  const std::optional<queue_id> there = queues.find(name);
  if (known_.queues.contains(name) && any.percent(25)) {
    called<"cluster_queues::remove">();
    must(queues.remove(*there), "remove of a queue");
    known_.queues.erase(name);
    return;
  }
  queue_spec spec{.name = name};
  if (any.percent(50)) spec.parent = queue_name(static_cast<number>(any.below(5)));
  for (const char* ns : {"default", "ns0", "ns1"})
    if (any.percent(20)) spec.namespaces.emplace_back(ns);
  if (any.percent(50))
    spec.quotas = {{.guaranteed = {{"cpu", any.between(0, 4)}}, .limit = {{"cpu", any.between(2, 9)}}}};
  if (any.percent(20)) spec.quotas.push_back({.flavor = flavor_name(any.below(most_flavors)), .limit = {{"cpu", 4}}});
  if (any.percent(20)) spec.state = any.percent(70) ? queue_state::hold : queue_state::drain;
  result<void> said;
  if (known_.queues.contains(name)) {
    called<"cluster_queues::update">();
    said = tell([&] { return queues.update(*there, spec); });
  } else {
    called<"cluster_queues::add">();
    const result<queue_id> made = tell([&] { return queues.add(spec); });
    if (made && there && *made != *there) wrong("add of a queue that was named makes another one", name);
    if (!made) said = made.error();
  }
  if (said) known_.queues[name] = std::move(spec);
}

void host::change_flavor(dice& any) {
  cluster_queues queues = cluster_.queues();
  const std::string name = flavor_name(any.below(most_flavors));
  if (any.percent(30)) {
    const bool used = std::any_of(known_.queues.begin(), known_.queues.end(), [&](const auto& one) {
      const auto its = [&](const queue_quota& quota) { return quota.flavor == name; };
      return std::any_of(one.second.quotas.begin(), one.second.quotas.end(), its);
    });
    called<"cluster_queues::remove_flavor">();
    const bool done = tell([&] { return queues.remove_flavor(name); }).has_value();
    if (done != (known_.flavors.contains(name) && !used)) wrong("remove_flavor is wrong about who has it", name);
    if (done) known_.flavors.erase(name);
    return;
  }
  flavor_spec spec{.name = name};
  if (any.percent(80)) spec.node_labels["zone"] = "z" + std::to_string(any.below(3));
  called<"cluster_queues::set_flavor">();
  must(queues.set_flavor(spec), "set_flavor");
  known_.flavors[name] = std::move(spec);
}

/// By what was said of the pod, its groups and the queues.
std::string host::queue_of(const known_pod& pod) const {
  if (!pod.spec.queue.empty()) return pod.spec.queue;
  for (number up = pod.group; up != nobody;) {
    const auto group = known_.groups.find(up);
    if (group == known_.groups.end() || group->second.expected) break;
    if (!group->second.spec.queue.empty()) return group->second.spec.queue;
    up = group->second.above;
  }
  for (const auto& [name, spec] : known_.queues) {
    if (std::find(spec.namespaces.begin(), spec.namespaces.end(), pod.spec.ns) != spec.namespaces.end()) return name;
  }
  return {};
}

std::string host::flavor_of(const known_node& node) const {
  for (const auto& [name, spec] : known_.flavors) {
    const bool has = std::all_of(spec.node_labels.begin(), spec.node_labels.end(), [&](const auto& label) {
      const auto its = node.spec.labels.find(label.first);
      return its != node.spec.labels.end() && its->second == label.second;
    });
    if (has) return name;
  }
  return {};
}

bool host::drains(const known_pod& pod) const {
  for (std::string name = queue_of(pod); !name.empty();) {
    const auto known = known_.queues.find(name);
    if (known == known_.queues.end()) return false;
    if (known->second.state == queue_state::drain) return true;
    name = known->second.parent;
  }
  return false;
}

void host::check_queues() const {
  struct counted {
    amounts used{}, requested{};
    std::map<std::string, amounts> by_flavor;
    std::set<std::pair<std::string, number>> running;  ///< groups by their root, pods above all numbers of these
  };
  if (!on_.queues) return;
  std::map<std::string, counted> all;
  const queue_questions queues = std::as_const(cluster_).queues();
  called<"queue_questions::queue_of(pod_id)">();
  called<"queue_questions::name_of">();
  for (const auto& [at, pod] : known_.pods) {
    const std::string own = queue_of(pod);
    if (queues.name_of(queues.queue_of(pod.id)) != own)
      wrong("a pod is not in the queue that it should be in", text_of(at));
    for (std::string name = own; !name.empty();) {
      counted& to = all[name];
      const std::string flavor = pod.node == nobody ? std::string{} : flavor_of(known_.nodes.at(pod.node));
      for (std::size_t i = 0; i < resources.size(); ++i) {
        to.requested[i] += pod.needs[i];
        if (pod.node != nobody) to.used[i] += pod.needs[i];
        if (!flavor.empty()) to.by_flavor[flavor][i] += pod.needs[i];
      }
      if (pod.node != nobody)
        to.running.insert(
            {own + (pod.group == nobody ? " pod" : ""), pod.group == nobody ? at : known_.root(pod.group)});
      const auto known = known_.queues.find(name);
      name = known == known_.queues.end() ? std::string{} : known->second.parent;
    }
  }
  const auto differ = [](const integer_resources& said, const amounts& counted_anew) {
    for (std::size_t i = 0; i < resources.size(); ++i) {
      const auto its = said.find(std::string{resources[i]});
      if ((its == said.end() ? 0 : its->second) != counted_anew[i]) return true;
    }
    return false;
  };
  called<"queue_questions::all">();
  called<"queue_questions::usage_of(queue_id)">();
  called<"queue_questions::usage_of(queue_id, std::string_view)">();
  called<"queue_questions::contains">();
  called<"queue_questions::spec_of">();
  for (const queue_id id : queues.all()) {
    const std::string name{queues.name_of(id)};
    const queue_usage usage = queues.usage_of(id);
    const counted& its = all[name];
    if (!queues.contains(id) || (queues.spec_of(id) != nullptr) != known_.queues.contains(name))
      wrong("the cluster is wrong about whether a queue is there", name);
    if (differ(usage.used, its.used)) wrong("what a queue uses is not what its pods on nodes ask for", name);
    if (differ(usage.requested, its.requested)) wrong("what a queue requests is not what its pods ask for", name);
    if (usage.running != its.running.size()) wrong("what runs in a queue is not who has a node there", name);
    for (std::size_t i = 0; i < most_flavors; ++i) {
      const auto of = its.by_flavor.find(flavor_name(i));
      if (differ(queues.usage_of(id, flavor_name(i)).used, of == its.by_flavor.end() ? amounts{} : of->second))
        wrong("what a queue uses of a flavor is not what its pods there ask for", name);
    }
  }
  called<"queue_questions::flavor_of">();
  for (const auto& [at, node] : known_.nodes) {
    if (queues.flavor_of(node.id) != flavor_of(node))
      wrong("a node is not of the flavor that it should be of", node.spec.name);
  }
  called<"queue_questions::find_flavor">();
  for (std::size_t i = 0; i < most_flavors; ++i) {
    if ((queues.find_flavor(flavor_name(i)) != nullptr) != known_.flavors.contains(flavor_name(i)))
      wrong("the cluster is wrong about whether a flavor is there", flavor_name(i));
  }
  called<"queue_questions::queue_of(group_id)">();
  for (const auto& [at, group] : known_.groups) {
    if (group.spec.queue.empty() || group.expected) continue;
    if (queues.name_of(queues.queue_of(group.id)) != group.spec.queue)
      wrong("a group is not in the queue that it names", group.spec.name);
  }
}

}  // namespace gangsched::soak
