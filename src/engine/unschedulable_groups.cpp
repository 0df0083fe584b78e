#include "gangsched/engine/unschedulable_groups.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void unschedulable_groups::link(ends& to, links entry::*in, slot at, slot before) noexcept {
  slot& behind = before == none ? to.last : (slots_[before].*in).before;
  (slots_[at].*in) = {behind, before};
  (behind == none ? to.first : (slots_[behind].*in).after) = at;
  behind = at;
}

GANGSCHED_INLINE bool unschedulable_groups::is_tried_before(slot a, slot b, const sort_order& by) const noexcept {
  const entry &one = slots_[a], &other = slots_[b];
  if (by.before(one.group.place, other.group.place)) return true;
  return one.order < other.order && !by.before(other.group.place, one.group.place);
}

/// Behind the last that the queue does not try later.
GANGSCHED_INLINE void unschedulable_groups::take_turn(ends& among, slot at, const sort_order& by) noexcept {
  slot next = none;
  if (among.first != none && is_tried_before(at, among.first, by)) {
    next = among.first;
  } else {
    for (slot last = among.last; last != none && is_tried_before(at, last, by); last = slots_[last].in_turn.before)
      next = last;
  }
  link(among, &entry::in_turn, at, next);
}

GANGSCHED_INLINE void unschedulable_groups::unlink(ends& from, links entry::*in, slot at) noexcept {
  const links its = slots_[at].*in;
  (its.before == none ? from.first : (slots_[its.before].*in).after) = its.after;
  (its.after == none ? from.last : (slots_[its.after].*in).before) = its.before;
}

GANGSCHED_INLINE unschedulable_groups::slot unschedulable_groups::first_of_kind(std::uint64_t kind) const noexcept {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? none : found->second.members.first;
}

GANGSCHED_INLINE unschedulable_groups::slot unschedulable_groups::first_to_try(std::uint64_t kind) const noexcept {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? none : found->second.turns.first;
}

GANGSCHED_INLINE unschedulable_groups::slot unschedulable_groups::find(row_t group) const noexcept {
  const auto found = rows_.find(group);
  return found == rows_.end() ? none : found->second;
}

GANGSCHED_INLINE unschedulable_groups::slot unschedulable_groups::add(unschedulable_group made, const sort_order& by) {
  if (const slot before = find(made.group.row); before != none) remove(before);
  if (free_.empty()) {
    slots_.emplace_back();
    free_.push_back(static_cast<slot>(slots_.size() - 1));
  }
  const slot at = free_.back();
  free_.pop_back();
  const std::uint64_t kind = std::exchange(made.kind, 0);
  rows_.emplace(made.group.row, at);
  slots_[at] = {std::move(made), ++made_, {}, {}, {}};
  link(all_, &entry::in_all, at);
  set_kind(at, kind, by);
  if (kind == 0) forget_condition(at);
  return at;
}

GANGSCHED_INLINE void unschedulable_groups::remove(slot at) {
  leave_kind(at);
  unlink(all_, &entry::in_all, at);
  rows_.erase(slots_[at].group.group.row);
  index_.erase(at);
  unknown_.erase(at);
  slots_[at] = {};
  free_.push_back(at);
}

GANGSCHED_INLINE void unschedulable_groups::clear() { *this = {}; }

GANGSCHED_INLINE void unschedulable_groups::move_to_end(slot at, const queued& place, const sort_order& by) {
  unlink(all_, &entry::in_all, at);
  link(all_, &entry::in_all, at);
  slots_[at].order = ++made_;
  if (const auto found = kinds_.find(slots_[at].group.kind); found != kinds_.end()) {
    unlink(found->second.members, &entry::in_kind, at);
    link(found->second.members, &entry::in_kind, at);
    dirty_.insert(found->first);
  }
  set_place(at, place, by);
}

GANGSCHED_INLINE void unschedulable_groups::set_place(slot at, const queued& place, const sort_order& by) {
  slots_[at].group.place = place;
  const auto found = kinds_.find(slots_[at].group.kind);
  if (found == kinds_.end()) return;
  const links turn = slots_[at].in_turn;  // mostly it keeps its turn, or is the last now
  if ((turn.before == none || is_tried_before(turn.before, at, by)) &&
      (turn.after == none || is_tried_before(at, turn.after, by)))
    return;
  unlink(found->second.turns, &entry::in_turn, at);
  take_turn(found->second.turns, at, by);
}

GANGSCHED_INLINE void unschedulable_groups::leave_kind(slot at) {
  const auto found = kinds_.find(std::exchange(slots_[at].group.kind, 0));
  if (found == kinds_.end()) return;
  unlink(found->second.members, &entry::in_kind, at);
  unlink(found->second.turns, &entry::in_turn, at);
  dirty_.insert(found->first);
  if (found->second.members.first != none) return;
  dirty_.erase(found->first);
  kind_index_.erase(found->second.number);
  free_numbers_.push_back(found->second.number);
  kinds_.erase(found);
}

GANGSCHED_INLINE void unschedulable_groups::set_kind(slot at, std::uint64_t kind, const sort_order& by) {
  if (slots_[at].group.kind == kind) return;
  leave_kind(at);
  slots_[at].group.kind = kind;
  if (kind == 0) return forget_condition(at);
  index_.erase(at);
  unknown_.erase(at);
  const auto [found, fresh] = kinds_.try_emplace(kind);
  if (fresh && free_numbers_.empty()) {
    free_numbers_.push_back(static_cast<std::uint32_t>(kind_of_number_.size()));
    kind_of_number_.push_back(0);
  }
  if (fresh) {
    found->second.number = free_numbers_.back();
    free_numbers_.pop_back();
    kind_of_number_[found->second.number] = kind;
  }
  link(found->second.members, &entry::in_kind, at);
  take_turn(found->second.turns, at, by);
  dirty_.insert(kind);
}

GANGSCHED_INLINE void unschedulable_groups::forget_condition(slot at) {
  if (const std::uint64_t kind = slots_[at].group.kind; kind != 0) {
    dirty_.insert(kind);
  } else {
    unknown_.insert(at);
  }
}

GANGSCHED_INLINE void unschedulable_groups::forget_conditions() {
  for (slot at = all_.first; at != none; at = after(at)) forget_condition(at);
}

GANGSCHED_INLINE void unschedulable_groups::find_firsts(alike& of) const {
  of.firsts.clear();
  of.by_age = true;
  std::uint64_t since = 0;
  for (slot at = of.members.first; at != none; at = after_of_kind(at)) {
    const unschedulable_group& one = slots_[at].group;
    of.by_age = of.by_age && since <= one.since;
    since = one.since;
    const auto like_it = [&](slot other) { return slots_[other].group.standing() == one.standing(); };
    if (std::none_of(of.firsts.begin(), of.firsts.end(), like_it)) of.firsts.push_back(at);
  }
  if (of.by_age) return;
  of.firsts.clear();
  for (slot at = of.members.first; at != none; at = after_of_kind(at)) of.firsts.push_back(at);
}

GANGSCHED_INLINE std::vector<unschedulable_groups::slot> unschedulable_groups::in_order(
    std::vector<slot> found, const std::vector<std::uint32_t>& kinds) const {
  for (const std::uint32_t number : kinds) {
    const std::vector<slot>& firsts = kinds_.find(kind_of_number_[number])->second.firsts;
    found.insert(found.end(), firsts.begin(), firsts.end());
  }
  std::sort(found.begin(), found.end(), [&](slot a, slot b) { return slots_[a].order < slots_[b].order; });
  return found;
}

GANGSCHED_INLINE bool unschedulable_groups::is_first_alike(slot at, std::uint64_t position) const noexcept {
  const unschedulable_group& one = slots_[at].group;
  slot first = first_of_kind(one.kind);
  const auto counts = [&](const unschedulable_group& of) {
    return of.since <= position && of.standing() == one.standing();
  };
  while (first != at && !counts(slots_[first].group)) first = after_of_kind(first);
  return first == at;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
