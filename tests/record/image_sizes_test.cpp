// Sizes of images are those that the first node to list them said, even where it is gone: a snapshot has them.
#include "gangsched/model/cluster.hpp"
#include "gangsched/record/snapshot.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::image_sizes_test {

namespace {

std::int64_t size_of(const cluster& c, std::string_view image) {
  return inside(c).nodes.images.size_bytes(inside(c).names.find(image).value());
}

}  // namespace

TEST_CASE("a snapshot has the sizes of images whose first node is gone", "[record][snapshot]") {
  cluster c;
  const node_id a = c.add_node(a_node("a").image("x:1", 100).image("y:1", 7)).value();
  REQUIRE(c.add_node(a_node("b").image("x:1", 200).image("y:1", 7)));
  REQUIRE(c.add_node(a_node("c").image("x:1", 300).image("z:1", 9)));
  REQUIRE(c.remove_node(a));
  REQUIRE(size_of(c, "x:1") == 100);
  auto again = record::restore_cluster(record::take_snapshot(c).value());
  REQUIRE(again);
  CHECK(again->digest() == c.digest());
  CHECK(size_of(*again, "x:1") == 100);
  CHECK(size_of(*again, "y:1") == 7);
  CHECK(size_of(*again, "z:1") == 9);
  // What is restored goes on alike: the last node that lists an image takes its size along.
  for (cluster* one : {&c, &*again}) {
    for (const char* name : {"b", "c"}) REQUIRE(one->remove_node(one->find_node(name).value()));
    REQUIRE(one->add_node(a_node("d").image("x:1", 400)));
    CHECK(size_of(*one, "x:1") == 400);
  }
  CHECK(again->digest() == c.digest());
}

}  // namespace gangsched::testing::image_sizes_test
