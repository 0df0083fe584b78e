// Why not: per node, in one line, and as a score sheet.
#include "support/inside.hpp"
#include "world.hpp"

#include <map>

#include "support/dice.hpp"

namespace gangsched::testing::explain_test {

namespace {

/// Narrows to the nodes named in the pod's class: by namespace, which is the node's name.
struct by_namespace {
  static constexpr std::string_view name = "ByNamespace";
  using points = implements<point::pre_filter>;
  [[nodiscard]] status pre_filter(const pod_view& pod, node_names& names) const {
    if (pod.ns() == "default") return status::skip();
    if (pod.ns() == "refused") return status::unschedulable("the namespace is refused");
    std::vector<symbol> only;
    if (pod.ns() != "nothing") only.push_back(*pod.find(pod.ns()));
    names.only(only);
    return status::success();
  }
};

/// Per cycle: rejects while any pod runs that has the label "alone".
struct one_alone {
  static constexpr std::string_view name = "OneAlone";
  using points = implements<point::pre_filter>;
  struct cycle_data {
    bool found = false;
  };
  [[nodiscard]] status pre_filter(const pod_info&, const cluster_view& cluster, cycle_data& data) const {
    cluster.each_node([&](const node_info& node) {
      node.each_pod([&](const pod_info& other) { data.found |= other.label("alone").has_value(); });
    });
    return data.found ? status::unschedulable("somebody wants to be alone") : status::success();
  }
};

/// Keyed: the first letter of the node's rack; odd letters are closed to pods with a priority. It counts on candidates.
struct rack_letter {
  static constexpr std::string_view name = "RackLetter";
  using points = implements<point::filter, point::score>;
  static std::int64_t letter(const node_view<reads::labels>& node) {
    const auto rack = node.label(std::string_view{"rack"});
    return rack && !rack->empty() ? rack->front() : 0;
  }
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::labels> node) const { return letter(node); }
  void finish_filter(const pod_view& pod, std::span<filtered_group> groups) const {
    REQUIRE_FALSE(groups.empty());
    for (filtered_group& group : groups) {
      CHECK(group.population > 0);
      if (pod.priority() > 0 && group.key % 2 == 1) group.verdict = status::unschedulable("the rack is closed");
    }
  }
  [[nodiscard]] std::int64_t score_key(const pod_view&, node_view<reads::labels> node) const { return letter(node); }
  void finish_score(const pod_view&, std::span<scored_group> groups) const {
    REQUIRE_FALSE(groups.empty());
    std::int64_t all = 0;
    for (const scored_group& group : groups) all += group.population;
    for (scored_group& group : groups) group.score = 100 * std::int64_t{group.population} / all;
  }
};

/// Opaque, with a raw score to normalise.
struct few_pods {
  static constexpr std::string_view name = "FewPods";
  using points = implements<point::filter, point::score>;
  static std::int64_t count(const node_info& node) {
    std::int64_t n = 0;
    node.each_pod([&](const pod_info&) { ++n; });
    return n;
  }
  [[nodiscard]] status filter(const pod_info&, node_info node) const {
    return count(node) < 5 ? status::success() : status::unschedulable("too crowded");
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_info node) const { return 1000 - 7 * count(node); }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = (group.score - 900);
  }
};

explanation why(world& w, const std::string& pod, const std::string& ns = "default") {
  return world::must(w.scheduler.explain(w.cluster.find_pod(ns, pod).value()));
}
const node_verdict& at(const explanation& all, const std::string& node) {
  const auto found =
      std::find_if(all.nodes.begin(), all.nodes.end(), [&](const node_verdict& one) { return one.name == node; });
  REQUIRE(found != all.nodes.end());
  return *found;
}

}  // namespace

TEST_CASE("every rejecting plugin of the default profile is named with its reasons", "[engine][explain]") {
  world w;
  const node_id ports = w.add(a_node{"ports"}.cpu(4).label("disk", "ssd"));
  w.add(a_pod{"web"}.port(80).on(ports));
  w.add(a_node{"cordoned"}.cpu(4).label("disk", "ssd").unschedulable());
  w.add(a_node{"tainted"}.cpu(4).label("disk", "ssd").taint("dedicated", "ml"));
  w.add(a_node{"hdd"}.cpu(4).label("disk", "hdd"));
  w.add(a_node{"small"}.cpu(1).memory("1Gi").label("disk", "ssd"));
  const node_id busy = w.add(a_node{"busy"}.cpu(4).memory("8Gi").pods(1).label("disk", "ssd"));
  w.add(a_pod{"runs"}.cpu(3).on(busy));
  w.add(a_pod{"p"}.cpu(2).memory("2Gi").port(80).select("disk", "ssd"));
  const explanation all = why(w, "p");
  struct expected {
    const char* node;
    gangsched::code code;
    const char* plugin;
    words reasons;
  };
  for (const expected& one : std::vector<expected>{
           {"ports", code::unschedulable, "NodePorts", {"node(s) didn't have free ports for the requested pod ports"}},
           {"cordoned", code::unresolvable, "NodeUnschedulable", {"node(s) were unschedulable"}},
           {"tainted", code::unresolvable, "TaintToleration", {"node(s) had untolerated taint(s)"}},
           {"hdd", code::unresolvable, "NodeAffinity", {"node(s) didn't match Pod's node affinity/selector"}},
           {"small", code::unresolvable, "NodeResourcesFit", {"Insufficient cpu", "Insufficient memory"}},
           {"busy", code::unschedulable, "NodeResourcesFit", {"Insufficient cpu", "Too many pods"}}}) {
    INFO(one.node);
    const node_verdict& node = at(all, one.node);
    CHECK(node.code == one.code);
    CHECK(node.plugin == one.plugin);
    CHECK(node.reasons == one.reasons);
    CHECK(node.scores.empty());
  }
  CHECK(all.rejected_by.empty());
  CHECK(
      all.summary ==
      "0/6 nodes are available: 1 Insufficient memory, 1 Too many pods, 1 node(s) didn't have free ports for the "
      "requested pod "
      "ports, 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), 1 node(s) were "
      "unschedulable, 2 Insufficient cpu.");
}

TEST_CASE("a node name that does not match, and an affinity of the profile, are told as in Kubernetes",
          "[engine][explain]") {
  node_affinity added;
  added.required = {{.match_expressions = {{"pool", selector_operator::in, {"batch"}}}}};
  world w{profile{priority_sort{}, node_name{}, node_affinity_plugin{added}, node_resources_fit{}}};
  w.add(a_node{"n1"}.label("pool", "batch"));
  w.add(a_node{"n2"});
  a_pod named{"named"};
  named.spec.required_node = "n2";
  w.add(named);
  w.add(a_pod{"free"});
  CHECK(why(w, "named").summary ==
        "0/2 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity, 1 node(s) didn't match the "
        "requested "
        "node name.");
  CHECK(at(why(w, "named"), "n1").plugin == "NodeName");
  CHECK(why(w, "free").summary == "1/2 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity.");
}

TEST_CASE("counts stand before the reasons, which are sorted as strings", "[engine][explain]") {
  world w;
  for (int i = 0; i < 12; ++i) w.add(a_node{"a" + std::to_string(i)}.unschedulable());
  for (int i = 0; i < 3; ++i) w.add(a_node{"b" + std::to_string(i)}.taint("x"));
  w.add(a_node{"c"}.cpu(1));
  w.add(a_pod{"p"}.cpu(2));
  CHECK(why(w, "p").summary ==
        "0/16 nodes are available: 1 Insufficient cpu, 12 node(s) were unschedulable, 3 node(s) had untolerated "
        "taint(s).");
  world empty;
  empty.add(a_pod{"p"});
  CHECK(why(empty, "p").summary == "no nodes available to schedule pods");
  CHECK(why(empty, "p").nodes.empty());
}

TEST_CASE("a pod that never met the filters says who stopped it", "[engine][explain]") {
  kernel_table table = profiles::kube_default();
  add_plugin(table, lower(by_namespace{}));
  add_plugin(table, lower(one_alone{}));
  world w{table};
  w.add(a_node{"n1"}.cpu(4));
  w.add(a_node{"n2"}.cpu(4));
  SECTION("by a scheduling gate") {
    w.add(a_pod{"p"}.gate("quota"));
    const explanation all = why(w, "p");
    CHECK(all.rejected_by == "SchedulingGates");
    CHECK(all.code == code::unresolvable);
    CHECK(all.summary == "waiting for scheduling gates");
    CHECK(all.nodes.empty());
  }
  SECTION("by a gang that is not complete") {
    w.add(a_pod{"p"}.in(w.add(a_gang{"gang", 2})));
    CHECK(why(w, "p").rejected_by == "GangScheduling");
    CHECK(why(w, "p").summary == "waiting for minCount pods from a gang to appear in scheduling queue");
  }
  SECTION("by a pre-filter, for every node") {
    w.add(a_pod{"p"}.ns("refused"));
    const explanation all = why(w, "p", "refused");
    CHECK(all.rejected_by == "ByNamespace");
    CHECK(all.code == code::unschedulable);
    CHECK(all.summary == "0/2 nodes are available: the namespace is refused.");
    CHECK(at(all, "n2").reasons == words{"the namespace is refused"});
    CHECK(at(all, "n2").code == code::unschedulable);
    const cycle said = w.scheduler.schedule_cycle(w.now);
    REQUIRE(said.decisions().size() == 1);
    CHECK(std::string{said.decisions()[0].reason} == "the namespace is refused");
  }
  SECTION("by terms that name two nodes at once") {
    a_pod p{"p"};
    p.spec.affinity.required = {{.match_fields = {{"metadata.name", selector_operator::in, {"n1"}},
                                                  {"metadata.name", selector_operator::in, {"n2"}}}}};
    w.add(p);
    CHECK(why(w, "p").rejected_by == "NodeAffinity");
    CHECK(why(w, "p").summary == "0/2 nodes are available: pod affinity terms conflict.");
  }
  SECTION("by a pre-filter of the cycle") {
    w.add(a_pod{"loner"}.label("alone", "yes").on(w.node("n1")));
    w.add(a_pod{"p"});
    const explanation all = why(w, "p");
    CHECK(all.rejected_by == "OneAlone");
    CHECK(all.summary == "0/2 nodes are available: somebody wants to be alone.");
    CHECK(at(all, "n1").plugin == "OneAlone");
  }
}

TEST_CASE("nodes that a pre-filter narrows away say which plugins did it", "[engine][explain]") {
  kernel_table table = profiles::kube_default();
  add_plugin(table, lower(by_namespace{}));
  world w{table};
  w.add(a_node{"n1"}.cpu(1));
  w.add(a_node{"n2"}.cpu(1));
  w.add(a_node{"n3"}.cpu(1));
  const auto named = [](const std::string& ns, const char* node, const char* other) {
    a_pod p{"p"};
    p.ns(ns).cpu(2);
    for (const char* one : {node, other}) {
      if (!p.spec.affinity.required) p.spec.affinity.required.emplace();
      p.spec.affinity.required->push_back({.match_fields = {{"metadata.name", selector_operator::in, {one}}}});
    }
    return p;
  };
  w.add(named("default", "n1", "n2"));
  const explanation one = why(w, "p");
  CHECK(one.summary ==
        "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 2 Insufficient cpu.");
  CHECK(at(one, "n3").code == code::unresolvable);
  CHECK(at(one, "n3").plugin.empty());

  w.add(named("n2", "n1", "n2"));
  CHECK(why(w, "p", "n2").summary ==
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [ByNamespace NodeAffinity].");

  w.add(named("n3", "n1", "n2"));
  const explanation nowhere = why(w, "p", "n3");
  CHECK(nowhere.code == code::unresolvable);
  CHECK(nowhere.summary ==
        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [ByNamespace NodeAffinity] simultaneously.");

  w.add(a_pod{"p"}.ns("nothing"));
  CHECK(why(w, "p", "nothing").summary == "0/3 nodes are available: node(s) didn't satisfy plugin ByNamespace.");
  CHECK(w.run().size() == 4);
}

TEST_CASE("a keyed filter's word counts only if none before it rejects", "[engine][explain]") {
  world w{profile{priority_sort{}, node_unschedulable{}, rack_letter{}, node_resources_fit{}}};
  w.add(a_node{"n1"}.cpu(1).label("rack", "a").unschedulable());
  w.add(a_node{"n2"}.cpu(1).label("rack", "a"));
  w.add(a_node{"n3"}.cpu(1).label("rack", "b"));
  w.add(a_pod{"p"}.cpu(2).priority(1));
  const explanation all = why(w, "p");
  CHECK(at(all, "n1").plugin == "NodeUnschedulable");
  CHECK(at(all, "n2").plugin == "RackLetter");
  CHECK(at(all, "n3").plugin == "NodeResourcesFit");
  CHECK(w.run() == words{"reject p"});
}

TEST_CASE("the score sheet of the chosen node sums to the decision's score", "[engine][explain]") {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    dice roll{seed};
    kernel_table table = profiles::kube_default();
    if (seed % 2 == 1) add_plugin(table, lower(rack_letter{}, 3));
    if (seed % 4 >= 2) add_plugin(table, lower(few_pods{}, 2));
    if (seed % 8 >= 4) add_plugin(table, lower(scarce_resource_avoidance{{"nvidia.com/gpu"}}, 5));
    world w{table, {.seed = seed, .ties = seed % 3 == 0 ? tie_rule::kube_heap : tie_rule::uniform}};
    for (int i = 0; i < 12; ++i) {
      a_node node{"n" + std::to_string(i)};
      node.cpu(roll.between(1, 8)).memory(std::to_string(roll.between(1, 16)) + "Gi").gpus(roll.between(0, 2));
      node.label("rack", std::string(1, static_cast<char>('a' + roll.below(4))))
          .label("disk", roll.percent(50) ? "ssd" : "hdd");
      if (roll.percent(20))
        node.taint("x", "", roll.percent(50) ? taint_effect::prefer_no_schedule : taint_effect::no_schedule);
      w.add(node);
    }
    std::map<std::string, int> plugins;
    int bound = 0;
    for (int i = 0; i < 60; ++i) {
      a_pod pod{"p" + std::to_string(i)};
      pod.cpu_milli(100 * roll.between(1, 20)).memory("256Mi").priority(static_cast<std::int32_t>(roll.below(2)));
      if (roll.percent(40)) pod.prefer(static_cast<std::int32_t>(roll.between(1, 100)), "disk", {"ssd"});
      if (roll.percent(30)) pod.select("disk", "hdd");
      if (roll.percent(20)) pod.gpus(1);
      pod.spec.preemption = preemption_policy::never;
      const pod_id id = w.add(pod);
      const explanation all = why(w, pod.spec.name);
      std::int64_t best = -1;
      for (const node_verdict& node : all.nodes) {
        std::int64_t sum = 0;
        for (const plugin_score& score : node.scores) {
          CHECK((score.normalized >= 0 && score.normalized <= 100));
          sum += score.weighted();
          ++plugins[score.plugin];
        }
        CHECK(node.total == sum);
        if (node.code == code::success)
          best = std::max(best, node.total);
        else
          CHECK_FALSE(node.reasons.empty());
      }
      const cycle done = w.scheduler.schedule_cycle(w.now);
      REQUIRE(done.decisions().size() == 1);
      const decision& one = done.decisions()[0];
      if (best < 0) {
        CHECK(one.kind == decision_kind::reject);
        CHECK(all.summary.starts_with("0/12 nodes are available: "));
        w.remove(id);
        continue;
      }
      REQUIRE(one.kind == decision_kind::bind);
      CHECK(one.score == best);
      CHECK(at(all, std::string{w.cluster.name_of(one.node)}).total == best);
      ++bound;
      if (roll.percent(50)) w.confirm(id);
    }
    CHECK(bound > 5);
    CHECK(plugins["NodeResourcesFit"] > 0);
    CHECK(plugins["TaintToleration"] > 0);
    CHECK((plugins["RackLetter"] > 0) == (seed % 2 == 1));
    CHECK((plugins["FewPods"] > 0) == (seed % 4 >= 2));
  }
}

TEST_CASE("asking why changes nothing", "[engine][explain]") {
  world w;
  w.add(a_node{"n"}.cpu(1));
  w.add(a_pod{"p"}.cpu(2));
  w.add(a_pod{"q"}.cpu(1));
  CHECK(w.counts() == places{2, 0, 0, 0, 0});
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  const std::uint64_t decisions = w.scheduler.statistics().decisions;
  CHECK(at(why(w, "q"), "n").code == code::success);
  CHECK(at(why(w, "p"), "n").code == code::unresolvable);
  CHECK(inside(w.cluster).digest_with_derived() == before);
  CHECK(w.scheduler.statistics().decisions == decisions);
  CHECK(w.run() == words{"reject p", "bind q n"});
  const auto unknown = w.scheduler.explain(pod_id{.row = 77, .generation = 0});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == errc::unknown);
}

TEST_CASE("a member whose group is kept out for another member is told whom it waits for", "[engine][explain]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"b"}.cpu(1).in(gang).gate("later"));
  CHECK(w.run().empty());
  CHECK(why(w, "a").summary == "1/1 nodes are available. Its group waits for b: waiting for scheduling gates");
  CHECK(why(w, "b").summary == "waiting for scheduling gates");
}

TEST_CASE("a group whose topology no node knows is told so", "[engine][explain]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  const group_id gang = w.add(a_gang{"gang", 1}.topology("rack"));
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.run();
  const auto of_group = w.scheduler.explain(gang).value();
  REQUIRE(of_group.size() == 1);
  CHECK(of_group[0].summary == "there is no placement for it: no node has the label rack");
  CHECK(why(w, "a").summary ==
        "1/1 nodes are available. Its group: no placement is left for the group; no node has the label rack");
  w.add(a_node{"m"}.cpu(3).label("rack", "r"));
  CHECK(w.run() == words{"bind a m"});
}

TEST_CASE("a group's failure and the host's last word are part of the story", "[engine][explain]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(a_pod{"a"}.cpu(2).in(gang));
  w.add(a_pod{"b"}.cpu(2).in(gang));
  CHECK(w.run().size() == 2);
  CHECK(
      why(w, "a").summary ==
      "1/1 nodes are available. Its group: minCount cannot be satisfied; 1 of 2 members fit, b: 1000m cpu short on n");
  w.remove(w.pod("a"));
  w.remove(w.pod("b"));
  const pod_id p = w.add(a_pod{"p"}.cpu(1));
  CHECK(w.run() == words{"bind p n"});
  CHECK(w.scheduler.fail(p, "the kubelet said no").error() == nullptr);
  CHECK(why(w, "p").summary == "1/1 nodes are available. Last failure: the kubelet said no");
  CHECK(w.run_at(1s) == words{"bind p n"});
  w.confirm(p);
  CHECK(why(w, "p").summary.find("kubelet") == std::string::npos);
}

}  // namespace gangsched::testing::explain_test
