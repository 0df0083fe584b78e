#include "gangsched/model/change_log.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::change_log_test {

namespace {

change record(row_t row) { return {.kind = change_kind::node_added, .row = row}; }

void append(change_log& log, row_t first, row_t count) {
  for (row_t row = first; row < first + count; ++row) {
    log.append(record(row));
    log.trim();
  }
}

std::vector<row_t> rows(const change_log& log) {
  std::vector<row_t> all;
  for (std::uint64_t at = log.begin(); at < log.end(); ++at) all.push_back(log[at].row);
  return all;
}

TEST_CASE("a change log counts positions from the beginning of time", "[model][change_log]") {
  change_log log{4};
  CHECK(log.begin() == 0);
  CHECK(log.end() == 0);
  append(log, 100, 3);
  CHECK(log.end() == 3);
  CHECK(log[0].row == 100);
  CHECK(log[2].row == 102);
  CHECK(log.tip().position == 3);
}

TEST_CASE("a change log keeps at least its bound and less than twice of it", "[model][change_log]") {
  change_log log{4};
  for (row_t row = 0; row < 100; ++row) {
    append(log, row, 1);
    CHECK(log.end() == row + 1);
    CHECK(log.end() - log.begin() >= std::min<std::uint64_t>(4, row + 1));
    CHECK(log.end() - log.begin() < 8);
    for (std::uint64_t at = log.begin(); at < log.end(); ++at) CHECK(log[at].row == at);
  }
}

TEST_CASE("a change log with a bound of nothing keeps nothing", "[model][change_log]") {
  change_log log{0};
  append(log, 0, 5);
  CHECK(log.begin() == 5);
  CHECK(log.end() == 5);
  CHECK(log.lost({4, 0}));
  CHECK_FALSE(log.lost({5, 0}));
}

TEST_CASE("a reader behind the beginning has lost records", "[model][change_log]") {
  change_log log{4};
  const log_cursor reader = log.tip();
  append(log, 0, 7);
  CHECK_FALSE(log.lost(reader));
  append(log, 7, 1);  // the eighth: 0 to 3 go
  REQUIRE(log.begin() == 4);
  CHECK(log.lost(reader));
  CHECK(log.lost({3, 0}));
  CHECK_FALSE(log.lost({4, 0}));
}

TEST_CASE("a committed reader stops where the outermost transaction began", "[model][change_log]") {
  change_log log{16};
  append(log, 0, 2);
  CHECK(log.committed_end() == 2);
  log.begin_transaction();
  append(log, 2, 3);
  CHECK(log.committed_end() == 2);
  CHECK(log.end() == 5);
  log.end_transaction();
  CHECK(log.committed_end() == 5);
}

TEST_CASE("a log is not trimmed while somebody holds it, but when the last one lets go", "[model][change_log]") {
  change_log log{2};
  log.hold(), log.hold();
  append(log, 0, 20);
  log.let_go();
  CHECK(log.begin() == 0);
  log.let_go();
  CHECK(log.begin() == 18);
  CHECK(log.end() == 20);
}

TEST_CASE("a log is cut off at the same places, whether its records were held or not", "[model][change_log]") {
  for (std::size_t bound = 0; bound < 6; ++bound) {
    for (int held = 1; held < 40; ++held) {
      change_log one_by_one{bound}, at_once{bound};
      for (int call = 0; call < 5; ++call) {
        at_once.hold();
        for (int i = 0; i < held; ++i) one_by_one.write({}), at_once.write({});
        at_once.let_go();
        CHECK(one_by_one.begin() == at_once.begin());
      }
    }
  }
}

TEST_CASE("a truncated log goes on from where it was cut", "[model][change_log]") {
  change_log log{16};
  append(log, 0, 3);
  log.begin_transaction();
  append(log, 50, 4);
  log.truncate(3);
  log.end_transaction();
  CHECK(rows(log) == std::vector<row_t>{0, 1, 2});
  append(log, 3, 1);
  CHECK(log.end() == 4);
  CHECK(log[3].row == 3);
}

TEST_CASE("a reader learns the lowest end that roll-backs have left since it looked", "[model][change_log]") {
  change_log log{64};
  append(log, 0, 10);
  const std::uint64_t before = log.truncations();
  CHECK(log.truncated_since(before) == 10);  // none: the end
  log.truncate(8);
  const std::uint64_t between = log.truncations();
  append(log, 8, 4);
  log.truncate(9);
  append(log, 9, 6);
  CHECK(log.truncated_since(before) == 8);
  CHECK(log.truncated_since(between) == 9);
  CHECK(log.truncated_since(log.truncations()) == log.end());
  log.truncate(5);
  CHECK(log.truncated_since(before) == 5);
  CHECK(log.truncated_since(between) == 5);
}

TEST_CASE("cutting nothing off is not news to anybody", "[model][change_log]") {
  change_log log{64};
  append(log, 0, 3);
  const std::uint64_t before = log.truncations();
  log.truncate(3);
  CHECK(log.truncations() == before);
}

TEST_CASE("nested roll-backs leave the lower end", "[model][change_log]") {
  change_log log{64};
  append(log, 0, 2);
  const log_cursor reader = log.tip();
  log.begin_transaction();
  append(log, 2, 2);  // outer
  append(log, 4, 2);  // inner
  log.truncate(4);
  append(log, 4, 3);  // another inner one, kept
  CHECK(log.truncated_since(reader.truncations) == 4);
  log.truncate(2);
  log.end_transaction();
  CHECK(log.truncated_since(reader.truncations) == 2);
  CHECK(log.end() == 2);
}

TEST_CASE("a reader whose roll-back news were dropped with the records is lost", "[model][change_log]") {
  change_log log{4};
  append(log, 0, 3);
  const log_cursor saw_all{3, log.truncations()};
  log.truncate(1);  // it had read positions 1 and 2
  const log_cursor knows{1, log.truncations()};
  append(log, 1, 2);
  CHECK_FALSE(log.lost(saw_all));
  CHECK(log.truncated_since(saw_all.truncations) == 1);
  append(log, 3, 5);
  REQUIRE(log.begin() == 4);
  const log_cursor stale{6, saw_all.truncations};  // beyond the beginning, but it never heard of the cut at 1
  CHECK(log.lost(stale));
  CHECK(log.lost(knows));  // by position
  CHECK_FALSE(log.lost(log_cursor{5, knows.truncations}));
}

TEST_CASE("a cut right at the beginning of the log is still known", "[model][change_log]") {
  change_log log{4};
  append(log, 0, 6);
  const std::uint64_t before = log.truncations();
  log.truncate(4);
  append(log, 4, 4);
  REQUIRE(log.begin() == 4);
  CHECK_FALSE(log.lost({5, before}));
  CHECK(log.truncated_since(before) == 4);
}

/// What a log may promise, checked against one that forgets nothing: a reader that is not lost and goes back to
/// truncated_since() has then read exactly what is there.
TEST_CASE("a reader that follows the rules always has the log's content", "[model][change_log]") {
  gangsched::testing::dice dice{1};
  change_log log{8};
  std::vector<row_t> all;  // everything, by position
  struct reader {
    log_cursor cursor;
    std::vector<row_t> seen;
  };
  std::vector<reader> readers(4);
  row_t next = 0;
  std::size_t rebuilt = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t what = dice.below(8);
    if (what < 4) {
      append(log, next, 1);
      all.push_back(next++);
    } else if (what == 4 && log.end() > log.begin()) {
      const std::uint64_t to = log.begin() + dice.below(log.end() - log.begin() + 1);
      log.truncate(to);
      all.resize(static_cast<std::size_t>(to));
    } else {
      reader& one = readers[what % readers.size()];
      if (log.lost(one.cursor)) {
        ++rebuilt;
        one.seen = all;
      } else {
        one.seen.resize(
            static_cast<std::size_t>(std::min(one.cursor.position, log.truncated_since(one.cursor.truncations))));
        for (std::uint64_t at = one.seen.size(); at < log.end(); ++at) one.seen.push_back(log[at].row);
      }
      one.cursor = log.tip();
      REQUIRE(one.seen == all);
    }
  }
  CHECK(rebuilt > 0);
}

TEST_CASE("a record says who wrote it, and whether that was undone", "[model][change_log]") {
  change_log log;
  log.append({.kind = change_kind::node_added, .row = 0});
  CHECK(log.write_as(3) == 0);
  log.append({.kind = change_kind::pod_assumed, .row = 1});
  const std::uint64_t from = log.end();
  log.append({.kind = change_kind::pod_released, .row = 1});
  log.mark_undone(from);
  CHECK(log.write_as(0) == 3);
  log.append({.kind = change_kind::node_updated, .row = 0});
  std::vector<std::pair<std::uint32_t, bool>> seen;
  for (std::uint64_t at = log.begin(); at < log.end(); ++at) seen.push_back({log[at].author, log[at].undone});
  CHECK(seen == std::vector<std::pair<std::uint32_t, bool>>{{0, false}, {3, false}, {3, true}, {0, false}});
}

TEST_CASE("every author of a log has a number of its own, and none is the host's", "[model][change_log]") {
  change_log log;
  const std::uint32_t first = log.new_author(), second = log.new_author();
  CHECK(first != 0);
  CHECK(second != 0);
  CHECK(first != second);
}

TEST_CASE("a change knows the node that it touched", "[model][change_log]") {
  const auto node_of = [](change_kind kind) { return change{.kind = kind, .row = 1, .before = 2, .after = 3}.node(); };
  for (const auto kind : {change_kind::node_added, change_kind::node_updated, change_kind::node_removed}) {
    CHECK(node_of(kind) == 1);
  }
  for (const auto kind : {change_kind::pod_updated, change_kind::pod_removed, change_kind::pod_released}) {
    CHECK(node_of(kind) == 2);
  }
  for (const auto kind :
       {change_kind::pod_added, change_kind::pod_terminating, change_kind::pod_assumed, change_kind::pod_bound}) {
    CHECK(node_of(kind) == 3);
  }
  for (const auto kind : {change_kind::pod_gated, change_kind::pod_nominated, change_kind::group_added,
                          change_kind::group_updated, change_kind::group_removed, change_kind::namespace_changed}) {
    CHECK(node_of(kind) == no_row);
  }
}

TEST_CASE("sets of facets are sets", "[model][change_log]") {
  constexpr reads both = reads::usage | reads::ports;
  STATIC_REQUIRE(covers(both, reads::ports));
  STATIC_REQUIRE(!covers(reads::ports, both));
  STATIC_REQUIRE(any(both & reads::usage));
  STATIC_REQUIRE(!any(both & reads::labels));
  STATIC_REQUIRE(covers(reads::everything, both));
  reads grown = reads::name;
  grown |= both;
  CHECK(grown == (reads::name | reads::usage | reads::ports));
}

}  // namespace

}  // namespace gangsched::testing::change_log_test
