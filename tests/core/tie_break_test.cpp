#include <algorithm>
#include <cstdint>
#include <vector>

#include "gangsched/core/bit_set.hpp"
#include "gangsched/core/tie_break.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::tie_break_test {

namespace {

/// A tied set, walked in the order given; counts how much work break_tie does on it.
struct tied_rows {
  row_t rows;
  std::vector<row_t> order;
  row_set inside;
  mutable std::uint64_t asked = 0, walked = 0;

  tied_rows(row_t all, std::vector<row_t> members) : rows(all), order(std::move(members)), inside(all) {
    for (const row_t row : order) inside.set(row);
  }
  row_t pick(std::uint64_t seed, std::uint64_t decision) const {
    return break_tie(
        seed, decision, order.size(), rows,
        [&](row_t row) {
          ++asked;
          return inside.test(row);
        },
        [&](auto&& visit) {
          for (const row_t row : order) {
            ++walked;
            visit(row);
          }
        });
  }
  /// Where in the ascending set @p row is.
  std::size_t rank(row_t row) const {
    std::vector<row_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), row) - sorted.begin());
  }
};

// n² ≥ rows: drawn by rejection. Sixteen members, unevenly spread and clustered.
tied_rows large_set() { return {200, {0, 1, 2, 3, 9, 31, 63, 64, 65, 100, 120, 127, 128, 197, 198, 199}}; }
// n² < rows: the least hash.
tied_rows small_set() {
  return {100'000, {0, 1, 2, 3, 700, 701, 4096, 8191, 8192, 40'000, 65'535, 65'536, 99'996, 99'997, 99'998, 99'999}};
}

double chi_square(const std::vector<std::uint64_t>& counts) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

// Quantiles of chi-square: one run in 10^4 is above the upper, one in 10^4 below the lower. Too even is as wrong as too uneven.
constexpr double low_15 = 2.4, high_15 = 44.3, low_255 = 177.0, high_255 = 347.7;

}  // namespace

TEST_CASE("a tie of nobody has no winner and a tie of one has that one", "[core][tie_break]") {
  CHECK(tied_rows(0, {}).pick(1, 2) == no_row);
  CHECK(tied_rows(50, {}).pick(1, 2) == no_row);
  for (std::uint64_t decision = 0; decision < 100; ++decision) {
    REQUIRE(tied_rows(1, {0}).pick(9, decision) == 0);
    REQUIRE(tied_rows(50, {49}).pick(9, decision) == 49);
    REQUIRE(tied_rows(50'000, {0}).pick(9, decision) == 0);
  }
}

TEST_CASE("the winner of a tie is one of the tied rows", "[core][tie_break]") {
  for (const tied_rows& set : {large_set(), small_set()}) {
    for (std::uint64_t decision = 0; decision < 2000; ++decision) REQUIRE(set.inside.test(set.pick(3, decision)));
  }
}

TEST_CASE("over many decisions every tied row wins equally often", "[core][tie_break]") {
  for (const tied_rows& set : {large_set(), small_set()}) {
    for (const std::uint64_t seed : {0u, 1u, 2u, 42u, 0xffffffffu}) {
      std::vector<std::uint64_t> wins(16);
      for (std::uint64_t decision = 0; decision < 16'000; ++decision) ++wins[set.rank(set.pick(seed, decision))];
      CAPTURE(set.rows, seed);
      CHECK(chi_square(wins) > low_15);
      CHECK(chi_square(wins) < high_15);
    }
  }
}

TEST_CASE("over many seeds every tied row wins the same decision equally often", "[core][tie_break]") {
  for (const tied_rows& set : {large_set(), small_set()}) {
    for (const std::uint64_t decision : {0u, 1u, 1000u}) {
      std::vector<std::uint64_t> wins(16);
      for (std::uint64_t seed = 0; seed < 16'000; ++seed) ++wins[set.rank(set.pick(seed, decision))];
      CAPTURE(set.rows, decision);
      CHECK(chi_square(wins) > low_15);
      CHECK(chi_square(wins) < high_15);
    }
  }
}

TEST_CASE("neighbouring decisions and neighbouring seeds are independent", "[core][tie_break]") {
  for (const tied_rows& set : {large_set(), small_set()}) {
    std::vector<std::uint64_t> by_decision(256), by_seed(256), by_both(256);
    for (std::uint64_t i = 0; i < 51'200; ++i) {
      const std::size_t winner = set.rank(set.pick(5, i)), next = set.rank(set.pick(5, i + 1));
      const std::size_t other_seed = set.rank(set.pick(6, i));
      ++by_decision[winner * 16 + next];
      ++by_seed[winner * 16 + other_seed];
      ++by_both[next * 16 + other_seed];  // seed 6 is not seed 5 one decision ahead
    }
    for (const auto& wins : {by_decision, by_seed, by_both}) {
      CAPTURE(set.rows);
      CHECK(chi_square(wins) > low_255);
      CHECK(chi_square(wins) < high_255);
    }
  }
}

TEST_CASE("a tie does not depend on the order in which the set is walked", "[core][tie_break]") {
  for (const tied_rows& set : {large_set(), small_set()}) {
    tied_rows reversed = set, shuffled = set;
    std::reverse(reversed.order.begin(), reversed.order.end());
    std::sort(shuffled.order.begin(), shuffled.order.end(), [](row_t a, row_t b) { return mix64(a) < mix64(b); });
    REQUIRE(shuffled.order != set.order);
    for (std::uint64_t decision = 0; decision < 1000; ++decision) {
      const row_t winner = set.pick(8, decision);
      REQUIRE(reversed.pick(8, decision) == winner);
      REQUIRE(shuffled.pick(8, decision) == winner);
    }
  }
}

TEST_CASE("the same tie has the same winner every time, and each argument matters", "[core][tie_break]") {
  for (const tied_rows& set : {large_set(), small_set()}) {
    int other_seed = 0, other_decision = 0;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const row_t winner = set.pick(i, 77);
      REQUIRE(set.pick(i, 77) == winner);
      other_seed += set.pick(i + 1, 77) != winner;
      other_decision += set.pick(i, 78) != winner;
    }
    CHECK(other_seed > 440);
    CHECK(other_decision > 440);
  }
}

TEST_CASE("the work on a tie grows with the square root of the rows at most", "[core][tie_break]") {
  constexpr row_t rows = 10'000;
  for (const row_t size : {2u, 99u, 100u, 101u, 1'000u, 10'000u}) {
    std::vector<row_t> members;
    for (row_t i = 0; i < size; ++i) members.push_back(i * (rows / size));
    const tied_rows set(rows, members);
    constexpr std::uint64_t ties = 1000;
    for (std::uint64_t decision = 0; decision < ties; ++decision) static_cast<void>(set.pick(2, decision));
    CAPTURE(size);
    CHECK((set.asked + set.walked) < ties * 115);
    CHECK((set.asked == 0) == (size < 100));
    CHECK((set.walked == 0) == (size >= 100));
  }
}

TEST_CASE("the largest possible tie is drawn over all rows", "[core][tie_break]") {
  row_t lowest = no_row, highest = 0;
  for (std::uint64_t decision = 0; decision < 1000; ++decision) {
    const row_t winner = break_tie(
        1, decision, 0xffffffffu, 0xffffffffu, [](row_t) { return true; }, [](auto&&) {});
    REQUIRE(winner != no_row);
    lowest = std::min(lowest, winner);
    highest = std::max(highest, winner);
  }
  CHECK(lowest < 0x02000000u);
  CHECK(highest > 0xfe000000u);
}

}  // namespace gangsched::testing::tie_break_test
