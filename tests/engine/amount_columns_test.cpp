// What blocks say of nodes' amounts is what the tables have, and between their ranges, whatever changes and in whatever order nodes stand.
#include "gangsched/engine/amount_columns.hpp"

#include <algorithm>
#include <numeric>

#include "gangsched/engine/recent_amounts.hpp"
#include "gangsched/engine/row_bits.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::amount_columns_test {

namespace {

/// How far ranges are from what they could be, and that they hold for every node.
double compare(const engine::amount_columns& columns, const model::cluster_state& state,
               const engine::row_order& order) {
  double wider = 0;
  for (resource_kind kind = 0; kind < columns.by_kind().size(); ++kind) {
    const amount_column& column = columns.by_kind()[kind];
    for (std::size_t first = 0; first < order.size(); first += amount_block::rows) {
      const amount_range& range = column.ranges[first / amount_block::rows];
      double least = amount_range::infinite, most = -amount_range::infinite;
      for (std::size_t place = first; place < std::min(order.size(), first + amount_block::rows); ++place) {
        const row_t row = order.row(place);
        if (!state.nodes.alive(row)) continue;
        const auto has = static_cast<double>(state.nodes.allocatable.at(row, kind));
        const auto uses = static_cast<double>(state.nodes.used.at(row, kind));
        CHECK(column.allocatable[place] == has);
        CHECK(column.used[place] == uses);
        CHECK(column.free[place] == has - uses);
        CHECK((range.least_allocatable <= has && has <= range.most_allocatable));
        CHECK((range.least_free <= has - uses && has - uses <= range.most_free));
        CHECK((range.least_share <= column.share[place] && column.share[place] <= range.most_share));
        const amount_range& all = columns.of_all()[kind].ranges[0];
        CHECK((all.least_allocatable <= has && has <= all.most_allocatable));
        CHECK((all.least_used <= uses && uses <= all.most_used));
        CHECK((all.least_free <= has - uses && has - uses <= all.most_free));
        CHECK((all.least_share <= column.share[place] && column.share[place] <= all.most_share));
        CHECK((has != 0 || columns.of_all()[kind].lacking[0] != 0));
        least = std::min(least, uses), most = std::max(most, uses);
      }
      if (least > most) continue;
      CHECK((range.least_used <= least && most <= range.most_used));
      wider += least - range.least_used + range.most_used - most;
    }
  }
  return wider;
}

}  // namespace

TEST_CASE("amounts in blocks follow the nodes, and ranges hold for each", "[engine][index]") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    INFO(seed);
    dice roll{seed};
    cluster nodes;
    std::vector<node_id> there;
    const auto add = [&] {
      a_node node{"n" + std::to_string(seed) + "-" + std::to_string(there.size())};
      there.push_back(
          nodes.add_node(node.cpu(roll.between(1, 64)).memory(std::to_string(roll.between(1, 64)) + "Gi")).value());
    };
    for (int i = 0; i < 150; ++i) add();
    const model::cluster_state& state = inside(nodes);
    std::vector<row_t> rows(state.nodes.rows.count());
    std::iota(rows.begin(), rows.end(), row_t{0});
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[roll.below(i)]);
    engine::row_order order;
    order.reset(rows.size());
    order.permute(0, rows);
    engine::amount_columns columns;
    columns.start(state, order);
    CHECK(compare(columns, state, order) == 0);
    for (int step = 0; step < 400; ++step) {
      const node_id node = there[roll.below(there.size())];
      if (roll.percent(5)) add(), order.grow(state.nodes.rows.count());
      if (!nodes.contains(node)) continue;
      if (roll.percent(3))
        REQUIRE(nodes.remove_node(node));
      else
        REQUIRE(nodes.add_pod(a_pod{"p" + std::to_string(step)}.cpu_milli(roll.between(1, 3000)).on(node)));
      for (row_t row = 0; row < order.size(); ++row) columns.update(state, row, order.place(row));
    }
    compare(columns, state, order);
    // One after the other, so that ranges are mostly not made anew in between.
    for (int step = 0; step < 60; ++step) {
      const node_id node = there[roll.below(there.size())];
      if (!nodes.contains(node)) continue;
      REQUIRE(nodes.add_pod(a_pod{"q" + std::to_string(step)}.cpu_milli(roll.between(1, 30000)).on(node)));
      columns.update(state, node.row, order.place(node.row));
      compare(columns, state, order);
    }
    // Some of them change places: from the second block on.
    std::vector<row_t> from(order.size() - 64);
    std::iota(from.begin(), from.end(), row_t{64});
    for (std::size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[roll.below(i)]);
    order.permute(64, from);
    columns.permute(64, from);
    compare(columns, state, order);
    columns.start(state, order);
    CHECK(compare(columns, state, order) == 0);
  }
}

TEST_CASE("amounts that were put down for some nodes are those of the nodes now", "[engine][index]") {
  std::size_t asked = 0, found = 0, wide = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    INFO(seed);
    dice roll{seed};
    cluster nodes;
    std::vector<node_id> there;
    std::vector<pod_id> waiting, running;
    for (int i = 0; i < 100; ++i) {
      a_node node{"n" + std::to_string(i)};
      node.cpu(roll.between(1, 64)).memory(std::to_string(roll.between(1, 64)) + "Gi");
      if (roll.percent(95)) node.resource("example.com/some", "4");
      if (roll.percent(2)) node.resource("example.com/many", "9000000000000");  // more than is exact
      there.push_back(nodes.add_node(node).value());
      waiting.push_back(nodes.add_pod(a_pod{"w" + std::to_string(i)}.cpu_milli(roll.between(1, 3000))).value());
    }
    model::cluster_state& state = inside(nodes);
    engine::recent_amounts recent;
    const auto ask = [&](std::size_t count, std::size_t among) {
      std::vector<row_t> rows;
      while (rows.size() < count) {
        const row_t row = roll.of(there).row % static_cast<row_t>(among);
        if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
      }
      engine::recent_amounts::window block;
      ++asked;
      if (!recent.find(state, rows, block)) return;
      ++found;
      wide += block.size > rows.size();
      const amount_block has{block.columns, block.first, block.size};
      REQUIRE((has.size() <= amount_block::rows && has.size() <= 4 * count));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t at = block.at[i];
        REQUIRE(at < has.size());
        for (resource_kind kind = 0; kind < block.columns.size(); ++kind) {
          const auto all = static_cast<double>(state.nodes.allocatable.at(rows[i], kind));
          const auto used = static_cast<double>(state.nodes.used.at(rows[i], kind));
          CHECK(has.allocatable(kind)[at] == all);
          CHECK(has.used(kind)[at] == used);
          CHECK(has.free(kind)[at] == all - used);
          CHECK(has.inverse(kind)[at] == (all == 0 ? 0.0 : 1.0 / all));
          CHECK(has.share(kind)[at] == (all == 0 ? 0.0 : std::min(1.0, used / all)));
          if (all == 0) CHECK_FALSE(has.all_have(kind));
          if (all > double{amount_block::limit}) CHECK_FALSE(has.exact(kind));
          CHECK((has.range(kind).least_free <= all - used && all <= has.range(kind).most_allocatable));
        }
      }
      CHECK(has.all_have(kinds::cpu));
      CHECK(has.exact(kinds::cpu, amount_block::limit));
      CHECK_FALSE(has.exact(static_cast<resource_kind>(block.columns.size())));
    };
    const auto change = [&](int step) {
      const node_id node = roll.of(there);
      if (roll.percent(30) && !running.empty()) {
        REQUIRE(nodes.remove_pod(running.back()));
        running.pop_back();
      } else {
        const a_pod pod = a_pod{"p" + std::to_string(step)}.cpu_milli(roll.between(1, 3000));
        running.push_back(nodes.add_pod(a_pod{pod}.on(node)).value());
      }
    };
    for (int step = 0; step < 600; ++step) {
      for (std::uint64_t i = roll.below(4); i > 0; --i) change(10 * step + static_cast<int>(i));
      if (step == 200) there.push_back(nodes.add_node(a_node{"late"}.cpu(4).resource("example.com/late", "2")).value());
      if (step == 300) {
        for (int i = 0; i < 20; ++i) {  // more kinds than are put down
          a_node late{"k" + std::to_string(i)};
          there.push_back(nodes.add_node(late.cpu(4).resource("example.com/k" + std::to_string(i), "2")).value());
        }
      }
      if (roll.percent(20)) {
        const transaction trial{state};
        state.assigned.assume(waiting[static_cast<std::size_t>(step) % waiting.size()].row, roll.of(there).row);
        ask(3 + roll.below(9), 12);
      }
      ask(3 + roll.below(9), roll.percent(70) ? 12 : there.size());
      if (roll.percent(5)) ask(amount_block::rows, there.size());
    }
  }
  CHECK(found > asked / 10);
  CHECK(found < asked);
  CHECK(wide > found / 10);
}

TEST_CASE("rows in bits are those that were put in", "[engine][index]") {
  dice roll{3};
  engine::row_bits bits;
  bits.clear(200);
  std::vector<bool> plain(320);
  for (int step = 0; step < 1000; ++step) {
    if (step == 500) bits.grow(320);
    const auto row = static_cast<row_t>(roll.below(step < 500 ? 200 : 320));
    plain[row] = roll.percent(50);
    bits.set(row, plain[row]);
  }
  std::vector<row_t> expected, found;
  for (row_t row = 0; row < plain.size(); ++row)
    if (plain[row]) expected.push_back(row);
  bits.each([&](row_t row) { found.push_back(row); });
  CHECK(found == expected);
  CHECK(bits.count() == expected.size());
  CHECK(bits.has(expected.front()));
  CHECK_FALSE(bits.has(100000));
}

}  // namespace gangsched::testing::amount_columns_test
