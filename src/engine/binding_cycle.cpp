#include "gangsched/engine/binding_cycle.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// The waiting pods as one plugin sees them.
class waiting_for_plugin final : public permit_room {
 public:
  waiting_for_plugin(const model::cluster_state& state, waiting_pods& waiting, const entity_view& entities,
                     const kernel_table& of, std::size_t index)
      : state_(&state), waiting_(&waiting), entities_(&entities), of_(&of), bit_(std::uint64_t{1} << index) {}

  [[nodiscard]] std::span<const pod_id> waiting() const override {
    pods_.clear();
    waiting_->each([&](const waiting_pods::entry& one) {
      if ((one.plugins & bit_) != 0 && knows(one)) pods_.push_back(one.pod);
    });
    return pods_;
  }
  void allow(pod_id pod) override {
    waiting_pods::entry* one = waiting_->find(pod.row);
    if (one != nullptr && one->pod == pod && knows(*one)) one->plugins &= ~bit_;
  }
  [[nodiscard]] pod_info info(pod_id pod) const override { return pod_info{*state_, pod.row}; }

 private:
  /// The bit means another plugin in another profile.
  [[nodiscard]] bool knows(const waiting_pods::entry& one) const { return &entities_->profile_of(one.pod.row) == of_; }

  const model::cluster_state* state_;
  waiting_pods* waiting_;
  const entity_view* entities_;
  const kernel_table* of_;
  std::uint64_t bit_;
  mutable std::vector<pod_id> pods_;
};

}  // namespace detail

GANGSCHED_INLINE permit_verdict binding_cycle::ask_permit_hook(const kernel_table& profile, const plugin_entry& plugin,
                                                               std::size_t index, row_t pod) {
  detail::waiting_for_plugin waiting{*state_, waiting_, *entities_, profile, index};
  permit_verdict said =
      plugin.permit(plugin.self.get(), reservation{*state_, pod, state_->pods.node[pod], *now_}, waiting);
  if (said.verdict.code == code::skip)
    said.verdict = status::error("a permit hook neither approves, waits nor rejects");
  return said;
}

/// Permit hooks in order (kube-scheduler: RunPermitPlugins): a rejection ends it, waits are collected and the others still asked.
GANGSCHED_INLINE bool binding_cycle::begin(row_t pod, const kernel_table& profile, std::int64_t score) {
  const hook_range hooks = profile.hooks(point::permit);
  decisions_->rejections().drop(pod);
  std::optional<waiting_pods::entry> held;  // as a rule by none
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const plugin_entry& plugin = hooks[i];
    const permit_verdict said = ask_permit_hook(profile, plugin, i, pod);
    if (said.verdict.code == code::wait) {
      if (!held) held.emplace(pod_id{pod, state_->pods.rows.generation(pod)}, state_->pods.attempt[pod], score);
      waiting_pods::hold(*held, i, *now_, said.timeout);
    } else if (!said.verdict.ok()) {
      const std::uint64_t from = state_->log.end();
      release(pod);
      state_->log.mark_undone(from);
      decision& rejected = decisions_->add(decision_kind::reject, pod);
      rejected.code = said.verdict.code;
      rejected.reason = said.verdict.reason;
      decisions_->rejections().keep(pod, profile, &plugin, said.verdict);
      const entity e = entities_->entity_of(pod);
      if (said.verdict.code == code::error)
        error_->set({pod, false}, said.verdict.reason, plugin.name), queue_->requeue(pod, true);
      else if (e.group)
        queue_->park_group(e.row, unknown_rejectors);
      else if (said.verdict.code == code::pending)
        queue_->come_back(pod, {.pending = plugin_bit(profile, plugin)}, unknown_rejectors);
      else
        queue_->come_back(pod, {.unschedulable = plugin_bit(profile, plugin)}, unknown_rejectors);
      return false;
    }
  }
  if (!held) {
    bind(pod, profile, score, false);
    return false;
  }
  waiting_.add(*std::move(held));
  reported_.add(pod);
  decisions_->add(decision_kind::wait, pod).score = score;
  return true;
}

/// One that a pre-bind or bind hook rejects is taken back: a revocation if the host knew of its wait.
GANGSCHED_INLINE void binding_cycle::bind(row_t pod, const kernel_table& profile, std::int64_t score, bool waited) {
  waiting_.remove(pod);
  const std::size_t at = decisions_->size();
  decisions_->add(decision_kind::bind, pod).score = score;
  const hook_range before = profile.hooks(point::pre_bind), hooks = profile.hooks(point::bind);
  if (before.empty() && hooks.empty()) return reported_.add(pod);
  const plugin_entry* last = nullptr;
  const status said = ask_bind_hooks(before, hooks, pod, (*decisions_)[at], last);
  if (said.ok()) return reported_.add(pod);
  decisions_->shrink(at);
  decisions_->rejections().keep(pod, profile, last, said);
  const std::uint64_t from = state_->log.end();
  if (said.code == code::error) error_->set({pod, false}, said.reason, last->name);
  send_back(pod, said.reason != nullptr ? said.reason : "a bind hook refused it", said.code == code::error);
  if (waited) return;
  state_->log.mark_undone(from);
  (*decisions_)[at].kind = decision_kind::reject;  // the host has not heard of it
  (*decisions_)[at].code = said.code;
}

/// Pre-bind and bind hooks fill in the decision, up to the first that rejects, or that binds. @p last: the one that was asked last.
GANGSCHED_INLINE status binding_cycle::ask_bind_hooks(const hook_range& before, const hook_range& hooks, row_t pod,
                                                      decision& made, const plugin_entry*& last) {
  const reservation held{*state_, pod, state_->pods.node[pod], *now_};
  for (const plugin_entry& plugin : before) {
    last = &plugin;
    const status said = plugin.pre_bind(plugin.self.get(), held, made);
    if (!said.ok() && said.code != code::skip) return said;
  }
  for (const plugin_entry& plugin : hooks) {
    last = &plugin;
    const status said = plugin.bind(plugin.self.get(), held, made);
    if (said.code != code::skip) return said;
  }
  return {};
}

GANGSCHED_INLINE void binding_cycle::send_back(row_t pod, const char* reason, bool error) {
  decisions_->add(decision_kind::revoke, pod).reason = reason;
  release(pod);
  queue_->requeue(pod, error);
}

/// Takes back everything an assumed pod holds.
GANGSCHED_INLINE void binding_cycle::release(row_t pod) {
  reservations_->release(pod);
  waiting_.remove(pod);
  reported_.remove(pod);
  waiting_.group_changed(state_->pods.group[pod]);
  if (!state_->pods.terminating[pod]) queue_->count_waiting(pod, state_->pods.group[pod]);
}

GANGSCHED_INLINE void binding_cycle::evict(pod_id victim, const char* reason) {
  if (!state_->pods.alive(victim.row) || state_->pods.rows.generation(victim.row) != victim.generation) return;
  if (state_->pods.terminating[victim.row]) return;
  if (state_->pods.state[victim.row] == pod_state::bound) {
    if (!decisions_->evicts(victim)) decisions_->add(decision_kind::evict, victim.row).reason = reason;
  } else if (state_->pods.state[victim.row] == pod_state::assumed)
    send_back(victim.row, reason != nullptr ? reason : "preempted before it ran", false);
}

GANGSCHED_INLINE void binding_cycle::preempt(pod_id victim, const char* reason, entity for_whom) {
  const bool runs = gangsched::detail::names_pod(*state_, victim) &&
                    state_->pods.state[victim.row] == pod_state::bound && !state_->pods.terminating[victim.row];
  if (!notices_.in_use() || !runs) return evict(victim, reason);
  if (notices_.give(victim, reason, for_whom, *now_))
    decisions_->add(decision_kind::notice, victim.row).reason = reason;
}

GANGSCHED_INLINE void binding_cycle::revoke_strict_gang(row_t group) {
  const gang* policy = group == no_row ? nullptr : std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  if (policy == nullptr || !policy->strict || state_->groups.satisfied[group]) return;
  for (const row_t pod : waiting_.members_of(group)) send_back(pod, "a member of its strict gang found no node", false);
}

GANGSCHED_INLINE void binding_cycle::look_for_ended_waits() {
  ask_permit_again();  // first: a pod that may go does not time out
  waiting_.each([&](const waiting_pods::entry& one) {
    const row_t pod = one.pod.row;
    if (const char* why = state_->pods.terminating[pod] ? "it is being deleted" : one.rejected; why != nullptr) {
      send_back(pod, why, false);
      return;
    }
    for (std::size_t i = 0; i < one.deadline.size(); ++i) {
      if (((one.plugins >> i) & 1u) != 0 && one.deadline[i] <= *now_ && one.deadline[i] != instant::max()) {
        send_back(pod, "timed out waiting in the permit room", false);
        revoke_strict_gang(state_->pods.group[pod]);
        break;
      }
    }
  });
  stale_.recheck(*now_, [&](row_t pod) {
    evict({pod, state_->pods.rows.generation(pod)}, "its gang has had fewer members than its minimum for too long");
  });
  leaving_.recheck(*now_, [&](row_t pod, const char* why) {
    if (state_->pods.state[pod] == pod_state::bound) return evict({pod, state_->pods.rows.generation(pod)}, why);
    state_->assigned.nominate(pod, no_row);  // a planned reservation: the others may have the node at once
    queue_->places().end_wait(entities_->entity_of(pod));
  });
  notices_.recheck(
      *now_, [&](pod_id pod, const char* why) { evict(pod, why == nullptr ? nullptr : decisions_->texts().keep(why)); },
      [&](row_t pod) { decisions_->add(decision_kind::withdraw, pod); });
}

/// A gang needs fewer or more members than before, another scheduler placed a member, or the gang lost one: hooks are asked again about its
/// waiting members, also those that had allowed them. Deadlines stay. A pod that is sent back is one member less: until nothing changes.
GANGSCHED_INLINE void binding_cycle::ask_permit_again() {
  while (waiting_.has_changed_groups()) {
    const std::vector<row_t> groups = waiting_.take_changed_groups();
    waiting_.each([&](waiting_pods::entry& one) {
      const row_t pod = one.pod.row;
      if (one.rejected != nullptr || state_->pods.terminating[pod]) return;
      if (std::find(groups.begin(), groups.end(), state_->pods.group[pod]) == groups.end()) return;
      const kernel_table& profile = entities_->profile_of(pod);
      const hook_range hooks = profile.hooks(point::permit);
      for (std::size_t i = 0; i < hooks.size(); ++i) {
        if (((one.overruled >> i) & 1u) != 0) continue;
        const auto [said, timeout] = ask_permit_hook(profile, hooks[i], i, pod);
        if (said.ok()) {
          one.plugins &= ~(std::uint64_t{1} << i);
        } else if (said.code == code::wait) {
          waiting_pods::hold(one, i, *now_, timeout);
        } else {
          if (said.code == code::error) error_->set({pod, false}, said.reason, hooks[i].name);
          send_back(pod, said.reason != nullptr ? said.reason : "a permit hook refused it", said.code == code::error);
          break;
        }
      }
    });
  }
}

GANGSCHED_INLINE void binding_cycle::finish_waiting() {
  waiting_.each([&](const waiting_pods::entry& one) {
    const row_t pod = one.pod.row;
    ask_permit_again();  // one that a bind hook refused may have been of a minimum
    if (waiting_.has(pod) && one.plugins == 0) bind(pod, entities_->profile_of(pod), one.score, true);
  });
  waiting_.compact();
}

GANGSCHED_INLINE bool binding_cycle::allow(row_t pod, std::string_view plugin) {
  waiting_pods::entry* const one = waiting_.find(pod);
  if (one == nullptr) return false;
  const hook_range hooks = entities_->profile_of(pod).hooks(point::permit);
  std::uint64_t answered = 0;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (plugin.empty() || ((one->plugins & bit) != 0 && hooks[i].name == plugin)) answered |= bit;
  }
  one->plugins &= ~answered;
  one->overruled |= answered;
  return answered != 0;
}

GANGSCHED_INLINE std::vector<std::string> binding_cycle::pending_plugins(row_t pod) const {
  std::vector<std::string> names;
  const waiting_pods::entry* const one = waiting_.find(pod);
  if (one == nullptr) return names;
  const hook_range hooks = entities_->profile_of(pod).hooks(point::permit);
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (((one->plugins >> i) & 1u) != 0) names.push_back(hooks[i].name);
  }
  return names;
}

GANGSCHED_INLINE std::optional<std::string> binding_cycle::unknown_permit_plugin(const waiting_pod& as) const {
  const hook_range hooks = entities_->profile_of(as.pod.row).hooks(point::permit);
  const auto known = [&](const std::string& name) {
    for (const plugin_entry& plugin : hooks)
      if (plugin.name == name) return true;
    return false;
  };
  for (const waiting_pod::holder& one : as.holders)
    if (!known(one.plugin)) return one.plugin;
  for (const std::string& name : as.allowed)
    if (!known(name)) return name;
  return std::nullopt;
}

GANGSCHED_INLINE void binding_cycle::restore(const waiting_pod& as) {
  const row_t pod = as.pod.row;
  waiting_pods::entry entry{as.pod, state_->pods.attempt[pod], as.score};
  const hook_range hooks = entities_->profile_of(pod).hooks(point::permit);
  entry.deadline.assign(hooks.size(), instant::max());
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    for (const waiting_pod::holder& one : as.holders) {
      if (one.plugin == hooks[i].name) entry.plugins |= bit, entry.deadline[i] = one.until;
    }
    if (std::find(as.allowed.begin(), as.allowed.end(), hooks[i].name) != as.allowed.end()) entry.overruled |= bit;
  }
  if (as.rejected) entry.rejected = "rejected by the host";
  waiting_.add(std::move(entry));
  reported_.add(pod);
  waiting_.group_changed(state_->pods.group[pod]);
}

GANGSCHED_INLINE std::vector<waiting_pod> binding_cycle::list_waiting() const {
  std::vector<waiting_pod> all;
  waiting_.each([&](const waiting_pods::entry& one) {
    const row_t node = state_->pods.node[one.pod.row];
    waiting_pod& made = all.emplace_back();
    made.pod = one.pod;
    made.node = {node, state_->nodes.rows.generation(node)};
    made.attempt = one.attempt;
    made.score = one.score;
    made.rejected = one.rejected != nullptr;
    const hook_range hooks = entities_->profile_of(one.pod.row).hooks(point::permit);
    for (std::size_t i = 0; i < hooks.size(); ++i) {
      if (((one.plugins >> i) & 1u) != 0) made.holders.push_back({hooks[i].name, one.deadline[i]});
      if (((one.overruled >> i) & 1u) != 0) made.allowed.push_back(hooks[i].name);
    }
  });
  return all;
}

GANGSCHED_INLINE void binding_cycle::reject(row_t pod) {
  if (waiting_pods::entry* const one = waiting_.find(pod)) one->rejected = "rejected by the host";
}

GANGSCHED_INLINE void binding_cycle::confirm(row_t pod) {
  reported_.remove(pod);
  state_->assigned.bind(pod);
  if (!queue_->in_flight().empty()) {
    if (const auto* tried = queue_->in_flight().find(entity{pod, false}); tried != nullptr)
      queue_->in_flight().end_attempt(*tried);
  }
  if (const entity e = entities_->entity_of(pod); e.group) {
    queue_item& item = queue_->places().item(e);
    if (item.where == place::none) item.failures = item.errors = 0;
  }
  const hook_range hooks = entities_->profile_of(pod).hooks(point::post_bind);
  if (hooks.empty()) return;
  const reservation held{*state_, pod, state_->pods.node[pod], *now_};
  for (const plugin_entry& plugin : hooks) plugin.post_bind(plugin.self.get(), held);
}

GANGSCHED_INLINE std::span<const decision> binding_cycle::fail(row_t pod) {
  decisions_->begin_answer();
  // The widest group above it that is atomic goes with it.
  row_t whole = no_row;
  for (row_t up = state_->pods.group[pod]; up != no_row; up = state_->groups.parent[up]) {
    const gang* policy = std::get_if<gang>(&state_->groups.record[up]->spec.policy);
    if (policy != nullptr && policy->atomic) whole = up;
  }
  release(pod);
  std::vector<row_t> siblings;
  if (whole != no_row) entities_->each_member(whole, [&](row_t other) { siblings.push_back(other); });
  for (const row_t other : siblings) {
    if (state_->pods.state[other] == pod_state::assumed) {
      decisions_->add(decision_kind::revoke, other).reason = "a member of its atomic gang failed";
      release(other);
      queue_->requeue(other, true);
    } else if (state_->pods.state[other] == pod_state::bound && !state_->pods.terminating[other]) {
      decisions_->add(decision_kind::evict, other).reason = "a member of its atomic gang failed";
    }
  }
  queue_->requeue(pod, true);
  return decisions_->end_answer();
}

GANGSCHED_INLINE void binding_cycle::start_over() {
  waiting_.all_groups_changed();
  reported_.look_again();
  leaving_.start_over();
  notices_.start_over();
  for (row_t group = 0; group < state_->groups.rows.count(); ++group) {
    if (state_->groups.alive(group)) stale_.group_changed(group);
  }
}

GANGSCHED_INLINE std::optional<instant> binding_cycle::next_deadline() const {
  std::optional<instant> next = waiting_.next_deadline();
  for (const std::optional<instant>& due : {stale_.next_due(), leaving_.next_due(), notices_.next_due()})
    if (due) next = std::min(next.value_or(*due), *due);
  return next;
}

GANGSCHED_INLINE void binding_cycle::recall() noexcept {
  waiting_.recall();
  stale_.recall();
  leaving_.recall();
  notices_.recall();
  reported_.recall();
}

GANGSCHED_INLINE saved_binding binding_cycle::save() const {
  return {waiting_.save(), reported_.save(), stale_.save(), leaving_.save(), notices_.save()};
}

GANGSCHED_INLINE std::optional<error> binding_cycle::restore(const saved_binding& from) {
  for (const saved_waiting_pod& one : from.waiting.all) {
    if (!gangsched::detail::names_pod(*state_, one.pod) || !entities_->has_profile(one.pod.row))
      return model::damaged("pods that wait for permit");
  }
  if (auto wrong = waiting_.restore(from.waiting)) return wrong;
  if (auto wrong = reported_.restore(from.reported)) return wrong;
  if (auto wrong = stale_.restore(from.stale)) return wrong;
  if (auto wrong = leaving_.restore(from.leaving)) return wrong;
  return notices_.restore(from.notices);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
