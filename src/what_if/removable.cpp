#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "gangsched/framework/disruption.hpp"
#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/what_if/autoscaling.hpp"
#include "gangsched/what_if/trial_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::what_if {
namespace detail {

/// Whether the pod is one of those whose eviction takes all members of its gang along: of a gang with disruption `surplus` the most
/// important ones, as many as its minimum.
[[nodiscard]] inline bool is_of_minimum(const pod_info& pod) {
  const std::optional<group_view> group = pod.group();
  if (!group || group->spec().disruption != disruption_mode::surplus) return false;
  if (pod.semantics().release() < kube_release::v1_37) return false;  // not known there
  const std::vector<pod_info> running = running_members(*group);
  for (std::size_t i = 0; i < std::min<std::size_t>(running.size(), group->min_count()); ++i) {
    if (running[i].id() == pod.id()) return true;
  }
  return false;
}

/// Whether the Eviction API charges the budget for the pod (getPodDisruptionBudgets): unlike in preemption, an empty selector has all pods
/// of the namespace, also those without labels.
[[nodiscard]] inline bool covers_eviction(const budget_view& one, const pod_info& pod) {
  const pod_disruption_budget_spec& spec = one.spec();
  return spec.ns == pod.ns() && spec.selector && matches(*spec.selector, pod.labels());
}

/// Which pods move if the node is drained: its own but those of @p with_node, and those that are disrupted with them. Nothing if one of
/// them must stay, or somebody who waits is nominated to the node.
[[nodiscard]] inline std::optional<std::vector<pod_id>> moving_from(const model::cluster_state& state, node_id node,
                                                                    const std::set<pod_id>& stay,
                                                                    const std::set<pod_id>& with_node) {
  if (state.nodes.first_nominated[node.row] != no_row) return std::nullopt;
  const cluster_view cluster{state};
  std::set<pod_id> found;
  for (row_t pod = state.nodes.first_pod[node.row]; pod != no_row; pod = state.pods.next_on_node[pod]) {
    const pod_id id{pod, state.pods.rows.generation(pod)};
    if (stay.contains(id)) return std::nullopt;
    if (state.pods.terminating[pod] || state.classes[state.pods.cls[pod]].of_daemon_set || with_node.contains(id))
      continue;
    found.insert(id);
    const auto goes_too = [&](const pod_info& other) {
      if (other.node() && !other.terminating()) found.insert(other.id());
    };
    const std::optional<pod_info> its = cluster.pod(id);
    if (!its) continue;
    if (const std::optional<group_view> with = disrupted_with(*its))
      with->each_pod_below(goes_too);
    else if (is_of_minimum(*its))
      its->group()->each_member(goes_too);
  }
  if (std::any_of(found.begin(), found.end(), [&](pod_id one) { return stay.contains(one); })) return std::nullopt;
  return std::vector<pod_id>(found.begin(), found.end());
}

/// They wait for a node again, as after a revoke.
inline void release_all(cluster& in, const std::vector<pod_id>& pods) {
  model::cluster_state& state = gangsched::detail::inside(in);
  call_mark whole{state};
  for (const pod_id pod : pods) state.assigned.release(pod.row);
  whole.keep();
}

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI::what_if

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<std::vector<removable_node>> removable(const scheduler& by, std::span<const node_id> among,
                                                               const removal_options& options) {
  result<forked> first = by.fork();
  if (!first) return std::move(first).error();
  for (std::size_t i = 0; i < among.size(); ++i) {
    if (!first->cluster.contains(among[i]))
      return error{errc::unknown, "among[" + std::to_string(i) + "]", "id", "names no node of this cluster"};
  }
  if (auto told = first->scheduler.catch_up(options.now); !told) return std::move(told).error();
  what_if::settle(*first, options.now);
  // Who waits has had its turn, with the room that it would make. Those that are to move make none.
  result<forked> base = detail::fork_without_evictions(first->scheduler);
  if (!base) return std::move(base).error();
  const std::set<pod_id> stay(options.stay.begin(), options.stay.end());
  const std::set<pod_id> with_node(options.with_node.begin(), options.with_node.end());
  result<cluster> before = base->cluster.fork();  // whose pods the budgets are asked about, wherever these are by then
  if (!before) return std::move(before).error();
  const cluster_view as_it_was{detail::inside(*before)};
  open_budgets budgets{as_it_was};
  budgets.open();
  std::vector<removable_node> made;
  for (const node_id node : among) {
    if (!base->cluster.contains(node)) continue;  // named twice
    const auto moving = what_if::detail::moving_from(detail::inside(base->cluster), node, stay, with_node);
    if (!moving) continue;
    open_budgets charged = budgets;
    const bool violates = std::any_of(moving->begin(), moving->end(), [&](pod_id pod) {
      const std::optional<pod_info> its = as_it_was.pod(pod);
      return its &&
             charged.charge(*its, [&](const budget_view& one) { return what_if::detail::covers_eviction(one, *its); });
    });
    if (violates) continue;
    result<forked> trial = base->scheduler.fork();
    if (!trial) return std::move(trial).error();
    what_if::detail::release_all(trial->cluster, *moving);
    if (auto gone = trial->cluster.remove_node(node); !gone) return std::move(gone).error();
    what_if::settle(*trial, options.now);
    removable_node drained{node, {}};
    for (const pod_id pod : *moving) {
      if (what_if::runs(trial->cluster, pod)) drained.moves.push_back({pod, trial->cluster.node_of(pod)});
    }
    if (drained.moves.size() != moving->size()) continue;
    if (!what_if::all_stay(base->cluster, trial->cluster, *moving)) continue;
    made.push_back(std::move(drained));
    budgets = std::move(charged);
    base->scheduler = std::move(trial->scheduler);
    base->cluster = std::move(trial->cluster);
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
