// What only the host knows, and plugins decide by: how hot racks are, how much a team may use, what a node costs today.
#include <gangsched/framework/profile.hpp>
#include <gangsched/gangsched.hpp>
#include <gangsched/plugins/node_resources_fit.hpp>
#include <gangsched/plugins/priority_sort.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>

namespace {

using namespace gangsched;
using namespace gangsched::literals;

/// Nodes in racks that are too hot take no pods. A word a rack: "racks", "celsius".
struct rack_temperature {
  static constexpr std::string_view name = "RackTemperature";
  using points = implements<point::filter>;
  by_host<scope_column> celsius;

  void attach(column_maker& columns) { celsius = columns.scope_column_by_host("racks", "celsius"); }
  std::int64_t filter_key(const pod_view& pod,
                          node_view<reads::labels> node) const {  // nodes of a rack are judged together
    const auto key = pod.find("rack");
    return key ? std::int64_t{node.label(*key).value_or(symbol{}).value} : 0;
  }
  void finish_filter(const pod_view&, const cluster_view& cluster, std::span<filtered_group> racks) const {
    for (filtered_group& rack : racks) {
      const auto row = cluster.find_row(celsius, cluster.text(symbol{static_cast<std::uint32_t>(rack.key)}));
      if (row && cluster.own(celsius, *row) > 35)
        rack.verdict = status::unschedulable("node(s) are in a rack that is too hot");
    }
  }
};

/// A team's pods get attempts as long as an office outside lets it use more: "teams", "allowed" is the office's word, "used" is counted.
struct team_quota {
  static constexpr std::string_view name = "TeamQuota";
  using points = implements<point::admission, point::reserve>;
  by_host<scope_column> allowed;
  scope_column used;

  void attach(column_maker& columns) {
    allowed = columns.scope_column_by_host("teams", "allowed");
    used = columns.make_scope_column("teams", "used");
  }
  status admit(const pod_info& pod, const cluster_view& cluster) const {
    const auto row = cluster.find_row(used, pod.label("team").value_or(""));
    const std::int64_t most = row ? cluster.own(allowed, *row) : 0;
    const std::int64_t now = row ? cluster.own(used, *row) : 0;
    return now + pod.request(kinds::cpu) <= most ? status::success() : status::pending("the team may not use more");
  }
  status reserve(const new_reservation& r) {
    r.add(used, r.pod.label("team").value_or(""), r.pod.request(kinds::cpu));
    return status::success();
  }
  void unreserve(const reservation&) noexcept {}  // what was added is taken back with the pod
};

/// The cheapest node, by a table of the host's that plugins look into and the cluster knows nothing of.
struct cheapest_node {
  static constexpr std::string_view name = "CheapestNode";
  using points = implements<point::score>;
  std::shared_ptr<const std::map<std::string, std::int64_t, std::less<>>> prices;  // 0 … 100

  std::int64_t score(const pod_view&, node_view<reads::name> node) const {
    const auto found = prices->find(node.name());
    return found != prices->end() ? 100 - found->second : 0;
  }
};

void turn(cluster& on, scheduler& by, const char* when) {
  std::cout << when << ":\n";
  while (const cycle made = by.schedule_cycle(instant{1})) {
    for (const decision& one : made) {
      std::cout << "  " << on.name_of(one.pod) << ' ' << to_string(one.kind);
      if (one.node) std::cout << ' ' << on.name_of(one.node);
      if (one.kind == decision_kind::reject) std::cout << ": " << by.why(one.pod).value().text();
      if (one.kind == decision_kind::bind) by.confirm(one.pod).value();
      std::cout << '\n';
    }
  }
}

void add_pod(cluster& on, const std::string& name, const std::string& team) {
  on.add_pod({.name = name, .labels = {{"team", team}}, .containers = {{.requests = {{"cpu", 2}}}}}).value();
}

}  // namespace

int main() {
  cluster cluster;
  for (const char* name : {"a", "b"}) {
    cluster
        .add_node({.name = name,
                   .labels = {{"rack", std::string{"rack-"} + name}},
                   .allocatable = {{"cpu", 16}, {"pods", 110}}})
        .value();
  }
  const auto prices = std::make_shared<std::map<std::string, std::int64_t, std::less<>>>();
  (*prices)["a"] = 10, (*prices)["b"] = 20;
  scheduler scheduler{
      cluster,
      profile{priority_sort{}, node_resources_fit{}, rack_temperature{}, team_quota{}, cheapest_node{prices}},
      {.count_reasons = true}};

  // Rows of a scope are made by the host, or when a reserve hook counts there first.
  const scope_row_id team = cluster.add_scope_row("teams", "vision").value();
  const scope_row_id rack = cluster.add_scope_row("racks", "rack-a").value();

  add_pod(cluster, "one", "vision");
  turn(cluster, scheduler, "the office has said nothing");

  cluster.set_column(team, "allowed", 4000).value();  // wakes pods that the plugin refused
  turn(cluster, scheduler, "the team may use four cores");

  cluster.set_column(rack, "celsius", 41).value();
  add_pod(cluster, "two", "vision");
  turn(cluster, scheduler, "rack-a is hot");

  cluster.set_column(rack, "celsius", 24).value();
  cluster.set_column(team, "allowed", 16000).value();
  (*prices)["b"] = 1;                 // no change of the cluster says so:
  scheduler.forget_cached().value();  // whatever was remembered of hooks is asked anew
  add_pod(cluster, "three", "vision");
  turn(cluster, scheduler, "b costs less than a now");
}
