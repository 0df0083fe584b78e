#include <gangsched/model/cluster.hpp>
#include <gangsched/model/cluster_listing.hpp>
#include <unordered_map>

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::cluster_listing_test {

namespace {

TEST_CASE("amounts of nodes are columns, with their sums", "[model][listing]") {
  cluster c;
  const node_id a = c.add_node(a_node{"a"}.cpu(4).memory("8Gi").gpus(2).pods(10)).value();
  const node_id gone = c.add_node(a_node{"gone"}.cpu(64)).value();
  const node_id b = c.add_node(a_node{"b"}.cpu(2).resource("example.com/a", "3")).value();
  REQUIRE(c.remove_node(gone));
  REQUIRE(c.add_pod(a_pod{"p"}.cpu(3).gpus(1).on(a)));
  const pod_id assumed = c.add_pod(a_pod{"q"}.cpu_milli(500)).value();
  REQUIRE(c.assume(assumed, b));
  const node_amounts all = c.list().amounts();
  CHECK(all.resources ==
        std::vector<std::string>{"cpu", "memory", "ephemeral-storage", "pods", "example.com/a", "nvidia.com/gpu"});
  CHECK(all.nodes == std::vector<node_id>{a, b});
  const std::int64_t gibi = std::int64_t{1} << 30;
  CHECK(all.allocatable == std::vector<std::int64_t>{4000, 8 * gibi, 0, 10, 0, 2, 2000, 0, 0, 110, 3, 0});
  CHECK(all.requested == std::vector<std::int64_t>{3000, 0, 0, 1, 0, 1, 500, 0, 0, 1, 0, 0});
  CHECK(all.free == std::vector<std::int64_t>{1000, 8 * gibi, 0, 9, 0, 1, 1500, 0, 0, 109, 3, 0});
  CHECK(all.total_allocatable == std::vector<std::int64_t>{6000, 8 * gibi, 0, 120, 3, 2});
  CHECK(all.total_requested == std::vector<std::int64_t>{3500, 0, 0, 2, 0, 1});
  CHECK(all.total_free == std::vector<std::int64_t>{2500, 8 * gibi, 0, 118, 3, 1});
  for (std::size_t node = 0; node < all.nodes.size(); ++node) {
    for (std::size_t kind = 0; kind < all.resources.size(); ++kind) {
      CHECK(all.allocatable[node * all.resources.size() + kind] == c.allocatable(all.nodes[node], all.resources[kind]));
      CHECK(all.requested[node * all.resources.size() + kind] == c.requested(all.nodes[node], all.resources[kind]));
    }
  }
}

TEST_CASE("sums of amounts stop at the ends of 64 bits", "[model][listing]") {
  cluster c;
  for (const char* name : {"a", "b", "c"})
    REQUIRE(c.add_node(a_node{name}.resource("example.com/much", quantity{std::int64_t{1} << 62})));
  CHECK(c.list().amounts().total_free.back() == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("groups are listed with their trees and members, nodes with their pods", "[model][listing]") {
  cluster c;
  const node_id n = c.add_node(a_node{"n"}.cpu(8)).value();
  const group_id root = c.add_group({.name = "tree", .policy = gang{.min_count = 1}, .composite = true}).value();
  group_spec leaf = a_gang{"leaf", 2};
  leaf.parent = root;
  const group_id below = c.add_group(leaf).value();
  const group_id expected = c.expect_group("default", "later").value();
  const pod_id running = c.add_pod(a_pod{"running"}.in(below).on(n)).value();
  const pod_id waits = c.add_pod(a_pod{"waits"}.in(below)).value();
  const pod_id assumed = c.add_pod(a_pod{"assumed"}.in(below)).value();
  REQUIRE(c.assume(assumed, n));
  REQUIRE(c.nominate(waits, n));
  const std::vector<listed_group> all = c.list().groups();
  REQUIRE(all.size() == 3);
  CHECK(all[0].group == root);
  CHECK(all[0].children == std::vector<group_id>{below});
  CHECK_FALSE(all[0].parent);
  CHECK(all[1].parent == root);
  CHECK(all[1].members == std::vector<pod_id>{running, waits, assumed});
  CHECK(all[1].pending == 1);
  CHECK(all[1].assumed == 1);
  CHECK(all[1].bound == 1);
  CHECK(all[2].group == expected);
  CHECK(all[2].expected);
  CHECK(c.list().find(below)->members == all[1].members);
  CHECK_FALSE(c.list().find(group_id{77, 0}));
  CHECK(c.list().pods_on(n) == std::vector<pod_id>{running, assumed});
  CHECK(c.list().nominated_to(n) == std::vector<pod_id>{waits});
  CHECK(c.list().pods_on(node_id{77, 0}).empty());
}

TEST_CASE("specs come back as they were said, with what has become of their objects", "[model][listing]") {
  cluster c{{.keep_specs = true}};
  node_spec node = a_node{"n"}.cpu(8).label("disk", "ssd").cards(2);
  node.capacity = {{"cpu", 9}};
  const node_id n = c.add_node(node).value();
  CHECK(c.list().spec_of(n)->capacity == node.capacity);
  CHECK(c.list().spec_of(n)->labels == node.labels);
  CHECK(c.list().spec_of(n)->devices.gpus.size() == 2);
  REQUIRE(c.set_device_health(n, "1", false));
  CHECK(c.list().spec_of(n)->devices.gpus[0].healthy);
  CHECK_FALSE(c.list().spec_of(n)->devices.gpus[1].healthy);

  const pod_spec web = a_pod{"web"}.cpu(1).container().cpu(2).label("app", "web").cookie(7);
  const pod_id p = c.add_pod(web).value();
  CHECK(c.list().spec_of(p)->containers.size() == web.containers.size());
  CHECK(c.list().spec_of(p)->cookie == 7);
  CHECK_FALSE(c.list().spec_of(p)->node);
  REQUIRE(c.nominate(p, n));
  CHECK(c.list().spec_of(p)->nominated_node == n);
  REQUIRE(c.assume(p, n));
  CHECK_FALSE(c.list().spec_of(p)->node);
  REQUIRE(c.bind(p));
  CHECK(c.list().spec_of(p)->node == n);
  REQUIRE(c.set_terminating(p));
  CHECK(c.list().spec_of(p)->terminating);

  const std::vector<std::string> names{"a", "b"};
  pod_spec like = a_pod{"x"}.cpu(1);
  like.rank = 4;
  const std::vector<pod_id> two = c.add_pods(like, names).value();
  CHECK(c.list().spec_of(two[1])->name == "b");
  CHECK(c.list().spec_of(two[1])->rank == 5);
  pod_spec changed = *c.list().spec_of(two[1]);
  changed.tolerations.push_back({.op = toleration_operator::exists});
  REQUIRE(c.update_pod(two[1], changed));
  CHECK(c.list().spec_of(two[1])->tolerations.size() == 1);

  // Another cluster that is told the same is the same.
  cluster again{{.keep_specs = true}}, first{{.keep_specs = true}};
  REQUIRE(first.add_node(node));
  REQUIRE(first.add_pod(web));
  REQUIRE(again.add_node(*first.list().spec_of(*first.find_node("n"))));
  REQUIRE(again.add_pod(*first.list().spec_of(*first.find_pod("default", "web"))));
  CHECK(inside(again).digest_with_derived() == inside(first).digest_with_derived());

  cluster plain;
  const node_id other = plain.add_node(node).value();
  CHECK_FALSE(plain.list().spec_of(other));
  CHECK_FALSE(c.list().spec_of(pod_id{77, 0}));
}

TEST_CASE("what a transaction did to specs is undone with it", "[model][listing]") {
  cluster c{{.keep_specs = true}};
  const pod_id p = c.add_pod(a_pod{"p"}.cpu(1)).value();
  {
    transaction trial{c};
    REQUIRE(c.update_pod(p, a_pod{"p"}.cpu(2)));
    CHECK(c.list().spec_of(p)->containers[0].requests.at("cpu") == quantity{2});
  }
  CHECK(c.list().spec_of(p)->containers[0].requests.at("cpu") == quantity{1});
}

TEST_CASE("ids are keys of hash tables", "[core][hash]") {
  std::unordered_map<node_id, int> nodes{{{1, 2}, 3}};
  std::unordered_map<pod_id, int> pods{{{1, 2}, 4}};
  std::unordered_map<group_id, int> groups{{{1, 2}, 5}};
  std::unordered_map<queue_id, int> queues{{{1, 2}, 6}};
  std::unordered_map<budget_id, int> budgets{{{1, 2}, 7}};
  std::unordered_map<bind_attempt, int> attempts{{bind_attempt{9}, 8}};
  std::unordered_map<symbol, int> symbols{{symbol{9}, 9}};
  CHECK(nodes.at({1, 2}) == 3);
  CHECK_FALSE(nodes.contains(node_id{2, 1}));
  CHECK(pods.at({1, 2}) + groups.at({1, 2}) + queues.at({1, 2}) + budgets.at({1, 2}) == 22);
  CHECK(attempts.at(bind_attempt{9}) + symbols.at(symbol{9}) == 17);
  CHECK(std::hash<pod_id>{}({1, 2}) != std::hash<pod_id>{}({2, 1}));
}

}  // namespace

}  // namespace gangsched::testing::cluster_listing_test
