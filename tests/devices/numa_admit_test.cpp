#include "gangsched/devices/numa_admit.hpp"

#include <string>
#include <vector>

#include "devices/numa_nodes.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::numa_admit_test {

namespace {

constexpr bool yes = true;
constexpr auto init = container_kind::init, sidecar = container_kind::sidecar, app = container_kind::app;

/// Two sockets, a cell each: four cores with two threads (CPU n and n + 8 share a core), 100 bytes of memory, and four devices.
class node_fixture {
 public:
  explicit node_fixture(numa_policy policy, numa_scope scope = numa_scope::container, unsigned cells = 2)
      : topology(numa_topology::build(cells_of(cells)).value()) {
    node.topology = &topology;
    node.policy = policy;
    node.scope = scope;
    node.cpu.is_static = true;
    node.static_memory = true;
    device_kind gpus;
    for (unsigned cell = 0; cell < cells; ++cell) gpus.cells.insert(gpus.cells.end(), 4, one_cell(cell));
    node.devices = {gpus};
    state = make_numa_state(node, {}).value();
  }
  numa_admission admit(std::vector<numa_container> containers) const {
    return numa_admit(node, state, {true, std::move(containers)});
  }
  /// Admits and keeps.
  numa_admission take(std::vector<numa_container> containers) {
    numa_admission got = admit(std::move(containers));
    REQUIRE(got.admitted);
    state = got.after;
    return got;
  }

  numa_topology topology;
  numa_node node;
  numa_state state;

 private:
  static std::vector<numa_cell> cells_of(unsigned cells) {
    auto spec = numa_cells(cells, 8 * cells, [cells](numa_cpu& cpu, unsigned& cell) {
      cpu.core = cpu.id % (4 * cells);
      cpu.socket = cell = cpu.core / 4;
    });
    for (numa_cell& cell : spec) cell.memory_bytes = 100;
    return spec;
  }
};

numa_container ask(std::int64_t cpu, std::uint64_t memory, unsigned devices = 0, container_kind kind = app) {
  return {kind, cpu * 1000, {memory}, {devices}};
}

device_set devices(std::initializer_list<unsigned> members) {
  device_set all;
  for (const unsigned member : members) all.insert(member);
  return all;
}

}  // namespace

TEST_CASE("CPUs, memory and devices come from one cell when one can serve them all", "[devices][numa]") {
  node_fixture on(numa_policy::single_numa_node);
  on.state.free_devices[0] = devices({0, 5, 6});
  const numa_admission got = on.admit({ask(4, 60, 2)});
  REQUIRE(got.admitted);
  CHECK(got.reason == numa_refusal::none);
  CHECK(got.grants[0].hint == numa_hint{2, yes});
  CHECK(got.grants[0].cpus == cpus("4-5,12-13"));
  CHECK(got.grants[0].memory == memory_grant{2, 1, {60}});
  CHECK(got.grants[0].devices[0] == devices({5, 6}));
  CHECK(got.after.cpus.shared == cpus("0-3,6-11,14-15"));
  CHECK(got.after.memory.cells[1].free[0] == 40);
  CHECK(got.after.free_devices[0] == devices({0}));
}

TEST_CASE("what fits no single cell is refused by single-numa-node only", "[devices][numa]") {
  for (const auto& [policy, admitted] : {std::pair{numa_policy::single_numa_node, false},
                                         {numa_policy::restricted, true},
                                         {numa_policy::best_effort, true},
                                         {numa_policy::none, true}}) {
    const node_fixture on(policy);
    CAPTURE(static_cast<int>(policy));
    const numa_admission got = on.admit({ask(10, 120, 5)});
    CHECK(got.admitted == admitted);
    CHECK(to_string(got.reason) == (admitted ? "" : "TopologyAffinityError"));
    if (admitted)
      CHECK(got.grants[0].cpus.count() == 10);
    else
      CHECK(got.after.cpus.shared == on.state.cpus.shared);
  }
}

TEST_CASE("what one cell would hold on an empty node is refused by restricted when only two have it left",
          "[devices][numa]") {
  for (const auto& [policy, admitted] : {std::pair{numa_policy::restricted, false}, {numa_policy::best_effort, true}}) {
    node_fixture on(policy);
    on.state.cpus.shared = cpus("0-1,4-5,8-9,12-13");
    const numa_admission got = on.admit({ask(6, 10)});
    CHECK(got.admitted == admitted);
    if (admitted)
      CHECK(got.grants[0].cpus.count() == 6);
    else
      CHECK(got.reason == numa_refusal::topology_affinity);
  }
}

TEST_CASE("containers are admitted in order, each from what the ones before left", "[devices][numa]") {
  const node_fixture on(numa_policy::single_numa_node);
  const numa_admission got = on.admit({ask(6, 10), ask(6, 10)});
  REQUIRE(got.admitted);
  CHECK(got.grants[0].hint.cells == 1);
  CHECK(got.grants[1].hint.cells == 2);
  const numa_admission full = on.admit({ask(6, 10), ask(6, 10), ask(6, 10)});
  CHECK_FALSE(full.admitted);
  CHECK(full.container == 2);
  CHECK(full.grants.empty());
}

TEST_CASE("under the scope pod all containers share the cells of one merge", "[devices][numa]") {
  const node_fixture apart(numa_policy::restricted), together(numa_policy::restricted, numa_scope::pod);
  CHECK(apart.admit({ask(6, 60), ask(4, 60)}).grants.at(1).hint.cells == 2);
  const numa_admission got = together.admit({ask(6, 60), ask(4, 60)});
  REQUIRE(got.admitted);
  CHECK(got.grants[0].hint.cells == 3);
  CHECK(got.grants[1].hint == got.grants[0].hint);
  // Ten CPUs need both cells, twenty bytes one: the hints agree on nothing preferred.
  CHECK_FALSE(together.admit({ask(6, 10), ask(4, 10)}).admitted);
}

TEST_CASE("a pod that fits one cell by container but not as a whole is refused under the scope pod",
          "[devices][numa]") {
  const node_fixture apart(numa_policy::single_numa_node), together(numa_policy::single_numa_node, numa_scope::pod);
  CHECK(apart.admit({ask(6, 10), ask(6, 10)}).admitted);
  CHECK(together.admit({ask(6, 10), ask(6, 10)}).reason == numa_refusal::topology_affinity);
  CHECK(together.admit({ask(6, 10, 0, init), ask(6, 10)}).admitted);
  CHECK_FALSE(together.admit({ask(6, 10, 0, sidecar), ask(6, 10)}).admitted);
}

TEST_CASE("an init container leaves its CPUs, memory and devices to the next ones, a sidecar does not",
          "[devices][numa]") {
  const node_fixture on(numa_policy::single_numa_node);
  const numa_admission got = on.admit({ask(6, 80, 3, init), ask(6, 90, 4)});
  REQUIRE(got.admitted);
  CHECK(got.grants[0].hint.cells == 1);
  CHECK(got.grants[1].hint.cells == 1);
  CHECK((got.grants[0].cpus & got.grants[1].cpus).count() >= 4);
  CHECK(got.grants[1].devices[0] == devices({0, 1, 2, 3}));
  CHECK(got.after.memory.cells[0].free[0] == 10);
  CHECK(got.grants[0].memory == memory_grant{1, 1, {0}});
  CHECK(got.grants[1].memory == memory_grant{1, 1, {90}});
  const numa_admission kept = on.admit({ask(6, 80, 3, sidecar), ask(6, 90, 4)});
  REQUIRE(kept.admitted);
  CHECK(kept.grants[1].hint.cells == 2);
}

TEST_CASE("memory is used again as in kubelet's tests of init and restartable init containers", "[devices][numa]") {
  struct reuse_case {
    const char* name;
    std::uint64_t memory, hugepages;
    std::vector<std::pair<container_kind, std::uint64_t>> asked;  // Gi
    std::vector<std::uint64_t> booked;                            // Gi
    std::uint64_t memory_free, hugepages_free;
    std::uint32_t assignments;
  };
  constexpr std::uint64_t gi = 1024;
  const std::vector<reuse_case> cases{
      {"init containers requests 1Gi and 2Gi, apps containers 3Gi and 4Gi",
       7680,
       8 * gi,
       {{init, 1}, {init, 2}, {app, 3}, {app, 4}},
       {0, 0, 3, 4},
       512,
       1 * gi,
       8},
      {"init containers requests 4Gi and 3Gi, apps containers 2Gi and 1Gi",
       7680,
       8 * gi,
       {{init, 4}, {init, 3}, {app, 2}, {app, 1}},
       {0, 1, 2, 1},
       3584,
       4 * gi,
       8},
      {"init containers requests 7Gi and 4Gi, apps containers 4Gi and 3Gi",
       7680,
       8 * gi,
       {{init, 7}, {init, 4}, {app, 4}, {app, 3}},
       {0, 0, 4, 3},
       512,
       1 * gi,
       8},
      {"init containers requests 7Gi and 4Gi, apps containers 5Gi and 2Gi",
       10240,
       10 * gi,
       {{init, 7}, {init, 4}, {app, 5}, {app, 2}},
       {0, 0, 5, 2},
       3072,
       3 * gi,
       8},
      {"should not re-use restartable init containers memory",
       7 * gi,
       7 * gi,
       {{init, 1}, {sidecar, 2}, {init, 3}, {sidecar, 4}, {app, 1}},
       {0, 2, 0, 4, 1},
       0,
       0,
       10},
  };
  for (const reuse_case& row : cases) {
    CAPTURE(row.name);
    auto spec = numa_cells(1, 4, [](numa_cpu&, unsigned&) {});
    spec[0].memory_bytes = row.memory;
    spec[0].hugepages = {{1, row.hugepages}};
    const numa_topology topology = numa_topology::build(spec).value();
    numa_node node;
    node.topology = &topology;
    node.policy = numa_policy::restricted;
    node.static_memory = true;
    numa_pod pod{true, {}};
    for (const auto& [kind, size] : row.asked) pod.containers.push_back({kind, 1000, {size * gi, size * gi}, {}});
    const numa_state empty = make_numa_state(node, {}).value();
    numa_admission got = numa_admit(node, empty, pod);
    REQUIRE(got.admitted);
    for (std::size_t i = 0; i < row.booked.size(); ++i)
      CHECK(got.grants[i].memory == memory_grant{1, 3, {row.booked[i] * gi, row.booked[i] * gi}});
    CHECK(got.after.memory.cells[0] == memory_state::cell{{row.memory_free, row.hugepages_free}, row.assignments, 1});
    numa_release(node, got.after, got.grants);
    CHECK(got.after.memory == empty.memory);
  }
}

TEST_CASE("a pod needs the CPUs that kubelet's TestPodGuaranteedCPUs says", "[devices][numa]") {
  struct pod_case {
    const char* name;
    std::vector<std::pair<container_kind, std::int64_t>> asked;
    unsigned needed;
  };
  const std::vector<pod_case> cases{
      {"TestCase06: by app is bigger than by init", {{init, 2}, {app, 5}}, 5},
      {"TestCase07: by init is bigger than by app", {{init, 5}, {app, 2}}, 5},
      {"TestCase08: Sum of CPUs requested by multiple containers", {{init, 2}, {init, 4}, {app, 2}, {app, 4}}, 6},
      {"TestCase11: multiple restartable and regular init containers",
       {{init, 5}, {sidecar, 1}, {sidecar, 2}, {init, 5}, {sidecar, 3}, {app, 1}},
       8},
      {"TestCase12: restartable init, regular init and regular container", {{sidecar, 1}, {init, 6}, {app, 3}}, 7},
  };
  for (const pod_case& row : cases) {
    CAPTURE(row.name);
    node_fixture on(numa_policy::single_numa_node, numa_scope::pod);
    std::vector<numa_container> containers;
    for (const auto& [kind, cpu] : row.asked) containers.push_back(ask(cpu, 1, 0, kind));
    on.state.cpus.shared = on.topology.cpus_in(1).lowest(row.needed);
    CHECK(on.admit(containers).admitted);
    on.state.cpus.shared = on.topology.cpus_in(1).lowest(row.needed - 1);
    CHECK(on.admit(containers).reason == numa_refusal::topology_affinity);
  }
}

TEST_CASE("pods that are not Guaranteed, and CPUs that are not whole, get devices aligned and nothing else",
          "[devices][numa]") {
  const node_fixture on(numa_policy::single_numa_node);
  const numa_admission burstable = numa_admit(on.node, on.state, {false, {ask(4, 60, 2)}});
  REQUIRE(burstable.admitted);
  CHECK(burstable.grants[0].cpus.empty());
  CHECK(burstable.grants[0].memory.cells == 0);
  CHECK(burstable.grants[0].devices[0] == devices({0, 1}));
  CHECK(burstable.after.cpus.shared == on.state.cpus.shared);
  const numa_admission broken = on.admit({{app, 2500, {60}, {}}});
  REQUIRE(broken.admitted);
  CHECK(broken.grants[0].cpus.empty());
  CHECK(broken.grants[0].memory.cells == 1);
}

TEST_CASE("managers without their static policy give no hints and nothing away", "[devices][numa]") {
  node_fixture on(numa_policy::single_numa_node);
  on.node.cpu.is_static = on.node.static_memory = false;
  const numa_admission got = on.admit({ask(100, 1000)});
  REQUIRE(got.admitted);
  CHECK(got.grants[0].hint == numa_hint{0, yes});
  CHECK(got.grants[0].cpus.empty());
}

TEST_CASE("memory without any hint does not spoil the merge, but is refused when it is given", "[devices][numa]") {
  for (const numa_policy policy : {numa_policy::none, numa_policy::best_effort, numa_policy::restricted}) {
    const node_fixture on(policy);
    const numa_admission got = on.admit({ask(2, 500)});
    CHECK_FALSE(got.admitted);
    CHECK(got.reason == numa_refusal::memory);
    CHECK(to_string(got.reason) == "UnexpectedAdmissionError");
  }
}

TEST_CASE("whole cores only: a request that splits one is an alignment error whatever the policy", "[devices][numa]") {
  node_fixture on(numa_policy::none);
  on.node.cpu.full_pcpus_only = true;
  CHECK(on.admit({ask(3, 10)}).reason == numa_refusal::smt_alignment);
  CHECK(to_string(on.admit({ask(3, 10)}).reason) == "SMTAlignmentError");
  CHECK(on.admit({ask(4, 10)}).grants.at(0).cpus == cpus("0-1,8-9"));
  on.state.cpus.reserved = cpus("0");
  CHECK(on.admit({ask(14, 10)}).admitted);
  CHECK(on.admit({ask(16, 10)}).reason == numa_refusal::smt_alignment);
}

TEST_CASE("too few devices or CPUs are refused when they are given, if the policy let them pass", "[devices][numa]") {
  const node_fixture on(numa_policy::best_effort);
  CHECK(on.admit({ask(2, 10, 9)}).reason == numa_refusal::devices);
  CHECK(on.admit({ask(17, 10)}).reason == numa_refusal::cpus);
  CHECK(node_fixture(numa_policy::restricted).admit({ask(2, 10, 9)}).reason == numa_refusal::topology_affinity);
}

TEST_CASE("more CPUs than a number of 32 bits says are refused", "[devices][numa]") {
  constexpr std::int64_t many = std::int64_t{1} << 32;
  for (const numa_scope scope : {numa_scope::container, numa_scope::pod}) {
    const node_fixture n{numa_policy::best_effort, scope};
    CHECK(n.admit({ask(1, 10)}).admitted);
    CHECK_FALSE(n.admit({ask(many + 1, 10)}).admitted);
    CHECK_FALSE(n.admit({ask(many, 10), ask(many + 2, 10)}).admitted);
    CHECK_FALSE(n.admit({ask(many, 10, 0, init), ask(1, 10)}).admitted);
  }
}

TEST_CASE("device hints go by the devices' cells, and a kind without cells does not care", "[devices][numa]") {
  const node_fixture on(numa_policy::restricted);
  const device_kind& gpus = on.node.devices[0];
  const auto hints = [&](const device_set& free, const device_set& reusable, unsigned wanted) {
    return device_hints(on.topology, gpus, free, reusable, wanted).value();
  };
  using list = numa_hint_list;
  CHECK(hints(device_set::range(0, 8), {}, 2) == list{{1, yes}, {2, yes}, {3, false}});
  CHECK(hints(devices({0, 4, 5}), {}, 2) == list{{2, yes}, {3, false}});
  CHECK(hints(devices({0, 4}), {}, 2) == list{{3, false}});
  CHECK(hints(device_set::range(0, 8), {}, 5) == list{{3, yes}});
  CHECK(hints(devices({0}), {}, 2) == list{});
  CHECK(hints(devices({1, 4, 5}), devices({0}), 2) == list{{1, yes}, {3, false}});
  CHECK_FALSE(device_hints(on.topology, {{0, 0}}, device_set::range(0, 2), {}, 1).has_value());
  // Cells without such devices are in no hint.
  CHECK(device_hints(on.topology, {{2, 2, 0}}, device_set::range(0, 3), {}, 1).value() == list{{2, yes}});
}

TEST_CASE("devices come from those to reuse, then near, then far, then from those without a cell", "[devices][numa]") {
  const device_kind kind{{1, 2, 0, 2, 3}};
  const device_set all = device_set::range(0, 5);
  CHECK(allocate_devices(kind, all, {}, 2, 1) == devices({1}));
  CHECK(allocate_devices(kind, all, {}, 2, 3) == devices({1, 3, 4}));
  CHECK(allocate_devices(kind, all, {}, 2, 4) == devices({0, 1, 3, 4}));
  CHECK(allocate_devices(kind, all, {}, 2, 5) == all);
  CHECK(allocate_devices(kind, all, {}, 0, 3) == devices({0, 1, 2}));
  CHECK(allocate_devices(kind, devices({1, 3}), devices({4}), 1, 2) == devices({1, 4}));
  CHECK_FALSE(allocate_devices(kind, devices({1}), devices({4}), 1, 3).has_value());
}

TEST_CASE("with distances, the nearer pair of cells is chosen", "[devices][numa]") {
  node_fixture on(numa_policy::restricted, numa_scope::container, 4);
  auto spec = numa_cells(4, 32, [](numa_cpu& cpu, unsigned& cell) { cpu.socket = cell = cpu.id / 8; });
  const std::vector<std::vector<std::uint32_t>> rows{
      {10, 30, 20, 30}, {30, 10, 30, 30}, {20, 30, 10, 30}, {30, 30, 30, 10}};
  for (unsigned i = 0; i < 4; ++i) spec[i].memory_bytes = 100, spec[i].distances = rows[i];
  on.topology = numa_topology::build(spec).value();
  CHECK(on.admit({ask(10, 110, 5)}).grants.at(0).hint == numa_hint{3, yes});
  on.node.prefer_closest = true;
  CHECK(on.admit({ask(10, 110, 5)}).grants.at(0).hint == numa_hint{5, yes});
}

TEST_CASE("what pods take and give back adds up, and refusals change nothing", "[devices][numa]") {
  dice random(5);
  unsigned admitted = 0, refused = 0;
  for (int round = 0; round < 200; ++round) {
    node_fixture on(static_cast<numa_policy>(random.below(4)), static_cast<numa_scope>(random.below(2)), 3);
    on.node.cpu.full_pcpus_only = random.percent(30);
    on.node.cpu.distribute_cpus_across_numa = random.percent(30);
    const numa_state empty = on.state;
    std::vector<std::vector<numa_grant>> pods;
    for (int step = 0; step < 20; ++step) {
      if (!pods.empty() && random.percent(35)) {
        const std::size_t which = random.below(pods.size());
        numa_release(on.node, on.state, pods[which]);
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      std::vector<numa_container> containers;
      if (random.percent(40)) containers.push_back(ask(random.between(0, 6), 1 + random.below(60), 1, init));
      if (random.percent(30)) containers.push_back(ask(random.between(0, 4), 1 + random.below(30), 0, sidecar));
      for (std::size_t i = random.below(3) + 1; i > 0; --i)
        containers.push_back(ask(random.between(0, 8), 1 + random.below(80), static_cast<unsigned>(random.below(4))));
      const numa_admission got = on.admit(containers);
      if (!got.admitted) {
        ++refused;
        REQUIRE(got.reason != numa_refusal::none);
        REQUIRE(got.after.cpus.shared == on.state.cpus.shared);
        REQUIRE(got.after.memory == on.state.memory);
        continue;
      }
      ++admitted;
      cpu_set taken;
      std::uint64_t bytes = 0, free = 0, was_free = 0;
      for (std::size_t i = 0; i < containers.size(); ++i) {
        const numa_grant& grant = got.grants[i];
        REQUIRE(grant.cpus.count() == static_cast<unsigned>(containers[i].cpu_milli / 1000));
        REQUIRE(grant.devices[0].count() == containers[i].devices[0]);
        // Only what an init container had is had again.
        for (std::size_t j = 0; j < i; ++j)
          REQUIRE((containers[j].kind == init || (got.grants[j].cpus & grant.cpus).empty()));
        taken |= grant.cpus;
        bytes += grant.memory.bytes.at(0);
      }
      for (unsigned cell = 0; cell < 3; ++cell) {
        free += got.after.memory.cells[cell].free[0];
        was_free += on.state.memory.cells[cell].free[0];
      }
      REQUIRE((on.state.cpus.shared & taken) == taken);
      REQUIRE(got.after.cpus.shared == on.state.cpus.shared - taken);
      REQUIRE(was_free - free == bytes);
      on.state = got.after;
      pods.push_back(got.grants);
    }
    for (const auto& pod : pods) numa_release(on.node, on.state, pod);
    CHECK(on.state.cpus.shared == empty.cpus.shared);
    CHECK(on.state.memory == empty.memory);
    CHECK(on.state.free_devices == empty.free_devices);
  }
  CHECK(admitted > 500);
  CHECK(refused > 300);
}

}  // namespace gangsched::testing::numa_admit_test
