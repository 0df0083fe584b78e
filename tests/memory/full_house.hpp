#pragma once
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "memory/failing_new.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing {

/// A cluster with something of everything, and a scheduler that has been at work on it. Two that are made alike are alike to the bit.
struct full_house {
  static constexpr instant second = std::chrono::seconds{1};

  gangsched::cluster cluster{cluster_options{.device_matcher = {says_yes, nullptr}}};
  std::unique_ptr<gangsched::scheduler> scheduler;
  instant now = second;
  std::vector<node_id> nodes;
  std::vector<pod_id> running, waiting, free;  ///< bound; in the permit room; placed, and not confirmed
  pod_id single, choosy, hopeless;             ///< bound alone; bound with affinity to others; rejected
  pod_id reservation, guest;                   ///< and who draws from it
  group_id train, wait, tree, leaf;
  budget_id budget;
  resource_claim_id claim, kept;
  scope_row_id licence;
  queue_id lab;  ///< of `train`

  static device_verdict says_yes(void*, std::string_view, const other_device&) { return {.matches = true}; }

  static node_spec machine(int number) {
    a_node node{"node-" + std::to_string(number)};
    node.cpu(8).memory("32Gi").resource("nvidia.com/gpu", 4).zone(number % 2 == 0 ? "east" : "west");
    node.label("kubernetes.io/hostname", node.spec.name).label("rack", "rack-" + std::to_string(number / 2));
    node.image("registry/image:one", 100 << 20);
    node.spec.volume_limits["csi.example.com"] = 4;
    if (number == 0) node.taint("dedicated", "batch", taint_effect::prefer_no_schedule);
    node.cards(4, "NVIDIA-A100-SXM4-40GB", 40960);
    if (number == 1) {
      for (gpu_spec& gpu : node.spec.devices.gpus) gpu.mig = mig_mode::dynamic;
    }
    node.spec.devices.others = {{.id = "nic-0", .device_class = "rdma"}, {.id = "nic-1", .device_class = "rdma"}};
    return node;
  }
  [[nodiscard]] pod_spec holder(const std::string& name, const std::string& of = "guest") const {
    pod_spec made = a_pod{name}.cpu_milli(10).on(nodes[2]);
    made.reservation =
        reservation_spec{.owners = {{.labels = label_selector{.match_labels = {{"app", of}}}}}, .once = false};
    return made;
  }
  static pod_spec clothed(const std::string& name) {  // something of everything that a pod can have
    a_pod pod{name};
    pod.cpu_milli(100).memory("100Mi").image("registry/image:one").label("app", "web").port(8080).tolerate_everything();
    pod.prefer(10, "rack", {"rack-1"});
    pod.spec.controller = {controller_kind::replica_set, "web"};
    pod.spec.affinity_to_pods.preferred = {
        {5, {"topology.kubernetes.io/zone", label_selector{.match_labels = {{"app", "web"}}}}}};
    pod.spec.topology_spread_constraints = {{.topology_key = "topology.kubernetes.io/zone",
                                             .max_skew = 3,
                                             .selector = label_selector{.match_labels = {{"app", "web"}}}}};
    pod.spec.volumes.disks = {{"disk-of-" + name}};
    pod.spec.volumes.attachments = {{"csi.example.com", "volume-of-" + name}};
    return pod;
  }
  static group_spec gang_of(std::string name, int minimum, gang_mode mode = gang_mode::group_cycle) {
    group_spec made{.name = std::move(name), .policy = gang{.min_count = minimum, .mode = mode}};
    return made;
  }
  template <class T>
  static T must(result<T> made) {
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made.has_value());
    return std::move(*made);
  }
  static void must(const result<void>& made) {
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made.has_value());
  }

  explicit full_house(const scheduler_options& options = {}, kernel_table profile = profiles::kube_default()) {
    for (int i = 0; i < 4; ++i) nodes.push_back(must(cluster.add_node(machine(i))));
    must(cluster.set_namespace({"default", {{"team", "a"}}}));
    must(cluster.set_priority_class({.name = "high", .value = 100}));
    must(cluster.set_service({.name = "web", .selector = {{"app", "web"}}}));
    must(cluster.set_controller({.name = "web", .selector = label_selector{.match_labels = {{"app", "web"}}}}));
    budget = must(cluster.add_disruption_budget(
        {.name = "web", .selector = label_selector{.match_labels = {{"app", "web"}}}, .disruptions_allowed = 1}));
    claim = must(cluster.add_resource_claim({.name = "shared", .devices = {{.device_class = "rdma"}}}));
    kept = must(cluster.add_resource_claim(
        {.name = "kept", .devices = {{.device_class = "rdma", .expressions = {"x > 1"}}}, .node = nodes[3]}));
    licence = must(cluster.add_scope_row("licences", "matlab"));
    must(cluster.add_scope_column("licences", "owned"));
    must(cluster.add_group_column("most"));
    must(cluster.set_column(licence, "owned", 5));
    must(cluster.set_held_room({.name = "team", .parts = {{nodes[1], {{"cpu", 2}}}, {nodes[2], {{"cpu", 1}}}}}));
    must(cluster.queues().set_flavor({.name = "east", .node_labels = {{"topology.kubernetes.io/zone", "east"}}}));
    must(cluster.queues().set_flavor({.name = "spare"}));
    lab = must(cluster.queues().add({.name = "lab",
                                     .parent = "company",
                                     .quotas = {{.flavor = "east", .guaranteed = {{"cpu", 2}}}},
                                     .namespaces = {"lab"}}));
    scheduler = std::make_unique<gangsched::scheduler>(cluster, std::move(profile), options);
    single = must(cluster.add_pod(a_pod{"single"}.cpu(1).gpus(1).priority(5)));
    choosy = must(cluster.add_pod(clothed("choosy")));
    pod_spec sharer = a_pod{"sharer"}.cpu(1);
    sharer.resource_claims = {claim};
    pod_spec owner = a_pod{"owner"}.cpu(1).on(nodes[1]);
    owner.held_room = "team";
    static_cast<void>(must(cluster.add_pod(owner)));
    reservation = must(cluster.add_pod(holder("holds")));
    pod_spec draws = a_pod{"guest"}.cpu_milli(5).label("app", "guest").on(nodes[2]);
    draws.draws_from = reservation;
    guest = must(cluster.add_pod(draws));
    running = {single, choosy, must(cluster.add_pod(sharer)),
               must(cluster.add_pod(a_pod{"carver"}.device({.mig_profile = "1g.5gb"}))),
               must(cluster.add_pod(a_pod{"loner"}.cpu(1).avoid("app", "web")))};
    run();
    for (const pod_id pod : running) must(scheduler->confirm(pod));
    group_spec of_lab = gang_of("train", 2);
    of_lab.queue = "lab";
    train = must(cluster.add_group(of_lab));
    free = must(cluster.add_pods(a_pod{"x"}.cpu(1).in(train), std::vector<std::string>{"train-0", "train-1"}));
    run();
    wait = must(cluster.add_group(gang_of("wait", 3, gang_mode::permit)));
    waiting = {must(cluster.add_pod(a_pod{"wait-0"}.cpu(1).in(wait))),
               must(cluster.add_pod(a_pod{"wait-1"}.cpu(1).in(wait)))};
    tree = must(cluster.add_group({.name = "tree", .policy = gang{.min_count = 1}, .composite = true}));
    leaf = must(cluster.add_group(
        {.name = "leaf", .policy = gang{.min_count = 2}, .parent = tree, .topology = {.within = {"rack"}}}));
    static_cast<void>(must(cluster.add_pods(a_pod{"x"}.cpu(1).in(leaf), std::vector<std::string>{"leaf-0", "leaf-1"})));
    static_cast<void>(must(cluster.add_pod(a_pod{"gated"}.gate("later"))));
    hopeless = must(cluster.add_pod(a_pod{"hopeless"}.cpu(100)));
    run();
    must(cluster.set_terminating(must(cluster.add_pod(a_pod{"leaving"}.cpu(1).on(nodes[2])))));
    static_cast<void>(must(cluster.add_pod(a_pod{"hopes"}.cpu(1).priority(3).nominated(nodes[2]))));
  }

  /// Until nobody is active.
  void run() {
    while (scheduler->schedule_cycle(now)) {
    }
    static_cast<void>(scheduler->permit(now));
  }

  /// Every pod is where it can be found: with a node, or in the queue, or nobody's.
  void check_accounts() {
    REQUIRE_FALSE(inside(cluster).undo.recording());
    REQUIRE_FALSE(inside(cluster).in_hook);
    must(scheduler->catch_up(now));
    for (const pod_id pod : cluster.pods()) {
      if (cluster.state_of(pod) != pod_state::pending || inside(cluster).pods.terminating[pod.row]) continue;
      const auto standing = scheduler->standing(pod);
      REQUIRE(standing.has_value());
      INFO("pod " << cluster.name_of(pod));
      REQUIRE(standing->place != queue_place::none);
      REQUIRE((standing->place != queue_place::in_flight || !scheduler->in_flight().empty()));
    }
    must(scheduler->verify());
    check_uses();
  }

  /// A plugin that takes one of each node, and one licence, for each pod has as many there as the scheduler has placed.
  void check_uses() {
    const model::cluster_state& state = inside(cluster);
    std::int64_t all = 0;
    for (const pod_id pod : cluster.pods()) {
      all += state.pods.node[pod.row] != no_row && state.pods.attempt[pod.row] != bind_attempt::none;
    }
    if (const auto taken = cluster.contains(licence) ? cluster.column_of(licence, "taken") : std::nullopt)
      REQUIRE(*taken == all);
    for (std::uint32_t column = 0; column < state.columns.size(); ++column) {
      if (state.columns.scope_of(column) != scope_number::nodes) continue;
      for (const node_id node : cluster.nodes()) {
        std::int64_t placed = 0;
        for (const pod_id pod : cluster.pods())
          placed += state.pods.node[pod.row] == node.row && state.pods.attempt[pod.row] != bind_attempt::none;
        INFO("node " << cluster.name_of(node));
        REQUIRE(state.columns.at(column, node.row) == placed);
      }
    }
  }
};

/// Whether the n-th allocation of @p make was reached, and so failed. The call says so by std::bad_alloc, and leaves nothing open.
template <class Make>
bool fails_at(full_house& house, long nth, failing_allocation::how how, Make&& make) {
  bool thrown = false, failed = false;
  {
    failing_allocation fails{nth, how};
    try {
      make();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    failed = fails.stop();
  }
  REQUIRE(thrown == failed);  // no failure is kept secret
  REQUIRE_FALSE(inside(house.cluster).undo.recording());
  REQUIRE_FALSE(inside(house.cluster).in_hook);
  return failed;
}

}  // namespace gangsched::testing
