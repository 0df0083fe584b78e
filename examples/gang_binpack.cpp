// Bin-packing a gang: two nodes with 8 dongles each, and a gang of 3 pods that take 2 each. It lands on one node; scaled to 5 it
// fills that node and puts one pod on the other; a gang that does not fit leaves nothing behind.
#include <gangsched/gangsched.hpp>

#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "must.hpp"

namespace {

using namespace gangsched;
using namespace gangsched::literals;
constexpr const char* dongle = "example.com/dongle";

/// The profile as a configuration would have it: NodeResourcesFit only filters, NodeResourcesFitPlus scores.
kernel_table packing(const plugin_registry& plugins) {
  const auto by = [](const char* type, int weight) { return argument::fields{{"type", type}, {"weight", weight}}; };
  const argument packs{argument::fields{{"resources", argument::fields{{dongle, by("MostAllocated", 20)},
                                                                       {"cpu", by("LeastAllocated", 2)},
                                                                       {"memory", by("LeastAllocated", 1)}}}}};
  return must(runtime_profile{plugins}
                  .enable("PrioritySort")
                  .enable("NodeResourcesFit")
                  .disable("NodeResourcesFit", point::score)
                  .enable("NodeResourcesFitPlus", 1, packs)
                  .enable("GangScheduling")
                  .table());
}

std::vector<pod_id> add_pods(cluster& cluster, group_id group, int from, int to) {
  std::vector<pod_id> pods;
  for (int i = from; i < to; ++i) {
    pods.push_back(
        must(cluster.add_pod({.name = std::string{cluster.name_of(group)} + '-' + std::to_string(i),
                              .containers = {{.requests = {{dongle, 2}, {"cpu", "40m"_q}, {"memory", "40Mi"_q}}}},
                              .group = group})));
  }
  return pods;
}

void show_nodes(const cluster& cluster, const char* when) {
  std::cout << "nodes " << when << '\n';
  for (const node_id node : cluster.nodes()) {
    const auto used = [&](const char* resource) { return cluster.requested(node, resource); };
    std::cout << "  " << cluster.name_of(node) << "  dongle " << used(dongle) << " of "
              << cluster.allocatable(node, dongle) << "   cpu " << std::setw(3) << used("cpu") << "m   memory "
              << std::setw(3) << used("memory") / (1 << 20) << "Mi\n";
  }
}

void show_sheet(const cluster& cluster, scheduler& scheduler, pod_id pod) {
  const explanation sheet = must(scheduler.explain(pod));
  std::cout << "score sheet of " << cluster.name_of(pod) << '\n';
  for (const node_verdict& node : sheet.nodes) {
    std::cout << "  " << node.name << ' ' << std::setw(3) << node.total;
    for (const plugin_score& s : node.scores) std::cout << "  " << s.plugin << ' ' << s.normalized << " x " << s.weight;
    for (const std::string& reason : node.reasons) std::cout << "  " << node.plugin << ": " << reason;
    std::cout << '\n';
  }
}

void run(const cluster& cluster, scheduler& scheduler) {
  while (auto cycle = scheduler.schedule_cycle(instant{})) {
    for (const decision& d : cycle) {
      std::cout << cluster.name_of(d.pod) << ": " << to_string(d.kind);
      if (d.kind == decision_kind::bind) {
        std::cout << " to " << cluster.name_of(d.node) << ", score " << d.score;
        must(scheduler.confirm(d.pod));
      } else if (d.reason != nullptr) {
        std::cout << ", " << d.reason;
      }
      std::cout << '\n';
    }
  }
}

}  // namespace

int main() {
  cluster cluster;
  for (const char* name : {"worker-a", "worker-b"}) {
    must(cluster.add_node(
        {.name = name, .allocatable = {{dongle, 8}, {"cpu", "2000m"_q}, {"memory", "2200M"_q}, {"pods", 110}}}));
  }
  const plugin_registry plugins = builtin_plugins();
  scheduler scheduler{cluster, packing(plugins)};

  const group_id train = must(cluster.add_group({.name = "train", .policy = gang{.min_count = 3}}));
  const auto first = add_pods(cluster, train, 0, 3);
  show_nodes(cluster, "before");
  show_sheet(cluster, scheduler, first.front());
  run(cluster, scheduler);
  show_nodes(cluster, "with 3 pods");

  must(cluster.update_group(train, {.name = "train", .policy = gang{.min_count = 5}}));
  const auto more = add_pods(cluster, train, 3, 5);
  show_sheet(cluster, scheduler, more.front());
  run(cluster, scheduler);
  show_nodes(cluster, "with 5 pods");

  const group_id large = must(cluster.add_group({.name = "large", .policy = gang{.min_count = 4}}));
  const auto rest = add_pods(cluster, large, 0, 4);
  const std::uint64_t before = cluster.digest();
  run(cluster, scheduler);
  std::cout << must(scheduler.explain(rest.front())).summary << '\n';
  std::cout << (cluster.digest() == before ? "nothing" : "something") << " is left behind\n";
  return cluster.digest() == before ? 0 : 1;
}
