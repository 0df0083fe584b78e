#pragma once
#include <optional>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/utilisation.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' LoadVariationRiskBalancing (Trimaran): nodes whose load is low and even.
///
/// For CPU, and for memory in MiB: μ = (mean used + the pod's request) / allocatable and σ = deviation / allocatable, each cut to [0, 1];
/// σ := σ^(1/sensitivity), or σ if the sensitivity is negative; σ := σ·margin, cut to [0, 1]; 100·(1 − (μ + σ)/2), 0 where nothing is
/// allocatable. The score is the lower of the two, or that of the one that was measured, rounded half away from zero; 0 for a node of which
/// nothing was measured. Columns: docs/load.md.
class load_variation_risk_balancing {
 public:
  static constexpr std::string_view name = "LoadVariationRiskBalancing";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score>;
  using room = utilisation_columns::room;

  struct options {
    double margin = 1;       ///< of the deviation; 0 to 10^6
    double sensitivity = 1;  ///< −10^6 to 10^6; above 1 small deviations count for more
  };

  load_variation_risk_balancing() = default;
  /// @pre check(chosen) finds nothing.
  explicit load_variation_risk_balancing(const options& chosen) : options_(chosen) { GANGSCHED_ASSERT(!check(chosen)); }
  /// The first number that is not what `options` says it may be. O(1).
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const options& chosen);
  /// Arguments: scheduler-plugins' LoadVariationRiskBalancingArgs, `safeVarianceMargin`, `safeVarianceSensitivity`. `metricProvider` and
  /// `watcherAddress` are ignored: the host supplies the measurements.
  [[nodiscard]] GANGSCHED_API static result<load_variation_risk_balancing> from(const argument& args);

  void attach(column_maker& columns) { used_.attach(columns); }
  [[nodiscard]] GANGSCHED_API std::int64_t score(const pod_view& pod, room node) const;

 private:
  [[nodiscard]] std::optional<double> score_of(const pod_view& pod, room node, resource_kind of, double unit) const;
  options options_;
  utilisation_columns used_;
};

static_assert(score_plugin<load_variation_risk_balancing>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/load_variation_risk_balancing.cpp"
#endif
