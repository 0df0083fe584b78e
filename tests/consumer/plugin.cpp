// Somebody's plugin that looks into everything that views show: a shared library has to export what they ask in line.
#include <gangsched/framework/device_views.hpp>
#include <gangsched/framework/profile.hpp>
#include <gangsched/framework/queue_view.hpp>
#include <gangsched/gangsched.hpp>
#include <gangsched/plugins.hpp>

#include <iostream>

using namespace gangsched;

struct nosy {
  static constexpr std::string_view name = "Nosy";
  using points = implements<point::filter, point::permit, point::reserve, point::pre_enqueue>;

  [[nodiscard]] status filter(const pod_info& pod, const node_info& node) const {
    std::int64_t seen = node.free("cpu") - pod.request("cpu") + node.label("zone").has_value();
    node.each_pod([&](const pod_info& other) { seen += other.priority() + other.queue().has_value(); });
    seen += node.flavor().row + node.has_devices() + pod.find("zone").has_value() + pod.find_kind("cpu").has_value();
    seen += node.claims_allow(pod.spec()).ok() + static_cast<bool>(node.devices()) + pod.label("zone").has_value();
    static_cast<void>(node.wants_of(pod.spec()));
    static_cast<void>(node.only_want(pod.spec()));
    if (const auto group = pod.group()) {
      seen += group->root().min_count() + group->queue().has_value();
      group->each_pod_below([&](const pod_info&) { ++seen; });
    }
    return seen == 0 ? status::unschedulable("nothing was seen") : status::success();
  }
  [[nodiscard]] status pre_enqueue(const pod_info& pod) const {
    return pod.name().empty() ? status::unschedulable("has no name") : status::success();
  }
  [[nodiscard]] status reserve(const new_reservation& r) const {
    std::size_t seen = 0;
    const cluster_view all = r.cluster();
    all.each_node([&](const node_info& node) { seen += node.name().size(); });
    all.each_group([&](const group_view& group) { seen += group.members(); });
    all.each_nominated([&](const pod_info&) { ++seen; });
    all.each_budget([&](const budget_view& budget) { seen += budget.spec().name.size(); });
    all.each_queue([&](const queue_view& queue) { seen += queue.name().size(); });
    all.each_change(0, [&](const change&) { ++seen; });
    return all.priority_class({}) == nullptr && seen != 0 ? status::success() : status::error("odd");
  }
  void unreserve(const reservation&) const noexcept {}
  [[nodiscard]] permit_verdict permit(const reservation&, permit_room&) const { return {}; }
};

int main() {
  plugin_registry plugins;
  every_plugin::each([&]<class P>() {
    if constexpr (configurable<P>) static_cast<void>(plugins.add<P>());
  });
  static_cast<void>(plugins.add<nosy>());
  cluster cluster;
  cluster.add_node({.name = "a", .allocatable = {{"cpu", 4}, {"pods", 10}}}).value();
  cluster.add_pod({.name = "p"}).value();
  scheduler scheduler{cluster, profile{priority_sort{}, node_resources_fit{}, nosy{}, extender{{}},
                                       default_preemption{}, gang_scheduling{}}};
  int bound = 0;
  for (const decision& one : scheduler.schedule_cycle(instant{})) bound += one.kind == decision_kind::bind;
  std::cout << plugins.names().size() << " plugins, " << bound << " bound\n";
  return bound == 1 && plugins.names().size() > 40 ? 0 : 1;
}
