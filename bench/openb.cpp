#include <benchmark/benchmark.h>

#include <cstdlib>
#include <exception>
#include <filesystem>

#include "openb/experiment.hpp"

// The pods of a real GPU cluster, one after another, through the public API: a record, a decision, a confirmation each.
namespace {

/// FGD on the nodes with GPUs and the default list of cluster-trace-gpu-v2023: pods for 130 % of the GPUs, as in examples/openb. Outside of
/// the clock are the nodes, and the measure of fragmentation after each pod.
void OpenbReplay(benchmark::State& state) {
  const char* const folder = std::getenv("GANGSCHED_OPENB_DIR");
  if (folder == nullptr)
    return state.SkipWithError("GANGSCHED_OPENB_DIR is not set: the folder with openb_pod_list_default.csv");
  try {
    const auto file = [&](const char* name) { return (std::filesystem::path{folder} / name).string(); };
    replay::openb::trace trace =
        replay::openb::read(file("openb_node_list_gpu_node.csv"), file("openb_pod_list_default.csv"));
    std::int64_t gpus = 0;
    for (const replay::openb::node& one : trace.nodes) gpus += one.gpus;
    const openb::pod_list list{.name = "default", .learn = trace.pods, .play = trace.pods};
    std::uint64_t seed = 42;
    double pods = 0, micros = 0, allocated = 0;
    for (auto _ : state) {
      const openb::arrivals order = openb::draw(list, trace.nodes.size(), gpus, seed);
      const openb::outcome made = openb::run(trace.nodes, list, order, "fgd", seed++);
      const auto count = static_cast<double>(order.pods.size());
      state.SetIterationTime(made.micros * count / 1e6);
      pods += count;
      micros += made.micros * count;
      allocated += made.allocated[100];
    }
    state.counters["us/pod"] = micros / pods;
    state.counters["alloc@100"] = allocated / static_cast<double>(state.iterations());
    state.SetItemsProcessed(static_cast<std::int64_t>(pods));
  } catch (const std::exception& wrong) {
    state.SkipWithError(wrong.what());
  }
}
BENCHMARK(OpenbReplay)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
