#include <cmath>

#include "explained.hpp"
#include "gangsched/model/node_load.hpp"
#include "gangsched/plugins/load_aware_scheduling.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

// How LoadAwareScheduling estimates pod by pod: pkg/scheduler/plugins/loadaware/pod_assign_cache.go, helper.go and
// estimator/default_estimator.go, pkg/scheduler/apis/config/v1/defaults.go, apis/extension/load_aware.go of Koordinator 1.7.0.
namespace gangsched::testing::load_estimates_test {

namespace {

using namespace std::chrono_literals;
using options = load_aware_scheduling::options;
using scores = std::vector<std::int64_t>;
constexpr instant measured_at = 1h;

/// A node "n" of 100 cores and 1000 MiB of which nothing is used, measured every minute.
struct world : explained {
  explicit world(const load_aware_scheduling& plugin) : explained(plugin) {
    n = add(a_node{"n"}.cpu(100).memory("1000Mi"));
    set(node_load::measured, node_load::word(measured_at));
    set(node_load::interval, node_load::count_word(60));
    set(node_load::cpu_used, node_load::count_word(0));
    set(node_load::memory_used, node_load::count_word(0));
  }
  explicit world(const options& how) : world(load_aware_scheduling{how}) {}
  node_id n;
  void set(std::string_view column, std::int64_t word) { REQUIRE(cluster.set_column(n, column, word)); }
  void set(pod_id pod, std::string_view column, std::int64_t word) { REQUIRE(cluster.set_column(pod, column, word)); }
  /// A pod of 10 cores there that came so long before the measurement, and uses so many.
  pod_id running(const std::string& name, std::chrono::seconds before, std::int64_t uses, load_estimate said = {}) {
    a_pod made = a_pod{name}.on(n).cpu(10);
    made.spec.start_time = measured_at - before;
    made.spec.load = said;
    const pod_id pod = add(made);
    set(pod, node_load::cpu_used, node_load::count_word(1000 * uses));
    return pod;
  }
  /// What is left of a hundred cores for a pod that is thought to use none.
  std::int64_t left() { return scores(a_pod{"p"}.priority(7000)).value().at(0); }
};
/// By CPU alone.
options by_cpu(bool customized = true, std::int64_t threshold = 0) {
  return {.thresholds = {threshold, 0}, .weights = {1, 0}, .customized = customized};
}
a_pod asks(std::int64_t cores, load_estimate said, std::int64_t limit = 0) {
  a_pod made = a_pod{"p"}.cpu(cores).memory("500Mi");
  if (limit != 0) made.spec.containers.back().limits["cpu"] = quantity{limit};
  made.spec.load = said;
  return made;
}
load_aware_scheduling from(const argument& args) {
  auto made = load_aware_scheduling::from(args);
  INFO((made ? std::string{} : made.error().message()));
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("a pod says by which factors LoadAwareScheduling estimates it, where it may", "[plugins][load]") {
  // EstimatePod: the pod's factor, else that of all (cpu 85, memory 70); 40 cores are 40 %.
  CHECK(world{by_cpu()}.scores(asks(40, {.cpu_percent = 50})) == scores{80});
  CHECK(world{by_cpu(false)}.scores(asks(40, {.cpu_percent = 50})) == scores{66});
  CHECK(world{by_cpu()}.scores(asks(40, {.memory_percent = 50})) == scores{66});
  CHECK(world{by_cpu()}.scores(asks(40, {.cpu_percent = 0})) == scores{100});
  CHECK(world{by_cpu()}.scores(asks(40, {.cpu_percent = 200})) == scores{20});      // beyond what it asks for
  CHECK(world{by_cpu()}.scores(asks(10, {.cpu_percent = 200}, 15)) == scores{85});  // at most the limit
  CHECK(world{by_cpu()}.scores(asks(0, {.cpu_percent = 1})) == scores{99});         // 250m, whatever the factor
  const options by_memory{.weights = {0, 1}, .customized = true};
  CHECK(world{by_memory}.scores(asks(1, {.memory_percent = 100})) == scores{50});
  CHECK(world{by_memory}.scores(asks(1, {.cpu_percent = 100})) == scores{65});
  // Of pods that are there, too: 10 · 60 % − 2 beside the 2 of the node.
  world on{by_cpu()};
  on.set(node_load::cpu_used, node_load::count_word(2000));
  on.running("late", 30s, 2, {.cpu_percent = 60});
  CHECK(on.left() == 94);
  // The filter asks the same: 60 % of 100 cores are below the 65 that may be used, 66 % are not.
  CHECK(world{by_cpu(true, 65)}.fitting(asks(100, {.cpu_percent = 65})) == "n");
  CHECK(world{by_cpu(true, 65)}.fitting(asks(100, {.cpu_percent = 66})).empty());
}

TEST_CASE("a pod says for how long its estimate counts, where it may", "[plugins][load]") {
  // shouldEstimatePodDeadline, with factors of 100 %.
  const auto left = [](const load_estimate& said, std::optional<std::chrono::seconds> initialized = {},
                       bool customized = true) {
    world on{options{.factors = {100, 100},
                     .weights = {1, 0},
                     .settling_after_scheduled = 300,
                     .settling_after_initialized = 30,
                     .customized = customized}};
    on.set(node_load::cpu_used, node_load::count_word(4000));
    const pod_id pod = on.running("p", 200s, 4, said);
    if (initialized) on.set(pod, node_load::initialized, node_load::word(measured_at - *initialized));
    return on.left();
  };
  CHECK(left({}) == 90);  // 4 and 10 − 4: it came 200 seconds before, which is within 300
  CHECK(left({.after_scheduled = 200s}) == 96);
  CHECK(left({.after_scheduled = 201s}) == 90);
  CHECK(left({.after_scheduled = 0s}) == 96);  // never
  CHECK(left({.after_scheduled = 200s}, {}, false) == 90);
  CHECK(left({}, 40s) == 96);
  CHECK(left({.after_initialized = 40s}, 40s) == 96);
  CHECK(left({.after_initialized = 41s}, 40s) == 90);
  CHECK(left({.after_initialized = 0s}, 40s) == 90);  // as if nobody knew when it was initialized
  CHECK(left({.after_scheduled = 0s, .after_initialized = 0s}, 20s) == 96);
}

TEST_CASE("when a pod was given its node counts, not when it started", "[plugins][load]") {
  world on{options{.factors = {100, 100}, .weights = {1, 0}}};
  on.set(node_load::cpu_used, node_load::count_word(4000));
  const pod_id pod = on.running("p", 30s, 4);
  CHECK(on.left() == 90);
  on.set(pod, node_load::scheduled, node_load::word(measured_at - 60s));
  CHECK(on.left() == 96);
  on.set(pod, node_load::scheduled, node_load::word(measured_at - 59s));
  CHECK(on.left() == 90);
}

TEST_CASE("a pod that says something else of its load is looked at anew, and is of another class", "[plugins][load]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  cluster on;
  scheduler s{on, profile{priority_sort{}, load_aware_scheduling{by_cpu(true, 65)}}, {.wake = rule}};
  const node_id n = on.add_node(a_node{"n"}.cpu(100)).value();
  REQUIRE(on.set_column(n, node_load::measured, node_load::word(measured_at)));
  REQUIRE(on.set_column(n, node_load::cpu_used, node_load::count_word(0)));
  const auto said = [](std::string name, std::int64_t percent) {
    a_pod made = a_pod{std::move(name)}.cpu(80);
    made.spec.load.cpu_percent = percent;
    return made.spec;
  };
  const pod_id hot = on.add_pod(said("hot", 90)).value(), cool = on.add_pod(said("cool", 40)).value();
  const auto run_at = [&](instant when) {
    while (s.schedule_cycle(when)) {
    }
  };
  run_at(0s);
  CHECK(on.state_of(hot) == pod_state::pending);
  CHECK(on.state_of(cool) == pod_state::assumed);
  REQUIRE(on.update_pod(hot, said("hot", 30)));
  run_at(1000s);
  CHECK(on.state_of(hot) == pod_state::assumed);
  CHECK(s.verify());
  for (const auto& [percent, seconds] : {std::pair{-1, 0}, std::pair{0, -1}}) {
    pod_spec wrong = said("wrong", percent);
    wrong.load.after_initialized = std::chrono::seconds{seconds};
    const auto refused = on.add_pod(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == (percent < 0 ? "load.cpu_percent" : "load.after_initialized"));
    CHECK(refused.error().reason == "is negative");
  }
}

TEST_CASE("nodes have thresholds of their own for a percentile of their own", "[plugins][load]") {
  // generateUsageThresholdsFilterProfile: what a node says replaces what is said of all, kind by kind.
  const bool others = GENERATE(false, true);
  options how{.factors = {100, 100}, .thresholds = {20, 0}, .weights = {1, 0}};
  if (others) how.percentile_thresholds = {90, 0}, how.filtered = {"p50", 300};
  world on{how};
  on.set(node_load::cpu_used, node_load::count_word(10'000));
  if (others) on.set("load.cpu.p50.300", node_load::count_word(10'000));
  CHECK(on.fitting(asks(others ? 80 : 10, {})) == "n");
  CHECK(on.fitting(asks(others ? 81 : 11, {})).empty());
  on.set(node_load::cpu_percentile_threshold, node_load::count_word(50));
  on.set(node_load::cpu_percentile, node_load::count_word(35'000));
  CHECK(on.fitting(asks(15, {})) == "n");
  CHECK(on.verdicts(asks(16, {}))["n"] == "U node(s) cpu aggregated usage exceed threshold");
  on.set(node_load::cpu_percentile, 0);  // not measured: the estimates of its pods alone
  on.running("old", 900s, 1);
  CHECK(on.fitting(asks(40, {})) == "n");
  CHECK(on.fitting(asks(41, {})).empty());
  on.set(node_load::cpu_percentile_threshold, node_load::count_word(0));  // none, and those of all are not looked at
  CHECK(on.fitting(asks(99, {})) == "n");
}

TEST_CASE("what a reservation holds nobody uses", "[plugins][load]") {
  world on{options{.factors = {100, 100}, .weights = {1, 0}}};
  pod_spec held = a_pod{"held"}.on(on.n).cpu(30);
  held.reservation.emplace().owners.push_back({.labels = label_selector{.match_labels = {{"a", "b"}}}});
  on.add(held);
  CHECK(on.left() == 100);
  on.add(a_pod{"pod"}.on(on.n).cpu(30));
  CHECK(on.left() == 70);
}

TEST_CASE("LoadAwareScheduling has Koordinator's defaults for what its arguments do not name", "[plugins][load]") {
  using fields = argument::fields;
  // SetDefaults_LoadAwareSchedulingArgs: 40 cores and 500 MiB, of factors 85 and 70, leave 66 and 65.
  const a_pod pod = asks(40, {});
  const auto score = [&](const argument& args) { return world{from(args)}.scores(pod); };
  CHECK(score(fields{}) == scores{65});
  CHECK(score(fields{{"resourceWeights", fields{}}}) == scores{65});
  CHECK(score(fields{{"resourceWeights", fields{{"cpu", 1}}}}) == scores{66});
  const a_pod little_cpu = asks(10, {});  // 91 and 65
  const auto scarcest = [&](const argument& args) { return world{from(args)}.scores(little_cpu); };
  CHECK(scarcest(fields{{"dominantResourceWeight", 3}}) == scores{65});  // and no weights beside it
  CHECK(scarcest(fields{{"dominantResourceWeight", 3}, {"resourceWeights", fields{{"cpu", 3}}}}) == scores{78});
  CHECK(score(fields{{"estimatedScalingFactors", fields{{"memory", 100}}}}) == scores{58});
  const a_pod much_cpu = asks(90, {});
  const auto fits = [&](const argument& args) { return world{from(args)}.fitting(much_cpu) == "n"; };
  CHECK(!fits(fields{}));  // 76.5 % are above 65
  CHECK(!fits(fields{{"usageThresholds", fields{}}}));
  CHECK(fits(fields{{"usageThresholds", fields{{"memory", 95}}}}));
  const auto aggregated = [](const argument& thresholds) {
    return fields{{"aggregated", fields{{"usageThresholds", thresholds}, {"usageAggregationType", "p95"}}}};
  };
  CHECK(!fits(aggregated(fields{})));
  CHECK(!fits(aggregated(fields{{"cpu", 70}})));
  CHECK(fits(aggregated(fields{{"cpu", 0}})));  // there are some, and they refuse nobody
  CHECK(fits(fields{{"allowCustomizeEstimation", false}, {"usageThresholds", fields{{"cpu", 77}}}}));
  const a_pod own = asks(90, {.cpu_percent = 10});
  CHECK(world{from(fields{{"allowCustomizeEstimation", true}})}.fitting(own) == "n");
  CHECK(world{from(fields{{"allowCustomizeEstimation", false}})}.fitting(own).empty());
}

namespace {

/// Koordinator's podAssignCache in so many words, for pods of prod and CPU alone.
struct reference {
  struct known_pod {
    std::int64_t request, limit, used;  // used −1: not measured
    std::optional<std::int64_t> factor, after_scheduled, after_initialized;
    std::int64_t scheduled, initialized;  // seconds after the measurement; initialized 1 << 40: not known
    bool other_class;
  };
  std::int64_t factor, after_scheduled, after_initialized, interval, used;
  bool customized;
  std::vector<known_pod> pods = {};

  std::int64_t estimate(const known_pod& pod) const {
    const std::int64_t most = std::max(pod.request, pod.limit);
    if (most == 0) return 250;
    const std::int64_t by = customized && pod.factor ? *pod.factor : factor;
    const auto made = static_cast<std::int64_t>(std::round(static_cast<double>(most) * static_cast<double>(by) / 100));
    return pod.limit > 0 && made > pod.limit ? pod.limit : made;
  }
  bool should(const known_pod& pod) const {
    std::int64_t scheduled = -1, initialized = -1;
    if (customized) scheduled = pod.after_scheduled.value_or(-1), initialized = pod.after_initialized.value_or(-1);
    if (scheduled < 0) scheduled = after_scheduled;
    if (initialized < 0) initialized = after_initialized;
    std::optional<std::int64_t> deadline;
    if (initialized > 0 && pod.initialized != std::int64_t{1} << 40)
      deadline = pod.initialized + initialized;
    else if (scheduled > 0)
      deadline = pod.scheduled + scheduled;
    return pod.used < 0 || -interval < pod.scheduled || (deadline && *deadline > 0);
  }
  /// What the node uses, or pods of prod there.
  std::int64_t base(bool prod) const {
    std::int64_t sum = prod ? 0 : used;
    for (const known_pod& pod : pods) {
      const bool counts = !prod || !pod.other_class;
      if (prod && counts && pod.used >= 0) sum += pod.used;
      if (prod && !counts && pod.used >= 0)
        sum += estimate(pod);
      else if (should(pod))
        sum += std::max<std::int64_t>(0, estimate(pod) - std::max<std::int64_t>(pod.used, 0));
    }
    return sum;
  }
};

}  // namespace

TEST_CASE("LoadAwareScheduling adds up pods of any kind as a plain reference does", "[plugins][load]") {
  dice random{20260401};
  for (int round = 0; round < 300; ++round) {
    const auto maybe = [&](std::int64_t least, std::int64_t most) -> std::optional<std::int64_t> {
      if (random.percent(60)) return std::nullopt;
      return random.between(least, most);
    };
    reference by{.factor = random.between(1, 100),
                 .after_scheduled = maybe(0, 200).value_or(0),
                 .after_initialized = maybe(0, 200).value_or(0),
                 .interval = random.between(0, 120),
                 .used = random.between(0, 40'000),
                 .customized = random.percent(70)};
    const bool prod = random.percent(50);
    world on{options{.factors = {by.factor, 100},
                     .thresholds = {0, 0},
                     .weights = {1, 0},
                     .score_prod = prod,
                     .settling_after_scheduled = by.after_scheduled,
                     .settling_after_initialized = by.after_initialized,
                     .customized = by.customized}};
    on.set(node_load::interval, node_load::count_word(by.interval));
    on.set(node_load::cpu_used, node_load::count_word(by.used));
    // The pod that is tried is thought to use 250m. A pod more at a time, then all of them again.
    const auto expected = [&] { return std::max<std::int64_t>(0, 100 * (100'000 - by.base(prod) - 250) / 100'000); };
    for (int i = 0; i < 6; ++i) {
      reference::known_pod one{.request = random.between(0, 8) * 1000,
                               .limit = random.percent(50) ? random.between(0, 8) * 1000 : 0,
                               .used = random.percent(25) ? -1 : random.between(0, 9000),
                               .factor = maybe(0, 150),
                               .after_scheduled = maybe(0, 200),
                               .after_initialized = maybe(0, 200),
                               .scheduled = random.between(-200, 20),
                               .initialized = random.percent(50) ? std::int64_t{1} << 40 : random.between(-200, 20),
                               .other_class = random.percent(30)};
      a_pod made = a_pod{"p" + std::to_string(i)}.on(on.n).cpu_milli(one.request).priority(9000);
      if (one.limit != 0) made.spec.containers.back().limits["cpu"] = quantity::from_milli(one.limit);
      made.spec.load = {.cpu_percent = one.factor};
      if (one.after_scheduled) made.spec.load.after_scheduled = std::chrono::seconds{*one.after_scheduled};
      if (one.after_initialized) made.spec.load.after_initialized = std::chrono::seconds{*one.after_initialized};
      made.spec.start_time = measured_at + std::chrono::seconds{one.scheduled};
      const pod_id pod = on.add(made);
      if (one.used >= 0) on.set(pod, node_load::cpu_used, node_load::count_word(one.used));
      if (one.other_class) on.set(pod, node_load::other_class, 1);
      if (one.initialized != std::int64_t{1} << 40)
        on.set(pod, node_load::initialized, node_load::word(measured_at + std::chrono::seconds{one.initialized}));
      by.pods.push_back(one);
      INFO("round " << round << ", pods " << i + 1 << ", prod " << prod);
      REQUIRE(on.scores(a_pod{"p"}.priority(9000)) == scores{expected()});
    }
  }
}

}  // namespace gangsched::testing::load_estimates_test
