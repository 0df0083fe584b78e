// Which labels' domains are kept, and that they are up to date whenever they are asked for.
#include "gangsched/engine/domain_cache.hpp"

#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::domain_cache_test {

TEST_CASE("the domains of a label are kept, and up to date whenever they are asked for", "[engine][domains]") {
  cluster nodes;
  static_cast<void>(world::must(nodes.add_node(a_node{"a"}.label("rack", "r1").label("zone", "z"))));
  engine::domain_cache cache{inside(nodes)};
  const engine::domain_index* const racks = &cache.of("rack");
  CHECK(racks->size() == 1);
  CHECK(cache.of("zone").size() == 1);
  static_cast<void>(world::must(nodes.add_node(a_node{"b"}.label("rack", "r2"))));
  CHECK(&cache.of("rack") == racks);
  CHECK(racks->size() == 2);
  CHECK(cache.of("no such label").size() == 0);
}

TEST_CASE("of more labels than are kept those used last stay", "[engine][domains]") {
  cluster nodes;
  static_cast<void>(world::must(nodes.add_node(a_node{"a"}.label("rack", "r1"))));
  engine::domain_cache cache{inside(nodes)};
  static_cast<void>(cache.drop_unused());
  const engine::domain_index* const racks = &cache.of("rack");
  for (int i = 0; i < 63; ++i) static_cast<void>(cache.of("label" + std::to_string(i)));
  CHECK_FALSE(cache.drop_unused());
  CHECK(&cache.of("rack") == racks);
  static_cast<void>(cache.of("one more"));
  CHECK(cache.drop_unused());  // label0, which was asked for first
  CHECK(&cache.of("rack") == racks);
  CHECK_FALSE(cache.drop_unused());
}

TEST_CASE("nothing is kept when names may have been collected", "[engine][domains]") {
  cluster nodes;
  inside(nodes).collection.always = true;
  const node_id a = world::must(nodes.add_node(a_node{"a"}.label("rack", "r1")));
  engine::domain_cache cache{inside(nodes)};
  static_cast<void>(cache.drop_unused());
  CHECK(cache.of("rack").size() == 1);
  for (const char* rack : {"x", "y", "z", "r2"}) world::must(nodes.update_node(a, a_node{"a"}.label("rack", rack)));
  static_cast<void>(world::must(nodes.add_node(a_node{"b"}.label("rack", "r3"))));
  REQUIRE(inside(nodes).collection.freed != 0);
  CHECK(cache.drop_unused());
  const engine::domain_index& racks = cache.of("rack");
  REQUIRE(racks.size() == 2);
  CHECK(racks.name(0) == "r2");
  CHECK(racks.name(1) == "r3");
}

}  // namespace gangsched::testing::domain_cache_test
