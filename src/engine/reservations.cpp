#include "gangsched/engine/reservations.hpp"

#include <algorithm>
#include <bit>

#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What is wrong with the GPUs that a hook named for the pod, or null.
GANGSCHED_INLINE const char* reservations::wrong_choice(row_t pod, row_t node, const device_rules& rules) const {
  const bool several = rules.gpus != 0;
  if (rules.gpu == -1 && !several) return nullptr;
  const device_state there = state_->devices.devices_of(node);
  if (!several && (rules.gpu < 0 || static_cast<std::size_t>(rules.gpu) >= max_node_gpus))
    return "chose a GPU that the node does not have";
  const std::uint32_t chosen = several ? rules.gpus : std::uint32_t{1} << rules.gpu;
  if (chosen >> there.gpu_count() != 0) return "chose a GPU that the node does not have";
  for (const device_want& want : state_->devices.wants_of(state_->classes[state_->pods.cls[pod]], node)) {
    const bool share = want.what->kind == device_demand::form::share;
    if (!want.what->first_of.empty() || !(share || (several && want.what->kind == device_demand::form::whole)))
      continue;
    if (!several && want.count != 1) continue;
    if (std::popcount(chosen) != want.count) return "chose more or fewer GPUs than the pod asks for";
    const bool room = (chosen & ~(gpus_for(there, *want.what) & want.gpus)) == 0;
    return room ? nullptr : "chose a GPU that has no room for the pod";
  }
  return nullptr;
}

GANGSCHED_INLINE bool reservations::assume(row_t pod, row_t node, status& said) {
  refused_by_ = nullptr;
  const pod_class& cls = state_->classes[state_->class_of(pod)];
  const bool around_pods = model::reservation_table::pre_allocates(cls);
  if (!around_pods && !state_->reserved.concerns(cls)) return take(pod, node, said);
  transaction whole{*state_};  // a choose_devices hook may throw
  if (!around_pods) {
    row_t from = no_row;
    said = find_reservation(*picks_, *state_, pod, node, from);
    if (!said.ok()) return false;
    state_->reserved.choose(pod, from);
    if (!take(pod, node, said)) return false;
  } else {
    const std::optional<std::vector<row_t>> around = pods_to_allocate_around(*picks_, *state_, pod, node);
    if (!around) return said = status::unschedulable(no_pods_to_allocate_around), false;
    for (const row_t one : *around) state_->assigned.take_off_node(one);
    if (!take(pod, node, said)) return false;
    state_->assigned.allocate_around(pod, node, *around);
  }
  whole.commit();
  return true;
}

/// The model chooses devices only for profiles whose plugins do not choose. Otherwise the first plugin whose rules lead to devices
/// decides; the filter's plugin is among them, since it promised devices. It is an error, too, if no plugin's rules lead to any.
GANGSCHED_INLINE bool reservations::take(row_t pod, row_t node, status& said) {
  const row_t from = state_->reserved.drawn_by(pod);
  const bool held = from != no_row && state_->pods.claim[from] != nullptr && !state_->pods.claim[from]->grants.empty();
  // (Of what a reservation holds the model chooses.)
  const bool asks =
      !held && any(model::assigned_pods::facets_of(state_->classes[state_->class_of(pod)]) & reads::devices);
  if (asks && state_->nodes.inventory[node] != nullptr) {
    const class_plan& plan = picks_->plan_of(state_->class_of(pod));
    const plugin_entry* broken = nullptr;
    const char* wrong = nullptr;
    for (const planned& hook : plan.device_choosers) {
      const device_rules rules =
          hook.plugin->choose_devices(hook.plugin->self.get(), plan.context(*state_, hook, pod), node);
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
  if (state_->pods.record[pod]->details->expected_run_time != instant{0}) state_->pods.times.set_started(pod, *now_);
  return true;
}

GANGSCHED_INLINE void reservations::supposed_releases::release(row_t pod) {
  model::cluster_state& state = *of_->state_;
  if (!of_->entities_->profile_of(pod).at(point::reserve).empty())
    of_->tried_.push_back({pod, state.pods.node[pod], state.columns.notes_of(pod)});
  state.assigned.release(pod);
}

GANGSCHED_INLINE const reservations::tried_pod* reservations::find_tried(row_t pod) const noexcept {
  const auto found = std::find_if(tried_.begin(), tried_.end(), [&](const tried_pod& one) { return one.pod == pod; });
  return found == tried_.end() ? nullptr : &*found;
}

/// As hooks would note it there, if they do not note other amounts on other nodes.
GANGSCHED_INLINE void reservations::note_there(const tried_pod& one, row_t node) {
  for (model::column_use use : one.uses) {
    const bool of_its_node = state_->columns.scope_of(use.column) == scope_number::nodes && use.row == one.node;
    if (of_its_node) use.row = node, use.generation = state_->nodes.rows.generation(node);
    state_->columns.note(one.pod, use);
  }
}

GANGSCHED_INLINE bool reservations::reserve(row_t pod, row_t node, status& said) {
  if (const tried_pod* const one = tried_.empty() ? nullptr : find_tried(pod)) return note_there(*one, node), true;
  for (const plugin_entry& plugin : entities_->profile_of(pod).hooks(point::reserve)) {
    try {
      const status its = plugin.reserve(plugin.self.get(), new_reservation{*state_, pod, node, *now_});
      said = picks_->errors.note(plugin.name,
                                 hook_errors::accepts_or_rejects(its, "a reserve hook neither accepts nor rejects"));
    } catch (...) {  // no memory, or a hook_error: it goes on to the caller, and the hooks forget the pod
      unreserve(pod, node);
      throw;
    }
    if (said.ok()) continue;
    refused_by_ = &plugin;
    unreserve(pod, node);
    return false;
  }
  return true;
}

GANGSCHED_INLINE void reservations::unreserve(row_t pod, row_t node) {
  if (!tried_.empty() && find_tried(pod) != nullptr) return;
  const hook_range hooks = entities_->profile_of(pod).hooks(point::reserve);
  for (std::size_t i = hooks.size(); i-- > 0;) {
    const plugin_entry& plugin = hooks[i];
    plugin.unreserve(plugin.self.get(), reservation{*state_, pod, node, *now_});
  }
}

GANGSCHED_INLINE void reservations::release(row_t pod) {
  unreserve(pod, state_->pods.node[pod]);
  state_->assigned.release(pod);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
