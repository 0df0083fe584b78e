// kube_semantics: each quirk of kube-scheduler as it is, and taken out.
#include "world.hpp"

namespace gangsched::testing::semantics_test {

namespace {

struct following : world {
  explicit following(const kube_semantics& whose)
      : world(profiles::kube_default(), lowest_first(), {.semantics = whose}) {}

  /// The raw score of a plugin on a node, for a pod that waits.
  std::int64_t score(std::string_view pod_name, std::string_view plugin) {
    for (const node_verdict& node : must(scheduler.explain(pod(pod_name))).nodes) {
      for (const plugin_score& one : node.scores) {
        if (one.plugin == plugin) return one.raw;
      }
    }
    return -1;
  }
};

pod_affinity_term against(label_map labels, std::optional<label_selector> namespaces = {}) {
  return {.topology_key = "kubernetes.io/hostname",
          .selector = label_selector{.match_labels = std::move(labels)},
          .namespace_selector = std::move(namespaces)};
}
a_node named_node(const std::string& name) {
  return a_node{name}.cpu(4).memory("8Gi").label("kubernetes.io/hostname", name);
}

}  // namespace

TEST_CASE("a namespace selector of exclusions only takes in every namespace, or those that it says",
          "[engine][semantics]") {
  const bool upstream = GENERATE(true, false);
  following w{upstream ? kube_semantics{} : kube_semantics{}.without(quirk::negative_namespace_selectors)};
  w.must(w.cluster.set_namespace({.name = "other", .labels = {{"team", "b"}}}));
  w.add(named_node("n"));
  w.add(a_pod{"db"}.ns("other").label("app", "db").on(w.node("n")));
  a_pod pod = a_pod{"p"}.cpu(1);
  pod.spec.anti_affinity_to_pods.required = {
      against({{"app", "db"}}, label_selector{.match_expressions = {{"team", selector_operator::not_in, {"b"}}}})};
  w.add(pod);
  CHECK(w.run() == (upstream ? words{"reject p"} : words{"bind p n"}));
}

TEST_CASE("what a pod asks for as a whole counts for its score, or not", "[engine][semantics]") {
  const bool upstream = GENERATE(true, false);
  following w{upstream ? kube_semantics{} : kube_semantics{}.without(quirk::scores_without_pod_level_requests)};
  w.add(named_node("n"));
  a_pod pod{"p"};
  pod.spec.resources = resource_list{{"cpu", 3}};
  w.add(pod);
  // Of 4 cores 3, or the default of 100m, are taken; of 8 GiB the default of 200 MiB.
  CHECK(w.score("p", "NodeResourcesFit") == (upstream ? (97 + 97) / 2 : (25 + 97) / 2));
}

TEST_CASE("in preemption a port that two pods have is free with one, or with both away", "[engine][semantics]") {
  const bool upstream = GENERATE(true, false);
  following w{upstream ? kube_semantics{} : kube_semantics{}.without(quirk::trials_know_ports_once)};
  w.add(named_node("n"));
  w.add(a_pod{"low"}.port(80).on(w.node("n")));
  w.add(a_pod{"high"}.port(80).priority(100).on(w.node("n")));
  w.add(a_pod{"p"}.port(80).priority(50));
  CHECK(w.run() == (upstream ? words{"nominate p n", "evict low n"} : words{"reject p"}));
}

TEST_CASE("in preemption a pod that ends already leaves the spread counts, or was never in them",
          "[engine][semantics]") {
  const bool upstream = GENERATE(true, false);
  following w{upstream ? kube_semantics{} : kube_semantics{}.without(quirk::trials_count_terminating_pods)};
  w.add(named_node("n").zone("a"));
  w.add(named_node("full").zone("b"));
  w.add(a_pod{"rock"}.cpu(4).priority(100).on(w.node("full")));
  w.add(a_pod{"stays"}.label("app", "web").priority(100).on(w.node("n")));
  w.add(a_pod{"ends"}.label("app", "web").on(w.node("n")).terminating());
  a_pod pod = a_pod{"p"}.cpu(1).label("app", "web").priority(50);
  topology_spread zones;
  zones.topology_key = "topology.kubernetes.io/zone", zones.max_skew = 1,
  zones.action = when_unsatisfiable::do_not_schedule;
  zones.selector = label_selector{.match_labels = {{"app", "web"}}};
  pod.spec.topology_spread_constraints = {zones};
  w.add(pod);
  CHECK(w.run() == (upstream ? words{"nominate p n"} : words{"reject p"}));
}

TEST_CASE("the anti-affinity of a nominated pod counts only beside that of placed ones, or always",
          "[engine][semantics]") {
  const bool upstream = GENERATE(true, false);
  following w{upstream ? kube_semantics{} : kube_semantics{}.without(quirk::idle_affinity_filter)};
  w.add(named_node("n"));
  a_pod hopes = a_pod{"hopes"}.gate("example.com/wait").nominated(w.node("n"));
  hopes.spec.anti_affinity_to_pods.required = {against({{"app", "web"}})};
  w.add(hopes);
  w.add(a_pod{"p"}.cpu(1).label("app", "web"));
  CHECK(w.run() == (upstream ? words{"bind p n"} : words{"reject p"}));
}

TEST_CASE("until 1.35 balance was how even a node becomes", "[engine][semantics]") {
  const auto balance = [](kube_release release) {
    following w{kube_semantics{release}};
    w.add(named_node("n"));
    w.add(a_pod{"p"}.cpu(2));
    return w.score("p", "NodeResourcesBalancedAllocation");
  };
  // Half of the cores and no memory: 100 * (1 - 0.25), where it was 100 before.
  CHECK(balance(kube_release::v1_35) == 75);
  CHECK(balance(kube_release::v1_36) == 50 + (50 + 75 - 100) / 2);
}

}  // namespace gangsched::testing::semantics_test
