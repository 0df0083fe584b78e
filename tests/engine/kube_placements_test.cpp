// tie_rule::kube_heap: the nodes that kube-scheduler 1.36.3 chose (one worker, all nodes scored, no warm-up), by their hash.
#include <cstdio>

#include "world.hpp"

namespace gangsched::testing::kube_placements_test {

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

label_selector of_colour(const char* colour) { return {.match_labels = {{"color", colour}}}; }
pod_affinity_term on(const char* key, const char* colour) {
  return {key, of_colour(colour), {"sched-1", "sched-0"}, {}};
}
a_pod coloured(const std::string& name, const char* ns, const char* colour) {
  a_pod pod = plain(name, ns);
  return pod.label("color", colour);
}
constexpr const char* host = "kubernetes.io/hostname";
constexpr const char* zones = "topology.kubernetes.io/zone";

a_pod anti(const std::string& name, const char* ns) {
  a_pod pod = coloured(name, ns, "green");
  pod.spec.anti_affinity_to_pods.required = {on(host, "green")};
  return pod;
}
a_pod prefer(const std::string& name, const char* ns) {
  a_pod pod = coloured(name, ns, "red");
  pod.spec.affinity_to_pods.preferred = {{1, on(host, "red")}};
  return pod;
}
a_pod prefer_anti(const std::string& name, const char* ns) {
  a_pod pod = coloured(name, ns, "yellow");
  pod.spec.anti_affinity_to_pods.preferred = {{1, on(host, "yellow")}};
  return pod;
}
a_pod zone_aff(const std::string& name, const char* ns) {
  a_pod pod = coloured(name, ns, "blue");
  pod.spec.affinity_to_pods.required = {on(zones, "blue")};
  return pod;
}
a_pod spread(const std::string& name, const char* ns, const char* colour, when_unsatisfiable action) {
  a_pod pod = coloured(name, ns, colour);
  topology_spread one;
  one.topology_key = zones, one.max_skew = 5, one.action = action, one.selector = of_colour(colour);
  pod.spec.topology_spread_constraints = {one};
  return pod;
}
a_pod spread_hard(const std::string& name, const char* ns) {
  return spread(name, ns, "black", when_unsatisfiable::do_not_schedule);
}
a_pod spread_soft(const std::string& name, const char* ns) {
  return spread(name, ns, "white", when_unsatisfiable::schedule_anyway);
}
/// By the number in the name.
a_pod mixed(const std::string& name, const char* ns) {
  constexpr a_pod (*kinds[])(const std::string&, const char*) = {anti,        prefer,      prefer_anti, zone_aff,
                                                                 spread_hard, spread_soft, node_aff};
  const int s = 27 * std::stoi(name.substr(name.size() - 6)) % 70;
  return s < 28 ? plain(name, ns) : kinds[(s - 28) / 6](name, ns);
}

struct workload {
  const char* name;
  int nodes;
  int bound;
  a_pod (*before)(const std::string&, const char*);
  a_pod (*kind)(const std::string&, const char*);
  std::uint64_t hash;
  std::size_t distinct;
  std::vector<int> first;
};

void compare(const workload& one, std::optional<std::int32_t> percentage) {
  INFO(one.name << ", " << one.nodes << " nodes");
  kernel_table profile = profiles::kube_default();
  profile.percentage_of_nodes_to_score = percentage;
  world w{std::move(profile), {.ties = tie_rule::kube_heap}};
  std::vector<node_id> nodes;
  for (int i = 0; i < one.nodes; ++i) nodes.push_back(w.add(big(i)));
  for (int i = 0; i < one.bound; ++i) {
    const int place = one.before == zone_aff ? 3 * (i % ((one.nodes + 2) / 3)) : i % one.nodes;
    w.add(one.before(numbered("init-%06d", i), "sched-0").on(nodes[static_cast<std::size_t>(place)]));
  }
  std::uint64_t hash = 0xcbf29ce484222325u;
  std::vector<node_id> chosen;
  for (int i = 0; i < 210; ++i) {
    const pod_id pod = w.add(one.kind(numbered("pod-%06d", i), "sched-1"));
    const cycle done = w.scheduler.schedule_cycle(w.now);
    REQUIRE(done.decisions().size() == 1);
    REQUIRE(done.decisions()[0].kind == decision_kind::bind);
    chosen.push_back(done.decisions()[0].node);
    for (const char letter : w.cluster.name_of(chosen.back()))
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    w.confirm(pod);
  }
  std::vector<int> first;
  for (std::size_t i = 0; i < one.first.size(); ++i) first.push_back(static_cast<int>(chosen[i].row));
  CHECK(first == one.first);
  std::sort(chosen.begin(), chosen.end());
  CHECK(static_cast<std::size_t>(std::unique(chosen.begin(), chosen.end()) - chosen.begin()) == one.distinct);
  CHECK(hash == one.hash);
}

}  // namespace

TEST_CASE("kube's heap rule chooses the nodes that kube-scheduler chose", "[engine][kube]") {
  const std::vector<workload> all = {
      {"basic", 500, 500, plain, plain, 0x29370612a277b5f9u, 105, {0, 0, 1, 1, 3, 3, 7, 7, 15, 15, 31, 31}},
      {"one-per-node", 500, 0, filler, filler, 0x9893c8153108df76u, 210, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"anti-affinity",
       500,
       100,
       anti,
       anti,
       0x2e737b509ec561a2u,
       210,
       {100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111}},
      {"prefer-affinity", 500, 500, prefer, prefer, 0xc91b81ac339b51e6u, 2, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"prefer-anti-affinity",
       500,
       500,
       prefer_anti,
       prefer_anti,
       0x3f63380b7add124eu,
       210,
       {0, 1, 3, 7, 15, 31, 63, 127, 255, 256, 128, 257}},
      {"zone-affinity",
       500,
       500,
       zone_aff,
       zone_aff,
       0xe7d4657725b206f3u,
       167,
       {498, 0, 3, 9, 21, 45, 93, 189, 381, 384, 192, 387}},
      {"spread-hard", 500, 500, plain, spread_hard, 0xc3ec5a1afa0042ddu, 105, {0, 0, 1, 1, 3, 3, 7, 7, 15, 2, 15, 2}},
      {"spread-soft",
       500,
       500,
       plain,
       spread_soft,
       0xdf08cdc7a5aad329u,
       105,
       {0, 1, 128, 0, 1, 128, 3, 7, 257, 3, 7, 257}},
      {"node-affinity",
       500,
       500,
       node_aff,
       node_aff,
       0x70dd74875b377be1u,
       105,
       {0, 0, 1, 1, 4, 4, 10, 10, 22, 22, 46, 46}},
      {"mixed", 500, 500, plain, mixed, 0x065ba7f5905faa10u, 105, {0, 0, 1, 1, 3, 4, 3, 7, 7, 15, 15, 31}},
      {"basic", 5000, 5000, plain, plain, 0x4b909cd94625aa19u, 105, {0, 0, 1, 1, 3, 3, 7, 7, 15, 15, 31, 31}},
      {"one-per-node", 5000, 0, filler, filler, 0x9893c8153108df76u, 210, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"anti-affinity",
       5000,
       1000,
       anti,
       anti,
       0xe08c2ae438ecd34eu,
       210,
       {1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011}},
      {"prefer-affinity", 5000, 5000, prefer, prefer, 0xc91b81ac339b51e6u, 2, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"prefer-anti-affinity",
       5000,
       5000,
       prefer_anti,
       prefer_anti,
       0x7641fb0d008b45e5u,
       210,
       {0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047}},
      {"zone-affinity",
       5000,
       5000,
       zone_aff,
       zone_aff,
       0x9e648876bfc485e5u,
       210,
       {4998, 0, 3, 9, 21, 45, 93, 189, 381, 765, 1533, 3069}},
      {"spread-hard", 5000, 5000, plain, spread_hard, 0x7278a8b585631345u, 105, {0, 0, 1, 1, 3, 3, 7, 7, 15, 2, 15, 2}},
      {"spread-soft",
       5000,
       5000,
       plain,
       spread_soft,
       0xa7222c1bf0597685u,
       105,
       {0, 1, 2048, 0, 1, 2048, 3, 7, 4097, 3, 7, 4097}},
      {"node-affinity",
       5000,
       5000,
       node_aff,
       node_aff,
       0xf83e291580b1f6a5u,
       105,
       {0, 0, 1, 1, 4, 4, 10, 10, 22, 22, 46, 46}},
      {"mixed", 5000, 5000, plain, mixed, 0x4b67626e73e2bd92u, 106, {0, 0, 1, 1, 3, 4, 3, 7, 7, 15, 15, 31}},
  };
  for (const workload& one : all) compare(one, std::nullopt);
}

TEST_CASE("with a sample of the nodes too, round after round", "[engine][kube]") {
  const std::vector<workload> sampled = {
      {"basic",
       500,
       500,
       plain,
       plain,
       0xb3219cb7fdca667du,
       110,
       {0, 230, 460, 190, 420, 150, 380, 110, 340, 70, 300, 30}},
      {"one-per-node",
       500,
       0,
       filler,
       filler,
       0xd6f39156378a8e21u,
       210,
       {0, 230, 460, 191, 422, 154, 386, 119, 352, 86, 320, 55}},
      {"anti-affinity",
       500,
       100,
       anti,
       anti,
       0xabe4752ef2d06cbeu,
       210,
       {100, 330, 161, 392, 224, 456, 289, 123, 357, 192, 427, 263}},
      {"prefer-affinity",
       500,
       500,
       prefer,
       prefer,
       0xa6804ba0da7a6b30u,
       4,
       {0, 230, 0, 230, 0, 230, 0, 230, 0, 230, 0, 230}},
      {"prefer-anti-affinity",
       500,
       500,
       prefer_anti,
       prefer_anti,
       0xb6eb49f2adfe77d0u,
       210,
       {0, 230, 460, 190, 420, 150, 380, 110, 340, 70, 300, 30}},
      {"zone-affinity",
       500,
       500,
       zone_aff,
       zone_aff,
       0xe7d4657725b206f3u,
       167,
       {498, 0, 3, 9, 21, 45, 93, 189, 381, 384, 192, 387}},
      {"spread-hard",
       500,
       500,
       plain,
       spread_hard,
       0xb3219cb7fdca667du,
       110,
       {0, 230, 460, 190, 420, 150, 380, 110, 340, 70, 300, 30}},
      {"spread-soft",
       500,
       500,
       plain,
       spread_soft,
       0xf401fae4cafb43c5u,
       152,
       {0, 230, 460, 190, 420, 278, 380, 111, 340, 70, 300, 158}},
      {"node-affinity",
       500,
       500,
       node_aff,
       node_aff,
       0xdd6836f2c86cd020u,
       167,
       {0, 345, 189, 33, 378, 222, 66, 411, 255, 99, 444, 288}},
      {"mixed",
       500,
       500,
       plain,
       mixed,
       0x26579f92b1cb2d03u,
       156,
       {0, 230, 460, 190, 420, 150, 495, 225, 455, 185, 415, 145}},
  };
  for (const workload& one : sampled) compare(one, 0);
}

}  // namespace gangsched::testing::kube_placements_test
