#include <algorithm>
#include <utility>

#include "gangsched/engine/unschedulable_pods.hpp"

// Entities that time alone may help: pods that they could take the place of stay only because they have not run for long enough.
namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void unschedulable_pods::retry_at(entity e, instant when) {
  instant* its = nullptr;
  if (!e.group) {
    if (const auto found = lines_.find(state_->pods.cls[e.row]); found != lines_.end()) its = &found->second.retry_at;
  } else if (const auto at = groups_.find(e.row); at != unschedulable_groups::none) {
    its = &groups_[at].retry_at;
  }
  if (its == nullptr) return;
  *its = std::min(*its, when);
  next_retry_ = std::min(next_retry_, when);
}

/// By the exact rule one of those that are equal is woken, and the next one when it was helped; by hints all are.
GANGSCHED_INLINE void unschedulable_pods::wake_due() {
  if (next_retry_ > *now_ || next_retry_ == instant::max()) return;  // (that is never)
  next_retry_ = instant::max();
  const auto take = [&](instant& its) {
    const bool due = its <= *now_ && its != instant::max();
    if (due) its = instant::max();
    next_retry_ = std::min(next_retry_, its);
    return due;
  };
  std::vector<class_id> due;
  for (auto& [cls, line] : lines_)
    if (take(line.retry_at)) due.push_back(cls);
  for (const class_id cls : due) {
    if (options_->wake != wake_rule::hints) {
      wake_line({cls, state_->log.end()});
      continue;
    }
    const std::vector<class_line::entry> pods = lines_.find(cls)->second.pods;
    for (const class_line::entry& one : pods)
      if (waits(one) && !rejections_[one.pod].at_admission) wake_up({one.pod, false});
  }
  // (Their backoff is not ended by room: what they wait for is others'.)
  const auto try_again = [&](unschedulable_groups::slot at) {
    if (!waits(groups_[at]) || (groups_[at].refused.at_admission && !admits(at))) return false;
    const row_t group = groups_[at].group.row;
    const group_wake why{groups_[at].kind, state_->log.end()};
    groups_.remove(at);
    if (group_woken_for_.size() <= group) group_woken_for_.resize(std::max(group + 1, state_->groups.rows.room()));
    group_woken_for_[group] = why;
    wake_up({group, true});
    return true;
  };
  std::vector<unschedulable_groups::slot> single;
  std::vector<std::uint64_t> kinds;
  for (auto at = groups_.first(); at != unschedulable_groups::none; at = groups_.after(at)) {
    if (!waits(groups_[at]) || !take(groups_[at].retry_at)) continue;
    if (const std::uint64_t kind = groups_[at].kind; kind == 0)
      single.push_back(at);
    else if (!is_among(kind, kinds))
      kinds.push_back(kind);
  }
  for (const auto at : single) try_again(at);
  for (const std::uint64_t kind : kinds) {
    bool more = true;
    for (auto at = groups_.first_to_try(kind); at != unschedulable_groups::none && more;) {
      const auto after = groups_.next_to_try(at);
      more = !try_again(at) || options_->wake == wake_rule::all;
      at = after;
    }
  }
}

GANGSCHED_INLINE std::optional<instant> unschedulable_pods::next_retry() const {
  if (next_retry_ == instant::max()) return std::nullopt;
  instant next = instant::max();
  for (const auto& [cls, line] : lines_) {
    if (line.retry_at >= next) continue;
    const auto front = line.pods.begin() + static_cast<std::ptrdiff_t>(line.front);
    if (std::any_of(front, line.pods.end(), [&](const class_line::entry& one) { return waits(one); }))
      next = line.retry_at;
  }
  for (auto at = groups_.first(); at != unschedulable_groups::none; at = groups_.after(at))
    if (waits(groups_[at])) next = std::min(next, groups_[at].retry_at);
  return next == instant::max() ? std::nullopt : std::optional{next};
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
