#include "gangsched/model/column.hpp"

#include <array>
#include <memory>

#include "support/catch.hpp"

namespace gangsched::testing::column_test {

// (Not in an unnamed namespace: columns are templates over these.)

std::uint64_t digest_of(const column_base& column, row_t rows) {
  digest out;
  column.digest_into(out, rows);
  return out.value();
}

/// Out of line, because gcc 12 sees through a vector of known size and warns of an overflow that is none.
template <class Column>
[[gnu::noinline]] void grow(Column& column, row_t rows) {
  column.grow(rows);
}
[[gnu::noinline]] void grow(matrix_column& column, row_t rows, std::uint32_t kinds) { column.grow(rows, kinds); }

/// Counts itself, so that a leak or a double delete shows.
struct counted {
  static inline int alive = 0;
  int value;
  explicit counted(int v) : value(v) { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  void digest_into(digest& out) const { out.add(static_cast<std::uint64_t>(value)); }
};

struct two_words {
  const counted* object = nullptr;
  std::int64_t amount = 0;
  row_t cell = no_row;
  bool flag = true;
};

TEST_CASE("a column starts with its initial value in every row it grows to", "[model][column]") {
  undo_log undo;
  column<row_t> cells{undo, no_row};
  grow(cells, 2);
  cells.set(1, 7);
  grow(cells, 4);
  CHECK(cells[0] == no_row);
  CHECK(cells[1] == 7);
  CHECK(cells[3] == no_row);
  grow(cells, 1);  // never shrinks
  CHECK(cells[3] == no_row);
}

TEST_CASE("a column outside a transaction records nothing", "[model][column]") {
  undo_log undo;
  column<int> cells{undo};
  grow(cells, 1);
  cells.set(0, 1);
  CHECK(undo.size() == 0);
}

TEST_CASE("a roll-back puts back every word of a column, whatever its type", "[model][column]") {
  enum class colour : std::uint8_t { red, green };
  undo_log undo;
  column<std::int64_t> wide{undo};
  column<bool> flags{undo};
  column<colour> colours{undo};
  column<double> reals{undo};
  for (row_t row = 0; row < 3; ++row) {
    grow(wide, row + 1), grow(flags, row + 1), grow(colours, row + 1), grow(reals, row + 1);
  }
  wide.set(1, -5), flags.set(1, true), colours.set(1, colour::green), reals.set(1, 0.5);
  const std::array before{digest_of(wide, 3), digest_of(flags, 3), digest_of(colours, 3), digest_of(reals, 3)};

  const std::size_t mark = undo.open();
  for (row_t row = 0; row < 3; ++row) {
    wide.set(row, std::int64_t{1} << 62), flags.set(row, row != 1), colours.set(row, colour::red), reals.set(row, 2.0);
    wide.set(row, 4), flags.set(row, false);  // a second write of the same word
  }
  CHECK(digest_of(wide, 3) != before[0]);
  undo.roll_back(mark);

  CHECK(wide[1] == -5);
  CHECK(flags[1]);
  CHECK_FALSE(flags[0]);
  CHECK(colours[1] == colour::green);
  CHECK(reals[1] == 0.5);
  CHECK(before == std::array{digest_of(wide, 3), digest_of(flags, 3), digest_of(colours, 3), digest_of(reals, 3)});
}

TEST_CASE("a row that a column grew to inside a discarded transaction is as new afterwards", "[model][column]") {
  undo_log undo;
  column<int> cells{undo, 9};
  const std::size_t mark = undo.open();
  grow(cells, 3);
  cells.set(2, 1);
  undo.roll_back(mark);
  CHECK(cells[2] == 9);
}

TEST_CASE("a column's digest depends on every row asked for and on no other", "[model][column]") {
  undo_log undo;
  column<int> cells{undo};
  grow(cells, 4);
  const std::uint64_t before = digest_of(cells, 3);
  cells.set(3, 1);
  CHECK(digest_of(cells, 3) == before);
  cells.set(2, 1);
  CHECK(digest_of(cells, 3) != before);
}

TEST_CASE("a matrix column keeps its words when more kinds than the stride come", "[model][column]") {
  undo_log undo;
  matrix_column amounts{undo};
  grow(amounts, 3, 4);
  for (row_t row = 0; row < 3; ++row) {
    for (std::uint32_t kind = 0; kind < 4; ++kind) amounts.set(row, kind, 10 * row + kind + 1);
  }
  const std::uint64_t before = digest_of(amounts, 3);
  grow(amounts, 3, 100);
  for (row_t row = 0; row < 3; ++row) {
    for (std::uint32_t kind = 0; kind < 4; ++kind) {
      CHECK(amounts.at(row, kind) == 10 * row + kind + 1);
      CHECK(amounts.row(row)[kind] == 10 * row + kind + 1);
    }
    CHECK(amounts.at(row, 99) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(amounts.row(row)) % 64 == 0);  // no row is in more lines than it fills
  }
  CHECK(digest_of(amounts, 3) == before);  // a wider stride is no other state
}

TEST_CASE("a matrix column that had more rows before a roll-back can widen", "[model][column]") {
  undo_log undo;
  matrix_column amounts{undo};
  grow(amounts, 2, 6);
  amounts.set(1, 5, 15);
  const std::size_t mark = undo.open();
  grow(amounts, 9, 6);  // rows that the table forgets again
  amounts.set(8, 0, 80);
  undo.roll_back(mark);
  grow(amounts, 2, 9);
  CHECK(amounts.at(1, 5) == 15);
  grow(amounts, 9, 9);
  CHECK(amounts.at(8, 0) == 0);
}

TEST_CASE("a roll-back restores a matrix column across a change of stride", "[model][column]") {
  undo_log undo;
  matrix_column amounts{undo};
  grow(amounts, 2, 6);
  amounts.set(1, 3, 13);
  const std::uint64_t before = digest_of(amounts, 2);
  const std::size_t mark = undo.open();
  amounts.set(1, 3, -1);
  grow(amounts, 2, 17);
  amounts.set(0, 16, 16);
  amounts.set(1, 3, -2);
  undo.roll_back(mark);
  CHECK(amounts.at(1, 3) == 13);
  CHECK(amounts.at(0, 16) == 0);
  CHECK(digest_of(amounts, 2) == before);
}

TEST_CASE("an object column deletes what it replaces, once, in and out of transactions", "[model][column]") {
  REQUIRE(counted::alive == 0);
  {
    undo_log undo;
    object_column<counted> objects{undo};
    grow(objects, 2);
    CHECK(objects[0] == nullptr);
    objects.set(0, std::make_unique<counted>(1));
    objects.set(0, std::make_unique<counted>(2));
    CHECK(counted::alive == 1);

    const counted* kept = objects[0];
    std::size_t mark = undo.open();
    objects.set(0, std::make_unique<counted>(3));
    objects.set(0, nullptr);
    objects.set(1, std::make_unique<counted>(4));
    CHECK(objects[0] == nullptr);
    undo.roll_back(mark);
    CHECK(objects[0] == kept);  // the same object, not a copy
    CHECK(objects[1] == nullptr);
    CHECK(counted::alive == 1);

    mark = undo.open();
    objects.set(0, std::make_unique<counted>(5));
    const std::size_t inner = undo.open();
    objects.set(0, std::make_unique<counted>(6));
    objects.set(1, std::make_unique<counted>(7));
    static_cast<void>(inner);
    undo.keep();
    CHECK(counted::alive == 4);  // the outer one may still want 2 and 5 back
    undo.keep();
    static_cast<void>(mark);
    CHECK(counted::alive == 2);
    CHECK(objects[0]->value == 6);
    CHECK(objects[1]->value == 7);
  }
  CHECK(counted::alive == 0);
}

TEST_CASE("an object column's digest tells an absent object from any other", "[model][column]") {
  undo_log undo;
  object_column<counted> objects{undo};
  grow(objects, 1);
  const std::uint64_t absent = digest_of(objects, 1);
  objects.set(0, std::make_unique<counted>(0));
  const std::uint64_t zero = digest_of(objects, 1);
  objects.set(0, std::make_unique<counted>(1));
  CHECK(absent != zero);
  CHECK(zero != digest_of(objects, 1));
}

TEST_CASE("columns whose words stand beside each other are columns each", "[model][column]") {
  REQUIRE(counted::alive == 0);
  {
    undo_log undo;
    std::vector<two_words> rows(2);
    word_object_column<&two_words::object> objects{undo, rows};
    word_column<&two_words::amount> amounts{undo, rows};
    word_column<&two_words::cell> cells{undo, rows};
    word_column<&two_words::flag> flags{undo, rows};
    object_column<counted> same_objects{undo};
    column<row_t> same_cells{undo, no_row};
    grow(same_objects, 3), grow(same_cells, 3);

    amounts.set(1, -5), cells.set(1, 7), objects.set(1, std::make_unique<counted>(1));
    same_cells.set(1, 7), same_objects.set(1, std::make_unique<counted>(1));
    CHECK(undo.size() == 0);
    rows.resize(3);
    CHECK(digest_of(cells, 3) == digest_of(same_cells, 3));
    CHECK(digest_of(objects, 3) == digest_of(same_objects, 3));

    const counted* kept = objects[1];
    const std::size_t mark = undo.open();
    amounts.set(1, 4), cells.set(1, no_row), flags.set(1, false), cells.set(2, 3);
    amounts.set(1, 5);
    objects.set(1, std::make_unique<counted>(2));
    objects.set(1, nullptr);
    objects.set(2, std::make_unique<counted>(3));
    CHECK(digest_of(cells, 3) != digest_of(same_cells, 3));
    rows.resize(100);  // in the middle of it
    undo.roll_back(mark);
    CHECK(amounts[1] == -5);
    CHECK(flags[1]);
    CHECK(objects[1] == kept);
    CHECK(objects[2] == nullptr);
    CHECK(digest_of(cells, 3) == digest_of(same_cells, 3));
    CHECK(counted::alive == 2);

    undo.open();
    objects.set(1, std::make_unique<counted>(4));
    flags.set(0, false);
    undo.keep();
    CHECK(objects[1]->value == 4);
    CHECK_FALSE(flags[0]);
    CHECK(flags[1]);
    CHECK(counted::alive == 2);
  }
  CHECK(counted::alive == 0);
}

}  // namespace gangsched::testing::column_test
