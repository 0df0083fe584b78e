#include "gangsched/src/kube/simulation/budgets.hpp"

#include <algorithm>
#include <limits>

#include "gangsched/model/label_selector.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

budget_counts::budget_counts(const manifests& of) {
  for (const disruption_budget_manifest& one : of.budgets) {
    stale_.push_back(counts_.size());
    if (one.selector) {
      const label_map& labels = one.selector->match_labels;
      const auto first = labels.begin();
      by_label_[labels.empty() ? part{one.ns, {}, {}} : part{one.ns, first->first, first->second}].push_back(
          counts_.size());
    }
    counts_.push_back({&one});
  }
}

void budget_counts::find(const part& where, const pod_manifest& pod, std::vector<std::size_t>& to) const {
  const auto found = by_label_.find(where);
  if (found == by_label_.end()) return;
  for (const std::size_t i : found->second)
    if (matches(*counts_[i].of->selector, pod.spec.labels)) to.push_back(i);
}

void budget_counts::add(const pod_manifest& pod) {
  std::vector<std::size_t>& its = of_pod_.emplace_back();
  standings_.emplace_back();
  if (by_label_.empty()) return;
  find({pod.spec.ns, {}, {}}, pod, its);
  for (const auto& [key, value] : pod.spec.labels) find({pod.spec.ns, key, value}, pod, its);
}

void budget_counts::set(std::size_t pod, standing now) {
  const standing before = std::exchange(standings_[pod], now);
  if (now == before) return;
  for (const std::size_t i : of_pod_[pod]) {
    counts& one = counts_[i];
    one.expected += (now.expected ? 1 : 0) - (before.expected ? 1 : 0);
    one.healthy += (now.healthy ? 1 : 0) - (before.healthy ? 1 : 0);
    if (!std::exchange(one.is_stale, true)) stale_.push_back(i);
  }
}

/// A number that the files say is true at the start; from then on it changes as what is counted does.
std::int32_t budget_counts::counts::allowed() const {
  if (!of->selector) return of->disruptions_allowed.value_or(0);
  const std::int64_t left = of->disruptions_allowed ? *of->disruptions_allowed + spare() - at_start : spare();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
