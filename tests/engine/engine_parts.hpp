#pragma once
#include "gangsched/engine/preemption.hpp"
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing {

/// A cluster and the parts of the engine below its coordinator, for tests of one part. Nobody schedules: what a test asks is all that
/// happens.
struct engine_parts {
  gangsched::cluster cluster;
  model::cluster_state& state;
  engine::profile_set profiles;
  engine::entity_view entities{state, profiles};
  scheduler_options options{.ties = tie_rule::lowest_row};
  engine_statistics statistics;
  instant now{0};
  engine::picker picks{state, profiles, options, statistics, now};
  engine::group_limits limits{state, entities};
  engine::pre_enqueue_gates gates{state, entities};
  engine::entry_order entered{state, gates};
  engine::group_parts parts{state, entities, limits, picks, entered};
  engine::reservations reserved{state, entities, picks, now};
  engine::group_search search{state, entities, parts, picks, reserved, options, statistics};
  engine::preemption room{state, entities, gates, parts, picks, search};

  explicit engine_parts(const cluster_options& bounds = {}, kernel_table profile = profiles::kube_default())
      : cluster(bounds), state(inside(cluster)), profiles(one(std::move(profile)), state) {
    profiles.attach(state);
  }

  node_id add(const node_spec& spec) { return world::must(cluster.add_node(spec)); }
  pod_id add(const pod_spec& spec) { return world::must(cluster.add_pod(spec)); }
  group_id add(const group_spec& spec) { return world::must(cluster.add_group(spec)); }
  /// "pod node", in the order in which they were placed.
  [[nodiscard]] std::vector<std::string> where(const engine::placed_members& placed) const {
    std::vector<std::string> all;
    for (const assignment& one : placed.assignments()) {
      all.push_back(std::string{cluster.name_of(one.pod)} + " " + std::string{cluster.name_of(one.node)});
    }
    return all;
  }
  /// Those of the rows, in order.
  [[nodiscard]] std::vector<std::string> names(std::span<const row_t> pods) const {
    std::vector<std::string> all;
    for (const row_t pod : pods) all.emplace_back(cluster.name_of(pod_id{pod, state.pods.rows.generation(pod)}));
    return all;
  }

 private:
  static std::vector<kernel_table> one(kernel_table profile) {
    std::vector<kernel_table> all;
    all.push_back(std::move(profile));
    return all;
  }
};

}  // namespace gangsched::testing
