// What was interned or numbered because somebody named it goes when nobody does any more.
#include <string>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::collection_test {

namespace {

/// A cluster in which every change collects.
struct collecting {
  cluster c;
  collecting() { inside(c).collection.always = true; }
  /// Two changes that name nothing new: what nobody names is gone then.
  void settle() {
    for (int i = 0; i < 2; ++i) REQUIRE(c.set_namespace({.name = "default"}).has_value());
  }
  [[nodiscard]] bool knows(std::string_view name) const { return inside(c).names.find(name).has_value(); }
};

}  // namespace

TEST_CASE("names of pods, nodes and groups go with the last who has them", "[model][collection]") {
  collecting world;
  cluster& c = world.c;
  const node_id node =
      *c.add_node(a_node("n").cpu(4).label("rack", "r1").taint("only", "ml").image("app", 5).declare("Has").spec);
  pod_spec spec = a_pod("p").require("Wants").spec;
  spec.ns = "team";
  spec.node_selector = {{"disk", "ssd"}};
  spec.tolerations = {{.key = "only", .value = "ml"}};
  spec.volumes.exclusive_claims = {"claim"};
  const pod_id pod = *c.add_pod(spec), other = *c.add_pod([&] {
    spec.name = "q";
    return spec;
  }());
  world.settle();
  for (const char* name : {"n", "rack", "r1", "only", "ml", "app", "Has", "team", "disk", "ssd", "Wants", "team/claim"})
    CHECK(world.knows(name));
  REQUIRE(c.remove_pod(pod).has_value());
  world.settle();
  for (const char* name : {"team", "disk", "ssd", "Wants", "team/claim"}) CHECK(world.knows(name));
  REQUIRE(c.remove_pod(other).has_value());
  world.settle();
  for (const char* name : {"team", "disk", "ssd", "Wants", "team/claim"}) CHECK_FALSE(world.knows(name));
  for (const char* name : {"n", "rack", "r1", "only", "ml", "app", "Has"}) CHECK(world.knows(name));
  REQUIRE(c.remove_node(node).has_value());
  world.settle();
  for (const char* name : {"n", "rack", "r1", "only", "ml", "app", "Has"}) CHECK_FALSE(world.knows(name));
  const group_id group = *c.add_group({.name = "g", .ns = "batch"});
  world.settle();
  CHECK(world.knows("batch"));
  REQUIRE(c.remove_group(group).has_value());
  world.settle();
  CHECK_FALSE(world.knows("batch"));
}

TEST_CASE("no record of the change log has a name that may be another's by the time it is read",
          "[model][collection]") {
  collecting world;
  REQUIRE(world.c.set_namespace({.name = "blue", .labels = {{"team", "a"}}}).has_value());
  const std::uint32_t was = inside(world.c).names.find("blue")->value;
  REQUIRE(world.c.remove_namespace("blue").has_value());
  const std::uint64_t end = inside(world.c).log.end();
  world.settle();
  REQUIRE_FALSE(world.knows("blue"));
  for (int i = 0;; ++i) {  // until its number is another's
    REQUIRE(i < 100);
    const std::string ns = "green-" + std::to_string(i);
    REQUIRE(world.c.add_pod(a_pod("p").ns(ns).spec).has_value());
    if (inside(world.c).names.find(ns)->value == was) break;
  }
  const change_log& log = inside(world.c).log;
  std::size_t changes = 0;
  for (std::uint64_t at = log.begin(); at < end; ++at) {
    if (log[at].kind != change_kind::namespace_changed) continue;
    ++changes;
    CHECK(log[at].row != was);
  }
  CHECK(changes == 2);
}

TEST_CASE("a resource that no node and no pod has gives its place to the next", "[model][collection]") {
  collecting world;
  cluster& c = world.c;
  const node_id node = *c.add_node(a_node("n").cpu(4).resource("example.com/a", quantity{3}));
  const pod_id pod = *c.add_pod(a_pod("p").resource("example.com/a", quantity{2}).on(node));
  const resource_kind kind = *inside(c).kinds.find("example.com/a");
  CHECK(c.requested(node, "example.com/a") == 2);
  REQUIRE(c.update_node(node, a_node("n").cpu(4)).has_value());
  world.settle();
  CHECK(inside(c).kinds.find("example.com/a") == kind);  // the pod has it
  REQUIRE(c.remove_pod(pod).has_value());
  world.settle();
  CHECK_FALSE(inside(c).kinds.find("example.com/a").has_value());
  CHECK(c.requested(node, "example.com/a") == 0);
  const pod_id next = *c.add_pod(a_pod("q").resource("example.com/b", quantity{5}).on(node));
  CHECK(inside(c).kinds.find("example.com/b") == kind);
  CHECK(c.requested(node, "example.com/b") == 5);
  CHECK(c.allocatable(node, "example.com/b") == 0);
  CHECK(inside(c).kinds.name(kind) == "example.com/b");
  REQUIRE(c.remove_pod(next).has_value());
}

TEST_CASE("counters, topologies and choices of nodes go with the classes that name them", "[model][collection]") {
  collecting world;
  cluster& c = world.c;
  REQUIRE(c.add_node(a_node("n").cpu(4).zone("a")).has_value());
  for (int round = 0; round < 20; ++round) {
    pod_spec spec = a_pod("p").label("job", std::to_string(round)).spec;
    topology_spread one{.topology_key = "key" + std::to_string(round)};
    one.selector = label_selector{.match_labels = {{"job", std::to_string(round)}}};
    spec.node_selector = {{"disk", std::to_string(round)}};
    spec.topology_spread_constraints = {one};
    const pod_id pod = *c.add_pod(spec);
    CHECK(inside(c).counters.known() == 1);
    CHECK(inside(c).topologies.known() == 1);
    CHECK(inside(c).choices.known() == 1);
    REQUIRE(c.remove_pod(pod).has_value());
    world.settle();
    CHECK(inside(c).counters.known() == 0);
    CHECK(inside(c).topologies.known() == 0);
    CHECK(inside(c).choices.known() == 0);
    CHECK(inside(c).counters.size() <= 1);
  }
}

TEST_CASE("nothing goes while a transaction is open", "[model][collection]") {
  collecting world;
  cluster& c = world.c;
  pod_spec spec = a_pod("p").spec;
  spec.ns = "team";
  const pod_id pod = *c.add_pod(spec);
  world.settle();
  const std::uint64_t digest = inside(c).digest_with_derived();
  {
    transaction trial{c};
    const std::uint64_t collections = inside(c).collection.freed;
    REQUIRE(c.remove_pod(pod).has_value());
    for (int i = 0; i < 3; ++i) REQUIRE(c.add_group({.name = "g" + std::to_string(i), .ns = "batch"}).has_value());
    CHECK(world.knows("team"));
    CHECK(inside(c).collection.freed == collections);
  }
  CHECK(inside(c).digest_with_derived() == digest);
  CHECK(c.find_pod("team", "p") == pod);
}

TEST_CASE("a digest says the same of states whose names were seen in different order", "[model][collection]") {
  const auto build = [](cluster& c, bool collect) {
    inside(c).collection.always = collect;
    for (int i = 0; i < 30; ++i) {  // leaves nothing but what it did to the order of names
      pod_spec gone = a_pod("gone").resource("example.com/r" + std::to_string(i), quantity{1}).spec;
      gone.ns = "n" + std::to_string(i);
      gone.node_selector = {{"k" + std::to_string(i), "v"}};
      gone.required_features = {"X"};
      REQUIRE(c.remove_pod(*c.add_pod(gone)).has_value());
    }
    const node_id node = *c.add_node(a_node("n")
                                         .cpu(4)
                                         .zone("a")
                                         .label("b", "c")
                                         .resource("example.com/z", quantity{2})
                                         .resource("example.com/a", quantity{3})
                                         .image("app", 7)
                                         .declare("Y")
                                         .declare("X")
                                         .spec);
    pod_spec spec = a_pod("p")
                        .label("job", "j")
                        .resource("example.com/z", quantity{1})
                        .resource("example.com/a", quantity{1})
                        .require("X")
                        .require("Y")
                        .on(node)
                        .spec;
    spec.containers[0].ports = {{.host_port = 80, .host_ip = "10.0.0.1"}};
    pod_affinity_term term{.topology_key = "topology.kubernetes.io/zone"};
    term.selector = label_selector{.match_labels = {{"job", "j"}}};
    spec.anti_affinity_to_pods.required = {term};
    spec.node_selector = {{"b", "c"}, {"a", "d"}};
    REQUIRE(c.add_pod(spec).has_value());
  };
  cluster keeps, collects;
  build(keeps, false);
  build(collects, true);
  CHECK(inside(keeps).names.bound() > inside(collects).names.bound());
  CHECK(inside(keeps).digest_with_derived() == inside(collects).digest_with_derived());
  REQUIRE(collects.update_node(*collects.find_node("n"), a_node("n").cpu(4).zone("b").label("b", "c")).has_value());
  CHECK(inside(keeps).digest_with_derived() != inside(collects).digest_with_derived());
}

TEST_CASE("a pod is asked only by the selectors that name one of its labels", "[model][collection]") {
  cluster c;
  const auto selecting = [](label_selector selector) {
    pod_affinity_term term{.topology_key = "zone"};
    term.selector = std::move(selector);
    pod_spec spec = a_pod("p").spec;
    spec.anti_affinity_to_pods.required = {term};
    return spec;
  };
  int next = 0;
  const auto live = [&](label_selector selector) {
    pod_spec spec = selecting(std::move(selector));
    spec.name = "p" + std::to_string(next++);
    REQUIRE(c.add_pod(spec).has_value());
  };
  live({.match_labels = {{"a", "1"}, {"b", "2"}}});
  live({.match_expressions = {{"a", selector_operator::in, {"1", "3"}}, {"c", selector_operator::exists}}});
  live({.match_expressions = {{"a", selector_operator::not_in, {"9"}}}});
  live({});
  const auto matched = [&](const label_map& labels) {
    return inside(c).counters.matching(*inside(c).names.find("default"), labels, {}).size() /
           2;  // asked for, and carried
  };
  CHECK(matched({}) == 2);
  CHECK(matched({{"a", "1"}}) == 2);
  CHECK(matched({{"a", "1"}, {"b", "2"}}) == 3);
  CHECK(matched({{"a", "1"}, {"b", "2"}, {"c", ""}}) == 4);
  CHECK(matched({{"a", "3"}, {"c", ""}}) == 3);
  CHECK(matched({{"a", "9"}}) == 1);
}

TEST_CASE("names that only trials made go when the next trials begin", "[model][collection]") {
  collecting world;
  for (int i = 0; i < 3; ++i) {
    transaction trial{world.c};
    pod_spec spec = a_pod{"p"}.spec;
    spec.ns = "team-" + std::to_string(i);
    REQUIRE(world.c.add_pod(spec).has_value());
    CHECK(world.knows("team-" + std::to_string(i)));
  }
  {
    const transaction trial{world.c};
    const transaction inner{world.c};
  }
  CHECK_FALSE(world.knows("team-0"));
  CHECK_FALSE(world.knows("team-1"));
}

TEST_CASE("calls for pods and amounts collect as all do, and nothing does in a hook", "[model][collection]") {
  collecting world;
  cluster& c = world.c;
  const node_id node = c.add_node(a_node("n")).value();
  model::cluster_state& state = inside(c);
  const auto forgets = [&](auto&& call) {
    state.names.intern("orphan");
    for (int i = 0; i < 3; ++i) call();
    return !world.knows("orphan");
  };
  CHECK(forgets([&] { REQUIRE(c.set_allocatable(node, {})); }));
  CHECK(forgets([&] { REQUIRE(c.resize_pods({}, {})); }));
  CHECK(forgets([&] { const transaction trial{c}; }));
  state.in_hook = true;
  CHECK_FALSE(forgets([&] { const transaction trial{c}; }));
  const result<void> resized = c.resize_pods({}, {});
  state.in_hook = false;
  REQUIRE_FALSE(resized);
  CHECK(resized.error().code == errc::busy);
}

}  // namespace gangsched::testing::collection_test
