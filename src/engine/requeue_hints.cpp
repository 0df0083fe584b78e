#include <algorithm>

#include "gangsched/engine/requeue_judge.hpp"

// wake_rule::hints (KEP-4247; kube-scheduler: isPodWorthRequeuing, backend/queue/scheduling_queue.go).
namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE rejection requeue_judge::rejection_of(row_t pod, std::uint64_t rejectors) {
  const class_plan& plan = picks_->plan_of(state_->class_of(pod));
  const kernel_table& table = *plan.table;
  rejection made;
  for (const planned& hook : plan.filters) {
    made.unschedulable |= rejectors & plugin_bit(table, *hook.plugin);
  }
  // Plugins that left only some nodes to be asked about have rejected the others.
  const std::string narrowing = plan.narrowed ? " " + plan.narrowed_by + " " : "";
  for (const plugin_entry& plugin : table.plugins) {
    if (!plan.rejected.ok() && plan.rejected_by == plugin.name) {
      (plan.rejected.code == code::pending ? made.pending : made.unschedulable) |= plugin_bit(table, plugin);
    } else if (plan.narrowed && narrowing.find(" " + plugin.name + " ") != std::string::npos) {
      made.unschedulable |= plugin_bit(table, plugin);
    }
  }
  if (const plugin_entry* by = picks_->rejected_by(); made.empty() && by != nullptr)
    made.unschedulable |= plugin_bit(table, *by);
  const bool by_reservations = any(model::reservation_table::also_reads(state_->classes[state_->pods.cls[pod]]));
  if (by_reservations && plan.rejected.ok() && picks_->rejected_by() == nullptr)
    made.unschedulable |= rejection::anything;
  if (made.empty() && state_->nodes.total[0] != 0) {
    for (const plugin_entry& plugin : table.hooks(point::reserve)) made.unschedulable |= plugin_bit(table, plugin);
  }
  return made;
}

/// Which plugins take the event for a help without being asked, and which are to be asked. A plugin that says nothing of events minds every
/// one. One that wants to know of new nodes hears of them too when a taint goes that kept it from looking at them; Kubernetes
/// does not ask it then.
GANGSCHED_INLINE queueing_event requeue_judge::queueing_event_of(const object_event& happened) const {
  queueing_event made{event_of(happened.record), {}};
  made.what.what = happened.what;
  made.what.old_node = happened.old_node.get(), made.what.new_node = happened.new_node.get();
  made.what.old_pod = happened.old_pod.get(), made.what.new_pod = happened.new_pod.get();
  for (const kernel_table& table : profiles_->all()) {
    queueing_event::audience& to = made.by_profile.emplace_back();
    for (const plugin_entry& plugin : table.plugins) {
      if (!concerns(plugin, happened.record)) continue;
      const bool by_taint = happened.what == events::node_taints && !any(plugin.wakes_on & events::node_taints) &&
                            any(plugin.wakes_on & events::node_added);
      if (plugin.requeue_pod == nullptr || by_taint)
        to.unasked |= plugin_bit(table, plugin);
      else if (any(plugin.wakes_on & happened.what))
        to.asked |= plugin_bit(table, plugin);
    }
  }
  return made;
}

GANGSCHED_INLINE const queueing_event::audience& requeue_judge::audience_of(
    const queueing_event& what, const kernel_table& profile) const noexcept {
  return what.by_profile[static_cast<std::size_t>(&profile - profiles_->all().data())];
}

GANGSCHED_INLINE queueing_strategy requeue_judge::judge(row_t pod, const rejection& by, const object_event& happened,
                                                        queueing_event& what) const {
  const bool own = happened.subject == pod_id{pod, state_->pods.rows.generation(pod)};
  if (own ? happened.to == object_event::audience::others : happened.to == object_event::audience::subject)
    return queueing_strategy::skip;
  if (by.empty() && happened.record.about_numbers()) return queueing_strategy::skip;  // there is no node
  if (by.empty() || (by.unschedulable & rejection::anything) != 0) return queueing_strategy::after_backoff;
  if (happened.record.about_victims() && preempts_by_queues(entities_->profile_of(pod)))
    return queueing_strategy::after_backoff;
  const queueing_event::audience& to = audience_of(what, entities_->profile_of(pod));
  if ((by.pending & to.unasked) != 0) return queueing_strategy::immediately;
  queueing_strategy best =
      (by.unschedulable & to.unasked) != 0 ? queueing_strategy::after_backoff : queueing_strategy::skip;
  if (((by.unschedulable | by.pending) & to.asked) == 0) return best;
  what.what.own = own;
  const pod_info rejected{*state_, pod};
  const kernel_table& table = entities_->profile_of(pod);
  for (const plugin_entry& plugin : table.plugins) {
    const std::uint64_t bit = plugin_bit(table, plugin) & to.asked;
    const bool more = (by.pending & bit) != 0 || ((by.unschedulable & bit) != 0 && best == queueing_strategy::skip);
    if (!more || plugin.requeue_pod(plugin.self.get(), what.what, rejected) == hint::skip) continue;
    if ((by.pending & bit) != 0) return queueing_strategy::immediately;
    best = queueing_strategy::after_backoff;
  }
  return best;
}

GANGSCHED_INLINE rejection requeue_judge::named(row_t pod, const rejected_by& why, std::uint64_t& rejectors) {
  rejection by;
  const kernel_table& table = entities_->profile_of(pod);
  const auto add = [&](const std::string& name, std::uint64_t& to) {
    const auto plugin = std::find_if(table.plugins.begin(), table.plugins.end(),
                                     [&](const plugin_entry& one) { return one.name == name; });
    const bool known = plugin != table.plugins.end();
    to |= known ? plugin_bit(table, *plugin) : rejection::elsewhere;
    rejectors |= known && plugin->points.has(point::filter) ? plugin_bit(table, *plugin) : unknown_rejectors;
  };
  for (const std::string& name : why.unschedulable_plugins) add(name, by.unschedulable);
  for (const std::string& name : why.pending_plugins) add(name, by.pending);
  return by;
}

GANGSCHED_INLINE rejected_by requeue_judge::names_of(row_t pod, const rejection& by) const {
  rejected_by names;
  const kernel_table& table = entities_->profile_of(pod);
  for (const plugin_entry& plugin : table.plugins) {
    if ((by.unschedulable & plugin_bit(table, plugin)) != 0) names.unschedulable_plugins.push_back(plugin.name);
    if ((by.pending & plugin_bit(table, plugin)) != 0) names.pending_plugins.push_back(plugin.name);
  }
  return names;
}

GANGSCHED_INLINE bool requeue_judge::concerns_gates(const queueing_event& what) const noexcept {
  return std::any_of(profiles_->all().begin(), profiles_->all().end(), [&](const kernel_table& profile) {
    const queueing_event::audience& to = audience_of(what, profile);
    for (const plugin_entry& one : profile.hooks(point::pre_enqueue)) {
      if ((plugin_bit(profile, one) & to.asked) != 0) return true;
    }
    return false;
  });
}

GANGSCHED_INLINE bool requeue_judge::may_open_gate(row_t pod, const queueing_event& what) const {
  const kernel_table& profile = entities_->profile_of(pod);
  for (const plugin_entry& plugin : profile.hooks(point::pre_enqueue)) {
    if ((plugin_bit(profile, plugin) & audience_of(what, profile).asked) == 0) continue;
    if (plugin.requeue_pod(plugin.self.get(), what.what, pod_info{*state_, pod}) != hint::skip) return true;
  }
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
