#include <algorithm>
#include <limits>

#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/class_table.hpp"

namespace gangsched::kube {

std::int32_t disruptions_allowed(const manifests& all, const disruption_budget_manifest& budget) {
  if (budget.disruptions_allowed) return *budget.disruptions_allowed;
  if (!budget.selector) return 0;
  std::int64_t expected = 0, healthy = 0;
  for (const pod_manifest& pod : all.pods) {
    if (pod.spec.ns != budget.ns || !matches(*budget.selector, pod.spec.labels)) continue;
    ++expected;
    if (!pod.node.empty() && !pod.spec.terminating) ++healthy;
  }
  // Percentages are rounded up, of what may be missing as of what has to be there.
  const auto scaled = [&](const count_or_percent& of) {
    return of.percent ? (of.number * expected + 99) / 100 : of.number;
  };
  std::int64_t desired = 0;
  if (budget.max_unavailable)
    desired = std::max<std::int64_t>(0, expected - scaled(*budget.max_unavailable));
  else if (budget.min_available)
    desired = scaled(*budget.min_available);
  else
    return 0;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(healthy - desired, 0, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace gangsched::kube
