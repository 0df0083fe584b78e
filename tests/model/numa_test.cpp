// NUMA cells of nodes in a cluster: what the kubelet would give is what pods are granted.
#include <algorithm>
#include <string>
#include <vector>

#include "devices/numa_nodes.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "held_devices.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::numa_test {

namespace {

using form = device_grant::form;

/// Sockets of a cell each: four cores with two threads (CPU n and n + 4 · cells share a core), 100 bytes of memory, 40 of huge pages.
node_numa sockets(unsigned cells, numa_policy policy, numa_scope scope = numa_scope::container) {
  node_numa made;
  made.cells = numa_cells(cells, 8 * cells, [cells](numa_cpu& cpu, unsigned& cell) {
    cpu.core = cpu.id % (4 * cells);
    cpu.socket = cell = cpu.core / 4;
  });
  for (numa_cell& cell : made.cells) {
    cell.memory_bytes = 100;
    cell.hugepages = {{2, 40}};
  }
  made.policy = policy;
  made.scope = scope;
  made.cpu.is_static = true;
  made.static_memory = true;
  return made;
}

/// Four GPUs a cell, all linked alike, so that the lowest are the best.
a_node a_numa_node(const std::string& name, unsigned cells, numa_policy policy,
                   numa_scope scope = numa_scope::container) {
  a_node made = a_node(name).gpus(4 * cells).cards(std::size_t{4} * cells);
  made.spec.devices.numa = sockets(cells, policy, scope);
  for (unsigned gpu = 0; gpu < 4 * cells; ++gpu) made.spec.devices.gpus[gpu].numa = static_cast<std::int32_t>(gpu / 4);
  made.spec.devices.gpu.links.assign(std::size_t{16} * cells * cells, {0, link_level::sys});
  return made;
}

a_pod aligned(const std::string& name) { return a_pod{name}.guaranteed(); }

cpu_set cpus_of(const cluster& c, pod_id pod, int container = -1) {
  cpu_set all;
  for (const device_grant& one : c.devices_of(pod)) {
    if (one.kind != form::cpus || (container >= 0 && one.request != container)) continue;
    for (unsigned bit = 0; bit < 64; ++bit) {
      if ((one.cpu_mask() >> bit & 1u) != 0) all.insert(static_cast<unsigned>(one.milli) + bit);
    }
  }
  return all;
}
std::vector<unsigned> gpus_of(const cluster& c, pod_id pod) {
  std::vector<unsigned> all;
  for (const device_grant& one : c.devices_of(pod))
    if (one.is_gpu()) all.push_back(one.device);
  return all;
}
bool fits(const cluster& c, pod_id pod, node_id node) {
  const model::cluster_state& state = inside(c);
  return devices_fit(state.devices.devices_of(node.row),
                     state.devices.wants_of(state.classes[state.pods.cls[pod.row]], node.row), {})
      .ok();
}

}  // namespace

TEST_CASE("a Guaranteed pod gets CPUs, memory and GPUs of one cell, and gives them back", "[model][numa]") {
  cluster c;
  const node_id n = c.add_node(a_numa_node("n", 2, numa_policy::single_numa_node)).value();
  const std::uint64_t before = inside(c).digest_with_derived();
  {
    transaction trial{c};
    const pod_id p = c.add_pod(aligned("p").cpu(4).memory("60").gpus(2)).value();
    CHECK(c.assume(p, n));
    CHECK(cpus_of(c, p) == cpus("0-1,8-9"));
    CHECK(gpus_of(c, p) == std::vector<unsigned>{0, 1});
  }
  CHECK(inside(c).digest_with_derived() == before);
  const pod_id a = c.add_pod(aligned("a").cpu(6).memory("60").on(n)).value();
  const pod_id b = c.add_pod(aligned("b").cpu(4).memory("60").gpus(2).on(n)).value();
  CHECK(cpus_of(c, a) == cpus("0-2,8-10"));
  CHECK(cpus_of(c, b) == cpus("4-5,12-13"));
  CHECK(gpus_of(c, b) == std::vector<unsigned>{4, 5});
  const auto memory = [&](pod_id pod) {
    for (const device_grant& one : c.devices_of(pod))
      if (one.kind == form::memory) return std::pair{one.device, one.amount};
    return std::pair{std::uint16_t{0}, std::int64_t{0}};
  };
  CHECK(memory(a) == std::pair{std::uint16_t{1}, std::int64_t{60}});
  CHECK(memory(b) == std::pair{std::uint16_t{2}, std::int64_t{60}});
  const pod_id late = c.add_pod(aligned("late").cpu(5)).value();
  CHECK_FALSE(fits(c, late, n));
  CHECK(c.remove_pod(a));
  CHECK(fits(c, late, n));
  CHECK(c.remove_pod(b));
  CHECK(words_of(c, n) == std::vector<std::int64_t>(c.devices_of(n).inventory->words()));
}

TEST_CASE("kubelet gives pods with pod-level resources no CPUs and no memory of their own", "[model][numa]") {
  cluster c;
  const node_id n = c.add_node(a_numa_node("n", 2, numa_policy::single_numa_node)).value();
  a_pod wide = aligned("p").cpu(4).memory("60").gpus(2);
  wide.spec.resources = resource_list{{"cpu", 10}, {"memory", 120}};
  const pod_id p = c.add_pod(wide.on(n)).value();
  CHECK(cpus_of(c, p).empty());
  CHECK(gpus_of(c, p) == std::vector<unsigned>{0, 1});
}

TEST_CASE("pods of other classes and fractional CPUs share what is left, and only their GPUs are aligned",
          "[model][numa]") {
  cluster c;
  const node_id n = c.add_node(a_numa_node("n", 2, numa_policy::single_numa_node)).value();
  const pod_id burstable = c.add_pod(a_pod("burstable").cpu(4).memory("60").gpus(2).on(n)).value();
  const pod_id fraction = c.add_pod(aligned("fraction").cpu_milli(1500).on(n)).value();
  CHECK(cpus_of(c, burstable).empty());
  CHECK(gpus_of(c, burstable).size() == 2);
  CHECK(cpus_of(c, fraction).empty());
  CHECK_FALSE(fits(c, c.add_pod(a_pod("wide").gpus(5)).value(), n));
  CHECK_FALSE(fits(c, c.add_pod(a_pod("three").gpus(5).memory("10")).value(), n));
  CHECK(fits(c, c.add_pod(a_pod("four").gpus(4)).value(), n));
}

TEST_CASE("each container has its own cell, or the pod one for all", "[model][numa]") {
  for (const numa_scope scope : {numa_scope::container, numa_scope::pod}) {
    cluster c;
    const node_id n = c.add_node(a_numa_node("n", 2, numa_policy::single_numa_node, scope)).value();
    const pod_id pod = c.add_pod(aligned("p").cpu(6).gpus(2).container().cpu(6).gpus(2)).value();
    CHECK(fits(c, pod, n) == (scope == numa_scope::container));
    if (scope == numa_scope::pod) continue;
    CHECK(c.assume(pod, n));
    CHECK(cpus_of(c, pod, 0) == cpus("0-2,8-10"));
    CHECK(cpus_of(c, pod, 1) == cpus("4-6,12-14"));
    CHECK(gpus_of(c, pod) == std::vector<unsigned>{0, 1, 4, 5});
  }
}

TEST_CASE("what an init container had is had again, and counted once", "[model][numa]") {
  cluster c;
  const node_id n = c.add_node(a_numa_node("n", 2, numa_policy::restricted)).value();
  a_pod made = aligned("p").cpu(2).memory("30").gpus(1);
  made.spec.init_containers.emplace_back();
  made.spec.init_containers.back().requests = {
      {"cpu", quantity{4}}, {"memory", quantity{50}}, {"nvidia.com/gpu", quantity{2}}};
  const pod_id pod = c.add_pod(made.on(n)).value();
  CHECK(cpus_of(c, pod) == cpus("0-1,8-9"));
  CHECK(cpus_of(c, pod, 1).count() == 2);
  CHECK(gpus_of(c, pod) == std::vector<unsigned>{0, 1});
  CHECK(words_of(c, n) == claimed(c, n));
  std::int64_t bytes = 0;
  for (const device_grant& one : c.devices_of(pod)) bytes += one.kind == form::memory ? one.amount : 0;
  CHECK(bytes == 50);
  CHECK(c.remove_pod(pod));
  CHECK(words_of(c, n) == std::vector<std::int64_t>(c.devices_of(n).inventory->words()));
}

TEST_CASE("shares, NICs and MIG instances come from the cells that the kubelet admits to", "[model][numa]") {
  cluster c;
  a_node node = a_numa_node("n", 2, numa_policy::single_numa_node);
  for (int i = 0; i < 4; ++i)
    node.spec.devices.others.push_back({.id = "nic" + std::to_string(i), .device_class = "rdma", .numa = i / 2});
  const node_id n = c.add_node(node).value();
  // Cell 0 has no CPUs left, so nothing else is taken there.
  CHECK(c.add_pod(aligned("full").cpu(8).on(n)));
  const pod_id share = c.add_pod(aligned("share").cpu(2).milli(300).device({.device_class = "rdma"}).on(n)).value();
  CHECK(gpus_of(c, share) == std::vector<unsigned>{4});
  for (const device_grant& one : c.devices_of(share)) {
    if (one.kind == form::other) CHECK(c.name_of(n, one) == "nic2");
    if (one.kind == form::cpus) CHECK(one.device == 1);
  }
  CHECK_FALSE(fits(c, c.add_pod(aligned("two").cpu(2).device({.device_class = "rdma", .count = 2})).value(), n));
  CHECK(fits(c, c.add_pod(a_pod("not").device({.device_class = "rdma", .count = 2})).value(), n));
}

TEST_CASE("replicas, MIG instances and requests of one container are aligned with its CPUs", "[model][numa]") {
  const auto node_with = [](cluster& c, auto change) {
    a_node node = a_numa_node("n", 2, numa_policy::single_numa_node);
    change(node.spec.devices);
    const node_id made = c.add_node(node).value();
    CHECK(c.add_pod(aligned("full").cpu(8).on(made)));
    return made;
  };
  SECTION("replicas, which come from the fullest GPU of the cell") {
    cluster c;
    const node_id n = node_with(c, [](node_devices& d) { d.gpu.replicas = 4; });
    const pod_id p = c.add_pod(aligned("p").cpu(2).gpus(6).on(n)).value();
    CHECK(gpus_of(c, p) == std::vector<unsigned>{4, 4, 4, 4, 5, 5});
    CHECK(fits(c, c.add_pod(aligned("rest").cpu(2).gpus(10)).value(), n));
    CHECK_FALSE(fits(c, c.add_pod(aligned("more").cpu(2).gpus(11)).value(), n));
    CHECK(fits(c, c.add_pod(a_pod("elsewhere").gpus(16)).value(), n));
  }
  SECTION("MIG instances") {
    cluster c;
    const node_id n = node_with(c, [](node_devices& d) {
      d.gpu.model = "NVIDIA-A100-SXM4-40GB";
      for (gpu_spec& one : d.gpus) one.mig = mig_mode::dynamic;
    });
    const pod_id p = c.add_pod(aligned("p").cpu(2).device({.count = 2, .mig_profile = "3g.20gb"}).on(n)).value();
    REQUIRE(gpus_of(c, p).size() == 2);
    for (const unsigned gpu : gpus_of(c, p)) CHECK(gpu >= 4);
    CHECK(fits(c, c.add_pod(aligned("rest").cpu(2).device({.count = 6, .mig_profile = "3g.20gb"})).value(), n));
    CHECK_FALSE(fits(c, c.add_pod(aligned("more").cpu(2).device({.count = 7, .mig_profile = "3g.20gb"})).value(), n));
  }
  SECTION("a request is its container's") {
    cluster c;
    const node_id n = node_with(c, [](node_devices&) {});
    CHECK(c.add_pod(aligned("four").cpu(4).on(n)));
    a_pod made = aligned("p").cpu(4).container().device({.count = 4, .container = 1});
    const pod_id p = c.add_pod(made.on(n)).value();
    CHECK(cpus_of(c, p, 0).count() == 4);
    CHECK(gpus_of(c, p) == std::vector<unsigned>{0, 1, 2, 3});
  }
}

TEST_CASE("the kubelet's options count: whole cores, strict reservation, the nearest cells", "[model][numa]") {
  const auto refusal = [](const cluster& c, pod_id pod, node_id node) {
    const model::cluster_state& state = inside(c);
    const device_wants wants = state.devices.wants_of(state.classes[state.pods.cls[pod.row]], node.row);
    const status said = devices_fit(state.devices.devices_of(node.row), wants, {});
    return std::string{said.reason == nullptr ? "" : said.reason};
  };
  SECTION("full-pcpus-only") {
    cluster c;
    a_node node = a_numa_node("n", 2, numa_policy::best_effort);
    node.spec.devices.numa->cpu.full_pcpus_only = true;
    const node_id n = c.add_node(node).value();
    CHECK(refusal(c, c.add_pod(aligned("odd").cpu(3)).value(), n) == "node(s) would refuse the pod: SMTAlignmentError");
    CHECK(refusal(c, c.add_pod(aligned("even").cpu(4)).value(), n).empty());
  }
  SECTION("reserved CPUs are nobody's own") {
    cluster c;
    a_node node = a_numa_node("n", 2, numa_policy::single_numa_node);
    node.spec.devices.numa->reserved_cpus = {0, 8};
    const node_id n = c.add_node(node).value();
    const pod_id a = c.add_pod(aligned("a").cpu(8).on(n)).value();
    CHECK(cpus_of(c, a) == cpus("4-7,12-15"));
    CHECK(refusal(c, c.add_pod(aligned("b").cpu(7)).value(), n) ==
          "node(s) would refuse the pod: TopologyAffinityError");
    CHECK(refusal(c, c.add_pod(aligned("c").cpu(6)).value(), n).empty());
  }
  SECTION("prefer-closest-numa-nodes") {
    cluster c;
    a_node node = a_numa_node("n", 4, numa_policy::restricted);
    const std::vector<std::vector<std::uint32_t>> rows{
        {10, 30, 20, 30}, {30, 10, 30, 30}, {20, 30, 10, 30}, {30, 30, 30, 10}};
    for (unsigned i = 0; i < 4; ++i) node.spec.devices.numa->cells[i].distances = rows[i];
    node.spec.devices.numa->prefer_closest = true;
    const node_id n = c.add_node(node).value();
    const pod_id p = c.add_pod(aligned("p").cpu(10).memory("110").gpus(5).on(n)).value();
    for (const unsigned gpu : gpus_of(c, p)) CHECK((gpu / 4 == 0 || gpu / 4 == 2));
    for (const device_grant& one : c.devices_of(p))
      if (one.kind == form::memory) CHECK(one.device == 5);
  }
  SECTION("groups of cells are the same or disjoint") {
    cluster c;
    const node_id n = c.add_node(a_numa_node("n", 2, numa_policy::none)).value();
    const pod_id wide = c.add_pod(aligned("wide").memory("120").on(n)).value();
    CHECK(c.devices_of(wide).front().device == 3);
    CHECK(refusal(c, c.add_pod(aligned("more").memory("80")).value(), n).empty());
    CHECK(c.remove_pod(wide));
    const pod_id low = c.add_pod(aligned("low").memory("20").on(n)).value();
    CHECK(c.devices_of(low).front().device == 1);
    CHECK(refusal(c, c.add_pod(aligned("again").memory("120")).value(), n) ==
          "node(s) would refuse the pod: UnexpectedAdmissionError");
  }
}

TEST_CASE("pods keep their CPUs and memory when the node is told anew, and hosts say what pods have", "[model][numa]") {
  cluster c;
  a_node node = a_numa_node("n", 2, numa_policy::best_effort);
  const node_id n = c.add_node(node).value();
  a_pod told = aligned("told").cpu(2).memory("20");
  told.spec.held_devices = {{.id = "cpu", .request = 0, .places = {5, 13}},
                            {.id = "memory", .request = 0, .places = {1}, .bytes = 20},
                            {.id = "hugepages-2", .request = 0, .places = {1}, .bytes = 4}};
  const pod_id p = c.add_pod(told.on(n)).value();
  CHECK(cpus_of(c, p) == cpus("5,13"));
  const pod_id guessed = c.add_pod(aligned("guessed").cpu(10).memory("70").on(n)).value();
  CHECK(cpus_of(c, guessed).count() == 10);
  const auto before = words_of(c, n);
  const cpu_set had = cpus_of(c, guessed);
  node.spec.devices.gpus[0].healthy = false;
  CHECK(c.update_node(n, node));
  CHECK(cpus_of(c, p) == cpus("5,13"));
  CHECK(cpus_of(c, guessed) == had);
  const auto after = words_of(c, n);
  CHECK(std::equal(after.begin() + 1, after.end(), before.begin() + 1, before.end()));
  a_pod late = aligned("late").cpu(1).on(n);
  late.spec.held_devices = {{.id = "cpu", .places = {5}}};
  CHECK(cpus_of(c, c.add_pod(late).value()).empty());
}

TEST_CASE("pods have their CPUs and memory again when the node has them again", "[model][numa]") {
  const bool late = GENERATE(false, true);
  cluster c;
  a_node node = a_numa_node("n", 2, numa_policy::best_effort);
  a_pod told = aligned("told").cpu(2).memory("20");
  told.spec.held_devices = {{.id = "cpu", .request = 0, .places = {5, 13}},
                            {.id = "memory", .request = 0, .places = {1}, .bytes = 20}};
  a_node less = node;
  SECTION("its cells are not known for a while") { less.spec.devices.numa.reset(); }
  SECTION("some CPUs and a cell are not there for a while") { less = a_numa_node("n", 1, numa_policy::best_effort); }
  const node_id n = c.add_node(late ? less : node).value();
  const pod_id p = c.add_pod(told.on(n)).value();
  if (!late) CHECK(c.update_node(n, less));
  CHECK(c.update_node(n, less));
  CHECK(words_of(c, n) == claimed(c, n));
  CHECK(c.update_node(n, node));
  CHECK(cpus_of(c, p) == cpus("5,13"));
  const auto has = [&](const device_grant& one) { return one.kind == form::memory && one.amount == 20; };
  CHECK(std::any_of(c.devices_of(p).begin(), c.devices_of(p).end(), has));
  CHECK(words_of(c, n) == claimed(c, n));
  CHECK(c.remove_pod(p));
  CHECK(words_of(c, n) == std::vector<std::int64_t>(c.devices_of(n).inventory->words()));
}

TEST_CASE("nonsense about NUMA cells is refused, and says what", "[model][numa]") {
  cluster c;
  const std::uint64_t before = inside(c).digest_with_derived();
  const auto node = [&](auto change) {
    a_node made = a_numa_node("n", 2, numa_policy::restricted);
    change(made.spec.devices);
    return c.add_node(made);
  };
  check_refused(c, errc::unknown, "node n", "devices.gpus[1].numa",
                [&] { return node([](node_devices& d) { d.gpus[1].numa = 7; }); });
  check_refused(c, errc::unknown, "node n", "devices.numa.reserved_cpus[0]",
                [&] { return node([](node_devices& d) { d.numa->reserved_cpus = {99}; }); });
  check_refused(c, errc::malformed, "node n", "devices.numa.prefer_closest",
                [&] { return node([](node_devices& d) { d.numa->prefer_closest = true; }); });
  check_refused(c, errc::malformed, "node n", "devices.numa.cpu.distribute-cpus-across-cores", [&] {
    return node([](node_devices& d) { d.numa->cpu.distribute_cpus_across_cores = d.numa->cpu.full_pcpus_only = true; });
  });
  check_refused(c, errc::unknown, "pod default/p", "devices[0].container",
                [&] { return c.add_pod(a_pod("p").device({.container = 3})); });
  CHECK(inside(c).digest_with_derived() == before);
}

TEST_CASE("nodes with equal hardware and configuration share their tables, others do not", "[model][numa]") {
  cluster c;
  const auto inventory = [&](const std::string& name, numa_policy policy) {
    return c.devices_of(c.add_node(a_numa_node(name, 2, policy)).value()).inventory;
  };
  CHECK(inventory("a", numa_policy::restricted) == inventory("b", numa_policy::restricted));
  CHECK(inventory("c", numa_policy::restricted) != inventory("d", numa_policy::single_numa_node));
}

TEST_CASE("whatever comes and goes, a pod fits exactly where a kubelet that kept its own books would admit it",
          "[model][numa]") {
  dice random(20261121);
  unsigned admitted = 0, refused = 0;
  for (int round = 0; round < 120; ++round) {
    const auto cells = static_cast<unsigned>(random.between(1, 4));
    a_node spec =
        a_numa_node("n", cells, static_cast<numa_policy>(random.below(4)), static_cast<numa_scope>(random.below(2)));
    node_numa& numa = *spec.spec.devices.numa;
    numa.cpu.full_pcpus_only = random.percent(30);
    numa.cpu.distribute_cpus_across_numa = random.percent(30);
    numa.cpu.strict_cpu_reservation = random.percent(30);
    if (random.percent(40)) numa.reserved_cpus = {0};
    cluster c;
    const node_id n = c.add_node(spec).value();

    const numa_topology topology = numa_topology::build(numa.cells).value();
    numa_node kubelet{&topology, numa.policy, numa.scope, false,
                      numa.cpu,  true,        {},         numa.policy == numa_policy::best_effort};
    device_kind gpus;
    for (unsigned gpu = 0; gpu < 4 * cells; ++gpu) gpus.cells.push_back(one_cell(gpu / 4));
    kubelet.devices = {gpus};
    numa_state books = make_numa_state(kubelet, numa.reserved_cpus.empty() ? cpu_set{} : cpus("0")).value();
    struct running {
      pod_id id;
      std::vector<numa_grant> grants;
    };
    std::vector<running> pods;
    for (int step = 0; step < 30; ++step) {
      if (!pods.empty() && random.percent(35)) {
        const std::size_t which = random.below(pods.size());
        numa_release(kubelet, books, pods[which].grants);
        CHECK(c.remove_pod(pods[which].id));
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        a_pod made = a_pod("p" + std::to_string(step));
        made.spec.guaranteed = random.percent(80);
        made.spec.containers.clear();
        numa_pod asked{made.spec.guaranteed, {}};
        const auto container = [&](container_kind kind, std::int64_t most) {
          const std::int64_t cpu = random.between(0, most) * 1000 + (random.percent(10) ? 500 : 0);
          const auto memory = static_cast<std::int64_t>(1 + random.below(80));
          const std::int64_t pages = random.percent(20) ? 10 : 0;
          const auto cards = static_cast<std::int64_t>(random.percent(50) ? random.below(4) : 0);
          auto& list = kind == container_kind::app ? made.spec.containers : made.spec.init_containers;
          list.emplace_back();
          list.back().sidecar = kind == container_kind::sidecar;
          list.back().requests = {{"cpu", quantity::from_milli(cpu)}, {"memory", quantity{memory}}};
          if (pages != 0) list.back().requests["hugepages-2"] = quantity{pages};
          if (cards != 0) list.back().requests["nvidia.com/gpu"] = quantity{cards};
          asked.containers.push_back({kind,
                                      cpu,
                                      {static_cast<std::uint64_t>(memory), static_cast<std::uint64_t>(pages)},
                                      {static_cast<unsigned>(cards)}});
        };
        if (random.percent(30)) container(container_kind::init, 6);
        if (random.percent(20)) container(container_kind::sidecar, 3);
        for (std::size_t i = random.below(3) + 1; i > 0; --i) container(container_kind::app, 8);
        const numa_admission said = numa_admit(kubelet, books, asked);
        const pod_id pod = c.add_pod(made).value();
        CAPTURE(round, step, cells, made.spec.guaranteed, asked.containers.size(), to_string(said.reason),
                said.container);
        REQUIRE(fits(c, pod, n) == said.admitted);
        if (!said.admitted) {
          ++refused;
          CHECK(c.remove_pod(pod));
          continue;
        }
        ++admitted;
        const std::uint64_t before = inside(c).digest_with_derived();
        if (random.percent(30)) {
          transaction trial{c};
          inside(c).assigned.assume(pod.row, n.row);
          trial.roll_back();
          REQUIRE(inside(c).digest_with_derived() == before);
        }
        REQUIRE(c.assume(pod, n));
        cpu_set taken;
        device_set cards;
        for (const numa_grant& grant : said.grants) taken |= grant.cpus, cards |= grant.devices[0];
        REQUIRE(cpus_of(c, pod) == taken);
        device_set held;
        for (const unsigned gpu : gpus_of(c, pod)) held.insert(gpu);
        REQUIRE(held == cards);
        books = said.after;
        pods.push_back({pod, said.grants});
      }
      const std::vector<std::int64_t> words = words_of(c, n);
      REQUIRE(words == claimed(c, n));
      const device_inventory& inventory = *c.devices_of(n).inventory;
      const numa_state now = inventory.numa->state(words.data() + inventory.first_numa());
      REQUIRE(now.cpus.shared == books.cpus.shared);
      for (unsigned i = 0; i < cells; ++i) {
        const memory_state::cell &ours = now.memory.cells[i], &theirs = books.memory.cells[i];
        REQUIRE(ours.group == theirs.group);
        REQUIRE(ours.assignments == theirs.assignments);
        for (std::size_t kind = 0; kind < 2; ++kind) {
          std::uint64_t a = 0, b = 0;
          for (unsigned j = 0; j < cells; ++j) {
            if ((ours.group >> j & 1u) == 0) continue;
            a += now.memory.cells[j].free[kind];
            b += books.memory.cells[j].free[kind];
          }
          REQUIRE(a == b);
        }
      }
    }
  }
  CHECK(admitted > 400);
  CHECK(refused > 300);
}

}  // namespace gangsched::testing::numa_test
