// What each NUMA cell has of what a node lends to batch. The figures are those of Koordinator's TestPluginCalculate,
// pkg/slo-controller/noderesource/plugins/batchresource/plugin_test.go, 1.7.0.
#include <algorithm>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/colocation.hpp"
#include "gangsched/model/node_load.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::batch_cells_test {

namespace {

using policy = colocation_strategy::policy;
using shares = std::vector<cell_share>;
constexpr std::int64_t giga = 1'000'000'000, mega = 1'000'000;
constexpr instant measured_at = std::chrono::hours{1};

/// A node of some cells with so many CPUs each, and the bytes that they have.
struct cells_world {
  cells_world(unsigned cpus, const std::vector<std::int64_t>& memory) {
    REQUIRE(colocation::make_columns(cluster));
    std::int64_t all = 0;
    a_node spec{"n"};
    node_numa& numa = spec.spec.devices.numa.emplace();
    for (std::uint32_t cell = 0; cell < memory.size(); ++cell) {
      numa_cell& one = numa.cells.emplace_back();
      one.id = cell;
      one.memory_bytes = static_cast<std::uint64_t>(memory[cell]);
      for (std::uint32_t cpu = cell * cpus; cpu < (cell + 1) * cpus; ++cpu)
        one.cpus.push_back({.id = cpu, .core = cpu, .socket = cell, .uncore_cache = cell});
      all += memory[cell];
    }
    spec.cpu(static_cast<std::int64_t>(cpus * memory.size())).resource("memory", quantity{all});
    node = cluster.add_node(spec).value();
    set(node, node_load::measured, node_load::word(measured_at));
  }
  gangsched::cluster cluster;
  node_id node;

  template <class Id>
  void set(Id of, std::string_view column, std::int64_t word) {
    REQUIRE(cluster.set_column(of, column, word));
  }
  template <class Id>
  void uses(Id of, std::int64_t milli, std::int64_t bytes) {
    set(of, node_load::cpu_used, node_load::count_word(milli));
    set(of, node_load::memory_used, node_load::count_word(bytes));
  }
  void system(std::int64_t milli, std::int64_t bytes) {
    set(node, node_load::cpu_system, node_load::count_word(milli));
    set(node, node_load::memory_system, node_load::count_word(bytes));
  }
  pod_id runs(a_pod spec, const std::vector<std::uint32_t>& cpus = {}) {
    if (!cpus.empty()) {
      spec.spec.bind_cpus = {.policy = cpu_bind_policy::full_pcpus};
      spec.spec.held_devices = {{.id = "cpu", .request = 0, .places = cpus}};
    }
    const auto made = cluster.add_pod(spec.on(node));
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made);
    return *made;
  }
  [[nodiscard]] shares lent(const colocation_strategy& by, instant now = measured_at) const {
    return colocation{by}.in_cells(cluster, node, now);
  }
};

colocation_strategy at_65(policy memory = policy::usage) {
  return {.cpu = {.reclaim_percent = 65}, .memory = {.reclaim_percent = 65, .by = memory}};
}
a_pod of(const std::string& name, std::int64_t cores, const char* memory, std::int32_t priority = 9000) {
  return a_pod{name}.cpu(cores).memory(memory).priority(priority);
}
std::vector<std::uint32_t> first(std::uint32_t count) {
  std::vector<std::uint32_t> made(count);
  for (std::uint32_t i = 0; i < count; ++i) made[i] = i;
  return made;
}

}  // namespace

TEST_CASE("each NUMA cell has of batch what Koordinator's controller says of its zone", "[model][colocation][numa]") {
  cells_world w{50, {62 * giga, 58 * giga}};
  w.system(7000, 12 * giga);
  const pod_id in_first = w.runs(of("prod", 10, "10G"), first(10));  // it has CPUs of its own in cell 0
  const pod_id anywhere = w.runs(of("prod-1", 10, "10G", 9999)), mid = w.runs(of("mid", 20, "40G", 7000)),
               batch = w.runs(of("batch", 10, "10G", 5000));
  w.uses(in_first, 5000, 5 * giga), w.uses(anywhere, 6000, 6 * giga), w.uses(mid, 22'000, 22 * giga);
  w.uses(batch, 10'000, 10 * giga);
  // "calculate with multiple NUMA-level resources": 50 − 17.5 − 3.5 − (14 + 5) and 50 − 17.5 − 3.5 − 14;
  // 62 − 21.7 − 6 − (14 + 5) and 58 − 20.3 − 6 − 14.
  CHECK(w.lent(at_65()) == shares{{0, 10'000, 15'300 * mega}, {1, 15'000, 17'700 * mega}});
  // By requests, of memory alone: 62 − 21.7 − (25 + 10) and 58 − 20.3 − 25.
  colocation_strategy by_request = at_65(policy::request);
  by_request.cpu.by = policy::request;
  CHECK(w.lent(by_request) == shares{{0, 10'000, 5'300 * mega}, {1, 15'000, 12'700 * mega}});
  // At most: 50 · 25 %, 62 · 26 % and 58 · 26 %.
  colocation_strategy limited = at_65();
  limited.cpu.batch_percent = 25, limited.memory.batch_percent = 26;
  CHECK(w.lent(limited) == shares{{0, 10'000, 15'300 * mega}, {1, 12'500, 15'080 * mega}});
  // A faster CPU does more (UpdateNRTZoneListIfNeeded), and what is given away elsewhere is the whole node's affair.
  w.set(w.node, node_load::cpu_normalization, node_load::count_word(120));
  w.set(w.node, node_load::cpu_batch_elsewhere, node_load::count_word(1000));
  CHECK(w.lent(at_65()) == shares{{0, 12'000, 15'300 * mega}, {1, 18'000, 17'700 * mega}});
  // isDegradeNeeded
  CHECK(w.lent(at_65(), measured_at + std::chrono::minutes{15}).at(1).cpu == 18'000);
  CHECK(w.lent(at_65(), measured_at + std::chrono::minutes{15} + instant{1}) == shares{{0, 0, 0}, {1, 0, 0}});
}

TEST_CASE("CPUs of who lends none are missing in his cells, also if nobody measured him", "[model][colocation][numa]") {
  cells_world w{50, {62 * giga, 58 * giga}};
  w.system(7000, 12 * giga);
  const pod_id lse = w.runs(of("lse", 10, "10G").label(std::string{qos_label}, "LSE"), first(10));
  const pod_id anywhere = w.runs(of("prod-1", 10, "10G", 9999)), mid = w.runs(of("mid", 20, "40G", 7000));
  w.uses(anywhere, 6000, 6 * giga), w.uses(mid, 22'000, 22 * giga);
  // "missing metric LSE pod", without the pod that is gone: 50 − 17.5 − 3.5 − (14 + 10).
  const shares expected{{0, 5000, 5'300 * mega}, {1, 15'000, 12'700 * mega}};
  CHECK(w.lent(at_65(policy::request)) == expected);
  w.uses(lse, 5000, 5 * giga);  // "memory not over-committed, LSE pods and NUMA-level resources"
  CHECK(w.lent(at_65(policy::request)) == expected);
  CHECK(w.lent(at_65()).at(0) == cell_share{0, 5000, 15'300 * mega});
}

TEST_CASE("one cell has what the node lends, and nothing is said where cells are not known",
          "[model][colocation][numa]") {
  cells_world w{100, {120 * giga}};
  w.system(7000, 12 * giga);
  w.uses(w.runs(of("prod", 33, "33G")), 33'000, 33 * giga);
  CHECK(w.lent(at_65()) == shares{{0, 25'000, 33 * giga}});
  REQUIRE(colocation{at_65()}.refresh(w.cluster, w.node, measured_at));
  CHECK(w.cluster.allocatable(w.node, "kubernetes.io/batch-cpu") == 25'000);
  const node_id plain = w.cluster.add_node(a_node{"plain"}.cpu(8)).value();
  w.set(plain, node_load::measured, node_load::word(measured_at));
  CHECK(colocation{}.in_cells(w.cluster, plain, measured_at).empty());
  CHECK(colocation{}.in_cells(w.cluster, node_id{}, measured_at).empty());
}

TEST_CASE("what is divided among cells is rounded up, of bytes to thousandths", "[model][colocation][numa]") {
  const colocation_strategy all{.cpu = {.reclaim_percent = 100}, .memory = {.reclaim_percent = 100}};
  cells_world w{4, {100, 100, 100}};
  w.uses(w.runs(a_pod{"p"}.priority(9000)), 1000, 1);
  CHECK(w.lent(all) == shares{{0, 3666, 100}, {1, 3666, 100}, {2, 3666, 100}});  // 334 each, and 0.334 bytes
  w.uses(w.runs(a_pod{"q"}.priority(9000)), 1, 8);
  CHECK(w.lent(all).at(0) == cell_share{0, 3665, 97});  // 96.999
  w.system(500, 4);
  CHECK(w.lent(all).at(2) == cell_share{2, 3498, 96});  // 167 less, 1.334 less
}

namespace {

/// `calculateOnNUMALevel` in so many words, in thousandths of CPUs or of bytes.
struct reference {
  struct pod {
    std::int64_t requested, used;  ///< used −1: not measured
    bool counts, keeps;            ///< keeps: counts by its request
    std::vector<unsigned> cells;
  };
  std::int64_t system, reserved;
  std::vector<std::int64_t> capacity;
  std::vector<pod> pods = {};

  static std::int64_t up(std::int64_t amount, std::size_t among) {
    const auto by = static_cast<std::int64_t>(among);
    return (amount + by - 1) / by;
  }
  [[nodiscard]] std::int64_t left(unsigned cell, policy by, std::int64_t margin) const {
    const std::int64_t kept = up(reserved, capacity.size());
    std::int64_t rest = capacity[cell] - margin;
    rest -= by == policy::request ? kept : std::max(kept, up(system, capacity.size()));
    for (const pod& one : pods) {
      if (!one.counts || std::find(one.cells.begin(), one.cells.end(), cell) == one.cells.end()) continue;
      const std::int64_t requested = up(one.requested, one.cells.size());
      const std::int64_t used = one.used < 0 ? requested : up(one.used, one.cells.size());
      rest -= by == policy::request             ? requested
              : by == policy::max_usage_request ? std::max(requested, used)
              : one.keeps && one.used >= 0      ? requested
                                                : used;
    }
    return std::max<std::int64_t>(0, rest);
  }
};

}  // namespace

TEST_CASE("cells of any node have of batch what a plain reference says", "[model][colocation][numa]") {
  dice random{77};
  for (int round = 0; round < 200; ++round) {
    const auto cells = static_cast<unsigned>(random.between(1, 4));
    constexpr unsigned cpus = 16;
    reference cpu{}, memory{};
    std::vector<std::int64_t> bytes;
    for (unsigned cell = 0; cell < cells; ++cell) {
      bytes.push_back(random.between(1000, 100'000));
      cpu.capacity.push_back(1000 * cpus), memory.capacity.push_back(1000 * bytes.back());
    }
    cells_world w{cpus, bytes};
    cpu.system = random.between(0, 8000), memory.system = 1000 * random.between(0, 2000);
    w.system(cpu.system, memory.system / 1000);
    cpu.reserved = random.between(0, 4000), memory.reserved = 1000 * random.between(0, 2000);
    w.set(w.node, node_load::cpu_reserved, node_load::count_word(cpu.reserved));
    w.set(w.node, node_load::memory_reserved, node_load::count_word(memory.reserved / 1000));
    std::vector<std::uint32_t> next(cells);  // CPUs of each cell that are given away
    for (std::int64_t pods = random.between(0, 6), i = 0; i < pods; ++i) {
      const std::int64_t cores = random.between(1, 3), asked = random.between(1, 3000);
      constexpr std::int32_t bands[] = {9500, 7500, 5500, 3500};
      const std::int32_t priority = bands[random.between(0, 3)];
      const bool lse = random.percent(20), measured = random.percent(70);
      a_pod made = a_pod{"p" + std::to_string(i)}.cpu(cores).resource("memory", quantity{asked}).priority(priority);
      if (lse) made.label(std::string{qos_label}, "LSE");
      std::vector<unsigned> in;
      std::vector<std::uint32_t> places;
      if (random.percent(50)) {
        for (std::int64_t core = 0; core < cores; ++core) {
          const auto cell = static_cast<unsigned>(random.between(0, cells - 1));
          if (std::find(in.begin(), in.end(), cell) == in.end()) in.push_back(cell);
          places.push_back(cell * cpus + next[cell]++);
        }
        if (std::any_of(next.begin(), next.end(), [](std::uint32_t count) { return count > cpus; })) break;
        std::sort(places.begin(), places.end());
      } else {
        for (unsigned cell = 0; cell < cells; ++cell) in.push_back(cell);
      }
      const pod_id pod = w.runs(made, places);
      const std::int64_t milli = random.between(0, 5000), some = random.between(0, 4000);
      if (measured) w.uses(pod, milli, some);
      const bool counts = priority > 6000;
      cpu.pods.push_back({1000 * cores, measured ? milli : -1, counts, lse, in});
      memory.pods.push_back({1000 * asked, measured ? 1000 * some : -1, counts, false, in});
    }
    const std::int64_t percent = random.between(0, 100);
    const policy by = static_cast<policy>(random.between(0, 2));
    const shares said =
        w.lent({.cpu = {.reclaim_percent = percent, .by = by}, .memory = {.reclaim_percent = percent, .by = by}});
    INFO("round " << round);
    REQUIRE(said.size() == cells);
    for (unsigned cell = 0; cell < cells; ++cell) {
      const auto margin = [&](std::int64_t of) {
        return static_cast<std::int64_t>(static_cast<double>(of) * (static_cast<double>(100 - percent) / 100.0));
      };
      const std::int64_t left_cpu = cpu.left(cell, by == policy::request ? policy::usage : by, margin(1000 * cpus));
      const std::int64_t left_memory = memory.left(cell, by, 1000 * margin(bytes[cell]));
      REQUIRE(said[cell] == cell_share{cell, left_cpu, (left_memory + 999) / 1000});
    }
  }
}

}  // namespace gangsched::testing::batch_cells_test
