#include <algorithm>
#include <utility>

#include "gangsched/engine/core.hpp"

namespace gangsched::engine {

/// The permit room as one plugin sees it.
class room_for_plugin final : public permit_room {
 public:
  room_for_plugin(core& engine, const kernel_table& of, std::size_t index)
      : core_(&engine), of_(&of), bit_(std::uint64_t{1} << index) {}

  [[nodiscard]] std::span<const pod_id> waiting() const override {
    pods_.clear();
    for (const core::waiting& one : core_->room_) {
      if ((one.plugins & bit_) != 0 && core_->stands(one) && knows(one)) pods_.push_back(one.pod);
    }
    return pods_;
  }
  void allow(pod_id pod) override {
    core::waiting* one = core_->find_waiting(pod.row);
    if (one != nullptr && one->pod == pod && knows(*one)) one->plugins &= ~bit_;
  }
  [[nodiscard]] pod_info info(pod_id pod) const override { return pod_info{*core_->state_, pod.row}; }

 private:
  /// The bit means another plugin in another profile.
  [[nodiscard]] bool knows(const core::waiting& one) const { return &core_->entities_.profile_of(one.pod.row) == of_; }

  core* core_;
  const kernel_table* of_;
  std::uint64_t bit_;
  mutable std::vector<pod_id> pods_;
};

GANGSCHED_INLINE bool core::waits(row_t pod) const noexcept {
  return pod < waits_.size() && waits_[pod] != 0 && state_->pods.state[pod] == pod_state::assumed &&
         room_[waits_[pod] - 1].attempt == state_->pods.attempt[pod];
}

GANGSCHED_INLINE core::waiting* core::find_waiting(row_t pod) noexcept {
  return waits(pod) ? &room_[waits_[pod] - 1] : nullptr;
}

GANGSCHED_INLINE bool core::stands(const waiting& entry) const noexcept {
  const auto place = static_cast<std::size_t>(&entry - room_.data());
  return waits(entry.pod.row) && waits_[entry.pod.row] == place + 1;
}

GANGSCHED_INLINE void core::hold(waiting& one, std::size_t plugin, instant timeout) const {
  constexpr instant longest = std::chrono::minutes{15};
  one.plugins |= std::uint64_t{1} << plugin;
  if (one.deadline.size() <= plugin) one.deadline.resize(plugin + 1, instant::max());
  if (one.deadline[plugin] == instant::max()) one.deadline[plugin] = later_by(now_, std::min(timeout, longest));
}

/// The group changed, or has a member more or less with a node: hooks may say something else of those in the room now.
GANGSCHED_INLINE void core::ask_room_again(row_t group) {
  if (group != no_row && !room_.empty() && (ask_again_.empty() || ask_again_.back() != group)) ask_again_.push_back(group);
}

/// Permit hooks in order (kube-framework 1.3, 1.5): a rejection ends it, waits are collected and the others still asked.
GANGSCHED_INLINE void core::ask_permit(row_t pod, std::int64_t score) {
  waiting entry{{pod, state_->pods.rows.generation(pod)}, state_->pods.attempt[pod], 0, 0, {}, score, nullptr};
  const kernel_table& profile = entities_.profile_of(pod);
  const hook_range hooks = profile.hooks(point::permit);
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const plugin_entry& plugin = hooks[i];
    room_for_plugin room{*this, profile, i};
    const permit_verdict said = plugin.permit(plugin.self.get(), reservation{*state_, pod, state_->pods.node[pod], now_}, room);
    if (said.verdict.code == code::wait) {
      hold(entry, i, said.timeout);
    } else if (!said.verdict.ok()) {
      const std::uint64_t from = state_->log.end();
      release(pod);
      hush(from);
      decision& rejected = decisions_.add(decision_kind::reject, pod);
      rejected.code = said.verdict.code;
      rejected.reason = said.verdict.reason;
      const entity e = entities_.entity_of(pod);
      if (said.verdict.code == code::error) error_.set({pod, false}, said.verdict.reason), requeue(pod, true);
      else if (e.group) park_group(e.row, ~std::uint64_t{0});
      else if (said.verdict.code == code::pending) come_back(pod, {.pending = bit_of(profile, plugin)}, ~std::uint64_t{0});
      else come_back(pod, {.unschedulable = bit_of(profile, plugin)}, ~std::uint64_t{0});
      return;
    }
  }
  if (entry.plugins == 0) {
    finish_bind(pod, score, false);
    return;
  }
  room_.push_back(std::move(entry));
  waits_[pod] = static_cast<std::uint32_t>(room_.size());
  reported_.add(pod);
  decisions_.add(decision_kind::wait, pod).score = score;
  call_older_holders(state_->pods.group[pod]);
}

/// Pre-bind and bind hooks fill in the decision; one that rejects takes the pod back: a revocation if the host knew of its wait.
GANGSCHED_INLINE void core::finish_bind(row_t pod, std::int64_t score, bool waited) {
  waits_[pod] = 0;
  const std::size_t at = decisions_.size();
  decisions_.add(decision_kind::bind, pod).score = score;
  status said;
  const kernel_table& profile = entities_.profile_of(pod);
  const reservation held{*state_, pod, state_->pods.node[pod], now_};
  for (const plugin_entry& plugin : profile.hooks(point::pre_bind)) {
    said = plugin.pre_bind(plugin.self.get(), held, decisions_[at]);
    if (said.code == code::skip) said = {};
    if (!said.ok()) break;
  }
  if (said.ok()) {
    for (const plugin_entry& plugin : profile.hooks(point::bind)) {
      said = plugin.bind(plugin.self.get(), held, decisions_[at]);
      if (said.code != code::skip) break;
      said = {};
    }
  }
  if (said.ok()) return reported_.add(pod);
  decisions_.shrink(at);
  const std::uint64_t from = state_->log.end();
  if (said.code == code::error) error_.set({pod, false}, said.reason);
  send_back(pod, said.reason != nullptr ? said.reason : "a bind hook refused it", said.code == code::error);
  if (waited) return;
  hush(from);
  decisions_[at].kind = decision_kind::reject;  // the host has not heard of it
  decisions_[at].code = said.code;
}

/// A reservation is taken back and the host told; the pod is queued again as after a failure.
GANGSCHED_INLINE void core::send_back(row_t pod, const char* reason, bool error) {
  decisions_.add(decision_kind::revoke, pod).reason = reason;
  release(pod);
  requeue(pod, error);
}

/// A strict gang that has not had its minimum does not wait with some when another member failed (kueue-koordinator-hived 2.1).
GANGSCHED_INLINE void core::break_up(row_t group) {
  const gang* policy = group == no_row ? nullptr : std::get_if<gang>(&state_->groups.record[group]->spec.policy);
  if (policy == nullptr || !policy->strict || state_->groups.satisfied[group]) return;
  std::vector<row_t> held;
  for (const waiting& one : room_) {
    if (stands(one) && state_->pods.group[one.pod.row] == group) held.push_back(one.pod.row);
  }
  for (const row_t pod : held) send_back(pod, "a member of its strict gang found no node", false);
}

GANGSCHED_INLINE void core::expire_waits() {
  ask_permit_again();  // one that may go does not time out
  for (waiting& one : room_) {
    const row_t pod = one.pod.row;
    if (!stands(one)) continue;
    if (const char* why = state_->pods.terminating[pod] ? "it is being deleted" : one.rejected; why != nullptr) {
      send_back(pod, why, false);
      continue;
    }
    for (std::size_t i = 0; i < one.deadline.size(); ++i) {
      if (((one.plugins >> i) & 1u) != 0 && one.deadline[i] <= now_ && one.deadline[i] != instant::max()) {
        send_back(pod, "timed out waiting in the permit room", false);
        break_up(state_->pods.group[pod]);
        break;
      }
    }
  }
  stale_.recheck(now_, [&](row_t pod) {
    evict({pod, state_->pods.rows.generation(pod)}, "its gang has had fewer members than its minimum for too long");
  });
}

/// A gang needs fewer or more than before, others placed a member, or it lost one: hooks are asked once more about its members in the
/// room, those that had let them go as well. Deadlines stay. Who is sent back is one member less: until nothing changes.
GANGSCHED_INLINE void core::ask_permit_again() {
  while (!ask_again_.empty()) {
    const std::vector<row_t> groups = std::exchange(ask_again_, {});
    for (std::size_t at = 0; at < room_.size(); ++at) {
      const row_t pod = room_[at].pod.row;
      if (!stands(room_[at]) || room_[at].rejected != nullptr || state_->pods.terminating[pod]) continue;
      if (std::find(groups.begin(), groups.end(), state_->pods.group[pod]) == groups.end()) continue;
      const hook_range hooks = entities_.profile_of(pod).hooks(point::permit);
      for (std::size_t i = 0; i < hooks.size(); ++i) {
        if (((room_[at].overruled >> i) & 1u) != 0) continue;
        const plugin_entry& plugin = hooks[i];
        room_for_plugin room{*this, entities_.profile_of(pod), i};
        const auto [said, timeout] = plugin.permit(plugin.self.get(), reservation{*state_, pod, state_->pods.node[pod], now_}, room);
        if (said.ok()) {
          room_[at].plugins &= ~(std::uint64_t{1} << i);
        } else if (said.code == code::wait) {
          hold(room_[at], i, timeout);
        } else {
          if (said.code == code::error) error_.set({pod, false}, said.reason);
          send_back(pod, said.reason != nullptr ? said.reason : "a permit hook refused it", said.code == code::error);
          break;
        }
      }
    }
  }
}

GANGSCHED_INLINE void core::permit(instant now) {
  begin_call(now);
  decisions_.clear();
  error_.clear();
  absorb();
  reported_.report_ended(decisions_);
  expire_waits();
  flush(now);
  for (std::size_t i = 0; i < room_.size(); ++i) {
    ask_permit_again();  // one that a bind hook refused may have been of a minimum
    if (stands(room_[i]) && room_[i].plugins == 0) finish_bind(room_[i].pod.row, room_[i].score, true);
  }
  room_is_loose_ = true;
  mark_own();
  absorb();
  queue_.tidy();
}

GANGSCHED_INLINE bool core::allow(row_t pod, std::string_view plugin) {
  queue_.begin_round();
  waiting* one = find_waiting(pod);
  if (one == nullptr) return false;
  const hook_range hooks = entities_.profile_of(pod).hooks(point::permit);
  std::uint64_t answered = 0;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (plugin.empty() || ((one->plugins & bit) != 0 && hooks[i].name == plugin)) answered |= bit;
  }
  one->plugins &= ~answered;
  one->overruled |= answered;
  return answered != 0;
}

GANGSCHED_INLINE std::vector<std::string> core::pending_plugins(row_t pod) const {
  std::vector<std::string> names;
  if (!waits(pod)) return names;
  const waiting& one = room_[waits_[pod] - 1];
  const hook_range hooks = entities_.profile_of(pod).hooks(point::permit);
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (((one.plugins >> i) & 1u) != 0) names.push_back(hooks[i].name);
  }
  return names;
}

GANGSCHED_INLINE void core::reject(row_t pod) {
  queue_.begin_round();
  if (waiting* one = find_waiting(pod)) one->rejected = "rejected by the host";
}

GANGSCHED_INLINE void core::note(row_t pod, std::string_view text) {
  const pod_id id{pod, state_->pods.rows.generation(pod)};
  if (text.empty()) notes_.erase(id);
  else notes_[id] = std::string{text};
}

GANGSCHED_INLINE void core::confirm(row_t pod) {
  queue_.begin_round();
  absorb();
  reported_.remove(pod);
  state_->bind(pod);
  mark_own();
  if (const auto* tried = in_flight_.find(entity{pod, false}); tried != nullptr) in_flight_.end_attempt(*tried);
  if (const entity e = entities_.entity_of(pod); e.group) {
    queue_item& item = queue_.item(e);
    if (item.where == place::none) item.failures = item.errors = 0;
  }
  const reservation held{*state_, pod, state_->pods.node[pod], now_};
  for (const plugin_entry& plugin : entities_.profile_of(pod).hooks(point::post_bind)) plugin.post_bind(plugin.self.get(), held);
  if (!notes_.empty()) note(pod, {});
}

GANGSCHED_INLINE std::span<const decision> core::fail(row_t pod) {
  queue_.begin_round();
  absorb();
  decisions_.begin_answer();
  // The widest group above it that is atomic goes with it.
  row_t whole = no_row;
  for (row_t up = state_->pods.group[pod]; up != no_row; up = state_->groups.parent[up]) {
    const gang* policy = std::get_if<gang>(&state_->groups.record[up]->spec.policy);
    if (policy != nullptr && policy->atomic) whole = up;
  }
  release(pod);
  std::vector<row_t> siblings;
  if (whole != no_row) entities_.each_member(whole, [&](row_t other) { siblings.push_back(other); });
  for (const row_t other : siblings) {
    if (state_->pods.state[other] == pod_state::assumed) {
      decisions_.add(decision_kind::revoke, other).reason = "a member of its atomic gang failed";
      release(other);
      requeue(other, true);
    } else if (state_->pods.state[other] == pod_state::bound && !state_->pods.terminating[other]) {
      decisions_.add(decision_kind::evict, other).reason = "a member of its atomic gang failed";
    }
  }
  requeue(pod, true);
  mark_own();
  return decisions_.end_answer();
}

}  // namespace gangsched::engine
