#pragma once
#include "gangsched/framework/points.hpp"
#include "world.hpp"

/// Plugins that go by columns of their own and of the host's.
namespace gangsched::testing {

/// Nodes in racks that are too hot take nobody. The host says how hot a rack is.
struct rack_temperature {
  static constexpr std::string_view name = "RackTemperature";
  using points = implements<point::filter>;
  by_host<scope_column> celsius;

  void attach(column_maker& columns) { celsius = columns.scope_column_by_host("racks", "celsius"); }
  [[nodiscard]] std::int64_t filter_key(const pod_view& pod, node_view<reads::labels> node) const {
    const auto key = pod.find("rack");
    return key ? std::int64_t{node.label(*key).value_or(symbol{}).value} : 0;
  }
  void finish_filter(const pod_view&, const cluster_view& cluster, std::span<filtered_group> groups) const {
    for (filtered_group& group : groups) {
      const auto rack = cluster.find_row(celsius, cluster.text(symbol{static_cast<std::uint32_t>(group.key)}));
      if (rack && cluster.own(celsius, *rack) > 35)
        group.verdict = status::unschedulable("node(s) are in a rack that is too hot");
    }
  }
};

/// The cluster owns licences, which pods ask for as resources "licences/NAME". The host says how many there are.
struct licences {
  static constexpr std::string_view name = "Licences";
  using points = implements<point::filter, point::reserve>;
  by_host<scope_column> owned;
  scope_column used;

  void attach(column_maker& columns) {
    owned = columns.scope_column_by_host("licences", "owned");
    used = columns.make_scope_column("licences", "used");
  }
  template <class Visit>
  static void each_wanted(const pod_view& pod, const Visit& visit) {
    constexpr std::string_view group = "licences/";
    for (const amount& one : pod.requests()) {
      const std::string_view kind = pod.kind_name(one.kind);
      if (kind.starts_with(group)) visit(kind.substr(group.size()), one.value);
    }
  }
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  void finish_filter(const pod_view& pod, const cluster_view& cluster, std::span<filtered_group> groups) const {
    each_wanted(pod, [&](std::string_view licence, std::int64_t count) {
      const auto row = cluster.find_row(used, licence);
      if (row && cluster.own(used, *row) + count <= cluster.own(owned, *row)) return;
      for (filtered_group& group : groups) group.verdict = status::unschedulable("no licence is left");
    });
  }
  status reserve(const new_reservation& r) {
    each_wanted(r.pod, [&](std::string_view licence, std::int64_t count) { r.add(used, licence, count); });
    return status::success();
  }
  void unreserve(const reservation&) noexcept {}
};

/// Nodes have power for so much, and pods ask for it as a resource "power/watts". The host says how much a node has.
struct node_power {
  static constexpr std::string_view name = "NodePower";
  using points = implements<point::filter, point::reserve>;
  by_host<node_column> watts;
  node_column used;

  void attach(column_maker& columns) {
    watts = columns.node_column_by_host("watts");
    used = columns.make_node_column("watts used");
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::own> node) const {
    if (node.own(used) + pod.request("power/watts") <= node.own(watts)) return status::success();
    return status::unschedulable("node(s) have too little power");
  }
  status reserve(const new_reservation& r) { return r.add(used, r.pod.request("power/watts")), status::success(); }
  void unreserve(const reservation&) noexcept {}
};

template <class... Plugins>
kernel_table with_columns_of(Plugins... plugins) {
  return profile{priority_sort{},   scheduling_gates{},   node_resources_fit{{.ignored_groups = {"licences", "power"}}},
                 gang_scheduling{}, default_preemption{}, std::move(plugins)...}
      .table();
}

}  // namespace gangsched::testing
