#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/model/cluster.hpp"

/// The rules of `cluster` once more, as plainly as can be: maps by name, nothing derived is kept, everything is summed
/// from scratch. Every call has a why_not_…, which says how it must fail, and the change itself.
namespace gangsched::testing {

using mini_name = std::pair<std::string, std::string>;  ///< namespace, name
using mini_port = std::tuple<protocol, int, std::string>;
using mini_amounts = std::map<std::string, std::int64_t>;

/// A pod's spec and what it comes to.
struct mini_spec {
  pod_spec spec;
  mini_amounts requests;
  std::int64_t scored_cpu = 0, scored_memory = 0;
  std::vector<mini_port> ports;

  explicit mini_spec(pod_spec given) : spec(std::move(given)) {
    for (const container& one : spec.containers) {
      for (const auto& [name, amount] : one.requests) {
        const std::int64_t value = name == "cpu" ? amount.milli_value().value() : amount.value().value();
        if (value != 0) requests[name] += value;
      }
      const auto or_default = [&](const char* name, std::int64_t milli, std::int64_t missing) {
        const auto found = one.requests.find(name);
        if (found == one.requests.end()) return missing;
        return milli != 0 ? found->second.milli_value().value() : found->second.value().value();
      };
      scored_cpu += or_default("cpu", 1, 100);
      scored_memory += or_default("memory", 0, 200 * 1024 * 1024);
      for (const container_port& port : one.ports) {
        ports.emplace_back(port.protocol, port.host_port, port.host_ip == "0.0.0.0" ? "" : port.host_ip);
      }
    }
  }
};

/// What is noted for a pod of an object, in the column of its scope that reserve hooks count.
struct mini_use {
  scope_number of;
  row_t row;
  std::uint32_t generation;
  std::int64_t amount;
};

struct mini_pod {
  pod_id id;
  std::shared_ptr<const mini_spec> made;
  pod_state state = pod_state::pending;
  bool terminating = false;
  std::string node = {}, nominated = {}, group = {};  ///< names; empty: none
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;
  std::vector<mini_use> uses = {};
  std::int64_t by_host = 0;  ///< the word of the host's column
  [[nodiscard]] const pod_spec& spec() const { return made->spec; }
};
struct mini_node {
  node_id id;
  std::shared_ptr<const node_spec> spec;
  std::int64_t by_host = 0;  ///< the word of the host's column
};
struct mini_group {
  group_id id;
  std::shared_ptr<const group_spec> spec;
  bool expected = false;
  std::int64_t by_host = 0;
};
/// Of the one scope with a name that there is.
struct mini_row {
  scope_row_id id;
  std::int64_t by_host = 0;
};

struct mini_budget {
  budget_id id;
  pod_disruption_budget_spec spec;
};

class mini_cluster {
 public:
  std::map<std::string, mini_node> nodes;
  std::map<mini_name, mini_pod> pods;
  std::map<mini_name, mini_group> groups;
  std::map<std::string, namespace_spec> namespaces;
  std::map<std::string, priority_class_spec> priority_classes;
  std::map<mini_name, mini_budget> budgets;
  std::map<std::string, mini_row> rows;
  std::uint64_t arrivals = 0;

  using failure = std::optional<errc>;

  mini_node* find(node_id id) { return find_in(nodes, id); }
  mini_pod* find(pod_id id) { return find_in(pods, id); }
  mini_group* find(group_id id) { return find_in(groups, id); }
  mini_row* find(scope_row_id id) { return find_in(rows, id); }
  [[nodiscard]] std::string name_of(node_id id) { return find(id) != nullptr ? find(id)->spec->name : std::string{}; }

  // --- nodes
  failure why_not_add(const node_spec& spec) {
    return nodes.contains(spec.name) ? failure{errc::duplicate} : failure{};
  }
  void add(const node_spec& spec, node_id id) {
    nodes[spec.name] = {id, std::make_shared<const node_spec>(spec)};
    ++arrivals;
  }
  failure why_not_update(node_id id, const node_spec& spec) {
    const mini_node* node = find(id);
    if (node == nullptr) return errc::unknown;
    if (node->spec->name != spec.name) return errc::wrong_state;
    return {};
  }
  void update(node_id id, const node_spec& spec) { find(id)->spec = std::make_shared<const node_spec>(spec); }
  failure why_not_remove(node_id id) { return find(id) == nullptr ? failure{errc::unknown} : failure{}; }
  std::vector<pod_id> remove(node_id id) {
    const std::string name = name_of(id);
    std::vector<pod_id> gone;
    for (auto& [key, pod] : pods) {
      if (pod.nominated == name) pod.nominated.clear();
      if (pod.node != name) continue;
      if (pod.state == pod_state::bound) gone.push_back(pod.id);
      pod.state = pod_state::pending;
      pod.node.clear(), pod.uses.clear();
    }
    for (const pod_id pod : gone) remove(pod);
    nodes.erase(name);
    std::sort(gone.begin(), gone.end());
    return gone;
  }

  // --- pods
  failure why_not_add(const mini_spec& made) {
    const pod_spec& spec = made.spec;
    if (malformed(spec)) return errc::malformed;
    if (pods.contains({spec.ns, spec.name})) return errc::duplicate;
    if (const failure wrong = wrong_references(spec)) return wrong;
    if (const failure wrong = wrong_priority(spec)) return wrong;
    if (spec.node && !fits(made, name_of(spec.node), nullptr)) return errc::overflow;
    return {};
  }
  void add(const std::shared_ptr<const mini_spec>& made, pod_id id) {
    const pod_spec& spec = made->spec;
    mini_pod& pod = pods[{spec.ns, spec.name}];
    pod = {.id = id, .made = made, .terminating = spec.terminating, .priority = priority_of(spec)};
    pod.arrival = ++arrivals;
    if (spec.group) pod.group = find(spec.group)->spec->name;
    if (spec.node)
      pod.state = pod_state::bound, pod.node = name_of(spec.node);
    else
      pod.nominated = name_of(spec.nominated_node);
  }
  failure why_not_update(pod_id id, const mini_spec& made) {
    const pod_spec& spec = made.spec;
    const mini_pod* pod = find(id);
    if (pod == nullptr) return errc::unknown;
    if (malformed(spec)) return errc::malformed;
    if (const failure wrong = wrong_references(spec)) return wrong;
    if (pod->spec().name != spec.name || pod->spec().ns != spec.ns) return errc::wrong_state;
    if ((spec.group ? find(spec.group)->spec->name : std::string{}) != pod->group) return errc::wrong_state;
    const std::string given = name_of(spec.node);
    if (pod->state == pod_state::bound && pod->node != given) return errc::wrong_state;
    if (pod->state == pod_state::assumed && !spec.scheduling_gates.empty()) return errc::wrong_state;
    if (const failure wrong = wrong_priority(spec)) return wrong;
    const std::string& node = given.empty() ? pod->node : given;
    if (!node.empty() && !fits(made, node, pod)) return errc::overflow;
    return {};
  }
  void update(pod_id id, const std::shared_ptr<const mini_spec>& made) {
    mini_pod& pod = *find(id);
    const pod_spec& spec = made->spec;
    pod.made = made;
    pod.priority = priority_of(spec);
    pod.terminating |= spec.terminating;
    if (spec.node && name_of(spec.node) != pod.node) pod.uses.clear();
    if (spec.node)
      pod.state = pod_state::bound, pod.node = name_of(spec.node), pod.nominated.clear();
    else if (pod.state == pod_state::pending)
      pod.nominated = name_of(spec.nominated_node);
  }
  failure why_not_remove(pod_id id) { return find(id) == nullptr ? failure{errc::unknown} : failure{}; }
  void remove(pod_id id) {
    pods.erase({find(id)->spec().ns, std::string{find(id)->spec().name}});
    forget_empty();
  }

  failure why_not_assume(pod_id id, node_id where) {
    const mini_pod* pod = find(id);
    if (pod == nullptr || find(where) == nullptr) return errc::unknown;
    if (pod->state != pod_state::pending || pod->terminating || !pod->spec().scheduling_gates.empty()) {
      return errc::wrong_state;
    }
    if (!fits(*pod->made, name_of(where), nullptr)) return errc::overflow;
    return {};
  }
  void assume(pod_id id, node_id where) {
    mini_pod& pod = *find(id);
    pod.state = pod_state::assumed, pod.node = name_of(where), pod.nominated.clear();
  }
  failure why_not_when(pod_id id, pod_state wanted) {
    const mini_pod* pod = find(id);
    if (pod == nullptr) return errc::unknown;
    return pod->state != wanted ? failure{errc::wrong_state} : failure{};
  }
  void bind(pod_id id) { find(id)->state = pod_state::bound; }
  void release(pod_id id) { find(id)->state = pod_state::pending, find(id)->node.clear(), find(id)->uses.clear(); }
  failure why_not_nominate(pod_id id, node_id where) {
    if (find(id) == nullptr || (where && find(where) == nullptr)) return errc::unknown;
    return why_not_when(id, pod_state::pending);
  }
  void nominate(pod_id id, node_id where) { find(id)->nominated = name_of(where); }

  // --- groups
  failure why_not_add(const group_spec& spec) {
    const auto found = groups.find({spec.ns, spec.name});
    return found != groups.end() && !found->second.expected ? failure{errc::duplicate} : failure{};
  }
  void add(const group_spec& spec, group_id id) {
    if (!groups.contains({spec.ns, spec.name})) ++arrivals;
    mini_group& group = groups[{spec.ns, spec.name}];
    group = {id, std::make_shared<const group_spec>(spec), false, group.by_host};
  }
  failure why_not_update(group_id id, const group_spec& spec) {
    const mini_group* group = find(id);
    if (group == nullptr) return errc::unknown;
    if (group->expected) return errc::wrong_state;
    const auto mode = [](const group_spec& one) {
      const gang* policy = std::get_if<gang>(&one.policy);
      return policy == nullptr ? -1 : static_cast<int>(policy->mode);
    };
    const bool same = group->spec->name == spec.name && group->spec->ns == spec.ns && mode(*group->spec) == mode(spec);
    return same ? failure{} : failure{errc::wrong_state};
  }
  void update(group_id id, const group_spec& spec) { find(id)->spec = std::make_shared<const group_spec>(spec); }
  failure why_not_remove(group_id id) {
    const mini_group* group = find(id);
    if (group == nullptr) return errc::unknown;
    return {};
  }
  void remove(group_id id) {
    mini_group& group = *find(id);
    group.expected = true;
    group.by_host = 0;
    group.spec = std::make_shared<const group_spec>(group_spec{.name = group.spec->name, .ns = group.spec->ns});
    forget_empty();
  }
  void forget_empty() {
    std::erase_if(groups, [&](const auto& one) { return one.second.expected && members(*one.second.spec).empty(); });
  }

  // --- columns, each scope with one of either kind
  template <class Id>
  failure why_not_set(Id id, const std::string& column) {
    if (find(id) == nullptr) return errc::unknown;
    const bool counted = column == "counted" && !std::is_same_v<Id, pod_id>;  // of pods there are only the host's
    return column == "by_host" ? failure{} : counted ? failure{errc::wrong_state} : failure{errc::unknown};
  }
  template <class Id>
  void set(Id id, std::int64_t value) {
    find(id)->by_host = value;
  }
  /// What pods have noted of a row.
  [[nodiscard]] std::int64_t counted(scope_number of, row_t row, std::uint32_t generation) const {
    std::int64_t sum = 0;
    for (const auto& [key, pod] : pods) {
      for (const mini_use& one : pod.uses)
        sum += one.of == of && one.row == row && one.generation == generation ? one.amount : 0;
    }
    return sum;
  }

  /// In order of arrival.
  [[nodiscard]] std::vector<const mini_pod*> members(const group_spec& group) const {
    std::vector<const mini_pod*> all;
    for (const auto& [key, pod] : pods) {
      if (key.first == group.ns && pod.group == group.name) all.push_back(&pod);
    }
    std::sort(all.begin(), all.end(), [](const mini_pod* a, const mini_pod* b) { return a->arrival < b->arrival; });
    return all;
  }
  [[nodiscard]] std::vector<const mini_pod*> on_node(const std::string& node) const {
    std::vector<const mini_pod*> all;
    for (const auto& [key, pod] : pods) {
      if (pod.node == node) all.push_back(&pod);
    }
    return all;
  }

 private:
  template <class Map, class Id>
  static typename Map::mapped_type* find_in(Map& map, Id id) {
    for (auto& [key, one] : map) {
      if (one.id == id) return &one;
    }
    return nullptr;
  }
  static bool malformed(const pod_spec& spec) {
    return spec.labels.contains("?") || (spec.node && !spec.scheduling_gates.empty());
  }
  failure wrong_references(const pod_spec& spec) {
    if (spec.group && find(spec.group) == nullptr) return errc::unknown;
    if (spec.group && find(spec.group)->spec->ns != spec.ns) return errc::malformed;
    if (spec.node && find(spec.node) == nullptr) return errc::unknown;
    if (spec.nominated_node && find(spec.nominated_node) == nullptr) return errc::unknown;
    return {};
  }
  failure wrong_priority(const pod_spec& spec) const {
    if (spec.priority_class.empty()) return {};
    const auto found = priority_classes.find(spec.priority_class);
    if (found == priority_classes.end()) return errc::unknown;
    return spec.priority.value_or(found->second.value) != found->second.value ? failure{errc::malformed} : failure{};
  }
  [[nodiscard]] std::int32_t priority_of(const pod_spec& spec) const {
    if (!spec.priority_class.empty()) return priority_classes.at(spec.priority_class).value;
    if (spec.priority) return *spec.priority;
    std::optional<std::int32_t> lowest;
    for (const auto& [name, one] : priority_classes) {
      if (one.global_default) lowest = std::min(lowest.value_or(one.value), one.value);
    }
    return lowest.value_or(0);
  }
  /// Whether the node's sums stay below 2^63 with one more pod, instead of @p replaced.
  [[nodiscard]] bool fits(const mini_spec& made, const std::string& node, const mini_pod* replaced) const {
    std::vector<const mini_spec*> all{&made};
    for (const mini_pod* pod : on_node(node)) {
      if (pod != replaced) all.push_back(pod->made.get());
    }
    const auto sum_fits = [&](auto value_of) {
      std::uint64_t sum = 0;  // every value is below 2^63, and the sum of all others is too
      for (auto one = all.rbegin(); one != all.rend(); ++one) sum += static_cast<std::uint64_t>(value_of(**one));
      return sum <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    };
    for (const auto& [name, value] : made.requests) {
      const std::string& resource = name;
      if (!sum_fits([&](const mini_spec& one) {
            const auto found = one.requests.find(resource);
            return found == one.requests.end() ? 0 : found->second;
          })) {
        return false;
      }
    }
    return sum_fits([](const mini_spec& one) { return one.scored_cpu; }) &&
           sum_fits([](const mini_spec& one) { return one.scored_memory; });
  }
};

}  // namespace gangsched::testing
