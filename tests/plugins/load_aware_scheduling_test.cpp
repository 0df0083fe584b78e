#include "gangsched/plugins/load_aware_scheduling.hpp"

#include "explained.hpp"
#include "gangsched/model/node_load.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::load_aware_scheduling_test {

namespace {

using options = load_aware_scheduling::options;
using scores = std::vector<std::int64_t>;
using verdicts = std::map<std::string, std::string>;
constexpr instant measured_at = std::chrono::hours{1};
const std::string too_hot = "U node(s) cpu usage exceed threshold";

/// A node "n" of 100 cores and 1000 MiB, as koordlet measures it.
struct koordlet : explained {
  explicit koordlet(const options& how = {}) : explained(load_aware_scheduling{how}) {
    n = add(a_node{"n"}.cpu(100).memory("1000Mi"));
    set(node_load::measured, node_load::word(measured_at));
    set(node_load::interval, node_load::count_word(60));
    use(0, 0);
  }
  node_id n;
  void set(std::string_view column, std::int64_t word) { REQUIRE(cluster.set_column(n, column, word)); }
  void use(std::int64_t cores, std::int64_t mib) {
    set(node_load::cpu_used, node_load::count_word(1000 * cores)),
        set(node_load::memory_used, node_load::count_word(mib << 20));
  }
  /// A pod that started so long before the measurement, and is thought to use 10 cores and 100 MiB.
  pod_id running(const std::string& name, std::chrono::seconds before, std::int32_t priority = 9000) {
    a_pod made = a_pod{name}.on(n).priority(priority);
    const std::string of = priority >= 9000 ? "" : priority >= 7000 ? "kubernetes.io/mid-" : "kubernetes.io/batch-";
    made.resource(of + "memory", "100Mi");
    made.resource(of + "cpu", of.empty() ? quantity{10} : quantity{10'000});
    made.spec.start_time = measured_at - before;
    return add(made);
  }
  void uses(pod_id pod, std::int64_t cores) {
    REQUIRE(cluster.set_column(pod, node_load::cpu_used, node_load::count_word(1000 * cores)));
  }
};
options whole() { return {.factors = {100, 100}}; }
/// One whose estimate is so many cores, and 200 MiB.
a_pod asks(std::int64_t cores) { return a_pod{"p"}.cpu(cores).memory("200Mi"); }

}  // namespace

TEST_CASE("LoadAwareScheduling refuses nodes that would be used beyond a threshold", "[plugins][load]") {
  koordlet on{options{}};
  on.add(a_node{"unknown"}.cpu(1));
  on.use(55, 0);
  CHECK(on.verdicts(a_pod{"p"}.cpu(12)) == verdicts{{"n", ""}, {"unknown", ""}});  // 55 + 10.2: 65.2 rounds to 65
  CHECK(on.verdicts(a_pod{"p"}.cpu(13)) == verdicts{{"n", too_hot}, {"unknown", ""}});
  on.use(0, 900);
  CHECK(on.fitting(a_pod{"p"}.memory("78Mi")) == "n unknown");
  CHECK(on.verdicts(a_pod{"p"}.memory("88Mi"))["n"] == "U node(s) memory usage exceed threshold");
  a_pod daemon = a_pod{"p"}.cpu(99);
  CHECK(on.fitting(daemon) == "unknown");
  daemon.spec.controller = {controller_kind::daemon_set, "logs"};
  CHECK(on.fitting(daemon) == "n unknown");
}

TEST_CASE("LoadAwareScheduling scores what will be left", "[plugins][load]") {
  koordlet on{whole()};
  on.add(a_node{"unknown"}.cpu(1));
  CHECK(on.scores(asks(10)) == scores{(90 + 80) / 2, 0});
  on.use(30, 100);
  CHECK(on.scores(asks(10)) == scores{(60 + 70) / 2, 0});
  on.use(95, 100);
  on.set(node_load::cpu_threshold, node_load::count_word(0));  // refused otherwise
  CHECK(on.scores(asks(10)) == scores{(0 + 70) / 2, 0});
  on.use(30, 100);
  on.set(node_load::cpu_raw, node_load::count_word(50'000));
  CHECK(on.scores(asks(10)) == scores{(20 + 70) / 2, 0});
}

TEST_CASE("LoadAwareScheduling weighs resources, and the scarcer one again", "[plugins][load]") {
  options how = whole();
  how.weights = {3, 1}, how.dominant_weight = 4;
  koordlet on{how};
  CHECK(on.scores(asks(50)) == scores{(3 * 50 + 1 * 80 + 4 * 50) / 8});
  how.weights = {0, 0}, how.dominant_weight = 0;
  CHECK(koordlet{how}.scores(asks(50)) == scores{0});
}

TEST_CASE("LoadAwareScheduling estimates by the higher of request and limit of the pod's class", "[plugins][load]") {
  const auto left = [](a_pod pod, options how = {}) { return koordlet{how}.scores(pod).value()[0]; };
  const options cpu_only{.factors = {50, 70}, .weights = {1, 0}};
  CHECK(left(a_pod{"p"}.cpu(40), cpu_only) == 80);
  a_pod pod = a_pod{"p"}.cpu(40);
  pod.spec.containers.back().limits["cpu"] = quantity{60};
  CHECK(left(pod, cpu_only) == 70);
  pod.spec.containers.back().limits["cpu"] = quantity{10};  // at most the limit
  CHECK(left(pod, cpu_only) == 90);
  CHECK(left(a_pod{"p"}.resource("kubernetes.io/batch-cpu", quantity{40'000}).priority(5500), cpu_only) == 80);
  CHECK(left(a_pod{"p"}.resource("kubernetes.io/mid-cpu", quantity{40'000}).priority(7999), cpu_only) == 80);
  CHECK(left(a_pod{"p"}.resource("kubernetes.io/mid-cpu", quantity{40'000}).priority(8000), cpu_only) ==
        99);  // of prod
  const options memory_only{.weights = {0, 1}};
  CHECK(left(a_pod{"p"}, memory_only) == 80);
  CHECK(left(a_pod{"p"}.priority(7000), memory_only) == 100);  // mid: nothing
}

TEST_CASE("LoadAwareScheduling adds what pods will use beyond what was measured of them", "[plugins][load]") {
  options how{
      .factors = {100, 100}, .weights = {1, 0}, .settling_after_scheduled = 300, .settling_after_initialized = 30};
  koordlet on{how};
  const a_pod nothing = a_pod{"p"}.priority(7000);
  on.use(20, 0);
  const pod_id old = on.running("old", std::chrono::seconds{301});
  CHECK(on.scores(nothing) == scores{70});  // not measured
  on.uses(old, 4);
  CHECK(on.scores(nothing) == scores{80});
  const pod_id late = on.running("late", std::chrono::seconds{59});
  on.uses(late, 4);
  CHECK(on.scores(nothing) == scores{74});  // 10 − 4
  on.uses(late, 14);
  CHECK(on.scores(nothing) == scores{80});
  on.uses(late, 10);
  const pod_id settling = on.running("settling", std::chrono::seconds{299});
  on.uses(settling, 7);
  CHECK(on.scores(nothing) == scores{77});
  REQUIRE(
      on.cluster.set_column(settling, node_load::initialized, node_load::word(measured_at - std::chrono::seconds{30})));
  CHECK(on.scores(nothing) == scores{80});
  REQUIRE(
      on.cluster.set_column(settling, node_load::initialized, node_load::word(measured_at - std::chrono::seconds{29})));
  CHECK(on.scores(nothing) == scores{77});
  REQUIRE(on.cluster.remove_pod(settling));
  CHECK(on.scores(nothing) == scores{80});
  on.set(node_load::interval, node_load::count_word(18'446'744'074));  // seconds that no instant can say: for ever
  on.uses(old, 4), on.uses(late, 4);
  CHECK(on.scores(nothing) == scores{80 - 6 - 6});
}

TEST_CASE("LoadAwareScheduling takes a percentile where one is asked for", "[plugins][load]") {
  options how{.factors = {100, 100},
              .percentile_thresholds = {50, 0},
              .filtered = {"p95", 300},
              .scored = {"p99", 0},
              .weights = {1, 0}};
  koordlet on{how};
  on.use(10, 0);
  on.running("old", std::chrono::seconds{900});
  const a_pod nothing = a_pod{"p"}.priority(7000);
  CHECK(on.scores(nothing) == scores{80});  // no percentile is known: what is used, and the pod
  on.set("load.cpu.p99", node_load::count_word(70'000));
  CHECK(on.scores(nothing) == scores{20});
  CHECK(on.fitting(asks(40)) == "n");  // the period is not known: the pod's estimate alone
  CHECK(on.fitting(asks(41)).empty());
  on.set("load.cpu.p95.300", node_load::count_word(20'000));
  CHECK(on.fitting(asks(20)) == "n");
  CHECK(on.verdicts(asks(21))["n"] == "U node(s) cpu aggregated usage exceed threshold");
}

TEST_CASE("LoadAwareScheduling has thresholds for what production uses", "[plugins][load]") {
  options how{.factors = {100, 100}, .prod_thresholds = {30, 0}, .weights = {1, 0}, .score_prod = true};
  koordlet on{how};
  on.use(60, 0);
  on.set(node_load::cpu_system, node_load::count_word(5'000));
  const pod_id prod = on.running("prod", std::chrono::seconds{900}),
               batch = on.running("batch", std::chrono::seconds{900}, 5000);
  on.uses(prod, 15), on.uses(batch, 40);
  CHECK(on.scores(asks(15)) == scores{70});
  CHECK(on.fitting(asks(16)).empty());
  CHECK(on.fitting(a_pod{"p"}.priority(7000)) == "n");
  on.set(node_load::cpu_prod_threshold, node_load::count_word(40));
  CHECK(on.fitting(asks(25)) == "n");
  CHECK(on.fitting(asks(26)).empty());
  how.prod_with_system = true;
  SECTION("what is no pod's") {
    koordlet other{how};
    other.set(node_load::cpu_system, node_load::count_word(5'000));
    CHECK(other.scores(asks(15)) == scores{80});
  }
  REQUIRE(on.cluster.set_column(prod, node_load::other_class, 1));  // its estimate, 10
  CHECK(on.scores(asks(15)) == scores{75});
}

TEST_CASE("LoadAwareScheduling goes by the class of priority that labels and the class of service say",
          "[plugins][load]") {
  koordlet on{options{.factors = {100, 100}, .prod_thresholds = {30, 0}, .weights = {1, 0}, .score_prod = true}};
  on.use(60, 0);
  on.uses(on.running("prod", std::chrono::seconds{900}), 15);
  const std::string band = "koordinator.sh/priority-class", qos = "koordinator.sh/qosClass";
  CHECK(on.fitting(asks(16)).empty());  // without a word it is of production
  CHECK(on.scores(asks(15)) == scores{70});
  CHECK(on.fitting(asks(16).label(band, "koord-batch")) == "n");
  CHECK(on.fitting(asks(16).label(qos, "BE")) == "n");
  CHECK(on.fitting(asks(16).label(qos, "LS")).empty());
  CHECK(on.fitting(asks(16).label(qos, "BE").priority(9000)).empty());
  CHECK(on.fitting(asks(16).priority(5500)) == "n");
  CHECK(on.fitting(asks(16).priority(5500).label(band, "koord-prod")).empty());
  CHECK(on.fitting(asks(16).priority(3500)) == "n");
  CHECK(on.scores(asks(10).priority(3500)) == scores{40});  // of free: of all that is used, and it adds nothing
  // A pod that runs counts as production by its label, too.
  on.set(node_load::cpu_prod_threshold, node_load::count_word(90));
  pod_spec other = a_pod{"other"}.on(on.n).cpu(10).priority(9000);
  other.start_time = measured_at - std::chrono::seconds{900};
  on.uses(on.add(other), 10);
  CHECK(on.scores(asks(15)) == scores{60});
  other.labels = {{band, "koord-batch"}};
  other.node = on.n;
  REQUIRE(on.cluster.update_pod(on.cluster.find_pod("default", "other").value(), other));
  CHECK(on.scores(asks(15)) == scores{70});
}

TEST_CASE("a pod that LoadAwareScheduling refused is placed when another's label, or its own, changes its class",
          "[plugins][load][wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  options how = whole();
  how.thresholds = {0, 0}, how.prod_thresholds = {50, 0};
  gangsched::cluster on;
  scheduler s{on, profile{priority_sort{}, load_aware_scheduling{how}}, {.wake = rule}};
  const auto run_at = [&](std::chrono::seconds when) {
    while (s.schedule_cycle(when)) {
    }
  };
  const node_id n = on.add_node(a_node{"n"}.cpu(100)).value();
  REQUIRE(on.set_column(n, node_load::measured, node_load::word(measured_at)));
  REQUIRE(on.set_column(n, node_load::cpu_used, node_load::count_word(60'000)));
  pod_spec other = a_pod{"other"}.on(n).cpu(45).priority(9000);
  const pod_id o = on.add_pod(other).value(), p = on.add_pod(a_pod{"p"}.cpu(10)).value();
  run_at(std::chrono::seconds{0});
  CHECK(on.state_of(p) == pod_state::pending);
  other.labels["koordinator.sh/priority-class"] = "koord-batch";
  REQUIRE(on.update_pod(o, other));
  run_at(std::chrono::seconds{10});
  CHECK(on.state_of(p) == pod_state::assumed);
  const pod_id q = on.add_pod(a_pod{"q"}.cpu(60)).value();
  run_at(std::chrono::seconds{20});
  CHECK(on.state_of(q) == pod_state::pending);
  REQUIRE(on.update_pod(q, a_pod{"q"}.cpu(60).label("koordinator.sh/qosClass", "BE")));
  run_at(std::chrono::seconds{40});
  CHECK(on.state_of(q) == pod_state::assumed);
  CHECK(s.verify());
}

TEST_CASE("LoadAwareScheduling takes measurements however old they are if the filter does not mind",
          "[plugins][load]") {
  options how;
  how.filter_expired = false;
  koordlet on{how};
  on.use(90, 0);
  on.set(node_load::age, node_load::count_word(180));
  CHECK(on.verdicts(asks(1))["n"] == too_hot);
  on.use(30, 0);
  CHECK(on.fitting(asks(1)) == "n");
  CHECK(on.scores(asks(1)) == scores{0});  // scores mind it always
}

TEST_CASE("LoadAwareScheduling turns away from measurements that are too old", "[plugins][load]") {
  options how;
  how.allow_expired = GENERATE(false, true);
  koordlet on{how};
  on.use(90, 0);
  on.set(node_load::age, node_load::count_word(179));
  CHECK(on.verdicts(asks(1))["n"] == too_hot);
  on.set(node_load::age, node_load::count_word(180));
  CHECK(on.verdicts(asks(1))["n"] == (how.allow_expired ? "" : "U node(s) nodeMetric expired"));
  if (how.allow_expired) CHECK(on.scores(asks(1)) == scores{0});
  on.set(node_load::cpu_used, 0), on.set(node_load::memory_used, 0), on.set(node_load::age, node_load::count_word(1));
  CHECK(on.fitting(asks(1)) == "n");  // nothing was measured
  CHECK(on.scores(asks(1)) == scores{0});
}

TEST_CASE("a pod that LoadAwareScheduling refused is tried again when the node cools down", "[plugins][load]") {
  cluster on;
  scheduler scheduler{on, profile{priority_sort{}, load_aware_scheduling{}}};
  const node_id n = on.add_node(a_node{"n"}.cpu(100)).value();
  const auto use = [&](std::int64_t cores) {
    REQUIRE(on.set_column(n, node_load::measured, node_load::word(measured_at)));
    REQUIRE(on.set_column(n, node_load::cpu_used, node_load::count_word(1000 * cores)));
  };
  use(90);
  const pod_id pod = on.add_pod(a_pod{"p"}.cpu(10)).value();
  while (scheduler.schedule_cycle(instant{0})) {
  }
  CHECK(on.state_of(pod) == pod_state::pending);
  use(20);
  while (scheduler.schedule_cycle(std::chrono::seconds{10})) {
  }
  CHECK(on.state_of(pod) == pod_state::assumed);
  CHECK(scheduler.verify());
}

TEST_CASE("LoadAwareScheduling takes Koordinator's arguments by name", "[plugins][load]") {
  using fields = argument::fields;
  const auto refused = [](const argument& args) {
    const auto made = load_aware_scheduling::from(args);
    return made ? std::string{} : made.error().field;
  };
  CHECK(refused(fields{{"apiVersion", "kubescheduler.config.k8s.io/v1"},
                       {"nodeMetricExpirationSeconds", 300},
                       {"filterExpiredNodeMetrics", false},
                       {"enableScheduleWhenNodeMetricsExpired", true},
                       {"estimator", "defaultEstimator"},
                       {"allowCustomizeEstimation", true},
                       {"supportedResources", argument::list{argument{"cpu"}, argument{"memory"}}},
                       {"resourceWeights", fields{{"cpu", 2}, {"memory", 1}}},
                       {"dominantResourceWeight", 1},
                       {"usageThresholds", fields{{"cpu", 70}}},
                       {"prodUsageThresholds", fields{{"memory", 80}}},
                       {"scoreAccordingProdUsage", true},
                       {"prodUsageIncludeSys", false},
                       {"estimatedScalingFactors", fields{{"cpu", 80}}},
                       {"estimatedSecondsAfterPodScheduled", 60},
                       {"estimatedSecondsAfterInitialized", 10},
                       {"aggregated", fields{{"usageThresholds", fields{{"cpu", 60}}},
                                             {"usageAggregationType", "p95"},
                                             {"usageAggregatedDuration", "5m0s"},
                                             {"scoreAggregationType", "avg"},
                                             {"scoreAggregatedDuration", "1h"}}}})
            .empty());
  CHECK(refused(fields{{"usageThresholds", fields{{"nvidia.com/gpu", 1}}}}) == "args.usageThresholds.nvidia.com/gpu");
  CHECK(refused(fields{{"usageThresholds", fields{{"cpu", 101}}}}) == "args.usageThresholds.cpu");
  CHECK(refused(fields{{"scoreAccordingProdUsage", 1}}) == "args.scoreAccordingProdUsage");
  CHECK(refused(fields{{"aggregated", fields{{"usageAggregationType", "p75"}}}}) ==
        "args.aggregated.usageAggregationType");
  CHECK(refused(fields{{"aggregated", fields{{"usageThresholds", fields{{"cpu", 60}}}}}}) ==
        "args.aggregated.usageAggregationType");
  for (const char* text : {"", "5", "m", "5x", "5m0"})
    CHECK(refused(fields{{"aggregated", fields{{"usageAggregatedDuration", text}}}}) ==
          "args.aggregated.usageAggregatedDuration");
  CHECK(refused(fields{{"threshold", 1}}) == "args.threshold");
  CHECK(refused(fields{{"filterExpiredNodeMetrics", "no"}}) == "args.filterExpiredNodeMetrics");
  CHECK(refused(fields{{"estimator", "mine"}}) == "args.estimator");
  CHECK(refused(fields{{"allowCustomizeEstimation", "yes"}}) == "args.allowCustomizeEstimation");
  CHECK(refused(fields{{"supportedResources", argument::list{argument{"nvidia.com/gpu"}}}}) ==
        "args.supportedResources[0]");
}

TEST_CASE("LoadAwareScheduling names the number that it cannot be made with", "[plugins][load]") {
  const auto field = [](const options& of) {
    const auto wrong = load_aware_scheduling::check(of);
    return wrong ? wrong->field : std::string{};
  };
  CHECK(field({}).empty());
  CHECK(field({.factors = {1000, 1}, .weights = {100, 0}, .expiration_seconds = 1'000'000'000}).empty());
  CHECK(field({.factors = {85, 0}}) == "factors");
  CHECK(field({.factors = {1001, 70}}) == "factors");
  CHECK(field({.thresholds = {-1, 95}}) == "thresholds");
  CHECK(field({.prod_thresholds = {0, 101}}) == "prod_thresholds");
  CHECK(field({.percentile_thresholds = {101, 0}}) == "percentile_thresholds");
  CHECK(field({.weights = {1, -1}}) == "weights");
  CHECK(field({.dominant_weight = 101}) == "dominant_weight");
  CHECK(field({.expiration_seconds = -1}) == "expiration_seconds");
  CHECK(field({.settling_after_scheduled = -1}) == "settling_after_scheduled");
  CHECK(field({.settling_after_initialized = 1'000'000'001}) == "settling_after_initialized");
  CHECK(field({.filtered = {"p42", 0}}) == "filtered.type");
  CHECK(field({.filtered = {"p50", -1}}) == "filtered.seconds");
  CHECK(field({.scored = {"", 1'000'000'001}}) == "scored.seconds");
  CHECK(field({.scored = {"most", 1}}) == "scored.type");
  CHECK(field({.by_percentile = true}) == "filtered.type");
}

}  // namespace gangsched::testing::load_aware_scheduling_test
