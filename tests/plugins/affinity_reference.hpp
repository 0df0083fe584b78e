#pragma once
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/node_selector.hpp"
#include "support/inside.hpp"

/// The rules of InterPodAffinity and PodTopologySpread as upstream computes them: every pod on every node,
/// every time, with maps. No counters.
namespace gangsched::testing {

class affinity_reference {
 public:
  struct options {
    std::int64_t hard_weight = 1;
    bool ignore_existing = false;
    std::vector<topology_spread> defaults = {};
    bool system = false;
  };
  affinity_reference(const cluster& of, pod_id pod, const options& given)
      : state_(inside(of)), options_(given), pod_(pod.row), cls_(state_.classes[state_.pods.cls[pod.row]]) {
    for (row_t node = 0; node < state_.nodes.rows.count(); ++node) {
      if (state_.nodes.alive(node)) nodes_.push_back(node);
    }
    constraints_ = cls_.spread;
    if (constraints_.empty()) {
      const model::pod_record& record = *state_.pods.record[pod_];
      if (const auto selector =
              state_.counting.default_selector(record.ns, record.details->labels, record.details->controller)) {
        constraints_ = options_.defaults;
        for (topology_spread& one : constraints_) one.selector = selector;
      }
    }
    require_all_ = !cls_.spread.empty() || !options_.system;
  }

  // --- verdicts: empty, or the reason
  std::string affinity(row_t node) {
    if (!prepared_) prepare_affinity();
    bool all = true;
    for (const pod_affinity_term& term : cls_.affinity_to_pods.required) {
      const auto value = label(node, term.topology_key);
      if (!value) return "node(s) didn't match pod affinity rules";
      all = all && near_.contains({term.topology_key, *value});
    }
    if (!all && !(near_.empty() && matches_all(pod_))) return "node(s) didn't match pod affinity rules";
    for (const pod_affinity_term& term : cls_.anti_affinity_to_pods.required) {
      const auto value = label(node, term.topology_key);
      if (value && far_.contains({term.topology_key, *value})) return "node(s) didn't match pod anti-affinity rules";
    }
    for (const auto& [key, value] : against_) {
      if (label(node, key) == value) return "node(s) didn't satisfy existing pods anti-affinity rules";
    }
    return {};
  }
  std::string spread(row_t node) {
    const auto hard = of_action(when_unsatisfiable::do_not_schedule);
    for (const topology_spread& one : hard) {
      const auto value = label(node, one.topology_key);
      if (!value) return "node(s) didn't match pod topology spread constraints (missing required label)";
      std::map<std::string, std::int64_t> counts;
      for (const row_t other : nodes_) {
        if (has_all(other, hard) && included(other, one)) counts[*label(other, one.topology_key)] += count(other, one);
      }
      std::int64_t least = 0;
      if (static_cast<std::int64_t>(counts.size()) >= one.min_domains) {
        for (const auto& [domain, number] : counts)
          least = domain == counts.begin()->first ? number : std::min(least, number);
      }
      const bool self = one.selector && matches(*one.selector, state_.pods.record[pod_]->details->labels);
      if (counts[*value] + (self ? 1 : 0) - least > one.max_skew)
        return "node(s) didn't match pod topology spread constraints";
    }
    return {};
  }

  // --- scores of feasible nodes, before the weight; nothing if there is no score
  std::optional<std::vector<std::int64_t>> affinity_scores(const std::vector<row_t>& feasible) const {
    const bool own = !cls_.affinity_to_pods.preferred.empty() || !cls_.anti_affinity_to_pods.preferred.empty();
    if (options_.ignore_existing && !own) return std::nullopt;
    std::map<std::pair<std::string, std::string>, std::int64_t> sums;
    for (const row_t node : nodes_) {
      each_pod(node, [&](row_t other) {
        const pod_class& theirs = state_.classes[state_.pods.cls[other]];
        const auto add = [&](const pod_affinity_term& term, std::int64_t weight, row_t owner, row_t subject) {
          const auto value = label(node, term.topology_key);
          if (value && matches_term(term, owner, subject)) sums[{term.topology_key, *value}] += weight;
        };
        for (const auto& one : cls_.affinity_to_pods.preferred) add(one.term, one.weight, pod_, other);
        for (const auto& one : cls_.anti_affinity_to_pods.preferred) add(one.term, -one.weight, pod_, other);
        if (options_.hard_weight > 0) {
          for (const auto& term : theirs.affinity_to_pods.required) add(term, options_.hard_weight, other, pod_);
        }
        for (const auto& one : theirs.affinity_to_pods.preferred) add(one.term, one.weight, other, pod_);
        for (const auto& one : theirs.anti_affinity_to_pods.preferred) add(one.term, -one.weight, other, pod_);
      });
    }
    if (sums.empty()) return std::nullopt;
    std::vector<std::int64_t> made;
    for (const row_t node : feasible) {
      made.push_back(0);
      for (const auto& [pair, sum] : sums) made.back() += label(node, pair.first) == pair.second ? sum : 0;
    }
    if (made.empty()) return made;
    const auto [least, most] = std::minmax_element(made.begin(), made.end());
    const std::int64_t low = *least, range = *most - *least;
    for (std::int64_t& one : made) {
      one = range == 0
                ? 0
                : static_cast<std::int64_t>(100.0 * (static_cast<double>(one - low) / static_cast<double>(range)));
    }
    return made;
  }
  std::optional<std::vector<std::int64_t>> spread_scores(const std::vector<row_t>& feasible) const {
    const auto soft = of_action(when_unsatisfiable::schedule_anyway);
    if (soft.empty()) return std::nullopt;
    std::vector<std::map<std::string, std::int64_t>> counts(soft.size());
    std::set<row_t> ignored;
    for (const row_t node : feasible) {
      if (require_all_ && !has_all(node, soft)) {
        ignored.insert(node);
        continue;
      }
      for (std::size_t i = 0; i < soft.size(); ++i) {
        if (soft[i].topology_key != hostname) counts[i][label(node, soft[i].topology_key).value_or("")];
      }
    }
    for (const row_t node : nodes_) {
      if (require_all_ && !has_all(node, soft)) continue;
      for (std::size_t i = 0; i < soft.size(); ++i) {
        const auto found = counts[i].find(label(node, soft[i].topology_key).value_or(""));
        if (found != counts[i].end() && included(node, soft[i])) found->second += count(node, soft[i]);
      }
    }
    std::vector<std::int64_t> made;
    std::int64_t least = INT64_MAX, most = 0;
    for (const row_t node : feasible) {
      double sum = 0;
      for (std::size_t i = 0; i < soft.size() && !ignored.contains(node); ++i) {
        const auto value = label(node, soft[i].topology_key);
        if (!value) continue;
        const bool host = soft[i].topology_key == hostname;
        const std::size_t size = host ? feasible.size() - ignored.size() : counts[i].size();
        const std::int64_t number = host ? count(node, soft[i]) : counts[i].at(*value);
        sum += static_cast<double>(number) * std::log(static_cast<double>(size + 2)) +
               static_cast<double>(soft[i].max_skew - 1);
      }
      made.push_back(static_cast<std::int64_t>(std::round(sum)));
      if (!ignored.contains(node)) least = std::min(least, made.back()), most = std::max(most, made.back());
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (ignored.contains(feasible[i]))
        made[i] = 0;
      else
        made[i] = most == 0 ? 100 : 100 * (most + least - made[i]) / most;
    }
    return made;
  }

 private:
  static constexpr const char* hostname = "kubernetes.io/hostname";

  [[nodiscard]] std::optional<std::string> label(row_t node, const std::string& key) const {
    for (const label_symbols& one : state_.nodes.record[node]->labels) {
      if (state_.names.text(one.key) == key) return std::string{state_.names.text(one.value)};
    }
    return std::nullopt;
  }
  template <class Visit>
  void each_pod(row_t node, const Visit& visit) const {
    for (row_t pod = state_.nodes.first_pod[node]; pod != no_row; pod = state_.pods.next_on_node[pod]) visit(pod);
  }
  /// Whether @p owner's term is about @p subject; with upstream's mistake where the owner is the pod to be placed.
  [[nodiscard]] bool matches_term(const pod_affinity_term& term, row_t owner, row_t subject) const {
    const symbol ns = state_.pods.record[subject]->ns;
    bool here = term.namespaces.empty() && !term.namespace_selector && state_.pods.record[owner]->ns == ns;
    for (const std::string& name : term.namespaces) here = here || state_.names.text(ns) == name;
    if (term.namespace_selector) {
      here = here || matches(*term.namespace_selector, state_.named.labels_of(ns)) ||
             (owner == pod_ && matches(*term.namespace_selector, {}));
    }
    return here && term.selector && matches(*term.selector, state_.pods.record[subject]->details->labels);
  }
  [[nodiscard]] bool matches_all(row_t subject) const {
    for (const pod_affinity_term& term : cls_.affinity_to_pods.required) {
      if (!matches_term(term, pod_, subject)) return false;
    }
    return !cls_.affinity_to_pods.required.empty();
  }
  void prepare_affinity() {
    prepared_ = true;
    for (const row_t node : nodes_) {
      each_pod(node, [&](row_t other) {
        const auto note = [&](auto& in, const pod_affinity_term& term) {
          if (const auto value = label(node, term.topology_key)) in.insert({term.topology_key, *value});
        };
        for (const auto& term : state_.classes[state_.pods.cls[other]].anti_affinity_to_pods.required) {
          if (matches_term(term, other, pod_)) note(against_, term);
        }
        if (matches_all(other)) {
          for (const auto& term : cls_.affinity_to_pods.required) note(near_, term);
        }
        for (const auto& term : cls_.anti_affinity_to_pods.required) {
          if (matches_term(term, pod_, other)) note(far_, term);
        }
      });
    }
  }

  [[nodiscard]] std::vector<topology_spread> of_action(when_unsatisfiable action) const {
    std::vector<topology_spread> made;
    for (const topology_spread& one : constraints_) {
      if (one.action == action) made.push_back(one);
    }
    return made;
  }
  [[nodiscard]] bool has_all(row_t node, const std::vector<topology_spread>& all) const {
    for (const topology_spread& one : all) {
      if (!label(node, one.topology_key)) return false;
    }
    return true;
  }
  [[nodiscard]] bool included(row_t node, const topology_spread& one) const {
    model::node_choice choice;
    if (one.node_affinity_policy == node_inclusion::honor) {
      choice.node_selector = cls_.node_selector;
      choice.required = cls_.required_nodes;
    }
    choice.taints = one.node_taints_policy == node_inclusion::honor;
    choice.tolerations = cls_.tolerations;
    return takes(choice, *state_.nodes.record[node], state_.names);
  }
  [[nodiscard]] std::int64_t count(row_t node, const topology_spread& one) const {
    if (!one.selector || (one.selector->match_labels.empty() && one.selector->match_expressions.empty())) return 0;
    std::int64_t number = 0;
    each_pod(node, [&](row_t other) {
      const model::pod_record& record = *state_.pods.record[other];
      number += !state_.pods.terminating[other] && record.ns == state_.pods.record[pod_]->ns &&
                matches(*one.selector, record.details->labels);
    });
    return number;
  }

  const model::cluster_state& state_;
  options options_;
  row_t pod_;
  const pod_class& cls_;
  std::vector<row_t> nodes_;
  std::vector<topology_spread> constraints_;
  bool require_all_ = true;
  bool prepared_ = false;
  std::set<std::pair<std::string, std::string>> near_, far_, against_;
};

}  // namespace gangsched::testing
