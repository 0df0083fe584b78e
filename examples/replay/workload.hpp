#pragma once
#include <gangsched/model/spec.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace replay {

using gangsched::instant;

/// When a job's pods are removed.
enum class lifetime_rule : std::uint8_t {
  from_arrival,  ///< at arrival + lifetime, whether it was placed or not (a trace that recorded the deletion)
  from_start,    ///< lifetime after all of its workers were there
};

/// Pods that differ in nothing but their name.
struct pod_shape {
  gangsched::pod_spec pod;     ///< without name and group
  std::int64_t gpu_milli = 0;  ///< thousandths of GPUs a pod holds
  std::uint32_t size = 0;      ///< the row of the report it is counted in: index into workload::sizes
};

/// Who shares the cluster with others, and how many of its GPUs are his.
struct tenant {
  std::string name;
  std::int64_t gpus = 0;
};

/// Some pods that only make sense together. One of a single worker is just a pod.
struct job {
  std::string name;
  std::uint32_t shape = 0;
  std::uint32_t workers = 1;
  std::uint32_t tenant = 0;  ///< index into workload::tenants, if there are any
  instant arrival{};
  std::optional<instant> lifetime;  ///< none: it stays for ever
  std::uint64_t number = 0;  ///< of all jobs of the trace, also where the workload is a part of them: draws are by it
};

/// A cluster and what happens to it.
struct workload {
  std::string source;        ///< where it is from, for the report
  std::string gpu_resource;  ///< what the nodes have of GPUs, for the profile that packs
  std::vector<gangsched::node_spec> nodes;
  std::int64_t gpu_milli = 0;  ///< of all nodes
  std::vector<pod_shape> shapes;
  std::vector<job> jobs;           ///< by arrival
  std::vector<std::string> sizes;  ///< rows of the report
  std::vector<tenant> tenants;     ///< empty: it is everybody's
  lifetime_rule lifetimes = lifetime_rule::from_start;
  instant spread{};  ///< a job's workers arrive within this time
};

/// A trace's second, when arrivals come @p speed times as fast.
[[nodiscard]] inline instant arrival_at(std::int64_t second, double speed) {
  return std::chrono::duration_cast<instant>(std::chrono::duration<double>{static_cast<double>(second) / speed});
}

/// Bounds that keep every sum of amounts and times within 64 bits.
inline constexpr std::int64_t most_seconds = 300'000'000;  // nine years
inline constexpr std::int64_t most_amount = 1'000'000'000;
/// Of one replay.
inline constexpr std::int64_t most_pods = 5'000'000;

}  // namespace replay
