// Devices, claims and volumes as structs.
#include "c/device_specs.hpp"
#include "gangsched/model/cluster.hpp"

namespace gangsched::testing::c_devices_test {

namespace {

using words = std::vector<std::string>;

}  // namespace

TEST_CASE("GPUs in C are handed out as a whole, as shares and as MIG instances, and unhealthy ones are not") {
  c_world world;
  gangsched_gpu gpus[] = {sized<gangsched_gpu>(), sized<gangsched_gpu>(), sized<gangsched_gpu>()};
  gpus[0].id = "G0";
  gpus[1].id = "G1";
  gpus[1].mig = GANGSCHED_MIG_DYNAMIC;
  gpus[2].id = "G2";
  gpus[2].unhealthy = true;
  auto inside = sized<gangsched_node_devices>();
  inside.model = "NVIDIA-A100-SXM4-40GB";
  inside.memory_mib = 40'960;
  inside.gpus = gpus;
  inside.gpu_count = 3;
  const auto node = add_node(world, "n", inside);
  world.schedules();

  auto share = sized<gangsched_device_request>();
  share.has_milli = true;
  share.milli = 300;
  gangsched_pod_spec spec = named("share");
  spec.devices = &share;
  spec.device_count = 1;
  const auto a = add_pod(world, spec);
  auto instance = sized<gangsched_device_request>();
  instance.mig_profile = "1g.5gb";
  spec = named("instance");
  spec.devices = &instance;
  spec.device_count = 1;
  const auto b = add_pod(world, spec);
  auto whole = sized<gangsched_device_request>();
  spec = named("whole");
  spec.devices = &whole;
  spec.device_count = 1;
  const auto c = add_pod(world, spec);
  CHECK(world.run() == words{"share bind n", "instance bind n", "whole reject"});
  CHECK(devices_of(world, a) == words{"G0//300"});
  CHECK(devices_of(world, b) == words{"G1/1g.5gb/0"});

  world.must(gangsched_cluster_set_device_health(world.cluster, node, "G2", true, nullptr, 0, nullptr, world.error));
  CHECK(world.run(60'000'000'000) == words{"whole bind n"});
  CHECK(devices_of(world, c) == words{"G2//0"});
  gangsched_pod_id hit[2]{};
  std::size_t count = 0;
  world.must(gangsched_cluster_set_device_health(world.cluster, node, "G0", false, hit, 2, &count, world.error));
  REQUIRE(count == 1);
  CHECK(hit[0].value == a.value);
  CHECK(gangsched_cluster_set_device_health(world.cluster, node, "G9", false, hit, 2, &count, world.error) ==
        GANGSCHED_UNKNOWN);
}

TEST_CASE("a claim in C is shared by the pods that name it, its selectors may be CEL, and it is given back") {
  c_world world;
  gangsched_attribute small[] = {{"gpu.example.com/model", text_value("small")},
                                 {"gpu.example.com/cores", number_value(4)}};
  gangsched_attribute large[] = {{"gpu.example.com/model", text_value("large")},
                                 {"gpu.example.com/cores", number_value(8)}};
  gangsched_other_device cards[] = {sized<gangsched_other_device>(), sized<gangsched_other_device>()};
  cards[0].id = "card-0";
  cards[0].attributes = small;
  cards[1].id = "card-1";
  cards[1].attributes = large;
  for (gangsched_other_device& one : cards) one.device_class = "gpu.example.com", one.attribute_count = 2;
  auto inside = sized<gangsched_node_devices>();
  inside.others = cards;
  inside.other_count = 2;
  add_node(world, "n", inside);
  world.node("plain", 8);
  world.schedules();

  const char* const cel[] = {
      "device.driver == \"gpu.example.com\" && device.attributes[\"gpu.example.com\"].model == \"large\""};
  auto request = sized<gangsched_device_request>();
  request.cel = {cel, 1};
  auto claim = sized<gangsched_resource_claim_spec>();
  claim.name = "shared";
  claim.devices = &request;
  claim.device_count = 1;
  gangsched_resource_claim_id id{};
  world.must(gangsched_cluster_add_resource_claim(world.cluster, &claim, &id, world.error));
  CHECK(gangsched_cluster_find_resource_claim(world.cluster, nullptr, "shared").value == id.value);
  CHECK(gangsched_cluster_add_resource_claim(world.cluster, &claim, &id, world.error) == GANGSCHED_DUPLICATE);

  gangsched_pod_spec spec = named("p");
  spec.resource_claims = &id;
  spec.resource_claim_count = 1;
  const auto p = add_pod(world, spec);
  spec.name = "q";
  const auto q = add_pod(world, spec);
  spec = named("own");  // another of the same kind: there is none left
  spec.devices = &request;
  spec.device_count = 1;
  const auto own = add_pod(world, spec);
  CHECK(world.run() == words{"p bind n", "q bind n", "own reject"});
  CHECK(devices_of(world, p).empty());  // they are the claim's
  gangsched_device card{};
  REQUIRE(gangsched_cluster_claim_devices(world.cluster, id, &card, 1) == 1);
  CHECK(text_of(card.id) == "card-1");
  CHECK(gangsched_cluster_claim_alternative(world.cluster, id, 0) == -1);  // it offers none
  CHECK(text_of(gangsched_cluster_node_name(world.cluster, gangsched_cluster_claim_node(world.cluster, id))) == "n");
  CHECK(gangsched_cluster_remove_resource_claim(world.cluster, id, world.error) == GANGSCHED_WRONG_STATE);
  CHECK(gangsched_cluster_deallocate(world.cluster, id, world.error) == GANGSCHED_WRONG_STATE);
  for (const auto pod : {p, q}) world.must(gangsched_cluster_remove_pod(world.cluster, pod, world.error));
  world.must(gangsched_cluster_remove_resource_claim(world.cluster, id, world.error));
  CHECK(world.run(60'000'000'000) == words{"own bind n"});
  CHECK(devices_of(world, own) == words{"card-1//0"});

  const char* const huge[] = {
      "device.driver == \"gpu.example.com\" && device.attributes[\"gpu.example.com\"].model == \"huge\""};
  gangsched_device_request choices[] = {request, sized<gangsched_device_request>()};
  choices[0].cel = {huge, 1};
  choices[1].device_class = "gpu.example.com";
  auto either = sized<gangsched_device_request>();
  either.first_of = choices;
  either.first_of_count = 2;
  spec = named("either");
  spec.devices = &either;
  spec.device_count = 1;
  const auto chooses = add_pod(world, spec);
  claim.name = "either";
  claim.devices = &either;
  world.must(gangsched_cluster_add_resource_claim(world.cluster, &claim, &id, world.error));
  CHECK(world.run(61'000'000'000) == words{"either bind n"});
  CHECK(gangsched_cluster_alternative(world.cluster, chooses, 0) == 1);
  CHECK(gangsched_cluster_alternative(world.cluster, chooses, 1) == -1);
  CHECK(gangsched_cluster_alternative(nullptr, chooses, 0) == -1);
  CHECK(gangsched_cluster_claim_alternative(world.cluster, id, 0) == -1);  // it is allocated nowhere
  CHECK(gangsched_cluster_claim_alternative(nullptr, id, 0) == -1);
}

TEST_CASE("what volumes say in C of where a pod can be is heeded") {
  c_world world;
  world.node("a", 8);
  world.node("b", 8);
  world.schedules();
  const char* const there[] = {"b"};
  const char* const claims[] = {"once"};
  auto volumes = sized<gangsched_pod_volumes>();
  volumes.has_nodes = true;
  volumes.nodes = {there, 1};
  volumes.exclusive_claims = {claims, 1};
  gangsched_pod_spec spec = named("p");
  spec.volumes = &volumes;
  add_pod(world, spec);
  spec.name = "q";
  add_pod(world, spec);
  auto unbound = sized<gangsched_pod_volumes>();
  unbound.unbound_claims = true;
  spec = named("r");
  spec.volumes = &unbound;
  add_pod(world, spec);
  auto late = sized<gangsched_pod_volumes>();
  late.has_bindable_nodes = true;
  late.bindable_nodes = {there, 1};
  spec = named("s");
  spec.volumes = &late;
  add_pod(world, spec);
  auto missing = sized<gangsched_pod_volumes>();
  missing.claim_problem = "persistentvolumeclaim \"d\" not found";
  spec = named("t");
  spec.volumes = &missing;
  add_pod(world, spec);
  CHECK(world.run() == words{"p bind b", "q reject", "r reject", "s bind b", "t reject"});
}

TEST_CASE("devices, claims and volumes in C are those of the library, word for word") {
  c_world world;
  gangsched_gpu gpus[] = {sized<gangsched_gpu>(), sized<gangsched_gpu>()};
  const gangsched_mig_instance instances[] = {{"3g.20gb", 4}};
  gpus[0].has_numa = gpus[1].has_numa = true;
  gpus[1].numa = 1;
  gpus[0].has_pcie = true;
  gpus[0].pcie = 3;
  gpus[1].mig = GANGSCHED_MIG_FIXED;
  gpus[1].instances = instances;
  gpus[1].instance_count = 1;
  const gangsched_gpu_link links[] = {{0, 0}, {12, GANGSCHED_PATH_PIX}, {12, GANGSCHED_PATH_PIX}, {0, 0}};
  const gangsched_gpu_partition partitions[] = {{3, 7}};
  const std::int64_t values[] = {10, 20};
  auto capacity = sized<gangsched_capacity>();
  capacity.name = "nic.example.com/bandwidth";
  capacity.amount = 40;
  capacity.has_policy = capacity.has_standard = true;
  capacity.standard = 10;
  capacity.values = values;
  capacity.value_count = 2;
  const gangsched_named_count consumes[] = {{"set/slices", 2}}, counters[] = {{"set/slices", 50}};
  const gangsched_attribute attributes[] = {{"nic.example.com/fast", {GANGSCHED_ATTRIBUTE_TRUTH, nullptr, 1}}};
  gangsched_other_device others[] = {sized<gangsched_other_device>(), sized<gangsched_other_device>()};
  for (gangsched_other_device& one : others) one.device_class = "nic.example.com";
  others[0].id = "nic-0";
  others[0].has_numa = true;
  others[0].units = 8;
  others[0].attributes = attributes;
  others[0].attribute_count = 1;
  others[0].consumes = {consumes, 1};
  others[1].id = "nic-1";
  others[1].shared = true;
  others[1].capacities = &capacity;
  others[1].capacity_count = 1;
  auto inside = sized<gangsched_node_devices>();
  inside.model = "NVIDIA-A100-SXM4-40GB";
  inside.memory_mib = 40'000;
  inside.compute_capability = 80;
  inside.gpus = gpus;
  inside.gpu_count = 2;
  inside.links = links;
  inside.link_count = 4;
  inside.partitions = partitions;
  inside.partition_count = 1;
  inside.partition_policy = GANGSCHED_PARTITIONS_HONOR;
  inside.others = others;
  inside.other_count = 2;
  inside.counters = {counters, 1};
  add_node(world, "n", inside);

  const gangsched_attribute_value truth{GANGSCHED_ATTRIBUTE_TRUTH, nullptr, 1};
  const gangsched_attribute_selector selector{"nic.example.com/fast", GANGSCHED_EQUAL, &truth, 1};
  const gangsched_named_count wanted[] = {{"nic.example.com/bandwidth", 20}};
  gangsched_device_request requests[] = {sized<gangsched_device_request>(), sized<gangsched_device_request>()};
  requests[0].device_class = "nic.example.com";
  requests[0].units = 2;
  requests[0].selectors = &selector;
  requests[0].selector_count = 1;
  gangsched_device_request choices[] = {sized<gangsched_device_request>(), sized<gangsched_device_request>()};
  choices[0].device_class = choices[1].device_class = "nic.example.com";
  choices[0].capacities = {wanted, 1};
  choices[1].all = true;
  requests[1].first_of = choices;
  requests[1].first_of_count = 2;
  const std::int32_t about[] = {0};
  const gangsched_alternative alternative{1, 0};
  gangsched_device_constraint constraint{};
  constraint.attribute = "nic.example.com/fast";
  constraint.requests = about;
  constraint.request_count = 1;
  constraint.alternatives = &alternative;
  constraint.alternative_count = 1;
  const char* const zones[] = {"z1", "z2"};
  const gangsched_volume_zone zone{"topology.kubernetes.io/zone", {zones, 2}};
  const gangsched_used_disk disk{"disk-1", true};
  const gangsched_attached_volume attached{"csi.example.com", "vol-1"};
  auto volumes = sized<gangsched_pod_volumes>();
  volumes.zones = &zone;
  volumes.zone_count = 1;
  volumes.disks = &disk;
  volumes.disk_count = 1;
  volumes.attachments = &attached;
  volumes.attachment_count = 1;
  const char* const images[] = {"registry/model"};
  gangsched_pod_spec spec = named("p");
  spec.devices = requests;
  spec.device_count = 2;
  spec.device_constraints = &constraint;
  spec.device_constraint_count = 1;
  spec.volumes = &volumes;
  spec.image_volumes = {images, 1};
  add_pod(world, spec);
  auto held = sized<gangsched_held_device>();
  held.id = "nic-0";
  held.has_request = true;
  auto claim = sized<gangsched_resource_claim_spec>();
  claim.name = "c";
  claim.ns = "team";
  claim.devices = requests;
  claim.device_count = 1;
  claim.has_most_pods = true;
  claim.most_pods = 3;
  claim.held_devices = &held;
  claim.held_device_count = 1;
  world.must(gangsched_cluster_add_resource_claim(world.cluster, &claim, nullptr, world.error));

  gangsched::cluster own;
  node_spec node{.name = "n", .allocatable = {{"cpu", 8}, {"pods", 110}, {"nvidia.com/gpu", 2}}};
  node.devices.gpu = {.model = "NVIDIA-A100-SXM4-40GB",
                      .memory_mib = 40'000,
                      .compute_capability = 80,
                      .links = {{}, {12, link_level::pix}, {12, link_level::pix}, {}},
                      .partitions = {{3, 7}},
                      .partition_policy = gpu_partition_policy::honor};
  node.devices.gpus = {{.numa = 0, .pcie = 3}, {.numa = 1, .mig = mig_mode::fixed, .instances = {{"3g.20gb", 4}}}};
  node.devices.others = {
      {.id = "nic-0",
       .device_class = "nic.example.com",
       .units = 8,
       .numa = 0,
       .attributes = {{"nic.example.com/fast", true}},
       .consumes = {{"set/slices", 2}}},
      {.id = "nic-1",
       .device_class = "nic.example.com",
       .capacities = {{"nic.example.com/bandwidth", {40, capacity_policy{.standard = 10, .values = {10, 20}}}}},
       .shared = true}};
  node.devices.counters = {{"set/slices", 50}};
  own.add_node(node).value();
  const device_request first{.device_class = "nic.example.com",
                             .units = 2,
                             .selectors = {{"nic.example.com/fast", attribute_operator::equal, {true}}}};
  pod_spec pod{.name = "p"};
  pod.devices = {first,
                 {.first_of = {{.device_class = "nic.example.com", .capacities = {{"nic.example.com/bandwidth", 20}}},
                               {.device_class = "nic.example.com", .all = true}}}};
  pod.device_constraints = {{.attribute = "nic.example.com/fast", .requests = {0}, .alternatives = {{1, 0}}}};
  pod.volumes.zones = {{"topology.kubernetes.io/zone", {"z1", "z2"}}};
  pod.volumes.disks = {{"disk-1", true}};
  pod.volumes.attachments = {{"csi.example.com", "vol-1"}};
  pod.image_volumes = {"registry/model"};
  own.add_pod(pod).value();
  own.add_resource_claim({.name = "c",
                          .ns = "team",
                          .devices = {first},
                          .most_pods = 3,
                          .held_devices = {{.id = "nic-0", .request = 0}}})
      .value();
  CHECK(gangsched_cluster_digest(world.cluster) == own.digest());
}

TEST_CASE("what is wrong with devices in C is said by field") {
  c_world world;
  const auto refused = [&](const gangsched_pod_spec& spec) {
    CHECK(gangsched_cluster_add_pod(world.cluster, &spec, nullptr, world.error) != GANGSCHED_OK);
    return world.error.message();
  };
  auto request = sized<gangsched_device_request>();
  gangsched_pod_spec spec = named("p");
  spec.devices = &request;
  spec.device_count = 1;
  const char* odd = "device.attributes[\"x\"].y.matches(\"z\")";
  request.cel = {&odd, 1};
  CHECK(refused(spec).starts_with("pod default/p: devices.cel: "));
  odd = "device.attributes[\"x.example.com\"].cores >= 4";
  CHECK(refused(spec) == "pod default/p: devices.cel: names no driver");
  odd = "device.driver == \"a.example.com\"";
  request.device_class = "b.example.com";
  CHECK(refused(spec) == "pod default/p: devices.cel: is about devices of a.example.com, not of b.example.com");
  request = sized<gangsched_device_request>();
  auto inner = sized<gangsched_device_request>();
  request.first_of = &inner;
  request.first_of_count = 1;
  inner.first_of = &request;
  inner.first_of_count = 1;
  CHECK(refused(spec) == "pod default/p: devices.first_of: cannot be inside another one");
  request = sized<gangsched_device_request>();
  request.within = 4;
  CHECK(refused(spec) == "pod default/p: devices: 4 is none of them");
  request.struct_size = 3;
  CHECK(refused(spec) == "pod default/p: devices[0].struct_size: is not what the library can read");
  spec.devices = nullptr;
  CHECK(refused(spec) == "pod default/p: devices: is null, and not empty");
  auto volumes = sized<gangsched_pod_volumes>();
  volumes.disk_count = 1;
  spec = named("p");
  spec.volumes = &volumes;
  CHECK(refused(spec) == "pod default/p: volumes.disks: is null, and not empty");
  gangsched_node_spec node = sized<gangsched_node_spec>();
  node.name = "n";
  auto inside = sized<gangsched_node_devices>();
  inside.partition_policy = 2;
  node.devices = &inside;
  CHECK(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error) == GANGSCHED_OUT_OF_RANGE);
  CHECK(world.error.message() == "node n: devices.partition_policy: 2 is none of them");
  CHECK(gangsched_cluster_nodes(world.cluster, nullptr, 0) + gangsched_cluster_pods(world.cluster, nullptr, 0) == 0);
}

TEST_CASE("a GPU of a product that the library does not know is divided in C by a table of the host's") {
  gangsched_mig_profile profiles[] = {sized<gangsched_mig_profile>(), sized<gangsched_mig_profile>()};
  profiles[0].name = "1g.9gb";
  profiles[0].compute_slices = profiles[0].memory_slices = 1;
  profiles[0].starts = 0b1111;
  profiles[1].name = "4g.36gb";
  profiles[1].compute_slices = profiles[1].memory_slices = 4;
  profiles[1].starts = 0b0001;
  auto table = sized<gangsched_mig_table>();
  table.name = "X900";
  table.compute_slices = table.memory_slices = 4;
  table.profiles = profiles;
  table.profile_count = 2;
  gangsched_gpu gpu = sized<gangsched_gpu>();
  gpu.id = "G0";
  gpu.mig = GANGSCHED_MIG_DYNAMIC;
  auto inside = sized<gangsched_node_devices>();
  inside.model = "Example X900";
  inside.gpus = &gpu;
  inside.gpu_count = 1;
  inside.mig_table = &table;
  c_world world;
  add_node(world, "a", inside);
  auto request = sized<gangsched_device_request>();
  std::vector<gangsched_pod_id> pods;
  for (const char* name : {"p", "q"}) {
    request.mig_profile = "1g.9gb";
    gangsched_pod_spec spec = named(name);
    spec.devices = &request;
    spec.device_count = 1;
    pods.push_back(add_pod(world, spec));
  }
  request.mig_profile = "4g.36gb";
  gangsched_pod_spec large = named("large");
  large.devices = &request;
  large.device_count = 1;
  add_pod(world, large);
  world.schedules();
  CHECK(world.run() == words{"p bind a", "q bind a", "large reject"});
  REQUIRE(devices_of(world, pods[0]).size() == 1);
  CHECK(devices_of(world, pods[0])[0].starts_with("G0/1g.9gb/"));

  const auto refused = [&] {
    gangsched_node_spec node = sized<gangsched_node_spec>();
    node.name = "n";
    node.devices = &inside;
    CHECK(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error) != GANGSCHED_OK);
    return world.error.message();
  };
  profiles[1].media = 4;
  CHECK(refused() == "node n: devices.mig_table.profiles: 4 is none of them");
  profiles[1].media = 0;
  profiles[1].name = "1g.9gb";
  CHECK(refused().starts_with("node n: devices.mig_table: "));
  table.struct_size = 3;
  CHECK(refused() == "node n: devices.mig_table.struct_size: is not what the library can read");
  inside.mig_table = nullptr;
  two_cells cells;
  inside.numa = &cells.numa;
  cells.numa.policy = 4;
  CHECK(refused() == "node n: devices.numa.policy: 4 is none of them");
  cells.numa.policy = 0;
  cells.numa.reserved_cpu_count = 1;
  CHECK(refused() == "node n: devices.numa.reserved_cpus: is null, and not empty");
}

}  // namespace gangsched::testing::c_devices_test
