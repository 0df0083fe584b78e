#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/slots.hpp"

namespace gangsched::inline GANGSCHED_ABI {

class digest;

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

/// A held room: amounts on nodes, held for pods that name it.
struct held_room_record {
  struct part {
    row_t node;
    row_t row;  ///< of what is drawn from it
    std::vector<amount> amounts;
  };
  std::string name;
  symbol owner;             ///< the name, as pods' classes have it
  std::vector<part> parts;  ///< by node
  GANGSCHED_API void digest_into(digest& out) const;
};

/// Room on nodes that is held for its owners. What is left of it counts as used on the node. Code that evaluates nodes for an owner lifts
/// it first (`lift`). A pod of an owner's class draws what it requests, as far as the room has that much.
class GANGSCHED_API held_rooms {
 public:
  held_rooms(undo_log& undo, matrix_column& used);

  /// Adds the room or replaces it. @p there: calls visit(class) for the class of every pod on a node. O(parts · (kinds + pods there)).
  template <class ClassesThere>
  void set(std::string_view name, symbol owner, std::vector<held_room_record::part> parts, const ClassesThere& there) {
    const row_t row = replace(name, owner, std::move(parts));
    for (const held_room_record::part& one : record_[row]->parts)
      there(one.node, [&](const pod_class& cls) { draw(cls, one.node, +1); });
  }
  /// False if there is no such room. O(parts · kinds).
  bool remove(symbol owner);
  /// The node is removed, and has no pods. O(rooms · log parts), and O(parts) for each that holds some there.
  void node_leaves(row_t node);
  /// A pod is put on a node (@p sign +1), or taken off. Allocates for the undo log only. O(log parts + kinds held).
  void draw(const pod_class& cls, row_t node, std::int64_t sign) {
    if (cls.held_room) draw_as_owner(cls, node, sign);
  }

  /// The room of that name, or null. Valid until it changes. O(1).
  [[nodiscard]] const held_room_record* find(symbol owner) const noexcept;
  /// What is left of it on @p node. O(log parts + kinds held).
  [[nodiscard]] std::int64_t left(const held_room_record& room, row_t node, resource_kind kind) const noexcept;
  /// What owners have drawn of the room of that name on @p node; 0 if there is no such room. Also for kinds that scores use. O(log parts).
  [[nodiscard]] std::int64_t drawn(symbol owner, row_t node, resource_kind kind) const noexcept;
  /// @pre the room exists
  [[nodiscard]] row_t row_of(symbol owner) const noexcept { return by_owner_.find(owner, {}); }
  /// Calls visit(record) for all.
  template <class Visit>
  void each(Visit&& visit) const {
    for (row_t row = 0; row < rows_.count(); ++row) {
      if (record_[row] != nullptr) visit(*record_[row]);
    }
  }

  /// During its life what is left of the room of a class counts as free: on @p node, or on all its nodes. No effect if the class owns no
  /// room, or that is lifted already. What pods draw meanwhile must be undone before it ends. O(parts · kinds).
  class lift {
   public:
    lift(held_rooms& rooms, const pod_class& cls, row_t node = no_row) noexcept {
      if (cls.held_room && !rooms.lifted_) begin(rooms, cls.held_room, node);
    }
    lift(const lift&) = delete;
    lift& operator=(const lift&) = delete;
    ~lift() {
      if (rooms_ != nullptr) end();
    }

   private:
    GANGSCHED_API void begin(held_rooms& rooms, symbol owner, row_t node) noexcept;
    GANGSCHED_API void end() noexcept;
    held_rooms* rooms_ = nullptr;
    row_t node_ = no_row;
  };

  void digest_into(digest& out) const;

  // Rows of rooms, and of their parts: for saving, and for restoring before `grow`.
  [[nodiscard]] const slots& rows() const noexcept { return rows_; }
  [[nodiscard]] slots& rows() noexcept { return rows_; }
  [[nodiscard]] const slots& part_rows() const noexcept { return parts_; }
  [[nodiscard]] slots& part_rows() noexcept { return parts_; }
  /// Makes room for as many rows as there are.
  void grow() {
    record_.grow(rows_.count());
    drawn_.grow(parts_.count(), 1);
  }

 private:
  row_t replace(std::string_view name, symbol owner, std::vector<held_room_record::part> parts);
  void draw_as_owner(const pod_class& cls, row_t node, std::int64_t sign);
  void count(const held_room_record& room, row_t node, std::int64_t sign);
  void count(const held_room_record::part& part, std::int64_t sign);
  void give_back(const held_room_record::part& part);
  [[nodiscard]] static const held_room_record::part* part_on(const held_room_record& room, row_t node) noexcept;
  [[nodiscard]] std::int64_t left(const held_room_record::part& part, std::size_t which) const noexcept;

  peer<undo_log> undo_;
  peer<matrix_column> used_;  ///< the nodes'
  slots rows_, parts_;
  object_column<held_room_record> record_;
  name_index by_owner_;
  matrix_column drawn_;  ///< by row of a part and place of the amount in it
  symbol lifted_;        ///< the room that is lifted at the moment; no state
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/held_rooms.cpp"
#endif
