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

/// CapacityScheduling of kubernetes-sigs/scheduler-plugins (v0.33.5): one elastic quota a namespace. All mins together are what all
/// quotas may use; one may use more than its min, up to its max, while others use less.
/// Source: pkg/capacityscheduling.
namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling {

/// Resources that Kubernetes has fields for are compared always; a limit that lacks one is 0 in it. An extended resource is compared where
/// somebody asks for it; a max that lacks it has no limit in it.
enum class resource_kind : std::uint8_t { field, extended };

/// The quota of a namespace. Amounts by resource; absent: all mins are 0, no maximum at all.
struct quota_spec {
  std::string name;
  std::optional<std::vector<std::int64_t>> min = {};
  std::optional<std::vector<std::int64_t>> max = {};
};

/// A pod by what counts here. Requests by resource, unnamed where it asks for none.
struct quota_pod {
  queue_index quota = no_queue;  ///< no_queue: its namespace has none
  std::span<const std::int64_t> request;
  std::int32_t priority = 0;
  instant start{};  ///< of a pod that runs
};

/// What room a pod needs, beside what is used: its own request and those of pods that are nominated to nodes and go first.
struct quota_demand {
  std::vector<std::int64_t> own;  ///< with pods of its quota, of its priority or a higher one
  std::vector<std::int64_t> all;  ///< that, and pods of other quotas that use no more than their min
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

/// Among whom a pod may look for victims.
enum class victim_scope : std::uint8_t {
  own_quota,      ///< with its demand its quota is over its min: pods of the same quota with a lower priority
  borrowers,      ///< it is not: pods of other quotas that are over their min, whatever their priority
  without_quota,  ///< it has no quota: pods without one, with a lower priority
};

/// Quotas with what they use, numbered as the host gave them.
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

  /// Another min and max for a quota; the name stays. Errors as of make, and `unknown`.
  result<void> set_quota(queue_index quota, const quota_spec& spec);

  /// A pod uses its quota from now on, or no longer; without a quota nothing happens. Errors: `unknown` (quota), `malformed`,
  /// `out_of_range` (request), `overflow` (the sum of all uses), `wrong_state` (it has not that much). O(resources).
  result<void> use(const quota_pod& pod);
  result<void> release(const quota_pod& pod);

  /// What quotas use, of each all resources, instead of what was counted so far: for hosts that count themselves. Errors: `malformed`
  /// (length), `out_of_range` (an amount), `overflow` (the sum of all uses). O(quotas · resources).
  result<void> set_used(std::span<const std::int64_t> amounts);

  /// Whether the quota uses more than its min. O(resources).
  [[nodiscard]] bool is_over_min(queue_index quota) const;

  /// @p nominated: all pods but this that are nominated to a node. Errors: those of a pod, and `overflow`. O(resources · nominated).
  [[nodiscard]] result<quota_demand> demand(const quota_pod& pod, std::span<const quota_pod> nominated) const;

  /// Whether a pod may run; one without a quota may. O(resources).
  [[nodiscard]] quota_verdict admit(const quota_pod& pod, const quota_demand& demand) const;

  /// Whom a pod may evict that is not admitted. O(resources).
  [[nodiscard]] victim_scope scope(const quota_pod& pod, const quota_demand& demand) const;
  /// Whether @p other is within that scope, as quotas are now. O(resources).
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
