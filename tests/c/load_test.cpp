// How pods say that LoadAwareScheduling is to estimate them, through the C interface (docs/load.md).
#include "c/world.hpp"

namespace gangsched::testing::c_load_test {

TEST_CASE("pods say in C by which factors LoadAwareScheduling estimates them", "[c]") {
  c_world w;
  gangsched_configuration* by = nullptr;
  w.must(gangsched_configuration_create(&by, w.error));
  w.must(gangsched_configuration_read(
      by, nullptr,
      R"({"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "LoadAwareScheduling"}]}},
          "pluginConfig": [{"name": "LoadAwareScheduling", "args": {"allowCustomizeEstimation": true}}]}]})",
      w.error));
  w.schedules(by);
  gangsched_configuration_destroy(by);
  const gangsched_node_id n = w.node("n", 100);
  for (const auto& [column, word] : {std::pair{"load.measured", 3601}, std::pair{"load.cpu.used", 1}})
    w.must(gangsched_cluster_set_node_column(w.cluster, n, column, word, w.error));
  const auto estimated = [&](const char* name, std::int64_t percent) {
    w.pod_with(name, 80, [&](gangsched_pod_spec& spec) { spec.load_cpu_percent = percent; });
    return w.run();
  };
  using words = std::vector<std::string>;
  CHECK(estimated("as-all", 0) == words{"as-all reject"});  // 85 % of 80 are above the 65 that may be used
  CHECK(estimated("hot", 82) == words{"hot reject"});
  CHECK(estimated("cool", 81) == words{"cool bind n"});  // 64.8
}

TEST_CASE("what a pod says in C of its load is checked", "[c]") {
  const c_world w;
  const auto refused = [&](const auto& change) {
    w.pod_with("p", 1, change, GANGSCHED_OUT_OF_RANGE);
    return w.error.message();
  };
  CHECK(refused([](gangsched_pod_spec& spec) { spec.load_cpu_percent = -1; }).find("load.cpu_percent") !=
        std::string::npos);
  CHECK(refused([](gangsched_pod_spec& spec) { spec.load_memory_percent = -1; }).find("load.memory_percent") !=
        std::string::npos);
  CHECK(refused([](gangsched_pod_spec& spec) {
          spec.has_load_after_scheduled = true, spec.load_after_scheduled = -1;
        }).find("load.after_scheduled") != std::string::npos);
  CHECK(refused([](gangsched_pod_spec& spec) {
          spec.has_load_after_initialized = true, spec.load_after_initialized = -1;
        }).find("load.after_initialized") != std::string::npos);
}

}  // namespace gangsched::testing::c_load_test
