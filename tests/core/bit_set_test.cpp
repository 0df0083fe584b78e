#include <cstdint>
#include <set>
#include <vector>

#include "gangsched/core/bit_set.hpp"
#include "gangsched/core/hash.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::bit_set_test {

namespace {

std::vector<row_t> members(const row_set& set) {
  std::vector<row_t> rows;
  set.for_each([&](row_t row) { rows.push_back(row); });
  return rows;
}

row_set of(row_t rows, std::initializer_list<row_t> inside) {
  row_set set(rows);
  for (const row_t row : inside) set.set(row);
  return set;
}

using rows_t = std::vector<row_t>;

}  // namespace

TEST_CASE("a row_set without rows is empty and can be walked", "[core][bit_set]") {
  row_set set;
  CHECK(set.rows() == 0);
  CHECK(set.count() == 0);
  CHECK(set.empty());
  CHECK(set.first() == no_row);
  CHECK(members(set).empty());
  set.resize(0);
  set.clear();
  CHECK(set.empty());
}

TEST_CASE("rows at the edges of words are told apart", "[core][bit_set]") {
  row_set set(130);
  for (const row_t row : {0u, 63u, 64u, 127u, 128u, 129u}) {
    CAPTURE(row);
    CHECK_FALSE(set.test(row));
    set.set(row);
    CHECK(set.test(row));
    CHECK(set.count() == 1);
    CHECK(set.first() == row);
    CHECK_FALSE(set.empty());
    CHECK(members(set) == rows_t{row});
    set.reset(row);
    CHECK_FALSE(set.test(row));
    CHECK(set.empty());
  }
}

TEST_CASE("setting twice and resetting twice is the same as once", "[core][bit_set]") {
  row_set set(10);
  set.set(7);
  set.set(7);
  CHECK(set.count() == 1);
  set.reset(7);
  set.reset(7);
  CHECK(set.count() == 0);
}

TEST_CASE("members are visited in row order, whatever order they came in", "[core][bit_set]") {
  CHECK(members(of(200, {199, 3, 64, 0, 128, 63})) == rows_t{0, 3, 63, 64, 128, 199});
}

TEST_CASE("growing keeps the members, and shrinking forgets those cut off for good", "[core][bit_set]") {
  row_set set = of(100, {1, 70, 99});
  set.resize(300);
  CHECK(set.rows() == 300);
  CHECK(members(set) == rows_t{1, 70, 99});
  set.set(299);
  set.resize(71);
  CHECK(members(set) == rows_t{1, 70});
  set.resize(70);
  CHECK(members(set) == rows_t{1});
  set.resize(300);
  CHECK(members(set) == rows_t{1});
  set.set(64);
  set.resize(64);
  set.resize(65);
  CHECK(members(set) == rows_t{1});
}

TEST_CASE("clear removes the members and keeps the rows", "[core][bit_set]") {
  row_set set = of(100, {0, 99});
  set.clear();
  CHECK(set.empty());
  CHECK(set.rows() == 100);
  set.set(99);
  CHECK(members(set) == rows_t{99});
}

TEST_CASE("and_with keeps what both sets have, and nothing beyond the other's end", "[core][bit_set]") {
  row_set wide = of(200, {1, 2, 65, 130, 199}), narrow = of(70, {2, 3, 65});
  CHECK(members(row_set(wide).and_with(narrow)) == rows_t{2, 65});
  row_set other = narrow;
  other.and_with(wide);
  CHECK(members(other) == rows_t{2, 65});
  CHECK(other.rows() == 70);
  CHECK(members(wide.and_with(row_set{})).empty());
  CHECK(wide.rows() == 200);
}

TEST_CASE("row_sets are equal when rows and members are", "[core][bit_set]") {
  CHECK(of(70, {1, 69}) == of(70, {69, 1}));
  CHECK_FALSE(of(70, {1}) == of(70, {2}));
  CHECK_FALSE(of(70, {1}) == of(71, {1}));
}

TEST_CASE("a visitor may reset what it visits and set rows ahead in later words", "[core][bit_set]") {
  row_set set = of(256, {5, 6, 100});
  rows_t seen;
  set.for_each([&](row_t row) {
    seen.push_back(row);
    set.reset(row);
    if (row == 6) set.set(200);
    if (row == 100) set.set(1);
  });
  CHECK(seen == rows_t{5, 6, 100, 200});
  CHECK(members(set) == rows_t{1});
}

TEST_CASE("a row_set agrees with an ordered set after any sequence of changes", "[core][bit_set]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    row_set set, mask;
    std::set<row_t> model, model_mask;
    row_t rows = 0;
    for (std::uint64_t step = 0; step < 600; ++step) {
      const std::uint64_t dice = mix64(seed * 1000 + step);
      const auto row = static_cast<row_t>((dice >> 32) % (rows == 0 ? 1 : rows));
      const std::uint64_t action = dice % 100;
      if (action < 4 || rows == 0) {
        rows = static_cast<row_t>((dice >> 8) % 300 + 1);
        set.resize(rows);
        model.erase(model.lower_bound(rows), model.end());
      } else if (action < 60) {
        set.set(row);
        model.insert(row);
      } else if (action < 85) {
        set.reset(row);
        model.erase(row);
      } else if (action < 97) {
        mask.resize(300);
        mask.set(row);
        model_mask.insert(row);
      } else if (action < 99) {
        set.and_with(mask);
        std::erase_if(model, [&](row_t member) { return model_mask.count(member) == 0; });
      } else {
        set.clear();
        model.clear();
      }
      CAPTURE(seed, step);
      REQUIRE(members(set) == rows_t(model.begin(), model.end()));
      REQUIRE(set.count() == model.size());
      REQUIRE(set.empty() == model.empty());
      REQUIRE(set.first() == (model.empty() ? no_row : *model.begin()));
      if (rows != 0) REQUIRE(set.test(row < rows ? row : rows - 1) == (model.count(row < rows ? row : rows - 1) == 1));
    }
  }
}

}  // namespace gangsched::testing::bit_set_test
