// In which order pods that are alike are woken.
#include <algorithm>
#include <string>
#include <vector>

#include "gangsched/engine/unschedulable_line.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::unschedulable_line_test {

TEST_CASE("who of those alike is woken first goes by the queue sort", "[engine][wake]") {
  const auto woken = [](const kernel_table& profile) {
    world w{profile};
    w.add(a_pod{"n-0"}.cpu(1).on(w.add(a_node{"n"}.cpu(1))));
    for (const char* name : {"a", "b", "c"}) w.add(a_pod{name}.cpu(1));
    CHECK(w.run() == words{"reject a", "reject b", "reject c"});
    w.now += 1min;
    w.remove(w.pod("n-0"));  // wakes a, which somebody more important is faster than
    w.add(a_pod{"fast"}.cpu(1).priority(1));
    CHECK(w.run(true) == words{"bind fast n", "reject a"});
    words order;
    for (std::string last = "fast"; order.size() < 3;) {
      w.now += 1min;
      w.remove(w.pod(last));
      const words said = w.run(true);
      REQUIRE(!said.empty());
      last = said.front().substr(5, 1);  // "bind a n"
      order.push_back(last);
    }
    return order;
  };
  CHECK(woken(profile{arrival_sort{}, node_resources_fit{}}) == words{"a", "b", "c"});
  CHECK(woken(profile{priority_sort{}, node_resources_fit{}}) == words{"b", "a", "c"});
}

TEST_CASE("of those alike that failed at one time the oldest is woken first, whoever failed first", "[engine][wake]") {
  world w;
  w.add(a_pod{"full"}.cpu(1).on(w.add(a_node{"n"}.cpu(1))));
  w.add(a_pod{"old"}.cpu(1));
  w.add(a_pod{"new"}.cpu(1));
  w.run();
  w.now += 1min;
  const pod_id old = w.pod("old");
  w.must(w.scheduler.activate({&old, 1}, w.now));
  CHECK(w.run() == words{"reject old"});
  w.now += 10min;  // both have been unschedulable too long, and the one that failed last is tried last
  CHECK(w.run() == words{"reject new", "reject old"});
  w.now += 1min;
  w.remove(w.pod("full"));
  CHECK(w.run().front() == "bind old n");
}

TEST_CASE("a waiting line is as the plain rule says", "[engine][wake]") {
  dice die{17};
  for (int round = 0; round < 200; ++round) {
    engine::unschedulable_line line;
    struct pod {
      std::size_t order;
      bool waits;
    };
    std::vector<pod> pods;
    std::vector<row_t> plain;  // who comes is put before the first that is behind him, by looking at all
    for (std::size_t i = 0; i < 300; ++i) {
      const auto row = static_cast<row_t>(pods.size());
      pods.push_back({die.below(40) == 0 ? die.below(10) : i / 20u, true});
      line.add(
          {row, 0, 0}, [&](const engine::unschedulable_line::entry& one) { return pods[one.pod].waits; },
          [&](row_t a, row_t b) { return pods[a].order < pods[b].order; });
      std::erase_if(plain, [&](row_t one) { return !pods[one].waits; });
      plain.insert(
          std::find_if(plain.begin(), plain.end(), [&](row_t one) { return pods[row].order < pods[one].order; }), row);
      if (die.below(2) == 0) die.of(pods).waits = false;
      while (die.below(3) != 0 && line.front < line.pods.size()) {
        pods[line.pods[line.front].pod].waits = false;
        ++line.front;
      }
      std::vector<row_t> left;
      for (std::size_t at = line.front; at < line.pods.size(); ++at)
        if (pods[line.pods[at].pod].waits) left.push_back(line.pods[at].pod);
      std::erase_if(plain, [&](row_t one) { return !pods[one].waits; });
      REQUIRE(left == plain);
    }
  }
}

namespace {

/// Wants nodes with a label, and hears of labels.
struct ready_nodes {
  static constexpr std::string_view name = "ReadyNodes";
  using points = implements<point::filter, point::requeue>;
  static constexpr events wakes_on = events::node_labels;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::labels> node) const {
    return node.label("ready") ? status::success() : status::unschedulable("not ready");
  }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return hint::queue; }
};
/// Wants nodes that are not cordoned, and hears of these.
struct open_nodes {
  static constexpr std::string_view name = "OpenNodes";
  using points = implements<point::filter, point::requeue>;
  static constexpr events wakes_on = events::node_taints;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::schedulable> node) const {
    return node.unschedulable() ? status::unschedulable("cordoned") : status::success();
  }
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return hint::queue; }
};

}  // namespace

TEST_CASE("a pod hears of what rejected it last, and not of what rejected it before", "[engine][wake]") {
  world w{profile{priority_sort{}, ready_nodes{}, open_nodes{}}};
  const auto failures_after = [&](const node_spec& now) {
    w.must(w.cluster.update_node(w.node(now.name), now));
    w.now += 60s;
    static_cast<void>(w.run());
    return w.must(w.scheduler.standing(w.pod("p"))).failures;
  };
  w.add(a_node{"n"}.cpu(1));
  w.add(a_node{"cordoned"}.cpu(1).label("ready", "").unschedulable());
  w.add(a_pod{"p"});
  CHECK(failures_after(a_node{"n"}.cpu(2)) == 1);
  CHECK(failures_after(a_node{"n"}.cpu(2).label("ready", "").unschedulable()) == 2);  // both are cordoned now
  CHECK(failures_after(a_node{"n"}.cpu(2).label("ready", "").label("other", "").unschedulable()) == 2);
  CHECK(failures_after(a_node{"n"}.cpu(2).label("ready", "").taint("any").unschedulable()) == 3);
}

}  // namespace gangsched::testing::unschedulable_line_test
