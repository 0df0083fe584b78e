#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/workload.hpp"

/// The GPU cluster of alibaba/clusterdata, cluster-trace-gpu-v2023: nodes, and pods that take GPUs whole or in part.
namespace replay::openb {

struct node {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::string model;  ///< empty if it has no GPU
};

struct pod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::int64_t gpu_milli = 0;       ///< of each GPU; less than 1000: it shares one
  std::vector<std::string> models;  ///< GPU models it may run on; empty: all
  std::int64_t creation = 0;        ///< seconds
  std::optional<std::int64_t> deletion;
};

struct trace {
  std::string source;
  std::vector<node> nodes;
  std::vector<pod> pods;
};

/// Pods without times arrive one second apart and stay for ever. Throws bad_input, also for nodes or pods with more GPUs than @p most_gpus.
[[nodiscard]] trace read(const std::string& nodes_path, const std::string& pods_path, std::int64_t most_gpus = 1024);

struct options {
  double speed = 1;   ///< arrivals come this many times as fast; lifetimes are as they were
  bool stay = false;  ///< pods never leave
};

/// Nodes have their GPUs twice: as `nvidia.com/gpu`, which pods with whole GPUs request, and in thousandths as
/// `alibabacloud.com/gpu-milli`, which every GPU pod requests. A node's total does not say how the thousandths lie on its GPUs:
/// three pods of 600 pass for two GPUs, though the third finds 400 on each. Devices come with a later version of the library.
/// gpu_spec "A|B" becomes a required node affinity, gpu-model In [A, B].
[[nodiscard]] workload to_workload(const trace& from, const options& how);

}  // namespace replay::openb
