#include "gangsched/devices/numa_scores.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::numa_scores_test {

namespace {

constexpr std::int64_t none = not_listed;

/// CPU in milli-CPU, memory, GPUs, and something that no zone lists.
const std::vector<numa_resource> resources{
    {true, true, 1000, 1}, {true, true, 1, 1}, {false, true, 1, 1}, {false, true, 1, 1}};

using amounts = std::vector<std::int64_t>;

numa_zone zone(std::uint32_t id, std::int64_t cpu, std::int64_t memory, std::int64_t gpus = none,
               std::vector<std::uint32_t> costs = {}) {
  return {id, {cpu == none ? none : cpu * 1000, memory, gpus, none}, std::move(costs)};
}
amounts ask(std::int64_t cpu, std::int64_t memory, std::int64_t gpus = none) {
  return {cpu * 1000, memory, gpus, none};
}

numa_zone_pod pod(std::vector<numa_zone> zones, std::vector<amounts> apps, numa_scope scope = numa_scope::container) {
  numa_zone_pod out{resources, std::move(zones), scope, true, {}, {}};
  for (amounts& requests : apps) out.containers.push_back({false, std::move(requests)});
  return out;
}

/// defaultNUMANodes of score_test.go: two equal zones each.
const std::vector<numa_zone> node1{zone(0, 4, 500), zone(1, 4, 500)};
const std::vector<numa_zone> node2{zone(0, 2, 50), zone(1, 2, 50)};
const std::vector<numa_zone> node3{zone(0, 6, 60), zone(1, 6, 60)};

/// fourNUMANodes of score_test.go: pairs of near zones, and a GPU in two of the four.
std::vector<numa_zone> four_zones(std::int64_t g0, std::int64_t g1, std::int64_t g2, std::int64_t g3) {
  return {zone(0, 2, 50, g0, {10, 12, 20, 20}), zone(1, 2, 50, g1, {12, 10, 20, 20}),
          zone(2, 2, 50, g2, {20, 20, 10, 12}), zone(3, 2, 50, g3, {20, 20, 12, 10})};
}

struct least_case {
  const char* name;
  numa_scope scope;
  std::vector<amounts> containers;
  std::int64_t on_node1, on_node2, on_node3;
};

/// The eight zones of least_numa_test.go, in the order they have there.
std::vector<numa_zone> eight_zones(bool odd_have_memory) {
  const std::map<unsigned, std::vector<std::uint32_t>> costs{
      {0, {10, 20, 40, 30, 20, 30, 50, 40}}, {1, {20, 10, 30, 40, 50, 20, 40, 50}},
      {2, {40, 30, 10, 20, 40, 50, 20, 30}}, {3, {30, 40, 20, 10, 30, 20, 40, 50}},
      {4, {20, 50, 40, 30, 10, 50, 30, 20}}, {5, {30, 20, 50, 20, 50, 10, 50, 40}},
      {6, {50, 40, 20, 40, 30, 50, 10, 30}}, {7, {40, 50, 30, 50, 20, 40, 30, 10}}};
  const std::vector<unsigned> order{0, 3, 5, 7, 1, 6, 2, 4};
  std::vector<numa_zone> out;
  for (const unsigned id : order) {
    numa_zone z = zone(id, 4, id % 2 == 1 && !odd_have_memory ? none : 5, 1);
    for (const unsigned to : order) z.costs.push_back(costs.at(id)[to]);
    out.push_back(std::move(z));
  }
  return out;
}

std::vector<unsigned> ids(const std::vector<numa_zone>& zones, cell_mask chosen) {
  std::map<unsigned, bool> in;
  for (unsigned i = 0; i < zones.size(); ++i)
    if ((chosen >> i & 1) != 0) in[zones[i].id] = true;
  std::vector<unsigned> out;
  for (const auto& [id, unused] : in) out.push_back(id);
  return out;
}

struct need_case {
  const char* name;
  std::vector<numa_zone> zones;
  amounts requests;
  std::vector<unsigned> expected;
  bool least_distance;
};

}  // namespace

TEST_CASE("zones are chosen as in upstream's TestNUMANodesRequired", "[devices][numa]") {
  const auto sparse = [](std::int64_t g2, std::int64_t g4, std::int64_t g6, std::int64_t memory2) {
    return std::vector<numa_zone>{zone(0, 4, 5, 1, {10, 12, 20, 20}), zone(2, 4, memory2, g2, {12, 10, 20, 20}),
                                  zone(4, 4, 5, g4, {20, 20, 10, 12}), zone(6, 4, memory2, g6, {20, 20, 12, 10})};
  };
  std::vector<numa_zone> optimal = sparse(1, 0, 0, 5), apart = sparse(0, 1, 0, 5);
  for (unsigned i = 0; i < 4; ++i) optimal[i].id = apart[i].id = i;
  const std::vector<need_case> cases{
      {"simple case, fit on 1 NUMA node", {zone(0, 8, 10)}, ask(2, 2), {0}, true},
      {"simple case, fit on 2 NUMA node", {zone(0, 8, 10), zone(1, 8, 10)}, ask(12, 2), {0, 1}, true},
      {"can't fit", {zone(0, 8, 10), zone(1, 8, 10)}, ask(22, 2), {}, false},
      {"4 NUMA node optimal distance", optimal, ask(2, 2, 2), {0, 1}, true},
      {"4 NUMA node non optimal distance", apart, ask(2, 2, 2), {0, 2}, false},
      {"8 NUMA node optimal distance, not sorted ids", eight_zones(true), ask(3, 2, 3), {0, 1, 5}, true},
      {"8 NUMA node non optimal distance, not sorted ids, odd digit NUMA node without memory",
       eight_zones(false),
       ask(3, 2, 3),
       {2, 4, 6},
       false},
      {"4 NUMA node optimal distance, non sequential ids", sparse(1, 0, 0, 5), ask(2, 2, 2), {0, 2}, true},
      {"4 NUMA node non optimal distance, non sequential ids", sparse(0, 0, 1, 5), ask(2, 2, 2), {0, 6}, false},
      {"4 NUMA node non optimal distance, non sequential ids, NUMA node-2 and node-6 without memory",
       sparse(1, 1, 1, none),
       ask(2, 2, 2),
       {0, 4},
       false},
  };
  for (const need_case& row : cases) {
    CAPTURE(row.name);
    const numa_zone_need got = numa_zones_required(pod(row.zones, {}), row.requests);
    CHECK(ids(row.zones, got.zones) == row.expected);
    CHECK(got.least_distance == row.least_distance);
  }
}

TEST_CASE("LeastNUMANodes scores as in upstream's score_test.go", "[devices][numa]") {
  const numa_scope container = numa_scope::container, whole = numa_scope::pod;
  const amounts outside{none, none, none, 1};
  const std::vector<least_case> cases{
      {"container scope, one container case 2", container, {ask(4, 50)}, 94, 82, 94},
      {"container scope, one container case 3", container, {ask(6, 50)}, 82, 0, 94},
      {"container scope, two containers case 1", container, {ask(2, 50), ask(2, 50)}, 94, 94, 94},
      {"container scope, two containers case 2", container, {ask(1, 50), ask(3, 50)}, 94, 82, 94},
      {"container scope, two containers case 3", container, {ask(5, 50), ask(3, 50)}, 82, 0, 94},
      {"container scope, two containers non NUMA resource", container, {outside, outside}, 100, 100, 100},
      {"pod scope, two containers case 1", whole, {ask(2, 50), ask(2, 50)}, 94, 82, 82},
      {"pod scope, two containers case 2", whole, {ask(1, 50), ask(3, 50)}, 94, 82, 82},
      {"pod scope, two containers case 3", whole, {ask(5, 50), ask(3, 50)}, 82, 0, 82},
      {"pod scope, one containers non NUMA resource", whole, {outside}, 100, 100, 100},
  };
  for (const least_case& row : cases) {
    CAPTURE(row.name);
    CHECK(least_numa_score(pod(node1, row.containers, row.scope)) == row.on_node1);
    CHECK(least_numa_score(pod(node2, row.containers, row.scope)) == row.on_node2);
    CHECK(least_numa_score(pod(node3, row.containers, row.scope)) == row.on_node3);
  }
  const std::vector<numa_zone> near = four_zones(1, 1, 0, 0), far = four_zones(1, 0, 1, 0);
  CHECK(least_numa_score(pod(near, {ask(2, 50, 1)})) == 94);
  CHECK(least_numa_score(pod(far, {ask(2, 50, 1)})) == 94);
  CHECK(least_numa_score(pod(near, {ask(2, 50, 2)})) == 82);
  CHECK(least_numa_score(pod(far, {ask(2, 50, 2)})) == 76);
  CHECK(least_numa_score(pod(near, {ask(2, 50, 2), ask(2, 50)})) == 82);
  CHECK(least_numa_score(pod(far, {ask(2, 50, 2), ask(2, 50)})) == 76);
}

TEST_CASE("LeastNUMANodes divides by the zones that the kubelet allows, as in upstream's TestNormalizeScore",
          "[devices][numa]") {
  std::vector<numa_zone> eight;
  for (std::uint32_t i = 0; i < 8; ++i) eight.push_back(zone(i, 1, 10));
  CHECK(least_numa_score(pod(eight, {ask(8, 1)})) == 10);
  CHECK(least_numa_score(pod(eight, {ask(1, 1)})) == 94);
  CHECK(least_numa_score(pod(eight, {ask(8, 1)}), 16) == 100 - 8 * 6 + 3);
}

TEST_CASE("LeastNUMANodes is 0 where more zones are needed than the kubelet allows", "[devices][numa]") {
  std::vector<numa_zone> ten;
  for (std::uint32_t i = 0; i < 10; ++i) ten.push_back(zone(i, 1, 10));
  CHECK(least_numa_score(pod(ten, {ask(10, 1)})) == 0);
  CHECK(least_numa_score(pod(ten, {ask(10, 1)}), 16) == 100 - 10 * 6 + 3);
}

TEST_CASE("allocation strategies score as in upstream's TestNodeResourceScorePlugin", "[devices][numa]") {
  const std::vector<amounts> two{ask(2, 20)};
  const auto scores = [&](numa_strategy strategy) {
    return std::vector<std::int64_t>{numa_allocation_score(pod(node1, two), strategy),
                                     numa_allocation_score(pod(node2, two), strategy),
                                     numa_allocation_score(pod(node3, two), strategy)};
  };
  CHECK(scores(numa_strategy::most_allocated)[1] == 70);        // (100 + 40) / 2
  CHECK(scores(numa_strategy::balanced_allocation)[2] == 100);  // both a third
  CHECK(scores(numa_strategy::least_allocated)[0] == 73);       // (50 + 96) / 2
  // The others are below, which is what upstream checks.
  CHECK(scores(numa_strategy::most_allocated) == std::vector<std::int64_t>{27, 70, 33});
  CHECK(scores(numa_strategy::least_allocated) == std::vector<std::int64_t>{73, 30, 66});
}

TEST_CASE("the zone that suits least decides, unless it does not fit at all", "[devices][numa]") {
  const std::vector<numa_zone> zones{zone(0, 1, 10), zone(1, 4, 100), zone(2, 8, 100)};
  CHECK(numa_allocation_score(pod(zones, {{2000, none, none, none}}), numa_strategy::most_allocated) == 25);
  CHECK(numa_allocation_score(pod(zones, {{9000, none, none, none}}), numa_strategy::most_allocated) == 0);
  CHECK(numa_allocation_score(pod(zones, {{2000, none, none, none}, {4000, none, none, none}}),
                              numa_strategy::most_allocated) == 37);
  // Parts of a CPU count as a whole one: 3 of 4 and 3 of 8.
  CHECK(numa_allocation_score(pod(zones, {{2500, none, none, none}}), numa_strategy::most_allocated) == 37);
}

TEST_CASE("the largest amounts of memory are scored like small ones", "[devices][numa]") {
  constexpr std::int64_t half = std::int64_t{1} << 61;
  const numa_zone_pod large = pod({zone(0, 4, 2 * half)}, {ask(2, half)}), small = pod({zone(0, 4, 2)}, {ask(2, 1)});
  for (const auto how : {numa_strategy::least_allocated, numa_strategy::most_allocated})
    CHECK(numa_allocation_score(large, how) == numa_allocation_score(small, how));
  const numa_zone_pod two = pod({zone(0, 4, 2 * half), zone(1, 4, 2 * half)}, {ask(5, 2 * half)});
  CHECK(numa_zones_required(two, two.containers[0].requests).zones == 3);
}

TEST_CASE("weights count, and one below 1 is 1", "[devices][numa]") {
  std::vector<numa_resource> weighted = resources;
  numa_zone_pod one = pod({zone(0, 4, 100)}, {ask(2, 20)});
  one.resources = weighted;
  weighted[0].weight = 3;
  weighted[1].weight = -5;
  CHECK(numa_allocation_score(one, numa_strategy::most_allocated) == (3 * 50 + 20) / 4);
}

TEST_CASE("a balance over resources that are used alike is better, and over one it is full", "[devices][numa]") {
  const auto score = [](amounts requests) {
    return numa_allocation_score(pod({zone(0, 4, 100)}, {std::move(requests)}), numa_strategy::balanced_allocation);
  };
  CHECK(score(ask(2, 50)) == 100);
  CHECK(score(ask(4, 0)) == 50);  // 1 and 0: variance ½
  CHECK(score(ask(5, 10)) == 0);
  CHECK(score({2000, none, none, none}) == 100);
}

TEST_CASE("pods that are not Guaranteed score alike everywhere", "[devices][numa]") {
  numa_zone_pod burstable = pod(node2, {ask(100, 1000)});
  burstable.guaranteed = false;
  CHECK(least_numa_score(burstable) == 100);
  CHECK(numa_allocation_score(burstable, numa_strategy::most_allocated) == 100);
}

TEST_CASE("the filter puts containers in order into the lowest zone that fits", "[devices][numa]") {
  using zones = std::vector<std::uint32_t>;
  CHECK(single_numa_zones(pod(node1, {ask(3, 10), ask(1, 10), ask(2, 10)})) == zones{0, 0, 1});
  CHECK_FALSE(single_numa_zones(pod(node1, {ask(3, 10), ask(3, 10), ask(2, 10)})).has_value());
  CHECK_FALSE(single_numa_zones(pod(node1, {ask(5, 10)})).has_value());
  CHECK(single_numa_zones(pod(node1, {ask(2, 10), ask(2, 10)}, numa_scope::pod)) == zones{0});
  CHECK_FALSE(single_numa_zones(pod(node1, {ask(3, 10), ask(2, 10)}, numa_scope::pod)).has_value());
  // Zones may be listed in any order.
  CHECK(single_numa_zones(pod({zone(3, 4, 500), zone(1, 4, 500)}, {ask(4, 10), ask(4, 10)})) == zones{1, 3});
}

TEST_CASE("init containers are tried one by one and leave everything", "[devices][numa]") {
  numa_zone_pod both = pod(node1, {ask(4, 10), ask(4, 10)});
  both.containers.insert(both.containers.begin(), 2, {true, ask(4, 500)});
  CHECK(single_numa_zones(both) == std::vector<std::uint32_t>{0, 0, 0, 1});
  both.containers[1].requests = ask(4, 501);
  CHECK_FALSE(single_numa_zones(both).has_value());
  both.containers[1].requests = ask(4, 10);
  both.scope = numa_scope::pod;
  CHECK_FALSE(single_numa_zones(both).has_value());
  both.containers.pop_back();
  CHECK(single_numa_zones(both).has_value());
  both.overhead = {1000, none, none, none};
  CHECK_FALSE(single_numa_zones(both).has_value());
}

TEST_CASE("resources without zones are left out of the filter if they may be", "[devices][numa]") {
  // An extended resource that only the node lists.
  CHECK(single_numa_zones(pod(node1, {{2000, 10, none, 7}})).has_value());
  // CPU has to be in a zone; a device has to be where some zone lists it.
  CHECK_FALSE(single_numa_zones(pod({zone(0, none, 50)}, {ask(1, 10)})).has_value());
  CHECK(single_numa_zones(pod({zone(0, 4, 50), zone(1, 4, 50, 2)}, {ask(1, 10, 1)})) == std::vector<std::uint32_t>{1});
  // Guaranteed QoS, zero quantity of unavailable resource, pod fit
  std::vector<numa_resource> without = resources;
  without[3].on_node = false;
  numa_zone_pod absent = pod(node1, {{2000, 10, none, 0}});
  absent.resources = without;
  CHECK(single_numa_zones(absent).has_value());
  absent.containers[0].requests[3] = 1;
  CHECK_FALSE(single_numa_zones(absent).has_value());
}

TEST_CASE("pods that are not Guaranteed have their devices aligned only", "[devices][numa]") {
  // Best effort QoS requesting CPU, memory (not enough on NUMA) and devices; pod fit
  numa_zone_pod burstable = pod({zone(0, 4, 50, 2), zone(1, 4, 50, 5)}, {ask(19, 500, 5)});
  burstable.guaranteed = false;
  CHECK(single_numa_zones(burstable) == std::vector<std::uint32_t>{1});
  burstable.containers.push_back({false, ask(1, 1, 1)});
  CHECK(single_numa_zones(burstable) == std::vector<std::uint32_t>{1, 0});
  burstable.containers.push_back({false, ask(1, 1, 2)});
  CHECK_FALSE(single_numa_zones(burstable).has_value());
}

}  // namespace gangsched::testing::numa_scores_test
