#pragma once
#include <optional>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/utilisation.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' LowRiskOverCommitment (Trimaran): nodes where limits beyond what there is will hardly be used.
///
/// For CPU and for memory, with R and L the requests and limits of all pods there with this one (a pod's limit is at least its request; R
/// at most what is allocatable, C), R′ and L′ without it:
/// - risk of limits: (L − C)/(L − R) if L > C, else 0.
/// - risk of load: 1 − P, 0 where nothing was measured. P is how likely a Beta distribution with the measured mean μ and deviation σ, of C,
///   is to be at most R′/C; σ is multiplied by √window, and at most √(0.99·μ(1 − μ)). With μ or σ of 0 it is 1 if μ ≤ R′/C, else 0. If
///   L′ < C and R′ ≤ L′: P is 1 if L′ is 0, else divided by how likely it is to be at most L′/C.
/// - risk: w·(risk of limits) + (1 − w)·(risk of load), with the weight of the resource.
/// Score: 100·(1 − the higher risk), rounded half away from zero; 0 for a pod that names no request and no limit of either, and for a node
/// of which nothing was measured. Columns: docs/load.md.
class low_risk_over_commitment {
 public:
  static constexpr std::string_view name = "LowRiskOverCommitment";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score>;
  using room = node_view<reads::own | reads::allocatable | reads::usage | reads::pods>;

  struct options {
    std::int64_t window = 5;     ///< measurements that are smoothed; 1 to 10^6
    double cpu_weight = 0.5;     ///< of limits; 0 to 1
    double memory_weight = 0.5;  ///< of limits; 0 to 1
  };

  low_risk_over_commitment() = default;
  /// @pre check(chosen) finds nothing.
  explicit low_risk_over_commitment(const options& chosen) : options_(chosen) { GANGSCHED_ASSERT(!check(chosen)); }
  /// The first number that is not what `options` says it may be. O(1).
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const options& chosen);
  /// Arguments: scheduler-plugins' LowRiskOverCommitmentArgs, `smoothingWindowSize`, `riskLimitWeights: {cpu, memory}`. `metricProvider`
  /// and `watcherAddress` are ignored: the host supplies the measurements.
  [[nodiscard]] GANGSCHED_API static result<low_risk_over_commitment> from(const argument& args);

  void attach(column_maker& columns) { used_.attach(columns); }
  /// O(pods on the node · containers), when something of that changed.
  [[nodiscard]] GANGSCHED_API std::int64_t score(const pod_view& pod, room node) const;

 private:
  [[nodiscard]] double risk_of(const pod_view& pod, room node, resource_kind of, double weight) const;
  [[nodiscard]] double risk_of_load(room node, resource_kind of, double requested, double limited) const;
  options options_;
  utilisation_columns used_;
};

static_assert(score_plugin<low_risk_over_commitment>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/low_risk_over_commitment.cpp"
#endif
