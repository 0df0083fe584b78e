#include <algorithm>
#include <map>
#include <utility>

#include "gangsched/engine/unschedulable_pods.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/restored_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

GANGSCHED_INLINE saved_rejection saved(const rejection& one) noexcept {
  return {one.unschedulable, one.pending, one.at_admission};
}
GANGSCHED_INLINE rejection restored(const saved_rejection& one) noexcept {
  return {one.unschedulable, one.pending, one.at_admission};
}

}  // namespace detail

GANGSCHED_INLINE saved_unschedulable unschedulable_pods::save(model::cluster_saver& classes) const {
  constexpr std::uint32_t none = model::cluster_saver::none;
  const model::pod_table& pods = state_->pods;
  saved_unschedulable made;
  made.classes_moved = epoch_ != state_->classes.epoch();
  std::map<class_id, std::uint32_t> numbers;  // of lines, from 1
  for (const auto& [cls, line] : lines_) {
    saved_line one{classes.number_of(cls, line.generation),
                   line.by_failure,
                   line.filtered,
                   line.rejectors,
                   line.refusers,
                   line.hears,
                   line.retry_at,
                   {}};
    for (std::size_t i = line.front; i < line.pods.size(); ++i) {
      if (waits(line.pods[i]) && pods.alive(line.pods[i].pod))
        one.pods.emplace_back(line.pods[i].pod, line.pods[i].since);
    }
    // By hints some wait on whose class is another one by now.
    if (one.cls == none && !one.pods.empty()) one.cls = classes.number_of(pods.cls[one.pods.front().first]);
    if (one.cls == none) continue;
    made.lines.push_back(std::move(one));
    numbers[cls] = static_cast<std::uint32_t>(made.lines.size());
  }
  for (row_t pod = 0; pod < woken_.size() && pod < pods.rows.count(); ++pod) {
    const wake& why = woken_[pod];
    if (why.cls == no_class) continue;
    const auto line = numbers.find(why.cls);
    saved_wake one{pod, classes.number_of(why.cls), line == numbers.end() ? 0 : line->second, 0, why.position};
    if (one.cls != none || one.line != 0) made.woken.push_back(one);
  }
  for (auto at = groups_.first(); at != unschedulable_groups::none; at = groups_.after(at)) {
    const unschedulable_group& group = groups_[at];
    saved_unschedulable_group& one = made.groups.emplace_back();
    one.group = group.group;
    for (const auto& [cls, generation] : group.classes) {
      if (const std::uint32_t number = classes.number_of(cls, generation); number != none)
        one.classes.push_back(number);
    }
    one.rejectors = group.rejectors, one.since = group.since;
    one.reason = group.reason;
    one.kind = group.kind, one.pending = group.pending;
    one.filtered = group.filtered;
    one.refused = detail::saved(group.refused);
    one.ready = group.ready, one.retry_at = group.retry_at;
    const queued& place = group.place;
    one.place = {place.pod,     place.group,   place.priority, place.since,
                 place.entered, place.arrival, place.start_by, place.expected_run_time};
  }
  for (row_t group = 0; group < group_woken_for_.size(); ++group) {
    if (const group_wake& why = group_woken_for_[group]; why.kind != 0)
      made.woken_groups.push_back({group, 0, 0, why.kind, why.position});
  }
  for (row_t pod = 0; pod < rejections_.size() && pod < pods.rows.count(); ++pod) {
    if (const rejection& one = rejections_[pod]; !one.empty() || one.at_admission)
      made.rejections.emplace_back(pod, detail::saved(one));
  }
  made.groups_read = groups_read_;
  return made;
}

/// False where the data is not what was saved.
class unschedulable_pods::restoring {
 public:
  restoring(unschedulable_pods& to, const saved_unschedulable& from, std::span<const class_id> classes) noexcept
      : to_(&to), from_(&from), classes_(classes) {}
  [[nodiscard]] bool lines();
  [[nodiscard]] bool groups();

 private:
  unschedulable_pods* to_;
  const saved_unschedulable* from_;
  std::span<const class_id> classes_;
};

/// Lines, and why pods were woken. If classes have changed since pods were lined up, that is done anew when the log is read next.
GANGSCHED_INLINE bool unschedulable_pods::restoring::lines() {
  const model::pod_table& pods = to_->state_->pods;
  const row_t count = pods.rows.count();
  std::vector<class_id> classes_of_lines;
  std::vector<bool> stands(count);
  for (const saved_line& one : from_->lines) {
    if (one.cls >= classes_.size()) return false;
    const class_id cls = classes_[one.cls];
    classes_of_lines.push_back(cls);
    const auto [at, fresh] = to_->lines_.try_emplace(cls);
    class_line& line = at->second;
    line.generation = to_->state_->classes.generation(cls);
    line.by_failure = fresh && one.by_failure;
    line.filtered = line.filtered || one.filtered;
    line.rejectors |= one.rejectors, line.refusers |= one.refusers, line.hears |= one.hears;
    line.retry_at = std::min(line.retry_at, one.retry_at);
    to_->next_retry_ = std::min(to_->next_retry_, line.retry_at);
    for (const auto& [pod, since] : one.pods) {
      const queue_item* const item = pod < count && pods.alive(pod) ? to_->queue_->find({pod, false}) : nullptr;
      if (item == nullptr || item->where != place::unschedulable || stands[pod] || since > to_->state_->log.end())
        return false;
      stands[pod] = true;
      line.pods.push_back({pod, item->ticket, since});
    }
    line.compact_at = std::max<std::size_t>(64, 2 * line.pods.size());
    to_->unknown_.insert(cls);
  }
  to_->woken_.resize(count);
  for (const saved_wake& one : from_->woken) {
    if (one.row >= count || one.line > classes_of_lines.size() || (one.line == 0 && one.cls >= classes_.size()))
      return false;
    to_->woken_.set(one.row, {one.line != 0 ? classes_of_lines[one.line - 1] : classes_[one.cls], one.position});
  }
  if (to_->options_->wake == wake_rule::hints) to_->rejections_.resize(count);
  for (const auto& [pod, by] : from_->rejections) {
    if (pod >= to_->rejections_.size()) return false;
    to_->rejections_[pod] = detail::restored(by);
  }
  to_->epoch_ = to_->state_->classes.epoch() - (from_->classes_moved ? 1 : 0);
  return true;
}

/// Those that are alike are numbered otherwise here.
GANGSCHED_INLINE bool unschedulable_pods::restoring::groups() {
  const slots& rows = to_->state_->groups.rows;
  std::vector<unschedulable_group> all;
  std::map<std::uint64_t, std::uint64_t> kinds{{0, 0}};
  const auto find_kind = [&](std::uint64_t kind, const unschedulable_group& like) {
    if (kinds.contains(kind)) return;
    if (!gangsched::detail::names_group(*to_->state_, like.group)) return;
    if (const std::uint64_t now = to_->judge_->kind_of(like); now != 0) kinds[kind] = now;
  };
  for (const saved_unschedulable_group& one : from_->groups) {
    unschedulable_group& made = all.emplace_back();
    if (!gangsched::detail::had(rows, one.group) || one.since > to_->state_->log.end()) return false;
    made.group = one.group;
    for (const std::uint32_t number : one.classes) {
      if (number >= classes_.size()) return false;
      made.classes.emplace_back(classes_[number], to_->state_->classes.generation(classes_[number]));
    }
    made.rejectors = one.rejectors, made.since = one.since;
    made.reason = one.reason;
    made.pending = static_cast<std::size_t>(one.pending);
    made.filtered = one.filtered;
    made.refused = detail::restored(one.refused);
    made.ready = one.ready, made.retry_at = one.retry_at;
    to_->next_retry_ = std::min(to_->next_retry_, made.retry_at);
    made.place = {one.place.pod,     one.place.group,   one.place.priority, one.place.since,
                  one.place.entered, one.place.arrival, one.place.start_by, one.place.expected_run_time};
    find_kind(one.kind, made);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t kind = from_->groups[i].kind;
    const auto known = kinds.find(kind);
    if (to_->groups_.find(all[i].group.row) != unschedulable_groups::none) return false;
    all[i].kind = known != kinds.end() ? known->second : kind;
    to_->groups_.add(std::move(all[i]), to_->queue_->sort());
  }
  to_->group_woken_for_.resize(rows.count());
  for (const saved_wake& one : from_->woken_groups) {
    if (one.row >= rows.count()) return false;
    if (!kinds.contains(one.kind)) {
      unschedulable_group like{{{one.row, rows.generation(one.row)}, {}, 0}, 0, {}};
      detail::collect_classes(*to_->state_, *to_->entities_, like);
      find_kind(one.kind, like);
    }
    const auto known = kinds.find(one.kind);
    to_->group_woken_for_[one.row] = {known != kinds.end() ? known->second : one.kind, one.position};
  }
  to_->groups_read_ = from_->groups_read;
  return to_->groups_read_ <= to_->state_->log.end() &&
         (to_->groups_read_ < to_->state_->log.begin() || to_->groups_read_ >= to_->state_->log.first());
}

GANGSCHED_INLINE std::optional<error> unschedulable_pods::restore(const saved_unschedulable& from,
                                                                  std::span<const class_id> classes) {
  restoring made{*this, from, classes};
  if (made.lines() && made.groups()) return std::nullopt;
  clear();
  rejections_.clear();
  return model::damaged("pods and groups that wait for a change");
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
