// CPUs that are kept from those of other pods with the same exclusive policy.
#include <string>

#include "devices/numa_nodes.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::exclusive_cpus_test {

namespace {

/// Two cells of four cores with two CPUs each, numbered core by core.
a_node two_cells(const std::string& name) {
  a_node made{name};
  made.cpu(16);
  node_numa& numa = made.spec.devices.numa.emplace();
  numa.cells = numa_cells(2, 16, [](numa_cpu& cpu, unsigned& cell) {
    cpu.core = cpu.id / 2;
    cell = cpu.id / 8;
    cpu.socket = cell;
  });
  numa.cpu_strategy = numa_allocate_strategy::most_allocated;
  return made;
}
a_pod binding(const std::string& name, std::int64_t count, cpu_exclusive_policy exclusive,
              cpu_bind_policy policy = cpu_bind_policy::spread_by_pcpus) {
  a_pod made{name};
  made.cpu(count).spec.bind_cpus = {policy, false, exclusive};
  return made;
}
cpu_set cpus_of(const cluster& c, pod_id pod) {
  cpu_set all;
  for (const device_grant& one : c.devices_of(pod)) {
    const auto word = static_cast<std::size_t>(one.milli / 64);
    if (one.kind == device_grant::form::cpus) all.set_bits(word, all.bits(word) | one.cpu_mask());
  }
  return all;
}
constexpr auto none = cpu_exclusive_policy::none, core = cpu_exclusive_policy::pcpu_level,
               cell = cpu_exclusive_policy::numa_node_level;

TEST_CASE("pods with the same exclusive policy keep apart, until one of them leaves", "[model][numa]") {
  cluster c;
  const node_id n = c.add_node(two_cells("n")).value();
  const auto put = [&](const std::string& name, cpu_exclusive_policy exclusive) {
    const pod_id made = c.add_pod(binding(name, 2, exclusive)).value();
    CHECK(c.assume(made, n));
    return made;
  };
  const pod_id first = put("first", core);
  CHECK(cpus_of(c, first) == cpus("0,2"));
  CHECK(cpus_of(c, put("same", core)) == cpus("4,6"));
  CHECK(cpus_of(c, put("other", cell)) == cpus("1,3"));   // keeps from nobody who is there
  CHECK(cpus_of(c, put("again", cell)) == cpus("8,10"));  // the other cell
  CHECK(cpus_of(c, put("nothing", none)) == cpus("5,7"));
  CHECK(cpus_of(c, put("spread", core)) == cpus("9,11"));  // cores of another policy will do
  {
    transaction trial{c};
    CHECK(c.remove_pod(first));
    CHECK(cpus_of(c, put("trial", core)) == cpus("0,2"));
  }
  CHECK(c.remove_pod(first));
  CHECK(cpus_of(c, put("late", core)) == cpus("0,2"));
  for (const pod_id pod : c.pods()) CHECK(c.remove_pod(pod));
  const device_state now = c.devices_of(n);
  for (std::uint32_t word = 0; word < now.inventory->words(); ++word) CHECK(now.used[word] == 0);
}

TEST_CASE("CPUs that the host says a pod has are kept from, too", "[model][numa]") {
  cluster c;
  a_node node = two_cells("n");
  const node_id n = c.add_node(node).value();
  a_pod told = binding("told", 2, cell).on(n);
  told.spec.held_devices = {{.id = "cpu", .request = 0, .places = {0, 1}}};
  CHECK(cpus_of(c, c.add_pod(told).value()) == cpus("0-1"));
  node.spec.devices.numa->cpu_strategy = numa_allocate_strategy::least_allocated;  // told anew
  CHECK(c.update_node(n, node));
  node.spec.devices.numa->cpu_strategy = numa_allocate_strategy::most_allocated;
  CHECK(c.update_node(n, node));
  const pod_id apart = c.add_pod(binding("apart", 4, cell, cpu_bind_policy::full_pcpus)).value();
  CHECK(c.assume(apart, n));
  CHECK(cpus_of(c, apart) == cpus("8-11"));
  const pod_id beside = c.add_pod(binding("beside", 4, none, cpu_bind_policy::full_pcpus)).value();
  CHECK(c.assume(beside, n));
  CHECK(cpus_of(c, beside) == cpus("12-15"));
}

}  // namespace

}  // namespace gangsched::testing::exclusive_cpus_test
