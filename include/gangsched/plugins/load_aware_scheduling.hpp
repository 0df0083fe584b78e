#pragma once
#include <array>
#include <optional>
#include <string>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/model/node_load.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Koordinator's LoadAwareScheduling: rejects nodes whose measured use is beyond a threshold, and prefers the least used ones.
///
/// The use of a pod is estimated, for CPU and memory: q = max(limit, request) of the resource of its priority class (prod: cpu, memory;
/// batch, mid: kubernetes.io/batch-cpu, …), times a factor in percent, rounded, at most the limit; without a q 250m and 200 MiB, 0 for mid.
/// Pods of class free are estimated at 0. If pods may override it (`customized`), the factor, and for how long a pod settles down, are the
/// pod's own where it names them (`pod_spec::load`).
///
/// What a node uses is what was measured there, or a percentile, with max(0, estimate − measured) of those pods that were not measured,
/// that were scheduled after the measurement before, or that are still settling down: until a while after they were initialized, if that
/// is known and such a while is configured, else after they were scheduled. It is the estimates of all pods alone if a percentile is
/// asked for by a period that was not measured. What pods of production use is what was measured of them, with the same, and with what is
/// no pod's if so configured; one that was measured as of another class counts by its estimate. Reservations use nothing.
///
/// Filter: not for DaemonSets, and not where nothing is known of the node. Too old measurements refuse it, or let it through. Thresholds
/// of production count for pods of production, else those of percentiles, else those of all; a node's own replace each of them by
/// itself, those of percentiles with how they are measured. Refused is round(100·(used + estimate)/there) above one. Score:
/// ⌊(Σ weight·s + dominant·min s)/(Σ weight + dominant)⌋ with s = ⌊100·(there − used − estimate)/there⌋, or 0; 0 without measurements that
/// count. "There" is what is allocatable, or the node's raw amount. Source: pkg/scheduler/plugins/loadaware (load_aware.go,
/// pod_assign_cache.go, estimator/default_estimator.go), 1.7.0; reservations as in pod_assign_cache.go after 1.8.
///
/// The priority class is that of the pod's label, else of its priority, else of its class of service (band_of, service_class.hpp). When a
/// pod was scheduled is said by a column, else it is its start time; without either it is settling down. Columns: docs/load.md.
class load_aware_scheduling {
 public:
  static constexpr std::string_view name = "LoadAwareScheduling";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::filter, point::score>;
  using room = node_view<reads::own | reads::allocatable | reads::pods>;

  /// One of CPU, one of memory.
  using pair = std::array<std::int64_t, 2>;
  struct aggregate {
    std::string type = {};     ///< "avg", "p50", "p90", "p95", "p99"; empty: what is used is taken as it is
    std::int64_t seconds = 0;  ///< over which period; 0: the longest. To 10^9, as all seconds here
  };
  struct options {
    pair factors{85, 70};              ///< percent, 1 to 1000
    pair thresholds{65, 95};           ///< percent, 0 to 100, 0: none; so are the two below
    pair prod_thresholds{0, 0};        ///< for pods of production
    pair percentile_thresholds{0, 0};  ///< for what `filtered` says
    aggregate filtered = {}, scored = {};
    bool by_percentile = false;  ///< `percentile_thresholds` replace `thresholds` also where there is none of them
    pair weights{1, 1};          ///< 0 to 100
    std::int64_t dominant_weight = 0;       ///< 0 to 100
    std::int64_t expiration_seconds = 180;  ///< 0: measurements do not get too old
    bool filter_expired = true;  ///< the filter rejects nodes with expired measurements; else it takes them as they are
    bool allow_expired = false;
    bool score_prod = false;        ///< pods of production are scored by what those use
    bool prod_with_system = false;  ///< what is no pod's is used for production
    std::int64_t settling_after_scheduled = 0, settling_after_initialized = 0;  ///< seconds, 0: no time
    bool customized = false;  ///< pods may override how they are estimated
  };

  load_aware_scheduling() = default;
  /// @pre check(chosen) finds nothing.
  explicit load_aware_scheduling(options chosen) : options_(std::move(chosen)) { GANGSCHED_ASSERT(!check(options_)); }
  /// The first number that is not what `options` says it may be, or a kind of percentile that is none. O(1).
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const options& chosen);
  /// Arguments: Koordinator's LoadAwareSchedulingArgs, with its defaults. Resources are cpu and memory; durations are seconds, or texts
  /// like "5m0s".
  [[nodiscard]] GANGSCHED_API static result<load_aware_scheduling> from(const argument& args);

  GANGSCHED_API void attach(column_maker& columns);
  /// O(pods on the node · containers), when something of that changed; so is the score.
  [[nodiscard]] GANGSCHED_API status filter(const pod_view& pod, room node) const;
  [[nodiscard]] GANGSCHED_API std::int64_t score(const pod_view& pod, room node) const;
  /// Thousandths of a CPU and bytes: the pod's estimated use.
  [[nodiscard]] GANGSCHED_API pair estimate(const pod_view& pod) const;

 private:
  template <class Column>
  using each = std::array<by_host<Column>, 2>;
  struct percentile_columns {
    each<node_column> words{};
    bool asked = false;
  };
  enum class by { use, percentile, prod };
  [[nodiscard]] pair used(room node, by what, const percentile_columns& percentile, bool of_period) const;
  [[nodiscard]] pair there(room node) const;
  [[nodiscard]] bool expired(room node) const;
  /// Which thresholds apply to the pod, and to what is used; all 0: none.
  [[nodiscard]] pair thresholds(const pod_view& pod, room node, by& what, bool& own) const;
  [[nodiscard]] bool settling(const pod_info& pod, room node) const;

  options options_;
  by_host<node_column> measured_, age_, interval_;
  each<node_column> used_{}, system_{}, raw_{}, thresholds_{}, prod_thresholds_{}, percentile_thresholds_{};
  percentile_columns filtered_, scored_, own_;  ///< the last: a node's own
  each<pod_column> pods_{};
  by_host<pod_column> scheduled_, initialized_, other_class_;
};

static_assert(filter_plugin<load_aware_scheduling> && score_plugin<load_aware_scheduling>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/load_aware_scheduling.cpp"
#endif
