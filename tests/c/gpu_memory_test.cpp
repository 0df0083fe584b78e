// What a share needs of a GPU's memory, as a number in a struct.
#include "c/world.hpp"

namespace gangsched::testing::c_gpu_memory_test {

TEST_CASE("shares of memory in C need room by the node's rule") {
  gangsched_gpu gpu{};
  gpu.struct_size = sizeof gpu;
  gangsched_node_devices inside{};
  inside.struct_size = sizeof inside;
  inside.memory_mib = 24'576;
  inside.gpus = &gpu;
  inside.gpu_count = 1;
  const gangsched_amount room[] = {{"cpu", nullptr, 4, 0}, {"pods", nullptr, 110, 0}};
  gangsched_node_spec node{};
  node.struct_size = sizeof node;
  node.name = "n";
  node.allocatable = {room, 2};
  node.devices = &inside;
  for (const std::int32_t rule : {0, 1, 2}) {
    c_world world;
    inside.memory_rule = rule;
    if (rule == 2) {
      CHECK(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error) == GANGSCHED_OUT_OF_RANGE);
      CHECK(world.error.message() == "node n: devices.memory_rule: 2 is none of them");
      continue;
    }
    world.must(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error));
    world.schedules();
    const auto add = [&](const char* name, std::int64_t mib, std::int32_t percent) {
      gangsched_device_request request{};
      request.struct_size = sizeof request;
      request.has_milli = true;
      request.memory_mib = mib;
      request.memory_percent = percent;
      world.pod_with(name, 1, [&](gangsched_pod_spec& pod) {
        pod.devices = &request;
        pod.device_count = 1;
      });
    };
    add("a", 17'408, 0);  // 70.8 hundredths
    add("b", 0, 30);
    const char* const second = rule == std::int32_t{GANGSCHED_GPU_MEMORY_AS_ASKED} ? "b bind n" : "b reject";
    CHECK(world.run() == std::vector<std::string>{"a bind n", second});
  }
}

}  // namespace gangsched::testing::c_gpu_memory_test
