#include "gangsched/engine/unschedulable_pods.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/core/is_among.hpp"
#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE bool unschedulable_pods::names(group_id group) const noexcept {
  return gangsched::detail::names_group(*state_, group);
}

GANGSCHED_INLINE bool unschedulable_pods::waits(const class_line::entry& one) const noexcept {
  const queue_item* item = queue_->find({one.pod, false});
  return item != nullptr && item->where == place::unschedulable && item->ticket == one.ticket;
}

GANGSCHED_INLINE bool unschedulable_pods::waits(const waiting_group& one) const noexcept {
  const queue_item* item = queue_->find({one.group.row, true});
  const bool there = item != nullptr && (item->where == place::timed || item->where == place::unschedulable);
  return there && names(one.group);
}

GANGSCHED_INLINE unschedulable_pods::class_line& unschedulable_pods::line_up(row_t pod, std::uint64_t since) {
  const class_id cls = state_->class_of(pod);
  class_line& line = lines_[cls];
  if (line.generation != state_->classes.generation(cls)) line = {};  // of a class that had this id before
  line.generation = state_->classes.generation(cls);
  if (line.pods.size() >= line.compact_at) {
    // Those that left by another way (timeout, update, removal) are still in the line.
    line.pods.erase(line.pods.begin(), line.pods.begin() + static_cast<std::ptrdiff_t>(line.front));
    line.front = 0;
    std::erase_if(line.pods, [&](const class_line::entry& one) { return !waits(one); });
    line.compact_at = std::max<std::size_t>(64, 2 * line.pods.size());
  }
  line.pods.push_back({pod, queue_->find({pod, false})->ticket, since});
  return line;
}

GANGSCHED_INLINE unschedulable_pods::class_line& unschedulable_pods::line_up(row_t pod, std::uint64_t rejectors,
                                                                             std::uint64_t since) {
  class_line& line = line_up(pod, since);
  line.rejectors |= rejectors != unknown_rejectors ? rejectors : judge_->possible_rejectors(state_->pods.cls[pod]);
  line.filtered = true;
  return line;
}

GANGSCHED_INLINE bool unschedulable_pods::admitted_alike(class_id cls) const {
  return !admission_checks::asks_each_pod(judge_->profile_of(cls));
}

GANGSCHED_INLINE rejection unschedulable_pods::rejection_by(const kernel_table& profile, const refusal& why) noexcept {
  rejection made{.at_admission = true};
  (why.said.code == code::pending ? made.pending : made.unschedulable) = plugin_bit(profile, *why.by);
  return made;
}

/// Whether a pod of the line would be let in now. (Of a hook that fails the attempt will tell.)
GANGSCHED_INLINE bool unschedulable_pods::admits(class_line& line, row_t pod) {
  const refusal why = admission_->ask({pod, false});
  if (!why || why.said.code == code::error) return true;
  const rejection by = rejection_by(entities_->profile_of(pod), why);
  line.refusers |= by.all();
  if (options_->wake == wake_rule::hints) rejections_[pod] = by;
  return false;
}

GANGSCHED_INLINE bool unschedulable_pods::admits(waiting_group& one) {
  const refusal why = admission_->ask({one.group.row, true});
  if (!why || why.said.code == code::error) return true;
  note_refusal(one, rejection_by(entities_->profile_of_group(one.group.row), why));
  return false;
}

/// Those like it would have been told the same.
GANGSCHED_INLINE void unschedulable_pods::note_refusal(waiting_group& one, const rejection& by) {
  const auto note = [&](waiting_group& to) {
    to.refused.unschedulable |= by.unschedulable;
    to.refused.pending |= by.pending;
    to.refused.at_admission = true;
  };
  if (one.kind == 0) return note(one);
  for (waiting_group& other : groups_) {
    if (other.kind == one.kind) note(other);
  }
}

GANGSCHED_INLINE void unschedulable_pods::wake_up(entity e) {
  ++statistics_->wake_ups;
  queue_->wake(e, *now_);
}

GANGSCHED_INLINE void unschedulable_pods::move(row_t pod, queueing_strategy how) {
  if (how == queueing_strategy::skip) return;
  if (how != queueing_strategy::immediately) return wake_up({pod, false});
  ++statistics_->wake_ups;
  queue_->activate({pod, false});
}

GANGSCHED_INLINE queueing_strategy unschedulable_pods::strongest_since(const in_flight_pods& attempts,
                                                                       const in_flight_pods::entry& tried, row_t pod,
                                                                       std::uint64_t rejectors) {
  queueing_strategy best = tried.requeue ? queueing_strategy::after_backoff : queueing_strategy::skip;
  attempts.each_event_since(tried, [&](const object_event& happened) {
    if (options_->wake == wake_rule::hints) {
      queueing_event what = judge_->queueing_event_of(happened);
      best = std::max(best, judge_->judge(pod, rejections_[pod], happened, what));
    } else if (const class_id cls = state_->class_of(pod);  // what it was rejected by may be gone since
               rejectors == unknown_rejectors || judge_->outdated(cls, rejectors) != 0 ||
               judge_->helps(cls, rejectors, happened.record, judge_->event_of(happened.record))) {
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
    line_up(pod, rejectors, state_->log.end());
  else
    move(pod, how);
}

GANGSCHED_INLINE void unschedulable_pods::add_refused(row_t pod, const refusal& why) {
  const rejection by = rejection_by(entities_->profile_of(pod), why);
  if (options_->wake == wake_rule::hints) rejections_[pod] = by;
  queue_->park({pod, false}, *now_);
  if (why.said.code == code::pending) queue_->item({pod, false}).ready = no_backoff;
  line_up(pod, state_->log.end()).refusers |= by.all();
}

GANGSCHED_INLINE void unschedulable_pods::collect_classes(waiting_group& of) {
  of.classes.clear();
  if (!names(of.group)) return;
  entities_->each_member(of.group.row, [&](row_t pod) {
    if (state_->pods.state[pod] != pod_state::pending || !entities_->has_profile(pod)) return;
    const class_id cls = state_->class_of(pod);
    const std::pair one{cls, state_->classes.generation(cls)};
    if (std::find(of.classes.begin(), of.classes.end(), one) == of.classes.end()) of.classes.push_back(one);
  });
}

GANGSCHED_INLINE void unschedulable_pods::add_group(row_t group, std::uint64_t rejectors, const char* reason) {
  waiting_group one{{{group, state_->groups.rows.generation(group)}, {}, rejectors}, state_->log.end(), reason};
  collect_classes(one);
  if (rejectors == unknown_rejectors && !one.classes.empty()) {
    std::uint64_t possible = 0;
    for (const auto& [cls, generation] : one.classes) possible |= judge_->possible_rejectors(cls);
    if (possible != 0) one.rejectors = possible;
  }
  entities_->each_member(group, [&](row_t pod) { one.pending += entities_->wants_node(pod) ? 1 : 0; });
  if (rejectors != 0 && options_->wake != wake_rule::hints) one.kind = judge_->kind_of(one);
  groups_.push_back(std::move(one));
}

GANGSCHED_INLINE void unschedulable_pods::add_refused_group(row_t group, const refusal& why) {
  if (why.said.code == code::pending) queue_->item({group, true}).ready = no_backoff;
  waiting_group one{{{group, state_->groups.rows.generation(group)}, {}, 0}, state_->log.end(), nullptr};
  collect_classes(one);
  entities_->each_member(group, [&](row_t pod) { one.pending += entities_->wants_node(pod) ? 1 : 0; });
  one.kind = judge_->kind_of(one);
  one.filtered = false;
  groups_.push_back(std::move(one));
  note_refusal(groups_.back(), rejection_by(entities_->profile_of_group(group), why));
}

GANGSCHED_INLINE void unschedulable_pods::add_hopeless_group(row_t group, const char* reason) {
  groups_.push_back({{{group, state_->groups.rows.generation(group)}, {}, 0}, state_->log.end(), reason});
}

GANGSCHED_INLINE void unschedulable_pods::remove_group(row_t group) {
  std::erase_if(groups_, [&](const waiting_group& one) { return one.group.row == group; });
}

GANGSCHED_INLINE bool unschedulable_pods::has_group(row_t group) const noexcept {
  return std::any_of(groups_.begin(), groups_.end(), [&](const waiting_group& one) { return one.group.row == group; });
}

GANGSCHED_INLINE const char* unschedulable_pods::reason_of(group_id group) const noexcept {
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const waiting_group& one) { return one.group == group; });
  return found == groups_.end() ? nullptr : found->reason;
}

GANGSCHED_INLINE bool unschedulable_pods::last_group_helped(const in_flight_pods& attempts,
                                                            const in_flight_pods::entry& tried) {
  bool helped = false;
  attempts.each_event_since(tried, [&](const object_event& happened) {
    helped = judge_->helps(groups_.back(), happened.record, judge_->event_of(happened.record));
    return !helped;
  });
  return helped;
}

/// The first of the class's line that failed before the change, and would not be refused at admission as some were.
GANGSCHED_INLINE void unschedulable_pods::wake_next(const wake& why) {
  if (lines_.empty()) return;
  const auto found = lines_.find(why.cls);
  if (found == lines_.end()) return;
  class_line& line = found->second;
  for (std::size_t i = line.front; i < line.pods.size(); ++i) {
    const class_line::entry next = line.pods[i];
    const bool there = waits(next);
    if (there && next.since > why.position) return;
    if (there && options_->wake == wake_rule::hints && !rejections_[next.pod].at_admission) continue;
    if (there && line.refusers != 0 && !admits(line, next.pod)) {
      if (admitted_alike(why.cls)) return;
      continue;
    }
    if (i == line.front) ++line.front;
    if (!there) continue;
    woken_for_[next.pod] = why;
    wake_up({next.pod, false});
    return;
  }
  if (line.front == line.pods.size()) lines_.erase(found);
}

GANGSCHED_INLINE void unschedulable_pods::pass_on(row_t pod) {
  if (woken_for_[pod].cls != no_class) wake_next(std::exchange(woken_for_[pod], {}));
}

GANGSCHED_INLINE void unschedulable_pods::follow_classes() {
  if (epoch_ == state_->classes.epoch()) return;
  epoch_ = state_->classes.epoch();
  struct waiting_pod {
    row_t pod;
    class_id before;
    std::uint64_t since;
    const class_line* line;
  };
  std::map<class_id, class_line> lines;
  lines.swap(lines_);
  std::vector<waiting_pod> pods;
  for (auto& [cls, line] : lines) {
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      const class_line::entry& one = line.pods[i];
      if (waits(one) && state_->pods.alive(one.pod)) pods.push_back({one.pod, cls, one.since, &line});
    }
  }
  // In order of failure, as they stood.
  std::stable_sort(pods.begin(), pods.end(),
                   [](const waiting_pod& a, const waiting_pod& b) { return a.since < b.since; });
  for (const waiting_pod& one : pods) {
    if (one.line->filtered)
      line_up(one.pod, one.line->rejectors, one.since).refusers |= one.line->refusers;
    else
      line_up(one.pod, one.since).refusers |= one.line->refusers;
  }
  // Who was woken for a class that has fallen apart was woken for one of the parts only.
  std::vector<wake> open;
  for (row_t pod = 0; pod < woken_for_.size(); ++pod) {
    if (woken_for_[pod].cls == no_class || !state_->pods.alive(pod)) continue;
    open.push_back(woken_for_[pod]);
    woken_for_[pod].cls = state_->class_of(pod);
  }
  for (const wake& one : open) {
    std::vector<class_id> parts;
    for (const waiting_pod& waiting : pods) {
      if (waiting.before == one.cls) parts.push_back(state_->pods.cls[waiting.pod]);
    }
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (const class_id split : parts) wake_next({split, one.position});
  }
  for (waiting_group& one : groups_) {
    collect_classes(one);
    if (one.kind != 0) one.kind = names(one.group) ? judge_->kind_of(one) : 0;
  }
}

GANGSCHED_INLINE void unschedulable_pods::on_change(const change& record, std::uint64_t position) {
  if (empty()) return;
  const event what = judge_->event_of(record);
  std::erase_if(lines_,
                [&](const auto& entry) { return entry.second.generation != state_->classes.generation(entry.first); });
  std::vector<class_id> helped;
  for (auto& [cls, line] : lines_) {
    const std::uint64_t gone = line.filtered ? judge_->outdated(cls, line.rejectors) : 0;
    line.rejectors &= ~gone;
    const bool can = gone != 0 || (line.filtered && judge_->helps(cls, line.rejectors, record, what));
    if (can || (line.refusers != 0 && judge_->concerns(cls, line.refusers, what))) helped.push_back(cls);
  }
  for (const class_id cls : helped) wake_line({cls, position});
  std::erase_if(groups_, [&](const waiting_group& one) { return !waits(one); });
  wake_groups(position, [&](const waiting_group& one) {
    return (one.filtered && judge_->helps(one, record, what)) ||
           (one.refused.at_admission && judge_->concerns(one, one.refused.all(), what));
  });
}

GANGSCHED_INLINE void unschedulable_pods::wake_line(const wake& why) {
  std::uint64_t before = 0;
  do before = statistics_->wake_ups, wake_next(why);
  while (options_->wake == wake_rule::all && statistics_->wake_ups != before);
}

/// Of the groups that failed before @p position those that helps(group) says so of, and of those alike the first.
template <class Helps>
void unschedulable_pods::wake_groups(std::uint64_t position, const Helps& helps) {
  struct question {
    std::uint64_t kind, refusers;
    bool filtered;
    bool operator==(const question&) const = default;
  };
  std::vector<question> asked;
  std::vector<std::uint64_t> kinds;
  std::vector<row_t> groups;
  std::erase_if(groups_, [&](waiting_group& one) {
    if (one.since > position) return false;
    const question its{one.kind, one.refused.all(), one.filtered};
    if (one.kind != 0 && (is_among(one.kind, kinds) || is_among(its, asked))) return false;
    const bool can = helps(one);
    if (one.kind != 0) {
      asked.push_back(its);
      if (can) kinds.push_back(one.kind);
      return false;
    }
    if (!can || (one.refused.at_admission && !admits(one))) return false;
    groups.push_back(one.group.row);
    return true;
  });
  for (const row_t group : groups) wake_up({group, true});
  for (const std::uint64_t kind : kinds) {
    std::uint64_t before = 0;
    do before = statistics_->wake_ups, wake_next_group({kind, position});
    while (options_->wake == wake_rule::all && statistics_->wake_ups != before);
  }
}

/// Of those alike that failed before the change, the first that does not back off any more, else the one whose backoff ends first.
GANGSCHED_INLINE void unschedulable_pods::wake_next_group(const group_wake& why) {
  auto next = groups_.end();
  instant ready{};
  for (auto it = groups_.begin(); it != groups_.end(); ++it) {
    if (it->kind != why.kind || it->since > why.position || !waits(*it)) continue;
    const instant its = std::max(queue_->find({it->group.row, true})->ready, *now_);
    if (next == groups_.end() || its < ready) next = it, ready = its;
    if (ready == *now_) break;
  }
  if (next == groups_.end() || (next->refused.at_admission && !admits(*next)))
    return;  // nor would those like it be let in
  const row_t group = next->group.row;
  groups_.erase(next);
  if (group_woken_for_.size() <= group) group_woken_for_.resize(std::max(group + 1, state_->groups.rows.room()));
  group_woken_for_[group] = why;
  wake_up({group, true});
}

GANGSCHED_INLINE void unschedulable_pods::fail_alike_groups(row_t group) {
  if (options_->wake == wake_rule::hints) return pass_on_group(group);
  if (group >= group_woken_for_.size() || group_woken_for_[group].kind == 0) return;
  const group_wake why = std::exchange(group_woken_for_[group], {});
  const std::uint64_t rejectors = groups_.empty() || groups_.back().group.row != group ? 0 : groups_.back().rejectors;
  const auto failed = std::stable_partition(groups_.begin(), groups_.end(), [&](const waiting_group& one) {
    return one.kind != why.kind || one.since > why.position || !waits(one);
  });
  for (auto it = failed; it != groups_.end(); ++it) {
    if (!it->filtered) it->filtered = true, it->rejectors = rejectors;
    fail_again(*it);
  }
}

GANGSCHED_INLINE void unschedulable_pods::fail_again(waiting_group& one) {
  queue_->park({one.group.row, true}, *now_, one.pending);
  one.since = state_->log.end();
}

GANGSCHED_INLINE void unschedulable_pods::fail_again(entity e) {
  if (!e.group) {
    const bool known = lines_.contains(state_->pods.cls[e.row]);  // its class may have changed
    queue_->park(e, *now_);
    if (known)
      line_up(e.row, state_->log.end());
    else
      line_up(e.row, unknown_rejectors, state_->log.end());
    return;
  }
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const waiting_group& one) { return one.group.row == e.row; });
  std::rotate(found, found + 1, groups_.end());
  fail_again(groups_.back());
}

GANGSCHED_INLINE void unschedulable_pods::pass_on_group(row_t group) {
  if (group >= group_woken_for_.size() || group_woken_for_[group].kind == 0) return;
  wake_next_group(std::exchange(group_woken_for_[group], {}));
}

GANGSCHED_INLINE bool unschedulable_pods::nobody_by_hints() const noexcept {
  return lines_.empty() && std::none_of(groups_.begin(), groups_.end(),
                                        [](const waiting_group& one) { return one.refused.at_admission; });
}

GANGSCHED_INLINE void unschedulable_pods::on_event(const object_event& happened, queueing_event& what,
                                                   std::uint64_t position) {
  std::erase_if(groups_, [&](const waiting_group& one) { return !waits(one); });
  std::vector<class_id> concerned;  // of who was refused at admission
  for (auto it = lines_.begin(); it != lines_.end();) {
    class_line& line = it->second;
    while (line.front < line.pods.size() && !waits(line.pods[line.front])) ++line.front;
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      const row_t pod = line.pods[i].pod;
      if (!waits(line.pods[i]) || !state_->pods.alive(pod)) continue;  // gone, as the log is about to say
      if (state_->classes[state_->pods.cls[pod]].priority > happened.highest) continue;
      const bool refused = rejections_[pod].at_admission;
      if (refused && !concerned.empty() && concerned.back() == it->first) continue;
      const queueing_strategy how = judge_->judge(pod, rejections_[pod], happened, what);
      if (!refused)
        move(pod, how);
      else if (how != queueing_strategy::skip)
        concerned.push_back(it->first);
    }
    it = line.front == line.pods.size() ? lines_.erase(it) : std::next(it);
  }
  for (const class_id cls : concerned) wake_line({cls, position});
  wake_groups(position, [&](const waiting_group& one) {
    if (!one.refused.at_admission) return false;
    row_t member = no_row;
    entities_->each_member(one.group.row, [&](row_t pod) {
      if (member == no_row && entities_->wants_node(pod)) member = pod;
    });
    return member != no_row && judge_->judge(member, one.refused, happened, what) != queueing_strategy::skip;
  });
}

GANGSCHED_INLINE void unschedulable_pods::clear() {
  lines_.clear();
  groups_.clear();
  group_woken_for_.clear();
  woken_for_.assign(state_->pods.rows.count(), {});
  if (options_->wake == wake_rule::hints) rejections_.resize(state_->pods.rows.count());
  epoch_ = state_->classes.epoch();
}

GANGSCHED_INLINE void unschedulable_pods::grow() {
  const std::size_t pods = state_->pods.rows.count();
  if (woken_for_.size() >= pods) return;
  woken_for_.resize(std::max({pods, std::size_t{state_->pods.rows.room()}, 2 * woken_for_.size()}));
  if (options_->wake == wake_rule::hints) rejections_.resize(woken_for_.size());
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
