#include "reference.hpp"

#include <algorithm>
#include <utility>

namespace reference {
namespace {

// GetZoneKey (k8s.io/component-helpers/node/topology)
std::string zone_of(const node_spec& node) {
  const auto label = [&](const char* beta, const char* now) {
    for (const char* key : {beta, now}) {
      if (const auto found = node.labels.find(key); found != node.labels.end()) return found->second;
    }
    return std::string{};
  };
  const std::string region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
  const std::string zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
  return region.empty() && zone.empty() ? "" : region + ":" + zone;
}

usage usage_of(const std::vector<const pod*>& pods) {
  usage sum;
  sum.pods = pods;
  for (const pod* each : pods) {
    for (const auto& [name, amount] : each->wants.filter) sum.requested[name] += amount;
    sum.placed_cpu += each->wants.placed_cpu;
    sum.placed_memory += each->wants.placed_memory;
  }
  return sum;
}

// All filters on one node as it is with these pods on it.
node_word filter_all(const world& in, const pod& what, row_t where, const options& with, const usage& used) {
  for (const plugin& rule : with.rules) {
    if (auto rejected = filtered(rule, in, what, where, used)) {
      return {rejected->code, rule.name, std::move(rejected->reasons), {}, 0};
    }
  }
  return {};
}

// RunFilterPluginsWithNominatedPods: with the nominated pods of equal or higher priority first, then without any.
node_word filter_node(const world& in, const pod& what, row_t where, const options& with) {
  const std::vector<const pod*> there = in.pods_on(where);
  std::vector<const pod*> expected = there;
  for (const auto& [id, other] : in.pods) {
    const bool counts =
        other.stage == stage::pending && other.nominated == where && other.priority() >= what.priority();
    if (counts && id != what.id) expected.push_back(&other);
  }
  if (expected.size() > there.size()) {
    node_word word = filter_all(in, what, where, with, usage_of(expected));
    if (word.code != code::success) return word;
  }
  return filter_all(in, what, where, with, usage_of(there));
}

std::string join(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

// FitError
std::string summary_of(const outlook& seen) {
  std::map<std::string, int> counts;
  for (const auto& [row, word] : seen.nodes) {
    for (const std::string& reason : word.reasons) ++counts[reason];
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : counts) lines.push_back(std::to_string(count) + " " + reason);
  std::sort(lines.begin(), lines.end());
  const std::string tail = lines.empty() ? "" : " " + join(lines) + ".";
  return "0/" + std::to_string(seen.nodes.size()) + " nodes are available:" + tail;
}

// numFeasibleNodesToFind: how many feasible nodes are enough.
std::size_t enough(int percentage, std::size_t nodes) {
  if (nodes < 100 || percentage >= 100) return nodes;
  const int n = static_cast<int>(nodes);
  const int share = percentage == 0 ? std::max(5, 50 - n / 125) : percentage;
  return static_cast<std::size_t>(std::max(100, n * share / 100));
}

void score_all(const world& in, const pod& what, const options& with, outlook& seen) {
  std::vector<usage> used;
  for (const row_t row : seen.feasible) used.push_back(usage_of(in.pods_on(row)));
  for (const plugin& rule : with.rules) {
    const auto scores = scored(rule, in, what, seen.feasible, used);
    if (!scores) continue;
    for (std::size_t i = 0; i < seen.feasible.size(); ++i) {
      node_word& word = seen.nodes.at(seen.feasible[i]);
      word.lines.push_back({rule.name, scores->raw[i], scores->normalized[i], rule.weight});
      word.total += scores->normalized[i] * rule.weight;
    }
  }
  for (const row_t row : seen.feasible) {
    const std::int64_t total = seen.nodes.at(row).total;
    if (!seen.best.empty() && seen.nodes.at(seen.best.front()).total > total) continue;
    if (!seen.best.empty() && seen.nodes.at(seen.best.front()).total < total) seen.best.clear();
    seen.best.push_back(row);
  }
}

bool has(const options& with, const char* name) {
  return std::any_of(with.rules.begin(), with.rules.end(), [&](const plugin& rule) { return rule.name == name; });
}

}  // namespace

void world::put_node(node_id id, const node_spec& spec) {
  rows = std::max(rows, id.row + 1);
  const auto old = nodes.find(id.row);
  const std::string zone = zone_of(spec);
  node made{spec, integers_of(spec.allocatable), 0};
  if (old != nodes.end() && zone_of(old->second.spec) == zone) {
    made.joined = old->second.joined;
  } else {
    if (old != nodes.end()) drop_from_zone(id.row);
    made.joined = joined++;
    zones.try_emplace(zone, made.joined);
  }
  nodes.insert_or_assign(id.row, std::move(made));
}

void world::drop_from_zone(row_t row) {
  const std::string zone = zone_of(nodes.at(row).spec);
  nodes.erase(row);
  const bool used =
      std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return zone_of(n.second.spec) == zone; });
  if (!used) zones.erase(zone);
}

world::losses world::drop_node(node_id id) {
  losses lost;
  for (auto& [name, pod] : pods) {
    if (pod.nominated == id.row) pod.nominated = no_row;
    if (pod.node != id.row) continue;
    (pod.stage == stage::bound ? lost.gone : lost.released).push_back(name);
  }
  for (const auto& pod : lost.gone) pods.erase(pod);
  for (const auto& pod : lost.released) release(pod);
  drop_from_zone(id.row);
  return lost;
}

void world::put_pod(pod_id id, const pod_spec& spec) {
  const auto [at, added] = pods.try_emplace(id);
  pod& into = at->second;
  into.id = id;
  into.spec = spec;
  into.wants = asks_of(spec);
  into.terminating = into.terminating || spec.terminating;
  if (added) into.arrival = arrivals++;
  if (spec.node) {
    place(id, spec.node.row, stage::bound);
  } else if (into.stage == stage::pending) {
    into.nominated = spec.nominated_node ? spec.nominated_node.row : no_row;
  }
}

void world::put_group(group_id id, const group_spec& spec) {
  const auto [at, added] = groups.try_emplace(id);
  at->second.id = id;
  at->second.spec = spec;
  if (added) at->second.arrival = group_arrivals++;
}

std::vector<const pod*> world::pods_on(row_t node) const {
  std::vector<const pod*> all;
  for (const auto& [id, pod] : pods) {
    if (pod.node == node) all.push_back(&pod);
  }
  return all;
}

std::vector<const pod*> world::members(group_id group) const {
  std::vector<const pod*> all;
  for (const auto& [id, pod] : pods) {
    if (pod.spec.group == group) all.push_back(&pod);
  }
  std::sort(all.begin(), all.end(), [](const pod* a, const pod* b) { return a->arrival < b->arrival; });
  return all;
}

const group* world::group_of(const pod& of) const { return of.spec.group ? &groups.at(of.spec.group) : nullptr; }

int world::placed(group_id group) const {
  int count = 0;
  for (const pod* member : members(group)) count += member->stage != stage::pending ? 1 : 0;
  return count;
}

void world::place(pod_id id, row_t node, reference::stage as) {
  pod& what = pods.at(id);
  what.node = node;
  what.stage = as;
  what.nominated = no_row;
}

void world::release(pod_id id) {
  pod& what = pods.at(id);
  what.node = no_row;
  what.stage = stage::pending;
}

std::optional<std::string> own_gate(const world& in, const pod& what, const options& with) {
  for (const plugin& rule : with.rules) {
    if (rule.name == "SchedulingGates" && !what.spec.scheduling_gates.empty()) return rule.name;
    if (rule.name == "GangScheduling" && what.spec.group &&
        static_cast<int>(in.members(what.spec.group).size()) < in.group_of(what)->minimum()) {
      return rule.name;
    }
  }
  return std::nullopt;
}

std::optional<std::string> gated_by(const world& in, const pod& what, const options& with) {
  if (auto own = own_gate(in, what, with)) return own;
  const group* group = in.group_of(what);
  if (group == nullptr || !group->together()) return std::nullopt;
  for (const pod* member : in.members(group->id)) {
    if (member->stage != stage::pending || member->terminating) continue;
    if (auto theirs = own_gate(in, *member, with)) return theirs;
  }
  return std::nullopt;
}

std::vector<row_t> snapshot_order(const world& in) {
  std::vector<std::pair<std::uint64_t, std::string>> zones;
  for (const auto& [zone, when] : in.zones) zones.emplace_back(when, zone);
  std::sort(zones.begin(), zones.end());
  std::vector<std::vector<std::pair<std::uint64_t, row_t>>> queues(zones.size());
  for (const auto& [row, node] : in.nodes) {
    for (std::size_t z = 0; z < zones.size(); ++z) {
      if (zones[z].second == zone_of(node.spec)) queues[z].emplace_back(node.joined, row);
    }
  }
  for (auto& queue : queues) std::sort(queue.begin(), queue.end());
  std::vector<row_t> order;
  for (std::size_t i = 0; order.size() < in.nodes.size(); ++i) {
    for (const auto& queue : queues) {
      if (i < queue.size()) order.push_back(queue[i].second);
    }
  }
  return order;
}

// What the filters say.
outlook filter_nodes(const world& in, pod_id id, const options& with) {
  const pod& what = in.pods.at(id);
  outlook seen;
  std::optional<std::vector<std::string>> only;
  if (has(with, "NodeAffinity")) only = narrowed_to(what.spec);
  if (only && only->empty()) {
    seen.rejected_by = "NodeAffinity";
    seen.examined = false;
    seen.code = code::unresolvable;
    seen.summary = "0/" + std::to_string(in.nodes.size()) + " nodes are available: pod affinity terms conflict.";
    return seen;
  }
  for (const auto& [row, node] : in.nodes) {
    if (only && std::find(only->begin(), only->end(), node.spec.name) == only->end()) {
      seen.narrowed.push_back(row);
      seen.nodes[row] = {code::unresolvable, "", {"node(s) didn't satisfy plugin(s) [NodeAffinity]"}, {}, 0};
      continue;
    }
    seen.nodes[row] = filter_node(in, what, row, with);
    if (seen.nodes[row].code == code::success) seen.feasible.push_back(row);
  }
  // findNodesThatFitPod: the node the pod is nominated to, if it passes, is the only one.
  if (std::find(seen.feasible.begin(), seen.feasible.end(), what.nominated) != seen.feasible.end()) {
    seen.feasible = {what.nominated};
    seen.examined = false;
  }
  if (seen.feasible.empty()) seen.summary = summary_of(seen);
  return seen;
}

outlook look(const world& in, pod_id id, const options& with) {
  outlook seen = filter_nodes(in, id, with);
  score_all(in, in.pods.at(id), with, seen);
  return seen;
}

row_t choose_among(const world& in, const outlook& seen, const options& with, std::uint64_t decision) {
  if (seen.best.empty()) return no_row;
  switch (with.ties) {
    case gangsched::tie_rule::lowest_row: return *std::min_element(seen.best.begin(), seen.best.end());
    case gangsched::tie_rule::uniform:
      return gangsched::break_tie(
          with.seed, decision, seen.best.size(), in.rows,
          [&](row_t row) { return std::find(seen.best.begin(), seen.best.end(), row) != seen.best.end(); },
          [&](auto&& visit) { std::for_each(seen.best.begin(), seen.best.end(), visit); });
    case gangsched::tie_rule::kube_heap: break;
  }
  // newSortedNodeScores of 1.36: heapify over the feasible nodes as examined; the root wins.
  std::vector<row_t> heap = seen.feasible;
  const auto total = [&](std::size_t i) { return seen.nodes.at(heap[i]).total; };
  for (std::size_t top = heap.size() / 2; top-- > 0;) {
    for (std::size_t i = top; 2 * i + 1 < heap.size();) {
      std::size_t child = 2 * i + 1;
      if (child + 1 < heap.size() && total(child + 1) > total(child)) ++child;
      if (total(child) <= total(i)) break;
      std::swap(heap[i], heap[child]);
      i = child;
    }
  }
  return heap.front();
}

choice choose(const world& in, pod_id what, const options& with, std::uint64_t decision) {
  outlook seen = filter_nodes(in, what, with);
  std::size_t start = in.start;
  if (with.in_order() && seen.examined) {
    // findNodesThatPassFilters: one worker goes round the nodes from where the last cycle stopped, until it has enough.
    std::vector<row_t> list = snapshot_order(in);
    const std::size_t all = list.size();
    std::erase_if(list, [&](row_t row) {
      return std::find(seen.narrowed.begin(), seen.narrowed.end(), row) != seen.narrowed.end();
    });
    const std::size_t wanted = enough(with.percentage, list.size());
    std::vector<row_t> found;
    std::size_t processed = 0;
    bool tried = in.pods.at(what).nominated != no_row && in.nodes.contains(in.pods.at(what).nominated);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const row_t row = list[(in.start + i) % list.size()];
      const bool fits = std::find(seen.feasible.begin(), seen.feasible.end(), row) != seen.feasible.end();
      if (fits && found.size() == wanted) break;
      ++processed;
      if (fits) found.push_back(row);
      if (row == in.pods.at(what).nominated) tried = false;
    }
    if (tried) ++processed;  // it was found rejected before the round
    seen.feasible = found;
    if (all != 0) start = (in.start + processed) % all;
  }
  score_all(in, in.pods.at(what), with, seen);
  const row_t node = choose_among(in, seen, with, decision);
  return {node, node == no_row ? 0 : seen.nodes.at(node).total, start};
}

std::vector<pod_id> trial_order(const world& in, group_id group) {
  std::vector<const pod*> all = in.members(group);
  std::erase_if(all, [](const pod* member) { return member->stage != stage::pending || member->terminating; });
  std::stable_sort(all.begin(), all.end(), [](const pod* a, const pod* b) { return a->priority() > b->priority(); });
  std::vector<pod_id> order;
  for (const pod* member : all) order.push_back(member->id);
  return order;
}

group_answer try_group(world in, group_id group, const options& with, std::uint64_t decision) {
  const std::vector<pod_id> order = trial_order(in, group);
  const int minimum = in.groups.at(group).minimum();
  int scheduled = in.placed(group);
  int remaining = static_cast<int>(order.size());
  group_answer answer;
  answer.start = in.start;
  for (const pod_id member : order) {
    if (scheduled + remaining < minimum) break;  // PlacementFeasible: it cannot work out any more
    const choice chosen = choose(in, member, with, decision + answer.picks++);
    in.start = answer.start = chosen.start;
    --remaining;
    if (chosen.node == no_row) {
      answer.left.push_back(member);
      continue;
    }
    ++scheduled;
    in.place(member, chosen.node, stage::assumed);
    answer.placed.emplace_back(member, chosen);
  }
  answer.stands = scheduled >= minimum && !answer.placed.empty();
  if (!answer.stands) {
    answer.placed.clear();
    answer.left = order;
  }
  return answer;
}

}  // namespace reference
