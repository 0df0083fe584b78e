#include <algorithm>
#include <limits>
#include <map>
#include <ranges>
#include <tuple>

#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/label_selector.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace detail {

/// Pods of a budget.
struct budgeted_pods {
  std::int64_t expected = 0, healthy = 0;

  void look(const disruption_budget_manifest& budget, const pod_manifest& pod) {
    if (pod.spec.ns != budget.ns || !matches(*budget.selector, pod.spec.labels)) return;
    ++expected;
    if (!pod.node.empty() && !pod.spec.terminating) ++healthy;
  }
};

std::int32_t allowed_of(const disruption_budget_manifest& budget, const budgeted_pods& pods) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(pods.healthy - healthy_pods_wanted(budget, pods.expected),
                                                            0, std::numeric_limits<std::int32_t>::max()));
}

bool is_counted(const disruption_budget_manifest& budget) { return !budget.disruptions_allowed && budget.selector; }

/// @p its_pods: a range of them.
std::vector<std::int32_t> disruptions_among(const manifests& all, const auto& its_pods) {
  // Each budget looks at the pods that have the first of the labels that it names, or that are in its namespace.
  using part = std::tuple<std::string_view, std::string_view, std::string_view>;  // namespace, label, value
  std::map<part, std::vector<const pod_manifest*>> pods;
  const auto part_of = [](const disruption_budget_manifest& budget) -> part {
    const label_map& labels = budget.selector->match_labels;
    if (labels.empty()) return {budget.ns, {}, {}};
    return {budget.ns, labels.begin()->first, labels.begin()->second};
  };
  for (const disruption_budget_manifest& one : all.budgets)
    if (is_counted(one)) pods.try_emplace(part_of(one));
  if (!pods.empty()) {
    const auto add = [&](const part& to, const pod_manifest& pod) {
      if (const auto found = pods.find(to); found != pods.end()) found->second.push_back(&pod);
    };
    for (const pod_manifest& pod : its_pods) {
      add({pod.spec.ns, {}, {}}, pod);
      for (const auto& [key, value] : pod.spec.labels) add({pod.spec.ns, key, value}, pod);
    }
  }
  std::vector<std::int32_t> made;
  for (const disruption_budget_manifest& one : all.budgets) {
    budgeted_pods found;
    if (is_counted(one))
      for (const pod_manifest* const pod : pods.at(part_of(one))) found.look(one, *pod);
    made.push_back(is_counted(one) ? allowed_of(one, found) : one.disruptions_allowed.value_or(0));
  }
  return made;
}

}  // namespace detail

std::int64_t healthy_pods_wanted(const disruption_budget_manifest& budget, std::int64_t expected) {
  // Percentages are rounded up, of what may be missing as of what has to be there.
  const auto scaled = [&](const count_or_percent& of) {
    return of.percent ? (of.number * expected + 99) / 100 : of.number;
  };
  if (budget.max_unavailable) return std::max<std::int64_t>(0, expected - scaled(*budget.max_unavailable));
  return budget.min_available ? scaled(*budget.min_available) : std::numeric_limits<std::int32_t>::max();
}

std::int32_t disruptions_allowed(const manifests& all, const disruption_budget_manifest& budget) {
  if (!detail::is_counted(budget)) return budget.disruptions_allowed.value_or(0);
  detail::budgeted_pods found;
  for (const pod_manifest& pod : all.pods) found.look(budget, pod);
  return detail::allowed_of(budget, found);
}

std::vector<std::int32_t> disruptions_allowed(const manifests& all) { return detail::disruptions_among(all, all.pods); }

std::vector<std::int32_t> disruptions_allowed(const manifests& all, std::span<const std::size_t> pods) {
  const auto at = [&](std::size_t place) -> const pod_manifest& { return all.pods[place]; };
  return detail::disruptions_among(all, pods | std::views::transform(at));
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
