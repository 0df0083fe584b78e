#include "gangsched/plugins/pod_topology_spread.hpp"

#include "explained.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

// Cases of upstream's podtopologyspread/filtering_test.go and scoring_test.go.
namespace gangsched::testing::pod_topology_spread_test {

namespace {

constexpr const char* skewed = "U node(s) didn't match pod topology spread constraints";
constexpr const char* unlabelled = "UU node(s) didn't match pod topology spread constraints (missing required label)";

topology_spread constraint(const char* key, std::int32_t skew,
                           when_unsatisfiable action = when_unsatisfiable::do_not_schedule) {
  topology_spread one;
  one.topology_key = key, one.max_skew = skew, one.action = action;
  one.selector = label_selector{.match_expressions = {{"foo", selector_operator::exists, {}}}};
  return one;
}
constexpr auto soft = when_unsatisfiable::schedule_anyway;

a_pod incoming(std::vector<topology_spread> constraints) {
  a_pod pod{"p"};
  pod.label("foo", "");
  pod.spec.topology_spread_constraints = std::move(constraints);
  return pod;
}

/// Nodes a and b in zone1, x and y in zone2; and pods with label foo on them.
struct four : explained {
  explicit four(std::vector<std::size_t> pods, pod_topology_spread plugin = {}) : explained(std::move(plugin)) {
    int made = 0;
    const std::vector<const char*> names{"a", "b", "x", "y"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const node_id node = add(a_node(names[i])
                                   .label("zone", i < 2 ? "zone1" : "zone2")
                                   .label("node", names[i])
                                   .label("kubernetes.io/hostname", names[i])
                                   .zone(i < 2 ? "zone1" : "zone2"));
      for (std::size_t k = 0; k < pods[i]; ++k) add(a_pod("e" + std::to_string(++made)).label("foo", "").on(node));
    }
  }
};

}  // namespace

TEST_CASE("hard constraints compare each domain with the emptiest", "[plugins][spread]") {
  CHECK(four({2, 1, 0, 3}).fitting(incoming({constraint("zone", 1)})) == "a b x y");
  CHECK(four({1, 0, 0, 2}).verdicts(incoming({constraint("zone", 1)})) ==
        std::map<std::string, std::string>{{"a", ""}, {"b", ""}, {"x", skewed}, {"y", skewed}});
  CHECK(four({2, 1, 0, 3}).fitting(incoming({constraint("node", 1)})) == "x");
  CHECK(four({2, 1, 0, 3}).fitting(incoming({constraint("node", 2)})) == "b x");
  CHECK(four({2, 1, 0, 3}).verdicts(incoming({constraint("rack", 1)})) ==
        std::map<std::string, std::string>{{"a", unlabelled}, {"b", unlabelled}, {"x", unlabelled}, {"y", unlabelled}});
  // Both at once: spread in zones as 3/4 and on nodes as 2/1/0/4.
  CHECK(four({2, 1, 0, 4}).fitting(incoming({constraint("zone", 1), constraint("node", 3)})) == "a b");
  CHECK(four({2, 1, 0, 4}).fitting(incoming({constraint("zone", 1), constraint("node", 1)})).empty());
}

TEST_CASE("too few domains count as an empty one", "[plugins][spread]") {
  topology_spread zones = constraint("zone", 1);
  zones.min_domains = 3;
  CHECK(four({1, 0, 0, 1}).fitting(incoming({zones})).empty());
  zones.max_skew = 2;
  CHECK(four({1, 0, 0, 1}).fitting(incoming({zones})) == "a b x y");
  zones.max_skew = 1, zones.min_domains = 2;
  CHECK(four({1, 0, 0, 1}).fitting(incoming({zones})) == "a b x y");
}

TEST_CASE("a pod that its own selector does not match adds nothing", "[plugins][spread]") {
  a_pod pod = incoming({constraint("zone", 1)});
  pod.spec.labels.clear();
  CHECK(four({1, 0, 0, 2}).fitting(pod) == "a b x y");
}

TEST_CASE("an empty selector counts nobody, none at all not even the pod", "[plugins][spread]") {
  topology_spread zones = constraint("zone", 1);
  zones.selector = label_selector{};
  CHECK(four({0, 0, 5, 3}).fitting(incoming({zones})) == "a b x y");
  zones.selector.reset();
  CHECK(four({0, 0, 5, 3}).fitting(incoming({zones})) == "a b x y");
}

TEST_CASE("pods elsewhere, being deleted or on nodes that do not count are left out", "[plugins][spread]") {
  four w({1, 0, 0, 1});
  const node_id x = *w.cluster.find_node("x");
  w.add(a_pod("other").ns("other").label("foo", "").on(x));
  const pod_id going = w.add(a_pod("going").label("foo", "").on(x));
  CHECK(w.fitting(incoming({constraint("zone", 1)})) == "a b");
  REQUIRE(w.cluster.set_terminating(going));
  CHECK(w.fitting(incoming({constraint("zone", 1)})) == "a b x y");
  // A node that the pod cannot go to is no domain, unless the constraint says that it is one.
  a_pod picky = incoming({constraint("node", 1)});
  picky.spec.affinity.required = {{.match_expressions = {{"node", selector_operator::not_in, {"b", "x"}}}}};
  CHECK(w.fitting(picky) == "a b x y");
  picky.spec.topology_spread_constraints[0].node_affinity_policy = node_inclusion::ignore;
  CHECK(w.fitting(picky) == "b x");
  REQUIRE(w.cluster.update_node(x, a_node("x").label("node", "x").taint("k")));
  const node_id b = *w.cluster.find_node("b");
  REQUIRE(w.cluster.update_node(b, a_node("b").label("node", "b").taint("k")));
  CHECK(w.fitting(picky) == "b x");
  picky.spec.topology_spread_constraints[0].node_taints_policy = node_inclusion::honor;
  CHECK(w.fitting(picky) == "a b x y");
}

TEST_CASE("soft constraints prefer the emptier domains", "[plugins][spread]") {
  using list = std::vector<std::int64_t>;
  // On nodes as 2/1/0/3 (weight ln 6): 3.6, 1.8, 0, 5.4 rounded, turned round.
  CHECK(four({2, 1, 0, 3}).scores(incoming({constraint("node", 1, soft)})) == list{20, 60, 100, 0});
  CHECK(four({2, 1, 0, 3}).scores(incoming({constraint("kubernetes.io/hostname", 1, soft)})) == list{20, 60, 100, 0});
  CHECK(four({0, 0, 0, 0}).scores(incoming({constraint("node", 1, soft)})) == list{100, 100, 100, 100});
  CHECK_FALSE(four({1, 0, 0, 0}).scores(incoming({constraint("node", 1)})));
  // A node without the label gets nothing, and is no domain.
  four w({1, 0, 0, 0});
  w.add(a_node("z"));
  CHECK(w.scores(incoming({constraint("node", 1, soft)})) == list{0, 100, 100, 100, 0});
}

TEST_CASE("pods of a service or controller are spread by default", "[plugins][spread]") {
  using list = std::vector<std::int64_t>;
  four w({2, 0, 0, 0});
  CHECK_FALSE(w.scores(a_pod("p").label("foo", "")));
  REQUIRE(w.cluster.set_service({"s", "default", {{"foo", ""}}}));
  // 2·ln 6 + 2 + 2·ln 4 + 4, 2 + 2·ln 4 + 4, and 2 + 4: 12, 9, 6 and 6.
  CHECK(w.scores(a_pod("p").label("foo", "")) == list{50, 75, 100, 100});
  CHECK_FALSE(w.scores(a_pod("p").label("foo", "x")));
  REQUIRE(w.cluster.remove_service("default", "s"));
  CHECK_FALSE(w.scores(a_pod("p").label("foo", "")));

  four listed({2, 0, 0, 0}, pod_topology_spread{{[] {
                topology_spread one = constraint("zone", 1);
                one.selector.reset();
                return one;
              }()}});
  CHECK(listed.fitting(a_pod("p").label("foo", "")) == "a b x y");
  REQUIRE(listed.cluster.set_controller(
      {controller_kind::stateful_set, "db", "default", label_selector{.match_labels = {{"foo", ""}}}}));
  a_pod owned = a_pod("p").label("foo", "");
  owned.spec.controller = {controller_kind::stateful_set, "db"};
  CHECK(listed.fitting(owned) == "x y");
  owned.spec.controller.kind = controller_kind::replica_set;
  CHECK(listed.fitting(owned) == "a b x y");
}

TEST_CASE("arguments of PodTopologySpread are read strictly", "[plugins][spread]") {
  const auto list = [](argument::fields one) {
    return argument::fields{{"defaultingType", "List"}, {"defaultConstraints", argument::list{std::move(one)}}};
  };
  const auto wrong = [](argument given) { return pod_topology_spread::from(given).error().field; };
  CHECK(pod_topology_spread::from({}));
  CHECK(pod_topology_spread::from(argument::fields{{"defaultingType", "System"}}));
  CHECK(pod_topology_spread::from(
      list({{"topologyKey", "zone"}, {"maxSkew", 2}, {"whenUnsatisfiable", "ScheduleAnyway"}})));
  CHECK(wrong(argument::fields{{"defaultingType", "Both"}}) == "args.defaultingType");
  CHECK(wrong(list({{"topologyKey", "zone"}, {"maxSkew", 0}})) == "args.defaultConstraints[0].maxSkew");
  CHECK(wrong(list({{"topologyKey", "zone"}, {"labelSelector", argument::fields{}}})) ==
        "args.defaultConstraints[0].labelSelector");
  CHECK(wrong(list({{"topologyKey", "zone"}, {"whenUnsatisfiable", "Never"}})) ==
        "args.defaultConstraints[0].whenUnsatisfiable");
  CHECK(wrong(argument::fields{{"defaultConstraints", argument::list{argument::fields{{"topologyKey", "zone"}}}}}) ==
        "args.defaultConstraints");
  CHECK(wrong(list({{"topologyKey", ""}})).find("topology_key") != std::string::npos);
}

}  // namespace gangsched::testing::pod_topology_spread_test
