#include <string>

#include "soak.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::rollback_soak_test {

namespace {

void run(const soak_options& options, std::size_t operations) {
  soak one{options};
  REQUIRE_NOTHROW(one.run(operations));
  const soak::counts& done = one.done();
  CHECK(done.calls == operations);
  CHECK(done.deepest == options.depth);
  CHECK(done.rolled_back > operations / 200);
  CHECK(done.committed > operations / 200);
  CHECK(done.refused > operations / 50);
  CHECK(done.refused < operations / 2);
  CHECK(one.follower().taken_back() > 0);
}

TEST_CASE("a small cluster is bit-identical after every roll-back, and as the plain rules say", "[model][soak]") {
  run({.seed = 1}, 120'000);
}

TEST_CASE("a cluster of very few objects reuses its rows and names", "[model][soak]") {
  run({.seed = 2, .nodes = 2, .pods = 6, .groups = 2, .log_bound = 16}, 100'000);
}

TEST_CASE("a larger cluster and a log that forgets nothing", "[model][soak]") {
  run({.seed = 3, .nodes = 25, .pods = 150, .groups = 12, .log_bound = 1 << 20, .compare_every = 200}, 25'000);
}

TEST_CASE("a log too short for its reader makes it rebuild", "[model][soak]") {
  soak one{{.seed = 4, .log_bound = 4, .compare_every = 100}};
  REQUIRE_NOTHROW(one.run(30'000));
  CHECK(one.follower().rebuilds() > 100);
}

TEST_CASE("one transaction deep or many, the outcome is the same kind of cluster", "[model][soak]") {
  run({.seed = 5, .depth = 1}, 20'000);
  run({.seed = 6, .depth = 12}, 20'000);
}

TEST_CASE("what nobody names any more goes at every change, or stays: the state is the same, and so is its digest",
          "[model][soak]") {
  soak_options options{.seed = 7, .nodes = 5, .pods = 20};
  soak keeps{options};
  options.collect = true;
  soak collects{options};
  for (int round = 0; round < 20; ++round) {
    REQUIRE_NOTHROW(keeps.run(2'500));
    REQUIRE_NOTHROW(collects.run(2'500));
    REQUIRE(inside(keeps.under_test()).digest_with_derived() == inside(collects.under_test()).digest_with_derived());
  }
  CHECK(inside(collects.under_test()).collection.freed > 1'000);
}

TEST_CASE("a long soak over many seeds", "[.soak][model]") {
  for (std::uint64_t seed = 100; seed < 150; ++seed) {
    INFO("seed " << seed);
    run({.seed = seed}, 200'000);
    run({.seed = seed, .nodes = 2, .pods = 6, .groups = 2, .log_bound = 16}, 200'000);
  }
}

}  // namespace

}  // namespace gangsched::testing::rollback_soak_test
