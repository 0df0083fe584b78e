// The group cycle: all or nothing, placements, feasibility. Its hooks and trials are in group_hooks_test.cpp.
#include "support/inside.hpp"
#include "world.hpp"

#include <memory>

namespace gangsched::testing::group_cycle_test {

namespace {

using journal = std::shared_ptr<words>;

/// One placement per value of a label, in order of the first node that has it.
struct by_label {
  static constexpr std::string_view name = "ByLabel";
  using points = implements<point::generate_placements>;
  std::string label_key = "rack";

  [[nodiscard]] status generate_placements(const group_view& group, const cluster_view& cluster,
                                           const placement_sink& sink) const {
    if (group.name() == "anywhere") return status::skip();
    if (group.name() == "nowhere") return status::unschedulable("the racks are closed");
    std::vector<placement> racks;
    cluster.each_node([&](const node_info& node) {
      const auto label = node.label(std::string_view{label_key});
      if (!label) return;
      auto found = std::find_if(racks.begin(), racks.end(), [&](const placement& one) { return one.name == *label; });
      if (found == racks.end()) found = racks.insert(racks.end(), {std::string{*label}, {}, false});
      found->nodes.push_back(node.id());
    });
    for (placement& rack : racks) {
      std::reverse(rack.nodes.begin(), rack.nodes.end());  // any order will do
      sink(rack);
    }
    return status::success();
  }
};
struct by_row : by_label {
  static constexpr std::string_view name = "ByRow";
  by_row() { label_key = "row"; }
};

/// The label "prefer" of the group's first node, as a score; and what it was asked.
struct preference {
  static constexpr std::string_view name = "Preference";
  using points = implements<point::score_placement>;
  journal asked = std::make_shared<words>();

  [[nodiscard]] std::int64_t score_placement(const group_view& group, const placement_view& where,
                                             std::span<const assignment> all) const {
    asked->push_back(std::string{where.name()} + " " + std::to_string(all.size()) + " " +
                     std::to_string(group.assumed()));
    std::int64_t score = 0;
    group.each_member([&](const pod_info& pod) {
      if (pod.node() && pod.node()->label("prefer")) score = std::stoll(std::string{*pod.node()->label("prefer")});
    });
    return score;
  }
};

/// Writes the assignments down, and likes the second best.
struct watcher {
  static constexpr std::string_view name = "Watcher";
  using points = implements<point::score_placement>;
  std::shared_ptr<std::vector<std::vector<assignment>>> tried =
      std::make_shared<std::vector<std::vector<assignment>>>();
  [[nodiscard]] std::int64_t score_placement(const group_view&, const placement_view&,
                                             std::span<const assignment> all) const {
    tried->emplace_back(all.begin(), all.end());
    return static_cast<std::int64_t>(tried->size()) % 3 * 30;
  }
};

/// Counts its calls; rejects groups named "refused".
struct gate_keeper {
  static constexpr std::string_view name = "GateKeeper";
  using points = implements<point::group_pre_filter>;
  journal asked = std::make_shared<words>();
  [[nodiscard]] status group_pre_filter(const group_view& group) const {
    asked->push_back(std::string{group.name()});
    if (group.name() == "broken") return status::error("it is broken");
    return group.name() == "refused" ? status::unresolvable("refused") : status::success();
  }
};

/// Needs an even number of members.
struct even_only {
  static constexpr std::string_view name = "EvenOnly";
  using points = implements<point::placement_feasible>;
  journal asked = std::make_shared<words>();
  [[nodiscard]] status placement_feasible(const group_view&, const group_progress& p) const {
    asked->push_back(std::to_string(p.scheduled) + "+" + std::to_string(p.remaining));
    return p.scheduled % 2 == 0 && p.scheduled > 0 ? status::success() : status::wait();
  }
};

/// Gives up: the placement or the group, after the first member, as the group's name says.
struct quitter {
  static constexpr std::string_view name = "Quitter";
  using points = implements<point::placement_feasible>;
  journal asked = std::make_shared<words>();
  [[nodiscard]] status placement_feasible(const group_view& group, const group_progress& p) const {
    asked->push_back(std::to_string(p.scheduled) + "+" + std::to_string(p.remaining));
    if (p.scheduled == 0) return status::wait();
    return group.name() == "placement" ? status::unschedulable("not here") : status::unresolvable("not at all");
  }
};

void add_gang(world& w, const std::string& name, std::int32_t min_count, int members, std::int64_t cores) {
  const group_id gang = w.add(a_gang{name, min_count});
  for (int i = 0; i < members; ++i) w.add(a_pod{name + std::to_string(i)}.cpu(cores).in(gang));
}

kernel_table plus(auto... plugins) {
  return profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, std::move(plugins)...};
}

}  // namespace

TEST_CASE("a gang that does not fit leaves nothing behind", "[engine][group]") {
  world w;
  w.add(a_node{"n1"}.cpu(2));
  w.add(a_node{"n2"}.cpu(1));
  add_gang(w, "gang", 4, 4, 1);
  CHECK(w.counts() == places{1, 0, 0, 0, 0});
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject gang0", "reject gang1", "reject gang2", "reject gang3"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
  CHECK(w.cluster.assumed().empty());
  // What they wanted is free for others.
  w.add(a_pod{"other"}.cpu(2));
  CHECK(w.run() == words{"bind other n1"});
}

TEST_CASE("a gang is placed in one cycle, with its members by priority and arrival", "[engine][group]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  const group_id gang = w.add(a_gang{"gang", 3});
  w.add(a_pod{"first"}.cpu(1).in(gang));
  w.add(a_pod{"urgent"}.cpu(1).priority(5).in(gang));
  w.add(a_pod{"second"}.cpu(1).in(gang));
  CHECK(w.cycle() == words{"bind urgent n", "bind first n", "bind second n"});
  CHECK(w.cycle().empty());
}

TEST_CASE("members above the minimum that do not fit are rejected singly and join later", "[engine][group]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  add_gang(w, "gang", 2, 5, 1);
  w.must(w.cluster.update_pod(w.pod("gang4"),
                              a_pod{"gang4"}.cpu(1).priority(1).in(*w.cluster.find_group("default", "gang"))));
  CHECK(w.run() == words{"bind gang4 n", "bind gang0 n", "bind gang1 n", "reject gang2", "reject gang3", "reject gang2",
                         "reject gang3"});
  for (const char* name : {"gang4", "gang0", "gang1"}) w.confirm(w.pod(name));
  CHECK(w.run().empty());
  CHECK(w.run_at(1s).empty());
  w.add(a_node{"m"}.cpu(1));
  CHECK(w.run() == words{"bind gang2 m", "reject gang3", "reject gang3"});
  w.remove(w.pod("gang0"));
  CHECK(w.run() == words{"bind gang3 n"});
}

TEST_CASE("members that come to a gang that runs are placed as they come", "[engine][group]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  add_gang(w, "gang", 2, 2, 1);
  CHECK(w.run(true).size() == 2);
  w.add(a_pod{"late"}.cpu(1).in(*w.cluster.find_group("default", "gang")));
  CHECK(w.run() == words{"bind late n"});
}

TEST_CASE("two gangs that do not both fit never share the room", "[engine][group]") {
  world w;
  w.add(a_node{"n1"}.cpu(3));
  w.add(a_node{"n2"}.cpu(2));
  add_gang(w, "a", 4, 4, 1);
  add_gang(w, "b", 4, 4, 1);
  CHECK(w.cycle().size() == 4);
  CHECK(w.cycle() == words{"reject b0", "reject b1", "reject b2", "reject b3"});
  CHECK(w.cluster.assumed().size() == 4);
}

TEST_CASE("of a basic group as many are placed as fit", "[engine][group]") {
  world w;
  w.add(a_node{"n"}.cpu(2));
  const group_id basic = w.add(group_spec{.name = "basic"});
  for (const char* name : {"a", "b", "c"}) w.add(a_pod{name}.cpu(1).in(basic));
  CHECK(w.run() == words{"bind a n", "bind b n", "reject c", "reject c"});
  w.add(a_node{"m"}.cpu(1));
  CHECK(w.run() == words{"bind c m"});
}

TEST_CASE("a minimum that changes lets a gang start, or holds it back", "[engine][group]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  const group_id gang = w.add(a_gang{"gang", 4});
  for (const char* name : {"a", "b", "c", "d"}) w.add(a_pod{name}.cpu(1).in(gang));
  CHECK(w.run().size() == 4);
  w.must(w.cluster.update_group(gang, a_gang{"gang", 5}));
  CHECK(w.run_at(1h).empty());
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  w.must(w.cluster.update_group(gang, a_gang{"gang", 3}));
  CHECK(w.run() == words{"bind a n", "bind b n", "bind c n", "reject d", "reject d"});
}

TEST_CASE("a gang is never split over the placements that a plugin generates", "[engine][group]") {
  const bool scored = GENERATE(false, true);
  world w{scored ? plus(by_label{}, preference{}) : plus(by_label{})};
  // No rack has room for three except the last; together they have plenty.
  w.add(a_node{"a1"}.cpu(2).label("rack", "a").label("prefer", "90"));
  w.add(a_node{"b1"}.cpu(1).label("rack", "b").label("prefer", "80"));
  w.add(a_node{"b2"}.cpu(1).label("rack", "b").label("prefer", "80"));
  w.add(a_node{"loose"}.cpu(9));
  w.add(a_node{"c1"}.cpu(1).label("rack", "c").label("prefer", "1"));
  w.add(a_node{"c2"}.cpu(2).label("rack", "c").label("prefer", "1"));
  add_gang(w, "gang", 3, 3, 1);
  add_gang(w, "again", 3, 3, 1);
  add_gang(w, "anywhere", 3, 3, 2);
  const words all = w.run();
  REQUIRE(all.size() == 9);
  for (int i = 0; i < 3; ++i) {
    CHECK(all[static_cast<std::size_t>(i)].find(" c") != std::string::npos);
    CHECK(all[static_cast<std::size_t>(i) + 3].starts_with("reject again"));
    CHECK(all[static_cast<std::size_t>(i) + 6].starts_with("bind anywhere"));
  }
}

TEST_CASE("the placement with the best score wins, the first among equals", "[engine][group]") {
  preference scores;
  world w{plus(by_label{}, scores)};
  for (const char* rack : {"a", "b", "c", "d"}) {
    const std::string prefer = *rack == 'a' ? "10" : *rack == 'd' ? "20" : "70";
    for (const char* n : {"1", "2"})
      w.add(a_node{rack + std::string{n}}.cpu(1).label("rack", rack).label("prefer", prefer));
  }
  add_gang(w, "gang", 2, 2, 1);
  CHECK(w.run() == words{"bind gang0 b1", "bind gang1 b2"});
  // Each was asked for while its assignment stood.
  CHECK(*scores.asked == words{"a 2 2", "b 2 2", "c 2 2", "d 2 2"});
  add_gang(w, "next", 2, 2, 1);
  CHECK(w.run() == words{"bind next0 c1", "bind next1 c2"});
}

TEST_CASE("the chosen placement is filled as it was in its trial, also where chance decides", "[engine][group]") {
  watcher scores;
  world w{plus(by_label{}, scores), {.seed = 42}};
  for (int i = 0; i < 60; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(4).label("rack", "r" + std::to_string(i % 3)));
  add_gang(w, "gang", 5, 5, 1);
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(scores.tried->size() == 3);
  const auto& best = (*scores.tried)[1];
  REQUIRE(done.decisions().size() == best.size());
  for (std::size_t i = 0; i < best.size(); ++i) {
    CHECK(done.decisions()[i].pod == best[i].pod);
    CHECK(done.decisions()[i].node == best[i].node);
  }
}

TEST_CASE("the placements of two plugins are intersected", "[engine][group]") {
  preference scores;
  world w{plus(by_label{}, by_row{}, scores)};
  w.add(a_node{"a1x"}.cpu(1).label("rack", "a").label("row", "x"));
  w.add(a_node{"a2x"}.cpu(1).label("rack", "a").label("row", "x"));
  w.add(a_node{"b1x"}.cpu(1).label("rack", "b").label("row", "x"));
  w.add(a_node{"b2y"}.cpu(9).label("rack", "b").label("row", "y"));
  w.add(a_node{"c1z"}.cpu(9).label("row", "z"));
  add_gang(w, "gang", 2, 2, 1);
  CHECK(w.run() == words{"bind gang0 a1x", "bind gang1 a2x"});
  CHECK(*scores.asked == words{"a/x 2 2", "b/y 2 2"});
}

TEST_CASE("without a placement, or with a refusal, the group is rejected with the plugin's reason", "[engine][group]") {
  world w{plus(by_label{})};
  w.add(a_node{"n"}.cpu(9));
  add_gang(w, "gang", 1, 2, 1);
  add_gang(w, "nowhere", 1, 1, 1);
  const cycle none = w.scheduler.schedule_cycle(w.now);
  REQUIRE(none.decisions().size() == 2);
  CHECK(std::string{none.decisions()[0].reason} == "no placement is left for the group");
  CHECK(none.decisions()[0].code == code::unschedulable);
  const cycle refused = w.scheduler.schedule_cycle(w.now);
  REQUIRE(refused.decisions().size() == 1);
  CHECK(std::string{refused.decisions()[0].reason} == "the racks are closed");
}

TEST_CASE("a group pre-filter is asked once a cycle and rejects the group as a whole", "[engine][group]") {
  gate_keeper keeper;
  world w{plus(keeper)};
  w.add(a_node{"n"}.cpu(9));
  add_gang(w, "gang", 2, 3, 1);
  add_gang(w, "refused", 2, 2, 1);
  CHECK(w.cycle().size() == 3);
  const cycle refused = w.scheduler.schedule_cycle(w.now);
  REQUIRE(refused.decisions().size() == 2);
  for (const decision& one : refused) {
    CHECK(one.kind == decision_kind::reject);
    CHECK(one.code == code::unresolvable);
    CHECK(std::string{one.reason} == "refused");
  }
  CHECK(*keeper.asked == words{"gang", "refused"});
  CHECK(w.run().empty());
  CHECK(w.run_at(1s).empty());
  w.add(a_node{"m"}.cpu(0));  // no filter rejected it: any change may help
  CHECK(w.run().size() == 2);
}

TEST_CASE("an error of a group hook is reported, and the group backs off", "[engine][group]") {
  world w{plus(gate_keeper{})};
  w.add(a_node{"n"}.cpu(9));
  add_gang(w, "broken", 1, 1, 1);
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.error() != nullptr);
  CHECK(done.error()->code == errc::contract);
  CHECK(done.error()->message().find("it is broken") != std::string::npos);
  CHECK(done.error()->message().find("default/broken") != std::string::npos);
  w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(10)));
  CHECK_FALSE(w.scheduler.schedule_cycle(w.now));
  CHECK(w.scheduler.next_deadline() == instant{1s});
}

TEST_CASE("feasibility is asked before the first member and after each, and decides", "[engine][group]") {
  even_only even;
  world w{profile{priority_sort{}, node_resources_fit{}, even}};
  w.add(a_node{"n"}.cpu(5));
  add_gang(w, "gang", 1, 4, 1);
  CHECK(w.cycle().size() == 4);
  CHECK(*even.asked == words{"0+4", "1+3", "2+2", "3+1", "4+0"});
  add_gang(w, "odd", 1, 1, 1);
  CHECK(w.cycle() == words{"reject odd0"});
  CHECK(w.cluster.assumed().size() == 4);
}

TEST_CASE("a placement that is given up is not tried further, and a group that is given up not elsewhere",
          "[engine][group]") {
  const bool placement_only = GENERATE(true, false);
  quitter gives_up;
  world w{profile{priority_sort{}, node_resources_fit{}, by_label{}, gives_up}};
  w.add(a_node{"a"}.cpu(9).label("rack", "a"));
  w.add(a_node{"b"}.cpu(9).label("rack", "b"));
  add_gang(w, placement_only ? "placement" : "group", 1, 3, 1);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run().size() == 3);
  CHECK(inside(w.cluster).digest_with_derived() == before);
  if (placement_only)
    CHECK(*gives_up.asked == words{"0+3", "1+2", "0+3", "1+2"});
  else
    CHECK(*gives_up.asked == words{"0+3", "1+2"});
}

TEST_CASE("a gang with a member that is being deleted is placed without it", "[engine][group]") {
  world w;
  w.add(a_node{"n"}.cpu(9));
  const group_id gang = w.add(a_gang{"gang", 2});
  const pod_id leaving = w.add(a_pod{"leaving"}.cpu(1).in(gang));
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"b"}.cpu(1).in(gang));
  w.must(w.cluster.set_terminating(leaving));
  CHECK(w.run() == words{"bind a n", "bind b n"});
}

TEST_CASE("a gang of many classes counts each member once", "[engine][group]") {
  world w;
  for (int i = 0; i < 20; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(4));
  const group_id gang = w.add(a_gang{"gang", 20});
  for (int i = 0; i < 20; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1 + i % 3).in(gang));
  CHECK(w.run(true).size() == 20);
  std::int64_t used = 0;
  for (const node_id node : w.cluster.nodes()) used += w.cluster.requested(node, "cpu");
  CHECK(used == 1000 * (7 * 1 + 7 * 2 + 6 * 3));
  CHECK(w.scheduler.verify());
}

}  // namespace gangsched::testing::group_cycle_test
