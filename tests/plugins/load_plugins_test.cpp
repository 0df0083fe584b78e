// Trimaran's plugins and Peaks: what they make of nodes' load, and that they are asked again when the host measures anew.
#include <cmath>

#include "explained.hpp"
#include "gangsched/model/node_load.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::load_plugins_test {

namespace {

using scores = std::vector<std::int64_t>;
constexpr instant end = std::chrono::hours{1};

/// A cluster that is asked about by one plugin, and fed by a host.
struct measured_nodes : explained {
  using explained::explained;
  node_id with_cpu(const std::string& name, std::int64_t cores, double used) {
    const node_id node = add(a_node{name}.cpu(cores).memory("100Mi"));
    set(node, node_load::measured, node_load::word(end));
    set(node, node_load::cpu_mean, node_load::word(used));
    return node;
  }
  void set(node_id node, std::string_view column, std::int64_t word) {
    REQUIRE(cluster.set_column(node, column, word));
  }
};

a_pod limited(const std::string& name, std::int64_t request_milli, std::int64_t limit_milli) {
  a_pod made = a_pod{name}.cpu_milli(request_milli);
  made.spec.containers.back().limits["cpu"] = quantity::from_milli(limit_milli);
  return made;
}

std::string refused(std::string_view plugin, const argument& args) {
  const auto made = builtin_plugins().make(plugin, args);
  return made ? std::string{} : made.error().field;
}

}  // namespace

TEST_CASE("TargetLoadPacking fills nodes up to the target and turns away from them beyond it", "[plugins][load]") {
  measured_nodes on{target_load_packing{}};
  on.with_cpu("idle", 10, 0);
  on.with_cpu("below", 10, 20);
  on.with_cpu("at", 10, 40);
  on.with_cpu("beyond", 10, 50);
  on.with_cpu("full", 10, 100);
  on.add(a_node{"unknown"}.cpu(10));
  const a_pod nothing = limited("p", 0, 0);
  CHECK(on.scores(nothing) == scores{40, 70, 100, 33, 0, 0});
  CHECK(on.scores(limited("p", 0, 2000)) == scores{70, 100, 27, 20, 0, 0});  // its limit, 20 percent
  CHECK(on.scores(a_pod{"p"}.cpu(2)) == scores{85, 33, 20, 13, 0, 0});       // one and a half times its request
  CHECK(on.scores(a_pod{"p"}) == scores{55, 85, 33, 27, 0, 0});              // a core
}

TEST_CASE("TargetLoadPacking knows a pod by its containers and its overhead, without init containers",
          "[plugins][load]") {
  const target_load_packing plugin{{.target = 50, .multiplier = 2, .default_cpu = 300}};
  measured_nodes on{plugin};
  on.with_cpu("n", 10, 0);
  a_pod pod = limited("p", 100, 0);  // a limit of 0 is one: 0
  pod.container().cpu_milli(500);    // 1000
  pod.container();                   // 300
  pod.spec.overhead["cpu"] = quantity::from_milli(200);
  pod.spec.init_containers.push_back({.requests = {{"cpu", quantity{8}}}});
  CHECK(on.scores(pod) == scores{65});  // 1500 of 10000: 50 + 15
  pod.spec.init_containers.clear();
  pod.spec.overhead.clear();
  pod.spec.containers = {{.requests = {{"cpu", quantity{}}}}};
  CHECK(on.scores(pod) == scores{50});  // a request of 0 is one
  pod.spec.containers.clear();
  CHECK(on.scores(pod) == scores{50});
}

TEST_CASE("TargetLoadPacking adds pods that the measured window cannot have in it", "[plugins][load]") {
  measured_nodes on{target_load_packing{}};
  const node_id n = on.with_cpu("n", 10, 0);
  const auto started = [&](const char* name, std::optional<instant> at) {
    a_pod made = limited(name, 0, 1000).on(n);
    made.spec.start_time = at;
    return on.add(made);
  };
  const a_pod nothing = limited("p", 0, 0);
  started("old", end - std::chrono::seconds{60});
  CHECK(on.scores(nothing) == scores{40});
  started("late", end - std::chrono::seconds{59});
  CHECK(on.scores(nothing) == scores{55});
  started("after", end + std::chrono::hours{1});
  const pod_id unborn = started("unborn", std::nullopt);
  CHECK(on.scores(nothing) == scores{85});
  REQUIRE(on.cluster.remove_pod(unborn));
  CHECK(on.scores(nothing) == scores{70});
  on.set(n, node_load::measured, node_load::word(end + std::chrono::hours{2}));
  CHECK(on.scores(nothing) == scores{40});
}

TEST_CASE("TargetLoadPacking goes by the capacity that the host says", "[plugins][load]") {
  measured_nodes on{target_load_packing{}};
  const node_id n = on.with_cpu("n", 8, 30);
  CHECK(on.scores(limited("p", 0, 1000)) == scores{38});  // 42.5 percent
  on.set(n, node_load::cpu_capacity, node_load::count_word(20'000));
  CHECK(on.scores(limited("p", 0, 1000)) == scores{93});  // 35 percent
  on.set(n, node_load::cpu_capacity, node_load::count_word(0));
  CHECK(on.scores(limited("p", 0, 1000)) == scores{40});  // as if nothing were used
}

TEST_CASE("LoadVariationRiskBalancing takes the mean and the deviation for a risk", "[plugins][load]") {
  // The cases of scheduler-plugins' own test, of which the deviation is 36 of 100 and the pod asks for 10.
  struct given {
    double sensitivity, mean, deviation;
    std::int64_t score;
  };
  for (const given& one : {given{1, 40, 36, 57}, given{2, -40, 36, 65}, given{2, 200, 36, 20}, given{2, 40, 120, 25},
                           given{-1, 40, 36, 57}, given{0, 40, 36, 75}, given{0, 40, 100, 25}}) {
    INFO(one.sensitivity << " " << one.mean << " " << one.deviation);
    measured_nodes on{load_variation_risk_balancing{{.margin = 1, .sensitivity = one.sensitivity}}};
    const node_id n = on.with_cpu("n", 100, one.mean);
    on.set(n, node_load::cpu_deviation, node_load::word(one.deviation));
    CHECK(on.scores(a_pod{"p"}.cpu(10)) == scores{one.score});
  }
}

TEST_CASE("LoadVariationRiskBalancing goes by the worse of CPU and memory, of which one may be unknown",
          "[plugins][load]") {
  measured_nodes on{load_variation_risk_balancing{{.margin = 2, .sensitivity = 1}}};
  const node_id n = on.with_cpu("n", 100, 40);
  on.add(a_node{"unknown"}.cpu(10).memory("1Gi"));
  const a_pod pod = a_pod{"p"}.cpu(10).memory("10Mi");
  CHECK(on.scores(pod) == scores{75, 0});
  on.set(n, node_load::memory_mean, node_load::word(60.0));
  CHECK(on.scores(pod) == scores{65, 0});
  on.set(n, node_load::memory_deviation, node_load::word(10.0));
  CHECK(on.scores(pod) == scores{55, 0});  // twice the deviation
  on.set(n, node_load::cpu_mean, 0);
  on.set(n, node_load::cpu_deviation, node_load::word(0.0));  // only its deviation is known: as if nothing were used
  CHECK(on.scores(pod) == scores{55, 0});
  on.set(n, node_load::memory_mean, 0);
  on.set(n, node_load::memory_deviation, 0);
  CHECK(on.scores(pod) == scores{95, 0});
  on.set(n, node_load::measured, 0);
  CHECK(on.scores(pod) == scores{0, 0});
}

TEST_CASE("LowRiskOverCommitment weighs limits beyond what there is", "[plugins][load]") {
  measured_nodes on{low_risk_over_commitment{{.cpu_weight = 1, .memory_weight = 1}}};
  const node_id n = on.with_cpu("n", 10, 50);
  on.add(limited("a", 2000, 8000).on(n));
  CHECK(on.scores(a_pod{"p"}) == scores{0});  // it names nothing
  CHECK(on.scores(limited("p", 1000, 2000)) == scores{100});
  CHECK(on.scores(limited("p", 1000, 7000)) == scores{58});  // (15 − 10)/(15 − 3)
  CHECK(on.scores(a_pod{"p"}.cpu(4)) == scores{67});         // a limit is at least the request: (12 − 10)/(12 − 6)
  on.set(n, node_load::measured, 0);
  CHECK(on.scores(limited("p", 1000, 2000)) == scores{0});
}

TEST_CASE("LowRiskOverCommitment weighs how likely more is used than requests say", "[plugins][load]") {
  measured_nodes on{low_risk_over_commitment{{.window = 1, .cpu_weight = 0, .memory_weight = 0}}};
  const node_id n = on.with_cpu("n", 10, 50);
  on.add(limited("a", 5000, 20'000).on(n));
  const a_pod pod = a_pod{"p"}.cpu(1);
  CHECK(on.scores(pod) == scores{100});  // it does not vary
  on.set(n, node_load::cpu_deviation, node_load::word(50 * std::sqrt(1.0 / 3)));
  CHECK(on.scores(pod) == scores{50});  // even between 0 and 1
  on.add(a_pod{"b"}.cpu(2).on(n));
  CHECK(on.scores(pod) == scores{70});
  on.set(n, node_load::cpu_mean, node_load::word(80.0));
  on.set(n, node_load::cpu_deviation, node_load::word(0.0));
  CHECK(on.scores(pod) == scores{0});
}

TEST_CASE("Peaks prefers the node that draws the least more", "[plugins][load]") {
  measured_nodes on{peaks{{{"steep", 100, 10, 0.05}, {"flat", 300, 10, 0.01}, {"full", 1, 10, 0.05}}}};
  on.with_cpu("flat", 10, 50);
  on.with_cpu("steep", 10, 50);
  CHECK(on.scores(a_pod{"p"}.cpu(1)) == scores{100, 0});
  on.with_cpu("full", 10, 95);  // the pod would overload it: as if it cost nothing
  on.add(a_node{"unknown"}.cpu(10));
  CHECK(on.scores(a_pod{"p"}.cpu(1)) == scores{98, 0, 100, 100});
  CHECK(on.scores(a_pod{"p"}) == scores{0, 0, 0, 0});  // all cost nothing
}

TEST_CASE("LowPrice prefers the node that costs least, or of which the pod's part does", "[plugins][load]") {
  const auto priced = [](low_price plugin) {
    measured_nodes on{plugin};
    const std::pair<const char*, std::int64_t> cores[] = {{"big", 100}, {"small", 10}, {"free", 10}, {"unknown", 10}};
    for (const auto& [name, count] : cores) on.add(a_node{name}.cpu(count).memory("100Gi"));
    const auto price = [&](const char* name, std::int64_t of) {
      on.set(*on.cluster.find_node(name), node_load::price, node_load::count_word(of));
    };
    price("big", 300), price("small", 200), price("free", 0);
    return on.scores(a_pod{"p"}.cpu(1).memory("1Gi"));
  };
  CHECK(priced(low_price{}) == scores{0, 33, 100, 0});
  CHECK(priced(low_price{low_price::basis::share}) == scores{85, 0, 100, 0});  // 3 of 300, 20 of 200
  measured_nodes alike{low_price{}};
  alike.set(alike.add(a_node{"n"}), node_load::price, node_load::count_word(7));
  CHECK(alike.scores(a_pod{"p"}) == scores{100});
  CHECK(builtin_plugins().make("LowPrice", argument::fields{{"basis", "Share"}}));
  CHECK(refused("LowPrice", argument::fields{{"basis", "Rack"}}) == "args.basis");
}

TEST_CASE("who sorts by load is asked again when the host measures anew", "[plugins][load]") {
  cluster on;
  scheduler scheduler{on, profile{priority_sort{}, target_load_packing{}}};
  const node_id a = on.add_node(a_node{"a"}.cpu(10)).value(), b = on.add_node(a_node{"b"}.cpu(10)).value();
  const auto measure = [&](node_id node, double share) {
    REQUIRE(on.set_column(node, node_load::measured, node_load::word(end)));
    REQUIRE(on.set_column(node, node_load::cpu_mean, node_load::word(share)));
  };
  const auto place = [&](const std::string& name) {
    const pod_id pod = on.add_pod(limited(name, 0, 100)).value();
    for (const decision& one : scheduler.schedule_cycle(end))
      if (one.pod == pod && one.kind == decision_kind::bind) return one.node;
    return node_id{};
  };
  measure(a, 30), measure(b, 10);
  CHECK(place("first") == a);
  measure(a, 80);
  CHECK(place("second") == b);
  measure(a, 35);
  CHECK(place("third") == a);
  CHECK(scheduler.verify());
}

TEST_CASE("the plugins that go by load take upstream's arguments by name", "[plugins][load]") {
  using fields = argument::fields;
  const plugin_registry all = builtin_plugins();
  CHECK(all.make("TargetLoadPacking", fields{{"targetUtilization", 60},
                                             {"defaultRequestsMultiplier", "1.8"},
                                             {"defaultRequests", fields{{"cpu", "250m"}}},
                                             {"metricProvider", fields{{"type", "Prometheus"}}}}));
  CHECK(refused("TargetLoadPacking", fields{{"targetUtilization", 0}}) == "args.targetUtilization");
  CHECK(refused("TargetLoadPacking", fields{{"defaultRequestsMultiplier", "much"}}) ==
        "args.defaultRequestsMultiplier");
  CHECK(refused("TargetLoadPacking", fields{{"defaultRequests", fields{{"memory", 1}}}}) ==
        "args.defaultRequests.memory");
  CHECK(refused("TargetLoadPacking", fields{{"defaultRequests", fields{{"cpu", true}}}}) == "args.defaultRequests.cpu");
  CHECK(refused("TargetLoadPacking", fields{{"defaultRequests", fields{{"cpu", "many"}}}}) ==
        "args.defaultRequests.cpu");
  CHECK(refused("TargetLoadPacking", fields{{"target", 1}}) == "args.target");
  CHECK(all.make("LoadVariationRiskBalancing", fields{{"safeVarianceMargin", 1.5}, {"safeVarianceSensitivity", 2}}));
  CHECK(refused("LoadVariationRiskBalancing", fields{{"safeVarianceMargin", -1}}) == "args.safeVarianceMargin");
  CHECK(all.make("LowRiskOverCommitment",
                 fields{{"smoothingWindowSize", 3}, {"riskLimitWeights", fields{{"cpu", 0.2}}}}));
  CHECK(refused("LowRiskOverCommitment", fields{{"riskLimitWeights", fields{{"gpu", 1}}}}) ==
        "args.riskLimitWeights.gpu");
  CHECK(all.make("Peaks", fields{{"nodePowerModel", fields{{"n", fields{{"k0", 1}, {"k1", 0.5}, {"k2", 0.01}}}}}}));
  CHECK(refused("Peaks", fields{{"nodePowerModel", fields{{"n", fields{{"k3", 1}}}}}}) == "args.nodePowerModel.n.k3");
}

TEST_CASE("plugins that go by load name the number that they cannot be made with", "[plugins][load]") {
  const auto field = [](const std::optional<error>& wrong) { return wrong ? wrong->field : std::string{}; };
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  const auto packing = [&](const target_load_packing::options& of) { return field(target_load_packing::check(of)); };
  CHECK(packing({}).empty());
  CHECK(packing({.target = 100, .multiplier = 0, .default_cpu = 0, .lag = instant{}}).empty());
  CHECK(packing({.target = 0}) == "target");
  CHECK(packing({.target = 101}) == "target");
  CHECK(packing({.multiplier = -0.5}) == "multiplier");
  CHECK(packing({.multiplier = no_number}) == "multiplier");
  CHECK(packing({.default_cpu = (std::int64_t{1} << 40) + 1}) == "default_cpu");
  CHECK(packing({.lag = instant{-1}}) == "lag");
  const auto low = [&](const low_risk_over_commitment::options& of) {
    return field(low_risk_over_commitment::check(of));
  };
  CHECK(low({}).empty());
  CHECK(low({.window = 0}) == "window");
  CHECK(low({.cpu_weight = 1.5}) == "cpu_weight");
  CHECK(low({.memory_weight = no_number}) == "memory_weight");
  const auto even = [&](const load_variation_risk_balancing::options& of) {
    return field(load_variation_risk_balancing::check(of));
  };
  CHECK(even({.margin = 0, .sensitivity = -1e6}).empty());
  CHECK(even({.margin = -1}) == "margin");
  CHECK(even({.sensitivity = no_number}) == "sensitivity");
}

}  // namespace gangsched::testing::load_plugins_test
