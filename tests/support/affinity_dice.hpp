#pragma once
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

/// Random nodes, pods, namespaces and services that inter-pod affinity and topology spread have much to say about.
namespace gangsched::testing {

class affinity_dice {
 public:
  explicit affinity_dice(std::uint64_t seed) : dice_(seed) {}

  dice& rolls() noexcept { return dice_; }

  node_spec node(const std::string& name) {
    a_node made{name};
    if (dice_.percent(90)) made.zone("z" + std::to_string(dice_.below(3)));
    if (dice_.percent(5)) made.zone("");
    if (dice_.percent(70)) made.label("rack", "r" + std::to_string(dice_.below(5)));
    if (dice_.percent(95))
      made.label("kubernetes.io/hostname", dice_.percent(shared_hostnames ? 20 : 0) ? "twin" : name);
    if (dice_.percent(40)) made.label("disk", dice_.percent(50) ? "ssd" : "hdd");
    if (dice_.percent(20))
      made.taint("dedicated", "ml", dice_.percent(50) ? taint_effect::no_schedule : taint_effect::prefer_no_schedule);
    return made.cpu(1000).spec;
  }

  namespace_spec ns(const std::string& name) {
    namespace_spec made{name, {}};
    if (dice_.percent(60)) made.labels["team"] = dice_.percent(50) ? "x" : "y";
    if (dice_.percent(30)) made.labels["env"] = "prod";
    return made;
  }

  label_map labels() {
    label_map made;
    if (dice_.percent(90)) made["app"] = std::string(1, static_cast<char>('a' + dice_.below(3)));
    if (dice_.percent(40)) made["tier"] = dice_.percent(50) ? "f" : "b";
    return made;
  }

  /// A pod; @p share: how often, in percent, it has terms and constraints.
  pod_spec pod(const std::string& name, unsigned share) {
    a_pod made{name};
    made.ns(a_namespace()).cpu_milli(10);
    made.spec.labels = labels();
    if (dice_.percent(20)) made.select("disk", "ssd");
    if (dice_.percent(20)) made.tolerate("dedicated");
    if (dice_.percent(50)) made.spec.controller = {controller_kind::replica_set, "rs" + std::to_string(dice_.below(2))};
    if (dice_.percent(share)) {
      terms(made.spec.affinity_to_pods);
      terms(made.spec.anti_affinity_to_pods);
    }
    if (dice_.percent(share)) {
      for (std::size_t i = dice_.below(3); i-- > 0;) constraint(made.spec.topology_spread_constraints);
    }
    return made.spec;
  }

  service_spec service(const std::string& name) {
    return {name, a_namespace(), {{"app", std::string(1, static_cast<char>('a' + dice_.below(3)))}}};
  }
  controller_spec controller(const std::string& name) {
    return {controller_kind::replica_set, name, a_namespace(), selector()};
  }

  std::string a_namespace() { return dice_.of(namespaces); }
  std::vector<std::string> namespaces = {"blue", "green", "red"};
  bool shared_hostnames = true;

 private:
  std::optional<label_selector> selector() {
    if (dice_.percent(5)) return std::nullopt;
    label_selector made;
    if (dice_.percent(75)) made.match_labels["app"] = std::string(1, static_cast<char>('a' + dice_.below(3)));
    if (dice_.percent(20)) made.match_expressions.push_back({"tier", selector_operator::exists, {}});
    if (dice_.percent(10)) made.match_expressions.push_back({"tier", selector_operator::not_in, {"f"}});
    return made;
  }
  std::string key() {
    static const std::vector<std::string> keys = {"topology.kubernetes.io/zone", "rack", "kubernetes.io/hostname"};
    return dice_.of(keys);
  }
  pod_affinity_term term() {
    pod_affinity_term made{key(), selector()};
    for (std::size_t i = dice_.percent(30) ? dice_.below(3) : 0; i-- > 0;) made.namespaces.push_back(a_namespace());
    if (dice_.percent(30)) {
      label_selector& of = made.namespace_selector.emplace();
      if (dice_.percent(40)) of.match_labels["team"] = "x";
      if (dice_.percent(20)) of.match_expressions.push_back({"env", selector_operator::not_in, {"prod"}});
    }
    return made;
  }
  void terms(pod_affinity& of) {
    for (std::size_t i = dice_.percent(40) ? 1 + dice_.below(2) : 0; i-- > 0;) of.required.push_back(term());
    for (std::size_t i = dice_.percent(40) ? 1 + dice_.below(2) : 0; i-- > 0;) {
      of.preferred.push_back({static_cast<std::int32_t>(1 + dice_.below(100)), term()});
    }
  }
  void constraint(std::vector<topology_spread>& to) {
    topology_spread made;
    made.topology_key = key();
    made.max_skew = static_cast<std::int32_t>(1 + dice_.below(3));
    made.action = dice_.percent(50) ? when_unsatisfiable::do_not_schedule : when_unsatisfiable::schedule_anyway;
    made.selector = selector();
    if (made.action == when_unsatisfiable::do_not_schedule && dice_.percent(30)) {
      made.min_domains = static_cast<std::int32_t>(1 + dice_.below(4));
    }
    if (dice_.percent(30)) made.node_affinity_policy = node_inclusion::ignore;
    if (dice_.percent(30)) made.node_taints_policy = node_inclusion::honor;
    if (dice_.percent(20)) made.match_label_keys = {"tier"};
    for (const topology_spread& other : to) {
      if (other.topology_key == made.topology_key && other.action == made.action) return;
    }
    to.push_back(made);
  }

  dice dice_;
};

/// Changes a cluster at random: nodes, pods, labels, namespaces, services; everything that counters follow.
class affinity_events {
 public:
  affinity_events(cluster& on, std::uint64_t seed, unsigned share) : random(seed), cluster_(&on), share_(share) {}

  affinity_dice random;

  void add_nodes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      static_cast<void>(cluster_->add_node(random.node("n" + std::to_string(++made_))));
  }
  void any() {
    cluster& c = *cluster_;
    dice& roll = random.rolls();
    const std::vector<node_id> nodes = c.nodes();
    const std::vector<pod_id> pods = c.pods();
    const std::size_t what = roll.below(100);
    if (what < 3 || nodes.empty()) return add_nodes(1);
    if (what < 6) {
      const node_id node = nodes[roll.below(nodes.size())];
      return static_cast<void>(c.update_node(node, random.node(std::string{c.name_of(node)})));
    }
    if (what < 7 && nodes.size() > 3) return static_cast<void>(c.remove_node(nodes[roll.below(nodes.size())]));
    if (what < 9) return static_cast<void>(c.set_namespace(random.ns(random.a_namespace())));
    if (what < 10) return static_cast<void>(c.remove_namespace(random.a_namespace()));
    if (what < 11) return static_cast<void>(c.set_service(random.service("s" + std::to_string(roll.below(3)))));
    if (what < 12) return static_cast<void>(c.set_controller(random.controller("rs" + std::to_string(roll.below(2)))));
    if (what < 13)
      return static_cast<void>(c.remove_service(random.a_namespace(), "s" + std::to_string(roll.below(3))));
    if (what < 55 || pods.empty()) {
      pod_spec made = random.pod("p" + std::to_string(++made_), share_);
      if (roll.percent(70)) made.node = nodes[roll.below(nodes.size())];
      made.terminating = roll.percent(5);
      return static_cast<void>(c.add_pod(made));
    }
    const pod_id pod = pods[roll.below(pods.size())];
    if (what < 65) {
      pod_spec made = random.pod(std::string{c.name_of(pod)}, share_);
      made.ns = inside(c).names.text(inside(c).pods.record[pod.row]->ns);
      made.node = c.node_of(pod);
      return static_cast<void>(c.update_pod(pod, made));
    }
    if (what < 70) return static_cast<void>(c.set_terminating(pod));
    if (what < 80) return static_cast<void>(c.assume(pod, nodes[roll.below(nodes.size())]));
    if (what < 85) return static_cast<void>(c.release(pod));
    return static_cast<void>(c.remove_pod(pod));
  }

 private:
  cluster* cluster_;
  unsigned share_;
  std::size_t made_ = 0;
};

}  // namespace gangsched::testing
