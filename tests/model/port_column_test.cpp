#include "gangsched/model/port_column.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::port_column_test {

namespace {

constexpr symbol any_address{}, localhost{3}, outside{4};

std::uint64_t digest_of(const model::port_column& column, row_t rows) {
  digest out;
  column.digest_into(out, rows);
  return out.value();
}

std::vector<host_port> ports_of(const model::port_column& column, row_t row) {
  return {column[row].begin(), column[row].end()};
}

TEST_CASE("a port conflicts with the same protocol and number on an address that overlaps", "[model][port_column]") {
  const host_port web{protocol::tcp, 80, localhost};
  CHECK(web.conflicts({protocol::tcp, 80, localhost}));
  CHECK(web.conflicts({protocol::tcp, 80, any_address}));
  CHECK(host_port{protocol::tcp, 80, any_address}.conflicts(web));
  CHECK_FALSE(web.conflicts({protocol::tcp, 80, outside}));
  CHECK_FALSE(web.conflicts({protocol::udp, 80, localhost}));
  CHECK_FALSE(web.conflicts({protocol::tcp, 81, localhost}));
}

TEST_CASE("a port column keeps one sorted entry for every use", "[model][port_column]") {
  undo_log undo;
  model::port_column column{undo};
  const host_port a{protocol::tcp, 80, any_address}, b{protocol::tcp, 443, localhost}, c{protocol::udp, 53, outside};
  for (const host_port& port : {c, a, b, a}) column.add(1, port);
  CHECK(column[0].empty());
  CHECK(ports_of(column, 1) == std::vector{a, a, b, c});
  column.remove(1, a);
  CHECK(ports_of(column, 1) == std::vector{a, b, c});
  column.remove(1, b);
  column.remove(1, a);
  column.remove(1, c);
  CHECK(column[1].empty());
  column.remove(1, c);  // it is gone with another pod
  column.remove(7, c);
  CHECK(column[1].empty());
  CHECK(undo.size() == 0);
}

TEST_CASE("a port column takes every protocol, number and address through a roll-back", "[model][port_column]") {
  undo_log undo;
  model::port_column column{undo};
  std::vector<host_port> all;
  for (const auto one : {protocol::tcp, protocol::udp, protocol::sctp}) {
    for (const std::uint16_t number :
         {std::uint16_t{1}, std::uint16_t{255}, std::uint16_t{256}, std::uint16_t{65535}}) {
      for (const symbol address : {any_address, symbol{1}, symbol{0xffffffffu}}) all.push_back({one, number, address});
    }
  }
  for (const host_port& port : all) column.add(0, port);
  const std::uint64_t before = digest_of(column, 1);
  const std::size_t mark = undo.open();
  for (const host_port& port : all) column.remove(0, port);
  CHECK(column[0].empty());
  column.add(0, all.front());
  undo.roll_back(mark);
  CHECK(ports_of(column, 0) == all);
  CHECK(digest_of(column, 1) == before);
}

TEST_CASE("a port column is restored over random nested transactions", "[model][port_column]") {
  gangsched::testing::dice dice{7};
  undo_log undo;
  model::port_column column{undo};
  struct checkpoint {
    std::size_t mark;
    std::uint64_t digest;
  };
  std::vector<checkpoint> open;
  for (int step = 0; step < 20'000; ++step) {
    const auto row = static_cast<row_t>(dice.below(3));
    const std::size_t what = dice.below(20);
    if (what == 0 && open.size() < 4) {
      open.push_back({undo.open(), digest_of(column, 3)});
    } else if (what == 1 && !open.empty()) {
      undo.keep();
      open.pop_back();
    } else if (what == 2 && !open.empty()) {
      undo.roll_back(open.back().mark);
      REQUIRE(digest_of(column, 3) == open.back().digest);
      open.pop_back();
    } else if (!column[row].empty() && dice.percent(50)) {
      column.remove(row, column[row][dice.below(column[row].size())]);
    } else {
      column.add(row, {static_cast<protocol>(dice.below(3)), static_cast<std::uint16_t>(dice.below(5)),
                       symbol{static_cast<std::uint32_t>(dice.below(2))}});
    }
    REQUIRE(std::is_sorted(column[row].begin(), column[row].end()));
  }
  while (!open.empty()) undo.roll_back(open.back().mark), open.pop_back();
}

}  // namespace

}  // namespace gangsched::testing::port_column_test
