#include <algorithm>

#include "gangsched/engine/core.hpp"

// wake_rule::hints: a parked pod is woken when a plugin that rejected it says of an event that it can help (kube-framework 10.4 to
// 10.6). Nobody looks whether the pod fits.
namespace gangsched::engine {

/// The 63rd plugin of a profile and later ones share a bit.
GANGSCHED_INLINE std::uint64_t core::bit_of(const kernel_table& of, const plugin_entry& plugin) noexcept {
  const auto index = static_cast<std::uint64_t>(&plugin - of.plugins.data());
  return std::uint64_t{1} << std::min<std::uint64_t>(index, 62);
}

/// Who rejected the pod, when filters are known by their marks. Nobody did if there is no node: to Kubernetes that is an error.
GANGSCHED_INLINE core::rejection core::rejection_of(row_t pod, std::uint64_t marks) {
  const class_plan& plan = picker_.plan_of(state_->class_of(pod));
  const kernel_table& table = *plan.table;
  rejection made;
  for (const planned& hook : plan.filters) {
    if ((marks & rejector(hook.mark)) != 0) made.unschedulable |= bit_of(table, *hook.plugin);
  }
  // Plugins that left only some nodes to be asked about have rejected the others.
  const std::string narrowing = plan.narrowed ? " " + plan.narrowed_by + " " : "";
  for (const plugin_entry& plugin : table.plugins) {
    if (!plan.rejected.ok() && plan.rejected_by == plugin.name) {
      (plan.rejected.code == code::pending ? made.pending : made.unschedulable) |= bit_of(table, plugin);
    } else if (plan.narrowed && narrowing.find(" " + plugin.name + " ") != std::string::npos) {
      made.unschedulable |= bit_of(table, plugin);
    }
  }
  if (const plugin_entry* by = picker_.rejected_by(); made.empty() && by != nullptr) made.unschedulable |= bit_of(table, *by);
  if (made.empty() && state_->nodes.total[0] != 0) {
    for (const plugin_entry& plugin : table.hooks(point::reserve)) made.unschedulable |= bit_of(table, plugin);
  }
  return made;
}

/// Who takes the event for a help without being asked, and who is to be asked. A plugin that says nothing of events is taken to mind
/// every one. One that wants to know of new nodes hears of them too when a taint goes that kept it from looking at them; Kubernetes
/// does not ask it then.
GANGSCHED_INLINE core::queueing_event core::queueing_event_of(const object_event& heard) const {
  queueing_event made{event_of(heard.record), {}};
  made.what.what = heard.what;
  made.what.old_node = heard.old_node.get(), made.what.new_node = heard.new_node.get();
  made.what.old_pod = heard.old_pod.get(), made.what.new_pod = heard.new_pod.get();
  for (const kernel_table& table : profiles_.all()) {
    queueing_event::audience& to = made.by_profile.emplace_back();
    for (const plugin_entry& plugin : table.plugins) {
      const bool by_taint = heard.what == events::node_taints && !any(plugin.wakes_on & events::node_taints) &&
                            any(plugin.wakes_on & events::node_added);
      if (plugin.requeue_pod == nullptr || by_taint)
        to.unasked |= bit_of(table, plugin);
      else if (any(plugin.wakes_on & heard.what))
        to.asked |= bit_of(table, plugin);
    }
  }
  return made;
}

GANGSCHED_INLINE const core::queueing_event::audience& core::concerned(const queueing_event& call, row_t pod) const noexcept {
  return call.by_profile[static_cast<std::size_t>(&entities_.profile_of(pod) - profiles_.all().data())];
}

GANGSCHED_INLINE core::strategy core::judge(row_t pod, const object_event& heard, queueing_event& call) {
  const bool own = heard.subject == pod_id{pod, state_->pods.rows.generation(pod)};
  if (own ? heard.to == object_event::audience::others : heard.to == object_event::audience::subject) return strategy::skip;
  const rejection& by = rejections_[pod];
  if (by.empty()) return strategy::after_backoff;
  const queueing_event::audience& to = concerned(call, pod);
  if ((by.pending & to.unasked) != 0) return strategy::immediately;
  strategy best = (by.unschedulable & to.unasked) != 0 ? strategy::after_backoff : strategy::skip;
  if (((by.unschedulable | by.pending) & to.asked) == 0) return best;
  call.what.own = own;
  const pod_info rejected{*state_, pod};
  const kernel_table& table = entities_.profile_of(pod);
  for (const plugin_entry& plugin : table.plugins) {
    const std::uint64_t bit = bit_of(table, plugin) & to.asked;
    const bool more = (by.pending & bit) != 0 || ((by.unschedulable & bit) != 0 && best == strategy::skip);
    if (!more || plugin.requeue_pod(plugin.self.get(), call.what, rejected) == hint::skip) continue;
    if ((by.pending & bit) != 0) return strategy::immediately;
    best = strategy::after_backoff;
  }
  return best;
}

/// A parked pod goes where the strategy says.
GANGSCHED_INLINE void core::move(row_t pod, strategy how) {
  if (how == strategy::skip) return;
  ++statistics_.wake_ups;
  if (how == strategy::immediately)
    queue_.activate({pod, false});
  else
    queue_.wake({pod, false}, now_);
}

/// Hooks that keep pods out of the queue are asked again when they say that an event may change their mind.
GANGSCHED_INLINE void core::ask_gates(queueing_event& call) {
  call.what.own = false;
  const auto concerns_gates = [&](const kernel_table& table) {
    const queueing_event::audience& to = call.by_profile[static_cast<std::size_t>(&table - profiles_.all().data())];
    for (const plugin_entry& one : table.hooks(point::pre_enqueue)) {
      if ((bit_of(table, one) & to.asked) != 0) return true;
    }
    return false;
  };
  if (std::none_of(profiles_.all().begin(), profiles_.all().end(), concerns_gates)) return;
  for (row_t pod = 0; pod < state_->pods.rows.count(); ++pod) {
    const queue_item* item = queue_.find({pod, false});
    if (item == nullptr || item->where != place::gated || !state_->pods.alive(pod)) continue;
    const kernel_table& table = entities_.profile_of(pod);
    for (const plugin_entry& plugin : table.hooks(point::pre_enqueue)) {
      if ((bit_of(table, plugin) & concerned(call, pod).asked) == 0) continue;
      if (plugin.requeue_pod(plugin.self.get(), call.what, pod_info{*state_, pod}) == hint::skip) continue;
      gate_or_activate({pod, false});
      break;
    }
  }
}

GANGSCHED_INLINE void core::hear(const change& record) {
  heard_.clear();
  object_cache_->read(record, heard_);
  if (parked_.empty() && in_flight_.empty() && queue_.counts().gated == 0) return;
  for (object_event& one : heard_) {
    queueing_event call = queueing_event_of(one);
    for (auto it = parked_.begin(); it != parked_.end();) {
      parked_class& line = it->second;
      while (line.front < line.pods.size() && !stands(line.pods[line.front])) ++line.front;
      for (std::size_t i = line.front; i < line.pods.size(); ++i) {
        const row_t pod = line.pods[i].pod;
        if (!stands(line.pods[i]) || !state_->pods.alive(pod)) continue;  // gone, as the log is about to say
        if (state_->classes[state_->pods.cls[pod]].priority > one.highest) continue;
        move(pod, judge(pod, one, call));
      }
      it = line.front == line.pods.size() ? parked_.erase(it) : std::next(it);
    }
    if (one.to != object_event::audience::subject) ask_gates(call);
    in_flight_.add_event(std::move(one));
  }
}

}  // namespace gangsched::engine
