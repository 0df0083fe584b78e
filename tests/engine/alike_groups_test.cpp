// Groups that are alike wait in one line: one of them is tried for an event, and who is placed, where and when is as if all were.
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::alike_groups_test {

namespace {

/// The first @p lacking members are returned instead.
std::vector<a_pod> add_gang(world& w, const std::string& name, int size, std::int64_t cores,
                            std::optional<std::int32_t> priority = {}, int lacking = 0) {
  group_spec spec = a_gang(name, size);
  spec.priority = priority;
  const group_id group = w.add(spec);
  std::vector<a_pod> left;
  for (int i = 0; i < size; ++i) {
    a_pod member{name + "-" + std::to_string(i)};
    member.cpu(cores).in(group);
    member.spec.priority = priority.value_or(0);
    if (i < lacking)
      left.push_back(member);
    else
      w.add(member);
  }
  return left;
}

/// Says of every group by itself whether it may go, so that no two are alike.
struct by_name {
  static constexpr std::string_view name = "ByName";
  using points = implements<point::group_pre_filter>;
  [[nodiscard]] status group_pre_filter(const group_view& group) const {
    return group.name() == "g7" ? status::success() : status::unschedulable("not this one");
  }
};

/// The same by its members, which are of one class.
struct by_pod {
  static constexpr std::string_view name = "ByPod";
  using points = implements<point::filter>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  void finish_filter(const pod_info& pod, std::span<filtered_group> groups) const {
    for (filtered_group& group : groups)
      if (!pod.name().starts_with("g7-")) group.verdict = status::unschedulable("not this one");
  }
};

/// What became of a random cluster, event by event.
struct history {
  std::vector<words> placed;
  std::uint64_t attempts = 0;
};

/// Who waits is tried in order of arrival, whenever he failed.
kernel_table by_age() {
  return profile{scheduling_gates{}, arrival_sort{}, node_resources_fit{}, gang_scheduling{}, group_preemption{}};
}

history play(std::uint64_t seed, wake_rule rule, kernel_table profile) {
  dice roll{seed};
  const std::chrono::seconds backoff{roll.percent(50) ? 10 : 0};
  world w{std::move(profile), {.ties = tie_rule::lowest_row, .max_backoff = backoff, .wake = rule}};
  for (int i = 0; i < 4; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(4));
  history made;
  std::vector<pod_id> running;
  std::vector<a_pod> late;  // those without whom gangs that came are not complete
  for (int step = 0; step < 60; ++step) {
    if (roll.percent(55)) {
      const bool wide = roll.percent(30);
      const auto size = static_cast<int>(roll.between(1, 3));
      const std::int32_t priority = roll.percent(20) ? 10 : 0;
      const auto left = add_gang(w, "g" + std::to_string(step), size, wide ? 2 : 1, priority, roll.percent(30) ? 1 : 0);
      late.insert(late.end(), left.begin(), left.end());
    } else if (!late.empty() && roll.percent(40)) {
      w.add(late.front());
      late.erase(late.begin());
    } else {
      for (std::size_t gone = roll.below(4); gone > 0 && !running.empty(); --gone) {
        const std::size_t which = roll.below(running.size());
        w.remove(running[which]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    w.now += std::chrono::milliseconds{roll.between(0, 8000)};
    words bound;
    for (const std::string& one : w.run(true)) {
      if (!one.starts_with("bind ")) continue;
      bound.push_back(one);
      running.push_back(w.pod(one.substr(5, one.find(' ', 5) - 5)));
    }
    made.placed.push_back(std::move(bound));
  }
  made.attempts = w.scheduler.statistics().cycles;
  return made;
}

}  // namespace

TEST_CASE("of waiting groups that are alike one is tried for an event, and the next when it is placed",
          "[wake][gang]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  add_gang(w, "first", 8, 1);
  w.run(true);
  constexpr int waiting = 200;
  for (int i = 0; i < waiting; ++i) add_gang(w, "g" + std::to_string(i), 4, 1);
  w.run();
  w.now += 60s;
  w.run();
  std::uint64_t before = w.scheduler.statistics().cycles;

  for (int i = 0; i < 3; ++i) w.remove(w.pod("first-" + std::to_string(i)));  // room for three of four
  CHECK(w.run().size() == 3 * 4);
  CHECK(w.scheduler.statistics().cycles - before == 3);  // one for each pod that left

  before = w.scheduler.statistics().cycles;
  w.now += 60s;
  for (int i = 3; i < 8; ++i) w.remove(w.pod("first-" + std::to_string(i)));  // room for two gangs
  const words done = sorted(w.run());
  CHECK(count(done, "bind ") == 8);
  CHECK(w.scheduler.statistics().cycles - before == 5 + 2);  // and one after each that was placed
}

TEST_CASE("of waiting groups that are alike the first in the order of the queue is woken, though it failed last",
          "[wake][gang]") {
  for (const bool sorts_by_age : {true, false}) {
    INFO("by age: " << sorts_by_age);
    world w{sorts_by_age ? by_age() : kernel_table{profiles::kube_default()}};
    w.add(a_node{"n"}.cpu(2));
    add_gang(w, "first", 2, 1);
    w.run(true);
    const group_id old = w.add(a_gang("old", 2));
    w.add(a_pod{"old-0"}.cpu(1).in(old));
    w.now += 1s;
    add_gang(w, "young", 2, 1);
    w.run();
    w.now += 1s;
    w.add(a_pod{"old-1"}.cpu(1).in(old));
    w.run();
    w.now += 60s;
    w.remove(w.pod("first-0"));
    w.remove(w.pod("first-1"));
    words bound = w.run(true);
    std::erase_if(bound, [](const std::string& one) { return !one.starts_with("bind "); });
    CHECK(sorted(bound) == words{"bind old-0 n", "bind old-1 n"});  // with PrioritySort, too: a group keeps its age
  }
}

TEST_CASE("groups of which a filter goes by the pod are not alike", "[wake][gang]") {
  world w{profile{scheduling_gates{}, priority_sort{}, node_resources_fit{}, gang_scheduling{}, by_pod{}}.table()};
  for (int i = 0; i < 10; ++i) add_gang(w, "g" + std::to_string(i), 2, 1);
  w.run();
  w.now += 60s;
  w.add(a_node{"n"}.cpu(2));
  words bound = w.run();
  std::erase_if(bound, [](const std::string& one) { return !one.starts_with("bind "); });
  CHECK(sorted(bound) == words{"bind g7-0 n", "bind g7-1 n"});
}

TEST_CASE("a plugin that does not say that it ignores who a group is has every group tried", "[wake][gang]") {
  world w{profile{scheduling_gates{}, priority_sort{}, node_resources_fit{}, gang_scheduling{}, by_name{}}.table()};
  for (int i = 0; i < 10; ++i) add_gang(w, "g" + std::to_string(i), 2, 1);
  w.run();
  w.now += 60s;
  w.add(a_node{"n"}.cpu(2));
  words bound = w.run();
  std::erase_if(bound, [](const std::string& one) { return !one.starts_with("bind "); });
  CHECK(sorted(bound) == words{"bind g7-0 n", "bind g7-1 n"});
}

TEST_CASE("who is placed, where and when is as if every waiting group were tried", "[wake][gang]") {
  const bool sorts_by_age = GENERATE(false, true);
  INFO("by age: " << sorts_by_age);
  const auto table = [&] { return sorts_by_age ? by_age() : kernel_table{profiles::kube_default()}; };
  std::uint64_t few = 0, many = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    const history one = play(seed, wake_rule::one_per_class, table()), all = play(seed, wake_rule::all, table());
    for (std::size_t step = 0; step < all.placed.size(); ++step) {
      INFO("step " << step);
      REQUIRE(one.placed[step] == all.placed[step]);
    }
    few += one.attempts;
    many += all.attempts;
  }
  CHECK(few < many);
}

}  // namespace gangsched::testing::alike_groups_test
