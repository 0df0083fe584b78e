#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/queue_tree.hpp"
#include "gangsched/queues/resource_amounts.hpp"

/// CapacityScheduling of kubernetes-sigs/scheduler-plugins (v0.33.5): one elastic quota per namespace. All quotas together may use the sum
/// of the mins; one may use more than its min, up to its max, while others use less.
/// Source: pkg/capacityscheduling.
namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling {

/// Resources with a field in Kubernetes' Resource are always compared; a limit that lacks one is 0 in it. An extended resource is compared
/// where it is requested; a max that lacks it has no limit in it.
enum class resource_kind : std::uint8_t { field, extended };

/// The quota of a namespace. Amounts by resource; absent: all mins are 0, no maximum at all.
struct quota_spec {
  std::string name;
  std::optional<std::vector<std::int64_t>> min = {};
  std::optional<std::vector<std::int64_t>> max = {};
};

/// A pod, as far as quotas need it. Requests by resource, unnamed for resources that it does not request.
struct quota_pod {
  queue_index quota = no_queue;  ///< no_queue: its namespace has none
  std::span<const std::int64_t> request;
  std::int32_t priority = 0;
  instant start{};  ///< of a pod that runs
};

/// The room that a pod needs, beside what is used: its own request and those of nominated pods that go first.
struct quota_demand {
  std::vector<std::int64_t> own;  ///< with nominated pods of its quota, of its priority or a higher one
  std::vector<std::int64_t> all;  ///< that, and nominated pods of other quotas that use no more than their min
};

enum class quota_check : std::uint8_t {
  fits,
  over_max,  ///< its quota would use more than its max
  over_min,  ///< all quotas would use more than all mins
};

/// True: the pod may use its quota.
struct quota_verdict {
  quota_check why = quota_check::fits;
  std::uint64_t resources = 0;  ///< a bit for each resource at fault
  explicit operator bool() const noexcept { return why == quota_check::fits; }
};

/// The pods among which a pod may look for victims.
enum class victim_scope : std::uint8_t {
  own_quota,      ///< with its demand its quota is over its min: pods of the same quota with a lower priority
  borrowers,      ///< it is not over it: pods of other quotas that are over their min, whatever their priority
  without_quota,  ///< it has no quota: pods without one, with a lower priority
};

/// Quotas with their use, numbered in the host's order.
class GANGSCHED_API elastic_quotas {
 public:
  /// Errors name quota and field: `malformed` (no name, or amounts), `duplicate` (a name), `out_of_range` (amounts, more resources than
  /// most_resources), `overflow` (the sum of the mins).
  static result<elastic_quotas> make(std::span<const resource_kind> resources, std::span<const quota_spec> quotas);

  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }
  [[nodiscard]] std::size_t resources() const noexcept { return kinds_.size(); }
  [[nodiscard]] const std::string& name(queue_index quota) const { return names_[quota]; }
  /// O(quotas).
  [[nodiscard]] std::optional<queue_index> find(std::string_view name) const;
  [[nodiscard]] std::span<const std::int64_t> used(queue_index quota) const { return row(used_, quota); }

  /// Changes min and max of a quota; the name stays. Errors as of make, and `unknown`.
  result<void> set_quota(queue_index quota, const quota_spec& spec);

  /// The pod begins, or ceases, to use its quota; no effect without a quota. Errors: `unknown` (quota), `malformed`, `out_of_range`
  /// (request), `overflow` (the sum of all uses), `wrong_state` (it does not use that much). O(resources).
  result<void> use(const quota_pod& pod);
  result<void> release(const quota_pod& pod);

  /// Replaces the use of all quotas, of each all resources: for hosts that count themselves. Errors: `malformed` (length), `out_of_range`
  /// (an amount), `overflow` (the sum of all uses). O(quotas · resources).
  result<void> set_used(std::span<const std::int64_t> amounts);

  /// Whether the quota uses more than its min. O(resources).
  [[nodiscard]] bool is_over_min(queue_index quota) const;

  /// @p nominated: all other pods that are nominated to a node. Errors: those of a pod, and `overflow`. O(resources · nominated).
  [[nodiscard]] result<quota_demand> demand(const quota_pod& pod, std::span<const quota_pod> nominated) const;

  /// Whether a pod may run; one without a quota may. O(resources).
  [[nodiscard]] quota_verdict admit(const quota_pod& pod, const quota_demand& demand) const;

  /// Which pods a pod that is not admitted may evict. O(resources).
  [[nodiscard]] victim_scope scope(const quota_pod& pod, const quota_demand& demand) const;
  /// Whether @p other is within that scope in the present state of the quotas. O(resources).
  [[nodiscard]] bool may_evict(victim_scope scope, const quota_pod& pod, const quota_pod& other) const;

 private:
  friend class victim_search;
  [[nodiscard]] std::span<const std::int64_t> row(const std::vector<std::int64_t>& of, queue_index quota) const {
    return std::span{of}.subspan(quota * resources(), resources());
  }
  [[nodiscard]] std::string called(queue_index quota) const;
  [[nodiscard]] result<void> check(const quota_pod& pod) const;
  void add_used(const quota_pod& pod, std::int64_t sign);

  std::vector<resource_kind> kinds_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> min_, max_, used_;    ///< of each quota, by resource
  std::vector<std::int64_t> all_min_, all_used_;  ///< of all together
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/capacity_scheduling/elastic_quota.cpp"
#endif
