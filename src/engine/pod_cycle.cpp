#include <algorithm>

#include "gangsched/engine/core.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::engine {

/// The error that the cycle ends with.
GANGSCHED_INLINE void core::note_broken(entity whose, const char* why) {
  broken_ = why != nullptr ? why : "a hook failed with an error";
  if (!whose.group) {
    broken_object_ = gangsched::detail::pod_text(*state_, whose.row);
    return;
  }
  const group_spec& spec = state_->groups.record[whose.row]->spec;
  broken_object_ = gangsched::detail::object_name("group", spec.ns, spec.name);
}

GANGSCHED_INLINE void core::forget_attempt() {
  discard_members();
  by_pod_ = {};
  forget_cached();
}

/// An attempt that a hook's exception ends left nothing behind but what it decided before: hooks that may throw it are asked inside trials,
/// or before anything is written. What was being computed for caches is forgotten with them.
GANGSCHED_INLINE bool core::try_entity(entity e) {
  try {
    return run(e);
  } catch (const hook_error& thrown) {
    thrown_ = thrown.what();
  }
  forget_attempt();
  const status said = status::error(thrown_.c_str());
  if (!e.group) {
    picked failed;
    failed.said = said;
    reject_pod(e.row, failed);
    pass_on(e.row);
    return true;
  }
  note_broken(e, said.reason);
  each_member(e.row, [&](row_t pod) {
    if (!wants_node(pod)) return;
    decision& rejected = decide(decision_kind::reject, pod);
    rejected.code = said.code;
    rejected.reason = said.reason;
  });
  retry_group(e.row, true, true);
  return true;
}

GANGSCHED_INLINE bool core::run(entity e) {
  if (e.group) {
    if (!state_->groups.alive(e.row)) return false;
    run_group(e.row);
    return !decisions_.empty() || broken_ != nullptr;
  }
  const pod_table& pods = state_->pods;
  if (!pods.alive(e.row) || pods.state[e.row] != pod_state::pending || pods.terminating[e.row]) return false;
  run_pod(e.row);
  return true;
}

GANGSCHED_INLINE void core::run_pod(row_t pod) {
  picked found = picker_.pick(pod);
  if (found.node != no_row) {
    place(pod, found);
    return;
  }
  const bool error = found.said.code == code::error;
  if (!error && take_back_holdings(state_->pods.group[pod], {pod, false})) {
    found = picker_.pick(pod);
    if (found.node != no_row) return place(pod, found);
  }
  if (error || !make_room(pod, found.rejectors)) reject_pod(pod, found);
  // Every pod of the class would have been told the same, except by hooks that ask the pod itself, and where it is nominated.
  const class_plan& plan = picker_.plan_of(state_->pods.cls[pod]);
  const bool personal = !plan.cycle_hooks.empty() || std::any_of(plan.filters.begin(), plan.filters.end(), [](const planned& hook) {
    return hook.plugin->filter.opaque;
  });
  if (error || personal || found.kept) pass_on(pod);
  else calls_[pod] = {};
}

/// Reserves the node, runs reserve and permit hooks; one of them may send the pod back.
GANGSCHED_INLINE void core::place(row_t pod, const picked& where) {
  state_->nodes.prefetch(where.node);
  state_->nodes.first_pod.prefetch(where.node);
  gangsched::detail::prefetch(&state_->nodes.record[where.node]->cookie);  // for the decision
  picked refused;
  if (!state_->fits_in_words(where.node, state_->classes[state_->pods.cls[pod]])) {
    refused.said = status::error("the node's usage would not fit into 64 bits");
    reject_pod(pod, refused);
    return pass_on(pod);
  }
  std::vector<column_use> uses;
  if (table_of(pod).at(point::reserve).empty()) {
    if (!assume(pod, where.node, refused.said)) {
      reject_pod(pod, refused);
      return pass_on(pod);
    }
  } else {
    const std::uint64_t from = state_->log.end();
    transaction attempt{*state_};
    if (!assume(pod, where.node, refused.said) || !reserve(pod, where.node, uses, refused.said)) {
      attempt.roll_back();
      reject_pod(pod, refused);
      return pass_on(pod);
    }
    attempt.commit();
    hush(from);  // columns that reserve hooks count up help nobody
    if (!uses.empty()) note_uses(pod, std::move(uses));
  }
  count_out(pod);
  ask_permit(pod, where.score);
  pass_on(pod);
}

/// What is wrong with a GPU that a hook named for the pod's share, or null.
GANGSCHED_INLINE const char* core::wrong_choice(row_t pod, row_t node, const device_rules& rules) const {
  if (rules.gpu == -1) return nullptr;
  const device_state there = state_->devices_of(node);
  if (rules.gpu < 0 || static_cast<std::uint32_t>(rules.gpu) >= there.gpu_count()) return "chose a GPU that the node does not have";
  for (const device_want& want : state_->wants_of(state_->classes[state_->pods.cls[pod]], node)) {
    if (want.what->kind != device_demand::form::share || want.count != 1 || !want.what->first_of.empty()) continue;
    if ((gpus_for(there, *want.what) & want.gpus) >> rules.gpu & 1u) return nullptr;
    return "chose a GPU that has no room for the pod";
  }
  return nullptr;
}

/// With the devices that the profile chooses; the model's own choice is for profiles without a word on it. The first plugin decides whose
/// rules lead to devices. That of the filter is among them: it promised that its own do. False, and an error, if a hook names what cannot be
/// had, or nobody's rules lead to anything.
GANGSCHED_INLINE bool core::assume(row_t pod, row_t node, status& said) {
  const bool asks = any(cluster_state::facets_of(state_->classes[state_->class_of(pod)]) & reads::devices);
  if (asks && state_->nodes.inventory[node] != nullptr) {
    const class_plan& plan = picker_.plan_of(state_->class_of(pod));
    const plugin_entry* broken = nullptr;
    const char* wrong = nullptr;
    for (const planned& hook : plan.device_choosers) {
      const device_rules rules = hook.plugin->choose_devices(hook.plugin->self.get(), plan.context(*state_, hook, pod), node);
      wrong = wrong_choice(pod, node, rules);
      if (wrong != nullptr) {
        broken = hook.plugin;
        break;
      }
      transaction choice{*state_};
      if (state_->claim_devices(pod, node, rules)) {
        choice.commit();
        broken = nullptr;
        break;
      }
      if (broken == nullptr) broken = hook.plugin;
    }
    if (broken != nullptr) {
      const std::string what = gangsched::detail::pod_text(*state_, pod) + ": choose_devices " +
                               (wrong != nullptr ? wrong : "leads to no devices that are free");
      said = picker_.broken(*broken, what.c_str(), node);
      return false;
    }
  }
  state_->assume(pod, node);
  return true;
}

/// All reserve hooks in order; at the first failure all are unreserved in reverse order, also those not reached.
GANGSCHED_INLINE bool core::reserve(row_t pod, row_t node, std::vector<column_use>& uses, status& said) {
  for (const plugin_entry& plugin : table_of(pod).hooks(point::reserve)) {
    said = plugin.reserve(plugin.self.get(), new_reservation{*state_, pod, node, now_, uses});
    if (said.ok()) continue;
    unreserve(pod, node);
    return false;
  }
  return true;
}

GANGSCHED_INLINE void core::unreserve(row_t pod, row_t node) {
  const hook_range hooks = table_of(pod).hooks(point::reserve);
  for (std::size_t i = hooks.size(); i-- > 0;) {
    const plugin_entry& plugin = hooks[i];
    plugin.unreserve(plugin.self.get(), reservation{*state_, pod, node, now_});
  }
}

/// What reserve hooks noted is given back, or (@p sign +1) taken again.
GANGSCHED_INLINE void core::count_uses(std::span<const column_use> uses, std::int64_t sign) {
  for (const column_use& use : uses) {
    const row_t node = use.node.row;
    if (state_->nodes.alive(node) && state_->nodes.rows.generation(node) == use.node.generation) {
      state_->add_own(use.column.index, node, sign * use.amount);
    }
  }
}

GANGSCHED_INLINE std::span<const column_use> core::uses_of(row_t pod) const {
  if (uses_.empty()) return {};
  const auto held = uses_.find({pod, state_->pods.rows.generation(pod)});
  return held == uses_.end() ? std::span<const column_use>{} : held->second;
}

/// Takes back everything an assumed pod holds.
GANGSCHED_INLINE void core::release(row_t pod) {
  unreserve(pod, state_->pods.node[pod]);
  if (const std::span<const column_use> held = uses_of(pod); !held.empty()) {
    count_uses(held, -1);
    drop_uses(uses_.find({pod, state_->pods.rows.generation(pod)}));
  }
  waits_[pod] = 0;
  untell(pod);
  ask_room_again(state_->pods.group[pod]);
  state_->release(pod);
  if (!state_->pods.terminating[pod]) count_waiting(pod, state_->pods.group[pod]);
}

GANGSCHED_INLINE void core::reject_pod(row_t pod, const picked& why) {
  const bool error = why.said.code == code::error;
  if (error) note_broken({pod, false}, why.said.reason);
  decision& said = decide(decision_kind::reject, pod);
  said.code = why.said.ok() ? code::unschedulable : why.said.code;
  said.reason = why.said.reason;
  const entity e = entity_of(pod);
  if (e.group) return;  // a member: its group decides when it comes back
  if (error) queue_.retry_later(e, now_, 1, true, true);
  else park(pod, why.rejectors);
  if (!error) break_up(state_->pods.group[pod]);
}

/// Post-filter hooks in order (kube-framework 1.3): success, unresolvable and errors stop, unschedulable goes on. @p keep: all of them
/// want the pod to keep its nomination.
GANGSCHED_INLINE victim_plan core::ask_for_room(row_t pod, bool& keep) {
  const kernel_table& table = table_of(pod);
  victim_plan plan;
  for (const std::uint16_t index : table.at(point::post_filter)) {
    const plugin_entry& plugin = table.plugins[index];
    const std::unique_ptr<trial> attempt = start_trial(index);
    plan = plugin.post_filter(plugin.self.get(), *attempt, pod_info{*state_, pod});
    keep = keep && plan.keep_nomination;
    if (plan.verdict.code != code::unschedulable) break;
  }
  return plan;
}

/// The result only nominates. False if nobody was helped.
GANGSCHED_INLINE bool core::make_room(row_t pod, std::uint64_t rejectors) {
  const kernel_table& table = table_of(pod);
  if (table.at(point::post_filter).empty()) return false;
  if (!alpha() && incomplete(state_->pods.group[pod])) return make_minimum_room(pod);
  bool keep = true;
  const victim_plan plan = ask_for_room(pod, keep);
  if (plan.verdict.code == code::error) {
    picked failed;
    failed.said = plan.verdict;
    reject_pod(pod, failed);
    return true;
  }
  const bool helped = plan.verdict.ok() && gangsched::detail::names_node(*state_, plan.nominated);
  if (helped || !keep) state_->nominate(pod, helped ? plan.nominated.row : no_row);
  if (!helped) return false;
  clear_nominations(pod, plan.nominated.row);
  decision& nominated = decide(decision_kind::nominate, pod);
  nominated.node = plan.nominated;
  nominated.node_cookie = state_->nodes.record[plan.nominated.row]->cookie;
  park(pod, by_hints() ? rejectors : ~std::uint64_t{0});  // before its victims leave, so that it hears of them
  for (const pod_id victim : plan.victims) evict(victim);
  return true;
}

/// Pods of lower priority that are nominated to the node have to look for another one.
GANGSCHED_INLINE void core::clear_nominations(row_t pod, row_t node) {
  const std::int32_t priority = state_->classes[state_->pods.cls[pod]].priority;
  for (row_t other = state_->nodes.first_nominated[node]; other != no_row;) {
    const row_t next = state_->pods.next_nominated[other];
    if (state_->classes[state_->pods.cls[other]].priority < priority) state_->nominate(other, no_row);
    other = next;
  }
}

/// A running victim is the host's to evict, unless it goes already or has been told to in this call; one that is only assumed is taken
/// back here and now.
GANGSCHED_INLINE void core::evict(pod_id victim, const char* reason) {
  if (!state_->pods.alive(victim.row) || state_->pods.rows.generation(victim.row) != victim.generation) return;
  if (state_->pods.terminating[victim.row]) return;
  if (state_->pods.state[victim.row] == pod_state::bound) {
    const auto said = [&](const decision& one) { return one.kind == decision_kind::evict && one.pod == victim; };
    if (std::none_of(sink_->begin(), sink_->end(), said)) decide(decision_kind::evict, victim.row).reason = reason;
  } else if (state_->pods.state[victim.row] == pod_state::assumed)
    send_back(victim.row, reason != nullptr ? reason : "preempted before it ran", false);
}

/// Order among incomplete gangs: first those with running members, which cannot give their room back; then priority; then age.
GANGSCHED_INLINE core::holder_rank core::rank_of(row_t group) const {
  return {state_->groups.bound[group] == 0, -std::int64_t{group_priority(group)}, state_->groups.arrival[group]};
}

GANGSCHED_INLINE bool core::incomplete(row_t group) const noexcept {
  const group_table& groups = state_->groups;
  return group != no_row && groups.assumed[group] + groups.bound[group] < groups.min_count(group);
}

/// An incomplete gang finds no node for a member, or, tried as one, for its minimum: an incomplete gang after it gives its waiting
/// members' nodes back if that makes room. First each of them alone, the last first; then all of them together, until it fits.
GANGSCHED_INLINE bool core::take_back_holdings(row_t own, entity e) {
  if (own != no_row && state_->groups.record[own]->spec.composite) return false;  // its groups are not in the room
  if (options_.holds == hold_rule::timers_only || room_.empty() || !incomplete(own)) return false;
  const holder_rank rank = rank_of(own);
  std::vector<std::pair<holder_rank, row_t>> later;
  row_t asked = no_row;  // members of a group mostly wait side by side
  for (const waiting& one : room_) {
    const row_t group = state_->pods.group[one.pod.row];
    if (group == asked || !stands(one)) continue;
    asked = group;
    if (group == own || !incomplete(group)) continue;
    const std::pair holder{rank_of(group), group};
    if (holder.first > rank && std::find(later.begin(), later.end(), holder) == later.end()) later.push_back(holder);
  }
  std::sort(later.rbegin(), later.rend());
  const auto holders = [&](row_t group) {
    std::vector<row_t> held;
    for (const waiting& one : room_) {
      if (stands(one) && state_->pods.group[one.pod.row] == group) held.push_back(one.pod.row);
    }
    return held;
  };
  const std::size_t start = picker_.where().start;  // what is only tried examines no nodes
  const auto would_fit = [&](std::span<const row_t> gangs) {
    transaction trial{*state_};
    for (const row_t group : gangs) {
      for (const row_t held : holders(group)) {
        count_uses(uses_of(held), -1);
        state_->release(held);
      }
    }
    if (!e.group) return picker_.pick(e.row).node != no_row;
    const bool fits = place_group(make_part(e.row)).verdict.ok();
    discard_members();
    return fits;
  };
  std::vector<row_t> giving;
  for (const auto& [its_rank, group] : later) {
    if (!giving.empty()) break;
    if (would_fit({&group, 1})) giving = {group};
  }
  for (std::size_t count = 2; giving.empty() && count <= later.size(); ++count) {
    std::vector<row_t> together;
    for (std::size_t i = 0; i < count; ++i) together.push_back(later[i].second);
    if (would_fit(together)) giving = std::move(together);
  }
  picker_.go_back({statistics_.decisions, start});
  for (const row_t group : giving) {
    for (const row_t held : holders(group)) send_back(held, "its node was taken back for an older gang", false);
  }
  return !giving.empty();
}

/// An incomplete gang has taken room: one rejected member of every incomplete one before it may take it back (it would not hear of
/// the room otherwise, because reservations wake nobody).
GANGSCHED_INLINE void core::call_older_holders(row_t own) {
  if (options_.holds == hold_rule::timers_only || !incomplete(own)) return;
  const holder_rank rank = rank_of(own);
  std::vector<row_t> called;
  row_t asked = no_row;
  const auto is_called = [&](row_t group) {
    if (group == asked || group == own || !incomplete(group)) return false;
    asked = group;
    if (!(rank_of(group) < rank) || std::find(called.begin(), called.end(), group) != called.end()) return false;
    called.push_back(group);
    return true;
  };
  std::vector<entity> wanted;
  for (const auto& [cls, line] : parked_) {
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      const row_t pod = line.pods[i].pod;
      if (stands(line.pods[i]) && is_called(state_->pods.group[pod])) wanted.push_back({pod, false});
    }
  }
  for (const parked_group& one : parked_groups_) {
    if (gangsched::detail::names_group(*state_, one.group) && is_called(one.group.row)) wanted.push_back({one.group.row, true});
  }
  for (const entity& e : wanted) {
    ++statistics_.wake_ups;
    queue_.wake(e, now_);
  }
}

}  // namespace gangsched::engine
