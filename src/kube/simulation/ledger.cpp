#include "gangsched/src/kube/simulation/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

group_ledger::group_ledger(const manifests& of) {
  for (const group_manifest& one : of.groups) {
    entry& made = entries_[find_or_add(one.spec.composite, one.spec.ns, one.spec.name)];
    made.spec = &one.spec;
    made.made.known = true;
    made.made.minimum = 1;
    if (const gang* policy = std::get_if<gang>(&one.spec.policy)) {
      made.made.minimum = policy->min_count;
      for (const role_minimum& role : policy->roles) made.made.roles.push_back({role.role, role.min_count, 0});
    }
  }
  for (const group_manifest& one : of.groups) {
    if (one.parent.empty()) continue;
    const std::size_t parent = find_or_add(true, one.spec.ns, one.parent);
    const std::size_t made = find_or_add(one.spec.composite, one.spec.ns, one.spec.name);
    std::optional<std::size_t> up = parent;
    while (up && *up != made) up = entries_[*up].parent;
    if (up) continue;  // a cycle, which the cluster refuses
    entries_[made].parent = parent;
    entries_[made].made.parent = one.parent;
  }
  for (const pod_manifest& pod : of.pods) add(pod);
  children_.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].parent) children_[*entries_[i].parent].push_back(i);
  for (const node_manifest& one : of.nodes) node_labels_.emplace(one.spec.name, &one.spec.labels);
}

std::size_t group_ledger::find_or_add(bool composite, const std::string& ns, const std::string& name) {
  const auto [at, added] = by_name_.try_emplace({composite, ns, name}, entries_.size());
  if (added) {
    group_outcome& made = entries_.emplace_back().made;
    made.ns = ns;
    made.name = name;
    made.composite = composite;
  }
  return at->second;
}

void group_ledger::add(const pod_manifest& pod) {
  const std::size_t made = group_of_.size();
  group_of_.emplace_back();
  has_node_.push_back(false);
  role_of_.push_back(pod.spec.role);
  if (!pod.group.empty()) {
    group_of_[made] = find_or_add(false, pod.spec.ns, pod.group);
    entries_[*group_of_[made]].pods.push_back(made);
    add_open(*group_of_[made], 1);
  }
  children_.resize(entries_.size());
}

void group_ledger::is_replaced(std::size_t pod) {
  if (const auto& group = group_of_[pod]) add_open(*group, -1);
}

void group_ledger::add_open(std::size_t group, std::ptrdiff_t count) {
  for (std::optional<std::size_t> one = group; one; one = entries_[*one].parent)
    entries_[*one].open += static_cast<std::size_t>(count);
}

void group_ledger::started(std::size_t pod, instant now) {
  const std::optional<std::size_t> group = group_of_[pod];
  if (!group || has_node_[pod]) return;
  has_node_[pod] = true;
  group_outcome& made = entries_[*group].made;
  ++made.bound;
  for (role_outcome& role : made.roles)
    if (role.role == role_of_[pod]) ++role.bound;
  const bool enough = made.bound >= made.minimum && std::ranges::all_of(made.roles, [](const role_outcome& role) {
                        return role.bound >= role.minimum;
                      });
  if (made.known && enough) came_to_minimum(*group, now);
}

/// As Kubernetes' condition: once it is so, it stays so.
void group_ledger::came_to_minimum(std::size_t group, instant now) {
  entry& of = entries_[group];
  if (of.made.scheduled_at) return;
  of.made.scheduled_at = now;
  if (!of.parent) return;
  entry& above = entries_[*of.parent];
  ++above.scheduled_children;
  if (above.made.known && std::cmp_greater_equal(above.scheduled_children, above.made.minimum))
    came_to_minimum(*of.parent, now);
}

std::optional<std::size_t> group_ledger::take_out(std::size_t pod, bool ended) {
  const std::optional<std::size_t> group = group_of_[pod];
  if (!group) return std::nullopt;
  entry& of = entries_[*group];
  if (has_node_[pod]) {
    has_node_[pod] = false;
    --of.made.bound;
    for (role_outcome& role : of.made.roles)
      if (role.role == role_of_[pod]) --role.bound;
  }
  if (ended) add_open(*group, -1);
  return group;
}

std::vector<std::size_t> group_ledger::all_pods(std::size_t group) const {
  std::vector<std::size_t> all, todo{group};
  while (!todo.empty()) {
    const std::size_t next = todo.back();
    todo.pop_back();
    all.insert(all.end(), entries_[next].pods.begin(), entries_[next].pods.end());
    todo.insert(todo.end(), children_[next].begin(), children_[next].end());
  }
  std::ranges::sort(all);
  return all;
}

void group_ledger::count_pods(group_outcome& to, std::size_t group, const std::vector<pod_outcome>& pods) const {
  to.bound = 0;
  for (const std::size_t i : all_pods(group)) {
    if (holds_node(pods[i])) ++to.bound;
    if (pods[i].is == fate::unscheduled || pods[i].is == fate::waiting) ++to.pending;
  }
}

/// The first of its levels of which all members share one domain.
void group_ledger::find_domain(group_outcome& to, std::size_t group, const std::vector<pod_outcome>& pods) const {
  if (entries_[group].spec == nullptr) return;
  for (const std::string& key : entries_[group].spec->topology.within) {
    std::optional<std::string> shared;
    bool all = true;
    for (const std::size_t i : all_pods(group)) {
      if (!holds_node(pods[i])) continue;
      const auto labels = node_labels_.find(pods[i].node);
      const bool there = labels != node_labels_.end() && labels->second->contains(key);
      all = all && there && shared.value_or(labels->second->at(key)) == labels->second->at(key);
      if (all) shared = labels->second->at(key);
    }
    if (!all || !shared) continue;
    to.domain_key = key;
    to.domain = *shared;
    return;
  }
}

void group_ledger::explain(group_outcome& to, std::size_t group, const std::vector<pod_outcome>& pods) const {
  if (!to.known) {
    to.message = "is in no file: its members wait for it";
    return;
  }
  to.reason = to.scheduled_at ? "Scheduled" : "Unschedulable";
  if (to.scheduled_at) return;
  const std::vector<std::size_t> members = all_pods(group);
  if (std::ranges::any_of(members, [&](std::size_t i) { return pods[i].failed; })) to.reason = "SchedulerError";
  if (members.empty()) {
    to.message = "has no pods";
  } else if (to.composite) {
    to.message = fmt::format("{} of the {} groups that it needs", entries_[group].scheduled_children, to.minimum);
  } else {
    const auto pending = std::ranges::find_if(members, [&](std::size_t i) { return !pods[i].reason.empty(); });
    if (pending != members.end()) to.message = pods[*pending].reason;
  }
}

std::vector<group_outcome> group_ledger::finish(const std::vector<pod_outcome>& pods) const {
  std::vector<group_outcome> all;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    group_outcome& made = all.emplace_back(entries_[i].made);
    count_pods(made, i, pods);
    find_domain(made, i, pods);
    explain(made, i, pods);
  }
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
