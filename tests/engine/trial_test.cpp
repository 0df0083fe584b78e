// Making room: post_filter and group_preempt hooks with their trials.
#include "support/inside.hpp"
#include "world.hpp"

#include <memory>

namespace gangsched::testing::trial_test {

namespace {

using journal = std::shared_ptr<words>;

std::vector<pod_id> lower_on(const node_info& node, std::int32_t priority) {
  std::vector<pod_id> all;
  node.each_pod([&](const pod_info& pod) {
    if (pod.priority() < priority) all.push_back(pod.id());
  });
  std::sort(all.begin(), all.end());
  return all;
}

/// Preemption in small: per node takes all lower pods off, sees whether the pod fits, and puts back who need not go.
struct small_preemption {
  static constexpr std::string_view name = "SmallPreemption";
  using points = implements<point::post_filter>;
  journal asked = std::make_shared<words>();

  [[nodiscard]] victim_plan post_filter(trial& t, const pod_info& pod) const {
    asked->push_back(std::string{pod.name()});
    if (pod.label("may") == "never") return {status::unresolvable("it may never"), {}, {}};
    victim_plan plan;
    std::vector<node_id> nodes;
    t.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    for (const node_id node : nodes) {
      if (t.filter(pod.id(), node).code != code::unschedulable) continue;
      const std::vector<pod_id> lower = lower_on(*t.cluster().node(node), pod.priority());
      for (const pod_id victim : lower) t.remove(victim);
      if (!t.filter(pod.id(), node).ok()) {
        for (const pod_id victim : lower) t.restore(victim);
        continue;
      }
      std::vector<pod_id> victims;
      for (const pod_id victim : lower) {
        t.restore(victim);
        if (t.filter(pod.id(), node).ok()) continue;
        t.remove(victim);
        victims.push_back(victim);
      }
      return {status::success(), node, victims};
    }
    return plan;
  }
};

/// Runs after it; must not be asked when that one has the answer.
struct last_resort {
  static constexpr std::string_view name = "LastResort";
  using points = implements<point::post_filter>;
  journal asked = std::make_shared<words>();
  [[nodiscard]] victim_plan post_filter(trial&, const pod_info& pod) const {
    asked->push_back(std::string{pod.name()});
    return {};
  }
};

/// Takes everybody away, puts nobody back, and has no idea.
struct careless {
  static constexpr std::string_view name = "Careless";
  using points = implements<point::post_filter>;
  [[nodiscard]] victim_plan post_filter(trial& t, const pod_info& pod) const {
    std::vector<pod_id> all;
    t.cluster().each_node([&](const node_info& node) {
      static_cast<void>(t.filter(pod.id(), node.id()));
      node.each_pod([&](const pod_info& other) { all.push_back(other.id()); });
    });
    for (const pod_id victim : all) t.remove(victim);
    return {};
  }
};

/// For a group: everybody lower goes, if a member fits then.
struct group_clearing {
  static constexpr std::string_view name = "GroupPreemption";
  using points = implements<point::group_preempt>;
  journal asked = std::make_shared<words>();

  [[nodiscard]] victim_plan group_preempt(trial& t, const group_view& group) const {
    asked->push_back(std::string{group.name()});
    victim_plan plan;
    pod_id member;
    group.each_member([&](const pod_info& pod) { member = pod.id(); });
    std::vector<node_id> nodes;
    t.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    bool fits = false;
    for (const node_id node : nodes) {
      for (const pod_id victim : lower_on(*t.cluster().node(node), 1)) {
        t.remove(victim);
        plan.victims.push_back(victim);
      }
      fits = fits || t.filter(member, node).ok();
    }
    if (fits) plan.verdict = status::success();
    return plan;
  }
};

/// Moves somebody lower to another node; @p back: it changes its mind first.
struct mover {
  static constexpr std::string_view name = "Mover";
  using points = implements<point::post_filter>;
  bool back = false;

  [[nodiscard]] victim_plan post_filter(trial& t, const pod_info& pod) const {
    std::vector<std::pair<pod_id, node_id>> lower;
    t.cluster().each_node([&](const node_info& node) {
      for (const pod_id one : lower_on(node, pod.priority())) lower.emplace_back(one, node.id());
    });
    for (const auto& [victim, from] : lower) {
      t.reset();
      t.take_node(victim);
      if (!t.filter(pod.id(), from).ok() || !t.put(pod.id(), from)) continue;
      node_id to;
      t.cluster().each_node([&](const node_info& node) {
        if (!to && t.filter(victim, node.id()).ok() && t.put(victim, node.id())) to = node.id();
      });
      if (back) {
        t.take_back(1);
        const bool again = t.put_so_far() == 1 && t.put(victim, to);
        if (!again) return {};
      }
      if (!to) continue;
      victim_plan plan{status::success(), from, {victim}};
      plan.moves = {{victim, to}};
      return plan;
    }
    return {};
  }
};

/// Follows trials: no node with more than one pod labelled "lonely"; counts them once a cycle.
struct lonely {
  static constexpr std::string_view name = "Lonely";
  using points = implements<point::pre_filter, point::filter>;
  struct cycle_data {
    std::vector<std::pair<row_t, int>> count;
    int& at(row_t node) {
      for (auto& [row, n] : count)
        if (row == node) return n;
      return count.emplace_back(node, 0).second;
    }
  };
  static bool is(const pod_info& pod) { return pod.label("lonely").has_value(); }
  [[nodiscard]] status pre_filter(const pod_info& pod, const cluster_view& cluster, cycle_data& data) const {
    if (!is(pod)) return status::skip();
    cluster.each_node([&](const node_info& node) {
      node.each_pod([&](const pod_info& other) { data.at(node.id().row) += is(other) ? 1 : 0; });
    });
    return status::success();
  }
  [[nodiscard]] status add_pod(const pod_info&, cycle_data& data, const pod_info& other, const node_info& node) const {
    data.at(node.id().row) += is(other) ? 1 : 0;
    return status::success();
  }
  [[nodiscard]] status remove_pod(const pod_info&, cycle_data& data, const pod_info& other,
                                  const node_info& node) const {
    data.at(node.id().row) -= is(other) ? 1 : 0;
    return status::success();
  }
  [[nodiscard]] status filter(const pod_info&, const cycle_data& data, node_info node) const {
    for (const auto& [row, n] : data.count)
      if (row == node.id().row && n > 0) return status::unschedulable("has one already");
    return status::success();
  }
};

struct refuses {
  static constexpr std::string_view name = "Refuses";
  using points = implements<point::reserve>;
  [[nodiscard]] status reserve(const reservation& r) {
    return r.pod.label("refuse") ? status::unschedulable("refused") : status::success();
  }
  void unreserve(const reservation&) noexcept {}
};

kernel_table with(auto... plugins) {
  return profile{priority_sort{}, gang_scheduling{}, node_unschedulable{}, node_resources_fit{}, std::move(plugins)...};
}

pod_id run_on(world& w, const std::string& name, const std::string& node, std::int64_t cores,
              std::int32_t priority = 0) {
  return w.add(a_pod{name}.cpu(cores).priority(priority).on(w.node(node)));
}

}  // namespace

TEST_CASE("a post-filter finds who has to go: a nomination and evictions, and only those", "[engine][trial]") {
  small_preemption first;
  last_resort second;
  world w{with(first, second)};
  w.add(a_node{"cordoned"}.cpu(8).unschedulable());
  w.add(a_node{"important"}.cpu(4));
  w.add(a_node{"n"}.cpu(4));
  run_on(w, "boss", "important", 4, 9);
  run_on(w, "small", "n", 1);
  run_on(w, "large", "n", 2);
  run_on(w, "equal", "n", 1, 5);
  w.add(a_pod{"p"}.cpu(2).priority(5));
  CHECK(w.run() == words{"nominate p n", "evict large n"});
  CHECK(w.cluster.nominated_node_of(w.pod("p")) == w.node("n"));
  CHECK(*first.asked == words{"p"});
  CHECK(second.asked->empty());
  // Nothing of the trial is left.
  CHECK(w.cluster.requested(w.node("n"), "cpu") == 4000);
  CHECK(w.cluster.node_of(w.pod("large")) == w.node("n"));
  CHECK(w.cluster.state_of(w.pod("p")) == pod_state::pending);
  CHECK(w.scheduler.verify());
  CHECK(w.run().empty());
}

TEST_CASE("the nominated node is tried first, even if another is better by now", "[engine][trial]") {
  world w{with(small_preemption{})};
  w.add(a_node{"n"}.cpu(4));
  const pod_id victim = run_on(w, "victim", "n", 4);
  w.add(a_pod{"p"}.cpu(3).priority(5));
  CHECK(w.run() == words{"nominate p n", "evict victim n"});
  const bool better = GENERATE(false, true);
  if (better) {
    w.remove(victim);
    w.add(a_node{"empty"}.cpu(64));
    CHECK(w.run() == words{"bind p n"});
  } else {
    // The victim takes its time: another node will do.
    w.add(a_node{"empty"}.cpu(64));
    CHECK(w.run() == words{"bind p empty"});
  }
  CHECK_FALSE(w.cluster.nominated_node_of(w.pod("p")));
}

TEST_CASE("a search in vain leaves the cluster as it was, to the bit", "[engine][trial]") {
  small_preemption first;
  last_resort second;
  world w{with(first, second)};
  w.add(a_node{"n"}.cpu(4));
  for (int i = 0; i < 4; ++i) run_on(w, "r" + std::to_string(i), "n", 1, i);
  w.add(a_pod{"p"}.cpu(4).priority(2));
  CHECK(w.counts() == places{1, 0, 0, 0, 0});
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"reject p"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
  CHECK(*second.asked == words{"p"});  // unschedulable: the next is asked
  CHECK(w.scheduler.verify());
}

TEST_CASE("a post-filter that says unresolvable stops the later ones", "[engine][trial]") {
  last_resort second;
  world w{with(small_preemption{}, second)};
  w.add(a_pod{"p"}.label("may", "never"));
  CHECK(w.run() == words{"reject p"});
  CHECK(second.asked->empty());
}

TEST_CASE("a post-filter is asked when no node fits, not when a reserve hook refuses", "[engine][trial]") {
  small_preemption asked;
  world w{with(asked, refuses{})};
  w.add(a_node{"n"}.cpu(4));
  run_on(w, "low", "n", 1);
  w.add(a_pod{"p"}.cpu(1).priority(5).label("refuse", "yes"));
  CHECK(w.run() == words{"reject p"});
  CHECK(asked.asked->empty());
}

TEST_CASE("in a trial a plugin's own counts follow who is taken away and put back", "[engine][trial]") {
  world w{with(careless{}, small_preemption{}, lonely{})};
  w.add(a_node{"n"}.cpu(8));
  const pod_id other = w.add(a_pod{"other"}.cpu(1).label("lonely", "yes").on(w.node("n")));
  run_on(w, "plain", "n", 1);
  w.add(a_pod{"p"}.cpu(1).priority(5).label("lonely", "yes"));
  CHECK(w.run() == words{"nominate p n", "evict other n"});
  w.remove(other);
  CHECK(w.run() == words{"bind p n"});
}

TEST_CASE("a nomination that nothing supports any more is taken back", "[engine][trial]") {
  world w{with(small_preemption{})};
  w.add(a_node{"n"}.cpu(2));
  const pod_id victim = run_on(w, "victim", "n", 2);
  const pod_id p = w.add(a_pod{"p"}.cpu(2).priority(5));
  CHECK(w.run() == words{"nominate p n", "evict victim n"});
  w.remove(victim);
  run_on(w, "faster", "n", 2, 9);
  CHECK(w.run() == words{"reject p"});
  CHECK_FALSE(w.cluster.nominated_node_of(p));
  CHECK(w.run_at(6min) == words{"reject p"});
  CHECK_FALSE(w.cluster.nominated_node_of(p));
}

TEST_CASE("a victim that only waits in the permit room is taken back by the engine itself", "[engine][trial]") {
  world w{with(small_preemption{})};
  w.add(a_node{"n"}.cpu(2));
  const group_id gang = w.add(a_gang{"gang", 2}.permit());
  w.add(a_pod{"waiting"}.cpu(2).in(gang));
  w.add(a_pod{"too-large"}.cpu(9).in(gang));
  CHECK(w.run() == words{"wait waiting n", "reject too-large"});
  w.add(a_pod{"p"}.cpu(2).priority(5));
  const words all = w.run();
  CHECK(all == words{"nominate p n", "revoke waiting n", "bind p n"});
  CHECK(w.permit().empty());
  CHECK(w.cluster.requested(w.node("n"), "cpu") == 2000);
}

TEST_CASE("a group that does not fit may have others evicted, and is placed when they are gone", "[engine][trial]") {
  group_clearing asked;
  world w{with(asked)};
  w.add(a_node{"n"}.cpu(2));
  w.add(a_node{"m"}.cpu(2));
  const pod_id a = run_on(w, "a", "n", 2);
  const pod_id b = run_on(w, "b", "m", 1);
  run_on(w, "stays", "m", 1, 9);
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(a_pod{"g0"}.cpu(1).priority(3).in(gang));
  w.add(a_pod{"g1"}.cpu(1).priority(3).in(gang));
  CHECK(w.counts() == places{1, 0, 0, 0, 0});
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(w.run() == words{"evict a n", "evict b m"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
  CHECK(*asked.asked == words{"gang"});
  w.remove(b);
  w.remove(a);
  CHECK(sorted(w.run()) == words{"bind g0 n", "bind g1 n"});
}

TEST_CASE("a group for which nobody can be evicted is rejected member by member", "[engine][trial]") {
  group_clearing asked;
  world w{with(asked)};
  w.add(a_node{"n"}.cpu(2));
  const group_id gang = w.add(a_gang{"gang", 2});
  w.add(a_pod{"g0"}.cpu(2).in(gang));
  w.add(a_pod{"g1"}.cpu(2).in(gang));
  CHECK(w.run() == words{"reject g0", "reject g1"});
  CHECK(asked.asked->size() == 1);
  CHECK(w.cluster.assumed().empty());
}

TEST_CASE("a plan may move victims: the host is told where they find room, and nothing of the trial is left",
          "[engine][trial]") {
  const bool back = GENERATE(false, true);
  world w{with(mover{back})};
  w.add(a_node{"n"}.cpu(4));
  w.add(a_node{"m"}.cpu(4));
  w.add(a_node{"full"}.cpu(4));
  run_on(w, "a", "n", 2);
  run_on(w, "b", "m", 2);
  run_on(w, "c", "full", 4, 9);
  w.add(a_pod{"p"}.cpu(4).priority(5));
  CHECK(w.run() == words{"nominate p n", "evict a n", "nominate a m"});
  CHECK(w.cluster.requested(w.node("n"), "cpu") == 2000);
  CHECK(w.cluster.requested(w.node("m"), "cpu") == 2000);
  CHECK(w.cluster.node_of(w.pod("a")) == w.node("n"));
  CHECK(w.cluster.state_of(w.pod("a")) == pod_state::bound);
  CHECK(w.scheduler.verify());
}

}  // namespace gangsched::testing::trial_test
