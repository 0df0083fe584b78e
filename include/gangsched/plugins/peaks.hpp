#pragma once
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/utilisation.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' Peaks (power-efficient scheduling): prefers the nodes whose power draw would grow least.
///
/// A node whose CPU is used to u percent draws K0 + K1·e^(K2·u). With the pod's request, p = u + 100·request/capacity: cost = K1·(e^(K2·p)
/// − e^(K2·u))·10^15, truncated; 0 where p > 100, no CPU use was measured or no model is known. Score: 100 − 100·(cost − least)/(most −
/// least), truncated before the subtraction; if all costs are equal 100, or 0 where they are 0. So, as upstream, a node that the pod would
/// overload, or without data, scores as one where it costs nothing. Columns: docs/load.md.
class peaks {
 public:
  static constexpr std::string_view name = "Peaks";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score>;
  static constexpr bool reads_population = false;
  using room = node_view<reads::own | reads::allocatable | reads::name>;

  struct power_model {
    std::string node;                 ///< its name
    double idle = 0;                  ///< K0, which costs the same wherever the pod runs
    double factor = 0, exponent = 0;  ///< K1, K2
  };

  peaks() = default;
  /// With the models of nodes, at most one for each.
  GANGSCHED_API explicit peaks(std::vector<power_model> models);
  /// Arguments: scheduler-plugins' PeaksArgs, `nodePowerModel: {<node>: {k0, k1, k2}}`. `metricProvider` and `watcherAddress` are ignored:
  /// the host supplies the measurements.
  [[nodiscard]] GANGSCHED_API static result<peaks> from(const argument& args);

  void attach(column_maker& columns) { used_.attach(columns); }
  /// O(log models).
  [[nodiscard]] GANGSCHED_API std::int64_t score(const pod_view& pod, room node) const;
  GANGSCHED_API void normalize_score(const pod_view&, std::span<scored_group> groups) const;

 private:
  std::vector<power_model> models_;  ///< by name
  utilisation_columns used_;
};

static_assert(score_plugin<peaks>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/peaks.cpp"
#endif
