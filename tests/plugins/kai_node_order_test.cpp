#include "gangsched/policies/kai_node_order.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::kai_node_order_test {

TEST_CASE("a task of KAI's takes nodes where it fits as things are, then those without GPUs, the fullest first",
          "[plugins][kai]") {
  const auto node = [](row_t row, bool fits, bool apart, double free) {
    return kai_rated_node{fits, apart, free, row, node_id{row, 1}};
  };
  const kai_node_order order{{node(0, false, true, 1), node(1, true, false, 5), node(2, true, true, 9),
                              node(3, true, false, 2), node(4, true, false, 2), node(5, false, false, 0)}};
  std::vector<row_t> rows;
  for (const kai_rated_node& one : order.all()) rows.push_back(one.id.row);
  CHECK(rows == std::vector<row_t>{2, 3, 4, 1, 0, 5});
}

TEST_CASE("the order that is kept as nodes change is that of all nodes put in order anew", "[plugins][kai]") {
  std::size_t moved = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    dice roll{seed};
    const auto rated = [&](row_t row, std::size_t number) {
      return kai_rated_node{roll.percent(60), roll.percent(30), static_cast<double>(roll.between(0, 6)) / 2, number,
                            node_id{row, 1}};
    };
    std::vector<kai_rated_node> plain;
    for (row_t row = 0; row < 40; ++row)
      if (roll.percent(70)) plain.push_back(rated(row, plain.size()));  // some rows have no node
    if (plain.empty()) continue;
    kai_node_order kept{plain};
    for (int step = 0; step < 60; ++step) {
      const std::size_t at = roll.below(plain.size());
      plain[at] = rated(plain[at].id.row, kept.number_of(plain[at].id));
      kept.follow(plain[at]);
      std::vector<kai_rated_node> anew = plain;  // the plain way: selection, by its own comparison
      for (std::size_t i = 0; i < anew.size(); ++i) {
        std::size_t first = i;
        for (std::size_t j = i + 1; j < anew.size(); ++j) {
          const kai_rated_node &a = anew[j], &b = anew[first];
          const auto rank = [](const kai_rated_node& of) { return (of.fits_now ? 0 : 2) + (of.apart ? 0 : 1); };
          if (rank(a) < rank(b) ||
              (rank(a) == rank(b) && (a.free < b.free || (a.free == b.free && a.number < b.number))))
            first = j;
        }
        std::swap(anew[i], anew[first]);
      }
      REQUIRE(kept.all().size() == anew.size());
      for (std::size_t i = 0; i < anew.size(); ++i) {
        moved += kept.all()[i].number != i ? 1 : 0;
        REQUIRE(kept.all()[i].number == anew[i].number);
        REQUIRE(kept.all()[i].free == anew[i].free);
        REQUIRE(kept.all()[i].fits_now == anew[i].fits_now);
      }
    }
  }
  CHECK(moved > 10'000);
}

}  // namespace gangsched::testing::kai_node_order_test
