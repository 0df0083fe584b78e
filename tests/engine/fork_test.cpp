#include "gangsched/fork.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "gangsched/framework/profile.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/plugins.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "gangsched/scheduling/observer.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::fork_test {

namespace {

/// Random doings of a host. What it does follows from the dice and from what the cluster says, so that two that are equal live alike.
struct life {
  dice any;
  instant now;
  bool queues = false;
  std::string said = {};  ///< all decisions
  std::size_t bound = 0, evicted = 0;

  void take(cluster& on, scheduler& by, const cycle& made) {
    for (const decision& one : made) {
      ((said += std::to_string(static_cast<int>(one.kind))) += ' ') += std::to_string(one.pod.row);
      ((said += '>') += std::to_string(one.node ? one.node.row : 999)) += ';';
      bound += one.kind == decision_kind::bind ? 1u : 0u, evicted += one.kind == decision_kind::evict ? 1u : 0u;
      if (one.kind == decision_kind::bind && any.percent(60)) static_cast<void>(by.confirm(one.pod));
      if (one.kind == decision_kind::evict) static_cast<void>(on.remove_pod(one.pod));
    }
  }
  static pod_spec pod(dice& by, const std::string& name, const cluster& on, bool queues) {
    a_pod made{name};
    made.cpu_milli(static_cast<int>(by.between(1, 30)) * 100).memory("1Gi").label("app", by.percent(50) ? "a" : "b");
    made.spec.priority = static_cast<std::int32_t>(by.below(3));
    if (by.percent(15)) made.spec.scheduling_gates = {"gate"};
    if (by.percent(15)) {
      made.spec.topology_spread_constraints = {
          {.topology_key = "zone", .selector = label_selector{.match_labels = {{"app", "a"}}}}};
    }
    if (by.percent(15)) made.gpus(1);
    if (const auto gang = on.find_group("default", "g" + std::to_string(by.below(6))); gang && by.percent(40))
      made.spec.group = *gang;
    if (queues) made.spec.queue = by.percent(50) ? "a" : "b";
    return made;
  }
  void step(cluster& on, scheduler& by) {
    const std::vector<pod_id> pods = on.pods();
    const std::vector<node_id> nodes = on.nodes();
    const std::string number = std::to_string(any.below(100'000));
    switch (any.below(12)) {
      case 0: {
        a_node made{"n" + number};
        made.cpu(static_cast<int>(any.between(2, 8))).memory("16Gi").label("zone", any.percent(50) ? "x" : "y");
        if (any.percent(50)) made.resource("nvidia.com/gpu", 2).cards(2, "A100", 40960);
        static_cast<void>(on.add_node(made));
        break;
      }
      case 1:
        if (nodes.size() > 3) static_cast<void>(on.remove_node(any.of(nodes)));
        break;
      case 2:
        static_cast<void>(
            on.add_group({.name = "g" + std::to_string(any.below(6)),
                          .policy = gang{.min_count = static_cast<std::int32_t>(any.between(1, 4)),
                                         .mode = any.percent(50) ? gang_mode::permit : gang_mode::group_cycle}}));
        break;
      case 3:
      case 4:
      case 5: static_cast<void>(on.add_pod(pod(any, "p" + number, on, queues))); break;
      case 6:
        if (!pods.empty()) static_cast<void>(on.remove_pod(any.of(pods)));
        break;
      case 7:
        if (const auto assumed = on.assumed(); !assumed.empty()) take(on, by, by.fail(any.of(assumed), "no"));
        break;
      case 8: now += std::chrono::seconds{any.below(40)}; break;
      case 9:
        if (const auto tried = by.pop(now); tried && *tried && (*tried)->pod)
          static_cast<void>(by.add_unschedulable((*tried)->pod, {{"NodeResourcesFit"}, {}}, now));
        break;
      case 10: take(on, by, by.permit(now)); break;
      default:
        while (const cycle made = by.schedule_cycle(now)) take(on, by, made);
    }
    said += std::to_string(inside(on).digest_with_derived());
  }
};

scheduler_options options_of(std::uint64_t seed) {
  scheduler_options made;
  made.seed = seed;
  if (seed % 3 == 0) made.wake = wake_rule::hints;
  if (seed % 4 == 0) made.ties = tie_rule::kube_heap;
  made.count_reasons = seed % 2 == 0;
  return made;
}

struct only_moved {
  static constexpr std::string_view name = "OnlyMoved";
  using points = implements<point::filter>;
  std::unique_ptr<int> own = std::make_unique<int>(1);
  [[nodiscard]] status filter(const pod_view&, node_view<reads::nothing>) const { return status::success(); }
};

/// Keeps what cannot be computed anew: who was let in last. A fork's says who asked for it.
struct remembers_last {
  static constexpr std::string_view name = "RemembersLast";
  using points = implements<point::reserve>;
  struct notes {
    std::string last;
    std::size_t forks = 0, nodes = 0;
  };
  std::shared_ptr<notes> its = std::make_shared<notes>();
  status reserve(const new_reservation& fresh) const {
    its->last = std::string{fresh.pod.name()};
    return status::success();
  }
  void unreserve(const reservation&) const noexcept {}
  [[nodiscard]] remembers_last fork(const cluster_view& to) const {
    remembers_last made;
    *made.its = *its;
    ++made.its->forks;
    to.each_node([&](const node_info&) { ++made.its->nodes; });
    ++its->forks;
    forked = made.its;
    return made;
  }
  static inline std::shared_ptr<notes> forked = {};
};

struct counting_observer final : observer {
  int hooks = 0, calls = 0;
  std::uint64_t now_ns() noexcept override { return 0; }
  void called(const observed_call&) override { ++calls; }
  void hook_ran(const observed_hook&) noexcept override { ++hooks; }
};

std::size_t settle(scheduler& by, instant now) {
  std::size_t bound = 0;
  while (const cycle made = by.schedule_cycle(now)) {
    for (const decision& one : made) bound += one.kind == decision_kind::bind ? 1u : 0u;
  }
  return bound;
}

}  // namespace

TEST_CASE("a fork and its original, told the same, decide the same, and neither shows in the other") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    cluster on{{.keep_specs = seed % 2 == 0}};
    scheduler by{on, profiles::kube_default(), options_of(seed)};
    life first{.any = dice{seed}, .now = instant{1}};
    for (std::size_t steps = 40 + seed % 50; steps-- > 0;) first.step(on, by);

    const std::uint64_t before = inside(on).digest_with_derived();
    result<forked> copy = by.fork();
    REQUIRE(copy);
    CHECK(inside(copy->cluster).digest_with_derived() == before);
    CHECK(copy->scheduler.counts().active == by.counts().active);
    CHECK(copy->scheduler.next_deadline() == by.next_deadline());

    life mine{.any = dice{seed * 7}, .now = first.now}, its = mine;
    for (int i = 0; i < 60; ++i) its.step(copy->cluster, copy->scheduler);
    REQUIRE(inside(on).digest_with_derived() == before);
    const std::uint64_t after = inside(copy->cluster).digest_with_derived();
    for (int i = 0; i < 60; ++i) mine.step(on, by);
    REQUIRE(mine.said == its.said);
    CHECK(inside(copy->cluster).digest_with_derived() == after);
    CHECK(copy->scheduler.verify());
  }
}

template <class Policy>
kernel_table beside_sort() {
  return profile{priority_sort{},      scheduling_gates{}, node_affinity_plugin{},
                 node_resources_fit{}, gang_scheduling{},  Policy{}};
}
template <class Policy>
kernel_table instead_of_sort() {
  return profile{Policy{}, scheduling_gates{}, node_affinity_plugin{}, node_resources_fit{}, gang_scheduling{}};
}

TEST_CASE("under every policy of queues a fork decides as its original") {
  const std::vector<std::pair<const char*, kernel_table (*)()>> policies{
      {"FairShare", beside_sort<fair_share_policy>},
      {"CapacityScheduling", beside_sort<capacity_scheduling_policy>},
      {"ElasticQuota", beside_sort<elastic_quota_policy>},
      {"HiveD", beside_sort<hived_policy>},
      {"Kai", instead_of_sort<kai_policy>},
      {"Kueue", instead_of_sort<kueue_policy>},
      {"Volcano", instead_of_sort<volcano_policy>},
      {"YuniKorn", instead_of_sort<yunikorn_policy>}};
  for (const auto& [name, profile] : policies) {
    DYNAMIC_SECTION(name) {
      std::size_t bound = 0, evicted = 0;
      for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        cluster on;
        scheduler by{on, profile(), {.seed = seed}};
        for (const char* queue : {"a", "b"}) {
          on.queues()
              .add({.name = queue,
                    .quotas = {{.guaranteed = {{"cpu", 8}, {"memory", quantity_of("16Gi")}, {"nvidia.com/gpu", 2}}}}})
              .value();
        }
        life first{.any = dice{seed}, .now = instant{1}, .queues = true};
        for (std::size_t steps = 50 + seed % 50; steps-- > 0;) first.step(on, by);
        result<forked> copy = by.fork();
        REQUIRE(copy);
        life mine{.any = dice{seed * 7}, .now = first.now, .queues = true}, its = mine;
        for (int i = 0; i < 60; ++i) its.step(copy->cluster, copy->scheduler);
        for (int i = 0; i < 60; ++i) mine.step(on, by);
        REQUIRE(mine.said == its.said);
        bound += first.bound + mine.bound, evicted += first.evicted + mine.evicted;
      }
      CHECK(bound > 400);
      if (std::string_view{name} != "Volcano" && std::string_view{name} != "YuniKorn") CHECK(evicted != 0);
    }
  }
}

/// Pods of two virtual clusters, of half the cells each, come and go on nodes that stay: who gets which part of a node depends on what was
/// there before.
struct life_in_cells {
  dice any;
  instant now{};
  std::string said = {};
  std::size_t bound = 0, evicted = 0;

  static constexpr int nodes = 4;
  static void begin(cluster& on) {
    for (int i = 0; i < nodes; ++i)
      on.add_node(a_node{"n" + std::to_string(i)}.cpu(100).resource("nvidia.com/gpu", 8)).value();
    for (const char* queue : {"a", "b"})
      on.queues().add({.name = queue, .quotas = {{.guaranteed = {{"nvidia.com/gpu", 8 * nodes / 2}}}}}).value();
  }
  void step(cluster& on, scheduler& by) {
    const std::string number = std::to_string(any.next());
    const auto pods = on.pods();
    now += std::chrono::seconds{any.below(20)};
    if (any.percent(45) && !pods.empty()) {
      on.remove_pod(any.of(pods)).value();
    } else {
      group_id gang_of{};
      const auto size = any.between(1, 3);
      if (size > 1)
        gang_of =
            on.add_group({.name = "g" + number, .policy = gang{.min_count = static_cast<std::int32_t>(size)}}).value();
      constexpr std::array<std::int64_t, 4> sizes{1, 2, 4, 8};
      const std::int64_t gpus = any.of(sizes), priority = any.between(-1, 3);
      const char* const queue = any.percent(50) ? "a" : "b";
      for (std::int64_t i = 0; i < size; ++i) {
        a_pod made{"p" + number + "-" + std::to_string(i)};
        made.gpus(gpus);
        made.spec.priority = static_cast<std::int32_t>(priority), made.spec.queue = queue, made.spec.group = gang_of;
        on.add_pod(made).value();
      }
    }
    while (const cycle made = by.schedule_cycle(now)) {
      for (const decision& one : made) {
        ((said += std::to_string(static_cast<int>(one.kind))) += ' ') += std::to_string(one.pod.row);
        ((said += '>') += std::to_string(one.node ? one.node.row : 999)) += ';';
        if (one.kind == decision_kind::bind) by.confirm(one.pod).value(), ++bound;
        if (one.kind == decision_kind::evict) on.remove_pod(one.pod).value(), ++evicted;
      }
    }
  }
};

TEST_CASE("in a fork pods have the cells of HiveD that they have in the original") {
  std::size_t bound = 0, evicted = 0;
  counting_observer watches;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    cluster on;
    kernel_table with = beside_sort<hived_policy>();
    if (seed % 3 == 0) with = measure_hooks(std::move(with), watches);
    scheduler by{on, std::move(with), {.seed = seed}};
    life_in_cells::begin(on);
    life_in_cells first{.any = dice{seed}, .now = instant{1}};
    for (std::size_t steps = 20 + seed % 30; steps-- > 0;) first.step(on, by);
    result<forked> copy = by.fork();
    REQUIRE(copy);
    life_in_cells mine{.any = dice{seed * 7}, .now = first.now}, its = mine;
    for (int i = 0; i < 40; ++i) its.step(copy->cluster, copy->scheduler);
    for (int i = 0; i < 40; ++i) mine.step(on, by);
    REQUIRE(mine.said == its.said);
    bound += mine.bound, evicted += mine.evicted;
  }
  CHECK(bound > 1000);
  CHECK(evicted > 100);
}

TEST_CASE("a fork may be taken over, and outlives its original") {
  cluster on;
  on.add_node(a_node{"n"}.cpu(2)).value();
  scheduler by{on, profiles::kube_default()};
  for (int i = 0; i < 4; ++i) on.add_pod(a_pod{"p" + std::to_string(i)}.cpu(1)).value();
  REQUIRE(settle(by, instant{1}) == 2);
  result<forked> trial = by.fork();
  REQUIRE(trial);
  trial->cluster.add_node(a_node{"another"}.cpu(2)).value();
  REQUIRE(settle(trial->scheduler, instant{1} + std::chrono::seconds{20}) == 2);
  by = std::move(trial->scheduler);
  on = std::move(trial->cluster);
  CHECK(on.nodes().size() == 2);
  CHECK(on.assumed().size() == 4);
  for (const pod_id pod : on.assumed()) CHECK(by.confirm(pod));
}

TEST_CASE("a plugin may say how it is copied for a fork") {
  for (const bool measured : {false, true}) {
    CAPTURE(measured);
    cluster on;
    on.add_node(a_node{"n"}.cpu(4)).value();
    remembers_last plugin;
    counting_observer watches;
    kernel_table with = profile{priority_sort{}, node_resources_fit{}, plugin}.table();
    if (measured) with = measure_hooks(std::move(with), watches);
    scheduler by{on, std::move(with)};
    on.add_pod(a_pod{"before"}.cpu(1)).value();
    REQUIRE(settle(by, instant{1}) == 1);
    result<forked> copy = by.fork();
    REQUIRE(copy);
    const std::shared_ptr<remembers_last::notes> its = remembers_last::forked;
    CHECK((its->last == "before" && its->nodes == 1 && its->forks == 1 && plugin.its->forks == 1));
    copy->cluster.add_pod(a_pod{"after"}.cpu(1)).value();
    REQUIRE(settle(copy->scheduler, instant{2}) == 1);
    CHECK((its->last == "after" && plugin.its->last == "before"));
    remembers_last::forked = {};
  }
}

TEST_CASE("forks of forks go apart") {
  cluster on;
  on.add_node(a_node{"n"}.cpu(4)).value();
  scheduler by{on, profiles::kube_default()};
  result<forked> first = by.fork();
  REQUIRE(first);
  first->cluster.add_pod(a_pod{"one"}.cpu(1)).value();
  result<forked> second = first->scheduler.fork();
  REQUIRE(second);
  second->cluster.add_pod(a_pod{"two"}.cpu(1)).value();
  CHECK(settle(by, instant{1}) == 0);
  CHECK(settle(first->scheduler, instant{1}) == 1);
  CHECK(settle(second->scheduler, instant{1}) == 2);
}

TEST_CASE("a cluster alone can be forked, with its columns, budgets and what is held") {
  cluster on;
  const node_id node = on.add_node(a_node{"n"}.cpu(8)).value();
  on.add_node_column("heat").value();
  on.set_column(node, "heat", 40).value();
  on.set_held_room({.name = "team", .parts = {{node, {{"cpu", 2}}}}}).value();
  result<cluster> copy = on.fork();
  REQUIRE(copy);
  CHECK(inside(*copy).digest_with_derived() == inside(on).digest_with_derived());
  CHECK(copy->column_of(node, "heat") == 40);
  copy->set_column(node, "heat", 90).value();
  copy->remove_held_room("team").value();
  CHECK(on.column_of(node, "heat") == 40);
  CHECK(on.left_of_room("team", node, "cpu") == 2000);
}

TEST_CASE("a plugin that cannot be copied cannot be forked, and nothing is forked inside a transaction") {
  cluster on;
  kernel_table with = profiles::kube_default();
  add_plugin(with, lower(only_moved{}));
  const scheduler by{on, std::move(with)};
  const result<forked> refused = by.fork();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() == "plugin OnlyMoved: cannot be copied");

  const scheduler other{on, profiles::kube_default()};
  const transaction open{on};
  CHECK(other.fork().error().code == errc::busy);
  CHECK(on.fork().error().code == errc::busy);
}

TEST_CASE("nobody watches a fork, and its hooks are not measured") {
  cluster on;
  on.add_node(a_node{"n"}.cpu(4)).value();
  counting_observer watches;
  scheduler by{on, measure_hooks(profiles::kube_default(), watches)};
  by.observe(&watches).value();
  result<forked> copy = by.fork();
  REQUIRE(copy);
  copy->cluster.add_pod(a_pod{"p"}.cpu(1)).value();
  REQUIRE(settle(copy->scheduler, instant{1}) == 1);
  CHECK(watches.hooks == 0);
  CHECK(watches.calls == 0);
}

}  // namespace gangsched::testing::fork_test
