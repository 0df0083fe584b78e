// kube-scheduler's pod groups as of 1.37 (KEP-5732, 6012, 5598), behaviours numbered B38 and on: topology, hierarchy, batching.
#include "support/inside.hpp"
#include "world.hpp"

#include <map>

namespace gangsched::testing::workload_trees_test {

namespace {

words members(const std::string& name, int count) {
  words all;
  for (int i = 0; i < count; ++i) all.push_back(name + std::to_string(i));
  return all;
}
void add_members(world& w, group_id gang, const std::string& name, int count, std::int64_t cores = 1) {
  for (const std::string& one : members(name, count)) w.add(a_pod{one}.cpu(cores).in(gang));
}
group_spec a_tree(const std::string& name, std::int32_t min_groups, group_id parent = {}) {
  return {.name = name, .policy = gang{.min_count = min_groups}, .composite = true, .parent = parent};
}
group_spec a_leaf(const std::string& name, std::int32_t min_count, group_id parent,
                  std::vector<std::string> within = {}) {
  group_spec made{.name = name, .policy = gang{.min_count = min_count}, .parent = parent};
  made.topology.within = std::move(within);
  return made;
}
/// Those of @p names that have a node.
words placed(const world& w, const words& names) {
  words all;
  for (const std::string& name : names) {
    if (w.cluster.node_of(w.pod(name))) all.push_back(name);
  }
  return all;
}
/// The racks (first letters of node names) that they are on.
std::string racks(const world& w, const words& names) {
  std::string all;
  for (const std::string& name : names) {
    const node_id node = w.cluster.node_of(w.pod(name));
    if (!node) continue;
    const char rack = w.cluster.name_of(node).front();
    if (all.find(rack) == std::string::npos) all += rack;
  }
  std::sort(all.begin(), all.end());
  return all;
}
a_node in_rack(const std::string& name, std::int64_t cores) {
  return a_node{name}.cpu(cores).label("rack", std::string(1, name.front()));
}

struct pools {
  static constexpr std::string_view name = "Pools";
  using points = implements<point::generate_placements>;
  [[nodiscard]] status generate_placements(const group_view&, const cluster_view&, const placement_sink& sink) const {
    sink({.each_of = "pool", .only = "a"});
    return status::success();
  }
};

}  // namespace

TEST_CASE("B38: the fullest rack that fits is taken, and a gang is never split", "[workloads][topology]") {
  world w;
  // 2, 3 and 5 cores are free.
  w.add(in_rack("a1", 2));
  w.add(in_rack("b1", 2)), w.add(in_rack("b2", 1));
  w.add(in_rack("c1", 3)), w.add(in_rack("c2", 2));
  for (const char* name : {"g", "h", "i"}) add_members(w, w.add(a_gang{name, 3}.topology("rack")), name, 3);
  w.run();
  CHECK(racks(w, members("g", 3)) == "b");
  CHECK(racks(w, members("h", 3)) == "c");
  CHECK(placed(w, members("i", 3)).empty());  // 2 + 2 are left, in two racks
}

TEST_CASE("B39: members that run decide the rack; those on two racks are an error of the group, until they share one",
          "[workloads][topology]") {
  world w;
  const node_id a = w.add(in_rack("a1", 2)), b = w.add(in_rack("b1", 9));
  const group_id gang = w.add(a_gang{"g", 3}.topology("rack"));
  w.add(a_pod{"old"}.cpu(1).in(gang).on(a));
  add_members(w, gang, "g", 2);
  CHECK(w.run().size() == 2);
  CHECK(placed(w, members("g", 2)).empty());  // 1 + 1 < 3, however much rack b has
  const group_id small = w.add(a_gang{"h", 1}.topology("rack"));
  w.add(a_pod{"older"}.cpu(1).in(small).on(b));
  add_members(w, small, "h", 2);
  w.run();
  CHECK(racks(w, members("h", 2)) == "b");
  const group_id split = w.add(a_gang{"i", 1}.topology("rack"));
  w.add(a_pod{"here"}.in(split).on(a)), w.add(a_pod{"there"}.in(split).on(b));
  add_members(w, split, "i", 1);
  REQUIRE(w.cycle() == words{"reject g0", "reject g1"});  // it is older, and there is room somewhere
  const cycle done = w.scheduler.schedule_cycle(w.now);
  CHECK(done.error() == nullptr);  // no plugin is to blame: others placed them there
  REQUIRE(w.said(done.decisions()) == words{"reject i0"});
  CHECK(done.begin()->code == code::error);  // as Kubernetes says
  CHECK(std::string{done.begin()->reason} == "more than 1 domain found for the pod group");
  w.remove(w.pod("there"));
  w.must(w.cluster.update_node(a, in_rack("a1", 9)));
  CHECK(sorted(w.run_at(10s)) ==
        words{"bind g0 a1", "bind g1 a1", "bind i0 a1"});  // the first gang needed room on rack a, too
}

TEST_CASE("B40: nodes without the label are for groups without a key only", "[workloads][topology]") {
  world w;
  w.add(a_node{"loose1"}.cpu(3)), w.add(a_node{"loose2"}.cpu(3));
  w.add(in_rack("a1", 1));
  add_members(w, w.add(a_gang{"g", 2}.topology("rack")), "g", 2);
  add_members(w, w.add(a_gang{"h", 7}), "h", 7);
  w.run();
  CHECK(placed(w, members("g", 2)).empty());
  CHECK(placed(w, members("h", 7)).size() == 7);
}

TEST_CASE("B41: of two generators only placements that meet are candidates", "[workloads][topology]") {
  kernel_table table = profiles::kube_default();
  add_plugin(table, lower(pools{}));
  world w{std::move(table)};
  w.add(in_rack("a1", 9).label("pool", "b"));
  w.add(in_rack("b1", 9).label("pool", "a"));
  w.add(in_rack("c1", 9).label("pool", "b"));
  w.add(in_rack("c2", 2).label("pool", "a"));
  add_members(w, w.add(a_gang{"g", 3}.topology("rack")), "g", 3);
  add_members(w, w.add(a_gang{"h", 7}.topology("rack")), "h", 7);
  w.run();
  CHECK(racks(w, members("g", 3)) == "b");
  CHECK(placed(w, members("h", 7)).empty());
}

TEST_CASE("B42: of equally used racks the one that takes more members", "[workloads][topology]") {
  world w;
  w.add(in_rack("a1", 3));
  w.add(in_rack("b1", 5));
  add_members(w, w.add(a_gang{"g", 3}.topology("rack")), "g", 5);
  w.run();
  CHECK(racks(w, members("g", 5)) == "b");
  CHECK(placed(w, members("g", 5)).size() == 5);
}

TEST_CASE("B43: of three groups two fit: with a minimum of two they start, with three nobody does",
          "[workloads][tree]") {
  const int least = GENERATE(2, 3);
  world w;
  w.add(a_node{"n"}.cpu(4));
  const group_id root = w.add(a_tree("root", least));
  for (const char* name : {"p", "q", "r"}) add_members(w, w.add(a_leaf(name, 2, root)), name, 2);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  const cycle done = w.scheduler.schedule_cycle(w.now);
  CHECK(done.decisions().size() == 6);
  for (const decision& one : done) {
    const bool third = w.cluster.name_of(one.pod).front() == 'r';
    CHECK(one.kind == (least == 3 || third ? decision_kind::reject : decision_kind::bind));
  }
  if (least == 3)
    CHECK(inside(w.cluster).digest_with_derived() == before);
  else
    CHECK(placed(w, members("r", 2)).empty());
}

TEST_CASE("B44: a zone is chosen whose racks have room for all groups", "[workloads][tree]") {
  world w;
  const auto node = [&](const std::string& name, const char* zone, std::int64_t cores) {
    w.add(in_rack(name, cores).zone(zone));
  };
  node("a1", "A", 2), node("b1", "A", 1), node("c1", "B", 2), node("d1", "B", 2);
  group_spec tree = a_tree("root", 2);
  tree.topology.within = {"topology.kubernetes.io/zone"};
  const group_id root = w.add(tree);
  for (const char* name : {"x", "y"}) add_members(w, w.add(a_leaf(name, 2, root, {"rack"})), name, 2);
  w.run();
  CHECK(racks(w, {"x0", "x1"}).size() == 1);
  CHECK(racks(w, {"y0", "y1"}).size() == 1);
  CHECK(racks(w, {"x0", "x1", "y0", "y1"}) == "cd");
}

TEST_CASE("B44: a rack that lies in two zones is used in one of them only", "[workloads][tree]") {
  world w;
  w.add(in_rack("a1", 1).zone("A")), w.add(in_rack("a2", 1).zone("B"));
  w.add(in_rack("b1", 2).zone("B"));
  group_spec tree = a_tree("root", 1);
  tree.topology.within = {"topology.kubernetes.io/zone"};
  add_members(w, w.add(a_leaf("x", 2, w.add(tree), {"rack"})), "x", 2);
  w.run();
  CHECK(racks(w, {"x0", "x1"}) == "b");
}

TEST_CASE("B45: what a failed group of groups had placed does not stay", "[workloads][tree]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  const group_id root = w.add(a_tree("root", 1));
  const group_id middle = w.add(a_tree("middle", 2, root));
  add_members(w, w.add(a_leaf("fits", 2, middle)), "f", 2);
  add_members(w, w.add(a_leaf("big", 2, middle)), "b", 2, 2);
  add_members(w, w.add(a_leaf("other", 3, root)), "o", 3);
  CHECK(w.cycle().size() == 7);
  CHECK(placed(w, members("f", 2)).empty());
  CHECK(placed(w, members("b", 2)).empty());
  CHECK(placed(w, members("o", 3)).size() == 3);
}

TEST_CASE("B46: below a basic group of groups each gang stands for itself", "[workloads][tree]") {
  const int room = GENERATE(1, 2, 4);
  world w;
  w.add(a_node{"n"}.cpu(room));
  const group_id root = w.add(group_spec{.name = "root", .composite = true});
  for (const char* name : {"p", "q", "r"}) add_members(w, w.add(a_leaf(name, 2, root)), name, 2);
  w.cycle();
  std::size_t whole = 0;
  for (const char* name : {"p", "q", "r"}) {
    const std::size_t some = placed(w, members(name, 2)).size();
    CHECK((some == 0 || some == 2));
    whole += some / 2;
  }
  CHECK(whole == static_cast<std::size_t>(room) / 2);
}

TEST_CASE("B47: pods and groups of a tree may arrive in any order", "[workloads][tree]") {
  std::vector<int> order{0, 1, 2, 3, 4, 5};
  do {
    world w;
    w.add(a_node{"n"}.cpu(9));
    for (const int step : order) {
      CHECK(w.run().empty());
      const auto leaf = [&](const char* name) { return w.must(w.cluster.expect_group("default", name)); };
      const auto inner = [&](const char* name) { return w.must(w.cluster.expect_group("default", name, true)); };
      switch (step) {
        case 0: w.add(a_tree("root", 1)); break;
        case 1: w.add(a_tree("middle", 2, inner("root"))); break;
        case 2: w.add(a_leaf("x", 2, inner("middle"))); break;
        case 3: w.add(a_leaf("y", 1, inner("middle"))); break;
        case 4: add_members(w, leaf("x"), "x", 2); break;
        default: add_members(w, leaf("y"), "y", 1); break;
      }
    }
    CHECK(sorted(w.run()) == words{"bind x0 n", "bind x1 n", "bind y0 n"});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("B48: a tree that makes no sense is refused, and nobody of it is scheduled", "[workloads][tree]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  // Parents in a circle.
  const group_id late = w.must(w.cluster.expect_group("default", "late", true));
  const group_id below = w.add(a_tree("below", 1, late));
  CHECK(w.cluster.add_group(a_tree("late", 1, below)).error().field == "parent");
  add_members(w, w.add(a_leaf("lost", 1, below)), "lost", 1);
  // Five levels.
  group_id up = w.add(a_tree("one", 1));
  for (const char* name : {"two", "three"}) up = w.add(a_tree(name, 1, up));
  CHECK(w.cluster.add_group(a_tree("four", 1, up)).error().field == "parent");
  // Two workloads, and a child that would outlive its parent.
  group_spec other = a_leaf("other", 1, up);
  other.workload = "another";
  CHECK(w.cluster.add_group(other).error().field == "workload");
  group_spec whole = a_tree("whole", 1);
  whole.disruption = disruption_mode::all;
  CHECK(w.cluster.add_group(a_leaf("single", 1, w.add(whole))).error().field == "disruption");
  CHECK(w.run().empty());
  CHECK(placed(w, members("lost", 1)).empty());
}

TEST_CASE("B50: gangs are placed alike with the classes' indexes at work and without them", "[workloads][batching]") {
  const auto decided = [](scheduler_options options, std::uint64_t& builds) {
    options.ties = tie_rule::lowest_row;
    world w{profiles::kube_default(), options};
    for (int i = 0; i < 30; ++i) {
      w.add(a_node{"n" + std::to_string(i)}
                .cpu(4 + i % 3)
                .memory("16Gi")
                .label("rack", "r" + std::to_string(i % 5))
                .label("disk", i % 2 ? "ssd" : "hdd"));
    }
    for (int g = 0; g < 12; ++g) {
      a_gang gang{"g" + std::to_string(g), 3};
      if (g % 3 == 0) gang.topology("rack");
      const group_id id = w.add(gang);
      for (int i = 0; i < 5; ++i) {
        // Two kinds of members, interleaved; label, toleration and requests tell classes apart.
        a_pod pod{"p" + std::to_string(g) + "-" + std::to_string(i)};
        pod.cpu(1 + (g + i) % 2).memory(i % 2 ? "1Gi" : "3Gi").in(id);
        if ((g + i) % 4 == 0) pod.select("disk", "ssd");
        if (g % 5 == 0) pod.tolerate("dedicated");
        w.add(pod);
      }
    }
    words all = w.run(true);
    builds = w.scheduler.statistics().index_builds;
    CHECK(w.scheduler.verify());
    return all;
  };
  std::uint64_t kept = 0, rebuilt = 0, checked = 0;
  const words with = decided({}, kept);
  CHECK(std::count_if(with.begin(), with.end(), [](const std::string& one) { return one.starts_with("bind "); }) > 40);
  CHECK(decided({.indexed_classes = 1}, rebuilt) == with);
  CHECK(decided({.check_hooks = true}, checked) == with);
  CHECK(rebuilt > 2 * kept);
}

TEST_CASE(
    "a part of a tree that cannot be placed as it stands is a rejection, also where somebody could go for the rest",
    "[workloads]") {
  world w;
  w.add(a_node{"n1"}.cpu(4).label("rack", "r1"));
  const node_id beside = w.add(a_node{"n2"}.cpu(2));
  w.add(a_pod{"victim"}.cpu(2).on(w.node("n1")));
  group_spec tree = a_gang{"tree", 2}.priority(30);
  tree.composite = true;
  const group_id root = w.add(tree);
  const auto part = [&](const char* name) {
    group_spec spec = a_gang{name};
    spec.parent = root;
    spec.priority = 30;
    return spec;
  };
  w.add(a_pod{"a"}.cpu(3).priority(30).in(w.add(part("free"))));
  group_spec in_rack = part("in-rack");
  in_rack.topology.within = {"rack"};
  const group_id lost = w.add(in_rack);
  w.add(a_pod{"b"}.cpu(1).priority(30).in(lost).on(beside));  // others bound it, in no rack
  w.add(a_pod{"c"}.cpu(1).priority(30).in(lost));
  CHECK(w.run() == words{"reject a", "reject c"});
}

}  // namespace gangsched::testing::workload_trees_test
