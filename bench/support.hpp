#pragma once
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

#include "gangsched/gangsched.hpp"

/// What the benchmarks share: clusters of known shape, and a count of allocations.
namespace bench {

/// Calls of operator new since the program began.
[[nodiscard]] std::size_t allocations() noexcept;

/// @p nodes nodes of 20 shapes (cpu, memory, labels and taints differ) with 20 different loads on them; if wanted with their names as a
/// label.
gangsched::cluster mixed_nodes(int nodes, bool with_hostnames = false);
/// @p pods pending pods of @p classes classes, alternating; each tolerates nothing and prefers one zone.
void add_pods(gangsched::cluster& cluster, int pods, int classes);
/// @p pods pending pods of which no two are alike in anything: requests, tolerations, required nodes, and the labels that their two spread
/// constraints (zones required, hosts preferred) select.
void add_different_pods(gangsched::cluster& cluster, int pods);

/// CPU time of this process: what other processes do does not count.
[[nodiscard]] double cpu_seconds();

/// What a benchmark's run decided, as its label: a number made of every bound pod's name, node and devices, the same on every machine.
/// scripts/performance compares it with what was decided before. O(pods).
void label_decisions(benchmark::State& state, const gangsched::cluster& decided);
/// Counters: allocations/pod, @p count calls of operator new for @p pods pods once all has been seen; drained, the pods that `drain` has
/// placed since the program began.
void count_allocations(benchmark::State& state, double count, double pods);

/// Schedules and confirms everything that is pending.
struct run_result {
  std::size_t bound = 0;
  double seconds = 0;
  std::size_t steady_allocations = 0;  ///< in the second half of the cycles
};
run_result drain(gangsched::scheduler& scheduler, std::size_t expected);
/// The same, for what is not measured: scripts/performance counts the instructions of `drain`.
run_result warm_up(gangsched::scheduler& scheduler, std::size_t expected);

[[nodiscard]] gangsched::quantity mebi(std::int64_t amount);
/// The value, or the program ends with the error's text.
template <class T>
T must(gangsched::result<T> r) {
  if (!r) {
    std::fprintf(stderr, "%s\n", r.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(r).value();
}

}  // namespace bench
