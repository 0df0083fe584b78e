#pragma once
#include <optional>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/policies/utilisation.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' TargetLoadPacking (Trimaran): fills nodes up to a target of measured CPU use, and not beyond.
///
/// p = 100·(used share · capacity / 100 + the pod + pods too new to be in the share) / capacity, 0 without capacity. Score, rounded half
/// away from zero, with target t: (100 − t)·p/t + t up to the target, t·(100 − p)/(100 − t) beyond it, 0 beyond 100, and 0 for a node of
/// whose CPU no share was measured. A pod is thought to use, for each container, its limit, else its request times the multiplier, else the
/// default; with its overhead, without init containers. Too new are pods without a start time, and those that started after the measured
/// window ended or less than a minute before. Columns: docs/load.md.
class target_load_packing {
 public:
  static constexpr std::string_view name = "TargetLoadPacking";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score>;
  using room = node_view<reads::own | reads::allocatable | reads::pods>;

  struct options {
    std::int64_t target = 40;                ///< percent, 1 to 100
    double multiplier = 1.5;                 ///< of requests without a limit; 0 to 10^6
    std::int64_t default_cpu = 1000;         ///< thousandths, for a container without request and limit; 0 to 2^40
    instant lag = std::chrono::seconds{60};  ///< pods started less than this before a window's end are not in it
  };

  target_load_packing() = default;
  /// @pre check(chosen) finds nothing.
  explicit target_load_packing(const options& chosen) : options_(chosen) { GANGSCHED_ASSERT(!check(chosen)); }
  /// The first number that is not what `options` says it may be. O(1).
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const options& chosen);
  /// Arguments: scheduler-plugins' TargetLoadPackingArgs, `targetUtilization`, `defaultRequestsMultiplier` (a number, or one in a text),
  /// `defaultRequests: {cpu}`. `metricProvider` and `watcherAddress` are ignored: the host supplies the measurements.
  [[nodiscard]] GANGSCHED_API static result<target_load_packing> from(const argument& args);

  void attach(column_maker& columns) { used_.attach(columns); }
  /// O(pods on the node · containers), when something of that changed.
  [[nodiscard]] GANGSCHED_API std::int64_t score(const pod_view& pod, room node) const;
  /// Thousandths of a CPU: the pod's estimated use.
  [[nodiscard]] GANGSCHED_API std::int64_t predicted(const pod_class& pod) const;

 private:
  options options_;
  utilisation_columns used_;
};

static_assert(score_plugin<target_load_packing>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/target_load_packing.cpp"
#endif
