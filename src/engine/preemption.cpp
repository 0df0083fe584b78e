#include "gangsched/engine/preemption.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/engine/nominated_pass.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/restored_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void preemption_result::add_to(decision_list& decisions) const {
  for (const auto& [pod, node] : words) {
    if (node)
      decisions.nominate(pod, *node);
    else
      decisions.add(decision_kind::reject, pod).code = code::unschedulable;
  }
}

GANGSCHED_INLINE void preemption_result::add_moves_to(decision_list& decisions) const {
  for (const assignment& one : moves) {
    if (decisions.evicts(one.pod)) decisions.nominate(one.pod.row, one.node);
  }
}

GANGSCHED_INLINE void preemption::forget_cached() {
  trials_.forget_cached();
  own_ = {};
  unhelped_gang_ = {no_row, no_class, 0};
}

/// What is wrong with what a hook of the group (none: of a pod) says, or null.
GANGSCHED_INLINE const char* preemption::wrong_plan(const victim_plan& plan, row_t group) const {
  const auto no_pod = [&](pod_id pod) { return !gangsched::detail::names_pod(*state_, pod); };
  const auto unknown = [&](const assignment& one) {
    return no_pod(one.pod) || !gangsched::detail::names_node(*state_, one.node);
  };
  const auto wrong = [&](const assignment& one) {
    if (unknown(one)) return true;
    const row_t its = state_->pods.group[one.pod.row];
    return group != no_row && (its == no_row || state_->groups.root(its) != state_->groups.root(group));
  };
  if (std::any_of(plan.victims.begin(), plan.victims.end(), no_pod)) return "named a victim that is not in the cluster";
  if (std::any_of(plan.nominations.begin(), plan.nominations.end(), wrong))
    return "nominated a pod that is no member, or to a node that is not in the cluster";
  if (std::any_of(plan.moves.begin(), plan.moves.end(), unknown))
    return "moved a pod, or to a node, that is not in the cluster";
  return nullptr;
}

/// Hooks in order (RunPostFilterPlugins): success, unresolvable and errors stop, unschedulable goes on. @p keep: all of them want the
/// nomination to be kept. The plan has the messages of all hooks that did not help.
template <class Ask>
victim_plan preemption::ask_hooks(const kernel_table& table, point at, row_t group, bool& keep, Ask&& ask) {
  victim_plan plan;
  std::string words;
  for (const std::uint16_t index : table.at(at)) {
    ++asked_;
    {
      const std::unique_ptr<trial> attempt = trials_.start(index, at == point::group_preempt, spared_until_);
      plan = ask(table.plugins[index], *attempt);
    }
    if (const char* const wrong = plan.verdict.ok() ? wrong_plan(plan, group) : nullptr; wrong != nullptr)
      plan = {.verdict = picks_->broken(table.plugins[index], wrong)};
    else
      picks_->errors.note(table.plugins[index].name, plan.verdict);
    keep = keep && plan.keep_nomination;
    if (!plan.words.empty()) (words += words.empty() ? "" : ", ") += plan.words;
    if (plan.verdict.code != code::unschedulable) break;
  }
  plan.words = std::move(words);
  return plan;
}

GANGSCHED_INLINE victim_plan preemption::ask_post_filters(row_t pod, bool& keep) {
  return ask_hooks(entities_->profile_of(pod), point::post_filter, no_row, keep,
                   [&](const plugin_entry& plugin, trial& attempt) {
                     return plugin.post_filter(plugin.self.get(), attempt, pod_info{*state_, pod});
                   });
}

GANGSCHED_INLINE victim_plan preemption::ask_group_hooks(row_t group, bool& keep) {
  return ask_hooks(entities_->profile_of_group(group), point::group_preempt, group, keep,
                   [&](const plugin_entry& plugin, trial& attempt) {
                     return plugin.group_preempt(plugin.self.get(), attempt, group_view{*state_, group});
                   });
}

GANGSCHED_INLINE preemption_result preemption::room_for_pod(row_t pod, std::uint64_t rejectors,
                                                            std::span<const row_t> held) {
  preemption_result out;
  if (entities_->profile_of(pod).at(point::post_filter).empty()) return out;
  if (!entities_->members_enter_singly() && entities_->incomplete(state_->pods.group[pod]))
    return for_minimum(pod, held);
  bool keep = true;
  victim_plan plan = ask_post_filters(pod, keep);
  if (plan.verdict.code == code::error) {
    out.broken = plan.verdict;
    return out;
  }
  out.helped = plan.verdict.ok() && gangsched::detail::names_node(*state_, plan.nominated);
  if (!out.helped) {
    out.unhelpful = std::move(plan.words);
    if (!keep) clear_nomination(pod);
    return out;
  }
  nominate(pod, plan.nominated, out);
  out.waits.push_back({pod, rejectors});
  take_victims(plan, out);
  return out;
}

GANGSCHED_INLINE preemption_result preemption::room_for_group(row_t group) {
  if (preempts(group)) return for_members(group);
  preemption_result out;
  if (entities_->profile_of_group(group).at(point::group_preempt).empty()) return out;
  bool keep = true;
  victim_plan plan = ask_group_hooks(group, keep);
  if (plan.verdict.code == code::error) out.broken = plan.verdict;
  if (plan.verdict.ok() && entities_->members_enter_singly()) plan.nominations = fitting_members(group);
  out.helped = plan.verdict.ok() && (!plan.victims.empty() || !plan.nominations.empty());
  if (!out.helped) {
    if (!keep) nominate_members(group, {}, out);
    return out;
  }
  nominate_members(group, plan.nominations, out);
  take_victims(plan, out);
  return out;
}

/// Victims that run are the caller's to evict. Those that are only nominated lose that, or get another node.
GANGSCHED_INLINE void preemption::take_victims(victim_plan& plan, preemption_result& out) {
  out.moves = std::move(plan.moves);
  for (const pod_id victim : plan.victims) {
    out.victims.push_back({victim, plan.reason});
    const row_t pod = victim.row;
    if (!state_->pods.alive(pod) || state_->pods.rows.generation(pod) != victim.generation) continue;
    if (state_->pods.state[pod] != pod_state::pending) continue;
    const auto its =
        std::find_if(out.moves.begin(), out.moves.end(), [&](const assignment& one) { return one.pod == victim; });
    const bool moves = its != out.moves.end() && gangsched::detail::names_node(*state_, its->node);
    state_->assigned.nominate(pod, moves ? its->node.row : no_row);
    if (moves) out.words.push_back({pod, its->node});
  }
}

GANGSCHED_INLINE void preemption::nominate(row_t pod, const node_id& node, preemption_result& out) {
  state_->assigned.reserve_node(pod, node.row, model::pod_times::never);
  clear_nominations(pod, node.row);
  out.words.push_back({pod, node});
}

/// Members without a place are rejected, if others have one.
GANGSCHED_INLINE void preemption::nominate_members(row_t group, std::span<const assignment> places,
                                                   preemption_result& out) {
  std::vector<std::pair<row_t, std::size_t>> by_pod;
  for (std::size_t i = 0; i < places.size(); ++i) by_pod.emplace_back(places[i].pod.row, i);
  std::sort(by_pod.begin(), by_pod.end());
  std::vector<row_t> members = parts_->of(group).all_members();
  std::vector<row_t> let_through = members;
  std::sort(let_through.begin(), let_through.end());
  for (const auto& [pod, at] : by_pod) {  // without the victims others may have been
    if (entities_->wants_node(pod) && !std::binary_search(let_through.begin(), let_through.end(), pod))
      members.push_back(pod);
  }
  for (const row_t pod : members) {
    const auto first = std::lower_bound(by_pod.begin(), by_pod.end(), std::pair{pod, std::size_t{0}});
    const assignment* const its = first != by_pod.end() && first->first == pod ? &places[first->second] : nullptr;
    const bool named = its != nullptr && its->pod.generation == state_->pods.rows.generation(pod) &&
                       gangsched::detail::names_node(*state_, its->node);
    if (named) {
      nominate(pod, its->node, out);
    } else {
      clear_nomination(pod);
      if (!places.empty()) out.words.push_back({pod, std::nullopt});
    }
  }
}

/// What is reserved for later stays: no victims were to leave it.
GANGSCHED_INLINE void preemption::clear_nomination(row_t pod) {
  if (state_->pods.times.reserved_from(pod) == model::pod_times::never) state_->assigned.nominate(pod, no_row);
}

/// Pods nominated to the node that do not keep their room there from the pod have to look for another node.
GANGSCHED_INLINE void preemption::clear_nominations(row_t pod, row_t node) {
  const pod_class& own = state_->classes[state_->pods.cls[pod]];
  for (row_t other = state_->nodes.first_nominated[node]; other != no_row;) {
    const row_t next = state_->pods.next_nominated[other];
    if (!keeps_room_from(state_->classes[state_->pods.cls[other]], own)) state_->assigned.nominate(other, no_row);
    other = next;
  }
}

GANGSCHED_INLINE saved_unhelped_gang preemption::save(model::cluster_saver& classes) const {
  const auto& [group, cls, end] = unhelped_gang_;
  saved_unhelped_gang made;
  if (end != state_->log.end() || group == no_row) return made;
  made.cls = classes.number_of(cls);
  if (made.cls != model::cluster_saver::none) made.group = group, made.until = unhelped_until_;
  return made;
}

GANGSCHED_INLINE std::optional<error> preemption::restore(const saved_unhelped_gang& from,
                                                          std::span<const class_id> classes) {
  if (from.group == no_row) return std::nullopt;
  if (from.group >= state_->groups.rows.count() || from.cls >= classes.size())
    return model::damaged("the gang that preemption does not help");
  unhelped_gang_ = {from.group, classes[from.cls], state_->log.end()};
  unhelped_until_ = from.until;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
