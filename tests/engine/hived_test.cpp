// HiveD's policy on the queues of a cluster: who gets which nodes, who waits, and who goes for whom.
#include <map>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/plugins/hived.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::hived_test {

namespace {

/// Who came first, whenever he was tried last.
struct by_arrival {
  static constexpr std::string_view name = "ByArrival";
  using points = implements<point::queue_sort>;
  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept { return a.arrival < b.arrival; }
};

kernel_table with(hived_policy::options chosen) {
  return profile{hived_policy{std::move(chosen)}, by_arrival{},         scheduling_gates{}, node_unschedulable{},
                 node_affinity_plugin{},          node_resources_fit{}, gang_scheduling{}};
}

struct cells_world : world {
  explicit cells_world(hived_policy::options chosen = {}) : world(with(std::move(chosen))) {}

  void nodes(const std::string& prefix, int count, std::int64_t gpus) {
    for (int i = 0; i < count; ++i) add(a_node{prefix + std::to_string(i)}.cpu(64).gpus(gpus));
  }
  void queue(const std::string& name, std::int64_t gpus, const std::string& parent = "") {
    queue_spec spec{.name = name, .parent = parent};
    if (gpus > 0) spec.quotas.push_back({.guaranteed = {{"nvidia.com/gpu", gpus}}});
    must(cluster.queues().add(spec));
  }
  a_pod of(const std::string& name, const std::string& queue, std::int64_t gpus, std::int32_t priority = 0) {
    a_pod one{name};
    one.cpu_milli(100).gpus(gpus).priority(priority);
    one.spec.queue = queue;
    return one;
  }
  pod_id ask(const std::string& name, const std::string& queue, std::int64_t gpus, std::int32_t priority = 0) {
    return add(of(name, queue, gpus, priority));
  }
  group_id gang_of(const std::string& name, const std::string& queue, int pods, std::int64_t gpus,
                   std::int32_t priority = 0, std::int32_t least = 0) {
    group_spec spec{.name = name, .queue = queue};
    spec.policy = gang{.min_count = least == 0 ? pods : least};
    const group_id group = add(spec);
    for (int i = 0; i < pods; ++i) add(of(name + "-" + std::to_string(i), "", gpus, priority).in(group));
    return group;
  }
};

const std::string& node_of(const words& said, const std::string& pod) {
  static const std::string nowhere;
  for (const std::string& one : said)
    if (one.starts_with("bind " + pod + " ")) return one;
  return nowhere;
}

}  // namespace

TEST_CASE("who uses what a virtual cluster is due goes when it is wanted, as a whole", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 4);
  w.queue("vision", 4);
  w.queue("speech", 0);
  w.gang_of("sweep", "speech", 4, 1, -1);
  CHECK(sorted(w.run(true)) == words{"bind sweep-0 n0", "bind sweep-1 n0", "bind sweep-2 n0", "bind sweep-3 n0"});
  w.ask("train", "vision", 4);
  CHECK(sorted(w.run()) ==
        words{"evict sweep-0 n0", "evict sweep-1 n0", "evict sweep-2 n0", "evict sweep-3 n0", "nominate train n0"});
  const std::vector<std::string> all{"sweep-0", "sweep-1", "sweep-2", "sweep-3"};
  for (const std::string& pod : all) w.must(w.cluster.set_terminating(w.pod(pod), true));
  for (const std::string& pod : all) {
    CHECK(std::ranges::none_of(w.run_at(w.now + 60s), [](const std::string& one) { return one.starts_with("bind"); }));
    CHECK(w.cluster.nominated_node_of(w.pod("train")) == w.node("n0"));
    w.remove(w.pod(pod));
  }
  CHECK(w.run_at(w.now + 60s) == words{"bind train n0"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("whole GPUs that only devices name take cells as those do that containers request by number",
          "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 4);
  w.queue("vision", 4);
  for (const char* const name : {"one", "two"}) {
    a_pod asks{name};
    asks.cpu_milli(100).cards(3).spec.queue = "vision";
    w.add(asks);
  }
  a_pod both{"both"};
  both.cpu_milli(100).gpus(1).cards(1).spec.queue = "vision";  // it is one, said twice
  w.add(both);
  CHECK(sorted(w.run(true)) == words{"bind both n0", "bind one n0", "reject two"});
}

TEST_CASE("a virtual cluster without cells waits for none, and its opportunistic pods take from nobody",
          "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 2);
  w.queue("vision", 2);
  w.queue("speech", 0);
  w.ask("due", "vision", 2);
  CHECK(w.run(true) == words{"bind due n0"});
  w.ask("none", "speech", 1);
  w.ask("low", "speech", 1, -1);
  w.ask("vision-low", "vision", 1, -1);
  CHECK(w.run() == words{"reject none", "reject low", "reject vision-low"});
  w.remove(w.pod("due"));
  CHECK(w.run_at(60s) == words{"bind low n0", "bind vision-low n0"});
}

TEST_CASE("small pods share a cell, so that others have theirs whole", "[engine][hived]") {
  cells_world w;  // NodeResourcesFit alone would spread them
  w.nodes("n", 2, 4);
  w.queue("a", 4);
  w.queue("b", 4);
  w.ask("a1", "a", 2);
  w.ask("a2", "a", 2);
  const words said = w.run(true);
  CHECK(node_of(said, "a1").substr(8) == node_of(said, "a2").substr(8));
  w.ask("whole", "b", 4);
  CHECK(w.run(true).front().starts_with("bind whole "));
  w.ask("more", "a", 1);  // all that it is due is in use, whatever is idle elsewhere
  CHECK(w.run() == words{"reject more"});
}

TEST_CASE("parts of a node are due to each, and stay whole", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 8);
  w.queue("a", 4);
  w.queue("b", 3);
  w.ask("b2", "b", 2);
  w.ask("a4", "a", 4);
  w.ask("b1", "b", 1);
  CHECK(sorted(w.run(true)) == words{"bind a4 n0", "bind b1 n0", "bind b2 n0"});
  w.ask("b3", "b", 1);
  CHECK(w.run() == words{"reject b3"});
  const explanation why = world::must(w.scheduler.explain(w.pod("b3")));
  CHECK(why.rejected_by == "HiveD");
  CHECK(why.summary.find("b lacks 1 cell \"GPU\"") != std::string::npos);
}

TEST_CASE("a gang has cells on several nodes, or none", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 3, 4);
  w.queue("a", 8);
  w.queue("b", 4);
  w.gang_of("train", "a", 4, 2);
  const words said = sorted(w.run(true));
  CHECK(said.size() == 4);
  std::map<std::string, int> on;
  for (const std::string& one : said) ++on[one.substr(one.size() - 2)];
  CHECK(on.size() == 2);
  w.gang_of("other", "b", 3, 2);
  CHECK(w.run() == words{"reject other-0", "reject other-1", "reject other-2"});
  w.gang_of("elastic", "b", 3, 2, 0, 1);  // above its minimum as far as there are cells
  const words some = w.run(true);
  CHECK(std::ranges::count_if(some, [](const std::string& one) { return one.starts_with("bind elastic"); }) == 2);
}

TEST_CASE("a more important group takes from its own virtual cluster only", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 2, 2);
  w.queue("a", 2);
  w.queue("b", 2);
  w.ask("a-low", "a", 2, 1);
  w.ask("b-low", "b", 2, 0);
  REQUIRE(w.run(true).size() == 2);
  w.ask("a-high", "a", 1, 7);
  const words said = sorted(w.run());
  REQUIRE(said.size() == 2);
  CHECK(said[0].starts_with("evict a-low "));
  CHECK(said[1].starts_with("nominate a-high "));
  w.must(w.cluster.set_terminating(w.pod("a-low"), true));
  w.ask("a-later", "a", 1, 3);  // may not have what is held for the other, but the second half
  CHECK(w.run().front() == "nominate a-later " + said[0].substr(12));
  w.ask("a-last", "a", 1, 2);
  CHECK(w.run() == words{"reject a-last"});
  w.remove(w.pod("a-low"));
  const words both = sorted(w.run_at(60s));
  REQUIRE(both.size() == 2);
  CHECK(both[0].starts_with("bind a-high "));
  CHECK(both[1].starts_with("bind a-later "));
}

TEST_CASE("with lazy preemption the victim goes on where it is, without its cells", "[engine][hived]") {
  cells_world w{{.lazy_preemption = true}};
  w.nodes("n", 2, 2);
  w.queue("a", 2);
  w.queue("b", 2);
  w.ask("a-low", "a", 2, 1);
  REQUIRE(w.run(true).size() == 1);
  w.ask("a-high", "a", 2, 7);
  CHECK(w.run(true).front().starts_with("bind a-high "));
  w.ask("b-due", "b", 2);
  const words said = sorted(w.run());
  REQUIRE(said.size() == 2);
  CHECK(said[0].starts_with("evict a-low "));
  CHECK(said[1].starts_with("nominate b-due "));
}

TEST_CASE("a cell that other filters reject is looked past, as long as everybody has his own", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 2, 2);
  w.add(a_node{"fast"}.cpu(64).gpus(2).label("speed", "high"));
  w.queue("a", 2);
  w.queue("b", 4);
  a_pod choosy = w.of("choosy", "a", 1);
  choosy.spec.node_selector["speed"] = "high";
  w.add(choosy);
  CHECK(w.run(true) == words{"bind choosy fast"});
  w.ask("b1", "b", 2);
  w.ask("b2", "b", 2);
  CHECK(sorted(w.run(true)) == words{"bind b1 n0", "bind b2 n1"});
  w.remove(w.pod("choosy"));
  w.gang_of("pair", "b", 1, 1);
  a_pod nowhere = w.of("nowhere", "a", 1);
  nowhere.spec.node_selector["speed"] = "low";
  w.add(nowhere);
  CHECK(sorted(w.run_at(60s)) == words{"reject nowhere", "reject pair-0"});
}

TEST_CASE("a node that takes nobody is nobody's, as long as there are others", "[engine][hived]") {
  cells_world w;
  w.add(a_node{"n0"}.cpu(64).gpus(2).unschedulable());
  w.nodes("m", 2, 2);
  w.queue("a", 2);
  w.queue("b", 2);
  w.ask("a1", "a", 2);
  w.ask("b1", "b", 2);
  const words said = sorted(w.run(true));
  REQUIRE(said.size() == 2);
  CHECK(said[0].starts_with("bind a1 m"));
  CHECK(said[1].starts_with("bind b1 m"));
}

TEST_CASE("who runs keeps what he has when cells are made anew", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 2, 4);
  w.queue("a", 4);
  w.queue("b", 4);
  w.ask("a1", "a", 2);
  w.ask("b1", "b", 2);
  REQUIRE(w.run(true).size() == 2);
  w.nodes("m", 1, 4);  // more nodes
  queue_spec more{.name = "b"};
  more.quotas.push_back({.guaranteed = {{"nvidia.com/gpu", 8}}});
  w.must(w.cluster.queues().update(w.cluster.queues().find("b").value(), more));
  w.ask("b2", "b", 4);
  w.ask("b3", "b", 2);
  w.ask("a2", "a", 2);
  const words said = w.run(true);
  CHECK(said.size() == 3);
  CHECK(std::ranges::all_of(said, [](const std::string& one) { return one.starts_with("bind "); }));
  more.quotas = {{.guaranteed = {{"nvidia.com/gpu", 2}}}};  // its groups go on, the last ones opportunistically
  w.must(w.cluster.queues().update(w.cluster.queues().find("b").value(), more));
  queue_spec all{.name = "a"};
  all.quotas.push_back({.guaranteed = {{"nvidia.com/gpu", 8}}});
  w.must(w.cluster.queues().update(w.cluster.queues().find("a").value(), all));
  w.ask("a3", "a", 4);
  const words took = sorted(w.run_at(60s));
  REQUIRE(took.size() >= 2);
  CHECK(took.front().starts_with("evict b"));
  CHECK(took.back().starts_with("nominate a3 "));
}

TEST_CASE("pods that the host placed are in the cells that hold them", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 4);
  w.queue("a", 2);
  w.queue("b", 2);
  w.add(w.of("a1", "a", 1).on(w.node("n0")));
  w.add(w.of("b1", "b", 1).on(w.node("n0")));
  w.add(w.of("stray", "", 1).on(w.node("n0")));  // in no queue
  w.ask("b2", "b", 1);
  w.ask("a2", "a", 1);
  const words said = sorted(w.run(true));
  REQUIRE(said.size() == 3);
  CHECK(std::ranges::count(said, "evict stray n0") == 1);
}

TEST_CASE("a pod without a queue that takes a promised device goes for whom it was promised to", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 1);
  w.queue("a", 1);
  w.ask("lent", "a", 1, -1);
  REQUIRE(w.run(true) == words{"bind lent n0"});
  w.ask("due", "a", 1);
  CHECK(sorted(w.run()) == words{"evict lent n0", "nominate due n0"});
  w.ask("stray", "", 1, 1);
  w.remove(w.pod("lent"));
  // It comes first, and is no better off than who was there.
  CHECK(sorted(w.run(true)) == words{"bind stray n0", "evict stray n0", "nominate due n0"});
  w.remove(w.pod("stray"));
  CHECK(w.run_at(120s) == words{"bind due n0"});
}

TEST_CASE("a pod that the host puts on promised devices takes the least important promise", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 2);
  w.queue("a", 2);
  w.ask("lent1", "a", 1, -1);
  w.ask("lent2", "a", 1, -1);
  REQUIRE(w.run(true).size() == 2);
  w.ask("high", "a", 1, 5);
  CHECK(w.run().size() == 2);
  for (const char* const lent : {"lent1", "lent2"}) w.must(w.cluster.set_terminating(w.pod(lent), true));
  w.ask("low", "a", 1, 1);
  w.run();
  CHECK(w.cluster.nominated_node_of(w.pod("low")) == w.node("n0"));
  for (const char* const lent : {"lent1", "lent2"}) w.remove(w.pod(lent));
  w.add(w.of("stray", "", 1).on(w.node("n0")));
  const words said = sorted(w.run_at(60s));
  CHECK(said == words{"bind high n0", "evict stray n0", "nominate low n0"});
}

TEST_CASE("whose promised node turns bad goes to another with free cells at once", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 2, 1);
  w.queue("a", 1);
  w.ask("lent0", "a", 1, -1);
  w.ask("lent1", "a", 1, -1);
  REQUIRE(w.run(true).size() == 2);
  w.ask("due", "a", 1);
  REQUIRE(w.run().size() == 2);
  const bool first = w.cluster.nominated_node_of(w.pod("due")) == w.node("n0");
  w.remove(w.pod("lent0"));
  w.remove(w.pod("lent1"));
  const node_id its = w.node(first ? "n0" : "n1");
  w.must(w.cluster.update_node(its, a_node{first ? "n0" : "n1"}.cpu(64).gpus(1).unschedulable().spec));
  CHECK(w.run_at(10s) == words{first ? "bind due n1" : "bind due n0"});
}

TEST_CASE("who runs beyond what his virtual cluster is due is opportunistic where he is", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 2, 2);
  w.queue("a", 2);
  w.queue("b", 2);
  for (const char* const name : {"a0", "a1"}) w.add(w.of(name, "a", 1).on(w.node("n0")));
  w.add(w.of("b0", "b", 1, 1).on(w.node("n1")));
  w.add(w.of("a2", "a", 1).on(w.node("n1")));
  w.ask("due", "b", 1);
  CHECK(sorted(w.run()) == words{"evict a2 n1", "nominate due n1"});
}

TEST_CASE("a running pod that asks for other devices has other cells", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 2);
  w.queue("a", 2);
  w.ask("one", "a", 2);
  REQUIRE(w.run(true) == words{"bind one n0"});
  w.must(w.cluster.update_pod(w.pod("one"), w.of("one", "a", 1).on(w.node("n0")).spec));
  w.ask("two", "a", 1);
  CHECK(w.run_at(60s) == words{"bind two n0"});
}

TEST_CASE("a pod on a node with fewer devices than it has is on all of them", "[engine][hived]") {
  cells_world w;
  w.nodes("n", 1, 4);
  w.queue("a", 2);
  w.queue("b", 2);
  w.ask("lent", "b", 4, -1);
  REQUIRE(w.run(true) == words{"bind lent n0"});
  w.must(w.cluster.update_node(w.node("n0"), a_node{"n0"}.cpu(64).gpus(2).spec));
  w.ask("due", "a", 1);
  CHECK(sorted(w.run_at(60s)) == words{"evict lent n0", "nominate due n0"});
}

TEST_CASE("a pod whose node has no devices for a while is on them again afterwards", "[engine][hived]") {
  const auto said = [](bool away) {
    cells_world w;
    w.nodes("n", 2, 4);
    w.queue("a", 4);
    w.queue("b", 4);
    w.add(w.of("one", "a", 4).on(w.node("n0")));
    w.ask("other", "b", 1);
    CHECK(w.run(true) == words{"bind other n1"});
    if (away) w.must(w.cluster.update_node(w.node("n0"), a_node{"n0"}.cpu(64)));
    w.ask("third", "b", 1);  // without these devices the queues are due more than there is
    CHECK(w.run(true) == words{away ? "reject third" : "bind third n1"});
    if (away) w.must(w.cluster.update_node(w.node("n0"), a_node{"n0"}.cpu(64).gpus(4)));
    w.now = 10s;
    CHECK(w.run(true) == (away ? words{"bind third n1"} : words{}));
    w.ask("beyond", "a", 1);
    w.ask("lent", "a", 1, -1);
    return w.run_at(20s);
  };
  CHECK(said(true) == said(false));
}

TEST_CASE("HiveD's own configuration is the plugin's argument", "[engine][hived]") {
  using fields = argument::fields;
  using list = argument::list;
  const auto types =
      fields{{"SOCKET", fields{{"childCellType", "GPU"}, {"childCellNumber", 2}}},
             {"NODE", fields{{"childCellType", "SOCKET"}, {"childCellNumber", 2}, {"isNodeLevel", true}}},
             {"RACK", fields{{"childCellType", "NODE"}, {"childCellNumber", 2}}}};
  const auto rack = fields{{"cellType", "RACK"},
                           {"cellChildren", list{fields{{"cellAddress", "n0"}}, fields{{"cellAddress", "n1"}}}}};
  const auto vision = fields{{"virtualCells", list{fields{{"cellType", "RACK.NODE"}, {"cellNumber", 1}}}}};
  const auto speech = fields{{"virtualCells", list{fields{{"cellType", "RACK.NODE.SOCKET"}, {"cellNumber", 1}}}}};
  const auto all = [&](const fields& clusters) {
    return argument{fields{{"physicalCluster", fields{{"cellTypes", types}, {"physicalCells", list{rack}}}},
                           {"virtualClusters", clusters}}};
  };
  const plugin_registry plugins = builtin_plugins();
  runtime_profile made{plugins};
  made.enable("HiveD", 0, all({{"vision", vision}, {"speech", speech}})).enable("PrioritySort");
  made.enable("NodeResourcesFit").enable("GangScheduling");
  world w{world::must(made.table())};
  for (const char* name : {"n0", "n1"}) w.add(a_node{name}.cpu(64).gpus(4));
  for (const char* name : {"vision", "speech", "stranger"}) w.must(w.cluster.queues().add({.name = name}));
  const auto ask = [&](const char* name, const char* queue, std::int64_t gpus) {
    a_pod one{name};
    one.gpus(gpus).spec.queue = queue;
    w.add(one);
  };
  ask("large", "vision", 4);
  ask("small", "speech", 2);
  ask("second", "speech", 2);
  ask("lost", "stranger", 1);
  const words said = sorted(w.run());
  CHECK(said.size() == 4);
  CHECK(std::ranges::count(said, "reject lost") == 1);
  CHECK(std::ranges::count(said, "reject second") == 1);

  const auto wrong = [&](const argument& args) { return hived_policy::from(args).error().message(); };
  CHECK(
      wrong(all({{"vision", fields{{"virtualCells", list{fields{{"cellType", "RACK.GPU"}}}}}}})).find("not made of") !=
      std::string::npos);
  CHECK(wrong(all({{"vision", vision}, {"speech", vision}, {"third", speech}})).find("third") != std::string::npos);
  CHECK(wrong(fields{{"gpu", ""}}).find("gpu") != std::string::npos);
  CHECK(wrong(fields{{"cells", 1}}).find("args.cells") != std::string::npos);
  CHECK(wrong(fields{{"virtualClusters", fields{}}}).find("physicalCluster") != std::string::npos);
}

}  // namespace gangsched::testing::hived_test
