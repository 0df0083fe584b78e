#include "kube/group_reading.hpp"

namespace gangsched::testing::devices_test {

using namespace gangsched::kube;
using namespace gangsched::kube::testing;

namespace {

/// A node with labels of GPU feature discovery; @p more is put among the labels, @p meta beside them.
std::string gpu_node(const std::string& more, const std::string& allocatable = "nvidia.com/gpu: 2",
                     const std::string& meta = "") {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: n1" + meta + ", labels: {" + more +
         "}}\nstatus: {allocatable: {cpu: 8, pods: 9" + (allocatable.empty() ? "" : ", ") + allocatable + "}}\n---\n";
}
const std::string a100 =
    "nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB, nvidia.com/gpu.memory: \"40960\", nvidia.com/gpu.count: \"2\"";

const node_devices& devices_in(const manifests& of) { return of.nodes.at(0).spec.devices; }

std::string pod(const std::string& limits, const std::string& annotations = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {" + annotations +
         "}}\nspec: {containers: [{name: c, resources: {limits: {" + limits + "}}}]}\n---\n";
}
const pod_spec& pod_in(const manifests& of) { return of.pods.at(0).spec; }
device_request only(const manifests& of) {
  REQUIRE(pod_in(of).devices.size() == 1);
  return pod_in(of).devices[0];
}

}  // namespace

TEST_CASE("labels of GPU feature discovery make an inventory", "[kube][devices]") {
  const manifests all =
      fine(gpu_node(a100 + ", nvidia.com/gpu.compute.major: \"8\", nvidia.com/gpu.compute.minor: \"0\""));
  const node_devices& has = devices_in(all);
  REQUIRE(has.gpus.size() == 2);
  CHECK(has.gpu.model == "NVIDIA-A100-SXM4-40GB");
  CHECK(has.gpu.memory_mib == 40960);
  CHECK(has.gpu.compute_capability == 80);
  CHECK(has.gpu.resource == "nvidia.com/gpu");
  CHECK(has.gpus[1].id == "GPU-1");
  CHECK(has.gpu.links.empty());
  CHECK(devices_in(fine(gpu_node("nvidia.com/gpu.product: Tesla-T4"))).gpus.size() == 2);  // as many as are allocatable
  CHECK(devices_in(fine(gpu_node("a: b"))).gpus.empty());  // numbers alone are counted as before
}

TEST_CASE("a DGX brings its links along if all its GPUs are there", "[kube][devices]") {
  const std::string h100 =
      "nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, nvidia.com/gpu.machine: NVIDIA-DGX-H100, nvidia.com/gpu.count: ";
  const node_devices whole = devices_in(fine(gpu_node(h100 + "\"8\"")));
  REQUIRE(whole.gpu.links.size() == 64);
  CHECK(whole.gpu.links[1].nvlinks == 18);
  CHECK(whole.gpus[7].numa == 1);
  CHECK(devices_in(fine(gpu_node(h100 + "\"4\""))).gpu.links.empty());
  const std::string own =
      "nvidia.com/gpu.product: Tesla-V100, nvidia.com/gpu.machine: PowerEdge, nvidia.com/gpu.count: ";
  CHECK(devices_in(fine(gpu_node(own + "\"8\"", "", ", annotations: {gangsched.dev/gpu-machine: dgx1-v100}")))
            .gpu.links[3]
            .nvlinks == 2);
  CHECK(refusal(gpu_node(own + "\"4\"", "", ", annotations: {gangsched.dev/gpu-machine: dgx2}")) ==
        "a.yaml:3: Node n1: metadata.annotations[\"gangsched.dev/gpu-machine\"]: dgx2 has 16 GPUs, the node 4");
  CHECK(refusal(gpu_node(own + "\"4\"", "", ", annotations: {gangsched.dev/gpu-machine: dgx9}"))
            .find("\"dgx9\" is not one of dgx1-p100,") != std::string::npos);
}

TEST_CASE("shared GPUs are handed out in replicas", "[kube][devices]") {
  const std::string labels =
      "nvidia.com/gpu.product: Tesla-T4-SHARED, nvidia.com/gpu.count: \"2\", nvidia.com/gpu.replicas: \"4\"";
  const node_devices has = devices_in(fine(gpu_node(labels, "nvidia.com/gpu: 8")));
  CHECK(has.gpu.model == "Tesla-T4");
  CHECK(has.gpu.replicas == 4);
  CHECK(has.gpus.size() == 2);
  CHECK(devices_in(fine(gpu_node(labels, "nvidia.com/gpu.shared: 8"))).gpu.resource == "nvidia.com/gpu.shared");
}

TEST_CASE("counts of MIG instances become a layout that is legal", "[kube][devices]") {
  const std::string even =
      a100 +
      ", nvidia.com/mig-1g.5gb.count: \"2\", nvidia.com/mig-2g.10gb.count: \"2\", nvidia.com/mig-3g.20gb.count: \"2\"";
  const node_devices alike = devices_in(fine(gpu_node(even, "")));
  REQUIRE(alike.gpus.size() == 2);
  for (const gpu_spec& one : alike.gpus) {
    CHECK(one.mig == mig_mode::fixed);
    CHECK(one.instances.size() == 3);
  }
  const std::string uneven = a100 +
                             ", nvidia.com/mig-4g.20gb.count: \"1\", nvidia.com/mig-3g.20gb.count: \"2\", "
                             "nvidia.com/mig-1g.5gb.me.count: \"1\"";
  const node_devices mixed = devices_in(fine(gpu_node(uneven, "")));
  CHECK(mixed.gpus[0].instances.size() + mixed.gpus[1].instances.size() == 4);
  CHECK(refusal(gpu_node(uneven, "")) == "fine");
  // Undivided ones are those that are still counted.
  const node_devices half =
      devices_in(fine(gpu_node(a100 + ", nvidia.com/mig-7g.40gb.count: \"1\"", "nvidia.com/gpu: 1")));
  CHECK(half.gpus[0].mig == mig_mode::off);
  CHECK(half.gpus[1].instances.at(0).profile == "7g.40gb");
}

TEST_CASE("labels about MIG that do not fit are told", "[kube][devices]") {
  CHECK(
      refusal(gpu_node(a100 + ", nvidia.com/mig-9g.90gb.count: \"1\"", "")) ==
      "a.yaml:3: Node n1: metadata.labels[\"nvidia.com/mig-9g.90gb.count\"]: A100-40GB has no MIG profile \"9g.90gb\"");
  CHECK(refusal(gpu_node(a100 + ", nvidia.com/mig-1g.5gb.count: many", "")) ==
        "a.yaml:3: Node n1: metadata.labels[\"nvidia.com/mig-1g.5gb.count\"]: \"many\" is no whole number in 0 to 128");
  CHECK(refusal(gpu_node(a100 + ", nvidia.com/mig-1g.5gb.count: \"1\"", "nvidia.com/gpu: 2"))
            .find("allocatable undivided") != std::string::npos);
  const manifests crowded = fine(gpu_node(a100 + ", nvidia.com/mig-7g.40gb.count: \"3\"", ""));
  CHECK(warned_lines(crowded).find("no layout of 2 GPUs was found") != std::string::npos);
  CHECK(devices_in(crowded).gpus.empty());
  const manifests unknown = fine(
      gpu_node("nvidia.com/gpu.product: GeForce, nvidia.com/gpu.count: \"1\", nvidia.com/mig-1g.5gb.count: \"1\"", ""));
  CHECK(warned_lines(unknown).find("\"GeForce\" has no MIG table") != std::string::npos);
  CHECK(refusal(gpu_node("nvidia.com/gpu.product: x, nvidia.com/gpu.count: two")) ==
        "a.yaml:3: Node n1: metadata.labels[\"nvidia.com/gpu.count\"]: \"two\" is no whole number in 0 to 1073741824");
  // All alike (strategy single): there is nothing to choose.
  CHECK(devices_in(
            fine(gpu_node("nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB-MIG-1g.5gb, nvidia.com/gpu.count: \"7\"")))
            .gpus.empty());
}

TEST_CASE("instances are made on demand where the node says so", "[kube][devices]") {
  const manifests all = fine(gpu_node(a100, "nvidia.com/gpu: 2", ", annotations: {gangsched.dev/mig: dynamic}"));
  CHECK(devices_in(all).gpus[0].mig == mig_mode::dynamic);
  CHECK(all.nodes[0].spec.allocatable.at("nvidia.com/mig-1g.5gb") == quantity{14});
  CHECK(all.nodes[0].spec.allocatable.at("nvidia.com/mig-1g.5gb.me") == quantity{2});
  CHECK(refusal(gpu_node(a100, "", ", annotations: {gangsched.dev/mig: sometimes}")) ==
        "a.yaml:3: Node n1: metadata.annotations[\"gangsched.dev/mig\"]: \"sometimes\" is not dynamic");
  CHECK(refusal(gpu_node("nvidia.com/gpu.product: Tesla-T4", "nvidia.com/gpu: 1",
                         ", annotations: {gangsched.dev/mig: dynamic}"))
            .find("\"Tesla-T4\" has no MIG table") != std::string::npos);
}

TEST_CASE("AMD's and Alibaba's nodes tell of their GPUs too", "[kube][devices]") {
  const node_devices amd =
      devices_in(fine(gpu_node("amd.com/gpu.product-name: MI300X, amd.com/gpu.vram: 192G", "amd.com/gpu: 8")));
  CHECK(amd.gpus.size() == 8);
  CHECK(amd.gpu.memory_mib == 192 * 1024);
  CHECK(amd.gpu.resource == "amd.com/gpu");
  const node_devices traced =
      devices_in(fine(gpu_node("alibabacloud.com/gpu-card-model: P100", "alibabacloud.com/gpu-count: 2")));
  CHECK(traced.gpus.size() == 2);
  CHECK(traced.gpu.model == "P100");
}

TEST_CASE("shares of GPUs are read in every dialect", "[kube][devices]") {
  struct sample {
    const char *limits, *annotations;
    std::int32_t count, milli;
    std::int64_t mib;
    std::int32_t percent;
  };
  const sample all[] = {
      {"nvidia.com/gpu: 2, nvidia.com/gpumem: 3000, nvidia.com/gpucores: 30", "", 2, 300, 3000, 0},
      {"nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 50", "", 1, 0, 0, 50},
      {"nvidia.com/gpu: 1, nvidia.com/gpucores: 100", "", 1, 1000, 0, 0},
      {"nvidia.com/gpu: 1, nvidia.com/gpucores: 40", "", 1, 400, 0, 100},
      {"volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 1024, volcano.sh/vgpu-cores: 10", "", 1, 100, 1024, 0},
      {"volcano.sh/vgpu-number: 3", "", 3, 1000, 0, 0},
      {"volcano.sh/gpu-memory: 1024", "", 1, 0, 1024, 0},
      {"volcano.sh/gpu-number: 2", "", 2, 1000, 0, 0},
      {"cpu: 1", "gpu-fraction: \"0.5\"", 1, 500, 0, 50},
      {"cpu: 1", "gpu-memory: \"2000\", gpu-fraction-num-devices: \"2\"", 2, 0, 2000, 0},
      {"alibabacloud.com/gpu-milli: 810, alibabacloud.com/gpu-count: 1", "", 1, 810, 0, 0},
      {"cpu: 1", "alibabacloud.com/gpu-milli: \"1000\", alibabacloud.com/gpu-count: \"4\"", 4, 1000, 0, 0},
      {"koordinator.sh/gpu: 200", "", 2, 1000, 0, 0},
      {"koordinator.sh/gpu: 50", "", 1, 500, 0, 50},
      {"koordinator.sh/gpu-memory-ratio: 200", "", 2, 0, 0, 100},  // and no compute
      {"koordinator.sh/gpu-core: 100, koordinator.sh/gpu-memory-ratio: 100", "", 1, 1000, 0, 0},
      {"koordinator.sh/gpu-core: 50, koordinator.sh/gpu-memory: 8Gi", "", 1, 500, 8192, 0},
      {"koordinator.sh/gpu.shared: 2, koordinator.sh/gpu-core: 100, koordinator.sh/gpu-memory-ratio: 60", "", 2, 500, 0,
       30},
  };
  for (const sample& one : all) {
    INFO(one.limits << " " << one.annotations);
    const manifests made = fine(pod(one.limits, one.annotations));
    const device_request request = only(made);
    CHECK(request.count == one.count);
    CHECK(request.milli == one.milli);
    CHECK(request.memory_mib == one.mib);
    CHECK(request.memory_percent == one.percent);
    for (const auto& [name, amount] : pod_in(made).containers[0].requests) CHECK(name == "cpu");
    CHECK(made.warnings.empty());
  }
  CHECK(pod_in(fine(pod("nvidia.com/gpu: 2"))).devices.empty());  // by number
  CHECK(only(fine(pod("", "alibabacloud.com/gpu-milli: \"500\", alibabacloud.com/gpu-card-model: T4|P100"))).models ==
        std::vector<std::string>{"T4", "P100"});
}

TEST_CASE("shares that nobody can have are errors", "[kube][devices]") {
  CHECK(refusal(pod("koordinator.sh/gpu-core: 150, koordinator.sh/gpu-memory: 1Gi")) ==
        "a.yaml:4: Pod default/p: spec.containers[0].resources.limits[\"koordinator.sh/gpu-core\"]: 150 is above 100 "
        "and no multiple of it");
  CHECK(
      refusal(pod("nvidia.com/gpu: 1, nvidia.com/gpucores: 101")).find("nvidia.com/gpucores\"]: is not in 0 to 100") !=
      std::string::npos);
  CHECK(refusal(pod("", "gpu-fraction: \"1.5\"")).find("\"1.5\" is no fraction in 0.01 to 1") != std::string::npos);
  CHECK(refusal(pod("", "gpu-fraction: half")).find("metadata.annotations[\"gpu-fraction\"]") == std::string::npos);
  CHECK(refusal(pod("nvidia.com/gpu: 1", "gpu-fraction: \"0.5\"")).find("is there beside nvidia.com/gpu") !=
        std::string::npos);
  CHECK(refusal(pod("volcano.sh/vgpu-memory: 5")).find("is missing beside") != std::string::npos);
  const manifests init = fine(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}], initContainers: [{name: i, "
      "resources: "
      "{limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 100}}}]}\n");
  CHECK(pod_in(init).devices.empty());
  CHECK(warned_lines(init).find("spec.initContainers[0]: shares of devices of init containers are not modelled") !=
        std::string::npos);
}

TEST_CASE("partitions of NVSwitch machines are known by the node's labels", "[kube][devices]") {
  const auto gpus_of = [](const std::string& labels, const std::string& annotations, int gpus) {
    std::string text =
        "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: Device\nmetadata: {name: n1, labels: "
        "{node.koordinator.sh/gpu-partition-policy: Honor}, annotations: {" +
        annotations + "}}\nspec: {devices: [";
    for (int i = 0; i < gpus; ++i)
      text += "{type: gpu, id: GPU-" + std::to_string(i) + ", minor: " + std::to_string(i) + "}, ";
    return devices_in(fine(text + "]}\n---\n" + gpu_node(labels, ""))).gpu;
  };
  const gpu_class box = gpus_of("node.koordinator.sh/gpu-model: H20", "", 8);
  REQUIRE(box.partitions.size() == 15);
  CHECK(box.partitions[8].gpus == 0b11);
  CHECK(box.partition_policy == gpu_partition_policy::prefer);  // that is for the node's label to say
  const gpu_class half = gpus_of(
      "node.koordinator.sh/gpu-model: H100, node.koordinator.sh/gpu-vendor: nvidia, "
      "node.koordinator.sh/gpu-partition-policy: Honor",
      "", 4);
  CHECK(half.partitions.size() == 7);
  CHECK(half.partition_policy == gpu_partition_policy::honor);
  CHECK(gpus_of("node.koordinator.sh/gpu-model: A100", "", 8).partitions.empty());
  CHECK(
      gpus_of("node.koordinator.sh/gpu-model: H100, node.koordinator.sh/gpu-vendor: other", "", 8).partitions.empty());
  const gpu_class own = gpus_of("node.koordinator.sh/gpu-model: H100",
                                "scheduling.koordinator.sh/gpu-partitions: '{\"2\": [{\"minors\": [0, 1]}]}'", 8);
  CHECK(own.partitions.size() == 1);
  CHECK(own.partition_policy == gpu_partition_policy::honor);
}

TEST_CASE("Koordinator's GPUs are the pod's, divided as its DeviceShare divides them", "[kube][devices]") {
  const auto asked = [](const std::string& limits) {
    const device_request one = only(fine(pod(limits)));
    return std::array<std::int64_t, 4>{one.count, one.milli, one.memory_mib, one.memory_percent};
  };
  using four = std::array<std::int64_t, 4>;
  // Only gpu-memory-ratio says how many; what does not divide is rounded down.
  CHECK(asked("koordinator.sh/gpu-core: 50, koordinator.sh/gpu-memory-ratio: 400") == four{4, 120, 0, 100});
  CHECK(asked("koordinator.sh/gpu-core: 3, koordinator.sh/gpu-memory-ratio: 400") == four{4, 0, 0, 100});
  CHECK(asked("koordinator.sh/gpu.shared: 3, koordinator.sh/gpu-memory: 3073Mi") == four{3, 0, 1025, 0});
  CHECK(asked("koordinator.sh/gpu.shared: 3, koordinator.sh/gpu-memory: 1") == four{3, 0, 1, 0});
  for (const char* const one :
       {"gpu-core: 200, koordinator.sh/gpu-memory-ratio: 100", "gpu-core: 200, koordinator.sh/gpu-memory: 1Gi"})
    CHECK(refusal(pod(std::string{"koordinator.sh/"} + one)).find("is more than 100 of each of 1 GPUs") !=
          std::string::npos);
  CHECK(refusal(pod("koordinator.sh/gpu.shared: 2, koordinator.sh/gpu-memory-ratio: 51")).find("cannot be divided") !=
        std::string::npos);
  for (const char* const one :
       {"gpu-core: 50", "gpu.shared: 2", "gpu.shared: 2, koordinator.sh/gpu-core: 20", "gpu: 50, nvidia.com/gpu: 1",
        "gpu: 50, koordinator.sh/gpu-core: 50", "gpu-memory: 1Gi, koordinator.sh/gpu-memory-ratio: 50"})
    CHECK(refusal(pod(std::string{"koordinator.sh/"} + one)).find("is not one of the combinations for GPUs") !=
          std::string::npos);
  CHECK(asked("koordinator.sh/gpu: 50, koordinator.sh/gpu-core: 0, nvidia.com/gpu: 0") == four{1, 500, 0, 50});

  const auto of_containers = [](const std::string& containers) {
    const manifests made = fine("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {" + containers + "}\n");
    CHECK(made.warnings.empty());
    return only(made);
  };
  const auto of = [](const std::string& name, int percent, const std::string& more = "") {
    return "{name: " + name + more + ", resources: {limits: {koordinator.sh/gpu: " + std::to_string(percent) + "}}}";
  };
  const device_request together = of_containers("containers: [" + of("a", 50) + ", " + of("b", 50) + "]");
  CHECK(together.count == 1);
  CHECK(together.milli == 1000);
  CHECK(of_containers("containers: [" + of("a", 20) + "], initContainers: [" + of("i", 30) + ", " +
                      of("s", 40, ", restartPolicy: Always") + ", " + of("j", 50) + "]")
            .milli == 900);
}

TEST_CASE("what isolates Koordinator's shares has to run on the node", "[kube][devices]") {
  const auto selected = [](const std::string& requests, const std::string& labels = "HAMi-core") {
    return pod_in(fine("{apiVersion: v1, kind: Pod, metadata: {name: p, labels: "
                       "{koordinator.sh/gpu-isolation-provider: \"" +
                       labels + "\"}}, spec: {containers: [{name: c, resources: {limits: {" + requests + "}}}]}}"))
        .node_selector;
  };
  const label_map hami{{"koordinator.sh/gpu-isolation-provider", "HAMi-core"}};
  CHECK(selected("koordinator.sh/gpu: 50") == hami);
  CHECK(selected("koordinator.sh/gpu-memory: 1Gi") == hami);
  CHECK(selected("koordinator.sh/gpu.shared: 2, koordinator.sh/gpu-memory-ratio: 100") == hami);
  CHECK(selected("koordinator.sh/gpu: 200").empty());
  CHECK(selected("koordinator.sh/gpu-core: 50, koordinator.sh/gpu-memory-ratio: 100").empty());
  CHECK(selected("nvidia.com/gpu: 1").empty());
  CHECK(selected("koordinator.sh/gpu: 50", "").empty());
}

TEST_CASE("Koordinator's hints and joint allocation are of what the pod requests", "[kube][devices]") {
  const auto hinted = [](const std::string& limits, const std::string& hint) {
    return pod_in(fine(pod(limits, "scheduling.koordinator.sh/device-allocate-hint: '" + hint + "'"))).devices;
  };
  const auto counted = hinted("nvidia.com/gpu: 4", R"({"gpu": {"requiredTopologyScope": "PCIe"}})");
  REQUIRE(counted.size() == 1);
  CHECK(counted[0].count == 4);
  CHECK(counted[0].within == device_scope::pcie);
  const auto nics = [&](int percent, const std::string& hint) {
    const auto all = hinted("koordinator.sh/rdma: " + std::to_string(percent), R"({"rdma": {)" + hint + "}}");
    REQUIRE(all.size() == 1);
    return std::array<std::int64_t, 3>{all[0].count, all[0].units, all[0].all};
  };
  using three = std::array<std::int64_t, 3>;
  CHECK(nics(2, R"("allocateStrategy": "RequestsAsCount")") == three{2, 1, 0});
  CHECK(nics(2, R"("exclusivePolicy": "DeviceLevel", "allocateStrategy": "RequestsAsCount")") == three{2, 100, 0});
  CHECK(nics(20, R"("allocateStrategy": "ApplyForAll")") == three{1, 20, 1});
  for (const char* const one : {"RequestsAsCount", "ApplyForAll"})
    CHECK(nics(200, R"("allocateStrategy": ")" + std::string{one} + "\"") == three{2, 100, 0});

  const auto joint = [](const std::string& limits, const std::string& more = "") {
    const std::string types = R"('{"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}')";
    const auto all =
        pod_in(fine(pod(limits, "scheduling.koordinator.sh/device-joint-allocate: " + types + more))).devices;
    REQUIRE(!all.empty());
    return all.back().beside_gpus;
  };
  CHECK(joint("koordinator.sh/gpu: 50, koordinator.sh/rdma: 100") == device_scope::pcie);
  CHECK(joint("nvidia.com/gpu: 1, koordinator.sh/rdma: 100") == device_scope::pcie);
  CHECK(joint("koordinator.sh/rdma: 100") == device_scope::node);  // there are no GPUs to be beside
  CHECK(joint("koordinator.sh/gpu: 50, koordinator.sh/rdma: 100",
              R"(, scheduling.koordinator.sh/device-allocate-hint: '{"rdma": {"allocateStrategy": "ApplyForAll"}}')") ==
        device_scope::node);
}

TEST_CASE("our own annotation says what nobody else has words for", "[kube][devices]") {
  const manifests all =
      fine(pod("nvidia.com/gpu: 4",
               "gangsched.dev/devices: '{within: nvlink, models: [H100], leastComputeCapability: \"9.0\"}'"));
  const device_request near = only(all);
  CHECK(near.count == 4);  // as many as are counted
  CHECK(near.within == device_scope::nvlink);
  CHECK(near.models == std::vector<std::string>{"H100"});
  CHECK(near.least_compute_capability == 90);
  CHECK(pod_in(all).containers[0].requests.contains("nvidia.com/gpu"));
  const manifests several = fine(
      pod("",
          "gangsched.dev/devices: '[{count: 2, milli: 1000, within: pcie, withinPreferred: true}, {deviceClass: rdma, "
          "besideGPUs: pcie, selectors: [{attribute: speed, operator: GreaterEqual, values: [400]}]}]'"));
  REQUIRE(pod_in(several).devices.size() == 2);
  CHECK(pod_in(several).devices[0].within_preferred);
  CHECK(pod_in(several).devices[1].beside_gpus == device_scope::pcie);
  CHECK(pod_in(several).devices[1].selectors.at(0).op == attribute_operator::greater_equal);
  const std::string at = "a.yaml:3: Pod default/p: metadata.annotations[\"gangsched.dev/devices\"]";
  CHECK(refusal(pod("", "gangsched.dev/devices: '[{within: rack}]'")) ==
        at + "[0].within: \"rack\" is not one of node, numa, pcie, nvlink");
  CHECK(refusal(pod("", "gangsched.dev/devices: '{cout: 1}'")) == at + ".cout: there is no such field");
  CHECK(refusal(pod("", "gangsched.dev/devices: '[{migProfile: 1g.5gb, milli: 5}]'"))
            .starts_with(at + "[0].mig_profile: "));
  CHECK(refusal(pod("", "gangsched.dev/devices: '{'")).starts_with(at + ": is neither JSON nor YAML"));
}

TEST_CASE("Koordinator's Device tells of GPUs, NICs and partitions", "[kube][devices]") {
  const std::string device = R"(
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Device
metadata:
  name: n1
  labels: {node.koordinator.sh/gpu-model: A800, node.koordinator.sh/gpu-partition-policy: Honor}
  annotations: {scheduling.koordinator.sh/gpu-partitions: '{"2": [{"minors": [0, 1], "allocationScore": 3}]}'}
spec:
  devices:
  - {type: gpu, id: GPU-b, minor: 1, health: false, resources: {koordinator.sh/gpu-memory: 80Gi}, topology: {nodeID: 1, pcieID: x}}
  - {type: gpu, id: GPU-a, minor: 0, health: true, resources: {koordinator.sh/gpu-memory: 80Gi}, topology: {nodeID: 0, pcieID: z}}
  - {type: rdma, id: mlx5_0, minor: 0, health: true, topology: {nodeID: 0, pcieID: z}}
---
)";
  const manifests all = fine(device + gpu_node("a: b", ""));
  const node_devices& has = devices_in(all);
  REQUIRE(has.gpus.size() == 2);
  CHECK(has.gpus[0].id == "GPU-a");
  CHECK(has.gpus[0].healthy);
  CHECK_FALSE(has.gpus[1].healthy);
  CHECK(has.gpu.memory_mib == 80 * 1024);
  CHECK(has.gpu.memory_rule == gpu_memory_rule::as_asked);
  CHECK(has.gpu.model == "A800");
  REQUIRE(has.gpu.partitions.size() == 1);
  CHECK(has.gpu.partitions[0].gpus == 3);
  CHECK(has.gpu.partitions[0].score == 3);
  CHECK(has.gpu.partition_policy == gpu_partition_policy::honor);
  REQUIRE(has.others.size() == 1);
  CHECK(has.others[0].pcie == has.gpus[0].pcie);
  CHECK(has.others[0].units == 100);
  CHECK(has.gpus[0].pcie == 1);  // by the switches' ids: x, z
  CHECK(has.gpus[1].pcie == 0);
  CHECK(refusal(device + gpu_node("a: b", "")) == "fine");
  CHECK(warned_lines(fine(device)).find("there is no node of its name") != std::string::npos);

  const manifests near = fine(pod("koordinator.sh/gpu: 100, koordinator.sh/rdma: 100",
                                  "scheduling.koordinator.sh/device-joint-allocate: '{\"deviceTypes\": [\"gpu\", "
                                  "\"rdma\"], \"requiredScope\": \"SamePCIe\"}'"));
  REQUIRE(pod_in(near).devices.size() == 2);
  CHECK(pod_in(near).devices[1].device_class == "rdma");
  CHECK(pod_in(near).devices[1].beside_gpus == device_scope::pcie);
  CHECK_FALSE(pod_in(near).devices[1].beside_preferred);
  const std::string hint =
      "scheduling.koordinator.sh/device-allocate-hint: '{\"gpu\": {\"requiredTopologyScope\": \"NUMANode\"}}'";
  CHECK(only(fine(pod("koordinator.sh/gpu: 200", hint))).within == device_scope::numa);
}

TEST_CASE("HAMi's types of GPUs are those of the nodes that are read", "[kube][devices]") {
  const auto named = [](const std::string& name, const std::string& product) {
    std::string made = gpu_node("nvidia.com/gpu.product: " + product + ", nvidia.com/gpu.count: \"2\"");
    return made.replace(made.find("name: n1"), 8, "name: " + name);
  };
  const std::string nodes = named("a", "NVIDIA-A100-SXM4-40GB") + named("b", "NVIDIA-A10") + named("c", "Tesla-V100") +
                            named("d", "Tesla-T4");
  const auto models = [&](const std::string& annotations,
                          const std::string& limits = "nvidia.com/gpu: 1, nvidia.com/gpumem: 1000") {
    return only(fine(nodes + pod(limits, annotations))).models;
  };
  using names = std::vector<std::string>;
  CHECK(models("").empty());
  CHECK(models("nvidia.com/use-gputype: \"a100,v100\"") == names{"NVIDIA-A100-SXM4-40GB", "Tesla-V100"});
  CHECK(models("nvidia.com/use-gputype: a10") == names{"NVIDIA-A10", "NVIDIA-A100-SXM4-40GB"});
  CHECK(models("nvidia.com/nouse-gputype: tesla") == names{"NVIDIA-A10", "NVIDIA-A100-SXM4-40GB"});
  CHECK(models("nvidia.com/use-gputype: Tesla, nvidia.com/nouse-gputype: T4") == names{"Tesla-V100"});
  CHECK(models("nvidia.com/use-gputype: H100") == names{"none"});
  CHECK(models("nvidia.com/use-gputype: V100, gangsched.dev/devices: \"{milli: 500, models: [Tesla-T4, Tesla-V100]}\"",
               "cpu: 1") == names{"Tesla-V100"});
  const device_request counted = only(fine(nodes + pod("nvidia.com/gpu: 2", "nvidia.com/use-gputype: V100")));
  CHECK(counted.count == 2);
  CHECK(counted.milli == 1000);
  CHECK(pod_in(fine(nodes + pod("cpu: 1", "nvidia.com/use-gputype: V100"))).devices.empty());
  cluster on;
  CHECK(apply(on, fine(nodes + pod("nvidia.com/gpu: 2", "nvidia.com/use-gputype: V100"))));
}

TEST_CASE("words that narrow the choice and are not read are warnings", "[kube][devices]") {
  const manifests all = fine(pod("koordinator.sh/gpu: 100",
                                 "nvidia.com/use-gpuuuid: GPU-1, hami.io/gpu-scheduler-policy: binpack, "
                                 "scheduling.koordinator.sh/gpu-partition-spec: '{}'"));
  CHECK(warned_lines(all) ==
        "a.yaml:3: Pod default/p: metadata.annotations[\"nvidia.com/use-gpuuuid\"]: is not modelled; it is left out\n"
        "a.yaml:3: Pod default/p: metadata.annotations[\"hami.io/gpu-scheduler-policy\"]: is not modelled; it is left "
        "out\n"
        "a.yaml:3: Pod default/p: metadata.annotations[\"scheduling.koordinator.sh/gpu-partition-spec\"]: is not "
        "modelled; it is left out\n");
}

TEST_CASE("pods that run say what they hold", "[kube][devices]") {
  const std::string node = gpu_node("nvidia.com/gpu.product: Tesla-T4, nvidia.com/gpu.memory: \"15360\"");
  const auto running = [](const std::string& annotation) {
    std::string text = pod("koordinator.sh/gpu: 50", annotation);
    return text.replace(text.find("spec: {"), 7, "spec: {nodeName: n1, ");
  };
  const auto first_of = [&](const std::string& text) {
    const manifests all = fine(text);
    cluster on;
    REQUIRE(apply(on, all));
    const auto held = on.devices_of(*on.find_pod("default", "p"));
    REQUIRE(held.size() == 1);
    return held[0].device;
  };
  CHECK(first_of(node + running("")) == 0);
  CHECK(first_of(node + running("gangsched.dev/held-devices: '[GPU-1]'")) == 1);
  CHECK(first_of(node + running("gangsched.dev/held-devices: '[{id: GPU-1, request: 0}]'")) == 1);
  const std::string device =
      "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: Device\nmetadata: {name: n1}\nspec: {devices: [{type: "
      "gpu, "
      "id: a, minor: 0, health: true}, {type: gpu, id: b, minor: 1, health: true}]}\n---\n";
  CHECK(first_of(node + device +
                 running("scheduling.koordinator.sh/device-allocated: '{\"gpu\": [{\"minor\": 1}]}'")) == 1);
  CHECK(refusal(node + running("gangsched.dev/held-devices: '[{gpu: 1}]'"))
            .find("metadata.annotations[\"gangsched.dev/held-devices\"][0].gpu: there is no such field") !=
        std::string::npos);
}

TEST_CASE("a request without a count is about as many GPUs as the pod counts, init containers included",
          "[kube][devices]") {
  const std::string text =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {gangsched.dev/devices: '[{within: "
      "nvlink}]'}}\nspec:\n"
      "  initContainers: [{name: i, resources: {limits: {nvidia.com/gpu: 4}}}]\n"
      "  containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]\n";
  CHECK(only(fine(text)).count == 4);
  CHECK(refusal(text) == "fine");
  CHECK(refusal(pod("nvidia.com/gpu: 2", "gangsched.dev/devices: '[{count: 4}]'"))
            .find("the containers request 2 GPUs by number") != std::string::npos);
}

}  // namespace gangsched::testing::devices_test
