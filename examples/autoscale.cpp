// Which nodes are missing for a gang and a few services, and which of those that run are not needed any more.
#include <gangsched/gangsched.hpp>
#include <gangsched/what_if/autoscaling.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace gangsched;
using namespace gangsched::literals;

node_spec machine(std::string name, std::int64_t cpu, std::int64_t gpus) {
  return {.name = std::move(name),
          .allocatable = {{"cpu", cpu}, {"memory", "256Gi"_q}, {"pods", 110}, {"nvidia.com/gpu", gpus}}};
}

pod_spec service(std::string name, std::int64_t cpu) {
  return {.name = std::move(name), .containers = {{.requests = {{"cpu", cpu}, {"memory", "4Gi"_q}}}}};
}

void place(scheduler& by) {
  while (auto cycle = by.schedule_cycle(instant{1})) {
    for (const decision& one : cycle) {
      if (one.kind == decision_kind::bind) by.confirm(one.pod).value();
    }
  }
}

}  // namespace

int main() {
  cluster cluster;
  scheduler scheduler{cluster, profiles::kube_default()};
  cluster.add_node(machine("gpu-1", 32, 4)).value();
  const group_id train = cluster.add_group({.name = "train", .policy = gang{.min_count = 3}}).value();
  for (int i = 0; i < 3; ++i) {
    pod_spec member = service("train-" + std::to_string(i), 8);
    member.containers[0].requests["nvidia.com/gpu"] = 4;
    member.group = train;
    cluster.add_pod(member).value();
  }
  for (int i = 0; i < 8; ++i) cluster.add_pod(service("web-" + std::to_string(i), 12)).value();
  place(scheduler);

  const std::vector<node_shape> shapes{
      {machine("cpu", 32, 0), 10}, {machine("gpu", 32, 4), 40}, {machine("gpu-large", 48, 8), 75}};
  const demand_answer answer = demand(scheduler, shapes, {.now = instant{1}}).value();
  for (const demand_plan& plan : answer.plans) {
    std::cout << "for " << plan.price << ':';
    for (const demand_plan::added_node& node : plan.nodes)
      std::cout << ' ' << shapes[node.shape].like.name << " (" << node.pods.size() << " pods)";
    std::cout << '\n';
  }

  // The host has them come, and later there is less to do.
  int number = 1;
  for (const demand_plan::added_node& node : answer.plans.front().nodes) {
    node_spec another = shapes[node.shape].like;
    another.name += "-new-" + std::to_string(number++);
    const node_id came = cluster.add_node(another).value();
    for (const pod_id pod : node.pods) cluster.nominate(pod, came).value();
  }
  place(scheduler);
  for (int i = 0; i < 4; ++i) cluster.remove_pod(*cluster.find_pod("default", "web-" + std::to_string(i))).value();
  const std::vector<node_id> nodes = cluster.nodes();
  const std::vector<removable_node> drained = removable(scheduler, nodes, {.now = instant{1}}).value();
  for (const removable_node& one : drained)
    std::cout << cluster.name_of(one.node) << " is not needed: " << one.moves.size() << " pod(s) move\n";
}
