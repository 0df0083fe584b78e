// KAI's policy on the queues of a cluster: turns, limits, and who goes or moves.
#include "gangsched/policies/kai_snapshot.hpp"

#include "gangsched/model/inside.hpp"

#include "queue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::kai_policy_test {

namespace {

using namespace std::chrono_literals;

/// Queues of GPUs that deserve so many, and jobs in them.
struct kai_world : queue_world {
  explicit kai_world(kai_policy::options chosen = {})
      : queue_world(
            profile{kai_policy{std::move(chosen)}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}}) {}

  void queue(const char* name, std::int64_t deserved, std::optional<std::int64_t> limit = {}, const char* parent = "") {
    queue_spec spec = queue_of("nvidia.com/gpu", name, 0, limit.value_or(-1), parent);
    queue_quota& quota = spec.quotas.front();
    quota.guaranteed["nvidia.com/gpu"] = deserved;
    for (const char* resource : {"cpu", "memory"}) quota.guaranteed[resource] = quantity::from_milli(unbounded);
    quota.guaranteed["memory"] = kai_snapshot::unbounded;
    queue_world::queue(spec);
  }
  static constexpr std::int64_t unbounded = kai_snapshot::unbounded;

  /// A gang of pods with so many GPUs each; on @p nodes as far as they go.
  group_id job(const std::string& name, const char* queue, int pods, std::int64_t gpus, std::int32_t least = 0,
               std::int32_t priority = 50, const std::vector<std::string>& nodes = {}) {
    return queue_world::job(a_gang{name, least == 0 ? pods : least}.priority(priority), queue,
                            a_pod{""}.cpu_milli(100).gpus(gpus), pods, priority, nodes);
  }
};

}  // namespace

TEST_CASE("queues take turns by their fair shares, and stop at their limits", "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(6));
  w.queue("research", 2);
  w.queue("product", 2, 2);
  for (int i = 0; i < 4; ++i) w.job("r" + std::to_string(i), "research", 1, 1);
  for (int i = 0; i < 4; ++i) w.job("p" + std::to_string(i), "product", 1, 1);
  std::string turns;
  words rejected;
  for (const std::string& one : w.run())
    if (one.starts_with("bind "))
      turns += one[5];
    else
      rejected.push_back(one);
  CHECK(std::ranges::count(turns, 'p') == 2);
  CHECK(std::ranges::count(turns, 'r') == 4);
  CHECK(turns.find('p') < 2);
  CHECK(rejected == words{"reject p2-0", "reject p3-0"});
}

TEST_CASE("GPUs that only devices name count as those that containers request", "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(8));
  w.queue("q", 8);
  const auto gpus_of = [&](a_pod one) {
    one.cpu(1).spec.queue = "q";
    const pod_id pod = w.add(one);
    const kai_snapshot read{cluster_view{detail::inside(w.cluster)}, "nvidia.com/gpu", 100};
    const double gpus = read.table.sum_of(std::vector{read.task_of_pod[pod.row]})[2];
    w.remove(pod);
    return gpus;
  };
  CHECK(gpus_of(a_pod{"a"}.cards(3)) == 3);
  CHECK(gpus_of(a_pod{"a"}.gpus(3).cards(3)) == 3);
  CHECK(gpus_of(a_pod{"a"}.milli(250)) == 0.25);
  CHECK(gpus_of(a_pod{"a"}.device({.count = 2, .milli = 0, .memory_percent = 50})) == 1);
  CHECK(gpus_of(a_pod{"a"}.device({.count = 2, .mig_profile = "3g.20gb"})) == 6);
  CHECK(gpus_of(a_pod{"a"}.device({.first_of = {{.count = 2}, {.count = 4}}})) == 2);
}

TEST_CASE("a job that is not preemptible stays within what its queue deserves", "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(4));
  w.queue("q", 2);
  w.job("first", "q", 1, 2, 0, 100);
  w.job("second", "q", 1, 1, 0, 100);
  w.job("train", "q", 1, 2, 0, 50);
  CHECK(sorted(w.run()) == words{"bind first-0 n", "bind train-0 n", "reject second-0"});
}

TEST_CASE("a queue takes its own back from who holds more than its fair share, the newest first", "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(4));
  w.queue("owner", 2);
  w.queue("borrower", 2);
  for (int i = 0; i < 4; ++i) w.job("b" + std::to_string(i), "borrower", 1, 1, 0, 50, {"n"});
  w.job("o", "owner", 2, 1);
  CHECK(sorted(w.run()) == words{"evict b2-0 n", "evict b3-0 n", "nominate o-0 n", "nominate o-1 n"});
}

TEST_CASE("nothing is taken from a queue within its fair share, nor from jobs that are not preemptible",
          "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(4));
  w.queue("owner", 2);
  w.queue("other", 2);
  w.job("a", "other", 1, 2, 0, 50, {"n"});
  w.job("b", "owner", 1, 2, 0, 50, {"n"});
  w.job("more", "owner", 1, 1);
  CHECK(sorted(w.run()) == words{"reject more-0"});
  kai_world fixed;
  fixed.add(a_node{"n"}.cpu(64).gpus(4));
  fixed.queue("owner", 2);
  fixed.queue("other", 2);
  fixed.job("a", "other", 1, 4, 0, 120, {"n"});
  fixed.job("b", "owner", 1, 2);
  CHECK(sorted(fixed.run()) == words{"reject b-0"});
}

TEST_CASE("a gang above its minimum loses its surplus, and no more than is needed", "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(4));
  w.queue("owner", 1);
  w.queue("borrower", 3);
  w.job("elastic", "borrower", 4, 1, 2, 50, {"n", "n", "n", "n"});
  w.job("o", "owner", 1, 1);
  CHECK(sorted(w.run()) == words{"evict elastic-3 n", "nominate o-0 n"});
}

TEST_CASE("a job of higher priority takes room from its own queue", "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(2));
  w.queue("q", 2);
  w.queue("idle", 0);
  w.job("train", "q", 1, 2, 0, 50, {"n"});
  w.job("build", "q", 2, 1, 0, 100);
  CHECK(sorted(w.run()) == words{"evict train-0 n", "nominate build-0 n", "nominate build-1 n"});
}

TEST_CASE("jobs move closer together where that makes room, and nobody is evicted for good", "[engine][kai]") {
  const auto run = [](kai_policy::actions actions) {
    kai_world w{{.actions = actions}};
    w.add(a_node{"n"}.cpu(64).gpus(2));
    w.add(a_node{"m"}.cpu(64).gpus(2));
    w.queue("q", 4);
    w.job("a", "q", 1, 1, 0, 50, {"n"});
    w.job("b", "q", 1, 1, 0, 50, {"m"});
    w.job("large", "q", 1, 2);
    return sorted(w.run());
  };
  CHECK(run({}) == words{"evict b-0 m", "nominate b-0 n", "nominate large-0 m"});
  CHECK(run({.consolidate = false}) == words{"reject large-0"});
}

TEST_CASE("who is promised room waits for those who leave it, and has it when they are gone", "[engine][kai]") {
  kai_world w;
  w.add(a_node{"n"}.cpu(64).gpus(2));
  w.queue("owner", 2);
  w.queue("borrower", 0);
  w.job("b", "borrower", 1, 2, 0, 50, {"n"});
  w.job("o", "owner", 1, 2);
  CHECK(sorted(w.run()) == words{"evict b-0 n", "nominate o-0 n"});
  w.must(w.cluster.set_terminating(w.pod("b-0"), true));
  w.run();
  CHECK(w.cluster.nominated_node_of(w.pod("o-0")) == w.node("n"));
  w.remove(w.pod("b-0"));
  CHECK(w.run_at(60s) == words{"bind o-0 n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("who takes over room that only a nomination kept has it without anybody leaving", "[engine][kai]") {
  kai_world w{{.actions = {.consolidate = false}}};
  w.add(a_node{"n"}.cpu(64).gpus(3));
  w.add(a_node{"m"}.cpu(64).gpus(2));
  w.add(a_node{"k"}.cpu(64).gpus(2));
  w.queue("c", 0);
  w.queue("d", 0);
  w.ask(a_pod{"v"}.gpus(3).on(w.node("n")), "d", 0);
  w.ask(a_pod{"d"}.gpus(1).on(w.node("m")), "d", 0);
  w.ask(a_pod{"c"}.gpus(1).on(w.node("k")), "c", 0);
  w.ask(a_pod{"hi"}.gpus(3), "d", 1);
  CHECK(w.run_at(1s) == words{"nominate hi n", "evict v n"});
  w.ask(a_pod{"x"}.gpus(3), "c", 0);
  w.remove(w.pod("v"));
  words said = w.run_at(2s);
  for (int second = 3; second < 20; ++second)
    for (const std::string& one : w.run_at(std::chrono::seconds{second})) said.push_back(one);
  CHECK(count(said, "bind x n") == 1);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a job is protected while it has run for less than the minimum", "[engine][kai]") {
  const auto run = [](instant least) {
    kai_world w{{.default_reclaim_min_runtime = least}};
    w.add(a_node{"n"}.cpu(64).gpus(2));
    w.queue("owner", 2);
    w.queue("borrower", 0);
    group_spec spec{.name = "b", .queue = "borrower"};
    spec.policy = gang{.min_count = 1};
    spec.priority = 50;
    a_pod running{"b-0"};
    running.gpus(2).priority(50).in(w.add(spec)).on(w.node("n"));
    running.spec.start_time = instant{0};
    w.add(running);
    w.job("o", "owner", 1, 2);
    w.now = 30s;
    return sorted(w.run());
  };
  CHECK(run(20s) == words{"evict b-0 n", "nominate o-0 n"});
  CHECK(run(40s) == words{"reject o-0"});
}

TEST_CASE("arguments of KAI's policy are checked by name", "[engine][kai]") {
  CHECK_FALSE(kai_policy::check({}));
  CHECK(kai_policy::check({.saturation_multiplier = 0.5})->field == "saturation_multiplier");
  CHECK(kai_policy::check({.most_moved_jobs = -2})->field == "most_moved_jobs");
  CHECK(kai_policy::check({.gpu = ""})->field == "gpu");
}

namespace {

/// With it what filters say may depend on more than the node, so that nothing is remembered of nodes that refused.
struct looks_at_all {
  static constexpr std::string_view name = "LooksAtAll";
  using points = implements<point::filter>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::nothing>) const { return 0; }
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
};

/// A cluster full of jobs by dice, and one more.
struct full_world : queue_world {
  full_world(kernel_table table, std::uint64_t seed) : queue_world(std::move(table)), roll(seed) {
    for (const char* const name : {"a", "b", "c"}) {
      queue_spec spec = queue_of("nvidia.com/gpu", name, roll.between(0, 6), roll.percent(20) ? 12 : -1);
      spec.quotas[0].guaranteed["cpu"] = roll.between(4, 16);
      spec.quotas[0].guaranteed["memory"] = kai_snapshot::unbounded;
      queue(spec);
    }
    std::vector<std::string> places;  // one for each GPU
    for (std::int64_t i = 0, nodes = roll.between(3, 8); i < nodes; ++i) {
      const std::int64_t gpus = roll.between(1, 4);
      add(a_node{"n" + std::to_string(i)}.cpu(8).gpus(gpus));
      places.insert(places.end(), static_cast<std::size_t>(gpus), "n" + std::to_string(i));
    }
    for (int number = 0; !places.empty(); ++number) {
      std::vector<std::string> on;
      for (std::size_t pods = 1 + roll.below(3); pods > 0 && !places.empty(); --pods) {
        const std::size_t which = roll.below(places.size());
        on.push_back(places[which]);
        places.erase(places.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (roll.percent(10)) continue;  // their places stay free
      const auto members = static_cast<int>(on.size());
      job(a_gang{"r" + std::to_string(number), roll.percent(50) ? members : 1}.priority(priority()), some_queue(),
          a_pod{""}.cpu(1).gpus(1), members, 40, on);
    }
    const auto members = static_cast<int>(roll.between(1, 5));
    job(a_gang{"more", members}.priority(priority()), some_queue(), a_pod{""}.cpu(1).gpus(roll.between(1, 2)), members,
        50);
  }
  [[nodiscard]] std::int32_t priority() { return static_cast<std::int32_t>(roll.below(4) * 20 + 30); }
  [[nodiscard]] std::string some_queue() { return std::string(1, "abc"[roll.below(3)]); }
  dice roll;
};

}  // namespace

TEST_CASE("who goes or moves is the same whether nodes that refused a class are asked again or not",
          "[engine][kai][property]") {
  std::ptrdiff_t evicted = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    CAPTURE(seed);
    full_world some{profile{kai_policy{}, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}}, seed};
    full_world each{profile{kai_policy{}, scheduling_gates{}, node_resources_fit{}, looks_at_all{}, gang_scheduling{}},
                    seed};
    const words said = some.cycle();
    REQUIRE(said == each.cycle());
    evicted += count(said, "evict");
    moved += count(said, "nominate r");
  }
  CHECK(evicted > 100);
  CHECK(moved > 20);
}

}  // namespace gangsched::testing::kai_policy_test
