#include <algorithm>
#include <utility>

#include "gangsched/engine/core.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Who can be helped by a change. Local rejections are asked again on the one node that changed: exact, so nobody is woken in vain
// by a change elsewhere. Keyed and opaque rejections are about more than one node: any change of what they read can help.
namespace gangsched::engine {

GANGSCHED_INLINE bool core::stands(const parked_class::entry& one) const noexcept {
  const queue_item* item = queue_.find({one.pod, false});
  return item != nullptr && item->where == place::unschedulable && item->ticket == one.ticket;
}

GANGSCHED_INLINE void core::line_up(row_t pod, std::uint64_t rejectors, std::uint64_t since) {
  const class_id cls = state_->class_of(pod);
  parked_class& line = parked_[cls];
  if (line.generation != state_->classes.generation(cls)) line = {};  // of a class that had this id before
  line.generation = state_->classes.generation(cls);
  line.rejectors |= rejectors;
  if (line.pods.size() >= line.compact_at) {
    // Those that left by another way (timeout, update, removal) are still in the line.
    line.pods.erase(line.pods.begin(), line.pods.begin() + static_cast<std::ptrdiff_t>(line.front));
    line.front = 0;
    std::erase_if(line.pods, [&](const parked_class::entry& one) { return !stands(one); });
    line.compact_at = std::max<std::size_t>(64, 2 * line.pods.size());
  }
  line.pods.push_back({pod, queue_.find({pod, false})->ticket, since});
}

GANGSCHED_INLINE void core::park(row_t pod, std::uint64_t rejectors) {
  come_back(pod, by_hints() ? rejection_of(pod, rejectors) : rejection{}, rejectors);
}

/// What @p from and later records did was undone by the end of the same cycle, or left less room than before: it helps nobody.
GANGSCHED_INLINE void core::hush(std::uint64_t from) {
  const std::uint64_t end = state_->log.end();
  if (!hushed_.empty() && hushed_.back().second == from) hushed_.back().second = end;
  else if (from != end) hushed_.emplace_back(from, end);
}

/// Back into the queue after a reservation was taken back: waits for its time only.
GANGSCHED_INLINE void core::requeue(row_t pod, bool error) {
  if (const auto* tried = in_flight_.find(entity{pod, false}); tried != nullptr) in_flight_.end_attempt(*tried);
  if (state_->pods.terminating[pod] || !entities_.has_profile(pod)) return;
  if (by_hints()) rejections_[pod] = {};
  const entity e = entities_.entity_of(pod);
  if (e.group) {
    retry_group(e.row, error, true);
  } else {
    queue_item& item = queue_.item(e);
    item.priority = state_->classes[state_->class_of(pod)].priority;  // may have changed while it had a node
    // It had one already when the scheduler was made, and what is written down is of nobody, or of another pod that had the row.
    if (item.arrival != state_->pods.arrival[pod]) item.failures = item.errors = item.attempts = 0;
    item.arrival = state_->pods.arrival[pod];
    queue_.retry_later(e, now_, 1, error, true);
  }
  if (e.group ? group_rejected(e.row) : pod_rejected(pod)) queue_.gate(e);  // so may what its gate looks at
}

/// @p for_change: it waits for one. Otherwise for its backoff; strictly: for nothing else.
GANGSCHED_INLINE void core::retry_group(row_t group, bool error, bool strict, bool for_change) {
  const entity e{group, true};
  std::erase_if(parked_groups_, [&](const parked_group& one) { return one.group.row == group; });  // its own release is no news to it
  queue_item& item = queue_.item(e);
  std::size_t pending = 0;
  entities_.each_member(group, [&](row_t pod) {
    if (!entities_.wants_node(pod)) return;
    ++pending;
    item.arrival = std::min(item.arrival, state_->pods.arrival[pod]);
  });
  if (pending == 0) return queue_.take_out(e);
  item.priority = entities_.group_priority(group);
  // Members that fail together are one failure.
  const bool counted = (item.where == place::timed || item.where == place::unschedulable) && item.since == now_;
  if (std::uint32_t& count = error ? item.errors : item.failures; counted && count != 0) --count;
  if (for_change) queue_.park(e, now_, pending);
  else queue_.retry_later(e, now_, pending, error, strict);
}

GANGSCHED_INLINE void core::collect_classes(parked_group& of) {
  of.classes.clear();
  if (!gangsched::detail::names_group(*state_, of.group)) return;
  entities_.each_member(of.group.row, [&](row_t pod) {
    if (state_->pods.state[pod] != pod_state::pending || !entities_.has_profile(pod)) return;
    const class_id cls = state_->class_of(pod);
    const std::pair one{cls, state_->classes.generation(cls)};
    if (std::find(of.classes.begin(), of.classes.end(), one) == of.classes.end()) of.classes.push_back(one);
  });
}

/// Until a change can help one of its members; under Kubernetes' rule, which has no hints for groups, for its backoff.
GANGSCHED_INLINE void core::park_group(row_t group, std::uint64_t rejectors, const char* reason) {
  retry_group(group, false, false, !by_hints());
  parked_group entry{{group, state_->groups.rows.generation(group)}, {}, rejectors, state_->log.end(), reason};
  collect_classes(entry);
  parked_groups_.push_back(std::move(entry));
}

/// The first of the class's line that failed before the change.
GANGSCHED_INLINE void core::wake_next(const wake_call& why) {
  if (parked_.empty()) return;
  const auto found = parked_.find(why.cls);
  if (found == parked_.end()) return;
  parked_class& line = found->second;
  for (; line.front < line.pods.size(); ++line.front) {
    const parked_class::entry next = line.pods[line.front];
    if (!stands(next)) continue;
    if (next.since > why.position) return;
    ++line.front;
    ++statistics_.wake_ups;
    calls_[next.pod] = why;
    queue_.wake({next.pod, false}, now_);
    return;
  }
  parked_.erase(found);
}

/// The pod needs no more of what it was woken for than it got, or could not use it: the next of the class may.
GANGSCHED_INLINE void core::pass_on(row_t pod) {
  if (calls_[pod].cls != no_class) wake_next(std::exchange(calls_[pod], {}));
}

GANGSCHED_INLINE void core::rekey_parked() {
  epoch_ = state_->classes.epoch();
  struct parked_pod {
    row_t pod;
    class_id before;
    std::uint64_t rejectors, since;
  };
  std::map<class_id, parked_class> lines;
  lines.swap(parked_);
  std::vector<parked_pod> pods;
  for (auto& [cls, line] : lines) {
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      const parked_class::entry& one = line.pods[i];
      if (stands(one) && state_->pods.alive(one.pod)) pods.push_back({one.pod, cls, line.rejectors, one.since});
    }
  }
  // In order of failure, as they stood.
  std::stable_sort(pods.begin(), pods.end(), [](const parked_pod& a, const parked_pod& b) { return a.since < b.since; });
  for (const parked_pod& one : pods) line_up(one.pod, one.rejectors, one.since);
  // Who was woken for a class that has fallen apart was woken for one of the parts only.
  std::vector<wake_call> open;
  for (row_t pod = 0; pod < calls_.size(); ++pod) {
    if (calls_[pod].cls == no_class || !state_->pods.alive(pod)) continue;
    open.push_back(calls_[pod]);
    calls_[pod].cls = state_->class_of(pod);
  }
  for (const wake_call& one : open) {
    std::vector<class_id> parts;
    for (const parked_pod& parked : pods) {
      if (parked.before == one.cls) parts.push_back(state_->pods.cls[parked.pod]);
    }
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (const class_id split : parts) wake_next({split, one.position});
  }
  for (parked_group& one : parked_groups_) collect_classes(one);
}

GANGSCHED_INLINE bool core::helps(class_id cls, std::uint64_t rejectors, const change& record, const event& what) try {
  const class_plan& plan = picker_.plan_of(cls);
  if (!plan.rejected.ok()) return false;  // nothing but a change of the pod itself helps
  // What the change can mean to hooks that look at more than one node; a bind shows in what its pod's node holds.
  reads touched = record.facets;
  if (record.kind == change_kind::pod_bound) touched = reads::usage | reads::ports | reads::pods;
  if (record.kind == change_kind::namespace_changed) touched = reads::pods;  // who is near whom may be told by their labels
  bool local = rejectors == 0;
  bool beyond = !plan.cycle_hooks.empty();
  for (const planned& hook : plan.filters) {
    if ((rejectors & rejector(hook.mark)) == 0) continue;
    if (hook.plugin->requeue != nullptr) {
      if (!any(hook.plugin->wakes_on & what.what)) continue;
      if (hook.plugin->requeue(hook.plugin->self.get(), what, pod_view{*state_, state_->classes[cls]}) == hint::queue) return true;
      continue;
    }
    const auto same = [&](const planned& other) { return other.mark == hook.mark; };
    if (std::any_of(plan.local_filters.begin(), plan.local_filters.end(), same)) local = true;
    else beyond = true;
  }
  if (beyond) return any(touched);
  return local && what.node && any(record.facets & plan.filter_facets) && picker_.passes_locally(cls, what.node->id().row);
} catch (const hook_error&) {
  return true;  // the attempt will say what it is
}

GANGSCHED_INLINE event core::event_of(const change& record) const {
  event made{record.kind, record.facets, std::nullopt, std::nullopt};
  if (const row_t node = record.node(); node != no_row && state_->nodes.alive(node)) made.node.emplace(*state_, node);
  if (record.about_pod() && state_->pods.alive(record.row)) made.pod.emplace(*state_, record.row);
  const auto touched = [&](reads facet, events what) {
    if (any(record.facets & facet)) made.what |= what;
  };
  switch (record.kind) {
    case change_kind::node_added: made.what = events::node_added; break;
    case change_kind::node_removed: made.what = events::node_removed; break;
    case change_kind::node_updated:
      touched(reads::labels, events::node_labels);
      touched(reads::taints | reads::schedulable, events::node_taints);
      touched(reads::allocatable, events::node_allocatable | events::node_volume_limits);
      touched(reads::devices, events::node_allocatable);
      touched(reads::images, events::node_images);
      break;
    case change_kind::pod_added:
    case change_kind::pod_bound: made.what = events::pod_added; break;
    case change_kind::pod_removed:
    case change_kind::pod_released: made.what = events::pod_removed; break;
    case change_kind::pod_updated:
      made.what = events::pod_labels | events::pod_scaled_down | events::pod_tolerations | events::pod_updated;
      break;
    case change_kind::pod_terminating: made.what = events::pod_updated; break;
    case change_kind::namespace_changed: made.what = events::namespace_changed; break;
    default: break;
  }
  if (!any(made.what)) made.what = events::anything;  // a column of a plugin's own, say
  return made;
}

GANGSCHED_INLINE bool core::waits_parked(const parked_group& one) const noexcept {
  const queue_item* item = queue_.find({one.group.row, true});
  const bool waits = item != nullptr && (item->where == place::timed || item->where == place::unschedulable);
  return waits && gangsched::detail::names_group(*state_, one.group);
}

GANGSCHED_INLINE bool core::minds_labels(row_t root) const {
  return !state_->groups.each_below(root, [&](row_t group) {
    const group_spec& spec = state_->groups.record[group]->spec;
    return spec.topology.within.empty() && spec.topology.slices.empty() && spec.topology.spread_key.empty() && spec.affinity.empty();
  });
}

/// Where others are decides where it may be.
GANGSCHED_INLINE bool core::minds_neighbours(row_t root) const {
  return !state_->groups.each_below(root, [&](row_t group) { return state_->groups.record[group]->spec.affinity.empty(); });
}

GANGSCHED_INLINE bool core::helps(const parked_group& one, const change& record, const event& what) {
  if (one.rejectors == 0 ? !one.classes.empty() : minds_neighbours(one.group.row)) return true;
  // No filter of a member reads the labels that its group's domains are made of.
  if (what.node && any(record.facets & reads::labels) && minds_labels(one.group.row)) return true;
  return std::any_of(one.classes.begin(), one.classes.end(), [&](const auto& entry) {
    return entry.second == state_->classes.generation(entry.first) && helps(entry.first, one.rejectors, record, what);
  });
}

GANGSCHED_INLINE void core::wake_by(const change& read, std::uint64_t position) {
  const auto covers = [&](const auto& range) { return position >= range.first && position < range.second; };
  // (Who was placed elsewhere gave up what was kept for it all the same.)
  if (read.kind != change_kind::pod_nominated && std::any_of(hushed_.begin(), hushed_.end(), covers)) return;
  if (by_hints()) {
    std::erase_if(parked_groups_, [&](const parked_group& one) { return !waits_parked(one); });
    return hear(read);
  }
  change record = read;
  // Assumptions and pending pods help nobody.
  switch (record.kind) {
    case change_kind::pod_assumed:
    case change_kind::pod_gated:
    case change_kind::group_added:
    case change_kind::group_updated:
    case change_kind::group_removed: return;
    case change_kind::pod_nominated:
      // A nomination that goes gives back the room that was kept for the pod, unless it took it.
      if (record.before == no_row || (state_->pods.alive(record.row) && state_->pods.node[record.row] == record.before)) return;
      record.kind = change_kind::pod_released;
      break;
    default: break;
  }
  if (record.node() == no_row && record.kind != change_kind::namespace_changed) return;
  in_flight_.add_event({.record = record});
  if (parked_.empty() && parked_groups_.empty()) return;
  const event what = event_of(record);

  std::erase_if(parked_, [&](const auto& entry) {  // nobody stands there any more
    return entry.second.generation != state_->classes.generation(entry.first);
  });
  std::vector<class_id> helped;
  for (const auto& [cls, line] : parked_) {
    if (helps(cls, line.rejectors, record, what)) helped.push_back(cls);
  }
  for (const class_id cls : helped) {
    std::uint64_t before = 0;
    do before = statistics_.wake_ups, wake_next({cls, position});
    while (options_.wake == wake_rule::all && statistics_.wake_ups != before);
  }
  std::vector<row_t> groups;
  std::erase_if(parked_groups_, [&](const parked_group& one) {
    if (!waits_parked(one)) return true;
    if (one.since > position) return false;
    const bool can = helps(one, record, what);
    if (can) groups.push_back(one.group.row);
    return can;
  });
  for (const row_t group : groups) {
    ++statistics_.wake_ups;
    queue_.wake({group, true}, now_);
  }
}

}  // namespace gangsched::engine
