// What other schedulers for batch work promise of gangs, roles, groups of groups and topology: the cases of their own tests, with
// numbers of our own for each project: Volcano's and KAI's plain ones, Kueue's with a K, Koordinator's with an O, and
// KubeRay's with an R.
#include "support/inside.hpp"
#include "world.hpp"

#include <map>

namespace gangsched::testing::peer_gangs_test {

namespace {

constexpr const char* host_key = "kubernetes.io/hostname";

group_spec a_tree(const std::string& name, std::int32_t min_groups, std::vector<std::string> within = {},
                  group_id parent = {}) {
  group_spec made{.name = name, .policy = gang{.min_count = min_groups}, .composite = true, .parent = parent};
  made.topology.within = std::move(within);
  return made;
}
group_spec a_group(const std::string& name, std::int32_t min_count, std::vector<std::string> within = {},
                   group_id parent = {}) {
  group_spec made{.name = name, .policy = gang{.min_count = min_count}, .parent = parent};
  made.topology.within = std::move(within);
  return made;
}
pod_spec member(const std::string& name, group_id group, std::int64_t cores, const std::string& role = {}) {
  pod_spec made = a_pod{name}.cpu(cores).in(group);
  made.role = role;
  if (!role.empty()) made.node_selector["for"] = role;
  return made;
}
void add_members(world& w, group_id group, const std::string& name, int count, std::int64_t cores = 1) {
  for (int i = 0; i < count; ++i) w.add(member(name + std::to_string(i), group, cores));
}
/// The node of each pod whose name begins so; those without are left out.
words nodes_of(const world& w, std::string_view name) {
  words all;
  for (const pod_id pod : w.cluster.pods()) {
    if (w.cluster.name_of(pod).starts_with(name) && w.cluster.node_of(pod))
      all.emplace_back(w.cluster.name_of(w.cluster.node_of(pod)));
  }
  return sorted(all);
}
/// How many of those pods each node has: "n1=2".
words shares(const world& w, std::string_view name) {
  std::map<std::string, int> count;
  for (const std::string& node : nodes_of(w, name)) ++count[node];
  words all;
  for (const auto& [node, number] : count) all.push_back(node + "=" + std::to_string(number));
  return all;
}
group_spec with_roles(std::int32_t min_count, std::vector<role_minimum> roles) {
  group_spec made = a_group("job", min_count);
  std::get<gang>(made.policy).roles = std::move(roles);
  return made;
}

/// Eight nodes of 16 cores: s1 is b1 {8, 1} and b2 {7, 2}, s2 is b3 {6, 3} and b4 {5, 4}.
struct koordinator_nodes : world {
  koordinator_nodes() {
    const char* const blocks[] = {"b1", "b2", "b3", "b4", "b4", "b3", "b2", "b1"};
    for (int i = 0; i < 8; ++i) {
      add(a_node{std::to_string(i + 1)}
              .cpu(16)
              .label("block", blocks[i])
              .label("spine", blocks[i][1] < '3' ? "s1" : "s2"));
    }
  }
  group_id gather(const char* name, int count, std::vector<std::string> within, bool or_anywhere) {
    group_spec made = a_group(name, count, std::move(within));
    made.topology.or_anywhere = or_anywhere, made.topology.choice = domain_choice::best_fit;
    return add(made);
  }
};

/// Hosts of a Kueue topology: one slot is one core.
struct kueue_nodes : world {
  void host(const std::string& name, std::int64_t slots, const std::string& rack = "r",
            const std::string& block = "b") {
    add(a_node{name}.cpu(slots).label(host_key, name).label("rack", rack).label("block", block));
  }
  words place(int count, const group_topology& topology) {
    group_spec made = a_group("job", count);
    made.topology = topology;
    add_members(*this, add(made), "p", count);
    run();
    return shares(*this, "p");
  }
};

}  // namespace

// --- Volcano

TEST_CASE("Volcano 1: two masters are needed and one fits: nobody starts, though the minimum is there",
          "[peers][roles]") {
  world w;
  w.add(a_node{"m"}.cpu(1).label("for", "master"));
  w.add(a_node{"w"}.cpu(2).label("for", "worker"));
  const group_id job = w.add(with_roles(2, {{"master", 2}}));
  for (const char* name : {"m0", "m1"}) w.add(member(name, job, 1, "master"));
  for (const char* name : {"w0", "w1"}) w.add(member(name, job, 1, "worker"));
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  w.run();
  CHECK(w.cluster.assumed().empty());
  CHECK(inside(w.cluster).digest_with_derived() == before);
}

TEST_CASE("Volcano 2: one master and one worker are needed and have room: one of each", "[peers][roles]") {
  world w;
  w.add(a_node{"m"}.cpu(1).label("for", "master"));
  w.add(a_node{"w"}.cpu(1).label("for", "worker"));
  const group_id job = w.add(with_roles(2, {{"master", 1}, {"worker", 1}}));
  for (const char* name : {"m0", "m1"}) w.add(member(name, job, 1, "master"));
  for (const char* name : {"w0", "w1"}) w.add(member(name, job, 1, "worker"));
  w.run();
  CHECK(nodes_of(w, "") == words{"m", "w"});
}

TEST_CASE("Volcano 2: a role's minimum is met before others take its room, also by alike members", "[peers][roles]") {
  const bool alike = GENERATE(true, false);
  world w;
  w.add(a_node{"n"}.cpu(3));
  const group_id job = w.add(with_roles(2, {{"worker", 3}}));
  for (const char* name : {"m0", "m1", "w0", "w1", "w2"}) {
    pod_spec made = a_pod{name}.cpu(*name == 'm' && !alike ? 2 : 1).in(job);
    made.role = *name == 'm' ? "master" : "worker";
    w.add(made);
  }
  w.run();
  CHECK(nodes_of(w, "w").size() == 3);
  CHECK(nodes_of(w, "m").empty());
}

TEST_CASE("Volcano 5: a gang that needs two racks starts in the tier above only", "[peers][topology]") {
  const bool upper = GENERATE(false, true);
  world w;
  for (const char* name : {"s0-a", "s0-b", "s1-a", "s1-b"}) {
    w.add(a_node{name}.cpu(2).label("tier1", std::string{name}.substr(0, 2)).label("tier2", "s2"));
  }
  add_members(w, w.add(a_group("job", 3, {upper ? "tier2" : "tier1"})), "p", 3, 2);
  w.run();
  CHECK(nodes_of(w, "p").size() == (upper ? 3 : 0));
}

TEST_CASE("Volcano 6: the master has to leave the large racks to the workers", "[peers][topology][search]") {
  world w;
  for (const char* name : {"s0-a", "s0-b", "s1-a", "s1-b", "s2-a"}) {
    w.add(a_node{name}.cpu(1).label("tier1", std::string{name}.substr(0, 2)).label("tier2", "s3"));
  }
  const group_id job = w.add(a_tree("job", 3, {"tier2"}));
  add_members(w, w.add(a_group("master", 1, {"tier1"}, job)), "m", 1);
  for (const char* name : {"v", "w"}) add_members(w, w.add(a_group(name, 2, {"tier1"}, job)), name, 2);
  w.run();
  CHECK(nodes_of(w, "m") == words{"s2-a"});
  CHECK(nodes_of(w, "").size() == 5);
  for (const char* name : {"v", "w"}) {
    const words nodes = nodes_of(w, name);
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].substr(0, 2) == nodes[1].substr(0, 2));
  }
}

TEST_CASE("Volcano 7: two groups of two beside a master need five places, whatever the minimum of members",
          "[peers][tree]") {
  const int places = GENERATE(4, 5);
  world w;
  for (int i = 0; i < places; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(1));
  const group_id job = w.add(a_tree("job", 2));
  add_members(w, w.add(a_group("master", 1, {}, job)), "m", 1);
  const group_id workers = w.add(a_tree("workers", 2, {}, job));
  for (const char* name : {"v", "w"}) add_members(w, w.add(a_group(name, 2, {}, workers)), name, 2);
  w.run();
  CHECK(nodes_of(w, "").size() == (places == 5 ? 5 : 0));
}

TEST_CASE("Volcano 31: without any domain a hard topology refuses, a soft one is placed anywhere",
          "[peers][topology]") {
  world w;
  w.add(a_node{"n"}.cpu(4));
  add_members(w, w.add(a_group("hard", 2, {"tier1"})), "h", 2);
  group_spec soft = a_group("soft", 2, {"tier1"});
  soft.topology.or_anywhere = true;
  add_members(w, w.add(soft), "s", 2);
  w.run();
  CHECK(nodes_of(w, "h").empty());
  CHECK(nodes_of(w, "s") == words{"n", "n"});
}

// --- KAI: its required level is the last key of `within`, preferred ones stand before it

TEST_CASE("KAI 19: four pods in one rack, and each rack has room for two", "[peers][topology]") {
  world w;
  for (int i = 0; i < 4; ++i)
    w.add(a_node{"n" + std::to_string(i)}.cpu(9).gpus(2).label("rack", "r" + std::to_string(i)));
  const group_id job = w.add(a_group("job", 4, {"rack"}));
  for (int i = 0; i < 4; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1).gpus(1).in(job));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 4);
  for (const decision& one : done) {
    CHECK(one.kind == decision_kind::reject);
    CHECK(one.reason != nullptr);
  }
  const std::string why = world::must(w.scheduler.explain(w.pod("p0"))).summary;
  CHECK(why.find("Its group: ") != std::string::npos);
}

TEST_CASE("KAI 19: a second job is packed onto the rack that is in use, or where both pods fit", "[peers][topology]") {
  const std::int64_t first = GENERATE(3, 2);  // GPUs a node of rack 1
  world w{profiles::bin_packing()};
  w.add(a_node{"r1-a"}.cpu(9).gpus(first).label("rack", "r1"));
  w.add(a_node{"r2-a"}.cpu(9).gpus(3).label("rack", "r2"));
  const group_id running = w.add(a_group("running", 1, {"rack"}));
  for (int i = 0; i < (first == 3 ? 1 : 2); ++i)
    w.add(a_pod{"r" + std::to_string(i)}.cpu(1).gpus(1).in(running).on(w.node("r1-a")));
  const group_id job = w.add(a_group("job", 2, {"rack"}));
  for (int i = 0; i < 2; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1).gpus(1).in(job));
  w.run();
  CHECK(nodes_of(w, "p") == (first == 3 ? words{"r1-a", "r1-a"} : words{"r2-a", "r2-a"}));
}

TEST_CASE("KAI 19: a preferred rack that has no room does not keep the job from the required zone",
          "[peers][topology]") {
  const bool required = GENERATE(true, false);
  world w;
  for (const char* name : {"a-r1", "a-r2", "b-r3"}) {
    w.add(a_node{name}.cpu(2).label("rack", std::string{name}.substr(2)).label("zone", std::string{name}.substr(0, 1)));
  }
  group_spec job =
      a_group("job", 4, required ? std::vector<std::string>{"rack", "zone"} : std::vector<std::string>{"rack"});
  job.topology.or_anywhere = !required;
  add_members(w, w.add(job), "p", 4);
  w.run();
  CHECK(nodes_of(w, "p").size() == 4);
  if (required) CHECK(nodes_of(w, "p") == words{"a-r1", "a-r1", "a-r2", "a-r2"});
}

TEST_CASE("KAI 19: the preferred rack is taken when it has room", "[peers][topology]") {
  world w;
  for (const char* name : {"a-r1", "a-r2", "b-r3"}) {
    w.add(a_node{name}
              .cpu(*(name + 3) == '3' ? 4 : 2)
              .label("rack", std::string{name}.substr(2))
              .label("zone", std::string{name}.substr(0, 1)));
  }
  add_members(w, w.add(a_group("job", 4, {"rack", "zone"})), "p", 4);
  w.run();
  CHECK(nodes_of(w, "p") == words{"b-r3", "b-r3", "b-r3", "b-r3"});
}

TEST_CASE("KAI 25: what was tried in vain leaves every node, group and pod as it was", "[peers][tree]") {
  world w;
  for (const char* name : {"a", "b", "c"}) w.add(a_node{name}.cpu(4).gpus(2).label("rack", name));
  const group_id job = w.add(a_tree("job", 2));
  for (const char* name : {"v", "w"}) {
    const group_id group = w.add(a_group(name, 3, {"rack"}, job));
    for (int i = 0; i < 3; ++i) w.add(a_pod{name + std::to_string(i)}.cpu(1).gpus(*name == 'v' ? 0 : 1).in(group));
  }
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  for (int round = 0; round < 4; ++round) {
    CHECK(w.run_at(std::chrono::hours{round}).size() == 6);
    CHECK(inside(w.cluster).digest_with_derived() == before);
  }
  CHECK(w.scheduler.verify());
}

// --- Koordinator

TEST_CASE("O6: four pods that would rather be together share a spine", "[peers][topology]") {
  koordinator_nodes w;
  add_members(w, w.gather("g", 4, {"block", "spine"}, true), "p", 4, 16);
  w.run();
  CHECK(nodes_of(w, "p") == words{"1", "2", "7", "8"});
}

TEST_CASE("O7: two pods that must share a block do", "[peers][topology]") {
  koordinator_nodes w;
  add_members(w, w.gather("g", 2, {"block"}, false), "p", 2, 16);
  w.run();
  CHECK(nodes_of(w, "p") == words{"1", "8"});
}

TEST_CASE("O8: two pods of half a node share one", "[peers][topology]") {
  koordinator_nodes w;
  add_members(w, w.gather("g", 2, {"block", "spine"}, true), "p", 2, 8);
  w.run();
  CHECK(nodes_of(w, "p") == words{"1", "1"});
}

TEST_CASE("O9: with a node of each spine taken nobody starts, and all do when one is free again", "[peers][topology]") {
  koordinator_nodes w;
  for (const char* name : {"1", "4"}) w.add(a_pod{std::string{"busy"} + name}.cpu(16).on(w.node(name)));
  add_members(w, w.gather("g", 4, {"spine"}, false), "p", 4, 16);
  CHECK(w.run().size() == 4);
  CHECK(nodes_of(w, "p").empty());
  w.remove(w.pod("busy1"));
  w.run_at(10s);
  CHECK(nodes_of(w, "p") == words{"1", "2", "7", "8"});
}

TEST_CASE("O13: which members count for the minimum in the permit room", "[peers][permit]") {
  const match_policy match =
      GENERATE(match_policy::waiting_and_running, match_policy::only_waiting, match_policy::once_satisfied);
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4));
  group_spec spec = a_gang{"g", 4}.permit();
  std::get<gang>(spec.policy).match = match;
  const group_id gang = w.add(spec);
  // Three wait for a fourth.
  add_members(w, gang, "p", 4);
  w.must(w.cluster.update_pod(w.pod("p3"), a_pod{"p3"}.cpu(2).in(gang)));
  words all = w.run();
  CHECK(count(all, "wait ") == 3);
  CHECK(w.permit().empty());
  CHECK(w.counts().back() == 3);
  // With room for it they go.
  w.must(w.cluster.update_node(n, a_node{"n"}.cpu(6)));
  w.run_at(2s);
  for (const std::string& one : w.permit()) CHECK(one.starts_with("bind "));
  CHECK(w.counts().back() == 0);
  CHECK(w.cluster.assumed().size() == 4);
  for (const pod_id pod : w.cluster.assumed()) w.confirm(pod);
  // One of them is replaced while three run.
  w.remove(w.pod("p0"));
  w.add(member("late", gang, 1));
  const words later = w.run_at(3s);
  CHECK(later == words{match == match_policy::only_waiting ? "wait late n" : "bind late n"});
}

TEST_CASE("O14: two gangs that belong together start together", "[peers][tree]") {
  world w;
  w.add(a_node{"n"}.cpu(4));
  const group_id both = w.add(a_tree("both", 2));
  const group_id a = w.add(a_group("a", 2, {}, both));
  add_members(w, w.add(a_group("b", 2, {}, both)), "b", 2);
  add_members(w, a, "a", 1);
  CHECK(w.run().empty());
  CHECK(w.cluster.assumed().empty());
  w.add(member("a1", a, 1));
  CHECK(w.cycle().size() == 4);
  CHECK(w.cluster.assumed().size() == 4);
}

TEST_CASE("O14: of a minimum of two and a total of three as many run as fit", "[peers]") {
  const int room = GENERATE(1, 2, 3);
  world w;
  w.add(a_node{"n"}.cpu(room));
  add_members(w, w.add(a_group("g", 2)), "p", 3);
  w.run();
  CHECK(nodes_of(w, "p").size() == static_cast<std::size_t>(room < 2 ? 0 : room));
}

// --- Kueue

TEST_CASE("K18: one block is required: the rack that takes all, not two that are fuller", "[peers][topology]") {
  kueue_nodes w;
  w.host("x3", 2, "r1"), w.host("x5", 2, "r2");
  for (const char* name : {"x1", "x2", "x4", "x6"}) w.host(name, 1, "r3");
  // Racks are a level of the plan: a slice of one member names it.
  CHECK(w.place(4, {.within = {"block"}, .slices = {{"rack", 1}}, .choice = domain_choice::best_fit}) ==
        words{"x1=1", "x2=1", "x4=1", "x6=1"});
}

TEST_CASE("K19: the tightest host, and slices of two", "[peers][topology]") {
  {
    kueue_nodes w;
    w.host("x1", 1), w.host("x3", 2), w.host("x5", 1);
    CHECK(w.place(2, {.within = {"rack"}, .choice = domain_choice::best_fit}) == words{"x3=2"});
  }
  {
    kueue_nodes w;
    w.host("a", 6), w.host("b", 5), w.host("c", 4), w.host("d", 2);
    CHECK(w.place(12, {.slices = {{host_key, 2}}, .choice = domain_choice::best_fit}) == words{"a=6", "c=4", "d=2"});
  }
  {
    kueue_nodes w;
    w.host("x1", 2), w.host("x3", 3), w.host("x5", 2);
    CHECK(w.place(4, {.slices = {{host_key, 2}}, .choice = domain_choice::best_fit}) == words{"x1=2", "x5=2"});
  }
}

TEST_CASE("K20: without a constraint small hosts first, with slices too", "[peers][topology]") {
  const bool sliced = GENERATE(false, true);
  kueue_nodes w;
  w.host("x1", 1, "r1", "b1"), w.host("x3", 4, "r1", "b1"), w.host("x5", 1, "r1", "b1");
  w.host("x2", 1, "r2", "b2"), w.host("x6", 2, "r2", "b2");
  group_topology topology{.choice = domain_choice::least_free};
  if (sliced) topology.slices = {{host_key, 2}};
  CHECK(w.place(6, topology) == (sliced ? words{"x3=4", "x6=2"} : words{"x1=1", "x2=1", "x3=1", "x5=1", "x6=2"}));
}

// --- KubeRay

TEST_CASE("R4: a cluster of a head and at least one worker starts with two, and grows and shrinks", "[peers][roles]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  group_spec spec = with_roles(2, {{"head", 1}, {"worker", 1}});
  const group_id ray = w.add(spec);
  const auto add = [&](const char* name, const char* role) {
    pod_spec made = a_pod{name}.cpu(1).in(ray);
    made.role = role;
    return w.add(made);
  };
  add("w0", "worker"), add("w1", "worker"), add("w2", "worker");
  CHECK(w.run().empty() == false);
  CHECK(w.cluster.assumed().empty());  // there is no head
  add("head", "head");
  w.run_at(10s);
  CHECK(nodes_of(w, "head").size() == 1);
  CHECK(nodes_of(w, "w").size() == 2);
  for (const pod_id pod : w.cluster.assumed()) w.confirm(pod);
  // More replicas: the minimum and the maximum change in place.
  std::get<gang>(spec.policy).min_count = 3, std::get<gang>(spec.policy).max_count = 4;
  w.must(w.cluster.update_group(ray, spec));
  add("w3", "worker");
  w.add(a_node{"m"}.cpu(4));
  w.run_at(60s);
  CHECK(nodes_of(w, "").size() == 4);
}

}  // namespace gangsched::testing::peer_gangs_test
