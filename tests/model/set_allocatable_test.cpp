// Amounts that the host sets beside a node's spec.
#include <map>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/saved_state.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::set_allocatable_test {

TEST_CASE("an amount beside the spec stays when the spec is said again, until that names it",
          "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  const std::uint64_t before = inside(c).log.end();
  REQUIRE(c.set_allocatable(n, {{"kubernetes.io/batch-cpu", quantity{2500}}, {"example.com/tokens", quantity{3}}}));
  CHECK(c.allocatable(n, "kubernetes.io/batch-cpu") == 2500);
  CHECK(c.allocatable(n, "example.com/tokens") == 3);
  CHECK(c.allocatable(n, "cpu") == 4000);
  const std::vector<change> said = changes_since(c, before);
  REQUIRE(said.size() == 1);
  CHECK(said[0].kind == change_kind::node_updated);
  CHECK(said[0].facets == reads::allocatable);

  const std::uint64_t same = inside(c).log.end();
  REQUIRE(c.set_allocatable(n, {{"example.com/tokens", quantity{3}}}));
  CHECK(changes_since(c, same).empty());

  REQUIRE(c.update_node(n, a_node("n").cpu(8).label("a", "b")));
  CHECK(c.allocatable(n, "cpu") == 8000);
  CHECK(c.allocatable(n, "kubernetes.io/batch-cpu") == 2500);

  REQUIRE(c.update_node(n, a_node("n").cpu(8).resource("example.com/tokens", 9)));
  CHECK(c.allocatable(n, "example.com/tokens") == 9);
  REQUIRE(c.update_node(n, a_node("n").cpu(8)));
  CHECK(c.allocatable(n, "example.com/tokens") == 0);  // it was the spec's

  REQUIRE(c.set_allocatable(n, {{"kubernetes.io/batch-cpu", quantity{0}}}));
  CHECK(c.allocatable(n, "kubernetes.io/batch-cpu") == 0);
}

TEST_CASE("what cannot be set beside a spec is refused, and nothing changes", "[model][cluster][node]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(4)).value();
  check_refused(c, errc::unknown, "node", "id", [&] { return c.set_allocatable({}, {{"a.b/c", quantity{1}}}); });
  check_refused(c, errc::wrong_state, "node n", "allocatable[\"cpu\"]", [&] {
    return c.set_allocatable(n, {{"a.b/c", quantity{1}}, {"cpu", quantity{1}}});
  });
  check_refused(c, errc::out_of_range, "node n", "allocatable[\"a.b/c\"]", [&] {
    return c.set_allocatable(n, {{"a.b/c", quantity{-1}}});
  });
  CHECK(c.allocatable(n, "a.b/c") == 0);
}

/// 400 calls on three nodes against a table of what has to come out, with trials that are undone, and restarts.
TEST_CASE("amounts beside specs are what was said last, through updates, trials and restarts",
          "[model][cluster][node]") {
  const std::vector<std::string> resources{"a.b/c", "a.b/d", "kubernetes.io/batch-cpu", "memory", "z.z/z"};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    dice any{seed};
    cluster c;
    struct expected {
      std::map<std::string, std::int64_t> spec, beside;
    };
    std::map<std::string, expected> all;
    const auto spec_of = [&](const std::string& name) {
      a_node made{name};
      for (const auto& [resource, has] : all[name].spec) made.resource(resource, has);
      return made.spec;
    };
    const auto say_spec = [&](const std::string& name) {
      auto& spec = all[name].spec;
      spec.clear();
      for (const std::string& resource : resources)
        if (any.percent(30)) spec[resource] = any.between(1, 5);
      for (const auto& [resource, has] : spec) all[name].beside.erase(resource);
    };
    for (const char* name : {"n1", "n2", "n3"}) {
      say_spec(name);
      REQUIRE(c.add_node(spec_of(name)));
    }
    const auto check_all = [&] {
      for (const auto& [name, one] : all) {
        for (const std::string& resource : resources) {
          std::int64_t has = 0;
          if (const auto beside = one.beside.find(resource); beside != one.beside.end()) has = beside->second;
          if (const auto said = one.spec.find(resource); said != one.spec.end()) has = said->second;
          INFO(name << ' ' << resource);
          REQUIRE(c.allocatable(*c.find_node(name), resource) == has);
        }
      }
    };
    for (int step = 0; step < 400; ++step) {
      const std::string name = "n" + std::to_string(any.between(1, 3));
      const node_id node = *c.find_node(name);
      if (any.percent(20)) {
        say_spec(name);
        REQUIRE(c.update_node(node, spec_of(name)));
      } else if (any.percent(10)) {
        auto again = saved_state::of(c, nullptr).value().restore({}, {}, 1'000'000);
        REQUIRE(again);
        CHECK(again->cluster.digest() == c.digest());
        c = std::move(again->cluster);
      } else {
        resource_list said;
        bool refused = false;
        for (const std::string& resource : resources) {
          if (!any.percent(40)) continue;
          said[resource] = quantity{any.between(0, 5)};
          refused = refused || all[name].spec.contains(resource);
        }
        const std::uint64_t before = c.digest();
        if (any.percent(25)) {
          transaction trial{c};
          static_cast<void>(c.set_allocatable(node, said));
          trial.roll_back();
          REQUIRE(c.digest() == before);
          continue;
        }
        const auto done = c.set_allocatable(node, said);
        REQUIRE(done.has_value() == !refused);
        if (refused) REQUIRE(c.digest() == before);
        if (refused) continue;
        for (const auto& [resource, has] : said) {
          if (has == quantity{0})
            all[name].beside.erase(resource);
          else
            all[name].beside[resource] = has.value().value();
        }
      }
      check_all();
    }
  }
}

}  // namespace gangsched::testing::set_allocatable_test
