#include "churn_kinds.hpp"

#include <algorithm>
#include <stdexcept>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/profiles.hpp"
#include "support/inside.hpp"

namespace gangsched::testing {
namespace churn {

constexpr std::uint64_t alive = 50;

device_verdict ask(void*, std::string_view expression, const other_device& device) {
  if (expression.ends_with('7')) return {.error = "cannot say: " + std::string{expression}};
  return {.matches = device.device_class == "fpga"};
}

void must(bool done) {
  if (!done) throw std::logic_error("a call was refused");
}

node_spec node(const std::string& name) {
  node_spec made{.name = name};
  made.labels = {{"zone", "z"}, {"kubernetes.io/hostname", name}};
  made.allocatable = {{"cpu", quantity{1000}}, {"memory", quantity{std::int64_t{1} << 40}}, {"pods", quantity{1000}}};
  made.devices.others = {{.id = "f", .device_class = "fpga", .units = 1000}};
  return made;
}

pod_spec pod(const std::string& i) {
  pod_spec made{.name = "p" + i};
  made.containers.emplace_back().requests = {{"cpu", quantity::from_milli(1)}};
  return made;
}

label_selector selecting(const std::string& value) { return {.match_labels = {{"job", value}}}; }

using change_pod = std::function<void(churned&, pod_spec&, const std::string&)>;

/// Pods that differ in something.
churn_kind pods(std::string_view name, change_pod change) {
  return {name,
          [change = std::move(change)](churned& world, const std::string& i) {
            pod_spec spec = pod(i);
            change(world, spec, i);
            world.add_pod(std::move(spec));
          },
          [](churned& world, const std::string& i) { world.remove_pod("default", "p" + i); }};
}

/// Nodes that do.
churn_kind nodes(std::string_view name, std::function<void(node_spec&, const std::string&)> change) {
  return {name,
          [change = std::move(change)](churned& world, const std::string& i) {
            node_spec spec = node("x" + i);
            change(spec, i);
            must(world.cluster.add_node(spec).has_value());
            world.add_pod(pod(i));
          },
          [](churned& world, const std::string& i) {
            must(world.cluster.remove_node(*world.cluster.find_node("x" + i)).has_value());
            world.remove_pod("default", "p" + i);
          }};
}

/// Groups of one pod that do.
churn_kind groups(std::string_view name, std::function<void(group_spec&, pod_spec&, const std::string&)> change) {
  return {name,
          [change = std::move(change)](churned& world, const std::string& i) {
            group_spec group{.name = "g" + i, .policy = gang{.min_count = 1}};
            pod_spec member = pod(i);
            change(group, member, i);
            const auto made = world.cluster.add_group(group);
            must(made.has_value());
            member.group = *made;
            world.add_pod(std::move(member));
          },
          [](churned& world, const std::string& i) {
            world.remove_pod("default", "p" + i);
            must(world.cluster.remove_group(*world.cluster.find_group("default", "g" + i)).has_value());
          }};
}

std::vector<churn_kind> make_kinds() {
  std::vector<churn_kind> all;
  const auto none = [](churned&, const std::string&) {};
  all.push_back(pods("pod names", [](churned&, pod_spec&, const std::string&) {}));
  all.push_back(pods("label keys and values", [](churned&, pod_spec& p, const std::string& i) {
    p.labels = {{"k" + i, "v" + i}};
  }));
  all.push_back(pods("cpu amounts", [](churned&, pod_spec& p, const std::string& i) {
    p.containers[0].requests["cpu"] = quantity::from_milli(1 + static_cast<std::int64_t>(std::stoull(i) % 900'000));
  }));
  all.push_back(pods("resource names", [](churned&, pod_spec& p, const std::string& i) {
    p.containers[0].requests["example.com/r" + i] = quantity{1};
  }));
  all.push_back(pods("anti-affinity selectors", [](churned&, pod_spec& p, const std::string& i) {
    p.labels = {{"job", "j" + i}};
    p.anti_affinity_to_pods.required = {{.topology_key = "zone", .selector = selecting("j" + i)}};
  }));
  all.push_back(pods("affinity in namespaces, by topology keys", [](churned&, pod_spec& p, const std::string& i) {
    p.affinity_to_pods.preferred = {{1,
                                     {.topology_key = "t" + i,
                                      .selector = selecting("j"),
                                      .namespaces = {"n" + i},
                                      .namespace_selector = selecting("m" + i)}}};
  }));
  all.push_back(pods("spread selectors", [](churned&, pod_spec& p, const std::string& i) {
    p.labels = {{"job", "j" + i}};
    p.topology_spread_constraints = {{.topology_key = "zone", .selector = selecting("j" + i)}};
  }));
  all.push_back(pods("spread keys and choices of nodes", [](churned&, pod_spec& p, const std::string& i) {
    p.node_selector = {{"zone", "z"}};
    p.affinity.required = {{{.match_expressions = {{"q" + i, selector_operator::does_not_exist}}}}};
    p.topology_spread_constraints = {
        {.topology_key = "s" + i, .action = when_unsatisfiable::schedule_anyway, .selector = selecting("j" + i)}};
  }));
  all.push_back(pods("spread over match_label_keys", [](churned&, pod_spec& p, const std::string& i) {
    p.labels = {{"job", "j"}, {"hash", "h" + i}};
    p.topology_spread_constraints = {
        {.topology_key = "zone", .selector = selecting("j"), .match_label_keys = {"hash"}}};
  }));
  all.push_back({"services, spread by default",
                 [](churned& world, const std::string& i) {
                   must(world.cluster.set_service({.name = "s" + i, .selector = {{"job", "j" + i}}}).has_value());
                   pod_spec spec = pod(i);
                   spec.labels = {{"job", "j" + i}};
                   world.add_pod(std::move(spec));
                 },
                 [](churned& world, const std::string& i) {
                   world.remove_pod("default", "p" + i);
                   must(world.cluster.remove_service("default", "s" + i).has_value());
                 }});
  all.push_back({"controllers",
                 [](churned& world, const std::string& i) {
                   must(world.cluster.set_controller({.name = "c" + i, .selector = selecting("j" + i)}).has_value());
                   pod_spec spec = pod(i);
                   spec.labels = {{"job", "j" + i}};
                   spec.controller = {controller_kind::replica_set, "c" + i};
                   world.add_pod(std::move(spec));
                 },
                 [](churned& world, const std::string& i) {
                   world.remove_pod("default", "p" + i);
                   must(world.cluster.remove_controller(controller_kind::replica_set, "default", "c" + i).has_value());
                 }});
  all.push_back({"namespaces with labels",
                 [](churned& world, const std::string& i) {
                   must(world.cluster.set_namespace({.name = "n" + i, .labels = {{"team", "t" + i}}}).has_value());
                   pod_spec spec = pod(i);
                   spec.ns = "n" + i;
                   world.add_pod(std::move(spec));
                 },
                 [](churned& world, const std::string& i) {
                   world.remove_pod("n" + i, "p" + i);
                   must(world.cluster.remove_namespace("n" + i).has_value());
                 }});
  all.push_back(pods("volumes", [](churned&, pod_spec& p, const std::string& i) {
    p.volumes.exclusive_claims = {"c" + i};
    p.volumes.disks = {{"d" + i, false}};
    p.volumes.attachments = {{"csi" + i, "v" + i}};
    p.volumes.zones = {{"zk" + i, {"zv" + i}}};
    p.volumes.nodes = {{"node0", "gone" + i}};
  }));
  all.push_back(pods("node selectors that no node has", [](churned&, pod_spec& p, const std::string& i) {
    p.node_selector = {{"x" + i, "v" + i}};
  }));
  all.push_back(pods("node affinity", [](churned&, pod_spec& p, const std::string& i) {
    p.affinity.required = {{{.match_expressions = {{"a" + i, selector_operator::not_in, {"b" + i}}}}}};
    p.affinity.preferred = {{1, {.match_expressions = {{"zone", selector_operator::in, {"z", "w" + i}}}}}};
  }));
  all.push_back(pods("node names", [](churned&, pod_spec& p, const std::string& i) {
    p.required_node = "n" + i;
    p.affinity.required = {{{.match_fields = {{"metadata.name", selector_operator::in, {"m" + i}}}}}};
  }));
  all.push_back(pods("tolerations", [](churned&, pod_spec& p, const std::string& i) {
    p.tolerations = {{.key = "t" + i, .value = "v" + i}};
  }));
  all.push_back(
      pods("images", [](churned&, pod_spec& p, const std::string& i) { p.containers[0].image = "registry/app" + i; }));
  all.push_back(pods("host addresses", [](churned&, pod_spec& p, const std::string& i) {
    p.containers[0].ports = {{.host_port = 80, .host_ip = "10.0." + i}};
  }));
  all.push_back(pods("priorities", [](churned&, pod_spec& p, const std::string& i) {
    p.priority = static_cast<std::int32_t>(std::stoull(i) % 1'000'000'000);
  }));
  all.push_back({"priority classes",
                 [](churned& world, const std::string& i) {
                   must(world.cluster.set_priority_class({.name = "high" + i, .value = 7}).has_value());
                   pod_spec spec = pod(i);
                   spec.priority_class = "high" + i;
                   world.add_pod(std::move(spec));
                 },
                 [](churned& world, const std::string& i) {
                   world.remove_pod("default", "p" + i);
                   must(world.cluster.remove_priority_class("high" + i).has_value());
                 }});
  all.push_back(
      pods("scheduler names", [](churned&, pod_spec& p, const std::string& i) { p.scheduler_name = "other" + i; }));
  all.push_back(pods("device classes, attributes, capacities", [](churned&, pod_spec& p, const std::string& i) {
    p.devices = {{.device_class = "c" + i, .selectors = {{"a" + i}}, .capacities = {{"cap" + i, 1}}},
                 {.models = {"m" + i}}};
    p.device_constraints = {{.attribute = "same" + i, .requests = {0}}};
  }));
  all.push_back(pods("device expressions", [](churned&, pod_spec& p, const std::string& i) {
    p.devices = {{.device_class = "fpga", .expressions = {"device.x == " + i}}};
  }));
  all.push_back(
      {"resource claims",
       [](churned& world, const std::string& i) {
         const auto claim = world.cluster.add_resource_claim(
             {.name = "c" + i,
              .devices = {{.device_class = "fpga", .selectors = {{"a" + i, attribute_operator::absent}}}}});
         must(claim.has_value());
         pod_spec spec = pod(i);
         spec.resource_claims = {*claim};
         world.add_pod(std::move(spec));
       },
       [](churned& world, const std::string& i) {
         world.remove_pod("default", "p" + i);
         must(world.cluster.remove_resource_claim(*world.cluster.find_resource_claim("default", "c" + i)).has_value());
       }});
  all.push_back(
      {"disruption budgets",
       [](churned& world, const std::string& i) {
         must(world.cluster.add_disruption_budget({.name = "b" + i, .ns = "n" + i, .selector = selecting("j" + i)})
                  .has_value());
       },
       [](churned& world, const std::string& i) {
         must(world.cluster.remove_disruption_budget(*world.cluster.find_disruption_budget("n" + i, "b" + i))
                  .has_value());
       }});
  all.push_back(
      {"held rooms",
       [](churned& world, const std::string& i) {
         const node_id on = *world.cluster.find_node("node0");
         must(world.cluster.set_held_room({.name = "h" + i, .parts = {{on, {{"cpu", quantity{1}}}}}}).has_value());
         pod_spec spec = pod(i);
         spec.held_room = "h" + i;
         world.add_pod(std::move(spec));
       },
       [](churned& world, const std::string& i) {
         world.remove_pod("default", "p" + i);
         must(world.cluster.remove_held_room("h" + i).has_value());
       }});
  all.push_back({"reservations",
                 [](churned& world, const std::string& i) {
                   pod_spec held = pod("r" + i);
                   held.reservation = reservation_spec{.owners = {{.pod = "p" + i}, {.labels = selecting(i)}}};
                   held.node = *world.cluster.find_node("node0");
                   world.add_pod(std::move(held));
                   pod_spec owner = pod(i);
                   owner.labels = {{"job", i}};
                   world.add_pod(std::move(owner));
                 },
                 [](churned& world, const std::string& i) {
                   world.remove_pod("default", "pr" + i);
                   world.remove_pod("default", "p" + i);
                 }});
  all.push_back({"queues",
                 [](churned& world, const std::string& i) {
                   const queue_quota quota{.guaranteed = {{"cpu", quantity{1}}, {"example.com/r" + i, quantity{1}}}};
                   must(world.cluster.queues()
                            .add({.name = "q" + i, .parent = "above" + i, .quotas = {quota}, .namespaces = {"n" + i}})
                            .has_value());
                   pod_spec spec = pod(i);
                   spec.ns = "n" + i;
                   world.add_pod(std::move(spec));
                 },
                 [](churned& world, const std::string& i) {
                   world.remove_pod("n" + i, "p" + i);
                   must(world.cluster.queues().remove(*world.cluster.queues().find("q" + i)).has_value());
                 }});
  all.push_back(
      pods("queues that are only named", [](churned&, pod_spec& p, const std::string& i) { p.queue = "q" + i; }));
  all.push_back(
      {"flavors of nodes",
       [](churned& world, const std::string& i) {
         must(world.cluster.queues().set_flavor({.name = "f" + i, .node_labels = {{"l" + i, "v" + i}}}).has_value());
         world.add_pod(pod(i));
       },
       [](churned& world, const std::string& i) {
         world.remove_pod("default", "p" + i);
         must(world.cluster.queues().remove_flavor("f" + i).has_value());
       }});
  all.push_back(groups("groups", [](group_spec&, pod_spec&, const std::string&) {}));
  all.push_back(groups("groups within ever-new keys", [](group_spec& g, pod_spec&, const std::string& i) {
    g.topology.within = {"k" + i, "zone"};
    g.topology.slices = {{"sl" + i, 1}};
    g.topology.or_anywhere = true;
  }));
  all.push_back(groups("roles", [](group_spec& g, pod_spec& p, const std::string& i) {
    std::get<gang>(g.policy).roles = {{"role" + i, 1}};
    p.role = "role" + i;
  }));
  all.push_back({"groups that are only expected",
                 [](churned& world, const std::string& i) {
                   pod_spec spec = pod(i);
                   spec.ns = "n" + i;
                   spec.group = *world.cluster.expect_group("n" + i, "g" + i);
                   world.add_pod(std::move(spec));
                 },
                 [](churned& world, const std::string& i) { world.remove_pod("n" + i, "p" + i); }});
  all.push_back(nodes("nodes", [](node_spec&, const std::string&) {}));
  all.push_back(nodes("zones, labels, taints", [](node_spec& n, const std::string& i) {
    n.labels["zone"] = "z" + i;
    n.labels["l" + i] = "v" + i;
    n.labels["topology.kubernetes.io/zone"] = "z" + i;
    n.taints = {{.key = "t" + i, .value = "v" + i}};
  }));
  all.push_back(nodes("images and volume drivers of nodes", [](node_spec& n, const std::string& i) {
    n.images = {{{"image" + i}, 1000}};
    n.volume_limits = {{"csi" + i, 3}};
  }));
  all.push_back(nodes("resources of nodes",
                      [](node_spec& n, const std::string& i) { n.allocatable["example.com/r" + i] = quantity{1}; }));
  all.push_back(nodes("devices of nodes", [](node_spec& n, const std::string& i) {
    n.devices.others = {{.id = "d" + i,
                         .device_class = "c" + i,
                         .attributes = {{"a" + i, std::string{"v" + i}}},
                         .capacities = {{"cap" + i, {.amount = 5}}}}};
    n.devices.gpus = {{.id = "gpu" + i}};
    n.devices.gpu.model = "m" + i;
    n.devices.gpu.resource = "example.com/gpu" + i;
    n.devices.counters = {{"set" + i, 4}};
  }));
  all.push_back({"pods that are refused",
                 [](churned& world, const std::string& i) {
                   pod_spec spec = pod(i);
                   spec.ns = "n" + i;
                   spec.priority_class = "unknown" + i;
                   must(!world.cluster.add_pod(spec).has_value());
                   world.add_pod(pod(i));
                 },
                 [](churned& world, const std::string& i) { world.remove_pod("default", "p" + i); }});
  all.push_back({"trials that are taken back",
                 [](churned& world, const std::string& i) {
                   transaction trial{world.cluster};
                   pod_spec spec = pod(i);
                   spec.ns = "n" + i;
                   spec.containers[0].requests["example.com/r" + i] = quantity{1};
                   spec.anti_affinity_to_pods.required = {{.topology_key = "t" + i, .selector = selecting("j" + i)}};
                   must(world.cluster.add_pod(spec).has_value());
                   must(world.cluster.add_group({.name = "g" + i, .ns = "m" + i}).has_value());
                   trial.roll_back();
                   must(world.cluster.set_namespace({.name = "default"}).has_value());
                 },
                 none});
  return all;
}

}  // namespace churn

const std::vector<churn_kind>& churn_kinds() {
  static const std::vector<churn_kind> all = churn::make_kinds();
  return all;
}

churned::churned()
    : cluster({.log_bound = 1 << 12, .device_matcher = {.ask = &churn::ask}}),
      scheduler(cluster, profiles::kube_default()) {
  for (int i = 0; i < 4; ++i) churn::must(cluster.add_node(churn::node("node" + std::to_string(i))).has_value());
}

void churned::step(const churn_kind& kind, std::uint64_t i) {
  kind.come(*this, std::to_string(i));
  if (i >= churn::alive) kind.go(*this, std::to_string(i - churn::alive));
  now += std::chrono::milliseconds{1};
  for (int cycles = 0; cycles < 20 && scheduler.schedule_cycle(now); ++cycles) {
  }
  static_cast<void>(scheduler.permit(now));
}

void churned::add_pod(pod_spec spec) {
  auto made = cluster.add_pod(spec);
  if (!made) throw std::logic_error(made.error().message());
}

void churned::remove_pod(const std::string& ns, const std::string& name) {
  if (const auto pod = cluster.find_pod(ns, name)) churn::must(cluster.remove_pod(*pod).has_value());
}

table_sizes::table_sizes(const model::cluster_state& state)
    : names(state.names.size()),
      symbols(state.names.bound()),
      counters(state.counters.size()),
      topologies(state.topologies.size()),
      choices(state.choices.size()),
      kinds(state.kinds.count()),
      classes(state.classes.size()),
      expressions(state.devices.expressions()),
      inventories(state.devices.inventories()),
      tuples(state.tuples.size()),
      priorities(state.assigned.priorities.known()),
      pods(state.pods.rows.count()),
      nodes(state.nodes.rows.count()),
      groups(state.groups.rows.count()) {}

namespace churn {

constexpr std::pair<const char*, std::size_t table_sizes::*> fields[] = {{"names", &table_sizes::names},
                                                                         {"symbols", &table_sizes::symbols},
                                                                         {"counters", &table_sizes::counters},
                                                                         {"topologies", &table_sizes::topologies},
                                                                         {"choices", &table_sizes::choices},
                                                                         {"kinds", &table_sizes::kinds},
                                                                         {"classes", &table_sizes::classes},
                                                                         {"expressions", &table_sizes::expressions},
                                                                         {"inventories", &table_sizes::inventories},
                                                                         {"tuples", &table_sizes::tuples},
                                                                         {"priorities", &table_sizes::priorities},
                                                                         {"pods", &table_sizes::pods},
                                                                         {"nodes", &table_sizes::nodes},
                                                                         {"groups", &table_sizes::groups}};

}  // namespace churn

void table_sizes::raise(const table_sizes& other) {
  for (const auto& [name, field] : churn::fields) this->*field = std::max(this->*field, other.*field);
}

bool table_sizes::within(const table_sizes& bound) const {
  return std::all_of(std::begin(churn::fields), std::end(churn::fields),
                     [&](const auto& one) { return this->*one.second <= bound.*one.second; });
}

std::string table_sizes::text() const {
  std::string made;
  for (const auto& [name, field] : churn::fields) ((made += name) += ' ') += std::to_string(this->*field) + ", ";
  return made;
}

}  // namespace gangsched::testing
