#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/koordinator/runtime_quota.hpp"
#include "gangsched/queues/queue_tree.hpp"
#include "gangsched/queues/resource_amounts.hpp"

/// Koordinator's ElasticQuota: a tree of quotas with a guaranteed minimum, a maximum, and a runtime quota between them that follows all
/// requests. Numbers are those of release 1.7.0 after a recount (`ResetQuota`): here incremental counting gives the same.
namespace gangsched::inline GANGSCHED_ABI::queues::koordinator {

/// A quota as the host names it. Amounts by resource; an empty vector names none.
struct quota_spec {
  std::vector<std::int64_t> min = {};     ///< unnamed: 0, and no limit for non-preemptible pods
  std::vector<std::int64_t> max = {};     ///< unnamed: the resource does not count for pods of this quota
  std::vector<std::int64_t> weight = {};  ///< sharedWeight; unnamed: 0; nothing above 0: as max
  bool lends = true;                      ///< allowLentResource
  bool scales_min = true;  ///< false: its min stays whole when others' are scaled; 1.7.0 has no such quota
};

struct quota_options {
  bool runtime = true;         ///< EnableRuntimeQuota; false: admission goes by max instead
  bool check_parents = false;  ///< EnableCheckParentQuota: admission also checks the quotas above
  bool scale_min = true;       ///< EnableMinQuotaScale: mins shrink together where the parent cannot cover them
  bool guarantee_usage =
      false;  ///< feature gate ElasticQuotaGuaranteeUsage: no quota lends, and what is used is not shared
  share_rounding rounding = share_rounding::nearest;
};

/// A pod, as far as quotas need it, by resource; unnamed for resources that it does not request.
struct quota_pod {
  std::span<const std::int64_t> request;
  bool preemptible = true;
};

/// One resource of one quota.
struct quota_account {
  std::int64_t min = unnamed;
  std::int64_t max = unnamed;
  std::int64_t weight = 0;
  std::int64_t own_request = 0;  ///< of its own pods, whether max names the resource or not, as are the next two
  std::int64_t own_used = 0;
  std::int64_t own_non_preemptible_used = 0;
  std::int64_t wanted = 0;   ///< by its pods, and by its children up to their max
  std::int64_t request = 0;  ///< that, and at least min if it does not lend
  std::int64_t limited = 0;  ///< that, and at most max
  std::int64_t used = 0;
  std::int64_t non_preemptible_used = 0;
  std::int64_t allocated =
      0;  ///< used by its pods, and guaranteed to its children; under guarantee_usage alone, as is the next
  std::int64_t guaranteed = 0;  ///< that, and at least min
  std::int64_t scaled_min = 0;  ///< as of the last refresh, as is the next
  std::int64_t runtime = 0;     ///< what it may use now; for a parent, what its children share
};

/// The result of admission. True: the pod may use its quota.
struct quota_verdict {
  enum class reason : std::uint8_t {
    fits,
    over_quota,       ///< over the runtime quota, or over max without runtime quotas
    non_preemptible,  ///< non-preemptible pods would use more than min
    over_ancestor,    ///< a quota above it would be over its own
  };
  reason why = reason::fits;
  queue_index quota = no_queue;  ///< the one at fault
  std::uint64_t resources = 0;   ///< a bit for each resource at fault
  explicit operator bool() const noexcept { return why == reason::fits; }
};

/// All quotas of a tree, with what is requested and used. A change of a pod or quota costs O(depth) a resource. What depends on the
/// requests of all siblings is computed on demand, only for levels on the way to the quota in question, and only if something changed
/// there. Two quotas are outside the tree: the default quota, for pods that name none, and the system quota. What these two use is not
/// shared among the others.
class GANGSCHED_API elastic_quotas {
 public:
  /// @p quotas in the order of the tree, @p total what the cluster has of each resource (most_resources at most). Errors name quota and
  /// field: those of set_quota, and `malformed` (another number of quotas than the tree has), `out_of_range` (a total, or the number of
  /// resources).
  static result<elastic_quotas> make(queue_tree tree, std::span<const quota_spec> quotas,
                                     std::span<const std::int64_t> total, quota_options options = {});

  /// The same pods in another tree, with quotas found by name. Errors: those of make, and `wrong_state` (a quota that is gone has
  /// pods). O(all).
  [[nodiscard]] result<elastic_quotas> with_tree(queue_tree tree, std::span<const quota_spec> quotas) const;

  [[nodiscard]] const queue_tree& tree() const noexcept { return tree_; }
  [[nodiscard]] std::size_t resources() const noexcept { return total_.size(); }
  [[nodiscard]] queue_index default_quota() const noexcept { return static_cast<queue_index>(tree_.size()); }
  [[nodiscard]] queue_index system_quota() const noexcept { return default_quota() + 1; }
  [[nodiscard]] const quota_options& options() const noexcept { return options_; }

  /// The quota as it was set, with its effective weight.
  [[nodiscard]] quota_spec spec(queue_index quota) const;
  /// Errors: `unknown` (quota), `malformed`, `out_of_range` (amounts), `overflow` (the sum of all mins, requests and uses). O(resources
  /// · depth).
  result<void> set_quota(queue_index quota, const quota_spec& spec);
  /// Errors: `malformed`, `out_of_range`.
  result<void> set_total(std::span<const std::int64_t> total);

  /// The pod's request counts until it is removed; it counts as used while the pod is assigned. Only resources that the quota's max names
  /// count. Errors: `unknown` (quota), `malformed`, `out_of_range` (request), `overflow` (as set_quota). O(resources · depth).
  result<void> add_pod(queue_index quota, const quota_pod& pod);
  result<void> assign_pod(queue_index quota, const quota_pod& pod);
  /// Errors also: `wrong_state` (the quota does not use that much).
  result<void> unassign_pod(queue_index quota, const quota_pod& pod);
  result<void> remove_pod(queue_index quota, const quota_pod& pod);

  /// One account a resource; scaled min and runtime as of the last refresh that included this quota. Valid as long as the quotas.
  [[nodiscard]] std::span<const quota_account> accounts(queue_index quota) const {
    return std::span{accounts_}.subspan(quota * resources(), resources());
  }
  /// What is shared at the top: the total without what the default and the system quota use. It can be negative.
  [[nodiscard]] std::int64_t shared(std::size_t resource) const;

  /// Brings runtime and scaled min of @p quota up to date. O(resources · siblings) for each level with a change, from the top down;
  /// does not allocate with share_rounding::nearest.
  void refresh(queue_index quota);
  /// All quotas.
  void refresh();
  /// Whether it uses more than its runtime quota. Refreshes it.
  [[nodiscard]] bool is_over_runtime(queue_index quota);

  /// Whether a pod that requests already, and is not assigned, may use its quota. With the pod, used must be within the limit in each
  /// resource, also in those that the pod does not request. If the pod is not preemptible, non-preemptible use must be within min. With
  /// check_parents, used of each quota above must be within its limit, in what the pod requests. The default and the system quota have a
  /// limit only without runtime quotas. Errors as of add_pod. Refreshes the quota.
  result<quota_verdict> admit(queue_index quota, const quota_pod& pod);

 private:
  struct sum_of_mins {
    std::int64_t scalable = 0, fixed = 0;
  };
  struct quota_flags {
    bool lends = true, scales_min = true;
  };
  enum class part : std::uint8_t { request, used };

  [[nodiscard]] quota_account& at(queue_index quota, std::size_t resource) {
    return accounts_[quota * resources() + resource];
  }
  [[nodiscard]] std::string called(queue_index quota) const;
  [[nodiscard]] result<void> check(queue_index quota, std::span<const std::int64_t> request) const;
  /// The level that a quota shares with its siblings: its parent, or as many as there are quotas.
  [[nodiscard]] queue_index level_of(queue_index quota) const;
  void add_min(queue_index quota, std::size_t resource, std::int64_t sign);
  void raise_request(queue_index quota, std::size_t resource, std::int64_t wanted);
  void raise_used(queue_index quota, std::size_t resource, std::int64_t used, std::int64_t non_preemptible);
  void raise_allocated(queue_index quota, std::size_t resource, std::int64_t allocated);
  void add_own(queue_index quota, std::size_t resource, std::int64_t request, std::int64_t used,
               std::int64_t non_preemptible);
  result<void> change(queue_index quota, const quota_pod& pod, part of, std::int64_t sign);
  void share(queue_index level);
  [[nodiscard]] std::uint64_t over_limit(queue_index quota, const quota_pod& pod, queue_index counts_as,
                                         bool asked_for) const;

  queue_tree tree_;
  quota_options options_;
  std::vector<std::int64_t> total_;
  std::vector<std::int64_t> demanded_;   ///< of each resource: all mins, requests and uses, which bounds every sum here
  std::vector<quota_account> accounts_;  ///< of each quota, then the default and the system quota
  std::vector<quota_flags> flags_;       ///< likewise
  std::vector<sum_of_mins> mins_;        ///< of each level, by resource
  std::vector<char> stale_;              ///< levels that have to be shared anew
  std::vector<quota_claim> claims_;      ///< of one level, while it is shared
  std::vector<queue_index> path_;        ///< to a quota, while it is refreshed
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::koordinator

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/koordinator/elastic_quota.cpp"
#endif
