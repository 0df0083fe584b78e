// A digest is about what there is, not about the numbers that names have got.
#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::digest_test {

TEST_CASE("a digest does not tell resources by the order in which they were named", "[model][digest]") {
  const auto made = [](const char* named_before) {
    cluster c;
    REQUIRE(c.remove_pod(c.add_pod(a_pod("gone").resource(named_before, quantity{1})).value()));
    const node_id n =
        c.add_node(a_node("n").cpu(4).resource("e.com/c", quantity{5}).resource("e.com/d", quantity{6})).value();
    REQUIRE(c.set_allocatable(n, {{"e.com/a", 1}, {"e.com/b", 2}}));
    REQUIRE(c.add_pod(a_pod("p").resource("e.com/c", quantity{1}).resource("e.com/d", quantity{2})));
    return c.digest();
  };
  const std::uint64_t plain = made("memory");
  CHECK(made("e.com/z") == plain);
  CHECK(made("e.com/b") == plain);
  CHECK(made("e.com/d") == plain);
}

}  // namespace gangsched::testing::digest_test
