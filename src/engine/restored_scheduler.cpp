#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "gangsched/engine/core_saver.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

GANGSCHED_INLINE rejection restored(const saved_rejection& one) noexcept {
  return {one.unschedulable, one.pending, one.at_admission};
}

/// Why who waits for permit is to be taken back: what the engine says, which forks point at as well; null if it does not.
GANGSCHED_INLINE const char* text_for_good(std::string_view text) noexcept {
  for (const char* const known : {"rejected by the host", "its group needs more members at once"})
    if (text == known) return known;
  return nullptr;
}

}  // namespace detail

GANGSCHED_INLINE std::uint64_t core_saver::unread() const noexcept {
  return std::min(of_->events_.cursor_.position, of_->queue_.unschedulable_.groups_read_);
}

GANGSCHED_INLINE std::unique_ptr<core> core_restorer::attached(cluster& on, std::vector<kernel_table> profiles,
                                                               const scheduler_options& options) {
  model::cluster_state& state = gangsched::detail::inside(on);
  std::unique_ptr<core> made{new core(state, profile_set{std::move(profiles), state}, options)};
  made->profiles_.attach(state);
  return made;
}

GANGSCHED_INLINE bool core_restorer::restore_queue() {
  queue& to = to_->queue_.queue_;
  to.pods_.resize(state().pods.rows.count());
  to.groups_.resize(state().groups.rows.count());
  std::array<std::uint64_t, 7> stand{};
  for (const saved_item& one : from_->items) {
    std::vector<queue_item>& items = one.group ? to.groups_ : to.pods_;
    if (one.row >= items.size() || one.where > static_cast<std::uint8_t>(place::in_flight)) return false;
    const entity e{one.row, one.group};
    const std::uint32_t owner = to.generation_of(e);
    if (one.generation > owner) return false;
    const bool alive = one.group ? state().groups.alive(one.row) : state().pods.alive(one.row);
    const auto where = static_cast<place>(one.where);
    if (where != place::none && one.generation == owner && !alive) return false;
    queue_item& it = items[one.row];
    if (it.ticket != 0 || it.where != place::none) return false;
    it = {where,        one.strict, one.was_gated, one.generation, one.ticket,  one.attempts, one.failures, one.errors,
          one.priority, one.since,  one.entered,   one.ready,      one.arrival, one.round,    one.tries,    0};
    ++stand[one.where];
  }
  to.came_ = from_->came;
  for (std::size_t i = 0; i < stand.size(); ++i) to.left_[i] = to.came_[i] - stand[i];
  // (Who never stood anywhere came from there, and nobody came for him.)
  to.left_[static_cast<std::size_t>(place::none)] = 0;
  to.round_ = from_->round;
  for (const row_t group : from_->groups_left) {
    if (!has_group(group)) return false;
    to.groups_left_.push_back(group);
  }
  to.rebuild();
  return true;
}

GANGSCHED_INLINE bool core_restorer::restore_lines() {
  unschedulable_pods& to = to_->queue_.unschedulable_;
  const queue& places = to_->queue_.queue_;
  to.woken_for_.resize(state().pods.rows.count());
  if (to_->queue_.by_hints()) to.rejections_.resize(state().pods.rows.count());
  for (const auto& [pod, by] : from_->rejections) {
    if (pod >= to.rejections_.size()) return false;
    to.rejections_[pod] = detail::restored(by);
  }
  // Where classes have changed since everybody was lined up, who reads the log next does that anew.
  to.epoch_ = state().classes.epoch() - (from_->classes_moved ? 1 : 0);
  std::vector<class_id> lines;
  std::vector<bool> stands(state().pods.rows.count());
  for (const saved_line& one : from_->lines) {
    if (one.cls >= classes_.size()) return false;
    const class_id cls = classes_[one.cls];
    lines.push_back(cls);
    const auto [at, fresh] = to.lines_.try_emplace(cls);
    unschedulable_pods::class_line& line = at->second;
    line.generation = state().classes.generation(cls);
    line.by_failure = fresh && one.by_failure;
    line.filtered = line.filtered || one.filtered;
    line.rejectors |= one.rejectors, line.refusers |= one.refusers, line.hears |= one.hears;
    for (const auto& [pod, since] : one.pods) {
      const queue_item* const item = has_pod(pod) && state().pods.alive(pod) ? places.find({pod, false}) : nullptr;
      if (item == nullptr || item->where != place::unschedulable || stands[pod] || since > state().log.end())
        return false;
      stands[pod] = true;
      line.pods.push_back({pod, item->ticket, since});
    }
    line.compact_at = std::max<std::size_t>(64, 2 * line.pods.size());
    to.unknown_.insert(cls);
  }
  return restore_woken(lines) && restore_groups();
}

GANGSCHED_INLINE bool core_restorer::restore_woken(std::span<const class_id> lines) {
  unschedulable_pods& to = to_->queue_.unschedulable_;
  for (const saved_wake& one : from_->woken) {
    if (!has_pod(one.row) || one.line > lines.size() || (one.line == 0 && one.cls >= classes_.size())) return false;
    to.woken_for_[one.row] = {one.line != 0 ? lines[one.line - 1] : classes_[one.cls], one.position};
  }
  return true;
}

GANGSCHED_INLINE bool core_restorer::restore_groups() {
  unschedulable_pods& to = to_->queue_.unschedulable_;
  std::vector<waiting_group> all;
  std::map<std::uint64_t, std::uint64_t> kinds{{0, 0}};  // as they are numbered here
  const auto find_kind = [&](std::uint64_t kind, const waiting_group& like) {
    if (kinds.contains(kind)) return;
    if (!gangsched::detail::names_group(state(), like.group)) return;
    if (const std::uint64_t now = to.judge_->kind_of(like); now != 0) kinds[kind] = now;
  };
  for (const saved_waiting_group& one : from_->groups) {
    waiting_group& made = all.emplace_back();
    if (!fits(state().groups.rows, one.group) || one.since > state().log.end()) return false;
    made.group = one.group;
    for (const std::uint32_t number : one.classes) {
      if (number >= classes_.size()) return false;
      made.classes.emplace_back(classes_[number], state().classes.generation(classes_[number]));
    }
    made.rejectors = one.rejectors, made.since = one.since;
    made.reason = one.reason;
    made.pending = static_cast<std::size_t>(one.pending);
    made.filtered = one.filtered;
    made.refused = detail::restored(one.refused);
    made.ready = one.ready;
    made.place = {one.place.pod,   one.place.group,   one.place.priority,
                  one.place.since, one.place.entered, one.place.arrival};
    find_kind(one.kind, made);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t kind = from_->groups[i].kind;
    const auto known = kinds.find(kind);
    if (to.groups_.find(all[i].group.row) != waiting_groups::none) return false;
    all[i].kind = known != kinds.end() ? known->second : kind;
    to.groups_.add(std::move(all[i]), to_->queue_.queue_.sort());
  }
  to.group_woken_for_.resize(state().groups.rows.count());
  for (const saved_wake& one : from_->woken_groups) {
    if (!has_group(one.row)) return false;
    if (!kinds.contains(one.kind)) {
      waiting_group like{{{one.row, state().groups.rows.generation(one.row)}, {}, 0}, 0, {}};
      to.collect_classes(like);
      find_kind(one.kind, like);
    }
    const auto known = kinds.find(one.kind);
    to.group_woken_for_[one.row] = {known != kinds.end() ? known->second : one.kind, one.position};
  }
  to.groups_read_ = from_->groups_read;
  return to.groups_read_ <= state().log.end() &&
         (to.groups_read_ < state().log.begin() || to.groups_read_ >= state().log.first());
}

GANGSCHED_INLINE bool core_restorer::restore_rest_of_queue() {
  scheduling_queue& to = to_->queue_;
  in_flight_pods& tried = to.in_flight_;
  tried.first_event_ = from_->first_event;
  for (const saved_event& one : from_->events) {
    std::optional<object_event> happened = restored(one);
    if (!happened) return false;
    tried.events_.push_back(*std::move(happened));
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  if (tried.first_event_ > most) return false;
  std::uint64_t last = tried.first_event_;
  for (const saved_attempt& one : from_->attempts) {
    const bool there = one.is_group
                           ? has_group(one.row) && one.group.row == one.row && fits(state().groups.rows, one.group)
                           : has_pod(one.row) && one.pod.row == one.row;
    if (!there || (one.pod && !fits(state().pods.rows, one.pod)) || one.from < last || one.from > tried.end_of_events())
      return false;
    last = one.from;
    tried.attempts_.push_back(
        {{one.row, one.is_group}, one.pod, one.group, one.from, one.requeue, one.joined, one.early, one.number});
  }
  if (tried.attempts_.empty() && !tried.events_.empty()) return false;
  to.waiting_.clear(state().pods.rows.count(), state().groups.rows.count());
  for (const auto& [pod, root] : from_->counted) {
    if (!has_pod(pod) || !has_group(root) || to.waiting_.counts(pod)) return false;
    to.waiting_.add(pod, root, state().groups.rows.room());
  }
  for (const row_t group : from_->starting) {
    if (!has_group(group)) return false;
    to.dependents_.starting_.push_back(group);
  }
  for (const auto& [group, limit] : from_->held_back) {
    if (!fits(state().groups.rows, group)) return false;
    to.dependents_.held_back_.push_back({group, limit});
  }
  return true;
}

GANGSCHED_INLINE bool core_restorer::restore_reservations() {
  binding_cycle& to = to_->binding_;
  constexpr std::uint64_t most_hooks = 64;
  for (const saved_waiting_pod& one : from_->waiting) {
    if (!gangsched::detail::names_pod(state(), one.pod) || state().pods.state[one.pod.row] != pod_state::assumed ||
        state().pods.attempt[one.pod.row] != one.attempt || to.waiting_.has(one.pod.row) ||
        !to_->entities_.has_profile(one.pod.row) || one.deadline.size() > most_hooks ||
        (one.plugins != 0 && one.deadline.size() < static_cast<std::size_t>(std::bit_width(one.plugins))))
      return false;
    waiting_pods::entry made{one.pod, one.attempt, one.score, one.plugins, one.overruled, one.deadline, nullptr};
    if (one.rejected) made.rejected = detail::text_for_good(*one.rejected);
    if (one.rejected && made.rejected == nullptr) return false;
    to.waiting_.add(std::move(made));
  }
  to.waiting_.moved_.clear();
  const auto groups = [&](const std::vector<row_t>& from, std::vector<row_t>& all) {
    all = from;
    return std::all_of(from.begin(), from.end(), [&](row_t group) { return has_group(group); });
  };
  if (!groups(from_->changed_groups, to.waiting_.changed_) || !groups(from_->maybe_stale, to.stale_.changed_))
    return false;
  to.reported_.place_.resize(state().pods.rows.count());
  for (const saved_reservation& one : from_->reported) {
    if (!fits(state().pods.rows, one.pod) || !fits(state().nodes.rows, one.node) ||
        to.reported_.place_[one.pod.row] != 0)
      return false;
    to.reported_.all_.push_back({one.pod, one.node, one.attempt});
    to.reported_.place_[one.pod.row] = static_cast<std::uint32_t>(to.reported_.all_.size());
  }
  for (const saved_reservation& one : from_->ended) {
    if (!fits(state().pods.rows, one.pod) || !fits(state().nodes.rows, one.node)) return false;
    to.reported_.ended_.push_back({one.pod, one.node, one.attempt});
  }
  for (const saved_stale_gang& one : from_->stale) {
    if (!fits(state().groups.rows, one.group)) return false;
    to.stale_.all_.push_back({one.group, one.since, one.evicted});
  }
  draining_queues& drain = to.draining_;
  drain.any_ = from_->any_drains, drain.look_at_all_ = from_->look_at_all;
  drain.next_ = from_->next_told;
  for (const row_t pod : from_->maybe_drain) {
    if (!has_pod(pod)) return false;
    drain.changed_.push_back(pod);
  }
  for (const auto& [pod, at] : from_->told) {
    if (!fits(state().pods.rows, pod) || (!drain.told_.empty() && pod.row <= drain.told_.back().pod.row)) return false;
    drain.told_.push_back({pod, at});
  }
  return true;
}

GANGSCHED_INLINE bool core_restorer::restore_notes() {
  rejection_notes& to = to_->decisions_.rejections();
  std::vector<shared_words> words;
  for (const saved_words& one : from_->words) {
    words.push_back(std::make_shared<const rejection_words>(
        rejection_words{one.reasons, static_cast<std::size_t>(one.nodes), one.group, one.member,
                        static_cast<std::size_t>(one.placed)}));
  }
  for (const saved_note& one : from_->notes) {
    if (!gangsched::detail::names_pod(state(), one.pod) || one.code > static_cast<std::uint8_t>(code::pending) ||
        one.words > words.size())
      return false;
    to.keep(one.pod.row, status{static_cast<code>(one.code), {}, nullptr}, one.plugins,
            one.words != 0 ? words[one.words - 1] : nullptr);
    to.by_row_[one.pod.row].code = static_cast<code>(one.code);
  }
  for (const auto& [pod, text] : from_->said) {
    if (!fits(state().pods.rows, pod)) return false;
    to_->explainer_.notes_[pod] = text;
  }
  return true;
}

GANGSCHED_INLINE bool core_restorer::restore_rest() {
  core& to = *to_;
  to.statistics_ = from_->statistics;
  to.now_ = from_->now;
  to.before_.torn = from_->torn;
  to.gates_.rejected_member_.resize(state().groups.rows.count(), no_row);
  for (const auto& [group, pod] : from_->rejected_members) {
    if (!has_group(group) || !has_pod(pod)) return false;
    to.gates_.rejected_member_[group] = pod;
  }
  to.gates_.open_ = from_->open;
  to.picker_.start_ = static_cast<std::size_t>(from_->first_node);
  if (from_->first_node > state().nodes.rows.count()) return false;
  to.entered_.entered_.resize(state().pods.rows.count());
  for (const auto& [pod, number] : from_->entered) {
    if (!has_pod(pod)) return false;
    to.entered_.entered_[pod] = number;
  }
  to.entered_.entries_ = from_->entries;
  if (from_->unhelped_gang != no_row) {
    if (!has_group(from_->unhelped_gang) || from_->unhelped_class >= classes_.size()) return false;
    to.preemption_.unhelped_gang_ = {from_->unhelped_gang, classes_[from_->unhelped_class], state().log.end()};
  }
  const change_log& log = state().log;
  to.events_.author_ = from_->author;
  to.events_.cursor_ = {from_->position, from_->truncations};
  to.events_.known_end_ = from_->known_end;
  if (from_->author >= 1u << 22 || from_->position > log.end() || from_->truncations > log.truncations() ||
      (from_->position >= log.begin() && from_->position < log.first()))
    return false;
  return restore_past();
}

GANGSCHED_INLINE bool core_restorer::restore_past() {
  model::cluster_state& in = *to_->state_;
  for (const saved_past_node& one : from_->past_nodes) {
    auto record = model::restored_record(in, one.spec);
    if (!record || !fits(state().nodes.rows, one.node)) return false;
    past_nodes_.push_back(std::make_shared<const past_node>(in, one.node, *std::move(record)));
  }
  for (const saved_past_pod& one : from_->past_pods) {
    if (one.cls >= classes_.size() || !fits(state().pods.rows, one.pod)) return false;
    std::shared_ptr<const pod_class> cls = in.classes.share(classes_[one.cls]);
    auto disks = model::restored_disks(in, one.disks, cls->ns);
    past_pods_.push_back(
        std::make_shared<const past_pod>(one.pod, std::move(cls), one.labels, one.gated, std::move(disks)));
  }
  std::optional<object_cache>& known = to_->events_.object_cache_;
  if (!known) return from_->known_nodes.empty() && from_->known_pods.empty();
  known->start_over();
  for (const auto& [row, number] : from_->known_nodes) {
    if (row >= known->nodes_.size() || number > past_nodes_.size()) return false;
    known->nodes_[row] = number == 0 ? nullptr : past_nodes_[number - 1];
  }
  for (const auto& [row, number] : from_->known_pods) {
    if (row >= known->pods_.size() || number > past_pods_.size()) return false;
    known->pods_[row] = number == 0 ? nullptr : past_pods_[number - 1];
  }
  return true;
}

/// By hints an event has the objects that its kind has.
GANGSCHED_INLINE std::optional<object_event> core_restorer::restored(const saved_event& one) const {
  const std::optional<change> record = model::restored(state(), one.record);
  if (!record || one.old_node > past_nodes_.size() || one.new_node > past_nodes_.size() ||
      one.old_pod > past_pods_.size() || one.new_pod > past_pods_.size() ||
      one.to > static_cast<std::uint8_t>(object_event::audience::subject))
    return std::nullopt;
  const auto node = [&](std::uint32_t number) { return number == 0 ? nullptr : past_nodes_[number - 1]; };
  const auto pod = [&](std::uint32_t number) { return number == 0 ? nullptr : past_pods_[number - 1]; };
  const auto what = static_cast<events>(one.what);
  if (to_->queue_.by_hints()) {
    const bool about_node = record->kind <= change_kind::node_removed;
    const bool has_node = one.old_node != 0 || one.new_node != 0, has_pod_too = one.old_pod != 0 || one.new_pod != 0;
    if ((about_node && !has_node) || (record->about_pod() && !has_pod_too) || std::popcount(one.what) != 1)
      return std::nullopt;
    const bool updates = what == events::node_added     ? one.new_node == 0
                         : what == events::node_removed ? one.old_node == 0
                         : about_node                   ? one.old_node == 0 || one.new_node == 0
                         : what == events::pod_added    ? one.new_pod == 0
                         : what == events::pod_removed  ? one.old_pod == 0
                                                        : record->about_pod() && (one.old_pod == 0 || one.new_pod == 0);
    if (updates) return std::nullopt;
  }
  return object_event{*record,
                      what,
                      node(one.old_node),
                      node(one.new_node),
                      pod(one.old_pod),
                      pod(one.new_pod),
                      one.subject,
                      static_cast<object_event::audience>(one.to),
                      one.highest};
}

GANGSCHED_INLINE bool core_restorer::restore() {
  return restore_rest() && restore_queue() && restore_lines() && restore_rest_of_queue() && restore_reservations() &&
         restore_notes();
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
