// What pods of production do not use, lent to those of batch and mid (docs/colocation.md). Figures are those of Koordinator's own tests:
// pkg/slo-controller/noderesource/plugins/batchresource/plugin_test.go and midresource/plugin_test.go, 1.7.0.
#include "gangsched/model/colocation.hpp"

#include <string>
#include <vector>

#include "gangsched/model/node_load.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::colocation_test {

namespace {

using policy = colocation_strategy::policy;
using of_resource = colocation_strategy::of_resource;
constexpr std::int64_t giga = 1'000'000'000;

/// A node of 100 cores and 120 GB as Koordinator's agent measures it: the system uses 7 and 12, the node 50 and 55.
struct measured_world : world {
  explicit measured_world(const colocation_strategy& strategy) : shares(strategy) {
    must(colocation::make_columns(cluster));
    node = add(a_node{"test-node1"}.cpu(100).memory("120G"));
    now = std::chrono::hours{1};
    measure(now);
    set(node_load::cpu_system, 7'000), set(node_load::memory_system, 12 * giga);
    set(node_load::cpu_used, 50'000), set(node_load::memory_used, 55 * giga);
  }
  colocation shares;
  node_id node;

  void measure(instant when) { must(cluster.set_column(node, node_load::measured, node_load::word(when))); }
  void set(std::string_view column, std::int64_t amount) {
    must(cluster.set_column(node, column, node_load::count_word(amount)));
  }
  void uses(pod_id pod, std::int64_t cores, std::int64_t gigabytes) {
    must(cluster.set_column(pod, node_load::cpu_used, node_load::count_word(1000 * cores)));
    must(cluster.set_column(pod, node_load::memory_used, node_load::count_word(gigabytes * giga)));
  }
  pod_id runs(a_pod spec) { return add(spec.on(node)); }
  void refresh() { must(shares.refresh(cluster, node, now)); }
  [[nodiscard]] std::vector<std::int64_t> lent() const {
    return {cluster.allocatable(node, "kubernetes.io/batch-cpu"),
            cluster.allocatable(node, "kubernetes.io/batch-memory") / giga,
            cluster.allocatable(node, "kubernetes.io/mid-cpu"),
            cluster.allocatable(node, "kubernetes.io/mid-memory") / giga};
  }
};
using amounts = std::vector<std::int64_t>;

/// By Koordinator's tests: 65 % may be used.
colocation_strategy at_65() { return {.cpu = {.reclaim_percent = 65}, .memory = {.reclaim_percent = 65}}; }

a_pod of(const std::string& name, std::int64_t cores, const char* memory) {
  return a_pod{name}.cpu(cores).memory(memory).guaranteed();
}

}  // namespace

TEST_CASE("priority bands and classes of service are Koordinator's", "[colocation]") {
  CHECK(band_of(9999) == priority_band::prod);
  CHECK(band_of(9000) == priority_band::prod);
  CHECK(band_of(7500) == priority_band::mid);
  CHECK(band_of(5999) == priority_band::batch);
  CHECK(band_of(3000) == priority_band::free);
  for (const std::int32_t none : {0, -5500, 2999, 4000, 6000, 8999, 10000, 2'000'000'000})
    CHECK(band_of(none) == priority_band::none);
  CHECK(band_of("koord-mid") == priority_band::mid);
  CHECK(band_of("mid") == priority_band::none);
  CHECK(qos_of("LSE") == qos_class::lse);
  CHECK(qos_of("lse") == qos_class::none);

  world w;
  const auto bands = [&](const pod_spec& spec) {
    const pod_id pod = w.add(spec);
    return std::pair{qos_of(w.cluster, pod), band_of(w.cluster, pod)};
  };
  const std::string qos{qos_label}, band{priority_band_label};
  CHECK(bands(a_pod{"1"}.cpu(1).guaranteed()) == std::pair{qos_class::lsr, priority_band::prod});
  CHECK(bands(a_pod{"2"}.cpu(1)) == std::pair{qos_class::ls, priority_band::prod});
  CHECK(bands(a_pod{"3"}) == std::pair{qos_class::be, priority_band::batch});  // BestEffort
  CHECK(bands(a_pod{"4"}.priority(9100)) == std::pair{qos_class::be, priority_band::prod});
  CHECK(bands(a_pod{"5"}.cpu(1).label(qos, "BE")) == std::pair{qos_class::be, priority_band::batch});
  CHECK(bands(a_pod{"6"}.cpu(1).label(qos, "LSE").priority(7000)) == std::pair{qos_class::lse, priority_band::mid});
  CHECK(bands(a_pod{"7"}.cpu(1).priority(7000).label(band, "koord-free")) ==
        std::pair{qos_class::ls, priority_band::free});
  CHECK(bands(a_pod{"8"}.cpu(1).priority(5000).label(band, "unknown")) ==
        std::pair{qos_class::ls, priority_band::prod});
  CHECK(bands(a_pod{"9"}.resource("kubernetes.io/batch-cpu", 100)) == std::pair{qos_class::be, priority_band::batch});
  for (const bool guaranteed : {false, true}) {  // what only the pod as a whole has
    pod_spec light = a_pod{guaranteed ? "10" : "11"}, whole = a_pod{guaranteed ? "12" : "13"};
    light.overhead = {{"cpu", quantity{1}}};
    whole.resources = resource_list{{"cpu", quantity{1}}};
    whole.guaranteed = light.guaranteed = guaranteed;
    CHECK(bands(light) == std::pair{qos_of(light), band_of(light, 0)});
    CHECK(bands(whole) == std::pair{qos_of(whole), band_of(whole, 0)});
    CHECK(qos_of(whole) == (guaranteed ? qos_class::lsr : qos_class::ls));
    if (!guaranteed) CHECK(qos_of(light) == qos_class::be);
  }
  const auto relabelled = [&](a_pod spec) {  // of the pod "2"
    w.must(w.cluster.update_pod(w.pod("2"), spec));
    return band_of(w.cluster, w.pod("2"));
  };
  CHECK(relabelled(a_pod{"2"}.cpu(1).label(band, "koord-mid")) == priority_band::mid);
  CHECK(relabelled(a_pod{"2"}.cpu(1).label(qos, "BE")) == priority_band::batch);
  CHECK(relabelled(a_pod{"2"}.cpu(1)) == priority_band::prod);
  CHECK(qos_of(w.cluster, pod_id{}) == qos_class::none);
  CHECK(band_of(w.cluster, pod_id{}) == priority_band::none);
}

TEST_CASE("a pod of batch requests the resources of batch, one of production its own", "[colocation]") {
  a_pod made = a_pod{"p"}.cpu_milli(1500).memory("2Gi");
  made.spec.containers[0].limits = {{"cpu", quantity{2}}, {"memory", quantity_of("3Gi")}};
  made.container();
  made.spec.containers[1].limits = {{"cpu", quantity{1}}};
  made.spec.init_containers.push_back({.requests = {{"cpu", quantity{4}}}});
  made.spec.overhead = {{"cpu", quantity::from_milli(250)}};
  pod_spec batch = made.spec;
  request_resources_of(priority_band::batch, batch);
  CHECK(batch.containers[0].requests ==
        resource_list{{"kubernetes.io/batch-cpu", quantity{1500}}, {"kubernetes.io/batch-memory", quantity_of("2Gi")}});
  CHECK(batch.containers[0].limits ==
        resource_list{{"kubernetes.io/batch-cpu", quantity{2000}}, {"kubernetes.io/batch-memory", quantity_of("3Gi")}});
  CHECK(batch.containers[1].requests == resource_list{{"kubernetes.io/batch-cpu", quantity{1000}}});
  CHECK(batch.init_containers[0].requests == resource_list{{"kubernetes.io/batch-cpu", quantity{4000}}});
  CHECK(batch.overhead == resource_list{{"kubernetes.io/batch-cpu", quantity{250}}});
  for (const priority_band same : {priority_band::none, priority_band::prod, priority_band::free}) {
    pod_spec kept = made.spec;
    request_resources_of(same, kept);
    CHECK(kept.containers[0].requests == made.spec.containers[0].requests);
    CHECK(kept.overhead == made.spec.overhead);
  }
}

TEST_CASE("batch has what Koordinator's tests say", "[colocation]") {
  // All of a node of 100 cores, of which production uses 33, requests 40 and has 42 as the sum of the larger.
  const auto cpu = [](std::int64_t percent, policy by, std::int64_t reserved, std::int64_t system, std::int64_t used,
                      std::optional<std::int64_t> most = {}) {
    return batch_amount(
        {.reclaim_percent = percent, .by = by, .batch_percent = most},
        {.capacity = 100'000, .reserved = reserved, .system_used = system, .used = used, .larger = 42'000});
  };
  CHECK(cpu(65, policy::usage, 0, 7'000, 33'000) == 25'000);
  CHECK(cpu(65, policy::usage, 2'000, 7'000, 33'000) == 25'000);
  CHECK(cpu(65, policy::usage, 20'000, 7'000, 33'000) == 12'000);
  CHECK(cpu(65, policy::usage, 10'000, 7'000, 33'000) == 22'000);
  CHECK(cpu(70, policy::usage, 10'000, 7'000, 33'000) == 27'000);
  CHECK(cpu(65, policy::usage, 0, 7'000, 44'000) == 14'000);
  CHECK(cpu(65, policy::usage, 0, 4'000, 33'000) == 28'000);
  CHECK(cpu(70, policy::max_usage_request, 0, 7'000, 33'000) == 21'000);
  CHECK(cpu(150, policy::max_usage_request, 0, 7'000, 33'000) == 101'000);
  CHECK(cpu(150, policy::max_usage_request, 0, 7'000, 33'000, 100) == 100'000);
  CHECK(cpu(150, policy::usage, 0, 7'000, 33'000) == 110'000);
  CHECK(cpu(150, policy::usage, 0, 7'000, 33'000, 100) == 100'000);
  CHECK(cpu(10, policy::usage, 0, 7'000, 33'000) == 0);
  const auto memory = [](std::int64_t percent, policy by, std::int64_t reserved, std::int64_t system,
                         std::optional<std::int64_t> most = {}) {
    return batch_amount({.reclaim_percent = percent, .by = by, .batch_percent = most}, {.capacity = 120 * giga,
                                                                                        .reserved = reserved * giga,
                                                                                        .system_used = system * giga,
                                                                                        .requested = 60 * giga,
                                                                                        .used = 33 * giga,
                                                                                        .larger = 60 * giga}) /
           giga;
  };
  CHECK(memory(65, policy::usage, 0, 12) == 33);
  CHECK(memory(65, policy::usage, 20, 12) == 25);
  CHECK(memory(80, policy::request, 0, 12) == 36);
  CHECK(memory(80, policy::request, 5, 12) == 31);
  CHECK(memory(80, policy::request, 20, 12) == 16);
  CHECK(memory(120, policy::request, 0, 12) == 84);
  CHECK(memory(120, policy::request, 0, 12, 100) == 84);
  CHECK(memory(120, policy::max_usage_request, 0, 12) == 72);
}

TEST_CASE("mid has what Koordinator's tests say", "[colocation]") {
  const auto cpu = [](std::int64_t percent, std::int64_t unallocated, std::int64_t reclaimable, std::int64_t unused) {
    return mid_amount({.reclaim_percent = 60, .mid_percent = percent}, unallocated,
                      {.capacity = 100'000, .prod_requested = 20'000, .reclaimable = reclaimable, .unused = unused});
  };
  CHECK(cpu(100, 0, 10'000, 80'000) == 10'000);
  CHECK(cpu(10, 10, 15'000, 70'000) == 18'000);
  CHECK(cpu(100, 0, 0, 70'000) == 0);
  CHECK(cpu(100, 0, 20'000, 0) == 0);
  CHECK(cpu(100, 0, 20'000, -5) == 0);
  CHECK(mid_amount(
            {.reclaim_percent = 65, .mid_percent = 20}, 10,
            {.capacity = 210 * giga, .prod_requested = 50 * giga, .reclaimable = 30 * giga, .unused = 160 * giga}) ==
        46 * giga);
}

TEST_CASE("what a node lends follows from its pods, as in Koordinator's tests", "[colocation]") {
  measured_world w{at_65()};
  const std::string qos{qos_label};
  SECTION("pods with CPUs of their own lend none of them") {
    w.uses(w.runs(of("prod-lse", 10, "10G").label(qos, "LSE")), 5, 5);
    w.uses(w.runs(of("prod-1", 10, "10G").priority(9999)), 6, 6);
    w.uses(w.runs(of("batch", 10, "10G").label(qos, "BE")), 10, 10);
    w.uses(w.runs(of("mid", 20, "40G").label(qos, "BE").priority(7000)), 22, 22);
    w.refresh();
    CHECK(w.lent() == amounts{20'000, 33, 0, 0});
  }
  SECTION("a pod that nobody measured counts by its request") {
    w.uses(w.runs(of("a", 10, "10G")), 3, 5);
    w.runs(of("b", 30, "28G"));
    w.refresh();
    CHECK(w.lent() == amounts{25'000, 33, 0, 0});  // 3 + 30 and 5 + 28
  }
  SECTION("what kubelet keeps, and what is reserved, is the system's") {
    w.uses(w.runs(of("a", 40, "60G")), 33, 33);
    w.set(node_load::cpu_reserved, 20'000);
    w.set(node_load::memory_capacity, 140 * giga);  // 20 are kubelet's
    w.refresh();
    CHECK(w.lent() == amounts{12'000, 38, 0, 0});  // 140 - 49 - 20 - 33
  }
  SECTION("CPU does not go by requests, memory may") {
    colocation_strategy by_request = at_65();
    by_request.cpu.by = by_request.memory.by = policy::request;
    w.shares = colocation{by_request};
    w.uses(w.runs(of("a", 40, "60G")), 33, 33);
    w.refresh();
    CHECK(w.lent() == amounts{25'000, 18, 0, 0});  // 120 - 42 - 60
  }
  SECTION("a faster CPU does more") {
    w.uses(w.runs(of("a", 40, "60G")), 33, 33);
    w.set(node_load::cpu_normalization, 120);
    w.refresh();
    CHECK(w.lent() == amounts{30'000, 33, 0, 0});
  }
  SECTION("mid has what production is not expected to use") {
    w.uses(w.runs(of("a", 40, "60G")), 33, 33);
    w.set(node_load::cpu_reclaimable, 6'000), w.set(node_load::memory_reclaimable, 90 * giga);
    w.refresh();
    CHECK(w.lent() == amounts{25'000, 33, 6'000, 65});  // of memory 120 - 55 are not in use
  }
  SECTION("nothing is lent where nobody measures any more") {
    w.refresh();
    CHECK(w.lent() == amounts{58'000, 66, 0, 0});
    w.now += 15min;
    w.refresh();
    CHECK(w.lent() == amounts{58'000, 66, 0, 0});
    w.now += 1s;
    w.refresh();
    CHECK(w.lent() == amounts{0, 0, 0, 0});
  }
}

TEST_CASE("what others have given away of what is lent to batch is not lent again (TestPrepareWithThirdParty)",
          "[colocation]") {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  world w;
  w.must(colocation::make_columns(w.cluster));
  const node_id n = w.add(a_node{"test-node"}.cpu(100).memory("380Gi"));
  const auto set = [&](std::string_view column, std::int64_t word) { w.must(w.cluster.set_column(n, column, word)); };
  set(node_load::measured, node_load::word(w.now = std::chrono::hours{1}));
  set(node_load::cpu_system, node_load::count_word(50'000)),
      set(node_load::memory_system, node_load::count_word(260 * gib));
  colocation shares{{.cpu = {.reclaim_percent = 100}, .memory = {.reclaim_percent = 100}}};
  const auto lent = [&](std::int64_t cpu, std::int64_t memory_gib) {
    set(node_load::cpu_batch_elsewhere, node_load::count_word(cpu));
    set(node_load::memory_batch_elsewhere, node_load::count_word(memory_gib * gib));
    w.must(shares.refresh(w.cluster, n, w.now));
    return amounts{w.cluster.allocatable(n, "kubernetes.io/batch-cpu"),
                   w.cluster.allocatable(n, "kubernetes.io/batch-memory") / gib};
  };
  CHECK(lent(0, 0) == amounts{50'000, 120});
  CHECK(lent(10'000, 10) == amounts{40'000, 110});  // update batch resources with third party
  CHECK(lent(60'000, 120) == amounts{0, 0});        // … max zero
  CHECK(lent(10'000, 10) == amounts{40'000, 110});
  w.now += std::chrono::hours{1};
  CHECK(lent(10'000, 10) == amounts{0, 0});  // reset batch resources with third party allocation
}

TEST_CASE("small changes wait, large ones do not", "[colocation]") {
  measured_world w{at_65()};
  const pod_id pod = w.runs(of("a", 40, "60G"));
  w.uses(pod, 33, 33);
  w.refresh();
  CHECK(w.lent() == amounts{25'000, 33, 0, 0});
  w.uses(pod, 34, 33);  // 24 is 4 % less
  w.now += 1min;
  w.refresh();
  CHECK(w.lent() == amounts{25'000, 33, 0, 0});
  w.uses(pod, 36, 33);  // 22 is 12 % less
  w.refresh();
  CHECK(w.lent() == amounts{22'000, 33, 0, 0});
  w.uses(pod, 35, 33);
  w.now += 5min;
  w.refresh();
  CHECK(w.lent() == amounts{22'000, 33, 0, 0});
  w.now += 1s;
  w.refresh();
  CHECK(w.lent() == amounts{23'000, 33, 0, 0});
}

TEST_CASE("a node whose spec names what is lent is somebody else's", "[colocation]") {
  measured_world w{at_65()};
  w.must(
      w.cluster.update_node(w.node, a_node{"test-node1"}.cpu(100).memory("120G").resource("kubernetes.io/mid-cpu", 5)));
  const std::uint64_t before = w.cluster.digest();
  const auto refused = w.shares.refresh(w.cluster, w.node, w.now);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::wrong_state);
  CHECK(w.cluster.digest() == before);
  REQUIRE_FALSE(w.shares.refresh(w.cluster, node_id{}, w.now));
}

TEST_CASE("pods of batch wait for what is lent, and leave in order when it shrinks", "[colocation]") {
  measured_world w{at_65()};
  const pod_id prod = w.runs(of("prod", 40, "60G").priority(9000));
  w.uses(prod, 33, 33);
  const auto add_batch = [&](const std::string& name, std::int64_t cores, std::int32_t priority) {
    pod_spec spec = a_pod{name}.cpu(cores).memory("5G").priority(priority);
    request_resources_of(priority_band::batch, spec);
    return w.add(spec);
  };
  const pod_id first = add_batch("first", 10, 5500), second = add_batch("second", 10, 5500);
  CHECK(w.run() == words{"reject first", "reject second"});
  w.refresh();
  CHECK(w.run_at(w.now + 10s) == words{"bind first test-node1", "bind second test-node1"});
  w.confirm(first), w.confirm(second);
  const pod_id third = add_batch("third", 5, 5000);
  CHECK(w.run() == words{"bind third test-node1"});
  w.confirm(third);
  CHECK(colocation::in_excess(w.cluster, w.node).empty());

  // Production uses more: 25 becomes 12, of which 25 are taken.
  w.uses(prod, 46, 33);
  w.uses(first, 2, 4), w.uses(second, 9, 4), w.uses(third, 5, 4);
  w.refresh();
  CHECK(w.lent() == amounts{12'000, 33, 0, 0});
  CHECK(colocation::in_excess(w.cluster, w.node) == std::vector{third, second});
  w.must(w.cluster.set_terminating(second));  // it goes already: what is left is 3 too much
  CHECK(colocation::in_excess(w.cluster, w.node) == std::vector{third});
  w.remove(second), w.remove(third);
  CHECK(colocation::in_excess(w.cluster, w.node).empty());
  CHECK(colocation::in_excess(w.cluster, node_id{}).empty());
}

TEST_CASE("who draws from a reservation leaves only for what he has beyond it", "[colocation][reservations]") {
  const char* const cpu = "kubernetes.io/batch-cpu";
  world w;
  const node_id node = w.add(a_node{"n"}.cpu(8));
  w.must(w.cluster.set_allocatable(node, {{cpu, 8000}}));
  const auto batch = [&](const std::string& name, std::int64_t milli, std::int32_t priority) {
    pod_spec made{.name = name, .priority = priority};
    made.containers = {{.requests = {{cpu, milli}}}};
    return made;
  };
  pod_spec held = batch("held", 4000, 5999);
  held.reservation = reservation_spec{.owners = {{.pod = "owner"}}, .once = false};
  w.add(held);
  CHECK(w.run(true) == words{"bind held n"});
  const pod_id owner = w.add(batch("owner", 3000, 5500));
  CHECK(w.run(true) == words{"bind owner n"});
  const pod_id other = w.add(batch("other", 4000, 5600));
  CHECK(w.run(true) == words{"bind other n"});
  w.must(w.cluster.set_allocatable(node, {{cpu, 6000}}));
  CHECK(colocation::in_excess(w.cluster, node) == std::vector{other});
  held.containers = {{.requests = {{cpu, 2000}}}}, held.node = node;  // the owner has 1000 beside it
  w.must(w.cluster.update_pod(w.pod("held"), held));
  CHECK(w.cluster.requested(node, cpu) == 7000);
  CHECK(colocation::in_excess(w.cluster, node) == std::vector{owner});
  w.must(w.cluster.set_terminating(w.pod("held")));  // what it holds goes with it
  w.must(w.cluster.set_allocatable(node, {{cpu, 4000}}));
  CHECK(colocation::in_excess(w.cluster, node) == std::vector{owner});
}

/// Whoever leaves, the others fit; without the last who leaves they do not; and nobody leaves before one of lower priority who helps.
TEST_CASE("as few pods leave as are in excess, of the lowest priority first", "[colocation]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    dice any{seed};
    measured_world w{at_65()};
    std::vector<pod_id> all;
    for (int i = 0; i < 12; ++i) {
      a_pod made{"p" + std::to_string(i)};
      made.priority(static_cast<std::int32_t>(any.percent(70) ? any.between(5000, 5003) : any.between(7000, 7002)));
      if (any.percent(80)) made.cpu(any.between(1, 6));
      if (any.percent(60)) made.resource("memory", quantity{any.between(1, 6) * giga});
      request_resources_of(band_of(*made.spec.priority), made.spec);
      all.push_back(w.runs(made));
      if (any.percent(70)) w.uses(all.back(), any.between(0, 5), any.between(0, 5));
    }
    const auto limit = [&] { return any.between(0, 20); };
    w.must(w.cluster.set_allocatable(w.node, {{"kubernetes.io/batch-cpu", quantity{1000 * limit()}},
                                              {"kubernetes.io/batch-memory", quantity{giga * limit()}},
                                              {"kubernetes.io/mid-cpu", quantity{1000 * limit()}},
                                              {"kubernetes.io/mid-memory", quantity{giga * limit()}}}));
    const std::vector<pod_id> leave = colocation::in_excess(w.cluster, w.node);
    const std::vector<std::string> resources{"kubernetes.io/batch-cpu", "kubernetes.io/batch-memory",
                                             "kubernetes.io/mid-cpu", "kubernetes.io/mid-memory"};
    const auto over = [&](const gangsched::cluster& on) {
      return std::any_of(resources.begin(), resources.end(), [&](const std::string& one) {
        return on.requested(w.node, one) > on.allocatable(w.node, one);
      });
    };
    gangsched::cluster without = w.must(w.cluster.fork());
    CHECK(over(without) == !leave.empty());
    for (std::size_t i = 0; i < leave.size(); ++i) {
      CHECK(over(without));  // so that the next one is not in vain
      REQUIRE(without.remove_pod(leave[i]));
      if (i > 0 && band_of(w.cluster, leave[i]) == band_of(w.cluster, leave[i - 1]))
        CHECK(w.cluster.priority_of(leave[i - 1]) <= w.cluster.priority_of(leave[i]));
    }
    CHECK_FALSE(over(without));
  }
}

}  // namespace gangsched::testing::colocation_test
