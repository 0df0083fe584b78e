#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kube_figures.hpp"
#include "kube_shapes.hpp"
#include "support.hpp"

// Pods that find no node where 5,000 small nodes are full of four low pods each: what a rejection costs, what looking for victims costs,
// and what making room costs. Timed: the cycle that fails and looks for victims, and where they leave also that and the cycle
// that places the pod.
namespace {

using namespace gangsched;
using bench::kind;

enum class room : unsigned char {
  none,     ///< the pod stays rejected
  asked,    ///< victims are found, and nothing is done about it; the pod is taken back
  is_made,  ///< victims leave, the pod is placed
};

struct totals {
  double seconds = 0;
  std::size_t bound = 0, rejected = 0, victims = 0;
};

/// Cycles until nothing is left to do, with what @p what says done to the victims.
void schedule(cluster& cluster, scheduler& scheduler, room what, totals& to) {
  std::vector<pod_id> leaving;
  const double start = bench::cpu_seconds();
  for (;;) {
    const cycle done = scheduler.schedule_cycle(instant{1});
    if (!done) break;
    for (const decision& one : done) {
      if (one.kind == decision_kind::reject) ++to.rejected;
      if (one.kind == decision_kind::evict) leaving.push_back(one.pod);
      if (one.kind == decision_kind::bind) ++to.bound, static_cast<void>(scheduler.confirm(one.pod));
    }
    to.victims += leaving.size();
    if (what == room::is_made) {
      for (const pod_id victim : leaving) static_cast<void>(cluster.remove_pod(victim));
    }
    leaving.clear();
    if (what == room::asked) break;
  }
  to.seconds += bench::cpu_seconds() - start;
}

/// @p adverse: nodes of 97 sizes, low pods of 97 sizes and five priorities, those that come of eight sizes in turns, and a node's images
/// change before each.
totals run(benchmark::State& state, int pods, kind which, room what, bool adverse) {
  constexpr int nodes = 5000, warm_up = 20;
  cluster cluster;
  const bench::node_options shape{.small = true, .adverse = adverse};
  const bench::pod_options how{.adverse = adverse};
  const std::vector<node_id> there = bench::add_nodes(cluster, nodes, shape);
  bench::add_running(cluster, there, kind::low, 4 * nodes, how);
  scheduler scheduler{cluster, profiles::kube_default()};
  totals all;
  for (int i = -warm_up; i < pods; ++i) {
    if (i == 0) all = {};
    if (adverse) bench::change_images(cluster, there, i + warm_up, shape);
    const pod_id pod = bench::must(
        cluster.add_pod(bench::pod_of(which, i + warm_up, bench::numbered("pod-%06d", i + warm_up), "sched-1", how)));
    schedule(cluster, scheduler, i < 0 && what == room::is_made ? room::asked : what, all);
    if ((i < 0 || what == room::asked) && !cluster.remove_pod(pod)) std::abort();
  }
  bench::label_decisions(state, cluster);
  return all;
}

/// The best repetition's microseconds a pod.
double make_room(benchmark::State& state, int pods, kind which, room what, bool adverse) {
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const totals last = run(state, pods, which, what, adverse);
    state.SetIterationTime(last.seconds);
    best = std::min(best, last.seconds * 1e6 / pods);
    const auto all = static_cast<std::size_t>(pods);
    if (last.bound != (what == room::is_made ? all : 0)) state.SkipWithError("not every pod was placed");
    if (last.rejected != (what == room::none ? all : 0)) state.SkipWithError("not every pod was rejected");
    const bool three_each = adverse ? last.victims >= 3 * all && last.victims <= 4 * all : last.victims == 3 * all;
    if (what == room::none ? last.victims != 0 : !three_each)
      state.SkipWithError("not every pod found three victims, or four where they are of many sizes");
  }
  return best;
}

[[maybe_unused]] const bool preemption_registered = [] {
  const auto add = [](const char* label, int pods, kind which, room what) {
    const bench::kube_figure& kube = bench::kube_figure_of(label);
    const std::string name = std::string{kube.test} + "/" + label;
    const auto set_up = [](benchmark::internal::Benchmark* made) {
      made->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
    };
    set_up(benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      bench::count_against_kube(state, make_room(state, pods, which, what, false), kube);
    }));
    set_up(benchmark::RegisterBenchmark((name + "-adverse").c_str(), [=](benchmark::State& state) {
      state.counters["us/pod"] = make_room(state, pods, which, what, true);
    }));
  };
  add("unfit", 500, kind::giant, room::none);
  add("unfit-same-priority", 200, kind::equal, room::none);
  add("preempt-dry-run", 250, kind::high, room::asked);
  add("preempt-and-place", 250, kind::high, room::is_made);
  return true;
}();

}  // namespace
