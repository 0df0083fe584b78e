// Room that is held for its owners: nobody else gets it, they do, and what they draw comes back, whatever is tried and undone.
#include <limits>
#include <map>

#include "gangsched/model/transaction.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::held_room_test {

namespace {

held_room_spec room(std::string name, std::vector<std::pair<node_id, int>> cpus) {
  held_room_spec made{.name = std::move(name)};
  for (const auto& [node, cpu] : cpus) made.parts.push_back({node, {{"cpu", quantity{cpu}}}});
  return made;
}

pod_spec owner(std::string name, int cpu, const std::string& of = "r") {
  pod_spec made = a_pod{std::move(name)}.cpu(cpu);
  made.held_room = of;
  return made;
}

}  // namespace

TEST_CASE("held room is its owners' alone, and what they draw comes back to it", "[engine][rooms]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8));
  w.must(w.cluster.set_held_room(room("r", {{n, 6}})));
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  w.add(a_pod{"stranger"}.cpu(3));
  CHECK(w.run(true) == words{"reject stranger"});
  CHECK(w.scheduler.explain(w.pod("stranger"))->summary == "0/1 nodes are available: 1 Insufficient cpu.");
  w.add(owner("a", 4));
  CHECK(w.run(true) == words{"bind a n"});
  CHECK(w.cluster.left_of_room("r", n, "cpu") == 2000);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  w.add(owner("b", 4));  // two of the room, two of what is free
  CHECK(w.run(true) == words{"bind b n"});
  CHECK(w.cluster.left_of_room("r", n, "cpu") == 0);
  CHECK(w.cluster.requested(n, "cpu") == 8000);
  w.must(w.cluster.remove_pod(w.pod("a")));
  CHECK(w.cluster.left_of_room("r", n, "cpu") == 2000);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  w.now += 60s;
  CHECK(w.run(true).empty());  // two are free, the stranger wants three
  w.must(w.cluster.remove_held_room("r"));
  CHECK(w.cluster.requested(n, "cpu") == 4000);
  CHECK(w.run(true) == words{"bind stranger n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("room that comes, grows, moves or goes wakes whom it helps", "[engine][rooms][wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = rule}};
  const node_id n = w.add(a_node{"n"}.cpu(4)), m = w.add(a_node{"m"}.cpu(4));
  w.must(w.cluster.set_held_room(room("other", {{n, 4}, {m, 4}})));
  w.add(owner("mine", 3));
  CHECK(w.run() == words{"reject mine"});
  w.now += 60s;
  w.must(w.cluster.set_held_room(room("other", {{n, 4}, {m, 1}})));
  CHECK(w.run(true) == words{"bind mine m"});
  w.add(owner("next", 3));
  CHECK(w.run() == words{"reject next"});
  w.now += 60s;
  w.must(w.cluster.remove_held_room("other"));
  CHECK(w.run(true) == words{"bind next n"});
}

TEST_CASE("pods that run already draw from room that is held later, and from room that was there", "[engine][rooms]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8));
  pod_spec before = owner("before", 2), after = owner("after", 3);
  before.node = after.node = n;
  w.add(before);
  w.must(w.cluster.set_held_room(room("r", {{n, 6}})));
  CHECK(w.cluster.left_of_room("r", n, "cpu") == 4000);
  w.add(after);
  CHECK(w.cluster.left_of_room("r", n, "cpu") == 1000);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  after.held_room.clear();
  w.must(w.cluster.update_pod(w.pod("after"), after));
  CHECK(w.cluster.left_of_room("r", n, "cpu") == 4000);
  CHECK(w.cluster.requested(n, "cpu") == 9000);  // as the host says, be it too much
}

TEST_CASE("a gang finds its room on several nodes of a rack, and leaves no trace where it does not fit",
          "[engine][rooms]") {
  world w;
  held_room_spec mine{.name = "r"}, others{.name = "others"};
  for (int i = 0; i < 8; ++i) {
    const node_id n = w.add(a_node{"n" + std::to_string(i)}.cpu(4).label("rack", i < 4 ? "a" : "b"));
    (i < 4 ? others : mine).parts.push_back({n, {{"cpu", quantity{4}}}});
  }
  w.must(w.cluster.set_held_room(mine));
  w.must(w.cluster.set_held_room(others));
  const auto gang = [&](const std::string& name, const std::string& of) {
    const group_id id = w.add(a_gang{name, 4}.topology("rack"));
    for (int i = 0; i < 4; ++i) {
      pod_spec one = owner(name + std::to_string(i), 4, of);
      one.group = id;
      w.add(one);
    }
  };
  gang("stranger", "");
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run(true) == words{"reject stranger0", "reject stranger1", "reject stranger2", "reject stranger3"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
  gang("owner", "r");
  CHECK(w.run(true) == words{"bind owner0 n4", "bind owner1 n5", "bind owner2 n6", "bind owner3 n7"});
  CHECK(w.cluster.left_of_room("r", w.node("n4"), "cpu") == 0);
}

TEST_CASE("nobody is evicted for room that is held for others", "[engine][rooms][preemption]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4));
  w.must(w.cluster.set_held_room(room("r", {{n, 4}})));
  w.add(owner("small", 2));
  CHECK(w.run(true) == words{"bind small n"});
  w.add(a_pod{"important"}.cpu(2).priority(100));
  CHECK(w.run(true) == words{"reject important"});  // what `small` leaves goes back to the room
  pod_spec first = owner("first", 4);
  first.priority = 100;
  w.add(first);
  CHECK(w.run() == words{"nominate first n", "evict small n"});
}

TEST_CASE("a room that cannot be is refused, and nothing changes", "[engine][rooms]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4));
  w.must(w.cluster.set_held_room(room("r", {{n, 1}})));
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  const auto wrong = [&](const held_room_spec& spec) {
    const result<void> said = w.cluster.set_held_room(spec);
    CHECK(inside(w.cluster).digest_with_derived() == before);
    return said ? std::string{"taken"} : said.error().message();
  };
  CHECK(wrong(room("R!", {})).starts_with("held room R!: name: "));
  CHECK(wrong(room("r", {{n, 1}, {n, 2}})) == "held room r: parts[1].node: the node is there twice");
  CHECK(wrong(room("r", {{node_id{}, 1}})) == "held room r: parts[0].node: no such node");
  CHECK(wrong(room("r", {{n, -1}})).starts_with("held room r: parts[0].amounts"));
  held_room_spec vast{.name = "v", .parts = {{n, {{"example.com/x", quantity{std::int64_t{1} << 62}}}}}};
  w.must(w.cluster.set_held_room(vast));
  vast.name = "w";
  CHECK(w.cluster.set_held_room(vast).error().code == errc::overflow);
  CHECK(w.cluster.remove_held_room("nobody's").error().code == errc::unknown);
  pod_spec bad = owner("p", 1, "no room");
  CHECK(w.cluster.add_pod(bad).error().message().starts_with("pod default/p: held_room: "));
}

TEST_CASE("usage fits into 64 bits also in what scores go by, and where an owner does not own its room any more",
          "[engine][rooms]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4));
  pod_spec light = a_pod{"light"};  // that names no memory counts for 200 MiB in scores
  light.node = n;
  w.add(light);
  CHECK(w.cluster.set_held_room({.name = "v", .parts = {{n, {{"memory", quantity{most}}}}}}).error().code ==
        errc::overflow);
  w.must(w.cluster.set_held_room({.name = "v", .parts = {{n, {{"memory", quantity{most / 3}}}}}}));
  pod_spec vast = a_pod{"vast"}.resource("memory", quantity{most / 3});
  vast.held_room = "v";
  vast.node = n;
  w.add(vast);
  pod_spec other = a_pod{"other"}.resource("memory", quantity{most / 2});
  other.node = n;
  w.add(other);
  vast.held_room.clear();  // what it had of the room would be held beside it
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.cluster.update_pod(w.pod("vast"), vast).error().code == errc::overflow);
  CHECK(inside(w.cluster).digest_with_derived() == before);
  w.remove(w.pod("other"));
  w.must(w.cluster.update_pod(w.pod("vast"), vast));
  CHECK(w.cluster.requested(n, "memory") == most / 3 * 2);
}

// The reference: what is free for a pod is what no pod uses and no other room holds.
TEST_CASE("usage is pods and what is left of rooms, and an owner is placed if and only if some node has enough for it",
          "[engine][rooms]") {
  int compared = 0, fitted = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    dice roll{seed};
    world w{profiles::kube_default(),
            {.ties = static_cast<tie_rule>(roll.below(3)), .wake = static_cast<wake_rule>(roll.below(3))}};
    std::vector<node_id> nodes;
    for (int i = 0; i < 5; ++i) nodes.push_back(w.add(a_node{"n" + std::to_string(i)}.cpu(roll.between(2, 9))));
    std::map<std::string, std::map<row_t, std::int64_t>> rooms;
    int made = 0;
    const auto left = [&](const std::string& name, node_id node) {
      std::int64_t held = rooms[name].contains(node.row) ? rooms[name][node.row] : 0;
      for (const pod_id pod : w.cluster.pods()) {
        const bool its = w.cluster.node_of(pod) == node && w.cluster.name_of(pod).starts_with(name);
        if (its) held -= static_cast<std::int64_t>(w.cluster.cookie_of(pod));
      }
      return std::max<std::int64_t>(0, held) * 1000;
    };
    const auto pods_use = [&](node_id node) {
      std::int64_t sum = 0;
      for (const pod_id pod : w.cluster.pods())
        if (w.cluster.node_of(pod) == node) sum += static_cast<std::int64_t>(w.cluster.cookie_of(pod)) * 1000;
      return sum;
    };
    for (int step = 0; step < 60; ++step) {
      const std::string name = roll.percent(50) ? "a" : "b";
      if (const std::size_t what = roll.below(10); what < 2) {
        held_room_spec spec{.name = name};
        rooms[name].clear();
        for (const node_id node : nodes) {
          if (!w.cluster.contains(node) || roll.percent(50)) continue;
          const int cpu = static_cast<int>(roll.between(0, 3));
          spec.parts.push_back({node, {{"cpu", quantity{cpu}}}});
          rooms[name][node.row] = cpu;
        }
        w.must(w.cluster.set_held_room(spec));
      } else if (what == 2 && w.cluster.remove_held_room(name)) {
        rooms[name].clear();
      } else if (what == 3 && !w.cluster.pods().empty()) {
        w.must(w.cluster.remove_pod(w.cluster.pods()[roll.below(w.cluster.pods().size())]));
      } else if (what == 4 && step % 20 == 4) {
        const std::size_t which = roll.below(nodes.size());
        for (auto& [of, parts] : rooms) parts.erase(nodes[which].row);
        static_cast<void>(w.must(w.cluster.remove_node(nodes[which])));
        nodes[which] = w.add(a_node{"n" + std::to_string(which)}.cpu(roll.between(2, 9)));
      } else {
        const auto cpu = roll.between(1, 4);
        const std::string of = roll.percent(30) ? "" : name;
        pod_spec one = owner((of.empty() ? "x" : of) + std::to_string(made++), static_cast<int>(cpu), of);
        one.cookie = static_cast<std::uint64_t>(cpu);
        bool fits = false;
        for (const node_id node : nodes) {
          std::int64_t used = pods_use(node);
          for (const auto& [other, parts] : rooms) used += other == of ? 0 : left(other, node);
          fits = fits || w.cluster.allocatable(node, "cpu") - used >= cpu * 1000;
        }
        const pod_id pod = w.add(one);
        const std::uint64_t digest = inside(w.cluster).digest_with_derived();
        {
          transaction trial{w.cluster};
          CHECK(w.cluster.assume(pod, nodes[0]));
        }
        CHECK(inside(w.cluster).digest_with_derived() == digest);
        const words said = w.run(true);
        const auto bound = [](const std::string& word) { return word.starts_with("bind "); };
        const bool placed = w.cluster.node_of(pod) != node_id{};
        // (Others who waited may have been tried before it; if one of them was placed, there is less than there was.)
        if (std::count_if(said.begin(), said.end(), bound) == (placed ? 1 : 0)) {
          INFO("seed " << seed << ", step " << step << ": " << one.name << " wants " << cpu);
          CHECK(placed == fits);
          ++compared, fitted += fits ? 1 : 0;
        }
      }
      w.run(true);
      w.now += 20s;
      for (const node_id node : nodes) {
        INFO("seed " << seed << ", step " << step << ", node " << w.cluster.name_of(node));
        CHECK(w.cluster.left_of_room("a", node, "cpu") == left("a", node));
        CHECK(w.cluster.requested(node, "cpu") == pods_use(node) + left("a", node) + left("b", node));
      }
      REQUIRE(w.scheduler.verify());
    }
  }
  INFO(compared << " attempts, " << fitted << " fitted");
  CHECK(fitted > 100);
  CHECK(compared - fitted > 100);
}

}  // namespace gangsched::testing::held_room_test
