#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/framework/hooks.hpp"
#include "gangsched/queues/put_back.hpp"

/// Possible victims, and the search for those that need not be evicted: shared by all searches for victims.
namespace gangsched::inline GANGSCHED_ABI {

/// Pods that are evicted together: a pod; the pods of the highest group above one with disruption `all`; the minimum of a gang with
/// disruption `surplus`.
struct victim_unit {
  std::vector<pod_id> pods = {};  ///< in order of arrival
  victim_rank rank = {};
  group_id group = {};      ///< of a unit that is a group, or the rest of one without its surplus
  group_id goes_with = {};  ///< of surplus: it cannot stay without the rest of this group
  bool violating = false;   ///< its eviction violates a disruption budget
  bool gone = false;
};

/// Which pods may be evicted for a preemptor.
class victim_rule {
 public:
  virtual ~victim_rule() = default;
  /// False: no pod on any node may be evicted. A cheap check before pods are examined.
  [[nodiscard]] virtual bool anybody(const cluster_view& /*cluster*/) const { return true; }
  /// Whether the pod may be evicted, as far as the pod alone decides.
  [[nodiscard]] virtual bool may_go(const pod_info& pod) const = 0;
  /// Whether a pod that may be evicted is collected. False only for pods that arrange would drop and need not see.
  [[nodiscard]] virtual bool looks_at(const pod_info& /*pod*/) const { return true; }
  /// Leaves those of @p units, given in any order, that may be evicted, most important first. The rest of a gang may not be evicted while
  /// its surplus stays.
  virtual void arrange(const cluster_view& /*cluster*/, std::vector<victim_unit>& units) const;
};

/// All pods of lower priority: a unit's is that of its tree of groups (KEP-5710).
class lower_priority final : public victim_rule {
 public:
  explicit lower_priority(std::int32_t than) noexcept : than_(than) {}
  [[nodiscard]] bool anybody(const cluster_view& cluster) const override { return anybody_below(cluster, than_); }
  [[nodiscard]] bool may_go(const pod_info& pod) const override { return victim_priority(pod) < than_; }

 private:
  std::int32_t than_;
};

/// The units of a trial, which takes them off their nodes and puts them back.
class GANGSCHED_API victim_units {
 public:
  /// @param alpha: as for groups until 1.36, without surplus, and charging budgets up to the first exceeded one.
  victim_units(trial& attempt, bool alpha) : attempt_(&attempt), alpha_(alpha) {}

  /// O(pods · log pods), and budgets for each.
  void collect(const victim_rule& rule);
  [[nodiscard]] std::vector<victim_unit>& all() noexcept { return all_; }  ///< most important first
  [[nodiscard]] const std::vector<victim_unit>& all() const noexcept { return all_; }

  void take(victim_unit& one) {
    for (const pod_id pod : one.pods) attempt_->remove(pod);
    one.gone = true;
  }
  void give_back(victim_unit& one) {
    for (const pod_id pod : one.pods) attempt_->restore(pod);
    one.gone = false;
  }
  void take_all() {
    for (victim_unit& one : all_)
      if (!one.gone) take(one);
  }
  /// Puts back the units that need not be evicted, by @p fits, called while the unit is there, except those that @p hopeless, called
  /// before, says it of. Returns whether there was one.
  template <class Fits, class Hopeless>
  bool reprieve(const Fits& fits, const Hopeless& hopeless) {
    bool any = false;
    queues::in_order_of_put_back(
        all_.size(), [&](std::size_t i) { return all_[i].violating; },
        [&](std::size_t i) {
          victim_unit& one = all_[i];
          if (!one.gone || rest_is_gone(one) || hopeless(one)) return;
          give_back(one);
          if (fits(one))
            any = true;
          else
            take(one);
        });
    return any;
  }
  template <class Fits>
  bool reprieve(const Fits& fits) {
    return reprieve(fits, [](const victim_unit&) { return false; });
  }

 private:
  void split(const group_view& of);
  void rate(victim_unit& one) const;
  void mark_violating();
  [[nodiscard]] bool rest_is_gone(const victim_unit& surplus) const;

  trial* attempt_;
  bool alpha_;
  std::vector<victim_unit> all_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/victim_units.cpp"
#endif
