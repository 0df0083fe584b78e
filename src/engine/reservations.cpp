#include "gangsched/engine/reservations.hpp"

#include "gangsched/core/make_room.hpp"
#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::engine {

/// What is wrong with a GPU that a hook named for the pod's share, or null.
GANGSCHED_INLINE const char* reservations::wrong_choice(row_t pod, row_t node, const device_rules& rules) const {
  if (rules.gpu == -1) return nullptr;
  const device_state there = state_->devices.devices_of(node);
  if (rules.gpu < 0 || static_cast<std::uint32_t>(rules.gpu) >= there.gpu_count()) return "chose a GPU that the node does not have";
  for (const device_want& want : state_->devices.wants_of(state_->classes[state_->pods.cls[pod]], node)) {
    if (want.what->kind != device_demand::form::share || want.count != 1 || !want.what->first_of.empty()) continue;
    if ((gpus_for(there, *want.what) & want.gpus) >> rules.gpu & 1u) return nullptr;
    return "chose a GPU that has no room for the pod";
  }
  return nullptr;
}

/// The model's own choice of devices is for profiles without a word on it. The first plugin decides whose rules lead to devices. That of
/// the filter is among them: it promised that its own do. It is an error too if nobody's rules lead to anything.
GANGSCHED_INLINE bool reservations::assume(row_t pod, row_t node, status& said) {
  const bool asks = any(assigned_pods::facets_of(state_->classes[state_->class_of(pod)]) & reads::devices);
  if (asks && state_->nodes.inventory[node] != nullptr) {
    const class_plan& plan = picks_->plan_of(state_->class_of(pod));
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
      if (state_->devices.claim_anew(pod, node, rules)) {
        choice.commit();
        broken = nullptr;
        break;
      }
      if (broken == nullptr) broken = hook.plugin;
    }
    if (broken != nullptr) {
      const std::string what = gangsched::detail::pod_text(*state_, pod) + ": choose_devices " +
                               (wrong != nullptr ? wrong : "leads to no devices that are free");
      said = picks_->broken(*broken, what.c_str(), node);
      return false;
    }
  }
  state_->assigned.assume(pod, node);
  return true;
}

GANGSCHED_INLINE bool reservations::reserve(row_t pod, row_t node, uses& noted, status& said) {
  for (const plugin_entry& plugin : entities_->profile_of(pod).hooks(point::reserve)) {
    said = plugin.reserve(plugin.self.get(), new_reservation{*state_, pod, node, *now_, noted});
    if (said.ok()) continue;
    unreserve(pod, node);
    return false;
  }
  return true;
}

GANGSCHED_INLINE void reservations::unreserve(row_t pod, row_t node) {
  const hook_range hooks = entities_->profile_of(pod).hooks(point::reserve);
  for (std::size_t i = hooks.size(); i-- > 0;) {
    const plugin_entry& plugin = hooks[i];
    plugin.unreserve(plugin.self.get(), reservation{*state_, pod, node, *now_});
  }
}

/// A node may be gone, and its row another's.
GANGSCHED_INLINE void reservations::count(std::span<const column_use> noted, std::int64_t sign) {
  for (const column_use& use : noted) {
    const row_t node = use.node.row;
    if (state_->nodes.alive(node) && state_->nodes.rows.generation(node) == use.node.generation) {
      state_->add_own(use.column.index, node, sign * use.amount);
    }
  }
}

GANGSCHED_INLINE std::span<const column_use> reservations::uses_of(row_t pod) const {
  if (noted_.empty()) return {};
  const auto held = noted_.find({pod, state_->pods.rows.generation(pod)});
  return held == noted_.end() ? std::span<const column_use>{} : held->second;
}

GANGSCHED_INLINE void reservations::keep(row_t pod, uses&& noted) {
  const pod_id id{pod, state_->pods.rows.generation(pod)};
  kept_.push_back(id);
  noted_[id] = std::move(noted);
}

GANGSCHED_INLINE void reservations::release(row_t pod) {
  unreserve(pod, state_->pods.node[pod]);
  if (const std::span<const column_use> held = uses_of(pod); !held.empty()) {
    count(held, -1);
    drop(noted_.find({pod, state_->pods.rows.generation(pod)}));
  }
  state_->assigned.release(pod);
}

GANGSCHED_INLINE void reservations::undo(row_t pod, const uses& noted) {
  unreserve(pod, state_->pods.node[pod]);
  count(noted, -1);
  state_->assigned.release(pod);
}

GANGSCHED_INLINE void reservations::forget(row_t pod, std::uint32_t generation) {
  if (noted_.empty()) return;
  for (auto it = noted_.lower_bound({pod, 0}); it != noted_.end() && it->first.row == pod && it->first.generation <= generation;) {
    count(it->second, -1);
    it = drop(it);
  }
}

GANGSCHED_INLINE void reservations::forget_released() {
  for (auto it = noted_.begin(); it != noted_.end();) {
    const bool holds = gangsched::detail::names_pod(*state_, it->first) && state_->pods.node[it->first.row] != no_row;
    if (!holds) count(it->second, -1);
    it = holds ? std::next(it) : drop(it);
  }
}

GANGSCHED_INLINE reservations::noted_uses::iterator reservations::drop(noted_uses::iterator held) {
  gangsched::detail::make_room(dropped_);
  const auto next = std::next(held);
  dropped_.push_back(noted_.extract(held));
  return next;
}

GANGSCHED_INLINE void reservations::recall() noexcept {
  for (const pod_id pod : kept_) noted_.erase(pod);
  for (; !dropped_.empty(); dropped_.pop_back()) noted_.insert(std::move(dropped_.back()));
}

}  // namespace gangsched::engine
