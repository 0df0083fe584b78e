#pragma once
#include "gangsched/saved_state.hpp"
#include "gangsched/src/record/archive.hpp"
#include "gangsched/src/record/frames.hpp"

/// Members of what snapshots have beside a host's words, in order.
namespace gangsched::inline GANGSCHED_ABI::record {

template <>
inline constexpr pod_state last_of<pod_state> = pod_state::bound;

template <class T>
inline constexpr bool is_saved_object = false;
template <class Spec>
inline constexpr bool is_saved_object<model::saved_object<Spec>> = true;
template <class Archive, class Value>
  requires is_saved_object<std::remove_const_t<Value>>
void visit_fields(Archive&& archive, Value& of) {
  auto& [row, spec, expected] = of;
  archive.fields("row, spec, expected", row, spec, expected);
}

// A cluster.
GANGSCHED_FIELDS(model::saved_rows, generations, free);
GANGSCHED_FIELDS(model::saved_grant, kind, request, device, milli, mig_start, mig_profile, amount);
GANGSCHED_FIELDS(model::saved_devices, grants, link_points, absent);
GANGSCHED_FIELDS(model::saved_node, row, spec, machine, devices, unhealthy, arrival, kept, beside_spec);
GANGSCHED_FIELDS(model::saved_class, spec, queue);
GANGSCHED_FIELDS(model::saved_disks, disks, exclusive_claims, attachments);
GANGSCHED_FIELDS(model::saved_times, start_time, expected_run_time, deadline, max_wait, started, reserved_from);
GANGSCHED_FIELDS(model::saved_reservation, from, was_there, used_up, holds);
GANGSCHED_FIELDS(model::saved_pod, row, cls, name, labels, gates, times, controller, disks, role, rank, queue, cookie,
                 priority_class, group, arrival, state, terminating, preempted, node, attempt, devices, reserved, kept);
GANGSCHED_FIELDS(model::saved_group, row, spec, expected, satisfied, arrival);
GANGSCHED_FIELDS(model::saved_claim, row, spec, node, kept, devices);
GANGSCHED_FIELDS(model::saved_room::part, node, row, amounts);
GANGSCHED_FIELDS(model::saved_room, row, name, parts);
GANGSCHED_FIELDS(model::saved_queue_part, row, root, queue);
GANGSCHED_FIELDS(model::saved_columns::column, scope, by_host, name, facet);
GANGSCHED_FIELDS(model::saved_columns::row, at, scope, name);
GANGSCHED_FIELDS(model::saved_columns::word, column, row, value);
GANGSCHED_FIELDS(model::saved_columns::use, column, row, generation, amount);
GANGSCHED_FIELDS(model::saved_columns::note, pod, uses);
GANGSCHED_FIELDS(model::saved_columns, all, scopes, makers, rows, names, words, notes);
GANGSCHED_FIELDS(model::saved_change, kind, flags, author, facets, row, before, after);
GANGSCHED_FIELDS(model::saved_log, begin, first, records, truncations, forgotten, cuts, authors);
GANGSCHED_FIELDS(model::saved_cluster, log_bound, semantics, matches_devices, attempts_after, keeps_specs, have_limits,
                 names, kinds, namespaces, priority_classes, budgets, services, controllers, flavors, queues,
                 queue_parts, machines, nodes, image_sizes, groups, claims, classes, pods, placed, nominated, rooms,
                 columns, tables, log, arrivals, digest);

// A scheduler.
GANGSCHED_FIELDS(engine_statistics, cycles, decisions, index_builds, rows_evaluated, opaque_evaluations, scans,
                 search_steps, wake_ups, observer_errors, reservations, late_reservations);
GANGSCHED_FIELDS(counted_reason, plugin, text, nodes);
GANGSCHED_FIELDS(engine::saved_past_node, node, spec);
GANGSCHED_FIELDS(engine::saved_past_pod, pod, cls, labels, gated, disks);
GANGSCHED_FIELDS(engine::saved_past, nodes, pods);
GANGSCHED_FIELDS(engine::saved_event, record, what, old_node, new_node, old_pod, new_pod, subject, to, highest);
GANGSCHED_FIELDS(engine::saved_note, pod, code, plugins, words);
GANGSCHED_FIELDS(engine::saved_words, reasons, nodes, group, member, placed, post_filter);
GANGSCHED_FIELDS(engine::saved_notes, all, words);
GANGSCHED_FIELDS(engine::saved_gates, rejected_members, open);
GANGSCHED_FIELDS(engine::saved_entries, entered, count);
GANGSCHED_FIELDS(engine::saved_unhelped_gang, group, cls, until);
GANGSCHED_FIELDS(engine::saved_item, row, group, where, strict, was_gated, generation, ticket, attempts, failures,
                 errors, priority, since, entered, ready, arrival, round, tries);
GANGSCHED_FIELDS(engine::saved_places, items, came, round, groups_left);
GANGSCHED_FIELDS(engine::saved_place, pod, group, priority, since, entered, arrival, start_by, expected_run_time);
GANGSCHED_FIELDS(engine::saved_rejection, unschedulable, pending, at_admission);
GANGSCHED_FIELDS(engine::saved_line, cls, by_failure, filtered, rejectors, refusers, hears, retry_at, pods);
GANGSCHED_FIELDS(engine::saved_wake, row, cls, line, kind, position);
GANGSCHED_FIELDS(engine::saved_unschedulable_group, group, classes, rejectors, since, reason, kind, pending, filtered,
                 refused, ready, retry_at, place);
GANGSCHED_FIELDS(engine::saved_unschedulable, classes_moved, lines, woken, woken_groups, groups, rejections,
                 groups_read);
GANGSCHED_FIELDS(engine::saved_attempt, row, is_group, pod, group, from, requeue, joined, early, number);
GANGSCHED_FIELDS(engine::saved_in_flight, attempts, events, first_event);
GANGSCHED_FIELDS(engine::saved_dependents, starting, held_back);
GANGSCHED_FIELDS(engine::saved_queue, places, unschedulable, in_flight, counted, dependents);
GANGSCHED_FIELDS(engine::saved_waiting_pod, pod, attempt, score, plugins, overruled, deadline, rejected);
GANGSCHED_FIELDS(engine::saved_waiting, all, changed_groups);
GANGSCHED_FIELDS(engine::saved_reservation, pod, node, attempt);
GANGSCHED_FIELDS(engine::saved_reported, all, ended);
GANGSCHED_FIELDS(engine::saved_stale_gang, group, since, evicted);
GANGSCHED_FIELDS(engine::saved_stale, changed, all);
GANGSCHED_FIELDS(engine::saved_leaving, any, look_at_all, reservations_changed, changed, told, next, expires_next);
GANGSCHED_FIELDS(engine::saved_notice::beneficiary, row, generation, is_group, nominated);
GANGSCHED_FIELDS(engine::saved_notice, victim, due, reason, for_whom);
GANGSCHED_FIELDS(engine::saved_binding, waiting, reported, stale, leaving, notices);
GANGSCHED_FIELDS(engine::saved_known, nodes, pods);
GANGSCHED_FIELDS(engine::saved_handlers, author, position, truncations, known_end, known);
GANGSCHED_FIELDS(engine::saved_backfill, held, moved, stale, left, seen, ends, looked, next_end, again, next);
GANGSCHED_FIELDS(engine::saved_scheduler, options, columns, scopes, makers, statistics, now, torn, rejections, said,
                 gates, first_node, entered, unhelped, queue, backfilling, binding, events, past);

/// The whole of a snapshot.
struct snapshot_words {
  std::string version;                       ///< of the library
  std::vector<profile_words> profiles = {};  ///< of the scheduler
  model::saved_cluster cluster = {};
  std::optional<engine::saved_scheduler> scheduler = {};
};
GANGSCHED_FIELDS(snapshot_words, version, profiles, cluster, scheduler);

}  // namespace gangsched::inline GANGSCHED_ABI::record
