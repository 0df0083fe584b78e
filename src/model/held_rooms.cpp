#include "gangsched/model/held_rooms.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/canonical.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE held_rooms::held_rooms(undo_log& undo, matrix_column& used)
    : undo_(&undo), used_(&used), rows_(undo), parts_(undo), record_(undo), by_owner_(undo), drawn_(undo) {}

GANGSCHED_INLINE const held_room_record* held_rooms::find(symbol owner) const noexcept {
  const row_t row = by_owner_.find(owner, {});
  return row == no_row ? nullptr : record_[row];
}

GANGSCHED_INLINE const held_room_record::part* held_rooms::part_on(const held_room_record& room, row_t node) noexcept {
  const auto at = std::lower_bound(room.parts.begin(), room.parts.end(), node,
                                   [](const held_room_record::part& one, row_t wanted) { return one.node < wanted; });
  return at != room.parts.end() && at->node == node ? &*at : nullptr;
}

GANGSCHED_INLINE std::int64_t held_rooms::left(const held_room_record::part& part, std::size_t which) const noexcept {
  return std::max<std::int64_t>(0, part.amounts[which].value - drawn_.at(part.row, static_cast<std::uint32_t>(which)));
}

GANGSCHED_INLINE std::int64_t held_rooms::left(const held_room_record& room, row_t node,
                                               resource_kind kind) const noexcept {
  const held_room_record::part* const part = part_on(room, node);
  for (std::size_t i = 0; part != nullptr && i < part->amounts.size(); ++i) {
    if (part->amounts[i].kind == kind) return left(*part, i);
  }
  return 0;
}

GANGSCHED_INLINE std::int64_t held_rooms::drawn(symbol owner, row_t node, resource_kind kind) const noexcept {
  const held_room_record* const room = owner ? find(owner) : nullptr;
  const held_room_record::part* const part = room == nullptr ? nullptr : part_on(*room, node);
  const resource_kind held = kind == kinds::scored_cpu      ? kinds::cpu
                             : kind == kinds::scored_memory ? kinds::memory
                                                            : kind;
  for (std::size_t i = 0; part != nullptr && i < part->amounts.size(); ++i) {
    if (part->amounts[i].kind == held) return part->amounts[i].value - left(*part, i);
  }
  return 0;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Adds to a node's usage of a kind, and to what scores go by.
inline void count_held(matrix_column& used, row_t node, resource_kind kind, std::int64_t by) {
  used.set(node, kind, used.at(node, kind) + by);
  if (kind == kinds::cpu) used.set(node, kinds::scored_cpu, used.at(node, kinds::scored_cpu) + by);
  if (kind == kinds::memory) used.set(node, kinds::scored_memory, used.at(node, kinds::scored_memory) + by);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

/// What is left of a part comes to its node's usage, or leaves it.
GANGSCHED_INLINE void held_rooms::count(const held_room_record::part& part, std::int64_t sign) {
  for (std::size_t i = 0; i < part.amounts.size(); ++i) {
    detail::count_held(*used_, part.node, part.amounts[i].kind, sign * left(part, i));
  }
}

GANGSCHED_INLINE void held_rooms::count(const held_room_record& room, row_t node, std::int64_t sign) {
  if (node == no_row) {
    for (const held_room_record::part& one : room.parts) count(one, sign);
  } else if (const held_room_record::part* const part = part_on(room, node)) {
    count(*part, sign);
  }
}

GANGSCHED_INLINE void held_rooms::draw_as_owner(const pod_class& cls, row_t node, std::int64_t sign) {
  const held_room_record* const room = find(cls.held_room);
  const held_room_record::part* const part = room == nullptr ? nullptr : part_on(*room, node);
  if (part == nullptr) return;
  for (std::uint32_t i = 0; i < part->amounts.size(); ++i) {
    const resource_kind kind = part->amounts[i].kind;
    const std::int64_t before = left(*part, i);
    drawn_.set(part->row, i, drawn_.at(part->row, i) + sign * cls.request(kind));
    if (lifted_ != cls.held_room) detail::count_held(*used_, node, kind, left(*part, i) - before);
  }
}

/// The part holds nothing any more.
GANGSCHED_INLINE void held_rooms::give_back(const held_room_record::part& part) {
  count(part, -1);
  for (std::uint32_t i = 0; i < part.amounts.size(); ++i) drawn_.set(part.row, i, 0);
  parts_.give_back(part.row);
}

GANGSCHED_INLINE row_t held_rooms::replace(std::string_view name, symbol owner,
                                           std::vector<held_room_record::part> parts) {
  row_t row = by_owner_.find(owner, {});
  if (row != no_row) {
    for (const held_room_record::part& one : record_[row]->parts) give_back(one);
  } else {
    row = rows_.take();
    record_.grow(row + 1);
    by_owner_.insert(owner, {}, row);
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  std::uint32_t widest = 1;
  for (held_room_record::part& one : parts) {
    one.row = parts_.take();
    widest = std::max(widest, static_cast<std::uint32_t>(one.amounts.size()));
  }
  drawn_.grow(parts_.count(), widest);
  record_.set(row, std::make_unique<held_room_record>(held_room_record{std::string{name}, owner, std::move(parts)}));
  for (const held_room_record::part& one : record_[row]->parts) count(one, +1);
  return row;
}

GANGSCHED_INLINE bool held_rooms::remove(symbol owner) {
  const row_t row = by_owner_.find(owner, {});
  if (row == no_row) return false;
  for (const held_room_record::part& one : record_[row]->parts) give_back(one);
  by_owner_.erase(owner, {});
  record_.set(row, nullptr);
  rows_.give_back(row);
  return true;
}

GANGSCHED_INLINE void held_rooms::node_leaves(row_t node) {
  for (row_t row = 0; row < rows_.count(); ++row) {
    const held_room_record::part* const part = record_[row] == nullptr ? nullptr : part_on(*record_[row], node);
    if (part == nullptr) continue;
    give_back(*part);
    auto rest = std::make_unique<held_room_record>(*record_[row]);
    rest->parts.erase(rest->parts.begin() + (part - record_[row]->parts.data()));
    record_.set(row, std::move(rest));
  }
}

GANGSCHED_INLINE void held_rooms::lift::begin(held_rooms& rooms, symbol owner, row_t node) noexcept {
  const held_room_record* const room = rooms.find(owner);
  if (room == nullptr) return;
  rooms_ = &rooms, node_ = node;
  const undo_log::pause words{*rooms.undo_};
  rooms.count(*room, node, -1);
  rooms.lifted_ = owner;
}

GANGSCHED_INLINE void held_rooms::lift::end() noexcept {
  const undo_log::pause words{*rooms_->undo_};
  rooms_->count(*rooms_->find(rooms_->lifted_), node_, +1);
  rooms_->lifted_ = {};
}

GANGSCHED_INLINE void held_room_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::append(text, name);
  for (const part& one : parts) {
    canonical::append(text, one.node, one.row, one.amounts);
  }
  out.add(text.bytes);
}

GANGSCHED_INLINE void held_rooms::digest_into(digest& out) const {
  rows_.digest_into(out);
  parts_.digest_into(out);
  record_.digest_into(out, rows_.count());
  by_owner_.digest_into(out, 0);
  drawn_.digest_into(out, parts_.count());
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
