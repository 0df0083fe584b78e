#include "gangsched/plugins/node_declared_features.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/hooks.hpp"
#include "support/world.hpp"

namespace gangsched::testing::node_declared_features_test {

namespace {

const verdict lacking{code::unresolvable, {"node(s) didn't match Pod's required features"}};

}  // namespace

TEST_CASE("NodeDeclaredFeatures: a node has to declare all that the pod requires") {
  hooks on{node_declared_features{}};
  const node_id none = on.add(a_node{"none"});
  const node_id one = on.add(a_node{"one"}.declare("X"));
  const node_id both = on.add(a_node{"both"}.declare("Z").declare("Y").declare("X").declare("Y"));
  const pod_id pod = on.add(a_pod{"p"}.require("Y").require("X").require("Y"));
  CHECK(on.pre_filter(pod) == verdict{});
  CHECK(on.filter(pod, none) == lacking);
  CHECK(on.filter(pod, one) == lacking);
  CHECK(on.filter(pod, both) == verdict{});
  const pod_id unknown = on.add(a_pod{"q"}.require("what no node declares"));
  for (const node_id node : {none, one, both}) CHECK(on.filter(unknown, node) == lacking);
}

TEST_CASE("NodeDeclaredFeatures: pods that require nothing are skipped, as are all before 1.36") {
  hooks on{node_declared_features{}};
  on.add(a_node{"n"});
  CHECK(on.pre_filter(on.add(a_pod{"p"})).code == code::skip);
  for (const auto& [release, counts] : {std::pair{kube_release::v1_35, false}, std::pair{kube_release::v1_36, true},
                                        std::pair{kube_release::v1_37, true}}) {
    cluster then{{.semantics = kube_semantics{release}}};
    const pod_id pod = must(then.add_pod(a_pod{"p"}.require("X")));
    CHECK(hooks::pre_filter(on.entry(), then, pod).code == (counts ? code::success : code::skip));
  }
}

TEST_CASE("NodeDeclaredFeatures: as all of a plain set, whatever the order of names") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice random{seed};
    hooks on{node_declared_features{}};
    const auto some = [&](std::size_t most) {
      std::vector<std::string> made;
      for (std::size_t i = random.below(most); i-- > 0;) made.push_back("F" + std::to_string(random.below(6)));
      return made;
    };
    a_pod pod{"p"};
    pod.spec.required_features = some(4);
    std::vector<std::pair<node_id, std::vector<std::string>>> nodes;
    const bool first = random.percent(50);  // whose names are seen first
    std::optional<pod_id> added;
    if (first) added = on.add(pod);
    for (int i = 0; i < 5; ++i) {
      a_node node{"n" + std::to_string(i)};
      node.spec.declared_features = some(8);
      nodes.emplace_back(on.add(node), node.spec.declared_features);
    }
    if (!first) added = on.add(pod);
    const std::vector<std::string>& wants = pod.spec.required_features;
    CHECK((on.pre_filter(*added).code == code::skip) == wants.empty());
    for (const auto& [id, has] : nodes) {
      const bool fits = std::all_of(wants.begin(), wants.end(), [&has = has](const std::string& one) {
        return std::find(has.begin(), has.end(), one) != has.end();
      });
      CHECK(on.filter(*added, id) == (fits ? verdict{} : lacking));
    }
  }
}

TEST_CASE("NodeDeclaredFeatures: a node that declares what is missing wakes the pod, another does not") {
  world w;
  const node_id a = w.add(a_node{"a"});
  const node_id b = w.add(a_node{"b"}.declare("Y"));
  const pod_id p = w.add(a_pod{"p"}.require("X").require("Y"));
  CHECK(w.run() == words{"reject p"});
  CHECK(w.must(w.scheduler.explain(p)).summary ==
        "0/2 nodes are available: 2 node(s) didn't match Pod's required features.");
  const std::uint64_t before = w.wake_ups();
  w.now += 1min;
  w.must(w.cluster.update_node(a, a_node{"a"}.declare("X")));
  w.must(w.cluster.update_node(b, a_node{"b"}.declare("Y").label("x", "y").cpu(4)));
  CHECK(w.run().empty());
  CHECK(w.wake_ups() == before);
  w.must(w.cluster.update_node(a, a_node{"a"}.declare("X").declare("Y")));
  CHECK(w.run() == words{"bind p a"});
  CHECK(w.wake_ups() == before + 1);
}

TEST_CASE("NodeDeclaredFeatures: a pod that requires something else goes where it could not") {
  world w;
  w.add(a_node{"a"}.declare("X"));
  const pod_id p = w.add(a_pod{"p"}.require("Y"));
  CHECK(w.run() == words{"reject p"});
  w.now += 1min;
  w.must(w.cluster.update_pod(p, a_pod{"p"}.require("X")));
  CHECK(w.run() == words{"bind p a"});
}

TEST_CASE("NodeDeclaredFeatures: members of a gang go where their features are, or wait together") {
  world w;
  for (const char* name : {"a", "b"}) w.add(a_node{name}.cpu(1).declare("X"));
  const node_id c = w.add(a_node{"c"}.cpu(1));
  const group_id gang = w.add(a_gang{"g", 3});
  for (const char* name : {"p", "q"}) w.add(a_pod{name}.cpu(1).in(gang));
  w.add(a_pod{"r"}.cpu(1).require("Z").in(gang));
  CHECK(count(w.run(), "bind") == 0);
  w.now += 1min;
  w.must(w.cluster.update_node(c, a_node{"c"}.cpu(1).declare("Z")));
  const words all = sorted(w.run());
  REQUIRE(all.size() == 3);
  CHECK(all[2] == "bind r c");
}

TEST_CASE("NodeDeclaredFeatures: nodes without a feature count in spread constraints, as upstream") {
  world w;
  const node_id a = w.add(a_node{"a"}.zone("a").declare("X"));
  const node_id b = w.add(a_node{"b"}.zone("b"));
  w.add(a_pod{"there"}.label("app", "x").on(a));
  a_pod pod{"p"};
  pod.label("app", "x").require("X");
  pod.spec.topology_spread_constraints.push_back(
      {.topology_key = "topology.kubernetes.io/zone", .selector = label_selector{.match_labels = {{"app", "x"}}}});
  w.add(pod);
  CHECK(w.run() == words{"reject p"});  // zone b counts, with no pod of theirs
  w.now += 1min;
  w.must(w.cluster.remove_node(b));
  CHECK(w.run() == words{"bind p a"});
}

}  // namespace gangsched::testing::node_declared_features_test
