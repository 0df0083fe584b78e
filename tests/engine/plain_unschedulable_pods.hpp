#pragma once
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "gangsched/engine/admission_checks.hpp"
#include "gangsched/engine/group_parts.hpp"
#include "gangsched/engine/requeue_judge.hpp"

namespace gangsched::testing {

/// What `engine::unschedulable_pods` does, as plainly as can be: at every event everybody is judged who waits. The calls are the same.
class plain_unschedulable_pods {
 public:
  using entity = engine::entity;
  using place = engine::place;
  using rejection = engine::rejection;

  plain_unschedulable_pods(model::cluster_state& state, const engine::entity_view& entities,
                           const engine::admission_checks& admission, engine::group_parts& parts,
                           engine::requeue_judge& judge, engine::queue& of, const scheduler_options& options,
                           engine_statistics& statistics, const instant& now)
      : state_(state),
        entities_(entities),
        admission_(admission),
        parts_(parts),
        judge_(judge),
        queue_(of),
        options_(options),
        statistics_(statistics),
        now_(now) {}

  void park(row_t pod, const rejection& by, std::uint64_t rejectors) {
    rejections_[pod] = by;
    queue_.park({pod, false}, now_);
    line_up(pod, rejectors, state_.log.end());
  }
  void add_refused(row_t pod, const engine::refusal& why) {
    rejections_[pod] = rejection_by(entities_.profile_of(pod), why);
    queue_.park({pod, false}, now_);
    if (why.said.code == code::pending) queue_.item({pod, false}).ready = engine::no_backoff;
    line_up(pod, state_.log.end()).refusers |= rejections_[pod].all();
  }
  void add_group(row_t group, std::uint64_t rejectors) {
    unschedulable_group one = made(group, rejectors);
    if (rejectors == engine::unknown_rejectors && !one.classes.empty()) {
      std::uint64_t possible = 0;
      for (const auto& [cls, generation] : one.classes) possible |= judge_.possible_rejectors(cls);
      if (possible != 0) one.rejectors = possible;
    }
    if (rejectors != 0 && !by_hints()) one.kind = judge_.kind_of(one);
    groups_.push_back(one);
  }
  void add_refused_group(row_t group, const engine::refusal& why) {
    if (why.said.code == code::pending) queue_.item({group, true}).ready = engine::no_backoff;
    unschedulable_group one = made(group, 0);
    one.kind = judge_.kind_of(one);
    one.filtered = false;
    groups_.push_back(one);
    note_refusal(groups_.back(), rejection_by(entities_.profile_of_group(group), why));
  }
  void add_hopeless_group(row_t group) {
    unschedulable_group one = made(group, 0);
    one.classes.clear(), one.pending = 0;
    groups_.push_back(one);
  }
  void remove_group(row_t group) {
    std::erase_if(groups_, [&](const unschedulable_group& one) { return one.group.row == group; });
  }
  void item_changed(row_t) const {}
  [[nodiscard]] bool has_group(row_t group) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const auto& one) { return one.group.row == group; });
  }

  void on_change(const change& record, std::uint64_t position) {
    if (lines_.empty() && groups_.empty()) return;
    const event what = judge_.event_of(record);
    std::erase_if(lines_, [&](const auto& one) { return one.second.generation != generation(one.first); });
    std::vector<class_id> helped;
    for (auto& [cls, line] : lines_) {
      const std::uint64_t gone = line.filtered ? judge_.outdated(cls, line.rejectors) : 0;
      line.rejectors &= ~gone;
      const bool can = gone != 0 || (line.filtered && judge_.helps(cls, line.rejectors, record, what));
      if (can || (line.refusers != 0 && judge_.concerns(cls, line.refusers, what))) helped.push_back(cls);
    }
    for (const class_id cls : helped) wake_line(cls, position);
    std::erase_if(groups_, [&](const unschedulable_group& one) { return !waits(one); });
    wake_groups(position, [&](const unschedulable_group& one) {
      return (one.filtered && judge_.helps(one, record, what)) ||
             (one.refused.at_admission && judge_.concerns(one, one.refused.all(), what));
    });
  }
  void on_event(const engine::object_event& happened, engine::queueing_event& what, std::uint64_t position) {
    std::erase_if(groups_, [&](const unschedulable_group& one) { return !waits(one); });
    std::vector<class_id> concerned;
    for (auto& [cls, line] : lines_) {
      for (const waiting_pod& one : std::vector<waiting_pod>{line.pods}) {
        if (!waits(one) || !state_.pods.alive(one.pod)) continue;
        if (state_.classes[state_.pods.cls[one.pod]].priority > happened.highest) continue;
        const bool refused = rejections_[one.pod].at_admission;
        if (refused && !concerned.empty() && concerned.back() == cls) continue;
        const engine::queueing_strategy how = judge_.judge(one.pod, rejections_[one.pod], happened, what);
        if (how == engine::queueing_strategy::skip) continue;
        if (refused)
          concerned.push_back(cls);
        else
          move(one.pod, how);
      }
    }
    for (const class_id cls : concerned) wake_line(cls, position);
    wake_groups(position, [&](const unschedulable_group& one) {
      if (!one.refused.at_admission) return false;
      row_t member = no_row;
      entities_.each_member(one.group.row, [&](row_t pod) {
        if (member == no_row && entities_.wants_node(pod)) member = pod;
      });
      return member != no_row && judge_.judge(member, one.refused, happened, what) != engine::queueing_strategy::skip;
    });
  }

  void pass_on(row_t pod) {
    const auto why = woken_for_.find(pod);
    if (why == woken_for_.end()) return;
    const auto [cls, position] = why->second;
    woken_for_.erase(why);
    wake_next(cls, position);
  }
  void forget_wake(row_t pod) {
    if (by_hints())
      pass_on(pod);
    else
      woken_for_.erase(pod);
  }
  void pass_on_group(row_t group) {
    const auto why = group_woken_for_.find(group);
    if (why == group_woken_for_.end()) return;
    const auto [kind, position] = why->second;
    group_woken_for_.erase(why);
    wake_next_group(kind, position);
  }
  void fail_alike_groups(row_t group) {
    if (by_hints()) return pass_on_group(group);
    const auto why = group_woken_for_.find(group);
    if (why == group_woken_for_.end()) return;
    const auto [kind, position] = why->second;
    group_woken_for_.erase(why);
    const bool there = !groups_.empty() && groups_.back().group.row == group;
    const std::uint64_t rejectors = there ? groups_.back().rejectors : 0;
    std::vector<unschedulable_group> failed;
    for (const unschedulable_group& one : groups_) {
      if (one.kind == kind && one.since <= position && waits(one)) failed.push_back(one);
    }
    for (unschedulable_group& one : failed) {
      if (!one.filtered) one.filtered = true, one.rejectors = rejectors;
      fail_again(one);
    }
  }
  void fail_again(entity e) {
    if (e.group) {
      const auto at =
          std::find_if(groups_.begin(), groups_.end(), [&](const auto& one) { return one.group.row == e.row; });
      unschedulable_group one = *at;
      return fail_again(one);
    }
    const auto at = lines_.find(state_.pods.cls[e.row]);
    class_line like;
    like.filtered = true, like.rejectors = engine::unknown_rejectors;
    if (at != lines_.end() && at->second.generation == generation(at->first) && !is_over(at->second)) like = at->second;
    queue_.park(e, now_);
    class_line& line =
        like.filtered ? line_up(e.row, like.rejectors, state_.log.end()) : line_up(e.row, state_.log.end());
    line.refusers |= like.refusers;
  }
  void follow_classes() {
    if (epoch_ == state_.classes.epoch()) return;
    epoch_ = state_.classes.epoch();
    std::vector<std::pair<waiting_pod, class_id>> pods;
    const std::map<class_id, class_line> before = std::exchange(lines_, {});
    for (const auto& [cls, line] : before) {
      for (const waiting_pod& one : line.pods) {
        if (waits(one) && state_.pods.alive(one.pod)) pods.push_back({one, cls});
      }
    }
    std::sort(pods.begin(), pods.end(), [&](const auto& a, const auto& b) {
      return std::pair{a.first.since, state_.pods.arrival[a.first.pod]} <
             std::pair{b.first.since, state_.pods.arrival[b.first.pod]};
    });
    for (const auto& [one, was] : pods) {
      const class_line& its = before.at(was);
      class_line& line = its.filtered ? line_up(one.pod, its.rejectors, one.since) : line_up(one.pod, one.since);
      line.refusers |= its.refusers;
    }
    std::vector<std::pair<class_id, std::uint64_t>> open;
    for (auto& [pod, why] : woken_for_) {
      if (!state_.pods.alive(pod)) continue;
      open.push_back(why);
      why.first = state_.class_of(pod);
    }
    for (const auto& [cls, position] : open) {
      std::vector<class_id> parts;
      for (const auto& [one, was] : pods) {
        if (was == cls) parts.push_back(state_.pods.cls[one.pod]);
      }
      std::sort(parts.begin(), parts.end());
      parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
      for (const class_id split : parts) wake_next(split, position);
    }
    for (unschedulable_group& one : groups_) {
      collect_classes(one);
      if (one.kind != 0) one.kind = named(one) ? judge_.kind_of(one) : 0;
    }
  }
  void clear() {
    lines_.clear(), groups_.clear(), woken_for_.clear(), group_woken_for_.clear();
    epoch_ = state_.classes.epoch();
  }

 private:
  struct waiting_pod {
    row_t pod;
    std::uint32_t ticket;
    std::uint64_t since;
  };
  struct class_line {
    std::uint32_t generation = 0;
    bool filtered = false;
    std::uint64_t rejectors = 0, refusers = 0;
    std::vector<waiting_pod> pods;
  };
  struct unschedulable_group : engine::rejected_group {
    std::uint64_t since = 0, kind = 0;
    std::size_t pending = 0;
    bool filtered = true;
    rejection refused = {};
  };

  [[nodiscard]] bool by_hints() const { return options_.wake == wake_rule::hints; }
  [[nodiscard]] std::uint32_t generation(class_id cls) const { return state_.classes.generation(cls); }
  [[nodiscard]] bool named(const unschedulable_group& one) const {
    return state_.groups.alive(one.group.row) && state_.groups.rows.generation(one.group.row) == one.group.generation;
  }
  [[nodiscard]] bool waits(const waiting_pod& one) const {
    const engine::queue_item* item = queue_.find({one.pod, false});
    return item != nullptr && item->where == place::unschedulable && item->ticket == one.ticket;
  }
  [[nodiscard]] bool is_over(const class_line& line) const {
    return std::none_of(line.pods.begin(), line.pods.end(), [&](const waiting_pod& one) { return waits(one); });
  }
  [[nodiscard]] bool waits(const unschedulable_group& one) const {
    const engine::queue_item* item = queue_.find({one.group.row, true});
    if (item == nullptr || !named(one)) return false;
    const bool backs_off = item->where == place::backoff && !by_hints();
    return item->where == place::timed || item->where == place::unschedulable || backs_off;
  }
  /// Without room for all of it, it goes on backing off, and hearing of events.
  bool still_backs_off(const unschedulable_group& one) {
    const row_t group = one.group.row;
    const entity e{group, true};
    if (by_hints() || one.refused.at_admission || one.rejectors == 0 || !queue_.backs_off(*queue_.find(e), now_))
      return false;
    const bool fits = parts_.may_fit(parts_.room_for(group));
    if (fits) {
      queue_.end_backoff(e);
    } else if (queue_.find(e)->where != place::backoff) {
      ++statistics_.wake_ups;
      queue_.wake(e, now_);
    }
    return !fits;
  }
  static rejection rejection_by(const kernel_table& profile, const engine::refusal& why) {
    rejection made{.at_admission = true};
    (why.said.code == code::pending ? made.pending : made.unschedulable) = engine::plugin_bit(profile, *why.by);
    return made;
  }
  void collect_classes(unschedulable_group& of) {
    of.classes.clear();
    if (!named(of)) return;
    entities_.each_member(of.group.row, [&](row_t pod) {
      if (state_.pods.state[pod] != pod_state::pending || !entities_.has_profile(pod)) return;
      const class_id cls = state_.class_of(pod);
      const std::pair one{cls, generation(cls)};
      if (std::find(of.classes.begin(), of.classes.end(), one) == of.classes.end()) of.classes.push_back(one);
    });
  }
  unschedulable_group made(row_t group, std::uint64_t rejectors) {
    unschedulable_group one;
    one.group = {group, state_.groups.rows.generation(group)};
    one.rejectors = rejectors;
    one.since = state_.log.end();
    collect_classes(one);
    entities_.each_member(group, [&](row_t pod) { one.pending += entities_.wants_node(pod) ? 1 : 0; });
    return one;
  }
  class_line& line_up(row_t pod, std::uint64_t since) {
    const class_id cls = state_.class_of(pod);
    class_line& line = lines_[cls];
    if (line.generation != generation(cls) || is_over(line)) line = {};
    line.generation = generation(cls);
    line.pods.push_back({pod, queue_.find({pod, false})->ticket, since});
    return line;
  }
  class_line& line_up(row_t pod, std::uint64_t rejectors, std::uint64_t since) {
    class_line& line = line_up(pod, since);
    const bool known = rejectors != engine::unknown_rejectors;
    line.rejectors |= known ? rejectors : judge_.possible_rejectors(state_.pods.cls[pod]);
    line.filtered = true;
    return line;
  }
  bool admits(class_line& line, row_t pod) {
    const engine::refusal why = admission_.ask({pod, false});
    if (!why || why.said.code == code::error) return true;
    const rejection by = rejection_by(entities_.profile_of(pod), why);
    line.refusers |= by.all();
    if (by_hints()) rejections_[pod] = by;
    return false;
  }
  bool admits(unschedulable_group& one) {
    const engine::refusal why = admission_.ask({one.group.row, true});
    if (!why || why.said.code == code::error) return true;
    note_refusal(one, rejection_by(entities_.profile_of_group(one.group.row), why));
    return false;
  }
  void note_refusal(unschedulable_group& one, const rejection& by) {
    for (unschedulable_group& other : groups_) {
      if (&other != &one && (one.kind == 0 || other.kind != one.kind)) continue;
      other.refused.unschedulable |= by.unschedulable;
      other.refused.pending |= by.pending;
      other.refused.at_admission = true;
    }
  }
  void move(row_t pod, engine::queueing_strategy how) {
    ++statistics_.wake_ups;
    if (how == engine::queueing_strategy::immediately)
      queue_.activate({pod, false});
    else
      queue_.wake({pod, false}, now_);
  }
  void wake_next(class_id cls, std::uint64_t position) {
    const auto found = lines_.find(cls);
    if (found == lines_.end()) return;
    class_line& line = found->second;
    std::erase_if(line.pods, [&](const waiting_pod& one) { return !waits(one); });
    for (std::size_t i = 0; i < line.pods.size(); ++i) {
      const waiting_pod next = line.pods[i];
      if (next.since > position) return;
      if (by_hints() && !rejections_[next.pod].at_admission) continue;
      if (line.refusers != 0 && !admits(line, next.pod)) {
        if (!engine::admission_checks::asks_each_pod(judge_.profile_of(cls))) return;
        continue;
      }
      woken_for_[next.pod] = {cls, position};
      ++statistics_.wake_ups;
      queue_.wake({next.pod, false}, now_);
      return;
    }
    if (line.pods.empty()) lines_.erase(found);
  }
  void wake_line(class_id cls, std::uint64_t position) {
    std::uint64_t before = 0;
    do before = statistics_.wake_ups, wake_next(cls, position);
    while (options_.wake == wake_rule::all && statistics_.wake_ups != before);
  }
  template <class Helps>
  void wake_groups(std::uint64_t position, const Helps& helps) {
    std::vector<std::tuple<std::uint64_t, std::uint64_t, bool>> asked;
    std::vector<std::uint64_t> kinds;
    std::vector<row_t> alone;
    const auto among = [](const auto& one, const auto& all) {
      return std::find(all.begin(), all.end(), one) != all.end();
    };
    for (unschedulable_group& one : groups_) {
      const std::tuple its{one.kind, one.refused.all(), one.filtered};
      if (one.since > position || (one.kind != 0 && (among(one.kind, kinds) || among(its, asked)))) continue;
      const bool can = helps(one);
      if (one.kind != 0) asked.push_back(its);
      if (one.kind != 0 && can) kinds.push_back(one.kind);
      if (one.kind == 0 && can && (!one.refused.at_admission || admits(one)) && !still_backs_off(one))
        alone.push_back(one.group.row);
    }
    for (const row_t group : alone) {
      remove_group(group);
      ++statistics_.wake_ups;
      queue_.wake({group, true}, now_);
    }
    for (const std::uint64_t kind : kinds) {
      std::uint64_t before = 0;
      do before = statistics_.wake_ups, wake_next_group(kind, position);
      while (options_.wake == wake_rule::all && statistics_.wake_ups != before);
    }
  }
  void wake_next_group(std::uint64_t kind, std::uint64_t position) {
    unschedulable_group* next = nullptr;
    const auto rank = [&](const unschedulable_group& one) {
      const entity e{one.group.row, true};
      const engine::queue_item& item = *queue_.find(e);
      const bool by_room = !by_hints() && !one.refused.at_admission && one.rejectors != 0;
      return std::pair{by_room ? now_ : std::max(item.ready, now_), queue_.describe(e, item)};
    };
    for (unschedulable_group& one : groups_) {
      if (one.kind != kind || one.since > position || !waits(one)) continue;
      const auto its = rank(one);
      if (next != nullptr) {
        const auto best = rank(*next);
        if (its.first != best.first ? its.first > best.first : !queue_.sort().before(its.second, best.second)) continue;
      }
      next = &one;
    }
    if (next == nullptr || (next->refused.at_admission && !admits(*next))) return;
    const row_t group = next->group.row;
    if (still_backs_off(*next)) return;
    remove_group(group);
    group_woken_for_[group] = {kind, position};
    ++statistics_.wake_ups;
    queue_.wake({group, true}, now_);
  }
  void fail_again(unschedulable_group& one) {
    remove_group(one.group.row);
    queue_.park({one.group.row, true}, now_, one.pending);
    one.since = state_.log.end();
    groups_.push_back(one);
  }

  model::cluster_state& state_;
  const engine::entity_view& entities_;
  const engine::admission_checks& admission_;
  engine::group_parts& parts_;
  engine::requeue_judge& judge_;
  engine::queue& queue_;
  const scheduler_options& options_;
  engine_statistics& statistics_;
  const instant& now_;
  std::map<class_id, class_line> lines_;
  std::vector<unschedulable_group> groups_;
  std::map<row_t, std::pair<class_id, std::uint64_t>> woken_for_;
  std::map<row_t, std::pair<std::uint64_t, std::uint64_t>> group_woken_for_;
  std::map<row_t, rejection> rejections_;
  std::uint32_t epoch_ = 0;
};

}  // namespace gangsched::testing
