#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/id.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/model/saved_cluster.hpp"
#include "gangsched/scheduling/explanation.hpp"
#include "gangsched/scheduling/options.hpp"

/// The state of a scheduler beside its cluster, as plain data: one struct for each part of the engine, which saves and restores it itself.
/// Classes of pods are numbers in the cluster that is saved with it; plugins are bits. Caches (orders, indexes, plans) are not saved.
namespace gangsched::inline GANGSCHED_ABI::engine {

// --- past objects, which several parts keep for hints
struct saved_past_node {
  node_id node;
  node_spec spec;
};
struct saved_past_pod {
  pod_id pod;
  std::uint32_t cls = 0;
  label_map labels;
  bool gated = false;
  model::saved_disks disks;
};
/// Past objects. Other parts refer to one by 1 + its index; 0: none.
struct saved_past {
  std::vector<saved_past_node> nodes;
  std::vector<saved_past_pod> pods;
};
struct saved_event {
  model::saved_change record;
  std::uint32_t what = 0;
  std::uint32_t old_node = 0, new_node = 0, old_pod = 0, new_pod = 0;
  pod_id subject;
  std::uint8_t to = 0;
  std::int32_t highest = 0;
};

// --- `rejection_notes`
struct saved_note {
  pod_id pod;
  std::uint8_t code = 0;
  std::uint64_t plugins = 0;
  std::uint32_t words = 0;  ///< 1 + the index in `words`; 0: none
};
struct saved_words {
  std::vector<counted_reason> reasons;
  std::uint64_t nodes = 0;
  std::string group;
  pod_id member;
  std::uint64_t placed = 0;
  std::string post_filter;
};
struct saved_notes {
  std::vector<saved_note> all;
  std::vector<saved_words> words;
};

// --- `explainer`: the host's messages of failures
using saved_host_words = std::vector<std::pair<pod_id, std::string>>;

// --- `pre_enqueue_gates`
struct saved_gates {
  std::vector<std::pair<row_t, row_t>> rejected_members;  ///< by group
  row_t open = no_row;
};

// --- `entry_order`
struct saved_entries {
  std::vector<std::pair<row_t, std::uint64_t>> entered;  ///< pods
  std::uint64_t count = 0;
};

// --- `preemption`
struct saved_unhelped_gang {
  row_t group = no_row;
  std::uint32_t cls = 0;
  instant until = instant::max();
};

// --- `queue`
struct saved_item {
  row_t row = no_row;
  bool group = false;
  std::uint8_t where = 0;
  bool strict = false, was_gated = false;
  std::uint32_t generation = 0, ticket = 0, attempts = 0, failures = 0, errors = 0;
  std::int32_t priority = 0;
  instant since{}, entered{}, ready{};
  std::uint64_t arrival = 0, round = 0;
  std::uint32_t tries = 0;
};
struct saved_places {
  std::vector<saved_item> items;
  std::array<std::uint64_t, 7> came{};
  std::uint64_t round = 1;
  std::vector<row_t> groups_left;
};

// --- `unschedulable_pods`
/// The key of an entity for queue_sort.
struct saved_place {
  pod_id pod;
  group_id group;
  std::int32_t priority = 0;
  instant since{}, entered{};
  std::uint64_t arrival = 0;
  instant start_by = instant::max(), expected_run_time{0};
};
struct saved_rejection {
  std::uint64_t unschedulable = 0, pending = 0;
  bool at_admission = false;
};
/// Pods that wait for the same change.
struct saved_line {
  std::uint32_t cls = 0;
  bool by_failure = true, filtered = false;
  std::uint64_t rejectors = 0, refusers = 0, hears = 0;
  instant retry_at = instant::max();
  std::vector<std::pair<row_t, std::uint64_t>> pods;  ///< each with the position since when it waits
};
/// The class for which a pod or a group was woken. @p line: 1 + the index of the line; 0: none.
struct saved_wake {
  row_t row = no_row;
  std::uint32_t cls = 0, line = 0;
  std::uint64_t kind = 0, position = 0;
};
struct saved_unschedulable_group {
  group_id group;
  std::vector<std::uint32_t> classes;
  std::uint64_t rejectors = 0, since = 0;
  std::string reason;
  std::uint64_t kind = 0, pending = 0;
  bool filtered = true;
  saved_rejection refused = {};
  instant ready{}, retry_at = instant::max();
  saved_place place = {};
};
struct saved_unschedulable {
  bool classes_moved = false;  ///< classes were renumbered; lines must be rebuilt
  std::vector<saved_line> lines;
  std::vector<saved_wake> woken, woken_groups;
  std::vector<saved_unschedulable_group> groups;
  std::vector<std::pair<row_t, saved_rejection>> rejections;
  std::uint64_t groups_read = 0;
};

// --- `in_flight_pods`
struct saved_attempt {
  row_t row = no_row;
  bool is_group = false;
  pod_id pod;
  group_id group;
  std::uint64_t from = 0;
  bool requeue = false, joined = false, early = false;
  std::uint32_t number = 1;
};
struct saved_in_flight {
  std::vector<saved_attempt> attempts;
  std::vector<saved_event> events;
  std::uint64_t first_event = 0;
};

// --- `pending_member_counts`: waiting pods, and the roots of their trees
using saved_members = std::vector<std::pair<row_t, row_t>>;

// --- `dependent_groups`
struct saved_dependents {
  std::vector<row_t> starting;
  std::vector<std::pair<group_id, std::uint64_t>> held_back;
};

// --- `scheduling_queue`
struct saved_queue {
  saved_places places;
  saved_unschedulable unschedulable;
  saved_in_flight in_flight;
  saved_members counted;
  saved_dependents dependents;
};

// --- `waiting_pods`
struct saved_waiting_pod {
  pod_id pod;
  bind_attempt attempt = bind_attempt::none;
  std::int64_t score = 0;
  std::uint64_t plugins = 0, overruled = 0;
  std::vector<instant> deadline;
  std::optional<std::string> rejected;
};
struct saved_waiting {
  std::vector<saved_waiting_pod> all;
  std::vector<row_t> changed_groups;
};

// --- `reported_reservations`
struct saved_reservation {
  pod_id pod;
  node_id node;
  bind_attempt attempt = bind_attempt::none;
};
struct saved_reported {
  std::vector<saved_reservation> all, ended;
};

// --- `stale_gangs`
struct saved_stale_gang {
  group_id group;
  instant since{};
  bool evicted = false;
};
struct saved_stale {
  std::vector<row_t> changed;
  std::vector<saved_stale_gang> all;
};

// --- `leaving_pods`
struct saved_leaving {
  bool any = false, look_at_all = true, reservations_changed = true;
  std::vector<row_t> changed;
  std::vector<std::pair<pod_id, instant>> told;
  std::optional<instant> next, expires_next;
};

// --- `eviction_notices`
struct saved_notice {
  struct beneficiary {
    row_t row = no_row;
    std::uint32_t generation = 0;
    bool is_group = false, nominated = false;
  };
  pod_id victim;
  instant due{};
  std::optional<std::string> reason;
  std::vector<beneficiary> for_whom;
};

// --- `binding_cycle`
struct saved_binding {
  saved_waiting waiting;
  saved_reported reported;
  saved_stale stale;
  saved_leaving leaving;
  std::vector<saved_notice> notices;
};

// --- `object_cache`: past objects of what has changed since the log was read, by row
struct saved_known {
  std::vector<std::pair<row_t, std::uint32_t>> nodes, pods;
};

// --- `event_handlers`
struct saved_handlers {
  std::uint32_t author = 0;
  std::uint64_t position = 0, truncations = 0, known_end = 0;
  saved_known known;
};

// --- `backfill`; entities by row, and whether the row is a group's
struct saved_backfill {
  bool held = false, moved = false, stale = false, left = false;
  std::uint64_t seen = 0;
  std::vector<instant> ends;
  instant looked = instant::min(), next_end = instant::max();
  std::vector<std::pair<std::pair<row_t, bool>, instant>> again;
  std::vector<std::pair<row_t, bool>> next;
};

// --- `core`
struct saved_scheduler {
  scheduler_options options;
  std::uint64_t columns = 0, scopes = 0;  ///< counts of the cluster before the scheduler's plugins made theirs
  std::uint32_t makers = 0;
  engine_statistics statistics;
  instant now{};
  bool torn = false;
  saved_notes rejections;
  saved_host_words said;
  saved_gates gates;
  std::uint64_t first_node = 0;  ///< that the next pick examines first
  saved_entries entered;
  saved_unhelped_gang unhelped;
  saved_queue queue;
  saved_backfill backfilling;
  saved_binding binding;
  saved_handlers events;
  saved_past past;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
