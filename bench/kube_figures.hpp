#pragma once
#include <benchmark/benchmark.h>

#include <string_view>

/// What kube-scheduler takes for the same work.
namespace bench {

/// A workload and kube-scheduler's cost a pod, in microseconds of CPU.
///
/// Source: kube-scheduler 1.36.3, default plugins, weights and arguments, on 2 shared cores; the smallest of 3 to 5 runs, ±30 %.
/// Timed there: bring the snapshot up to date, filter, score, choose, book the pod; parsing, the API server and binding are not in it.
struct kube_figure {
  std::string_view label;
  std::string_view test;  ///< of scheduler_perf, whose shapes these are
  double cpu;             ///< all threads
  double one_thread;      ///< one core, one worker, garbage collector included; 0: not measured
};

/// The row of that label; ends the program if there is none.
[[nodiscard]] const kube_figure& kube_figure_of(std::string_view label);

/// Counters us/pod, kube_us (one thread where that was measured) and ratio.
void count_against_kube(benchmark::State& state, double us_per_pod, const kube_figure& kube);

}  // namespace bench
