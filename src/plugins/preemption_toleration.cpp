#include "gangsched/plugins/preemption_toleration.hpp"

#include <numeric>

#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Victims are pods of lower priority that are not exempt.
class not_exempted final : public victim_rule {
 public:
  not_exempted(trial& attempt, const pod_info& preemptor)
      : attempt_(&attempt), cluster_(attempt.cluster()), preemptor_(preemptor), lower_(preemptor.priority()) {}

  [[nodiscard]] bool anybody(const cluster_view& cluster) const override { return lower_.anybody(cluster); }
  [[nodiscard]] bool may_go(const pod_info& pod) const override {
    if (!lower_.may_go(pod)) return false;
    const std::optional<instant> until = preemption_toleration::exempt_until(pod, preemptor_, cluster_);
    if (until && *until <= attempt_->now()) return true;
    if (until) attempt_->spared_until(*until);
    return false;
  }
  void arrange(const cluster_view& cluster, std::vector<victim_unit>& units) const override {
    victim_rule::arrange(cluster, units);
    drop_partial_units(cluster, *this, units);
  }

 private:
  trial* attempt_;
  cluster_view cluster_;
  pod_info preemptor_;
  lower_priority lower_;
};

/// Takes all candidates off the node, then puts back as many as possible.
GANGSCHED_INLINE status choose_tolerated(std::span<const std::uint32_t> here, queues::trial_node& node,
                                         node_victims::choice& out) {
  std::vector<std::uint32_t> all(here.size());
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  for (const std::uint32_t one : all) node.remove(one);
  if (!node.fits()) return status::unschedulable("preemption is not helpful for scheduling");
  queues::victim_list left = queues::put_back(all, node, [] { return false; });
  if (left.pods.empty()) return status::unschedulable("preemption is not helpful for scheduling");
  std::sort(left.pods.begin(), left.pods.end());
  out = {std::move(left.pods), left.violating};
  return status::success();
}

}  // namespace detail

GANGSCHED_INLINE std::optional<instant> preemption_toleration::exempt_until(const pod_info& victim,
                                                                            const pod_info& preemptor,
                                                                            const cluster_view& cluster) {
  const symbol named = victim.priority_class();
  if (!named) return instant::min();
  const priority_class_spec* const its = cluster.priority_class(named);
  if (its == nullptr) return std::nullopt;
  if (preemptor.spec().preemption == preemption_policy::never) return instant::max();
  const std::int64_t least = its->minimum_preemptable.value_or(0);
  if (preemptor.priority() >= (its->minimum_preemptable ? least : std::int64_t{its->value} + 1)) return instant::min();
  const auto start = victim.start_time();
  if (its->toleration_seconds < 0 || !start) return instant::max();
  constexpr std::int64_t longest = std::chrono::duration_cast<std::chrono::seconds>(instant::max()).count();
  return later_by(*start, std::chrono::seconds{std::min(its->toleration_seconds, longest)});
}

GANGSCHED_INLINE victim_plan preemption_toleration::post_filter(trial& attempt, const pod_info& pod) const {
  victim_plan plan;
  plan.verdict = status::unresolvable("No preemption victims found for incoming pod");
  const detail::not_exempted rule{attempt, pod};
  if (pod.spec().preemption == preemption_policy::never) {
    plan.verdict = status::unresolvable("not eligible due to preemptionPolicy=Never.");
    plan.keep_nomination = true;
    return plan;
  }
  // Upstream asks only for the priority here: what leaves makes room, though its class may exempt it from this preemptor.
  const lower_priority leaves{pod.priority()};
  if (waits_for_leaving(attempt, pod, [&](const pod_info& other) { return leaves.may_go(other); })) {
    plan.keep_nomination = true;
    return plan;
  }
  node_victims search{attempt, pod, rule};
  std::optional<node_candidate> best = search.best(detail::choose_tolerated);
  if (!best) return plan;
  return std::move(*best).plan(
      "a more important pod needs its room, and its priority class does not keep it from that");
}

}  // namespace gangsched::inline GANGSCHED_ABI
