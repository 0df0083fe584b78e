#pragma once
#include <memory>
#include <stdexcept>

#include "gangsched/framework/points.hpp"

/// A plugin of the host's own: it counts its pods in a column, lets some of them wait for the host's word, and can be made to fail.
namespace gangsched::soak {

/// What the plugin's copies and the host share.
struct host_rules {
  int calls_left = 0;  ///< hook calls until one throws; 0: none does
  bool threw = false;
  bool counts = false;     ///< somebody adds up what is in the column
  std::int64_t noted = 0;  ///< the sum

  void hook() {
    if (calls_left == 0 || --calls_left != 0) return;
    threw = true;
    throw std::runtime_error("a hook of the host's");
  }
};

struct host_plugin {
  static constexpr std::string_view name = "HostRules";
  using points = implements<point::filter, point::score, point::reserve, point::permit, point::pre_bind>;
  static constexpr instant wait = std::chrono::seconds{30};

  std::shared_ptr<host_rules> rules;
  node_column taken = {};

  void attach(column_maker& columns) { taken = columns.make_node_column(); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::own> node) const {
    rules->hook();
    if (rules->counts) rules->noted += node.own(taken);
    return node.own(taken) < 1000 ? status::success() : status::unschedulable("the host's own room is used up");
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::own> node) const {
    rules->hook();
    return std::max<std::int64_t>(0, 100 - 10 * node.own(taken));
  }
  status reserve(const new_reservation& placed) {
    placed.add(taken, 1);
    rules->hook();
    return status::success();
  }
  void unreserve(const reservation&) noexcept {}
  permit_verdict permit(const reservation& placed, permit_room&) {
    rules->hook();
    if (placed.pod.label("own")) return {status::wait("the host has to agree"), wait};
    return {};
  }
  status pre_bind(const reservation&, decision& made) {
    rules->hook();
    made.annotation = 7;
    return status::success();
  }
};

}  // namespace gangsched::soak
