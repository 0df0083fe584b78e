#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "gangsched/engine/core_saver.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

GANGSCHED_INLINE saved_place place_of(const queued& one) {
  return {one.pod, one.group, one.priority, one.since, one.entered, one.arrival};
}
GANGSCHED_INLINE saved_rejection rejection_of(const rejection& one) {
  return {one.unschedulable, one.pending, one.at_admission};
}

}  // namespace detail

GANGSCHED_INLINE void core_saver::save_queue() {
  const queue& from = of_->queue_.queue_;
  const auto items = [&](const std::vector<queue_item>& all, bool group) {
    for (row_t row = 0; row < all.size(); ++row) {
      const queue_item& it = all[row];
      const bool untouched = it.where == place::none && it.ticket == 0 && it.generation == 0 && it.arrival == 0;
      if (untouched) continue;
      made_.items.push_back({row, group, static_cast<std::uint8_t>(it.where), it.strict, it.was_gated, it.generation,
                             it.ticket, it.attempts, it.failures, it.errors, it.priority, it.since, it.entered,
                             it.ready, it.arrival, it.round, it.tries});
    }
  };
  items(from.pods_, false), items(from.groups_, true);
  made_.came = from.came_;
  made_.round = from.round_;
  made_.groups_left = from.groups_left_;
}

GANGSCHED_INLINE void core_saver::save_lines() {
  const unschedulable_pods& from = of_->queue_.unschedulable_;
  const model::cluster_state& state = *of_->state_;
  made_.classes_moved = from.epoch_ != state.classes.epoch();
  std::map<class_id, std::uint32_t> numbers;  // of lines, from 1
  for (const auto& [cls, line] : from.lines_) {
    saved_line one{classes_->number_of(cls, line.generation),
                   line.by_failure,
                   line.filtered,
                   line.rejectors,
                   line.refusers,
                   line.hears,
                   {}};
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      if (from.waits(line.pods[i]) && state.pods.alive(line.pods[i].pod))
        one.pods.emplace_back(line.pods[i].pod, line.pods[i].since);
    }
    // By hints some wait on whose class is another one by now.
    if (one.cls == model::cluster_saver::none && !one.pods.empty())
      one.cls = classes_->number_of(state.pods.cls[one.pods.front().first]);
    if (one.cls == model::cluster_saver::none) continue;
    made_.lines.push_back(std::move(one));
    numbers[cls] = static_cast<std::uint32_t>(made_.lines.size());
  }
  for (row_t pod = 0; pod < from.woken_for_.size() && pod < state.pods.rows.count(); ++pod) {
    const auto& why = from.woken_for_[pod];
    if (why.cls == no_class) continue;
    const auto line = numbers.find(why.cls);
    saved_wake one{pod, classes_->number_of(why.cls), line == numbers.end() ? 0 : line->second, 0, why.position};
    if (one.cls != model::cluster_saver::none || one.line != 0) made_.woken.push_back(one);
  }
  for (auto at = from.groups_.first(); at != waiting_groups::none; at = from.groups_.after(at)) {
    const waiting_group& group = from.groups_[at];
    saved_waiting_group& one = made_.groups.emplace_back();
    one.group = group.group;
    for (const auto& [cls, generation] : group.classes) {
      if (const std::uint32_t number = classes_->number_of(cls, generation); number != model::cluster_saver::none)
        one.classes.push_back(number);
    }
    one.rejectors = group.rejectors, one.since = group.since;
    one.reason = group.reason;
    one.kind = group.kind, one.pending = group.pending;
    one.filtered = group.filtered;
    one.refused = detail::rejection_of(group.refused);
    one.ready = group.ready;
    one.place = detail::place_of(group.place);
  }
  for (row_t group = 0; group < from.group_woken_for_.size(); ++group) {
    if (const auto& why = from.group_woken_for_[group]; why.kind != 0)
      made_.woken_groups.push_back({group, 0, 0, why.kind, why.position});
  }
  for (row_t pod = 0; pod < from.rejections_.size() && pod < state.pods.rows.count(); ++pod) {
    if (const rejection& one = from.rejections_[pod]; !one.empty() || one.at_admission)
      made_.rejections.emplace_back(pod, detail::rejection_of(one));
  }
  made_.groups_read = from.groups_read_;
}

GANGSCHED_INLINE std::uint32_t core_saver::number_of(const std::shared_ptr<const past_node>& was) {
  if (was == nullptr) return 0;
  std::uint32_t& number = past_[was.get()];
  if (number != 0) return number;
  made_.past_nodes.push_back({was->id(), classes_->spec_of(was->record())});
  return number = static_cast<std::uint32_t>(made_.past_nodes.size());
}

GANGSCHED_INLINE std::uint32_t core_saver::number_of(const std::shared_ptr<const past_pod>& was) {
  if (was == nullptr) return 0;
  std::uint32_t& number = past_[was.get()];
  if (number != 0) return number;
  saved_past_pod made{was->id(), classes_->number_of(was->shared_spec(), true), was->labels(), was->gated(), {}};
  if (was->disks() != nullptr) made.disks = classes_->disks_of(*was->disks(), was->spec().ns);
  made_.past_pods.push_back(std::move(made));
  return number = static_cast<std::uint32_t>(made_.past_pods.size());
}

/// Of what has not changed since it was read it knows what there is.
GANGSCHED_INLINE void core_saver::save_known_objects() {
  const event_handlers& from = of_->events_;
  if (!from.object_cache_) return;
  const change_log& log = of_->state_->log;
  std::set<row_t> nodes, pods;
  for (std::uint64_t at = std::max(from.cursor_.position, log.begin()); at < log.end(); ++at) {
    const change& record = log[at];
    if (record.about_pod())
      pods.insert(record.row);
    else if (record.kind <= change_kind::node_removed)
      nodes.insert(record.row);
  }
  const auto known = [](const auto& all, row_t row) { return row < all.size() ? all[row] : nullptr; };
  for (const row_t row : nodes) made_.known_nodes.emplace_back(row, number_of(known(from.object_cache_->nodes_, row)));
  for (const row_t row : pods) made_.known_pods.emplace_back(row, number_of(known(from.object_cache_->pods_, row)));
}

GANGSCHED_INLINE void core_saver::save_rest_of_queue() {
  const scheduling_queue& from = of_->queue_;
  for (const in_flight_pods::entry& one : from.in_flight_.attempts_) {
    made_.attempts.push_back(
        {one.who.row, one.who.group, one.pod, one.group, one.from, one.requeue, one.joined, one.early, one.number});
  }
  for (const object_event& one : from.in_flight_.events_) {
    made_.events.push_back({model::saved(one.record), static_cast<std::uint32_t>(one.what), number_of(one.old_node),
                            number_of(one.new_node), number_of(one.old_pod), number_of(one.new_pod), one.subject,
                            static_cast<std::uint8_t>(one.to), one.highest});
  }
  made_.first_event = from.in_flight_.first_event_;
  for (row_t pod = 0; pod < from.waiting_.root_.size(); ++pod) {
    if (from.waiting_.root_[pod] != no_row) made_.counted.emplace_back(pod, from.waiting_.root_[pod]);
  }
  made_.starting = from.dependents_.starting_;
  for (const auto& one : from.dependents_.held_back_) made_.held_back.emplace_back(one.group, one.limit);
}

GANGSCHED_INLINE void core_saver::save_reservations() {
  const binding_cycle& from = of_->binding_;
  from.waiting_.each([&](const waiting_pods::entry& one) {
    saved_waiting_pod& made = made_.waiting.emplace_back(
        saved_waiting_pod{one.pod, one.attempt, one.score, one.plugins, one.overruled, one.deadline, {}});
    if (one.rejected != nullptr) made.rejected = one.rejected;
  });
  made_.changed_groups = from.waiting_.changed_;
  const auto reservations = [](const auto& all, std::vector<saved_reservation>& to) {
    for (const auto& one : all) to.push_back({one.pod, one.node, one.attempt});
  };
  reservations(from.reported_.all_, made_.reported), reservations(from.reported_.ended_, made_.ended);
  made_.maybe_stale = from.stale_.changed_;
  for (const auto& one : from.stale_.all_) made_.stale.push_back({one.group, one.since, one.evicted});
  const draining_queues& drain = from.draining_;
  made_.any_drains = drain.any_, made_.look_at_all = drain.look_at_all_;
  made_.maybe_drain = drain.changed_;
  for (const auto& one : drain.told_) made_.told.emplace_back(one.pod, one.at);
  made_.next_told = drain.next_;
}

GANGSCHED_INLINE void core_saver::save_notes() {
  const rejection_notes& from = of_->decisions_.rejections();
  std::map<const rejection_words*, std::uint32_t> numbers;
  for (const rejection_notes::note& one : from.by_row_) {
    if (!gangsched::detail::names_pod(*of_->state_, one.of)) continue;
    saved_note& made =
        made_.notes.emplace_back(saved_note{one.of, static_cast<std::uint8_t>(one.code), one.plugins, 0});
    if (one.words == nullptr) continue;
    std::uint32_t& number = numbers[one.words.get()];
    if (number == 0) {
      const rejection_words& words = *one.words;
      made_.words.push_back({words.reasons, words.nodes, words.group, words.member, words.placed});
      number = static_cast<std::uint32_t>(made_.words.size());
    }
    made.words = number;
  }
  for (const auto& [pod, text] : of_->explainer_.notes_) made_.said.emplace_back(pod, text);
}

GANGSCHED_INLINE saved_scheduler core_saver::save() && {
  const core& from = *of_;
  made_.options = from.options_;
  const model::own_columns::extent& before = from.profiles_.attached_at();
  made_.columns = before.columns, made_.scopes = before.scopes, made_.makers = before.makers;
  made_.statistics = from.statistics_;
  made_.now = from.now_;
  made_.torn = from.before_.torn;
  for (row_t group = 0; group < from.gates_.rejected_member_.size(); ++group) {
    if (from.gates_.rejected_member_[group] != no_row)
      made_.rejected_members.emplace_back(group, from.gates_.rejected_member_[group]);
  }
  made_.open = from.gates_.open_;
  made_.first_node = from.picker_.start_;
  for (row_t pod = 0; pod < from.entered_.entered_.size(); ++pod) {
    if (from.entered_.entered_[pod] != 0) made_.entered.emplace_back(pod, from.entered_.entered_[pod]);
  }
  made_.entries = from.entered_.entries_;
  if (const auto& [group, cls, end] = from.preemption_.unhelped_gang_;
      end == from.state_->log.end() && group != no_row) {
    made_.unhelped_class = classes_->number_of(cls);
    if (made_.unhelped_class != model::cluster_saver::none) made_.unhelped_gang = group;
  }
  save_queue();
  save_lines();
  save_rest_of_queue();
  save_known_objects();
  save_reservations();
  save_notes();
  made_.author = from.events_.author_;
  made_.position = from.events_.cursor_.position, made_.truncations = from.events_.cursor_.truncations;
  made_.known_end = from.events_.known_end_;
  return std::move(made_);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
