#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "replay/workload.hpp"

/// Training jobs of the Philly trace, in the form of stanford-futuredata/gavel: gangs of one-GPU workers.
namespace replay::philly {

inline constexpr std::int64_t gpus_per_node = 8;
inline constexpr double default_load = 0.9;

struct training {
  std::string name;
  std::string cluster = {};  ///< the virtual cluster that it belongs to
  std::int64_t arrival = 0;  ///< seconds
  std::int64_t workers = 1;
  std::int64_t duration = 0;  ///< seconds, from when all workers are there
};

struct trace {
  std::string source;
  std::vector<training> jobs;
};

/// Throws bad_input.
[[nodiscard]] trace read(const std::string& path);

struct options {
  std::int64_t gpus = 0;     ///< 0: so many that the jobs ask for 90 % of them in the busiest quarter of the time
  double speed = 1;          ///< arrivals come this many times as fast
  std::int64_t spread = 60;  ///< seconds within which a job's workers arrive
};

/// Nodes of 8 GPUs, 96 CPUs and 768 GiB; a worker takes one GPU, 8 CPUs and 64 GiB. The virtual clusters are its tenants. The trace does
/// not say how large each was: it is entitled to whole nodes by its part of the GPU time of all jobs, at least to what its largest job
/// takes.
[[nodiscard]] workload to_workload(const trace& from, const options& how);

}  // namespace replay::philly
