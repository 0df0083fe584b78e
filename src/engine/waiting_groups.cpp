#include "gangsched/engine/waiting_groups.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void waiting_groups::link(ends& to, links entry::*in, slot at) noexcept {
  (slots_[at].*in) = {to.last, none};
  (to.last == none ? to.first : (slots_[to.last].*in).after) = at;
  to.last = at;
}

GANGSCHED_INLINE void waiting_groups::unlink(ends& from, links entry::*in, slot at) noexcept {
  const links its = slots_[at].*in;
  (its.before == none ? from.first : (slots_[its.before].*in).after) = its.after;
  (its.after == none ? from.last : (slots_[its.after].*in).before) = its.before;
}

GANGSCHED_INLINE waiting_groups::slot waiting_groups::first_of_kind(std::uint64_t kind) const noexcept {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? none : found->second.first;
}

GANGSCHED_INLINE waiting_groups::slot waiting_groups::find(row_t group) const noexcept {
  const auto found = rows_.find(group);
  return found == rows_.end() ? none : found->second;
}

GANGSCHED_INLINE waiting_groups::slot waiting_groups::add(waiting_group made) {
  if (const slot before = find(made.group.row); before != none) remove(before);
  if (free_.empty()) {
    slots_.emplace_back();
    free_.push_back(static_cast<slot>(slots_.size() - 1));
  }
  const slot at = free_.back();
  free_.pop_back();
  const std::uint64_t kind = std::exchange(made.kind, 0);
  rows_.emplace(made.group.row, at);
  slots_[at] = {std::move(made), ++made_, {}, {}, false};
  link(all_, &entry::in_all, at);
  set_kind(at, kind);
  forget_condition(at);
  return at;
}

GANGSCHED_INLINE void waiting_groups::remove(slot at) {
  set_kind(at, 0);
  unlink(all_, &entry::in_all, at);
  rows_.erase(slots_[at].group.group.row);
  index_.erase(at);
  slots_[at] = {};
  free_.push_back(at);
}

GANGSCHED_INLINE void waiting_groups::clear() {
  slots_.clear(), free_.clear(), unknown_.clear();
  kinds_.clear(), rows_.clear(), index_.clear();
  all_ = {};
}

GANGSCHED_INLINE void waiting_groups::move_to_end(slot at) noexcept {
  unlink(all_, &entry::in_all, at);
  link(all_, &entry::in_all, at);
  slots_[at].order = ++made_;
  const auto alike = kinds_.find(slots_[at].group.kind);
  if (alike == kinds_.end()) return;
  unlink(alike->second, &entry::in_kind, at);
  link(alike->second, &entry::in_kind, at);
}

GANGSCHED_INLINE void waiting_groups::set_kind(slot at, std::uint64_t kind) {
  std::uint64_t& its = slots_[at].group.kind;
  if (its != 0) {
    const auto alike = kinds_.find(its);
    unlink(alike->second, &entry::in_kind, at);
    if (alike->second.first == none) kinds_.erase(alike);
  }
  its = kind;
  if (kind != 0) link(kinds_[kind], &entry::in_kind, at);
}

GANGSCHED_INLINE void waiting_groups::forget_condition(slot at) {
  if (!std::exchange(slots_[at].unknown, true)) unknown_.push_back(at);
}

GANGSCHED_INLINE void waiting_groups::forget_conditions() {
  index_.clear(), unknown_.clear();
  for (slot at = all_.first; at != none; at = after(at)) slots_[at].unknown = false, forget_condition(at);
}

GANGSCHED_INLINE std::vector<waiting_groups::slot> waiting_groups::in_order(std::vector<slot> found) const {
  std::sort(found.begin(), found.end(), [&](slot a, slot b) { return slots_[a].order < slots_[b].order; });
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
