// Amounts for batch and mid pods at the ends of what percentages may be.
#include "gangsched/model/colocation.hpp"

#include <limits>

#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::colocation_test {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("amounts to lend end where 64 bits do", "[model][colocation]") {
  const colocation_load load{.capacity = most};
  CHECK(batch_amount({.reclaim_percent = most}, load) == most);  // nothing is kept back, and more
  CHECK(batch_amount({.reclaim_percent = least}, load) < most / 2 + 2);
  CHECK(batch_amount({.reclaim_percent = least}, {.capacity = 1000}) == 0);
  CHECK(batch_amount({.reclaim_percent = 60, .batch_percent = least}, load) < 0);
  CHECK(mid_amount({.reclaim_percent = 60}, least, load) < 0);
}

TEST_CASE("a strategy with a negative percentage lends nothing, and says which it is", "[model][colocation]") {
  cluster c;
  REQUIRE(colocation::make_columns(c));
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const auto refuses = [&](const char* field, const colocation_strategy& how) {
    colocation lends{how};
    check_refused(c, errc::out_of_range, "colocation strategy", field, [&] { return lends.refresh(c, n, instant{0}); });
    check_refused(c, errc::out_of_range, "colocation strategy", field, [&] { return lends.refresh(c, instant{0}); });
  };
  colocation_strategy how;
  how.cpu.reclaim_percent = -1;
  refuses("cpu.reclaim_percent", how);
  how = {};
  how.memory.batch_percent = -5;
  refuses("memory.batch_percent", how);
  how = {};
  how.memory.mid_percent = least;
  refuses("memory.mid_percent", how);
  how = {};
  how.mid_unallocated_percent = -1;
  refuses("mid_unallocated_percent", how);
  CHECK(colocation{}.refresh(c, n, instant{0}));
}

}  // namespace gangsched::testing::colocation_test
