#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "queues/hived_world.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::hived_cases_test {

using namespace gangsched::testing::hived_world;
using hived::decision;
using hived::group_state;
using hived::pod_place;
using strings = std::vector<std::string>;

std::vector<std::int32_t> numbers(int first, int count) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}
std::vector<pod_place> whole(std::initializer_list<const char*> nodes) {
  std::vector<pod_place> made;
  for (const char* name : nodes) made.push_back({0, name, numbers(0, 16)});
  return made;
}
hived::cell_scheduler scheduler(const hived::configuration& from = design()) {
  return hived::cell_scheduler::make(from).value();
}
decision placed(hived::cell_scheduler& in, const hived::group_request& request) { return in.place(request).value(); }

/// The groups of upstream's cases that succeed, in order: H1 to H9.
struct sequence {
  hived::cell_scheduler in;
  std::vector<hived::group_request> kept = {};  ///< that were placed and got their devices
  decision place(hived::group_request request) {
    decision made = placed(in, request);
    if (made.state == group_state::allocated) kept.push_back(std::move(request));
    return made;
  }
  void h1_to_h4() {
    place(group("1", "VC1", 0, {{1, 1}}));
    place(group("2", "VC1", 1, {{1, 1}}));
    place(group("3", "VC1", 2, {{1, 8}}));
    place(group("4", "VC1", -1, {{1, 1}}));
    place(group("5", "VC1", 1, {{2, 16}}, "DGX2-GPU", "VC1-DGX2"));
  }
};

TEST_CASE("H1 H2 H3 H4: buddies first, opportunistic groups elsewhere, pinned cells exactly") {
  hived::cell_scheduler in = scheduler();
  CHECK(placed(in, group("1", "VC1", 0, {{1, 1}})).pods == std::vector<pod_place>{{0, "0.0.1.0", {0}}});
  CHECK(placed(in, group("2", "VC1", 1, {{1, 1}})).pods == std::vector<pod_place>{{0, "0.0.1.0", {1}}});
  CHECK(placed(in, group("3", "VC1", 2, {{1, 8}})).pods == std::vector<pod_place>{{0, "0.0.1.0", numbers(8, 8)}});
  CHECK(placed(in, group("4", "VC1", -1, {{1, 1}})).pods == std::vector<pod_place>{{0, "0.0.5.0", {0}}});
  CHECK(placed(in, group("5", "VC1", 1, {{2, 16}}, "DGX2-GPU", "VC1-DGX2")).pods == whole({"0.0.3.0", "0.0.3.1"}));
}

TEST_CASE("H5: a virtual cluster that has less waits, and never borrows what others are due") {
  hived::cell_scheduler in = scheduler();
  const decision made = placed(in, group("7", "VC2", 1, {{3, 8}}, "P100"));
  CHECK(made.state == group_state::waiting);
  REQUIRE(made.missing);
  CHECK(made.missing->why == hived::obstacle::quota);
  CHECK(made.missing->cell_type == "P100-NODE");
  CHECK(made.missing->level == 3);
  CHECK(made.missing->count == 1);
  CHECK(in.groups() == 0);
}

TEST_CASE("H6: pods of several sizes get the devices that are nearest to each other") {
  hived::cell_scheduler in = scheduler();
  const decision made = placed(in, group("9", "VC2", 1, {{1, 7}, {1, 5}}, ""));
  CHECK(made.pods == std::vector<pod_place>{{0, "1.0.0.0", {1, 3, 4, 7, 0, 2, 6}}, {1, "1.0.0.2", {0, 1, 2, 3, 4}}});
}

TEST_CASE("H7: in a virtual cluster the higher priority preempts, and the others' places are held for it") {
  sequence of{scheduler()};
  of.h1_to_h4();
  const decision made = of.place(group("11", "VC1", 2, {{2, 16}}, "DGX2-GPU", "VC1-DGX2", false));
  CHECK(made.state == group_state::preempting);
  CHECK(made.victims == strings{"5"});
  CHECK(of.in.group("11")->state == group_state::preempting);
}

TEST_CASE("H8: whole nodes from one cell after another, opportunistic ones on what is left") {
  sequence of{scheduler()};
  of.h1_to_h4();
  CHECK(of.place(group("12", "VC1", 1, {{2, 16}})).pods == whole({"0.0.3.2", "0.0.3.3"}));
  CHECK(of.place(group("13", "VC1", 1, {{2, 16}})).pods == whole({"0.0.4.0", "0.0.4.1"}));
  CHECK(of.place(group("14", "VC1", -1, {{2, 16}})).pods == whole({"0.0.4.2", "0.0.4.3"}));
}

TEST_CASE("H9: a group that may be preempted lazily is moved out of its cells, one that may not has to go") {
  hived::cell_scheduler in = scheduler();
  CHECK(placed(in, group("15", "VC2", 0, {{1, 2}}, "CT1")).pods.at(0).devices == std::vector<std::int32_t>{0, 1});
  const decision lazy = placed(in, group("16", "VC2", 1, {{1, 2}}, "CT1", "", false));
  CHECK(lazy.state == group_state::allocated);
  CHECK(lazy.downgraded == strings{"15"});
  CHECK(in.group("15")->pods.at(0).node != lazy.pods.at(0).node);
  CHECK_FALSE(in.group("15")->guaranteed);
  const decision now = placed(in, group("17", "VC2", 2, {{1, 2}}, "CT1", "", false));
  CHECK(now.state == group_state::preempting);
  CHECK(now.victims == strings{"16"});
}

TEST_CASE(
    "H10: who preempts holds the cells; a higher priority cancels that, and when it leaves things are as before") {
  hived::cell_scheduler in = scheduler();
  const auto pinned = [](std::string name, int priority, std::uint32_t pods, bool lazy = true) {
    return group(std::move(name), "VC1", priority, {{pods, 16}}, "DGX2-GPU", "VC1-DGX2", lazy);
  };
  CHECK(placed(in, pinned("28", 1, 2, false)).pods == whole({"0.0.3.0", "0.0.3.1"}));
  const decision first = placed(in, pinned("29", 2, 1));
  CHECK(first.state == group_state::preempting);
  CHECK(first.victims == strings{"28"});
  CHECK(placed(in, pinned("30", 1, 1)).state == group_state::waiting);
  const decision second = placed(in, pinned("31", 2, 1));
  CHECK(second.victims == strings{"28"});
  CHECK(second.pods != first.pods);
  CHECK(placed(in, pinned("32", 2, 1)).state == group_state::waiting);
  const decision both = placed(in, pinned("33", 3, 2));
  CHECK(both.victims == strings{"28"});
  CHECK(both.cancelled.size() == 2);
  CHECK_FALSE(in.group("29"));
  CHECK_FALSE(in.group("31"));
  CHECK(in.start("33").value() == hived::start_outcome::must_wait);
  in.remove("28").value();
  const decision last = placed(in, pinned("34", 4, 1, false));
  CHECK(last.state == group_state::allocated);
  CHECK(last.pods == whole({"0.0.3.0"}));
  CHECK(last.cancelled == strings{"33"});
  const decision gone = placed(in, pinned("35", 5, 2));
  CHECK(gone.victims == strings{"34"});
  in.remove("35").value();
  for (const hived::cell_index device : in.layout().devices_of(in.layout().find_node("0.0.3.0").value())) {
    CHECK(in.cells().physical().priority(device) == 4);
    CHECK(in.user(device) == "34");
    CHECK(in.heir(device).empty());
  }
  for (const hived::cell_index device : in.layout().devices_of(in.layout().find_node("0.0.3.1").value()))
    CHECK(in.cells().physical().priority(device) == hived::unused);
  CHECK(placed(in, pinned("36", 1, 1)).pods == whole({"0.0.3.1"}));
}

TEST_CASE("H11: a larger cell is split for a bad one only as long as the others still get theirs") {
  hived::configuration from = design();
  from.clusters[0].cells = {{"4-DGX2", "DGX2-NODE", 4}, {"3-DGX2", "DGX2-NODE", 2}};
  from.clusters[1].cells.back() = {"4-DGX2", "2-DGX2", 1};
  hived::cell_scheduler in = scheduler(from);
  const strings four_nodes{"0.0.3.2", "0.0.3.3", "0.0.4.2", "0.0.4.3"};
  CHECK(placed(in, within(group("32", "VC1", 0, {{1, 16}}), four_nodes)).pods == whole({"0.0.3.2"}));
  in.set_bad("0.0.3.3", true).value();
  CHECK(placed(in, within(group("33", "VC1", 0, {{1, 16}}), four_nodes)).pods == whole({"0.0.4.2"}));
  in.set_bad("0.0.4.3", true).value();
  strings six_nodes = four_nodes;
  six_nodes.insert(six_nodes.end(), {"0.0.4.0", "0.0.4.1"});
  const decision made = placed(in, within(group("34", "VC1", 0, {{1, 16}}), six_nodes));
  CHECK(made.state == group_state::waiting);
  REQUIRE(made.missing);
  CHECK(made.missing->count == 1);
}

TEST_CASE("H12: the buddy allocator goes back when the first cells may not be used, and takes lazy preemption back") {
  hived::configuration from = design();
  from.clusters[0].cells[0].count = 0;
  from.clusters[0].cells[3].count = 3;
  hived::cell_scheduler in = scheduler(from);
  CHECK(placed(in, within(group("27", "VC1", 1, {{2, 16}}), {"0.0.3.2", "0.0.3.3"})).pods ==
        whole({"0.0.3.2", "0.0.3.3"}));
  CHECK(placed(in, within(group("28", "VC1", 1, {{1, 16}}), {"0.0.4.3"})).pods == whole({"0.0.4.3"}));
  const decision made = placed(in, within(group("29", "VC1", 2, {{4, 16}}), {"0.0.3.2", "0.0.3.3", "0.0.4.3"}));
  CHECK(made.state == group_state::waiting);
  for (const char* name : {"27", "28"}) {
    CHECK(in.group(name)->state == group_state::allocated);
    CHECK(in.group(name)->guaranteed);
  }
}

/// The nodes that a virtual cluster is due, of the 3-DGX2 cells: how many of those that nobody uses show as bad.
std::pair<int, int> unused_and_bad(const hived::cell_scheduler& in, std::uint32_t cluster) {
  int unused = 0, bad = 0;
  for (const hived::virtual_view& view : in.layout().clusters()[cluster].views) {
    if (in.layout().chains()[view.chain].levels.back().type != "3-DGX2") continue;
    for (const hived::cell_index root : view.roots) {
      if (in.cells().cluster(cluster).used(root) > 0) continue;
      ++unused;
      const hived::cell_index is = in.cells().bound(root);
      if (is != hived::none && in.cells().physical().is_bad(is)) ++bad;
    }
  }
  return {unused, bad};
}

TEST_CASE("H13: bad nodes are hidden while healthy ones are enough, and shown when they are not") {
  hived::configuration from = design();
  from.clusters[1].cells.back() = {"3-DGX2", "DGX2-NODE", 1};
  hived::cell_scheduler in = scheduler(from);
  const auto shows = [&](std::pair<int, int> first, std::pair<int, int> second) {
    CHECK(unused_and_bad(in, 0) == first);
    CHECK(unused_and_bad(in, 1) == second);
  };
  placed(in, within(group("30", "VC1", 0, {{1, 16}}), {"0.0.2.0"}));
  in.set_bad("0.0.2.1", true).value();
  shows({1, 0}, {1, 0});
  placed(in, within(group("31", "VC2", 0, {{1, 16}}), {"0.0.2.2"}));
  shows({1, 1}, {0, 0});
  in.remove("31").value();
  shows({1, 0}, {1, 0});
  in.set_bad("0.0.2.2", true).value();
  shows({1, 1}, {1, 1});
  const decision made = placed(in, within(group("32", "VC2", 0, {{1, 16}}), {"0.0.2.1", "0.0.2.2"}));
  REQUIRE(made.missing);
  CHECK(made.missing->why == hived::obstacle::bad_node);
  CHECK(made.missing->node.starts_with("0.0.2."));
  in.set_bad("0.0.2.2", false).value();
  shows({1, 0}, {1, 0});
  in.set_bad("0.0.2.0", true).value();
  in.set_bad("0.0.2.2", true).value();
  in.remove("30").value();
  shows({2, 2}, {1, 1});
}

TEST_CASE("H14: a request that can never be met is an error, not a wait") {
  hived::cell_scheduler in = scheduler();
  const auto code = [&](const hived::group_request& request) {
    const auto made = in.place(request);
    REQUIRE_FALSE(made);
    CHECK(made.error().message().find(request.name) != std::string::npos);
    return made.error().code;
  };
  CHECK(code(group("6", "VC2", 1, {{1, 1}})) == errc::unknown);                        // VC2 has no such devices
  CHECK(code(group("10", "surprise!", 1, {{1, 1}}, "P100")) == errc::unknown);         // no such virtual cluster
  CHECK(code(group("10", "VC2", 1, {{1, 1}}, "P100", "surprise!")) == errc::unknown);  // no such pin
  CHECK(code(group("10", "VC2", 1, {{1, 1}}, "P100", "VC1-DGX2")) == errc::unknown);   // not its own
  CHECK(code(group("10", "VC2", 1001, {{1, 1}}, "P100")) == errc::out_of_range);
  CHECK(code(group("10", "VC2", -2, {{1, 1}}, "P100")) == errc::out_of_range);
  CHECK(code(group("10", "VC2", 1, {{1, 9}}, "P100")) == errc::out_of_range);            // larger than a node
  CHECK(code(group("10", "VC1", 1, {{1, 2}}, "CT1", "VC1-CT1")) == errc::out_of_range);  // larger than the pinned cell
  CHECK(code(group("10", "VC2", 1, {{0, 1}}, "P100")) == errc::out_of_range);
  CHECK(code(group("10", "VC2", 1, {{1, 0}}, "P100")) == errc::out_of_range);
  CHECK(code(group("10", "VC2", 1, {{4'000'000'000, 4'000'000'000}}, "P100")) == errc::out_of_range);
  CHECK(code(group("10", "VC2", 1, {}, "P100")) == errc::malformed);
  CHECK(code(group("10", "VC1", -1, {{1, 1}}, "DGX2-GPU", "VC1-DGX2")) == errc::malformed);
  CHECK(code(group("10", "VC2", 1, {{1, 1}}, "surprise!")) == errc::unknown);
  placed(in, group("8", "VC2", 1, {{1, 8}}, "P100"));
  CHECK(code(group("8", "VC2", 1, {{1, 2}}, "P100")) == errc::duplicate);
  CHECK(in.remove("9").error().code == errc::unknown);
  CHECK(in.start("9").error().code == errc::unknown);
  CHECK(in.start("8").error().code == errc::wrong_state);
  CHECK(in.set_bad("surprise!", true).error().code == errc::unknown);
  CHECK(in.groups() == 1);
}

TEST_CASE("H16: nothing is committed by a look, or outside the nodes that the caller suggests") {
  hived::cell_scheduler in = scheduler();
  CHECK(placed(in, within(group("1", "VC1", -1, {{1, 1}}, ""), {"0.0.1.0"})).pods ==
        std::vector<pod_place>{{0, "0.0.1.0", {0}}});
  in.remove("1").value();
  const auto pinned = [](std::string name, int priority, hived::member of) {
    return group(std::move(name), "VC1", priority, {of}, "DGX2-GPU", "VC1-DGX2", false);
  };
  CHECK(placed(in, within(pinned("1", 1, {1, 1}), {"0.0.3.0"})).pods.at(0).node == "0.0.3.0");
  CHECK(placed(in, within(pinned("2", 1, {1, 1}), {"0.0.3.1"})).pods.at(0).node == "0.0.3.1");
  in.remove("1").value();
  in.remove("2").value();
  const strings all = in.layout().nodes();
  strings others = all;
  std::erase(others, "0.0.3.1");
  CHECK(placed(in, within(pinned("18", 1, {2, 16}), others)).state == group_state::waiting);
  CHECK(placed(in, within(pinned("18", 1, {2, 16}), all)).state == group_state::allocated);
  CHECK(in.look(within(pinned("24", 3, {2, 16}), all)).value().state == group_state::preempting);
  CHECK_FALSE(in.group("24"));
  CHECK(placed(in, within(pinned("24", 3, {2, 16}), others)).state == group_state::waiting);
  CHECK_FALSE(in.group("24"));
  CHECK(placed(in, within(pinned("24", 3, {2, 16}), all)).state == group_state::preempting);
  CHECK(in.group("24")->state == group_state::preempting);
  CHECK(in.start("24", others).value() == hived::start_outcome::cancelled);
  CHECK_FALSE(in.group("24"));
  CHECK(in.group("18")->guaranteed);
}

/// What a host would have written down of a group.
std::vector<std::vector<hived::known_device>> written(const hived::cell_scheduler& in, const std::string& name,
                                                      const std::string& root_type) {
  std::vector<std::vector<hived::known_device>> made;
  const hived::group_status status = in.group(name).value();
  for (const pod_place& pod : status.pods) {
    auto& devices = made.emplace_back();
    for (const std::int32_t device : pod.devices) devices.push_back({pod.node, device, root_type});
  }
  return made;
}

TEST_CASE(
    "H15: after a restart with another configuration groups keep their devices; who does not fit its cells is "
    "opportunistic") {
  sequence of{scheduler()};
  of.h1_to_h4();
  of.place(group("9", "VC2", 1, {{1, 7}, {1, 5}}, "P100"));
  of.place(group("12", "VC1", 1, {{2, 16}}));
  of.place(group("13", "VC1", 1, {{2, 16}}));
  of.place(group("14", "VC1", -1, {{2, 16}}));
  of.place(group("15", "VC2", 0, {{1, 2}}, "CT1"));
  of.place(group("16", "VC2", 1, {{1, 2}}, "CT1", "", false));
  REQUIRE(of.kept.size() == 11);

  hived::configuration from = design();
  for (hived::cell_type& type : from.types)
    if (type.name == "DGX2-NODE") type = {"DGX2-NODE", "DGX2-GPU", 16, true};  // a chain is shorter
  std::erase_if(from.types, [](const auto& type) {
    return type.name == "DGX2-2" || type.name == "DGX2-4" || type.name == "DGX2-8";
  });
  from.cells[6].children[0].children[0].node = "0.0.3.100";  // a node is gone
  from.clusters[1].cells[0].count = 1;                       // a virtual cluster has less
  const auto split = std::find_if(from.cells.begin(), from.cells.end(), [](const auto& cell) {
    return !cell.children.empty() && !cell.children[0].children.empty() &&
           cell.children[0].children[0].node == "0.0.4.0";
  });
  REQUIRE(split != from.cells.end());
  *split = four("0.0.40");  // a large cell is several now
  for (const char* name : {"0.0.4.0", "0.0.4.1", "0.0.4.2", "0.0.4.3"}) {
    from.cells.push_back(node(name));
    from.cells.back().type = "DGX2-NODE";
  }
  hived::cell_scheduler in = scheduler(from);
  strings opportunistic;
  for (const hived::group_request& request : of.kept) {
    const bool in_cluster = of.in.group(request.name).value().guaranteed;
    const std::string root = !in_cluster                     ? ""
                             : request.device_type == "CT1"  ? "CT1-NODE"
                             : request.device_type == "P100" ? "P100-NODE"
                             : request.name == "13"          ? "2-DGX2"
                                                             : "DGX2-NODE";
    for (const std::string& name : in.restore(request, written(of.in, request.name, root)).value())
      opportunistic.push_back(name);
  }
  std::sort(opportunistic.begin(), opportunistic.end());
  CHECK(opportunistic == strings{"13", "15", "9"});
  CHECK(in.groups() == of.kept.size());
  CHECK(in.group("5")->guaranteed);
  CHECK(in.group("5")->pods.at(0).devices.empty());  // what is gone is left out
  CHECK(in.group("5")->pods.at(1) == whole({"0.0.3.1"})[0]);
  CHECK_FALSE(in.restore(group("17", "VC1", -1, {{1, 1}}),
                         std::vector<std::vector<hived::known_device>>{{{"0.0.1.0", 0, ""}}}));
  CHECK_FALSE(in.restore(group("17", "VC1", -1, {{1, 1}}), std::vector<std::vector<hived::known_device>>{}));
  CHECK_FALSE(in.restore(group("17", "VC1", -1, {{1, 1}}), std::vector<std::vector<hived::known_device>>{{}}));
  for (const hived::group_request& request : of.kept) in.remove(request.name).value();
  CHECK(in.groups() == 0);
}

TEST_CASE(
    "after a restart with fewer cells the higher priority has them, and the lower one is opportunistic where it is") {
  hived::configuration from = design();
  from.clusters[1].cells[0].count = 1;
  hived::cell_scheduler in = scheduler(from);
  const auto on = [](std::string name) {
    std::vector<hived::known_device> devices;
    for (int device = 0; device < 8; ++device) devices.push_back({name, device, "P100-NODE"});
    return std::vector<std::vector<hived::known_device>>{devices};
  };
  CHECK(in.restore(group("low", "VC2", 1, {{1, 8}}, "P100"), on("1.0.0.1")).value().empty());
  CHECK(in.restore(group("lower", "VC2", 0, {{1, 8}}, "P100"), on("1.0.0.2")).value() == strings{"lower"});
  CHECK(in.restore(group("high", "VC2", 2, {{1, 8}}, "P100"), on("1.0.0.0")).value() == strings{"low"});
  CHECK(in.group("high")->guaranteed);
  CHECK_FALSE(in.group("low")->guaranteed);
  CHECK(in.group("low")->pods.at(0).node == "1.0.0.1");
}

TEST_CASE("a bad cell is bound to a virtual cluster only if that takes nothing from what others are due") {
  hived::configuration from;
  from.types = {{"node", "gpu", 2, true}, {"pair", "node", 2}};
  for (const int pair : {0, 2, 4, 6, 8})
    from.cells.push_back(
        {.type = "pair", .children = {node("n" + std::to_string(pair)), node("n" + std::to_string(pair + 1))}});
  from.clusters = {{"a", {{"", "pair", 1}}, {}},
                   {"b", {{"", "pair", 1}}, {}},
                   {"busy", {{"pair", "node", 3}}, {}},
                   {"idle", {{"pair", "node", 3}}, {}}};
  hived::cell_scheduler in = scheduler(from);
  for (const char* half : {"n4", "n6", "n8"})  // one node of each pair that a and b are not due
    CHECK(placed(in, within(group(half, "busy", 0, {{1, 2}}, "gpu"), {half})).pods.at(0).node == half);
  for (const char* name : {"n0", "n1", "n5", "n7", "n9"}) in.set_bad(name, true).value();
  // Two healthy nodes, and three are due to idle. The first pair is whole, bad, and due to a or b: it is not split for that.
  CHECK(in.cells().cluster(3).doomed(0, 1) == 1);
  CHECK(in.cells().physical().bound(in.layout().level(0, 1).first) == hived::none);
  std::vector<std::int32_t> spare;
  in.cells().spare(0, spare);
  CHECK(std::none_of(spare.begin(), spare.end(), [](std::int32_t one) { return one < 0; }));
}

TEST_CASE(
    "a configuration whose virtual clusters do not fit names the first that is too much, its cells and how many are "
    "missing") {
  hived::configuration from = design();
  from.clusters[0].cells[0] = {"", "CT1-NODE", 2};
  from.clusters[0].cells[1] = {"CT1-NODE", "CT1", 2};
  const auto made = hived::cell_scheduler::make(from);
  REQUIRE_FALSE(made);
  CHECK(made.error().message() == "virtual cluster VC1: cells: its 2 CT1-NODE of CT1-NODE do not fit: 1 CT1 missing");
}

}  // namespace gangsched::testing::hived_cases_test
