#pragma once
#include "gangsched/model/column.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Allocates rows of one table: last freed, first reused, under the undo log like everything else.
class slots {
 public:
  explicit slots(undo_log& undo) : generation_(undo), next_free_(undo, no_row), head_(undo, no_row), count_(undo) {
    head_.grow(1);
    count_.grow(1);
  }
  /// Rows ever used: all row numbers are below this.
  [[nodiscard]] row_t count() const noexcept { return count_[0]; }
  [[nodiscard]] std::uint32_t generation(row_t row) const noexcept { return generation_[row]; }
  /// Rows for which memory is reserved; readers that store data by row reserve as much.
  [[nodiscard]] row_t room() const noexcept { return room_ > count() ? room_ : count(); }
  void reserve(row_t rows) {
    generation_.grow(rows);
    next_free_.grow(rows);
    if (rows > room_) room_ = rows;
  }
  /// The row that `take` returns next; that call then does not allocate.
  row_t make_room() {
    if (head_[0] != no_row) return head_[0];
    return make_room(1);
  }
  /// Reserves memory for so many new rows: `take` then allocates less often.
  row_t make_room(row_t more) {
    generation_.grow(count_[0] + more);
    next_free_.grow(count_[0] + more);
    return count_[0];
  }
  row_t take() {
    if (const row_t row = head_[0]; row != no_row) {
      head_.set(0, next_free_[row]);
      return row;
    }
    const row_t row = make_room();
    count_.set(0, row + 1);
    return row;
  }
  void give_back(row_t row) {
    generation_.set(row, generation_[row] + 1);
    put_first(row);
  }
  // For saving and restoring a table (`row_restorer`): free rows in order, up to no_row; an unused row is taken next.
  [[nodiscard]] row_t first_free() const noexcept { return head_[0]; }
  [[nodiscard]] row_t free_after(row_t row) const noexcept { return next_free_[row]; }
  void set_generation(row_t row, std::uint32_t to) { generation_.set(row, to); }
  void put_first(row_t row) {
    next_free_.set(row, head_[0]);
    head_.set(0, row);
  }
  void digest_into(digest& out) const {
    generation_.digest_into(out, count());
    for (row_t row = head_[0]; row != no_row; row = next_free_[row]) out.add(row);
    count_.digest_into(out, 1);
  }

 private:
  column<std::uint32_t> generation_;
  column<row_t> next_free_;
  column<row_t> head_;
  column<row_t> count_;
  row_t room_ = 0;  // beside the undo log, because it is no state
};

}  // namespace gangsched::inline GANGSCHED_ABI
