#include "gangsched/engine/topology_plan.hpp"

#include <map>
#include <numeric>

#include "support/catch.hpp"
#include "support/dice.hpp"

// The cases of Kueue's TestFindTopologyAssignments (K18 to K23) and of Koordinator's topology solver (O1 to O5) in
// network_topology_solver_test.go, with their numbers.
namespace gangsched::testing::topology_plan_test {

namespace {

using namespace gangsched::engine;
using kind = plan_request::kind;

/// A tree of named domains; the innermost are nodes.
class tree {
 public:
  std::size_t add(const std::string& name, std::optional<std::size_t> in = {}, std::int64_t room = 0) {
    const std::size_t at = domains_.size();
    (in ? domains_[*in].below : roots_).push_back(at);
    domains_.push_back({in ? domains_[*in].level + 1 : 0, {}, room});
    names_.push_back(name);
    return at;
  }
  [[nodiscard]] plan_answer answer(const plan_request& wanted) const { return plan_topology(domains_, roots_, wanted); }
  /// By node; those without members are left out.
  [[nodiscard]] std::map<std::string, std::int64_t> plan(const plan_request& wanted) const {
    const plan_answer made = answer(wanted);
    REQUIRE(made.missing.empty());
    std::map<std::string, std::int64_t> found;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (made.taken[i] != 0) found[names_[i]] = made.taken[i];
    }
    return found;
  }

 private:
  std::vector<plan_domain> domains_;
  std::vector<std::size_t> roots_;
  std::vector<std::string> names_;
};
using places = std::map<std::string, std::int64_t>;

tree hosts_of(std::initializer_list<std::pair<const char*, std::int64_t>> all) {
  tree made;
  for (const auto& [name, room] : all) made.add(name, {}, room);
  return made;
}

TEST_CASE("K18: fewest racks first", "[topology][plan]") {
  tree t;
  const auto b1 = t.add("b1");
  const auto r1 = t.add("r1", b1), r2 = t.add("r2", b1), r3 = t.add("r3", b1);
  t.add("x3", r1, 2), t.add("x5", r2, 2);
  for (const char* name : {"x1", "x2", "x4", "x6"}) t.add(name, r3, 1);
  CHECK(t.plan({.count = 4, .how = kind::required, .level = 0}) == places{{"x1", 1}, {"x2", 1}, {"x4", 1}, {"x6", 1}});
}

TEST_CASE("K19: the tightest host; slices of two on large ones first", "[topology][plan]") {
  tree t;
  const auto b = t.add("b1");
  const auto r = t.add("r1", b);
  t.add("x1", r, 1), t.add("x3", r, 2), t.add("x5", r, 1);
  CHECK(t.plan({.count = 2, .how = kind::required, .level = 1}) == places{{"x3", 2}});
  const tree four = hosts_of({{"a", 6}, {"b", 5}, {"c", 4}, {"d", 2}});
  CHECK(four.plan({.count = 12, .slices = {{0, 2}}}) == places{{"a", 6}, {"c", 4}, {"d", 2}});
  const tree three = hosts_of({{"x1", 2}, {"x3", 3}, {"x5", 2}});
  CHECK(three.plan({.count = 4, .slices = {{0, 2}}}) == places{{"x1", 2}, {"x5", 2}});
}

TEST_CASE("K20: unconstrained members fill small hosts first, with slices too", "[topology][plan]") {
  tree t;
  const auto b1 = t.add("b1"), b2 = t.add("b2");
  const auto r1 = t.add("b1/r1", b1), r2 = t.add("b2/r1", b2);
  t.add("x1", r1, 1), t.add("x3", r1, 4), t.add("x5", r1, 1);
  t.add("x2", r2, 1), t.add("x6", r2, 2);
  CHECK(t.plan({.count = 6, .choice = domain_choice::least_free}) ==
        places{{"x1", 1}, {"x2", 1}, {"x3", 1}, {"x5", 1}, {"x6", 2}});
  CHECK(t.plan({.count = 6, .slices = {{2, 2}}, .choice = domain_choice::least_free}) == places{{"x3", 4}, {"x6", 2}});
}

TEST_CASE("K21: balanced placement evens out over as few racks as can be", "[topology][plan]") {
  const auto racks = [](std::initializer_list<std::int64_t> rooms) {
    tree t;
    const auto block = t.add("block");
    int number = 0;
    for (const std::int64_t room : rooms) t.add("n", t.add("rack", block), room), ++number;
    return t;
  };
  const auto shares = [](const tree& t, std::int64_t count, std::int64_t slice) {
    plan_request wanted{.count = count, .how = kind::preferred, .level = 1, .choice = domain_choice::balanced};
    if (slice != 1) wanted.slices = {{1, slice}};
    std::vector<std::int64_t> found;
    const plan_answer made = t.answer(wanted);
    REQUIRE(made.missing.empty());
    for (std::size_t node = 2; node < made.taken.size(); node += 2) found.push_back(made.taken[node]);
    return found;
  };
  using counts = std::vector<std::int64_t>;
  CHECK(shares(racks({15, 15}), 25, 1) == counts{13, 12});
  CHECK(shares(racks({15, 13, 10}), 23, 1) == counts{12, 11, 0});
  CHECK(shares(racks({20, 15, 10}), 25, 5) == counts{0, 15, 10});
}

/// Blocks of racks of hosts, with the room of each host; hosts are "h0", "h1", ….
tree blocks_of(const std::vector<std::vector<std::vector<std::int64_t>>>& blocks) {
  tree made;
  int number = 0;
  for (const auto& racks : blocks) {
    const auto block = made.add("block");
    for (const auto& hosts : racks) {
      const auto rack = made.add("rack", block);
      for (const std::int64_t room : hosts) made.add("h" + std::to_string(number++), rack, room);
    }
  }
  return made;
}

// What Kueue 0.19.2's own code answered in random cases that were made small.
TEST_CASE("small hosts first only where none takes all", "[topology][plan]") {
  CHECK(hosts_of({{"a", 6}, {"b", 2}}).plan({.count = 4, .choice = domain_choice::least_free}) == places{{"a", 4}});
  CHECK(blocks_of({{{1, 2}}, {{3, 1}}}).plan({.count = 4, .slices = {{1, 2}}, .choice = domain_choice::least_free}) ==
        places{{"h2", 3}, {"h3", 1}});
}

TEST_CASE("few domains on each level, whatever their parents got", "[topology][plan]") {
  CHECK(blocks_of({{{3}, {3, 1, 1}}}).plan({.count = 6, .how = kind::preferred, .level = 2}) ==
        places{{"h0", 3}, {"h1", 3}});
  CHECK(blocks_of({{{5, 4}, {8, 3}}}).plan({.count = 15, .how = kind::preferred, .level = 0}) ==
        places{{"h0", 5}, {"h2", 8}, {"h3", 2}});
  CHECK(blocks_of({{{6, 4}}, {{5}}}).plan({.count = 11, .how = kind::preferred, .level = 2}) ==
        places{{"h0", 6}, {"h2", 5}});
  // Inside a slice the largest first, too: here Kueue takes the smallest (1, 2, 3).
  CHECK(blocks_of({{{1, 2, 5}}}).plan({.count = 6, .how = kind::required, .level = 0, .slices = {{1, 6}}}) ==
        places{{"h0", 1}, {"h2", 5}});
}

TEST_CASE("of domains with room for as many slices the one with the fewest pods of room", "[topology][plan]") {
  CHECK(blocks_of({{{3}, {3}}, {{2}, {3}}}).plan({.count = 4, .how = kind::required, .level = 0, .slices = {{1, 2}}}) ==
        places{{"h2", 2}, {"h3", 2}});
}

TEST_CASE("balanced plans are for two levels, the preferred one and the one below it", "[topology][plan]") {
  const auto plan = [](const tree& t, std::int64_t count, std::vector<plan_request::slice> slices = {}) {
    return t.plan({.count = count,
                   .how = kind::preferred,
                   .level = 1,
                   .slices = std::move(slices),
                   .choice = domain_choice::balanced});
  };
  // The examples of KEP-2724.
  CHECK(plan(blocks_of({{{15}, {15}}}), 25) == places{{"h0", 13}, {"h1", 12}});
  CHECK(plan(blocks_of({{{15, 13, 10}}}), 23) == places{{"h0", 12}, {"h1", 11}});
  CHECK(plan(blocks_of({{{20, 10}, {15, 15}}}), 22) == places{{"h2", 11}, {"h3", 11}});
  CHECK(plan(blocks_of({{{20, 10}, {15, 15}}}), 20) == places{{"h0", 20}});
  CHECK(plan(blocks_of({{{10, 5}, {5, 5, 5}}}), 15) == places{{"h2", 5}, {"h3", 5}, {"h4", 5}});
  CHECK(plan(blocks_of({{{15}, {15}}, {{15, 15}}}), 25) == places{{"h2", 13}, {"h3", 12}});
  CHECK(plan(blocks_of({{{15}, {15}, {15, 15}}}), 25, {{2, 5}}) == places{{"h2", 15}, {"h3", 10}});
  // Where no block has room for all it is as with the best fit.
  CHECK(plan(blocks_of({{{4, 3, 4}}, {{6}}}), 12) == places{{"h0", 4}, {"h1", 2}, {"h3", 6}});
}

TEST_CASE("K22: slices in two layers on a GB200 tree", "[topology][plan]") {
  tree t;
  std::vector<std::size_t> racks;
  for (int z = 0; z < 2; ++z) {
    const auto zone = t.add("zone");
    for (int b = 0; b < 2; ++b) {
      const auto block = t.add("block", zone);
      for (int r = 0; r < 2; ++r) {
        racks.push_back(t.add("rack", block));
        for (int n = 0; n < 18; ++n) t.add("node", racks.back(), 1);
      }
    }
  }
  const plan_answer made = t.answer({.count = 96, .how = kind::preferred, .level = 0, .slices = {{0, 48}, {2, 16}}});
  REQUIRE(made.missing.empty());
  std::vector<std::int64_t> by_rack;
  for (const std::size_t rack : racks) {
    by_rack.push_back(std::accumulate(made.taken.begin() + static_cast<std::ptrdiff_t>(rack + 1),
                                      made.taken.begin() + static_cast<std::ptrdiff_t>(rack + 19), std::int64_t{0}));
  }
  CHECK(by_rack == std::vector<std::int64_t>{16, 16, 16, 0, 16, 16, 16, 0});
}

TEST_CASE("K23: what is missing is said by layer", "[topology][plan]") {
  const auto rack_of = [](std::initializer_list<std::int64_t> rooms) {
    tree t;
    const auto rack = t.add("rack");
    for (const std::int64_t room : rooms) t.add("host", rack, room);
    return t;
  };
  CHECK(rack_of({3, 3, 0}).answer({.count = 6, .slices = {{0, 6}, {1, 2}}}).missing ==
        "0/1 slices on level 0; 2/3 slices on level 1");
  CHECK(rack_of({7, 4, 7, 3}).answer({.count = 16, .slices = {{0, 8}, {1, 4}}}).missing ==
        "1/2 slices on level 0; 3/4 slices on level 1");
  CHECK(rack_of({2, 1}).answer({.count = 4, .how = kind::required, .level = 0}).missing == "3/4 members on level 0");
}

TEST_CASE("O1 to O5: Koordinator's distribution of offer slots", "[topology][plan]") {
  tree t;
  const auto b1 = t.add("b1"), b2 = t.add("b2");
  t.add("n1", b1, 5), t.add("n2", b1, 7), t.add("n3", b2, 6), t.add("n4", b2, 4);
  const auto plan = [&](std::int64_t count, std::vector<plan_request::slice> slices = {}) {
    return t.plan({.count = count,
                   .how = kind::preferred,
                   .level = 0,
                   .slices = std::move(slices),
                   .choice = domain_choice::most_free});
  };
  CHECK(plan(15) == places{{"n1", 5}, {"n2", 7}, {"n3", 3}});                               // O1
  CHECK(plan(16, {{1, 4}}) == places{{"n1", 4}, {"n2", 4}, {"n3", 4}, {"n4", 4}});          // O2
  CHECK(plan(16, {{0, 8}}) == places{{"n1", 1}, {"n2", 7}, {"n3", 6}, {"n4", 2}});          // O3
  CHECK(plan(16, {{0, 8}, {1, 2}}) == places{{"n1", 2}, {"n2", 6}, {"n3", 6}, {"n4", 2}});  // O4
  CHECK_FALSE(t.answer({.count = 20, .how = kind::preferred, .slices = {{1, 4}}, .choice = domain_choice::most_free})
                  .missing.empty());
  const tree two = hosts_of({{"n1", 5}, {"n2", 5}});  // O5: 8 of 10
  CHECK_FALSE(two.answer({.count = 10, .slices = {{0, 4}}, .choice = domain_choice::most_free}).missing.empty());
  CHECK(two.plan({.count = 8, .slices = {{0, 4}}, .choice = domain_choice::most_free}) == places{{"n1", 4}, {"n2", 4}});
}

TEST_CASE("a plan takes what was asked, never more than there is, and whole slices only", "[topology][plan]") {
  testing::dice dice{11};
  int planned = 0;
  for (int round = 0; round < 3000; ++round) {
    tree t;
    struct node {
      std::size_t at;
      std::int64_t room;
      std::int64_t block, rack;
    };
    std::vector<node> nodes;
    std::int64_t racks = 0;
    const std::int64_t blocks = dice.between(1, 3);
    for (std::int64_t b = 0; b < blocks; ++b) {
      const auto block = t.add("b");
      for (std::int64_t r = dice.between(1, 3); r > 0; --r, ++racks) {
        const auto rack = t.add("r", block);
        for (std::int64_t n = dice.between(1, 4); n > 0; --n) {
          const std::int64_t room = dice.between(0, 5);
          nodes.push_back({t.add("n", rack, room), room, b, racks});
        }
      }
    }
    const std::int64_t size = dice.between(1, 4);
    const plan_request wanted{.count = size * dice.between(1, 6),
                              .how = static_cast<kind>(dice.below(3)),
                              .level = dice.below(2),
                              .slices = {{1, size}},
                              .choice = static_cast<domain_choice>(1 + dice.below(4))};
    const plan_answer made = t.answer(wanted);
    if (!made.missing.empty()) continue;
    ++planned;
    std::int64_t sum = 0;
    std::map<std::int64_t, std::int64_t> by_rack, by_domain;
    for (const node& one : nodes) {
      const std::int64_t taken = made.taken[one.at];
      CHECK((taken >= 0 && taken <= one.room));
      sum += taken;
      by_rack[one.rack] += taken;
      if (taken != 0) by_domain[wanted.level == 0 ? one.block : one.rack] += taken;
    }
    CHECK(sum == wanted.count);
    for (const auto& [rack, taken] : by_rack) CHECK(taken % size == 0);
    if (wanted.how == kind::required) CHECK(by_domain.size() == 1);
  }
  CHECK(planned > 500);
}

}  // namespace

}  // namespace gangsched::testing::topology_plan_test
