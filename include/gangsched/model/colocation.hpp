#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/service_class.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// How much of the resources that prod pods do not use is lent to batch and mid pods: Koordinator's ColocationStrategy with its defaults.
struct colocation_strategy {
  /// How prod and mid pods count in the amount for batch: by usage, by requests, or for each pod by the larger of the two.
  enum class policy : std::uint8_t { usage, request, max_usage_request };
  struct of_resource {
    std::int64_t reclaim_percent;  ///< of the capacity: the share that may be in use; the rest is a safety margin
    policy by = policy::usage;     ///< (for CPU `request` means `usage`, as in Koordinator)
    std::optional<std::int64_t> batch_percent = {};  ///< of the capacity: the upper bound for batch
    std::int64_t mid_percent = 100;                  ///< the same for mid, without the unallocated part
  };
  of_resource cpu{.reclaim_percent = 60}, memory{.reclaim_percent = 65};
  std::int64_t mid_unallocated_percent =
      0;  ///< of what prod has not requested: the part that mid gets in addition to what is reclaimed
  instant degrade_after = std::chrono::minutes{15};  ///< nothing is lent if the last measurement is older
  instant update_after = std::chrono::minutes{5};    ///< after this time small changes are applied, too
  double least_change = 0.1;                         ///< of what is lent: smaller changes wait for `update_after`
};

/// The inputs for one resource of a node (thousandths of CPUs, bytes).
struct colocation_load {
  std::int64_t capacity = 0, reserved = 0;
  std::int64_t system_used = 0;  ///< used by the system, not by pods
  std::int64_t requested = 0, used = 0,
               larger = 0;  ///< of pods of prod and mid: sums of requests, of uses, of the larger of each
  std::int64_t prod_requested = 0;
  std::int64_t reclaimable = 0;  ///< of prod pods, as forecast
  std::int64_t unused = 0;       ///< of the node; may be negative
};
/// By usage max(0, capacity − margin − max(system used, reserved) − used), by max_usage_request `larger` replaces used; in doubles. By
/// request max(0, capacity − margin − reserved − requested); at most ⌊capacity · batch percent/100⌋. Margin: ⌊capacity · (100 −
/// reclaim percent)/100⌋. Source: CalculateBatchResourceByPolicy, pkg/slo-controller/noderesource/plugins/util, 1.7.0. O(1).
[[nodiscard]] GANGSCHED_API std::int64_t batch_amount(const colocation_strategy::of_resource& by,
                                                      const colocation_load& of) noexcept;
/// max(0, min(reclaimable, ⌊capacity · mid percent/100⌋, unused)) + ⌊max(0, capacity − max(system used, reserved) − requested by prod) ·
/// unallocated percent/100⌋. Source: CalculateMidResourceByPolicy, as above. O(1).
[[nodiscard]] GANGSCHED_API std::int64_t mid_amount(const colocation_strategy::of_resource& by,
                                                    std::int64_t unallocated_percent,
                                                    const colocation_load& of) noexcept;

/// The amounts of `resources_of(batch)` in a NUMA cell: thousandths of CPUs, bytes.
struct cell_share {
  std::uint32_t cell = 0;  ///< its id
  std::int64_t cpu = 0, memory = 0;
  friend bool operator==(const cell_share&, const cell_share&) = default;
};

/// Computes, from the host's measurements (columns, docs/colocation.md), how much of `resources_of(batch)` and `resources_of(mid)` each
/// node has, and sets that in the cluster, like Koordinator's controller of node resources. Schedulers only see the amounts of nodes. A pod
/// that is not measured counts by its request; for batch by max_usage_request, not at all. After a restart all amounts are set again.
class GANGSCHED_API colocation {
 public:
  explicit colocation(const colocation_strategy& strategy = {}) : strategy_(strategy) {}

  /// Makes the columns that it reads: to be called once, before the host sets them. Error: busy. O(nodes + pods).
  static result<void> make_columns(cluster& on);
  /// Updates the amounts of a node, if they changed enough or were not set for long; to be called after each measurement, and from time to
  /// time, so that nothing is lent where measurements have stopped. Error: unknown (node), out_of_range (a negative percentage),
  /// wrong_state (the node's spec names one of the resources: it is then managed elsewhere), and nothing is changed. O(pods there).
  result<void> refresh(cluster& on, node_id node, instant now);
  /// The same for all nodes; nodes before one that fails are updated. O(nodes + pods on them).
  result<void> refresh(cluster& on, instant now);

  /// What each NUMA cell of a node has of batch, by ascending id; empty if the cells are unknown. It is computed like the node's amount,
  /// from the cell's unreserved CPUs and its memory. Cells are not measured: the system's use and the reserved amount are split evenly
  /// among cells, rounded up, and so are requests and use of a pod, except for a pod with CPUs or memory in some cells: it counts there. By
  /// `max_usage_request` a pod that was not measured counts by its request. What is given away elsewhere counts for the whole node. 0 where
  /// measurements have stopped. Source: calculateOnNUMALevel, pkg/slo-controller/noderesource/plugins/batchresource/plugin.go, 1.7.0.
  /// O(pods there · what they have + cells).
  [[nodiscard]] std::vector<cell_share> in_cells(const cluster& on, node_id node, instant now) const;

  /// The batch and mid pods to evict from a node so that the others have as much of each resource as they request: lowest priority first,
  /// then those that use most (of memory if that is short, else of CPU), then the latest arrivals. The host deletes them; Koordinator's
  /// agent decides by usage instead, and throttles CPU before. Empty if all fit. O(pods there · log).
  [[nodiscard]] static std::vector<pod_id> in_excess(const cluster& on, node_id node);

 private:
  struct told {
    node_id node;
    instant at{};
  };
  [[nodiscard]] bool measured(const cluster& on, node_id node, instant now) const;
  colocation_strategy strategy_;
  std::vector<told> told_;  ///< by row of the node
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/colocation.cpp"
#endif
