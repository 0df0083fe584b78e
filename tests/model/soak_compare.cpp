#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "soak.hpp"
#include "support/inside.hpp"

/// The cluster against the plain model, from the outside (questions) and the inside (tables, lists, counters).
namespace gangsched::testing {

void soak::compare() {
  ++counts_.compared;
  const model::cluster_state& state = inside(cluster_);
  check(follower_.follow(state), "a node changed in a way that the log does not say");

  std::vector<node_id> nodes;
  for (const auto& [name, node] : model_.nodes) nodes.push_back(node.id), compare_node(node);
  std::sort(nodes.begin(), nodes.end());
  check(cluster_.nodes() == nodes, "nodes()");
  check(state.nodes.by_name.size() == nodes.size(), "size of the index of nodes");

  std::vector<pod_id> pods, assumed;
  for (const auto& [name, pod] : model_.pods) {
    pods.push_back(pod.id), compare_pod(pod);
    if (pod.state == pod_state::assumed) assumed.push_back(pod.id);
  }
  std::sort(pods.begin(), pods.end());
  std::sort(assumed.begin(), assumed.end());
  check(cluster_.pods() == pods, "pods()");
  check(cluster_.assumed() == assumed, "assumed()");
  check(state.pods.by_name.size() == pods.size(), "size of the index of pods");

  for (const auto& [name, group] : model_.groups) compare_group(group);
  for (const auto& [name, row] : model_.rows) {
    check(cluster_.find_scope_row("rows", name) == row.id && cluster_.name_of(row.id) == name, "row " + name);
    compare_columns(scope_number::first_named, row.id, row.by_host, name);
  }
  check(state.groups.by_name.size() == model_.groups.size(), "size of the index of groups");

  check(state.named.namespaces.by_name.size() == model_.namespaces.size(), "number of namespaces");
  for (const auto& [name, spec] : model_.namespaces) {
    const row_t row = state.named.namespaces.by_name.find({}, name);
    check(row != no_row && state.named.namespaces.record[row]->spec.labels == spec.labels, "namespace " + name);
  }
  check(state.named.priority_classes.by_name.size() == model_.priority_classes.size(), "number of priority classes");
  for (const auto& [name, spec] : model_.priority_classes) {
    const row_t row = state.named.priority_classes.by_name.find({}, name);
    check(row != no_row && state.named.priority_classes.record[row]->spec.value == spec.value &&
              state.named.priority_classes.record[row]->spec.global_default == spec.global_default,
          "priority class " + name);
  }
  std::vector<row_t> listed = inside(cluster_).nodes.tree.rows();
  std::sort(listed.begin(), listed.end());
  std::vector<row_t> there;
  for (const node_id node : cluster_.nodes()) there.push_back(node.row);
  std::sort(there.begin(), there.end());
  check(listed == there, "the nodes in the snapshot's order");
  check(state.named.budgets.by_name.size() == model_.budgets.size(), "number of budgets");
  for (const auto& [name, budget] : model_.budgets) {
    check(cluster_.find_disruption_budget(name.first, name.second) == budget.id && cluster_.contains(budget.id),
          "budget " + name.second);
    const pod_disruption_budget_spec& spec = state.named.budgets.record[budget.id.row]->spec;
    check(spec.disruptions_allowed == budget.spec.disruptions_allowed &&
              spec.disrupted_pods == budget.spec.disrupted_pods,
          "status of budget " + name.second);
  }
  std::map<std::string, std::uint32_t> users;
  for (const auto& [name, pod] : model_.pods) {
    for (const std::string& claim : pod.spec().volumes.exclusive_claims)
      users[name.first + "/" + claim] += pod.node.empty() ? 0 : 1;
  }
  for (const auto& [claim, count] : users) {
    const auto known = state.names.find(claim);
    check(count == (known ? state.assigned.claims.users(*known) : 0), "users of claim " + claim);
  }
}

void soak::compare_node(const mini_node& node) {
  const model::cluster_state& state = inside(cluster_);
  const std::string& name = node.spec->name;
  const row_t row = node.id.row;
  check(cluster_.find_node(name) == node.id, "find_node " + name);
  check(cluster_.contains(node.id) && cluster_.name_of(node.id) == name, "name of " + name);
  check(cluster_.cookie_of(node.id) == node.spec->cookie, "cookie of " + name);
  check(state.nodes.record[row]->unschedulable == node.spec->unschedulable, "unschedulable of " + name);

  mini_amounts used;
  std::int64_t scored_cpu = 0, scored_memory = 0, count = 0;
  std::multiset<mini_port> ports;
  std::set<row_t> rows;
  for (const mini_pod* pod : model_.on_node(name)) {
    for (const auto& [resource, value] : pod->made->requests) used[resource] += value;
    scored_cpu += pod->made->scored_cpu;
    scored_memory += pod->made->scored_memory;
    ports.insert(pod->made->ports.begin(), pod->made->ports.end());
    rows.insert(pod->id.row);
    ++count;
  }
  for (resource_kind kind = 0; kind < state.kinds.count(); ++kind) {
    const std::string resource{state.kinds.name(kind)};
    const auto allocatable = node.spec->allocatable.find(resource);
    const quantity amount = allocatable == node.spec->allocatable.end() ? quantity{} : allocatable->second;
    const std::int64_t whole = kind == kinds::cpu ? amount.milli_value().value() : amount.value().value();
    check(state.nodes.allocatable.at(row, kind) == whole, "allocatable " + resource + " of " + name);
    const std::int64_t expected = kind == kinds::pods            ? count
                                  : kind == kinds::scored_cpu    ? scored_cpu
                                  : kind == kinds::scored_memory ? scored_memory
                                  : used.contains(resource)      ? used[resource]
                                                                 : 0;
    check(state.nodes.used.at(row, kind) == expected, "used " + resource + " of " + name);
    check(kind >= kinds::scored_cpu || cluster_.requested(node.id, resource) == expected, "requested() of " + name);
  }
  std::multiset<mini_port> held;
  for (const host_port& port : state.nodes.ports[row]) {
    held.emplace(port.protocol, port.port, std::string{state.names.text(port.address)});
  }
  check(held == ports, "ports of " + name);
  check(std::is_sorted(state.nodes.ports[row].begin(), state.nodes.ports[row].end()), "order of ports of " + name);

  row_t before = no_row;
  std::size_t length = 0;
  for (row_t pod = state.nodes.first_pod[row]; pod != no_row; before = pod, pod = state.pods.next_on_node[pod]) {
    check(rows.contains(pod) && ++length <= rows.size(), "list of pods on " + name);
    check(state.pods.prev_on_node[pod] == before, "links of the list on " + name);
    check(state.pods.node[pod] == row, "node of a pod in the list on " + name);
  }
  check(length == rows.size(), "length of the list on " + name);
  std::size_t nominated = 0;
  for (row_t pod = state.nodes.first_nominated[row]; pod != no_row; pod = state.pods.next_nominated[pod]) {
    check(state.pods.nominated[pod] == row && ++nominated <= model_.pods.size(), "pods nominated to " + name);
  }
  for (const auto& [key, pod] : model_.pods) nominated -= pod.nominated == name ? 1 : 0;
  check(nominated == 0, "number of pods nominated to " + name);
  bool wanted = false;
  row_t last = no_row;
  for (row_t other = state.nodes.first_wanted[0]; other != no_row;
       last = other, other = state.nodes.next_wanted[other]) {
    check(state.nodes.prev_wanted[other] == last, "links of the list of nominated nodes");
    wanted = wanted || other == row;
  }
  check(wanted == (state.nodes.first_nominated[row] != no_row), "being in the list of nominated nodes of " + name);
  compare_columns(scope_number::nodes, node.id, node.by_host, name);
}

template <class Id>
void soak::compare_columns(scope_number of, Id id, std::int64_t by_host, const std::string& name) {
  check(cluster_.column_of(id, "by_host") == by_host, "the host's column of " + name);
  if constexpr (std::is_same_v<Id, pod_id>)
    return check(!cluster_.column_of(id, "counted"), "nobody counts of " + name);
  else
    check(cluster_.column_of(id, "counted") == model_.counted(of, id.row, id.generation),
          "the counted column of " + name);
}

void soak::compare_pod(const mini_pod& pod) {
  const model::cluster_state& state = inside(cluster_);
  const pod_spec& spec = pod.spec();
  const row_t row = pod.id.row;
  const std::string name = spec.ns + "/" + spec.name;
  check(cluster_.find_pod(spec.ns, spec.name) == pod.id, "find_pod " + name);
  check(cluster_.contains(pod.id) && cluster_.name_of(pod.id) == spec.name, "name of " + name);
  check(cluster_.state_of(pod.id) == pod.state, "state of " + name);
  const auto id_of = [&](const std::string& node) { return node.empty() ? node_id{} : model_.nodes.at(node).id; };
  check(cluster_.node_of(pod.id) == id_of(pod.node), "node of " + name);
  check(cluster_.nominated_node_of(pod.id) == id_of(pod.nominated), "nominated node of " + name);
  check(state.pods.terminating[row] == pod.terminating, "terminating of " + name);
  check(cluster_.cookie_of(pod.id) == spec.cookie, "cookie of " + name);
  check(state.pods.record[row]->details->labels == spec.labels, "labels of " + name);
  check(state.pods.record[row]->details->gates == spec.scheduling_gates, "gates of " + name);
  check(state.pods.arrival[row] == pod.arrival, "arrival of " + name);
  const row_t group = pod.group.empty() ? no_row : model_.groups.at({spec.ns, pod.group}).id.row;
  check(state.pods.group[row] == group, "group of " + name);
  const pod_class& cls = state.classes[state.pods.cls[row]];
  check(cls.priority == pod.priority, "priority of " + name);
  mini_amounts requests;
  for (const amount& one : cls.requests) requests[std::string{state.kinds.name(one.kind)}] = one.value;
  check(requests == pod.made->requests, "requests of " + name);
  compare_columns(scope_number::pods, pod.id, pod.by_host, name);
}

void soak::compare_group(const mini_group& group) {
  const model::cluster_state& state = inside(cluster_);
  const model::group_table& groups = state.groups;
  const group_spec& spec = *group.spec;
  const row_t row = group.id.row;
  check(cluster_.find_group(spec.ns, spec.name) == group.id, "find_group " + spec.name);
  check(cluster_.contains(group.id) && cluster_.name_of(group.id) == spec.name, "name of " + spec.name);
  const gang* policy = std::get_if<gang>(&spec.policy);
  check(groups.min_count(row) == (policy == nullptr ? 1u : static_cast<std::uint32_t>(policy->min_count)),
        "minimum of " + spec.name);
  const std::vector<const mini_pod*> members = model_.members(spec);
  std::uint32_t assumed = 0, bound = 0;
  row_t at = groups.first[row], before = no_row;
  for (const mini_pod* pod : members) {
    check(at == pod->id.row, "list of members of " + spec.name);
    check(state.pods.prev_in_group[at] == before, "links of the list of " + spec.name);
    before = at;
    at = state.pods.next_in_group[at];
    assumed += pod->state == pod_state::assumed ? 1 : 0;
    bound += pod->state == pod_state::bound ? 1 : 0;
  }
  check(at == no_row && groups.last[row] == before, "end of the list of " + spec.name);
  check(groups.members[row] == members.size(), "members of " + spec.name);
  check(groups.assumed[row] == assumed, "assumed of " + spec.name);
  check(groups.bound[row] == bound, "bound of " + spec.name);
  compare_columns(scope_number::groups, group.id, group.by_host, spec.name);
}

/// Pods are of one class iff they are alike in all but names and labels, and no term of a pod of their namespace tells them apart.
void soak::compare_classes() {
  using look = std::tuple<std::string, std::int32_t, mini_amounts, std::int64_t, std::int64_t, std::vector<mini_port>,
                          std::size_t, label_map, std::set<std::string>, std::vector<bool>, std::string>;
  const auto wanted = [](const pod_spec& spec) {
    std::set<std::string> values;
    for (const pod_affinity_term& term : spec.anti_affinity_to_pods.required) {
      values.insert(term.selector->match_labels.begin()->second);
    }
    return values;
  };
  // What containers request and may use, where the sum of the requests does not say it.
  const auto bounds = [](const pod_spec& spec) {
    std::string text;
    bool said = spec.containers.size() == 1;
    const auto put = [&](const resource_list& list) {
      for (const auto& [name, amount] : list) {
        said = said && amount != quantity{};
        if (name == "cpu" || name == "memory") text += name + amount.to_string() + ' ';
      }
      text += '/';
    };
    for (const container& one : spec.containers) put(one.requests), said = said && one.limits.empty(), put(one.limits);
    return said ? std::string{} : text;
  };
  std::set<mini_name> live;
  for (const auto& [name, pod] : model_.pods) {
    for (const std::string& value : wanted(pod.spec())) live.insert({pod.spec().ns, value});
  }
  std::map<look, class_id> seen;
  std::map<class_id, look> reverse;
  for (const auto& [name, pod] : model_.pods) {
    const pod_spec& spec = pod.spec();
    std::vector<bool> matched;
    for (const auto& [ns, value] : live) {
      const auto label = spec.labels.find("app");
      matched.push_back(ns == spec.ns && label != spec.labels.end() && label->second == value);
    }
    // Which disks they are is the pod's own; that there are some is the class's.
    matched.push_back(!spec.volumes.disks.empty() || !spec.volumes.exclusive_claims.empty());
    matched.push_back(!spec.volumes.attachments.empty());
    const look key{
        spec.ns,         pod.priority,           pod.made->requests, pod.made->scored_cpu, pod.made->scored_memory,
        pod.made->ports, spec.containers.size(), spec.node_selector, wanted(spec),         matched,
        bounds(spec)};
    const class_id cls = inside(cluster_).class_of(pod.id.row);
    check(seen.emplace(key, cls).first->second == cls, "like pods of different classes: " + name.second);
    check(reverse.emplace(cls, key).first->second == key, "unlike pods of one class: " + name.second);
  }
}

}  // namespace gangsched::testing
