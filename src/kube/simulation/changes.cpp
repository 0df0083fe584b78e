#include "gangsched/src/kube/simulation/changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include "gangsched/fork.hpp"
#include "gangsched/model/requests.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gangsched/src/kube/simulation/must.hpp"
#include "gangsched/src/kube/simulation/node_taints.hpp"
#include "gangsched/src/kube/simulation/queues.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

constexpr const char* cordoned = "node.kubernetes.io/unschedulable";
constexpr std::size_t most_taints = 32;

constexpr std::size_t requests = 0;  // the first relaxation; what is short is told instead of its text

struct relaxation {
  std::string text;  ///< "without …", "if …"
  std::function<void(pod_spec&)> apply;
};

void ask_for_nothing(pod_spec& spec) {
  for (auto* const containers : {&spec.containers, &spec.init_containers})
    for (container& one : *containers) one.requests.clear();
  spec.resources.reset();
  spec.overhead.clear();
}

/// What there is to leave out.
std::vector<relaxation> relaxations_of(const pod_spec& spec, const manifests& all) {
  std::vector<relaxation> made;
  made.push_back({"", ask_for_nothing});
  for (const auto& [key, value] : spec.node_selector) {
    const auto has = [&](const node_manifest& node) {
      const auto found = node.spec.labels.find(key);
      return found != node.spec.labels.end() && found->second == value;
    };
    const bool nowhere = std::ranges::none_of(all.nodes, has);
    made.push_back(
        {fmt::format("without the node selector {}={}{}", key, value, nowhere ? ", a label that is on no node" : ""),
         [key](pod_spec& of) { of.node_selector.erase(key); }});
  }
  if (spec.affinity.required)
    made.push_back({"without its required node affinity", [](pod_spec& of) { of.affinity.required.reset(); }});
  if (!spec.affinity_to_pods.required.empty())
    made.push_back(
        {"without its required affinity to pods", [](pod_spec& of) { of.affinity_to_pods.required.clear(); }});
  if (!spec.anti_affinity_to_pods.required.empty())
    made.push_back({"without its required anti-affinity to pods",
                    [](pod_spec& of) { of.anti_affinity_to_pods.required.clear(); }});
  if (!spec.topology_spread_constraints.empty())
    made.push_back(
        {"without its topology spread constraints", [](pod_spec& of) { of.topology_spread_constraints.clear(); }});
  const auto has_port = [](const container& one) {
    return std::ranges::any_of(one.ports, [](const container_port& port) { return port.host_port != 0; });
  };
  if (std::ranges::any_of(spec.containers, has_port))
    made.push_back({"without its host ports", [](pod_spec& of) {
                      for (container& one : of.containers) one.ports.clear();
                    }});
  if (!spec.devices.empty() || !spec.resource_claims.empty())
    made.push_back({"without the devices that it asks for", [](pod_spec& of) {
                      of.devices.clear();
                      of.device_constraints.clear();
                      of.resource_claims.clear();
                    }});
  const pod_volumes& volumes = spec.volumes;
  if (volumes.nodes || volumes.bindable_nodes || volumes.unbound_claims || !volumes.zones.empty() ||
      !volumes.disks.empty() || !volumes.exclusive_claims.empty() || !volumes.attachments.empty() ||
      !volumes.claim_problem.empty())
    made.push_back({"without its volumes", [](pod_spec& of) { of.volumes = {}; }});
  std::set<std::string> taints;
  for (const node_manifest& node : all.nodes) {
    for (const taint& one : node.spec.taints) {
      if (one.effect == taint_effect::prefer_no_schedule || one.key == cordoned || taints.size() == most_taints)
        continue;
      if (!taints.insert(text_of(one)).second) continue;
      made.push_back({fmt::format("if it tolerated the taint {}", text_of(one)), [one](pod_spec& of) {
                        of.tolerations.push_back({one.key, toleration_operator::equal, one.value, one.effect});
                      }});
    }
  }
  if (std::ranges::any_of(all.nodes, [](const node_manifest& node) { return node.spec.unschedulable; }))
    made.push_back({"if nodes were not cordoned", [](pod_spec& of) {
                      of.tolerations.push_back({cordoned, toleration_operator::exists, {}, {}});
                    }});
  return made;
}

class adviser {
 public:
  adviser(const scheduler& by, pod_id pod, const pod_spec& spec, const manifests& all)
      : trial_(must(by.fork())), pod_(pod), spec_(&spec), nodes_(&all.nodes), relaxations_(relaxations_of(spec, all)) {
    wanted_ = must(requests_of(spec)).requests;
    wanted_["pods"] = 1;
  }

  std::vector<helpful_change> run() {
    std::vector<helpful_change> made;
    std::vector<std::size_t> everything;
    for (std::size_t i = 0; i < relaxations_.size(); ++i) {
      everything.push_back(i);
      add({i}, made);
    }
    if (made.empty() && relaxations_.size() > 1) add(least(std::move(everything)), made);
    std::ranges::stable_sort(made, std::greater{}, &helpful_change::nodes);
    return made;
  }

 private:
  /// Where it would fit without all of these.
  std::vector<node_id> fits(const std::vector<std::size_t>& without) {
    pod_spec other = *spec_;
    for (const std::size_t i : without) relaxations_[i].apply(other);
    std::vector<node_id> nodes;
    if (!trial_.cluster.update_pod(pod_, other)) return nodes;
    for (const node_verdict& node : must(trial_.scheduler.explain(pod_)).nodes)
      if (node.code == code::success) nodes.push_back(node.node);
    return nodes;
  }

  /// Of these, as few as it takes; none if all of them are not enough. Requests are kept as they are before all else.
  std::vector<std::size_t> least(std::vector<std::size_t> of) {
    if (fits(of).empty()) return {};
    for (std::size_t i = 0; i < of.size();) {
      std::vector<std::size_t> fewer = of;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (fewer.empty() || fits(fewer).empty())
        ++i;
      else
        of = std::move(fewer);
    }
    return of;
  }

  void add(const std::vector<std::size_t>& without, std::vector<helpful_change>& to) {
    if (without.empty()) return;
    const std::vector<node_id> nodes = fits(without);
    if (nodes.empty()) return;
    std::vector<std::string> parts;
    std::size_t count = nodes.size();
    for (const std::size_t i : without) {
      if (i != requests) {
        parts.push_back(relaxations_[i].text);
      } else if (auto short_of = nearest(nodes, without)) {
        parts.push_back(*std::move(short_of));
        count = 1;
      } else {
        return;
      }
    }
    to.push_back({fmt::format("{}", fmt::join(parts, " and ")), count});
  }

  struct shortage {
    node_id node;
    double share = 0;  // of what the pod asks for
    std::vector<std::pair<std::string, std::int64_t>> amounts;
  };

  [[nodiscard]] shortage shortage_on(node_id node) const {
    shortage made{node, 0, {}};
    for (const auto& [resource, amount] : wanted_) {
      const std::int64_t free = trial_.cluster.allocatable(node, resource) - trial_.cluster.requested(node, resource);
      if (amount <= std::max<std::int64_t>(free, 0)) continue;
      made.share += static_cast<double>(amount - free) / static_cast<double>(amount);
      made.amounts.emplace_back(resource, amount - free);
    }
    return made;
  }

  /// Whether more of what is counted is all that it takes there: not so where devices are known one by one.
  bool is_enough(const shortage& more, const std::vector<std::size_t>& without) {
    const std::string name{trial_.cluster.name_of(more.node)};
    const auto node = std::ranges::find(*nodes_, name, [](const node_manifest& one) { return one.spec.name; });
    node_spec grown = node->spec;
    for (const auto& [resource, amount] : more.amounts)
      grown.allocatable[resource] += resource == "cpu" ? quantity::from_milli(amount) : quantity{amount};
    if (!trial_.cluster.update_node(more.node, grown)) return false;
    const std::vector<node_id> fitting = fits(without);
    const bool enough = std::ranges::find(fitting, more.node) != fitting.end();
    must(trial_.cluster.update_node(more.node, node->spec));
    return enough;
  }

  /// "if node-7 had 2 cpu more": of the node that is short of least. @p without is what is left out besides.
  std::optional<std::string> nearest(const std::vector<node_id>& nodes, std::vector<std::size_t> without) {
    constexpr std::size_t most_tried = 8;
    std::erase(without, requests);
    std::vector<shortage> all;
    for (const node_id node : nodes) all.push_back(shortage_on(node));
    std::erase_if(all, [](const shortage& one) { return one.amounts.empty(); });
    std::ranges::stable_sort(all, {}, &shortage::share);
    if (all.size() > most_tried) all.resize(most_tried);
    for (const shortage& one : all) {
      if (!is_enough(one, without)) continue;
      std::vector<std::string> parts;
      for (const auto& [resource, amount] : one.amounts)
        parts.push_back(fmt::format("{} {}", amount_text(resource, amount), resource));
      return fmt::format("if {} had {} more", trial_.cluster.name_of(one.node), fmt::join(parts, " and "));
    }
    return std::nullopt;
  }

  forked trial_;
  pod_id pod_;
  const pod_spec* spec_;
  const std::vector<node_manifest>* nodes_;
  std::vector<relaxation> relaxations_;
  integer_resources wanted_;
};

}  // namespace

std::vector<helpful_change> changes_for(const scheduler& by, pod_id pod, const pod_spec& spec, const manifests& all) {
  return adviser{by, pod, spec, all}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
