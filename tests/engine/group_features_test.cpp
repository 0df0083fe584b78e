// What groups can say beyond Kubernetes: elastic gangs, ranks, slices and spreading, dependencies, affinity between groups, search.
#include "world.hpp"

#include <map>
#include <tuple>

namespace gangsched::testing::group_features_test {

namespace {

group_spec a_group(const std::string& name, std::int32_t min_count, group_topology topology = {}) {
  group_spec made{.name = name, .policy = gang{.min_count = min_count}};
  made.topology = std::move(topology);
  return made;
}
void add_members(world& w, group_id group, const std::string& name, int count, std::int64_t cores = 1,
                 bool ranked = false) {
  // Ranked members arrive last first.
  for (int i = 0; i < count; ++i) {
    const int rank = ranked ? count - 1 - i : i;
    a_pod pod{name + std::to_string(rank)};
    pod.cpu(cores).in(group);
    if (ranked) pod.spec.rank = rank;
    w.add(pod);
  }
}
/// The nodes of "p0", "p1", …; "-" for none.
words nodes_of(const world& w, const std::string& name, int count) {
  words all;
  for (int i = 0; i < count; ++i) {
    const node_id node = w.cluster.node_of(w.pod(name + std::to_string(i)));
    all.push_back(node ? std::string{w.cluster.name_of(node)} : "-");
  }
  return all;
}
int placed(const words& nodes) {
  return static_cast<int>(nodes.size() - static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), "-")));
}
a_node in_rack(const std::string& name, std::int64_t cores) {
  return a_node{name}.cpu(cores).label("rack", name.substr(0, 1));
}

}  // namespace

TEST_CASE("an elastic gang grows to its maximum, and further when that is raised", "[engine][group][elastic]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  group_spec spec = a_group("g", 2);
  std::get<gang>(spec.policy).max_count = 3;
  const group_id group = w.add(spec);
  add_members(w, group, "p", 6);
  w.run(true);
  CHECK(placed(nodes_of(w, "p", 6)) == 3);
  CHECK(w.run_at(1h).empty());  // who waits for the maximum only is not tried
  std::get<gang>(spec.policy).max_count = 5;
  w.must(w.cluster.update_group(group, spec));
  w.run_at(2h);
  CHECK(placed(nodes_of(w, "p", 6)) == 5);
  w.remove(w.pod("p0"));
  w.run_at(3h);
  CHECK(w.cluster.node_of(w.pod("p5")));
}

TEST_CASE("members are close to their neighbours in rank, in whatever order they come", "[engine][group][rank]") {
  world w;
  // Rack by rack, although the nodes came mixed.
  for (const char* name : {"b1", "a1", "b2", "a2"}) w.add(in_rack(name, 2).label("zone", "z"));
  add_members(w, w.add(a_group("g", 8, {.within = {"rack", "zone"}})), "p", 8, 1, true);
  w.run();
  CHECK(nodes_of(w, "p", 8) == words{"a1", "a1", "a2", "a2", "b1", "b1", "b2", "b2"});
}

TEST_CASE("ranks are in order inside the rack of a group of a tree", "[engine][group][rank][tree]") {
  world w;
  for (const char* name : {"a1", "a2", "b1", "b2"}) w.add(in_rack(name, 2));
  group_spec root = a_group("root", 2);
  root.composite = true;
  const group_id tree = w.add(root);
  for (const char* name : {"x", "y"}) {
    group_spec leaf = a_group(name, 4, {.within = {"rack"}});
    leaf.parent = tree;
    add_members(w, w.add(leaf), name, 4, 1, true);
  }
  w.run();
  const words x = nodes_of(w, "x", 4), y = nodes_of(w, "y", 4);
  const words a{"a1", "a1", "a2", "a2"}, b{"b1", "b1", "b2", "b2"};
  CHECK(((x == a && y == b) || (x == b && y == a)));
}

TEST_CASE("a short last slice does not tear the others apart when ranks are put in order",
          "[engine][group][rank][slices]") {
  world w;
  w.add(in_rack("a1", 1)), w.add(in_rack("b1", 2)), w.add(in_rack("c1", 2));
  add_members(w, w.add(a_group("g", 5, {.slices = {{"rack", 2}}})), "p", 5, 1, true);
  w.run();
  CHECK(nodes_of(w, "p", 5) == words{"b1", "b1", "c1", "c1", "a1"});
}

TEST_CASE("at most so many members are in one rack, also those that run and those that are searched for",
          "[engine][group][spread]") {
  const bool mixed = GENERATE(false, true);
  world w;
  w.add(in_rack("a1", 9)), w.add(in_rack("b1", 9)), w.add(in_rack("c1", mixed ? 1 : 9)), w.add(a_node{"loose"}.cpu(9));
  const group_id group = w.add(a_group("g", mixed ? 6 : 5, {.spread_key = "rack", .spread_most = 2}));
  if (!mixed) {
    w.add(a_pod{"old"}.cpu(1).in(group).on(w.node("a1")));
    add_members(w, group, "p", 5);
    w.run();
    std::map<std::string, int> count;
    for (const std::string& node : nodes_of(w, "p", 5)) ++count[node];
    CHECK(count == std::map<std::string, int>{{"a1", 1}, {"b1", 2}, {"c1", 2}});
  } else {
    // Two of each kind; a rack takes two, the third one only a small one: five at most.
    for (const int size : {1, 2, 3}) add_members(w, group, "p" + std::to_string(size), 2, size);
    w.run();
    CHECK(w.cluster.assumed().empty());
    w.must(w.cluster.update_group(group, a_group("g", 5, {.spread_key = "rack", .spread_most = 2})));
    w.run_at(1h);
    CHECK(w.cluster.assumed().size() == 5);
  }
}

TEST_CASE("the rest of a gang may go to another rack when the member that fixed it has left",
          "[engine][group][topology]") {
  const bool in_tree = GENERATE(false, true);
  scheduler_options options = world::lowest_first();
  options.wake = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  world w{profiles::kube_default(), options};
  const node_id small = w.add(in_rack("a1", 2));
  w.add(in_rack("b1", 4));
  group_spec spec = a_group("g", 1, {.within = {"rack"}});
  if (in_tree) {
    spec.parent = w.add(group_spec{.name = "tree",
                                   .policy = gang{.min_count = 1},
                                   .composite = true,
                                   .topology = std::exchange(spec.topology, {})});
  }
  const group_id group = w.add(spec);
  const pod_id first = w.add(a_pod{"p0"}.cpu(1).in(group).on(small));
  w.add(a_pod{"p1"}.cpu(3).in(group));
  w.run();
  CHECK(nodes_of(w, "p", 2) == words{"a1", "-"});
  w.remove(first);
  CHECK(w.run_at(20s) == words{"bind p1 b1"});
}

TEST_CASE("who comes to a gang that runs goes to the next level, or anywhere, if its rack is full",
          "[engine][group][topology]") {
  const bool of_any_size = GENERATE(false, true), anywhere = GENERATE(false, true), in_tree = GENERATE(false, true);
  world w;
  for (const char* name : {"a1", "b1"}) w.add(in_rack(name, 2).label("zone", "z"));
  group_spec spec = a_group(
      "g", 1,
      anywhere ? group_topology{.within = {"rack"}, .or_anywhere = true} : group_topology{.within = {"rack", "zone"}});
  if (of_any_size) spec.policy = gangsched::basic{};
  if (in_tree) spec.parent = w.add(group_spec{.name = "tree", .policy = gang{.min_count = 1}, .composite = true});
  add_members(w, w.add(spec), "p", 2, 2);
  w.run();
  CHECK(placed(nodes_of(w, "p", 2)) == 2);
}

TEST_CASE("above a minimum that holds a part is searched for completely, too", "[engine][group][search]") {
  const bool slices = GENERATE(false, true);
  world w;
  for (const char* name : {"a1", "b2", "c2"}) w.add(in_rack(name, name[1] - '0').label("zone", "z"));
  group_spec spec = a_group("g", 1);
  if (slices) spec.topology.slices = {{"zone", 2}};
  group_id tree;
  if (!slices)
    spec.parent = tree = w.add(group_spec{.name = "tree", .policy = gang{.min_count = 1}, .composite = true});
  const group_id first = w.add(spec);
  w.add(a_pod{"q0"}.cpu(1).in(first).on(w.node("c2")));
  if (slices) w.add(a_pod{"q1"}.cpu(1).in(first).on(w.node("c2")));
  if (!slices) w.add(a_pod{"full"}.cpu(1).on(w.node("c2")));
  const group_id second = slices ? first : w.add([&] {
    group_spec other = a_group("h", 2);
    other.parent = tree;
    return other;
  }());
  // The small one takes the better half of b2 if it is asked first.
  w.add(a_pod{"p0"}.cpu(1).in(second));
  w.add(a_pod{"p1"}.cpu(2).in(second));
  w.run();
  CHECK(nodes_of(w, "p", 2) == words{"a1", "b2"});
}

TEST_CASE("a group starts after another one runs, or is done, or is gone", "[engine][group][dependency]") {
  const int how = GENERATE(0, 1, 2);
  world w;
  w.add(a_node{"n"}.cpu(9));
  group_spec first = a_group("first", 2);
  const group_id before = w.add(first);
  group_spec next = a_group("next", 1);
  next.start_after = {{.on = before, .until = how == 0 ? dependency_state::running : dependency_state::done}};
  add_members(w, w.add(next), "n", 1);
  CHECK(w.run().empty());
  add_members(w, before, "f", 2);
  CHECK(w.run().size() == 2);
  CHECK(placed(nodes_of(w, "n", 1)) == 0);  // decided is not running yet
  for (const char* name : {"f0", "f1"}) w.confirm(w.pod(name));
  CHECK(w.run().size() == (how == 0 ? 1 : 0));
  if (how == 1) first.done = true, w.must(w.cluster.update_group(before, first));
  if (how == 2) w.remove(w.pod("f0")), w.remove(w.pod("f1")), w.must(w.cluster.remove_group(before));
  w.run_at(1h);
  CHECK(placed(nodes_of(w, "n", 1)) == 1);
}

TEST_CASE("a group goes where another one is, or where it is not", "[engine][group][affinity]") {
  const bool apart = GENERATE(false, true);
  world w;
  for (const char* name : {"a1", "b1", "c1"}) w.add(in_rack(name, 3));
  const group_id other = w.add(a_group("other", 2, {.within = {"rack"}}));
  group_spec spec = a_group("g", 2);
  spec.affinity = {{.to = other, .key = "rack", .apart = apart}};
  add_members(w, other, "o", 2);
  add_members(w, w.add(spec), "p", 2);
  w.run();
  const std::string theirs = nodes_of(w, "o", 1)[0];
  // One core is left beside them: not enough for two.
  CHECK(placed(nodes_of(w, "p", 2)) == (apart ? 2 : 0));
  for (const std::string& node : nodes_of(w, "p", 2)) CHECK((node == "-" || node != theirs));
  w.must(w.cluster.update_node(w.node(theirs), in_rack(theirs, 4)));
  w.run_at(1h);
  if (!apart) CHECK(nodes_of(w, "p", 2) == words{theirs, theirs});
}

TEST_CASE("the search finds what one after another does not, and says when there is nothing",
          "[engine][group][search]") {
  const std::uint64_t budget = GENERATE(as<std::uint64_t>{}, 0, 1, 10'000);
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .search_budget = budget}};
  w.add(a_node{"n1"}.cpu(4)), w.add(a_node{"n2"}.cpu(4));
  // The small one comes first and goes where the large ones need all there is.
  const group_id group = w.add(a_group("g", 4));
  add_members(w, group, "s", 2, 2), add_members(w, group, "m", 1, 3), add_members(w, group, "t", 1, 1);
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 4);
  const decision& one = done.decisions()[0];
  CHECK((one.kind == decision_kind::bind) == (budget == 10'000));
  if (budget == 1)
    CHECK(std::string{one.reason} == "no place was found for the group's minimum within the search budget");
  if (budget == 0) CHECK(w.scheduler.statistics().search_steps == 0);
  if (budget != 10'000) return;
  add_members(w, w.add(a_group("h", 2)), "h", 2, 1);
  w.add(a_pod{"h2"}.cpu(2).in(*w.cluster.find_group("default", "h")));
  const cycle none = w.scheduler.schedule_cycle(w.now);
  REQUIRE(none.decisions().size() == 3);
  CHECK(std::string{none.decisions()[0].reason} == "there is no place for the group's minimum");
}

TEST_CASE("a level of its topology that only the search can use comes before the next level",
          "[engine][group][search]") {
  const std::uint64_t budget = GENERATE(as<std::uint64_t>{}, 0, 10'000);
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .search_budget = budget}};
  w.add(in_rack("a1", 4).zone("z")), w.add(in_rack("a2", 4).zone("z")), w.add(in_rack("c1", 3).zone("z"));
  const group_id group = w.add(a_group("g", 4, {.within = {"rack", "topology.kubernetes.io/zone"}}));
  add_members(w, group, "s", 2, 2), add_members(w, group, "m", 1, 3), add_members(w, group, "t", 1, 1);
  w.run();
  CHECK(nodes_of(w, "m", 1) == words{budget == 0 ? "c1" : "a2"});
}

TEST_CASE("what the search finds is in order of rank, too", "[engine][group][rank][search]") {
  world w;
  for (const char* name : {"b1", "a1", "b2", "a2"}) w.add(in_rack(name, 4).label("zone", "z"));
  const bool tree = GENERATE(false, true);
  group_id parent{};
  if (tree)
    parent = w.add(group_spec{
        .name = "tree", .policy = gang{.min_count = 1}, .composite = true, .topology = {.within = {"rack", "zone"}}});
  group_spec spec = a_group("g", 8);
  if (!tree) spec.topology.within = {"rack", "zone"};
  spec.parent = parent;
  const group_id group = w.add(spec);
  int rank = 0;
  for (const auto& [name, count, cores] : {std::tuple{"s", 4, 2}, std::tuple{"m", 2, 3}, std::tuple{"t", 2, 1}}) {
    for (int i = 0; i < count; ++i) {
      a_pod pod{name + std::to_string(i)};
      pod.cpu(cores).in(group).spec.rank = rank++;
      w.add(pod);
    }
  }
  w.run();
  CHECK(w.scheduler.statistics().search_steps > 0);
  CHECK(nodes_of(w, "s", 4) == words{"a1", "a1", "b1", "b1"});
  CHECK(nodes_of(w, "m", 2) == words{"a2", "b2"});
  CHECK(nodes_of(w, "t", 2) == words{"a2", "b2"});
}

TEST_CASE(
    "a refusal is called proved if all orders of members were tried, and not for a tree whose parts mind each other",
    "[engine][group][search]") {
  const bool tree = GENERATE(false, true);
  world w;
  w.add(a_node{"n1"}.cpu(1).label("zone", "a"));
  group_spec whole = a_group("g", 2);
  whole.composite = tree;
  const group_id group = w.add(whole);
  // Never two of them in one zone, and there is one zone.
  for (const char* name : {"p0", "p1"}) {
    group_spec part = a_group(std::string{"g-"} + name, 1);
    part.parent = group;
    w.add(a_pod{name}.cpu(1).label("app", "g").avoid("app", "g", "zone").in(tree ? w.add(part) : group));
  }
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 2);
  CHECK(std::string{done.decisions()[0].reason} ==
        (tree ? "no place was found for the group's minimum in the orders of its members that were tried"
              : "there is no place for the group's minimum"));
}

TEST_CASE("members spread over zones by their own constraints are placed though the nodes come zone by zone",
          "[engine][group][search]") {
  world w;
  for (const char* name : {"a1", "a2", "b1", "b2"}) w.add(a_node{name}.cpu(2).label("zone", std::string(1, *name)));
  const group_id group = w.add(a_group("g", 4));
  for (const char* name : {"p0", "p1", "p2", "p3"}) {
    a_pod pod{name};
    pod.cpu(name[1] == '3' ? 1 : 2).label("app", "g").in(group);
    topology_spread spread{.topology_key = "zone", .max_skew = 1};
    spread.selector = label_selector{.match_labels = {{"app", "g"}}};
    pod.spec.topology_spread_constraints = {spread};
    w.add(pod);
  }
  w.run();
  CHECK(placed(nodes_of(w, "p", 4)) == 4);
}

TEST_CASE("a group that starts after a removed one starts when that one is gone with its last member",
          "[engine][group][dependency]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id before = w.add(a_group("before", 1));
  add_members(w, before, "a", 1);
  group_spec spec = a_group("after", 1);
  spec.start_after = {{.on = before, .until = dependency_state::done}};
  add_members(w, w.add(spec), "b", 1);
  w.run(true);
  CHECK(placed(nodes_of(w, "b", 1)) == 0);
  w.must(w.cluster.remove_group(before));
  CHECK(w.run().empty());
  w.remove(w.pod("a0"));
  w.run();
  CHECK(placed(nodes_of(w, "b", 1)) == 1);
}

TEST_CASE("planned members are in no domain that one of the group that runs is not in, also if that has none",
          "[engine][group][plan]") {
  const domain_choice choice = GENERATE(domain_choice::scored, domain_choice::best_fit, domain_choice::balanced);
  const bool zone = GENERATE(false, true);
  world w;
  const node_id bare = w.add(zone ? a_node{"bare"}.cpu(1).label("zone", "z") : a_node{"bare"}.cpu(1));
  w.add(in_rack("b", 4).label("zone", "other")), w.add(in_rack("c", 8).label("zone", "z"));
  group_topology where{.within = {"rack"}, .choice = choice};
  if (zone) where.within.push_back("zone");
  const group_id gang = w.add(a_group("g", 2, where));
  w.add(a_pod{"there"}.cpu(1).in(gang).on(bare));
  add_members(w, gang, "p", 2);
  w.cycle();
  CHECK(nodes_of(w, "p", 2) == (zone ? words{"c", "c"} : words{"-", "-"}));
}

TEST_CASE("a planned gang in slices gets a replacement for one member", "[engine][group][slices]") {
  world w;
  w.add(in_rack("a1", 4)), w.add(in_rack("b1", 4));
  const group_id gang = w.add(a_group("g", 4, {.slices = {{"rack", 2}}, .choice = domain_choice::best_fit}));
  add_members(w, gang, "p", 4);
  w.run(true);
  REQUIRE(placed(nodes_of(w, "p", 4)) == 4);
  w.remove(w.pod("p1"));
  w.add(a_pod{"late"}.cpu(1).in(gang));
  w.run();
  CHECK(w.cluster.node_of(w.pod("late")));
}

TEST_CASE("a member that replaces one of a slice goes beside the others of it, or waits", "[engine][group][slices]") {
  const domain_choice choice = GENERATE(domain_choice::scored, domain_choice::best_fit);
  const bool ranked = GENERATE(false, true);
  world w;
  w.add(in_rack("a1", 3)), w.add(in_rack("b1", 3)),
      w.add(in_rack("c1", 1));  // c has the least room that suffices for one
  const group_id gang = w.add(a_group("g", 3, {.slices = {{"rack", 2}}, .choice = choice}));
  add_members(w, gang, "p", 4, 1, ranked);
  w.run(true);
  const words before = nodes_of(w, "p", 4);
  REQUIRE(placed(before) == 4);
  const auto again = [&](int which) {
    a_pod made{"new" + std::to_string(which)};
    if (ranked) made.spec.rank = which;
    w.add(made.cpu(1).in(gang));
  };
  const auto on = [&](const char* name) {
    const node_id node = w.cluster.node_of(w.pod(name));
    return node ? std::string{w.cluster.name_of(node)} : "-";
  };
  SECTION("of one slice") {
    w.remove(w.pod("p1"));
    again(1);
    w.run();
    CHECK(on("new1") == before[1]);
  }
  SECTION("of two slices, of which one has no room any more") {
    const node_id full = w.cluster.node_of(w.pod("p2"));
    REQUIRE(before[1] != before[2]);
    w.remove(w.pod("p1")), w.remove(w.pod("p2"));
    w.add(a_pod{"other"}.cpu(2).on(full));
    again(2), again(1);
    w.run();
    CHECK((on("new1") == "-") != (on("new2") == "-"));
    CHECK((on("new1") == before[1] || on("new2") == before[1]));
    if (ranked) CHECK(on("new1") == before[1]);
  }
  SECTION("one that leaves does not count") {
    w.must(w.cluster.set_terminating(w.pod("p1")));
    again(1);
    w.run();
    CHECK(on("new1") == before[1]);
  }
}

TEST_CASE("members that complete slices stay beside their neighbours in rank", "[engine][group][slices][rank]") {
  world w;
  const node_id a = w.add(in_rack("a1", 3)), b = w.add(in_rack("b1", 3));
  const group_id gang = w.add(a_group("g", 4, {.slices = {{"rack", 2}}}));
  const auto member = [&](int rank, node_id on) {
    a_pod made{"p" + std::to_string(rank)};
    made.spec.rank = rank;
    w.add(made.cpu(1).in(gang).on(on));
  };
  member(0, b), member(3, a), member(2, {}), member(1, {});  // the first ranks are in the second rack
  w.run();
  CHECK(nodes_of(w, "p", 4) == words{"b1", "b1", "a1", "a1"});
}

TEST_CASE("of two slices in one domain each is completed by the members that are in it by rank",
          "[engine][group][slices][rank]") {
  const domain_choice choice = GENERATE(domain_choice::scored, domain_choice::best_fit);
  const int first_rank = GENERATE(0, 1);
  const bool both_at_once = GENERATE(true, false);
  world w;
  w.add(in_rack("a1", 4));
  const group_id gang = w.add(a_group("g", 2, {.slices = {{"rack", 2}}, .choice = choice}));
  const auto member = [&](int which) {
    a_pod made{"p" + std::to_string(which)};
    made.spec.rank = which + first_rank;
    w.add(made.cpu(1).in(gang));
  };
  for (int i = 0; i < 4; ++i) member(i);
  w.run(true);
  REQUIRE(placed(nodes_of(w, "p", 4)) == 4);
  w.add(in_rack("b1", 2));  // the least room that suffices for a slice
  w.remove(w.pod("p0")), w.remove(w.pod("p3"));
  w.add(a_pod{"other"}.cpu(1).on(w.node("a1")));
  member(0);
  if (!both_at_once) w.run(true);
  member(3);
  w.run(true);
  CHECK(nodes_of(w, "p", 4) == words{"a1", "a1", "a1", "-"});
  w.remove(w.pod("other"));
  w.run_at(20s);
  CHECK(nodes_of(w, "p", 4) == words(4, "a1"));
}

TEST_CASE("a slice within a slice is completed, too", "[engine][group][slices]") {
  world w;
  for (const char* name : {"a1", "a2", "b1", "b2"}) w.add(in_rack(name, 3).label("host", name));
  const group_id gang = w.add(a_group("g", 4, {.slices = {{"rack", 4}, {"host", 2}}}));
  add_members(w, gang, "p", 4);
  w.run(true);
  const words before = nodes_of(w, "p", 4);
  REQUIRE(placed(before) == 4);
  w.remove(w.pod("p0")), w.remove(w.pod("p2"));
  REQUIRE(before[0] != before[2]);
  add_members(w, gang, "q", 2);
  w.run();
  words after = nodes_of(w, "q", 2);
  std::sort(after.begin(), after.end());
  CHECK(after == words{std::min(before[0], before[2]), std::max(before[0], before[2])});
}

TEST_CASE("the search ends, whatever the shape of the tree", "[engine][group][search][tree]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(40));
  group_spec root = a_group("root", 30);
  root.composite = true;
  const group_id tree = w.add(root);
  for (int i = 0; i < 60; ++i) {
    group_spec leaf = a_group("leaf" + std::to_string(i), 1);
    leaf.parent = tree;
    a_pod member{"p" + std::to_string(i)};
    member.cpu(i < 29 ? 1 : 30).in(w.add(leaf));
    w.add(i < 29 ? member.on(n) : member);
  }
  CHECK(w.run().size() == 31);  // nobody is placed, everybody is told
  CHECK(w.scheduler.statistics().search_steps <= scheduler_options{}.search_budget);
}

TEST_CASE("balanced plans do not depend on how much more room there is than members", "[engine][group][plan]") {
  world w;
  for (int i = 0; i < 60; ++i) w.add(in_rack((i % 2 == 0 ? "a" : "b") + std::to_string(i), 4000));
  const group_id gang =
      w.add(a_group("g", 3000, {.within = {"rack"}, .or_anywhere = true, .choice = domain_choice::balanced}));
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("p" + std::to_string(i));
  w.must(w.cluster.add_pods(a_pod{"p"}.cpu(1).in(gang), names));
  w.run();
  CHECK(placed(nodes_of(w, "p", 3000)) == 3000);
}

}  // namespace gangsched::testing::group_features_test
