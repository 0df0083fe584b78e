#include "gangsched/engine/unschedulable_pods.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

GANGSCHED_INLINE rejection rejection_by(const kernel_table& profile, const refusal& why) noexcept {
  rejection made{.at_admission = true};
  (why.said.code == code::pending ? made.pending : made.unschedulable) = plugin_bit(profile, *why.by);
  return made;
}

/// Whether a line's class is the one that it was made for.
[[nodiscard]] bool is_current(const model::cluster_state& state, const auto& line) noexcept {
  return line.second.generation == state.classes.generation(line.first);
}

GANGSCHED_INLINE void collect_classes(model::cluster_state& state, const entity_view& entities,
                                      unschedulable_group& of) {
  of.classes.clear();
  if (!gangsched::detail::names_group(state, of.group)) return;
  entities.each_member(of.group.row, [&](row_t pod) {
    if (state.pods.state[pod] != pod_state::pending || !entities.has_profile(pod)) return;
    const class_id cls = state.class_of(pod);
    const std::pair one{cls, state.classes.generation(cls)};
    if (!is_among(one, of.classes)) of.classes.push_back(one);
  });
}

[[nodiscard]] inline bool room_ends_backoff(const scheduler_options& options, const unschedulable_group& one) noexcept {
  return options.wake != wake_rule::hints && !one.refused.at_admission && one.rejectors != 0;
}

}  // namespace detail

GANGSCHED_INLINE bool unschedulable_pods::waits(const class_line::entry& one) const noexcept {
  const queue_item* item = queue_->find({one.pod, false});
  return item != nullptr && item->where == place::unschedulable && item->ticket == one.ticket;
}

GANGSCHED_INLINE bool unschedulable_pods::waits(const unschedulable_group& one) const noexcept {
  const queue_item* item = queue_->find({one.group.row, true});
  if (item == nullptr || !gangsched::detail::names_group(*state_, one.group)) return false;
  return item->where == place::timed || item->where == place::unschedulable ||
         (item->where == place::backoff && options_->wake != wake_rule::hints);
}

/// Of a group that an event helps: whether it backs off still, and the event does not end that. Such a group goes on hearing of events.
GANGSCHED_INLINE bool unschedulable_pods::still_backs_off(unschedulable_groups::slot at) {
  const entity e{groups_[at].group.row, true};
  if (!detail::room_ends_backoff(*options_, groups_[at]) || !queue_->backs_off(queue_->item(e), *now_)) return false;
  if (parts_->may_fit(e.row)) return queue_->end_backoff(e), false;
  if (queue_->item(e).where != place::backoff) wake_up(e);
  return true;
}

GANGSCHED_INLINE void unschedulable_pods::erase_line(lines::iterator at) {
  by_class_.erase(at->first);
  unknown_.erase(at->first);
  lines_.erase(at);
}

/// The line's class is gone. By hints some may wait on, of another class since they were updated.
GANGSCHED_INLINE void unschedulable_pods::disband(lines::iterator at) {
  const class_line old = std::move(at->second);
  erase_line(at);
  for (std::size_t i = old.front; i < old.pods.size(); ++i) {
    const class_line::entry& one = old.pods[i];
    if (waits(one) && state_->pods.alive(one.pod)) line_up(one.pod, old, one.since);
  }
}

/// What the pod hears of, the line does.
GANGSCHED_INLINE void unschedulable_pods::hear(class_id cls, class_line& line, row_t pod) {
  const rejection& by = rejections_[pod];
  const bool every = by.empty() || (by.unschedulable & rejection::anything) != 0;
  const std::uint64_t hears = line.hears | (every ? ~std::uint64_t{0} : by.all());
  if (std::exchange(line.hears, hears) != hears) unknown_.insert(cls);
}

/// By what rejected those of @p like.
GANGSCHED_INLINE unschedulable_pods::class_line& unschedulable_pods::line_up(row_t pod, const class_line& like,
                                                                             std::uint64_t since) {
  const class_id cls = state_->class_of(pod);
  if (const auto known = lines_.find(cls); known != lines_.end() && !detail::is_current(*state_, *known))
    disband(known);
  const auto stands = [&](const class_line::entry& one) { return waits(one); };
  class_line& line = lines_[cls];
  // What rejected pods that have all left is nothing to those who come, however long such a line happened to stay.
  if (line.is_over(stands)) line.clear(), unknown_.insert(cls);
  line.generation = state_->classes.generation(cls);
  if (options_->wake == wake_rule::hints) hear(cls, line, pod);
  const auto description = [&](row_t one) { return queue_->describe({one, false}, *queue_->find({one, false})); };
  line.add({pod, queue_->find({pod, false})->ticket, since}, stands,
           [&](row_t a, row_t b) { return queue_->sort().before(description(a), description(b)); });
  if (like.refusers != 0) line.refusers |= like.refusers, unknown_.insert(cls);
  line.retry_at = std::min(line.retry_at, like.retry_at);
  if (!like.filtered) return line;
  const bool known = like.rejectors != unknown_rejectors;
  const std::uint64_t rejectors = line.rejectors | (known ? like.rejectors : judge_->possible_rejectors(cls));
  if (!line.filtered || line.rejectors != rejectors) unknown_.insert(cls);
  line.rejectors = rejectors;
  line.filtered = true;
  return line;
}

/// Whether a pod of the line would be let in now. (Of a hook that fails the attempt will tell.)
GANGSCHED_INLINE bool unschedulable_pods::admits(class_id cls, class_line& line, row_t pod) {
  const refusal why = admission_->ask({pod, false});
  if (!why || why.said.code == code::error) return true;
  const rejection by = detail::rejection_by(entities_->profile_of(pod), why);
  if ((by.all() & ~line.refusers) != 0) line.refusers |= by.all(), unknown_.insert(cls);
  if (options_->wake == wake_rule::hints) rejections_[pod] = by, hear(cls, line, pod);
  return false;
}

GANGSCHED_INLINE bool unschedulable_pods::admits(unschedulable_groups::slot at) {
  const row_t group = groups_[at].group.row;
  const refusal why = admission_->ask({group, true});
  if (!why || why.said.code == code::error) return true;
  note_refusal(at, detail::rejection_by(entities_->profile_of_group(group), why));
  return false;
}

/// Those like it would have been told the same.
GANGSCHED_INLINE void unschedulable_pods::note_refusal(unschedulable_groups::slot at, const rejection& by) {
  const auto note = [&](unschedulable_groups::slot to) {
    rejection& its = groups_[to].refused;
    if (its.at_admission && (by.unschedulable & ~its.unschedulable) == 0 && (by.pending & ~its.pending) == 0) return;
    its.unschedulable |= by.unschedulable;
    its.pending |= by.pending;
    its.at_admission = true;
    groups_.forget_condition(to);
  };
  const std::uint64_t kind = groups_[at].kind;
  if (kind == 0) return note(at);
  for (auto to = groups_.first_of_kind(kind); to != unschedulable_groups::none; to = groups_.after_of_kind(to))
    note(to);
}

GANGSCHED_INLINE void unschedulable_pods::wake_up(entity e, queueing_strategy how) {
  if (how == queueing_strategy::skip) return;
  ++statistics_->wake_ups;
  if (how == queueing_strategy::immediately)
    queue_->activate(e);
  else
    queue_->wake(e, *now_);
}

GANGSCHED_INLINE queueing_strategy unschedulable_pods::strongest_since(const in_flight_pods& attempts,
                                                                       const in_flight_pods::entry& tried, row_t pod,
                                                                       std::uint64_t rejectors) {
  queueing_strategy best = tried.requeue ? queueing_strategy::after_backoff : queueing_strategy::skip;
  attempts.each_event_since(tried, [&](const object_event& happened) {
    if (options_->wake == wake_rule::hints) {
      queueing_event what = judge_->queueing_event_of(happened);
      best = std::max(best, judge_->judge(pod, rejections_[pod], happened, what));
    } else {
      const class_id cls = state_->class_of(pod);
      const event what = judge_->event_of(happened.record);
      // (What it was rejected by may be gone since.)
      const bool anything = rejectors == unknown_rejectors || judge_->outdated(cls, rejectors) != 0;
      if ((anything && any(what.what)) || judge_->helps(cls, rejectors, happened.record, what))
        best = queueing_strategy::after_backoff;
    }
    return best != queueing_strategy::immediately;
  });
  return best;
}

GANGSCHED_INLINE void unschedulable_pods::add(row_t pod, const rejection& by, std::uint64_t rejectors,
                                              const in_flight_pods& attempts, const in_flight_pods::entry* tried) {
  if (options_->wake == wake_rule::hints) rejections_[pod] = by;
  queue_->park({pod, false}, *now_);
  const queueing_strategy how =
      tried == nullptr ? queueing_strategy::skip : strongest_since(attempts, *tried, pod, rejectors);
  if (how == queueing_strategy::skip)
    line_up(pod, class_line::of(rejectors), state_->log.end());
  else
    wake_up({pod, false}, how);
}

GANGSCHED_INLINE void unschedulable_pods::add_refused(row_t pod, const refusal& why) {
  const rejection by = detail::rejection_by(entities_->profile_of(pod), why);
  if (options_->wake == wake_rule::hints) rejections_[pod] = by;
  queue_->park({pod, false}, *now_);
  if (why.said.code == code::pending) queue_->item({pod, false}).ready = no_backoff;
  class_line like;
  like.refusers = by.all();
  line_up(pod, like, state_->log.end());
}

/// It has been parked.
GANGSCHED_INLINE unschedulable_groups::slot unschedulable_pods::stand(unschedulable_group one) {
  const queue_item& item = queue_->item({one.group.row, true});
  one.ready = item.ready;
  one.place = queue_->describe({one.group.row, true}, item);
  return groups_.add(std::move(one), queue_->sort());
}

GANGSCHED_INLINE void unschedulable_pods::item_changed(row_t group) noexcept {
  const auto at = groups_.find(group);
  if (at == unschedulable_groups::none) return;
  const queue_item& item = *queue_->find({group, true});
  groups_[at].ready = item.ready;
  groups_.set_place(at, queue_->describe({group, true}, item), queue_->sort());
}

GANGSCHED_INLINE void unschedulable_pods::add_group(row_t group, std::uint64_t rejectors, const char* reason) {
  unschedulable_group one{{{group, state_->groups.rows.generation(group)}, {}, rejectors},
                          state_->log.end(),
                          reason != nullptr ? reason : ""};
  detail::collect_classes(*state_, *entities_, one);
  if (rejectors == unknown_rejectors && !one.classes.empty()) {
    std::uint64_t possible = 0;
    for (const auto& [cls, generation] : one.classes) possible |= judge_->possible_rejectors(cls);
    if (possible != 0) one.rejectors = possible;
  }
  one.pending = entities_->waiting_members(group);
  if (rejectors != 0 && options_->wake != wake_rule::hints) one.kind = judge_->kind_of(one);
  stand(std::move(one));
}

GANGSCHED_INLINE void unschedulable_pods::add_refused_group(row_t group, const refusal& why) {
  if (why.said.code == code::pending) queue_->item({group, true}).ready = no_backoff;
  unschedulable_group one{{{group, state_->groups.rows.generation(group)}, {}, 0}, state_->log.end(), {}};
  detail::collect_classes(*state_, *entities_, one);
  one.pending = entities_->waiting_members(group);
  one.kind = judge_->kind_of(one);
  one.filtered = false;
  note_refusal(stand(std::move(one)), detail::rejection_by(entities_->profile_of_group(group), why));
}

GANGSCHED_INLINE void unschedulable_pods::add_hopeless_group(row_t group, const char* reason) {
  stand({{{group, state_->groups.rows.generation(group)}, {}, 0}, state_->log.end(), reason != nullptr ? reason : ""});
}

GANGSCHED_INLINE void unschedulable_pods::remove_group(row_t group) {
  if (const auto at = groups_.find(group); at != unschedulable_groups::none) groups_.remove(at);
}

GANGSCHED_INLINE const char* unschedulable_pods::reason_of(group_id group) const noexcept {
  const auto at = groups_.find(group.row);
  if (at == unschedulable_groups::none || groups_[at].group != group || groups_[at].reason.empty()) return nullptr;
  return groups_[at].reason.c_str();
}

GANGSCHED_INLINE bool unschedulable_pods::last_group_helped(const in_flight_pods& attempts,
                                                            const in_flight_pods::entry& tried) {
  bool helped = false;
  attempts.each_event_since(tried, [&](const object_event& happened) {
    helped = judge_->helps(groups_[groups_.last()], happened.record, judge_->event_of(happened.record));
    return !helped;
  });
  return helped;
}

/// The first of the class's line of those that failed before the change, and would not be refused at admission as some were.
GANGSCHED_INLINE void unschedulable_pods::wake_next(const wake& why) {
  if (lines_.empty()) return;
  const auto found = lines_.find(why.cls);
  if (found == lines_.end()) return;
  if (!detail::is_current(*state_, *found)) return disband(found);
  class_line& line = found->second;
  for (std::size_t i = line.front; i < line.pods.size(); ++i) {
    const class_line::entry next = line.pods[i];
    const bool there = waits(next);
    if (there && next.since > why.position) {
      if (line.by_failure) return;
      continue;
    }
    if (there && options_->wake == wake_rule::hints && !rejections_[next.pod].at_admission) continue;
    if (there && line.refusers != 0 && !admits(why.cls, line, next.pod)) {
      if (!admission_checks::asks_each_pod(judge_->profile_of(why.cls))) return;
      continue;
    }
    if (i == line.front) ++line.front;
    if (!there) continue;
    woken_.set(next.pod, why);
    wake_up({next.pod, false});
    return;
  }
  if (line.front == line.pods.size()) erase_line(found);
}

/// `grow` repeats it until all are of one epoch: a pod that gets its class anew may move the epoch again. So it does not matter how often
/// that is asked. It ends: which counters a pod names goes by what it and its services say, not by which counters match it, so that after
/// one round no counter comes or goes.
GANGSCHED_INLINE void unschedulable_pods::line_up_again() {
  epoch_ = state_->classes.epoch();
  struct waiting_pod {
    row_t pod;
    class_id before;
    std::uint64_t since;
    const class_line* line;
  };
  lines before;
  before.swap(lines_);
  by_class_.clear(), unknown_.clear();
  std::vector<waiting_pod> pods;
  for (auto& [cls, line] : before) {
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      const class_line::entry& one = line.pods[i];
      if (waits(one) && state_->pods.alive(one.pod)) pods.push_back({one.pod, cls, one.since, &line});
    }
  }
  // In order of failure, in which most are added at the end.
  std::sort(pods.begin(), pods.end(), [&](const waiting_pod& a, const waiting_pod& b) {
    return std::pair{a.since, state_->pods.arrival[a.pod]} < std::pair{b.since, state_->pods.arrival[b.pod]};
  });
  for (const waiting_pod& one : pods) {
    line_up(one.pod, *one.line, one.since);
    unknown_.insert(state_->pods.cls[one.pod]);
  }
  // A pod that was woken for a class that has fallen apart was woken for its own part only: the other parts wake a pod of theirs.
  std::vector<std::pair<wake, class_id>> open;
  woken_.each([&](row_t pod, wake& why) {
    if (!state_->pods.alive(pod)) return;
    open.emplace_back(why, state_->class_of(pod));
    why.cls = open.back().second;
  });
  for (const auto& [woken, own] : open) {
    std::vector<class_id> parts;
    for (const waiting_pod& waiting : pods) {
      if (waiting.before == woken.cls) parts.push_back(state_->pods.cls[waiting.pod]);
    }
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (const class_id split : parts) {
      if (split != own) wake_next({split, woken.position});
    }
  }
  for (auto at = groups_.first(); at != unschedulable_groups::none; at = groups_.after(at)) {
    unschedulable_group& one = groups_[at];
    detail::collect_classes(*state_, *entities_, one);
    if (one.kind != 0)
      groups_.set_kind(at, gangsched::detail::names_group(*state_, one.group) ? judge_->kind_of(one) : 0,
                       queue_->sort());
  }
  groups_.forget_conditions();
}

GANGSCHED_INLINE help_condition unschedulable_pods::condition_of(const lines::value_type& one) {
  const auto& [cls, line] = one;
  if (options_->wake == wake_rule::hints) return {.hears = line.hears};
  if (!detail::is_current(*state_, one)) return {.anything = true};
  return judge_->condition_of(cls, line.filtered, line.rejectors, line.refusers);
}

GANGSCHED_INLINE help_condition unschedulable_pods::condition_of(const unschedulable_group& one) {
  if (options_->wake == wake_rule::hints) return {.hears = one.refused.all()};
  if (!waits(one)) return {.anything = true};
  return judge_->condition_of(one, one.filtered, one.refused.all());
}

/// Conditions of lines are what plans say now.
GANGSCHED_INLINE void unschedulable_pods::learn_conditions() {
  const std::uint64_t epoch = state_->topologies.plan_epoch();
  if (options_->wake != wake_rule::hints && std::exchange(plan_epoch_, epoch) != epoch) {
    by_class_.clear();
    for (const auto& [cls, line] : lines_) unknown_.insert(cls);
    groups_.forget_conditions();
  }
  for (const class_id cls : unknown_) by_class_.set(cls, condition_of(*lines_.find(cls)));
  unknown_.clear();
}

/// Groups that wait no more go, and of others the trees are as they are now.
GANGSCHED_INLINE void unschedulable_pods::sweep_groups() {
  const change_log& log = state_->log;
  const auto sweep = [&](row_t group) {
    if (const auto at = groups_.find(group); at != unschedulable_groups::none && !waits(groups_[at]))
      groups_.remove(at);
  };
  queue_->each_group_left(sweep);
  if (groups_read_ < log.begin()) groups_.forget_conditions();
  if (groups_.empty() || groups_read_ < log.begin()) groups_read_ = log.committed_end();
  for (; groups_read_ < log.committed_end(); ++groups_read_) {
    const change& record = log[groups_read_];
    if (!record.about_group()) continue;
    sweep(record.row);
    const row_t root = state_->groups.alive(record.row) ? state_->groups.root(record.row) : record.row;
    if (const auto at = groups_.find(root); at != unschedulable_groups::none) groups_.forget_condition(at);
  }
}

GANGSCHED_INLINE void unschedulable_pods::on_change(const change& record, std::uint64_t position) {
  if (helps_nobody(record)) return;
  learn_conditions();
  const event what = judge_->event_of(record);
  std::vector<class_id> helped;
  for (const class_id cls : by_class_.candidates(*state_, what, record.about_victims())) {
    const auto found = lines_.find(cls);
    if (!detail::is_current(*state_, *found)) {
      disband(found);
      continue;
    }
    class_line& line = found->second;
    const std::uint64_t gone = line.filtered && any(what.what) ? judge_->outdated(cls, line.rejectors) : 0;
    if (gone != 0) line.rejectors &= ~gone, unknown_.insert(cls);
    const bool can = gone != 0 || (line.filtered && judge_->helps(cls, line.rejectors, record, what));
    if (can || (line.refusers != 0 && judge_->concerns(cls, line.refusers, what))) helped.push_back(cls);
  }
  // Who may evict others is not known: all are tried in their order, so that those in vain stay in it.
  for (const class_id cls : helped) wake_line({cls, position}, record.about_victims());
  sweep_groups();
  const auto condition = [&](const unschedulable_group& one) { return condition_of(one); };
  const auto among = groups_.candidates(condition, *state_, what, record.about_victims());
  wake_groups(among, position, [&](const unschedulable_group& one) {
    return (one.filtered && judge_->helps(one, record, what)) ||
           (one.refused.at_admission && judge_->concerns(one, one.refused.all(), what));
  });
}

GANGSCHED_INLINE void unschedulable_pods::wake_line(const wake& why, bool all) {
  std::uint64_t before = 0;
  do before = statistics_->wake_ups, wake_next(why);
  while ((all || options_->wake == wake_rule::all) && statistics_->wake_ups != before);
}

/// Of the groups @p among, in order, that failed before @p position, those that helps(group) says so of, and of those alike the first.
template <class Helps>
void unschedulable_pods::wake_groups(const std::vector<unschedulable_groups::slot>& among, std::uint64_t position,
                                     const Helps& helps) {
  std::vector<std::uint64_t> kinds;
  std::vector<row_t> groups;
  for (const auto at : among) {
    const unschedulable_group& one = groups_[at];
    if (one.since > position) continue;
    if (one.kind != 0) {
      if (!is_among(one.kind, kinds) && groups_.is_first_alike(at, position) && helps(one)) kinds.push_back(one.kind);
      continue;
    }
    if (!helps(one) || (one.refused.at_admission && !admits(at)) || still_backs_off(at)) continue;
    groups.push_back(one.group.row);
    groups_.remove(at);
  }
  for (const row_t group : groups) wake_up({group, true});
  for (const std::uint64_t kind : kinds) {
    std::uint64_t before = 0;
    do before = statistics_->wake_ups, wake_next_group({kind, position});
    while (options_->wake == wake_rule::all && statistics_->wake_ups != before);
  }
}

/// (It is unlike the groups that it was like.)
GANGSCHED_INLINE void unschedulable_pods::ask_again(row_t group) {
  const auto at = groups_.find(group);
  if (at == unschedulable_groups::none || !groups_[at].refused.at_admission || !waits(groups_[at])) return;
  detail::collect_classes(*state_, *entities_, groups_[at]);
  groups_.set_kind(at, 0, queue_->sort());
  groups_.forget_condition(at);
  if (groups_[at].classes.empty() || !admits(at)) return;
  groups_.remove(at);
  wake_up({group, true});
}

/// Of those alike that failed before the change, the first in the queue's order; of those that were refused at admission, whose backoff
/// room does not end, the first that does not back off any more, else the one whose backoff ends first.
GANGSCHED_INLINE void unschedulable_pods::wake_next_group(const group_wake& why) {
  auto next = unschedulable_groups::none;
  instant ready{};
  for (auto at = groups_.first_to_try(why.kind); at != unschedulable_groups::none; at = groups_.next_to_try(at)) {
    const unschedulable_group& one = groups_[at];
    const instant its = detail::room_ends_backoff(*options_, one) ? *now_ : std::max(one.ready, *now_);
    if (one.since > why.position || (next != unschedulable_groups::none && its >= ready) || !waits(one)) continue;
    next = at, ready = its;
    if (ready == *now_) break;
  }
  if (next == unschedulable_groups::none || (groups_[next].refused.at_admission && !admits(next)))
    return;                           // nor would those like it be let in
  if (still_backs_off(next)) return;  // nor is there room for those like it
  const row_t group = groups_[next].group.row;
  groups_.remove(next);
  if (group_woken_for_.size() <= group) group_woken_for_.resize(std::max(group + 1, state_->groups.rows.room()));
  group_woken_for_[group] = why;
  wake_up({group, true});
}

GANGSCHED_INLINE void unschedulable_pods::fail_alike_groups(row_t group) {
  if (options_->wake == wake_rule::hints) return pass_on_group(group);
  if (group >= group_woken_for_.size() || group_woken_for_[group].kind == 0) return;
  const group_wake why = std::exchange(group_woken_for_[group], {});
  const auto its = groups_.last();
  const bool there = its != unschedulable_groups::none && groups_[its].group.row == group;
  const std::uint64_t rejectors = there ? groups_[its].rejectors : 0;
  const instant retry = there ? groups_[its].retry_at : instant::max();
  std::vector<unschedulable_groups::slot> failed;
  for (auto at = groups_.first_to_try(why.kind); at != unschedulable_groups::none; at = groups_.next_to_try(at)) {
    if (groups_[at].since <= why.position && waits(groups_[at])) failed.push_back(at);
  }
  for (const auto at : failed) {
    unschedulable_group& one = groups_[at];
    if (!one.filtered) one.filtered = true, one.rejectors = rejectors, groups_.forget_condition(at);
    one.retry_at = std::min(one.retry_at, retry);
    fail_again(at);
  }
}

GANGSCHED_INLINE void unschedulable_pods::fail_again(unschedulable_groups::slot at) {
  unschedulable_group& one = groups_[at];
  const entity e{one.group.row, true};
  queue_->park(e, *now_, one.pending);
  one.since = state_->log.end();
  one.ready = queue_->item(e).ready;
  groups_.move_to_end(at, queue_->describe(e, queue_->item(e)), queue_->sort());
}

GANGSCHED_INLINE void unschedulable_pods::fail_again(entity e) {
  if (!e.group) {
    const auto at = lines_.find(state_->pods.cls[e.row]);  // its class may have changed
    const auto stands = [&](const class_line::entry& one) { return waits(one); };
    class_line like = class_line::of(unknown_rejectors);
    if (at != lines_.end() && detail::is_current(*state_, *at) && !at->second.is_over(stands))
      like.filtered = at->second.filtered, like.rejectors = at->second.rejectors, like.refusers = at->second.refusers,
      like.retry_at = at->second.retry_at;
    queue_->park(e, *now_);
    line_up(e.row, like, state_->log.end());
    return;
  }
  fail_again(groups_.find(e.row));
}

GANGSCHED_INLINE void unschedulable_pods::pass_on_group(row_t group) {
  if (group >= group_woken_for_.size() || group_woken_for_[group].kind == 0) return;
  wake_next_group(std::exchange(group_woken_for_[group], {}));
}

GANGSCHED_INLINE void unschedulable_pods::on_event(const object_event& happened, queueing_event& what,
                                                   std::uint64_t position) {
  sweep_groups();
  std::uint64_t told = 0;
  for (const queueing_event::audience& one : what.by_profile) told |= one.asked | one.unasked;
  std::vector<class_id> concerned;  // of pods that were refused at admission
  for (const class_id cls : hearers(told, happened.record.about_victims())) {
    const auto found = lines_.find(cls);
    class_line& line = found->second;
    if (line.is_over([&](const class_line::entry& one) { return waits(one); })) {
      erase_line(found);
      continue;
    }
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      const row_t pod = line.pods[i].pod;
      if (!waits(line.pods[i]) || !state_->pods.alive(pod)) continue;  // gone, as the log is about to say
      if (state_->classes[state_->pods.cls[pod]].priority > happened.highest) continue;
      const bool refused = rejections_[pod].at_admission;
      if (refused && !concerned.empty() && concerned.back() == cls) continue;
      const queueing_strategy how = judge_->judge(pod, rejections_[pod], happened, what);
      if (!refused)
        wake_up({pod, false}, how);
      else if (how != queueing_strategy::skip)
        concerned.push_back(cls);
    }
  }
  for (const class_id cls : concerned) wake_line({cls, position});
  const auto condition = [&](const unschedulable_group& one) { return condition_of(one); };
  wake_groups(groups_.candidates(condition, told), position, [&](const unschedulable_group& one) {
    row_t member = no_row;
    entities_->each_member(one.group.row, [&](row_t pod) {
      if (member == no_row && entities_->wants_node(pod)) member = pod;
    });
    return member != no_row && judge_->judge(member, one.refused, happened, what) != queueing_strategy::skip;
  });
}

GANGSCHED_INLINE void unschedulable_pods::clear() {
  lines_.clear(), by_class_.clear(), unknown_.clear();
  groups_.clear();
  groups_read_ = state_->log.committed_end();
  group_woken_for_.clear();
  woken_.clear(state_->pods.rows.count());
  next_retry_ = instant::max();
  if (options_->wake == wake_rule::hints) rejections_.resize(state_->pods.rows.count());
  epoch_ = state_->classes.epoch();
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
