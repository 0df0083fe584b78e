#include "kube/group_reading.hpp"

namespace gangsched::testing::numa_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

const std::string node =
    "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 14, memory: 30Gi, pods: 9, "
    "nvidia.com/gpu: 4}}\n---\n";

std::string topology(const std::string& rest, const std::string& annotations = "",
                     const std::string& version = "v1alpha2") {
  return "apiVersion: topology.node.k8s.io/" + version +
         "\nkind: NodeResourceTopology\nmetadata: {name: n1, annotations: {" + annotations + "}}\n" + rest + "\n---\n";
}
std::string zone(int number, const std::string& resources, const std::string& more = "") {
  return "{name: node-" + std::to_string(number) + ", type: Node, resources: [" + resources + "]" + more + "}";
}
std::string resource(const std::string& name, const std::string& capacity, const std::string& allocatable) {
  return "{name: " + name + ", capacity: " + capacity + ", allocatable: " + allocatable + ", available: 0}";
}
const std::string cpus = resource("cpu", "\"4\"", "\"3\"");

const node_numa& numa_in(const manifests& of) { return of.nodes.at(0).spec.devices.numa.value(); }

}  // namespace

TEST_CASE("NodeResourceTopology tells of cells, their CPUs and memory", "[kube][numa]") {
  const std::string zones =
      "zones: [" + zone(1, cpus + ", " + resource("memory", "16Gi", "15Gi"), ", costs: [{name: node-0, value: 21}]") +
      ", " + "{name: socket-0, type: Socket}, " +
      zone(0, cpus + ", " + resource("hugepages-2Mi", "64Mi", "32Mi"),
           ", costs: [{name: node-1, value: 21}, {name: socket-0, value: 10}]") +
      "]";
  const manifests all = fine(
      topology(zones + "\nattributes: [{name: topologyManagerPolicy, value: restricted}, "
                       "{name: topologyManagerScope, value: pod}, {name: nodeTopologyPodsFingerprint, value: x}]") +
      node);
  CHECK(all.warnings.empty());
  const node_numa& numa = numa_in(all);
  CHECK(numa.policy == numa_policy::restricted);
  CHECK(numa.scope == numa_scope::pod);
  CHECK(numa.cpu.is_static);
  CHECK(numa.static_memory);
  REQUIRE(numa.cells.size() == 2);
  CHECK(numa.cells[0].id == 0);
  CHECK(numa.cells[0].memory_bytes == 0);
  REQUIRE(numa.cells[0].hugepages.size() == 1);
  CHECK(numa.cells[0].hugepages[0].page_bytes == 2 << 20);
  CHECK(numa.cells[0].hugepages[0].bytes == 32 << 20);
  CHECK(numa.cells[1].memory_bytes == std::uint64_t{15} << 30);
  CHECK(numa.cells[0].distances == std::vector<std::uint32_t>{10, 21});
  CHECK(numa.cells[1].distances == std::vector<std::uint32_t>{21, 10});
  REQUIRE(numa.cells[1].cpus.size() == 4);
  CHECK(numa.cells[1].cpus[0].id == 4);
  CHECK(numa.cells[1].cpus[0].socket == 1);
  CHECK(numa.reserved_cpus == std::vector<std::uint32_t>{0, 4});
}

TEST_CASE("the older words for the Topology Manager's policy are read, and attributes come before them",
          "[kube][numa]") {
  const std::string zones = "zones: [" + zone(0, cpus) + "]\n";
  const manifests old = fine(topology(zones + "topologyPolicies: [SingleNUMANodePodLevel]", "", "v1alpha1") + node);
  CHECK(numa_in(old).policy == numa_policy::single_numa_node);
  CHECK(numa_in(old).scope == numa_scope::pod);
  CHECK_FALSE(numa_in(old).static_memory);
  const manifests both =
      fine(topology(zones +
                    "attributes: [{name: topologyManagerPolicy, value: best-effort}]\ntopologyPolicies: [Restricted]") +
           node);
  CHECK(numa_in(both).policy == numa_policy::best_effort);
  CHECK(numa_in(fine(topology(zones) + node)).policy == numa_policy::none);
}

TEST_CASE("GPUs get the cells that zones count them in", "[kube][numa]") {
  const auto zones = [](const char* first, const char* second) {
    return topology(
        "zones: [" + zone(0, resource("nvidia.com/gpu", first, first)) + ", " +
        zone(1, cpus + ", " + resource("nvidia.com/gpu", second, second) + ", " + resource("x.io/nic", "1", "1")) +
        "]");
  };
  const manifests made = fine(zones("1", "3") + node);
  const node_devices& has = made.nodes.at(0).spec.devices;
  REQUIRE(has.gpus.size() == 4);
  CHECK(has.gpus[0].numa == 0);
  CHECK(has.gpus[1].numa == 1);
  CHECK(has.gpus[3].numa == 1);
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings[0].message() ==
        "a.yaml:1: NodeResourceTopology n1: which zone has how many x.io/nic is left out: the node has no inventory of "
        "them");
  std::string labelled = node;
  labelled.insert(labelled.find("name: n1") + 8, ", labels: {nvidia.com/gpu.product: T4, nvidia.com/gpu.count: \"4\"}");
  const manifests known = fine(labelled + zones("2", "2"));
  CHECK(known.nodes.at(0).spec.devices.gpu.model == "T4");
  CHECK(known.nodes.at(0).spec.devices.gpus[2].numa == 1);
  const manifests fewer = fine(labelled + zones("1", "2"));
  CHECK(fewer.nodes.at(0).spec.devices.gpus[2].numa == -1);
  CHECK(fewer.warnings.at(0).message().ends_with("nvidia.com/gpu is left out: the node has 4"));
}

TEST_CASE("koordlet says which CPUs there are and how kubelet is configured", "[kube][numa]") {
  const std::string detail =
      "node.koordinator.sh/cpu-topology: '{\"detail\": [{\"id\": 0, \"core\": 0, \"socket\": 0, \"node\": 0}, {\"id\": "
      "2, "
      "\"core\": 0, \"socket\": 0, \"node\": 0}, {\"id\": 1, \"core\": 1, \"socket\": 1, \"node\": 1}]}'";
  const auto kubelet = [](const std::string& list) {
    return ", kubelet.koordinator.sh/cpu-manager-policy: '{\"policy\": \"static\", \"options\": {\"full-pcpus-only\": "
           "\"true\"}, "
           "\"reservedCPUs\": \"" +
           list + "\"}'";
  };
  const std::string zones = "zones: [" + zone(0, cpus) + ", " + zone(1, cpus) + "]";
  const node_numa guessed = numa_in(fine(topology(zones, detail) + node));
  CHECK(guessed.cells[0].cpus.size() == 2);
  CHECK(guessed.cells[0].cpus[1].id == 2);
  CHECK(guessed.cells[0].cpus[1].core == 0);
  CHECK(guessed.reserved_cpus == std::vector<std::uint32_t>{0, 1});
  const node_numa told = numa_in(fine(topology(zones, detail + kubelet("0-1,2")) + node));
  CHECK(told.cpu.full_pcpus_only);
  CHECK(told.reserved_cpus == std::vector<std::uint32_t>{0, 1, 2});
  CHECK_FALSE(
      numa_in(fine(topology(zones, "kubelet.koordinator.sh/cpu-manager-policy: '{\"policy\": \"none\"}'") + node))
          .cpu.is_static);
  const std::string at = "a.yaml:3: NodeResourceTopology n1: metadata.annotations";
  for (const char* wrong : {"x", "1-", "2-1", "1,", "1024", "1;2"}) {
    INFO(wrong);
    CHECK(reading_refusal(topology(zones, detail + kubelet(wrong)) + node) ==
          at + "[\"kubelet.koordinator.sh/cpu-manager-policy\"].reservedCPUs: \"" + wrong +
              "\" is no list of CPUs like 0-3,8");
  }
  CHECK(reading_refusal(topology("zones: [" + zone(0, cpus) + "]", detail) + node) ==
        at + "[\"node.koordinator.sh/cpu-topology\"].detail[2].node: there is no zone \"node-1\"");
}

TEST_CASE("what is wrong with a NodeResourceTopology is told", "[kube][numa]") {
  const auto zones = [](const std::string& all) { return reading_refusal(topology("zones: [" + all + "]") + node); };
  const std::string at = "a.yaml:4: NodeResourceTopology n1: zones";
  CHECK(zones(zone(0, cpus)) == "fine");
  CHECK(zones(zone(0, cpus) + ", " + zone(0, cpus)) == at + "[1].name: there is another zone \"node-0\"");
  CHECK(zones(zone(0, cpus) + ", {name: node-00, type: Node}") ==
        at + "[1].name: there is another zone with this number");
  CHECK(zones("{name: numa0, type: Node}") == at + "[0].name: \"numa0\" is no NUMA cell's name like node-0");
  CHECK(zones(zone(0, cpus, ", costs: [{name: node-1, value: 20}]")) ==
        at + "[0].costs[0].name: there is no zone \"node-1\"");
  CHECK(zones(zone(0, cpus, ", costs: [{name: node-0, value: 9}]")) ==
        at + "[0].costs[0].value: 9 is not in 10 to 254");
  CHECK(zones(zone(0, cpus, ", costs: [{name: node-0, value: 10}]") + ", " + zone(1, cpus)) ==
        at + "[0].costs: there is none to \"node-1\"");
  CHECK(zones(zone(0, cpus, ", costs: [{name: node-0, value: 10}, {name: node-0, value: 10}]")) ==
        at + "[0].costs[1].name: there is another cost to \"node-0\"");
  CHECK(zones(zone(0, resource("cpu", "four", "3")))
            .starts_with(at + "[0].resources[0].capacity: \"four\" is no quantity: "));
  CHECK(zones(zone(0, resource("cpu", "-1", "3"))) == at + "[0].resources[0].capacity: is negative");
  CHECK(zones(zone(0, resource("cpu", "1025", "3"))) == at + "[0].resources[0].capacity: a node has at most 1024 CPUs");
  CHECK(zones(zone(0, resource("hugepages-big", "1", "1"))) ==
        at + "[0].resources[0].name: \"hugepages-big\" names no page size");
  CHECK(zones(zone(0, "{name: cpu}")) == at + "[0].resources[0]: needs capacity or allocatable");
  CHECK(zones(zone(0, cpus + ", " + cpus)) == at + "[0].resources[1].name: there is \"cpu\" already");
  CHECK(zones("") == "a.yaml:4: NodeResourceTopology n1: zones: devices.numa.cells: a node has at least one cell");
  CHECK(reading_refusal(topology("zones: [" + zone(0, cpus) + "]\ntopologyPolicies: [Always]") + node) ==
        "a.yaml:5: NodeResourceTopology n1: topologyPolicies[0]: \"Always\" is no policy of the Topology Manager");
  CHECK(reading_refusal(
            topology("zones: [" + zone(0, cpus) + "]\nattributes: [{name: topologyManagerScope, value: node}]") +
            node) == "a.yaml:5: NodeResourceTopology n1: attributes[0].value: \"node\" is not one of container, pod");
  const std::string one = topology("zones: [" + zone(0, cpus) + "]");
  const std::string elsewhere =
      "{apiVersion: topology.node.k8s.io/v1alpha1, kind: NodeResourceTopology, metadata: {name: n1, namespace: x}, "
      "zones: [" +
      zone(0, cpus) + "]}\n---\n";
  CHECK(reading_refusal(one + elsewhere + node) ==
        "a.yaml:6: NodeResourceTopology n1: metadata.name: there is another one of that name");
  CHECK(fine(one).warnings.at(0).message() ==
        "a.yaml:1: NodeResourceTopology n1: there is no node of its name; it is left out");
}

TEST_CASE("koord-scheduler's words bind CPUs", "[kube][numa]") {
  const auto labelled = [](const std::string& labels, const std::string& annotations) {
    std::string made = node;
    return made.insert(made.find("name: n1") + 8, ", labels: {" + labels + "}, annotations: {" + annotations + "}");
  };
  const std::string cells = topology("zones: [" + zone(0, cpus) + "]");
  const node_numa numa = numa_in(
      fine(cells +
           labelled("node.koordinator.sh/cpu-bind-policy: FullPCPUsOnly, node.koordinator.sh/numa-allocate-strategy: "
                    "MostAllocated, node.koordinator.sh/numa-topology-policy: SingleNUMANode",
                    "node.koordinator.sh/resource-amplification-ratio: '{\"cpu\": 1.5, \"memory\": 2}'")));
  CHECK(numa.cpu_bind == cpu_bind_policy::full_pcpus);
  CHECK(numa.cpu_strategy == numa_allocate_strategy::most_allocated);
  CHECK(numa.policy == numa_policy::single_numa_node);
  CHECK(numa.scope == numa_scope::pod);
  CHECK(numa.cpu_amplification_percent == 150);
  CHECK(reading_refusal(cells + labelled("node.koordinator.sh/cpu-bind-policy: Always", "")) ==
        "a.yaml:6: Node n1: metadata.labels[\"node.koordinator.sh/cpu-bind-policy\"]: \"Always\" is not one of None, "
        "FullPCPUsOnly, SpreadByPCPUs");
  CHECK(reading_refusal(cells + labelled("", "node.koordinator.sh/resource-amplification-ratio: '{\"cpu\": -1}'"))
            .ends_with("resource-amplification-ratio\"]: \"-1\" is no ratio like 1.5"));

  const auto pod = [](const std::string& labels, const std::string& spec, const std::string& more = "") {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {" + labels + "}, annotations: {" +
           (spec.empty() ? "" : "scheduling.koordinator.sh/resource-spec: '" + spec + "'") + more +
           "}}\nspec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}\n---\n";
  };
  const auto binding = [&](const std::string& labels, const std::string& spec) {
    return fine(pod(labels, spec)).pods.at(0).spec.bind_cpus;
  };
  const std::string lsr = "koordinator.sh/qosClass: LSR";
  constexpr auto full = cpu_bind_policy::full_pcpus, spread = cpu_bind_policy::spread_by_pcpus;
  CHECK(binding(lsr, "") == cpu_binding{full, false});
  CHECK(binding(lsr, R"({"preferredCPUBindPolicy": "SpreadByPCPUs"})") == cpu_binding{spread, false});
  CHECK(binding(lsr, R"({"preferredCPUBindPolicy": "SpreadByPCPUs", "requiredCPUBindPolicy": "FullPCPUs"})") ==
        cpu_binding{full, true});
  CHECK(binding("koordinator.sh/qosClass: LS", R"({"requiredCPUBindPolicy": "FullPCPUs"})") == cpu_binding{});
  CHECK(binding(lsr + ", koordinator.sh/priority-class: koord-batch", "") == cpu_binding{});
  CHECK(reading_refusal(pod(lsr, R"({"requiredCPUBindPolicy": "Some"})")) ==
        "a.yaml:3: Pod default/p: "
        "metadata.annotations[\"scheduling.koordinator.sh/resource-spec\"].requiredCPUBindPolicy: "
        "\"Some\" is not one of Default, FullPCPUs, SpreadByPCPUs, ConstrainedBurst");
  CHECK(binding(lsr, R"({"preferredCPUExclusivePolicy": "PCPULevel"})") ==
        cpu_binding{full, false, cpu_exclusive_policy::pcpu_level});
  CHECK(binding(lsr, R"({"preferredCPUExclusivePolicy": "NUMANodeLevel"})") ==
        cpu_binding{full, false, cpu_exclusive_policy::numa_node_level});
  CHECK(reading_refusal(pod(lsr, R"({"preferredCPUExclusivePolicy": "All"})"))
            .ends_with("\"All\" is not one of None, PCPULevel, NUMANodeLevel"));

  std::string runs = pod(lsr, "", "scheduling.koordinator.sh/resource-status: '{\"cpuset\": \"2-3\"}'");
  runs.insert(runs.find("spec: {") + 7, "nodeName: n1, ");
  cluster on;
  REQUIRE(apply(on, fine(cells + node + runs)));
  const auto held = on.devices_of(*on.find_pod("default", "p"));
  REQUIRE(held.size() == 1);
  CHECK(held[0].kind == device_grant::form::cpus);
  CHECK(held[0].cpu_mask() == 0b1100);
}

}  // namespace gangsched::testing::numa_test
