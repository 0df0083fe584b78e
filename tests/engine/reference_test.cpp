// The reference that the engine is compared with is itself compared: with recordings of kube-scheduler and numbers of the references.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/referee.hpp"
#include "support/source_dir.hpp"

namespace gangsched::testing::reference_test {

namespace {

/// A world whose ids are simply counted.
struct small_world {
  reference::world world;
  row_t nodes = 0, pods = 0;

  row_t add(const node_spec& spec) {
    world.put_node({nodes, 0}, spec);
    return nodes++;
  }
  pod_id add(const pod_spec& spec) {
    world.put_pod({pods, 0}, spec);
    return {pods++, 0};
  }
  row_t place(const pod_spec& spec, const reference::options& with) {
    const pod_id pod = add(spec);
    const reference::choice chosen = reference::choose(world, pod, with, 0);
    if (chosen.node != no_row) world.place(pod, chosen.node, reference::stage::bound);
    return chosen.node;
  }
};

reference::options kube_default(tie_rule ties) {
  return {{{"NodeUnschedulable"},
           {"NodeName"},
           {"TaintToleration", 3},
           {"NodeAffinity", 2},
           {"NodePorts"},
           {"NodeResourcesFit"},
           {"NodeResourcesBalancedAllocation"},
           {"ImageLocality"}},
          0,
          ties};
}

std::string number(std::size_t i) {
  std::string digits = std::to_string(i);
  return std::string(5 - digits.size(), '0') + digits;
}

/// The nodes and bound pods of conformance/peer-workloads.md.
small_world peer_cluster(std::size_t count, bool bound) {
  small_world made;
  for (std::size_t i = 0; i < count; ++i) {
    made.add(a_node{"node-" + number(i)}.cpu(32).memory("64Gi").zone("zone" + std::to_string(i % 3 + 1)));
  }
  for (row_t i = 0; bound && i < count; ++i) {
    made.add(a_pod{"init-" + number(i)}.ns("sched-0").cpu_milli(100).memory("500Mi").on({i, 0}));
  }
  return made;
}

}  // namespace

TEST_CASE("the reference includes nothing of plugins, framework or engine", "[engine][reference]") {
  for (const char* name : {"reference.hpp", "reference.cpp", "reference_rules.cpp", "referee.hpp", "referee.cpp"}) {
    std::ifstream file{source_dir() + "/tests/support/" + name};
    REQUIRE(file.good());
    std::size_t includes = 0;
    for (std::string line; std::getline(file, line);) {
      const std::size_t from = line.find_first_of("\"<");
      if (!line.starts_with("#include") || from == std::string::npos) continue;
      ++includes;
      const std::string what = line.substr(from + 1, line.find_last_of("\">") - from - 1);
      const bool standard = line[from] == '<' && what.find('/') == std::string::npos;
      const bool own = what.starts_with("reference") || what.starts_with("support/refere");
      const bool allowed = what.starts_with("gangsched/core/") || what == "gangsched/model/spec.hpp";
      INFO(name << " includes " << what);
      CHECK((standard || own || allowed));
    }
    CHECK(includes > 0);
  }
}

TEST_CASE("with kube's tie order the reference puts plain pods where kube-scheduler 1.36.3 puts them",
          "[engine][reference]") {
  const auto first_twelve = [](small_world world, const pod_spec& like) {
    std::vector<row_t> nodes;
    for (int i = 0; i < 12; ++i) {
      pod_spec pod = like;
      pod.name = "pod-" + std::to_string(i);
      nodes.push_back(world.place(pod, kube_default(tie_rule::kube_heap)));
    }
    return nodes;
  };
  const pod_spec plain = a_pod{"pod"}.ns("sched-1").cpu_milli(100).memory("500Mi");
  CHECK(first_twelve(peer_cluster(500, true), plain) == std::vector<row_t>{0, 0, 1, 1, 3, 3, 7, 7, 15, 15, 31, 31});

  pod_spec in_two_zones = plain;
  in_two_zones.affinity.required = {
      {.match_expressions = {{"topology.kubernetes.io/zone", selector_operator::in, {"zone1", "zone2"}}}}};
  CHECK(first_twelve(peer_cluster(500, true), in_two_zones) ==
        std::vector<row_t>{0, 0, 1, 1, 4, 4, 10, 10, 22, 22, 46, 46});

  // One that fills a node: every node once, in order.
  const pod_spec filler = a_pod{"pod"}.cpu(20).memory("500Mi");
  CHECK(first_twelve(peer_cluster(500, false), filler) == std::vector<row_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("the reference scores the gang bin-packing walk-through with 34, 56, 77 and 98", "[engine][reference]") {
  small_world made;
  for (const char* name : {"a", "b"}) {
    made.add(
        a_node{name}.cpu_milli(2000).resource("memory", quantity{2'200'000'000}).resource("example.com/dongle", "8"));
  }
  reference::plugin plus{"NodeResourcesFitPlus"};
  plus.resources = {{"example.com/dongle", 20, reference::strategy::most},
                    {"cpu", 2, reference::strategy::least},
                    {"memory", 1, reference::strategy::least}};
  const reference::options with{{{"NodeResourcesFit", 1}, plus}, 0, tie_rule::lowest_row};
  std::vector<std::int64_t> scores;
  std::vector<row_t> nodes;
  for (int i = 0; i < 5; ++i) {
    const pod_id pod =
        made.add(a_pod{"p" + std::to_string(i)}.cpu_milli(40).memory("40Mi").resource("example.com/dongle", "2"));
    const reference::outlook seen = reference::look(made.world, pod, with);
    const row_t node = reference::choose_among(made.world, seen, with, 0);
    scores.push_back(seen.nodes.at(node).lines.back().normalized);
    nodes.push_back(node);
    made.world.place(pod, node, reference::stage::bound);
  }
  CHECK(scores == std::vector<std::int64_t>{34, 56, 77, 98, 34});
  CHECK(nodes == std::vector<row_t>{0, 0, 0, 0, 1});
}

TEST_CASE("the reference explains a rejection with kube-scheduler's sentence", "[engine][reference]") {
  small_world made;
  made.add(a_node{"a"}.cpu(1).memory("1Gi"));
  made.add(a_node{"b"}.cpu(1).memory("1Gi"));
  made.add(a_node{"c"}.cpu(8).unschedulable());
  const pod_id pod = made.add(a_pod{"p"}.cpu(2).memory("2Gi"));
  const reference::outlook seen = reference::look(made.world, pod, kube_default(tie_rule::lowest_row));
  CHECK(seen.summary ==
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu, 2 Insufficient memory.");
}

TEST_CASE("the referee objects to a wrong node, a wrong turn and a pod that was forgotten", "[engine][reference]") {
  using reference::verdict;
  reference::referee judge{kube_default(tie_rule::lowest_row),
                           {std::chrono::seconds{1}, std::chrono::seconds{10}, std::chrono::minutes{5}}};
  judge.put_node({0, 0}, a_node{"a"}.cpu(1));
  judge.put_node({1, 0}, a_node{"b"}.cpu(1));
  const pod_id first{0, 0}, urgent{1, 0};
  judge.put_pod(first, a_pod{"first"});
  judge.put_pod(urgent, a_pod{"urgent"}.priority(5));
  const auto score = [&](pod_id pod) { return reference::choose(judge.world(), pod, judge.rules(), 0).score; };

  auto other = judge;
  CHECK(other.cycle({}, {{"bind", first, 0, score(first)}}, 0).value_or("") == "first is attempted before urgent");
  other = judge;
  CHECK(other.cycle({}, {{"bind", urgent, 1, score(urgent)}}, 0)
            .value_or("")
            .starts_with("cycle of urgent: expected bind urgent@a"));
  CHECK_FALSE(judge.cycle({}, {{"bind", urgent, 0, score(urgent)}}, 0).has_value());
  CHECK(judge.at_rest({}).value_or("") == "first was never attempted, but the loop has ended");
}

}  // namespace gangsched::testing::reference_test
