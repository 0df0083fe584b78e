#include "gangsched/engine/requeue_judge.hpp"

#include <algorithm>

#include "gangsched/core/hash.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/model/cluster_checks.hpp"

// The exact rule.
namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE std::optional<change> requeue_judge::helpful(const change& read) const noexcept {
  change record = read;
  switch (record.kind) {
    case change_kind::pod_assumed:
    case change_kind::pod_gated:
    case change_kind::group_added:
    case change_kind::group_updated:
    case change_kind::group_removed: return std::nullopt;
    case change_kind::pod_nominated:
      if (record.before == no_row || (state_->pods.alive(record.row) && state_->pods.node[record.row] == record.before))
        return std::nullopt;
      record.kind = change_kind::pod_released;
      break;
    default: break;
  }
  if (record.node() == no_row && record.kind != change_kind::namespace_changed && !record.about_numbers())
    return std::nullopt;
  return record;
}

GANGSCHED_INLINE bool requeue_judge::concerns(const plugin_entry& plugin, const change& record) noexcept {
  return !record.about_numbers() || any(record.facets & plugin.columns);
}

GANGSCHED_INLINE bool requeue_judge::concerns(const kernel_table& profile, const change& record) noexcept {
  return std::any_of(profile.plugins.begin(), profile.plugins.end(),
                     [&](const plugin_entry& one) { return concerns(one, record); });
}

GANGSCHED_INLINE bool requeue_judge::preempts_by_queues(const kernel_table& profile) noexcept {
  return std::any_of(profile.plugins.begin(), profile.plugins.end(), [](const plugin_entry& one) {
    return one.reads_queues && (one.points.has(point::post_filter) || one.points.has(point::group_preempt));
  });
}

GANGSCHED_INLINE bool requeue_judge::helps(class_id cls, std::uint64_t rejectors, const change& record,
                                           const event& what) try {
  const class_plan& plan = picks_->plan_of(cls);
  if (!plan.rejected.ok()) return false;  // nothing but a change of the pod itself helps
  if (record.about_victims() && preempts_by_queues(*plan.table)) return true;
  // What the change can mean to hooks that look at more than one node; a bind shows in what its pod's node holds.
  // (A node's name stays, and its cookie means something to plugins of the host only: local filters that read it.)
  constexpr reads but_name{static_cast<std::uint32_t>(reads::everything) & ~static_cast<std::uint32_t>(reads::name)};
  reads facets = record.facets & but_name;
  reads touched = facets;
  if (record.kind == change_kind::pod_bound) touched = reads::usage | reads::ports | reads::pods;
  if (record.kind == change_kind::namespace_changed)
    touched = reads::pods;  // affinity between pods may depend on their labels
  const auto some_concerned = [&](const auto& hooks) {
    return std::any_of(hooks.begin(), hooks.end(), [&](const planned& one) { return concerns(*one.plugin, record); });
  };
  bool local = rejectors == 0;
  bool beyond = some_concerned(plan.cycle_hooks);
  // A filter that rejects a node by a number need not be among those that rejected the pod: another one, local as well, had rejected the
  // node first.
  const bool lets_more = record.about_numbers() && some_concerned(plan.local_filters);
  for (const planned& hook : plan.filters) {
    if ((rejectors & plugin_bit(*plan.table, *hook.plugin)) == 0) continue;
    const auto same = [&](const planned& other) { return other.mark == hook.mark; };
    const bool is_local =
        hook.plugin->requeue == nullptr && std::any_of(plan.local_filters.begin(), plan.local_filters.end(), same);
    local = local || (is_local && lets_more);
    if (!concerns(*hook.plugin, record)) continue;
    if (hook.plugin->requeue != nullptr) {
      if (!any(hook.plugin->wakes_on & what.what)) continue;
      if (hook.plugin->requeue(hook.plugin->self.get(), what, pod_view{*state_, state_->classes[cls]}) == hint::queue)
        return true;
      continue;
    }
    (is_local ? local : beyond) = true;
    if (is_local && hook.plugin->requeue_pod == nullptr) facets |= record.facets & hook.plugin->filter.facets;
  }
  if (record.about_numbers()) {
    // Reserve and permit hooks that refused are not among the rejectors, which are filters.
    beyond =
        beyond || std::any_of(plan.table->plugins.begin(), plan.table->plugins.end(), [&](const plugin_entry& one) {
          const bool without_filter =
              (plan.filtering & plugin_bit(*plan.table, one)) == 0 || (rejectors == 0 && !what.node);
          return without_filter && (one.points.has(point::reserve) || one.points.has(point::permit)) &&
                 concerns(one, record);
        });
  }
  if (beyond) return any(touched);
  const reads read = plan.cached.filters | model::reservation_table::also_reads(state_->classes[cls]);
  return local && what.node && any(facets & read) && picks_->passes_locally(cls, what.node->id().row);
} catch (const hook_error&) {
  return true;  // the attempt will say what it is
}

GANGSCHED_INLINE bool requeue_judge::concerns(class_id cls, std::uint64_t refusers, const event& what) const {
  if (!any(what.what)) return false;
  const pod_class& of = state_->classes[cls];
  const kernel_table& profile = profile_of(cls);
  for (const plugin_entry& plugin : profile.hooks(point::admission)) {
    if ((refusers & plugin_bit(profile, plugin)) == 0) continue;
    if (plugin.requeue == nullptr) return true;
    if (!any(plugin.wakes_on & what.what)) continue;
    if (plugin.requeue(plugin.self.get(), what, pod_view{*state_, of}) == hint::queue) return true;
  }
  return false;
}

/// Whether @p is holds of a class of members that wait. (A class without pods may be known still, or not: its pods have gone, and
/// it says nothing.)
template <class Is>
bool requeue_judge::any_class(const rejected_group& of, const Is& is) const {
  return std::any_of(of.classes.begin(), of.classes.end(), [&](const auto& one) {
    const auto& [cls, generation] = one;
    return generation == state_->classes.generation(cls) && state_->classes.has_pods(cls) && is(cls);
  });
}

GANGSCHED_INLINE bool requeue_judge::concerns(const rejected_group& group, std::uint64_t refusers,
                                              const event& what) const {
  return any_class(group, [&](class_id cls) { return concerns(cls, refusers, what); });
}

/// (A node that some local filter rejects need not be looked at, whatever plugin rejected the class.)
GANGSCHED_INLINE void requeue_judge::add_needs(class_id cls, std::uint64_t rejectors, help_condition& to) try {
  constexpr std::size_t most_names = 16;  // of more the amounts are the better index
  const class_plan& plan = picks_->plan_of(cls);
  if (!plan.rejected.ok()) return;
  to.victims = to.victims || preempts_by_queues(*plan.table);
  if (state_->reserved.concerns(state_->classes[cls]))
    to.anything = true;  // any node may have room for it by what is held there
  bool local = rejectors == 0;
  if (outdated(cls, rejectors) != 0 || !plan.cycle_hooks.empty()) to.anything = true;
  for (const planned& hook : plan.filters) {
    if ((rejectors & plugin_bit(*plan.table, *hook.plugin)) == 0) continue;
    const auto same = [&](const planned& other) { return other.mark == hook.mark; };
    if (hook.plugin->requeue != nullptr)
      to.what |= hook.plugin->wakes_on;
    else if (std::any_of(plan.local_filters.begin(), plan.local_filters.end(), same))
      local = true;
    else
      to.anything = true;
  }
  for (const plugin_entry& one : plan.table->plugins) {
    const bool without_filter = rejectors == 0 || (plan.filtering & plugin_bit(*plan.table, one)) == 0;
    if (without_filter && (one.points.has(point::reserve) || one.points.has(point::permit))) to.columns |= one.columns;
  }
  if (to.anything || !local) return;
  if (plan.narrowed && plan.only.empty()) return;
  needed_node& made = to.nodes.emplace_back();
  made.owner = state_->classes[cls].held_room;
  made.facets = plan.cached.filters;
  if (plan.narrowed && plan.only.size() <= most_names) made.named = plan.only;
  for (const planned& hook : plan.local_filters) {
    if (hook.plugin->filter.least_free == nullptr) continue;
    const hook_context context = plan.context(*state_, hook, no_row);
    for (const amount& needed : hook.plugin->filter.least_free(hook.plugin->self.get(), context)) {
      const auto its_kind = [&](const amount& one) { return one.kind == needed.kind; };
      const auto known = std::find_if(made.least.begin(), made.least.end(), its_kind);
      if (known != made.least.end())
        known->value = std::max(known->value, needed.value);
      else if (needed.value > 0)
        made.least.push_back(needed);
    }
  }
} catch (const hook_error&) {
  to.anything = true;
}

GANGSCHED_INLINE void requeue_judge::add_concerns(class_id cls, std::uint64_t refusers, help_condition& to) const {
  const kernel_table& profile = profile_of(cls);
  for (const plugin_entry& plugin : profile.hooks(point::admission)) {
    if ((refusers & plugin_bit(profile, plugin)) == 0) continue;
    if (plugin.requeue == nullptr) to.anything = true;
    to.what |= plugin.wakes_on;
  }
}

GANGSCHED_INLINE help_condition requeue_judge::condition_of(class_id cls, bool filtered, std::uint64_t rejectors,
                                                            std::uint64_t refusers) {
  help_condition made;
  if (filtered) add_needs(cls, rejectors, made);
  add_concerns(cls, refusers, made);
  return made;
}

GANGSCHED_INLINE std::uint64_t requeue_judge::possible_rejectors(class_id cls) try {
  const class_plan& plan = picks_->plan_of(cls);
  return plan.rejected.ok() ? plan.filtering : unknown_rejectors;
} catch (const hook_error&) {
  return unknown_rejectors;
}

GANGSCHED_INLINE std::uint64_t requeue_judge::outdated(class_id cls, std::uint64_t rejectors) try {
  if (rejectors == unknown_rejectors) return 0;
  const class_plan& plan = picks_->plan_of(cls);
  return plan.rejected.ok() ? rejectors & ~plan.filtering : 0;
} catch (const hook_error&) {
  return rejectors;  // the attempt will say what it is
}

GANGSCHED_INLINE events requeue_judge::kind_of(const change& record) noexcept {
  events what = events::nothing;
  const auto touched = [&](reads facet, events told) {
    if (any(record.facets & facet)) what |= told;
  };
  switch (record.kind) {
    case change_kind::node_added: return events::node_added;
    case change_kind::node_removed: return events::node_removed;
    case change_kind::node_updated:
      if (record.facets == reads::name) return what;  // the cookie: Kubernetes has no such event
      touched(reads::labels, events::node_labels);
      touched(reads::taints | reads::schedulable, events::node_taints);
      touched(reads::allocatable, events::node_allocatable | events::node_volume_limits);
      touched(reads::devices, events::node_allocatable);
      touched(reads::images, events::node_images);
      touched(reads::features, events::node_features);
      break;
    case change_kind::pod_added:
    case change_kind::pod_bound: return events::pod_added;
    case change_kind::pod_removed:
    case change_kind::pod_released: return events::pod_removed;
    case change_kind::pod_updated:
      return events::pod_labels | events::pod_scaled_down | events::pod_tolerations | events::pod_updated;
    case change_kind::pod_terminating: return events::pod_updated;
    case change_kind::namespace_changed: return events::namespace_changed;
    case change_kind::column_changed: return events::column_changed;
    case change_kind::queue_changed: return events::queue_changed;
    default: break;
  }
  return any(what) ? what : events::anything;
}

GANGSCHED_INLINE event requeue_judge::event_of(const change& record) const {
  event made{record.kind, record.facets, std::nullopt, std::nullopt};
  made.what = kind_of(record);
  if (const row_t node = record.node(); node != no_row && state_->nodes.alive(node)) made.node.emplace(*state_, node);
  if (record.about_pod() && state_->pods.alive(record.row)) made.pod.emplace(*state_, record.row);
  if (record.kind == change_kind::column_changed) {
    if (record.scope() == scope_number::groups) made.group = {record.row, state_->groups.rows.generation(record.row)};
    if (record.scope() == scope_number::pods && state_->pods.alive(record.row)) made.pod.emplace(*state_, record.row);
    if (record.scope() >= scope_number::first_named) made.scope_row = state_->columns.id_of(record.row);
  }
  if (record.kind == change_kind::queue_changed && state_->queues.alive(record.row))
    made.queue = state_->queues.id_of(record.row);
  return made;
}

GANGSCHED_INLINE bool requeue_judge::reads_labels(row_t root) const {
  return !state_->groups.each_below(root, [&](row_t group) {
    const group_spec& spec = state_->groups.record[group]->spec;
    return spec.topology.within.empty() && spec.topology.slices.empty() && spec.topology.spread_key.empty() &&
           spec.affinity.empty();
  });
}

/// Where others are decides where it may be.
GANGSCHED_INLINE bool requeue_judge::reads_neighbours(row_t root) const {
  return !state_->groups.each_below(root,
                                    [&](row_t group) { return state_->groups.record[group]->spec.affinity.empty(); });
}

GANGSCHED_INLINE bool requeue_judge::helps(const rejected_group& one, const change& record, const event& what) {
  if (!gangsched::detail::names_group(*state_, one.group)) return false;  // it went with its last member
  if (!concerns(entities_->profile_of_group(one.group.row), record)) return false;
  if (record.about_victims() && preempts_by_queues(entities_->profile_of_group(one.group.row))) return true;
  const auto helps_class = [&](class_id cls) { return helps(cls, one.rejectors, record, what); };
  if (!any(what.what)) return one.rejectors != 0 && any_class(one, helps_class);
  const bool has_classes = any_class(one, [](class_id) { return true; });
  if (one.rejectors == 0 ? has_classes : reads_neighbours(one.group.row)) return true;
  // No filter of a member reads the labels that its group's domains are made of.
  if (what.node && any(record.facets & reads::labels) && reads_labels(one.group.row)) return true;
  std::uint64_t gone = one.rejectors;  // by all of them
  const bool none_gone = any_class(one, [&](class_id cls) { return (gone &= outdated(cls, one.rejectors)) == 0; });
  if (has_classes && !none_gone) return true;
  return any_class(one, helps_class);
}

GANGSCHED_INLINE help_condition requeue_judge::condition_of(const rejected_group& one, bool filtered,
                                                            std::uint64_t refusers) {
  help_condition made;
  if (!gangsched::detail::names_group(*state_, one.group)) return made;
  if (filtered) {
    made.anything = one.rejectors == 0 || reads_neighbours(one.group.row);
    made.victims = preempts_by_queues(entities_->profile_of_group(one.group.row));
    made.labels = reads_labels(one.group.row);
  }
  any_class(one, [&](class_id cls) {
    if (filtered) add_needs(cls, one.rejectors, made);
    add_concerns(cls, refusers, made);
    return made.anything;
  });
  return made;
}

GANGSCHED_INLINE bool requeue_judge::fares_as_its_class(row_t pod, bool in_alike_groups) try {
  const class_plan& plan = picks_->plan_of(state_->class_of(pod));
  return !plan.opaque && plan.cycle_hooks.empty() && plan.rejected.ok() &&
         !plan.filters_tell_apart(*state_, pod, in_alike_groups);
} catch (const hook_error&) {
  return false;
}

GANGSCHED_INLINE std::uint64_t requeue_judge::kind_of(const rejected_group& group) {
  const row_t row = group.group.row;
  const model::group_table& groups = state_->groups;
  const model::group_record& record = *groups.record[row];
  const group_spec& spec = record.spec;
  const bool alone = spec.composite || groups.parent[row] != no_row || !spec.affinity.empty() ||
                     !spec.start_after.empty() || !spec.ratios.empty() || groups.assumed[row] + groups.bound[row] != 0;
  if (alone || entities_->members_enter_singly()) return 0;
  const kernel_table& profile = entities_->profile_of_group(row);
  constexpr point of_groups[] = {point::group_pre_filter, point::generate_placements, point::placement_feasible,
                                 point::score_placement, point::group_preempt};
  for (const plugin_entry& plugin : profile.plugins) {
    const bool asked =
        std::any_of(std::begin(of_groups), std::end(of_groups), [&](point one) { return plugin.points.has(one); }) ||
        (plugin.points.has(point::admission) && plugin.admit_group != nullptr);
    if (asked && !plugin.ignores_group_identity) return 0;
  }
  digest made;
  model::group_record alike = record;
  alike.spec.name.clear();
  alike.spec.cookie = 0;
  made.add(alike.bytes());
  made.add(static_cast<std::uint64_t>(&profile - profiles_->all().data()));
  made.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(entities_->group_priority(row))));
  // (Members in order of arrival: by that, after priority and rank, they are tried.)
  for (row_t pod = groups.first[row]; pod != no_row; pod = state_->pods.next_in_group[pod]) {
    if (state_->pods.nominated[pod] != no_row) return 0;
    if (!entities_->wants_node(pod)) continue;
    if (!fares_as_its_class(pod, true)) return 0;
    const class_id cls = state_->class_of(pod);
    made.add(std::uint64_t{cls} << 32 | state_->classes.generation(cls));
    made.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(state_->pods.record[pod]->rank.value_or(-1))));
    made.add(state_->pods.record[pod]->details->role);
  }
  return made.value() | 1;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
