// tie_rule::kube_heap: the nodes that kube-scheduler 1.36.3 chose (one worker, all nodes scored, no warm-up), by their hash.
#include <cstdio>

#include "world.hpp"

using namespace gangsched;
using namespace gangsched::testing;

namespace {

std::string numbered(const char* format, int i) {
  char text[32];
  std::snprintf(text, sizeof text, format, i);
  return text;
}

a_node big(int i) {
  a_node node{numbered("node-%05d", i)};
  node.cpu(32).memory("64Gi").pods(110).label("kubernetes.io/hostname", node.spec.name);
  return node.zone("zone" + std::to_string(i % 3 + 1)).label("example.com/rack", numbered("rack%04d", i / 32));
}

a_pod base(const std::string& name, const char* ns) {
  a_pod pod{name};
  pod.ns(ns).memory("500Mi").image("example.com/pause:1");
  return pod;
}
a_pod plain(const std::string& name, const char* ns) { return base(name, ns).cpu_milli(100); }
a_pod filler(const std::string& name, const char* ns) { return base(name, ns).cpu(20); }
a_pod node_aff(const std::string& name, const char* ns) {
  a_pod pod = plain(name, ns);
  pod.spec.affinity.required = {
      {.match_expressions = {{"topology.kubernetes.io/zone", selector_operator::in, {"zone1", "zone2"}}}}};
  return pod;
}

struct workload {
  const char* name;
  int nodes;
  int bound;
  a_pod (*kind)(const std::string&, const char*);
  std::uint64_t hash;
  std::size_t distinct;
  std::vector<int> first;
};

}  // namespace

TEST_CASE("kube's heap rule chooses the nodes that kube-scheduler chose", "[engine][kube]") {
  const std::vector<workload> all = {
      {"basic", 500, 500, plain, 0x29370612a277b5f9u, 105, {0, 0, 1, 1, 3, 3, 7, 7, 15, 15, 31, 31}},
      {"one-per-node", 500, 0, filler, 0x9893c8153108df76u, 210, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"node-affinity", 500, 500, node_aff, 0x70dd74875b377be1u, 105, {0, 0, 1, 1, 4, 4, 10, 10, 22, 22, 46, 46}},
      {"basic", 5000, 5000, plain, 0x4b909cd94625aa19u, 105, {0, 0, 1, 1, 3, 3, 7, 7, 15, 15, 31, 31}},
      {"one-per-node", 5000, 0, filler, 0x9893c8153108df76u, 210, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"node-affinity", 5000, 5000, node_aff, 0xf83e291580b1f6a5u, 105, {0, 0, 1, 1, 4, 4, 10, 10, 22, 22, 46, 46}},
  };
  for (const workload& one : all) {
    INFO(one.name << ", " << one.nodes << " nodes");
    world w{profiles::kube_default(), {.ties = tie_rule::kube_heap}};
    std::vector<node_id> nodes;
    for (int i = 0; i < one.nodes; ++i) nodes.push_back(w.add(big(i)));
    for (int i = 0; i < one.bound; ++i) {
      w.add(one.kind(numbered("init-%06d", i), "sched-0").on(nodes[static_cast<std::size_t>(i % one.nodes)]));
    }
    std::uint64_t hash = 0xcbf29ce484222325u;
    std::vector<node_id> chosen;
    for (int i = 0; i < 210; ++i) {
      const pod_id pod = w.add(one.kind(numbered("pod-%06d", i), "sched-1"));
      const cycle done = w.scheduler.schedule_cycle(w.now);
      REQUIRE(done.decisions().size() == 1);
      REQUIRE(done.decisions()[0].kind == decision_kind::bind);
      chosen.push_back(done.decisions()[0].node);
      for (const char letter : w.cluster.name_of(chosen.back())) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
      w.confirm(pod);
    }
    std::vector<int> first;
    for (std::size_t i = 0; i < one.first.size(); ++i) first.push_back(static_cast<int>(chosen[i].row));
    CHECK(first == one.first);
    std::sort(chosen.begin(), chosen.end());
    CHECK(static_cast<std::size_t>(std::unique(chosen.begin(), chosen.end()) - chosen.begin()) == one.distinct);
    CHECK(hash == one.hash);
  }
}
