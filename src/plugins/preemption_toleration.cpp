#include "gangsched/plugins/preemption_toleration.hpp"

#include <numeric>

#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Victims are pods of lower priority that are not exempt.
class not_exempted final : public victim_rule {
 public:
  not_exempted(const trial& attempt, const pod_info& preemptor)
      : cluster_(attempt.cluster()), now_(attempt.now()), preemptor_(preemptor), lower_(preemptor.priority()) {}

  [[nodiscard]] bool anybody(const cluster_view& cluster) const override { return lower_.anybody(cluster); }
  [[nodiscard]] bool may_go(const pod_info& pod) const override {
    return lower_.may_go(pod) &&
           preemption_toleration::exempted(pod, preemptor_, cluster_, now_) == preemption_toleration::exemption::none;
  }
  void arrange(const cluster_view& cluster, std::vector<victim_unit>& units) const override {
    victim_rule::arrange(cluster, units);
    drop_partial_units(cluster, *this, units);
  }

 private:
  cluster_view cluster_;
  instant now_;
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

GANGSCHED_INLINE preemption_toleration::exemption preemption_toleration::exempted(const pod_info& victim,
                                                                                  const pod_info& preemptor,
                                                                                  const cluster_view& cluster,
                                                                                  instant now) {
  const symbol named = victim.priority_class();
  if (!named) return exemption::none;
  const priority_class_spec* const its = cluster.priority_class(named);
  if (its == nullptr) return exemption::unknown_class;
  if (preemptor.spec().preemption == preemption_policy::never) return exemption::exempt;
  const std::int64_t least = its->minimum_preemptable.value_or(0);
  if (preemptor.priority() >= (its->minimum_preemptable ? least : std::int64_t{its->value} + 1)) return exemption::none;
  const auto start = victim.start_time();
  if (its->toleration_seconds < 0 || !start) return exemption::exempt;
  constexpr std::int64_t longest = std::chrono::duration_cast<std::chrono::seconds>(instant::max()).count();
  const std::chrono::seconds tolerated{std::min(its->toleration_seconds, longest)};
  return now < later_by(*start, tolerated) ? exemption::exempt : exemption::none;
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
