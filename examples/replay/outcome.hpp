#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/tenants.hpp"
#include "replay/workload.hpp"

namespace replay {

/// How gangs are handled in a replay.
enum class handling : std::uint8_t {
  group_cycle,  ///< the library places the whole gang in one transaction, or nothing of it
  permit,  ///< the library places worker by worker and lets them wait, their nodes reserved, until the gang is complete
  pod_by_pod,  ///< no gangs: the workers are pods, each started as soon as it fits
};

/// What became of pods, or of jobs. arrived = finished + running + holding + waiting + left: all but `arrived` are as of the end.
struct fates {
  std::uint64_t arrived = 0;
  std::uint64_t finished = 0;
  std::uint64_t running = 0;
  std::uint64_t holding = 0;  ///< pods on a node whose job cannot start; jobs with such pods
  std::uint64_t waiting = 0;
  std::uint64_t left = 0;  ///< deleted before they were placed
  [[nodiscard]] std::uint64_t placed() const noexcept { return finished + running + holding; }
};

/// GPUs in use from an instant on, in thousandths.
struct usage_point {
  instant from{};
  std::int64_t computing = 0;
  std::int64_t idle = 0;  ///< held by workers whose siblings are not there yet
};

/// Gangs of which some workers hold GPUs while others wait.
struct partial_gangs {
  std::uint64_t ever = 0;     ///< gangs that were partially placed for some time
  std::uint64_t at_once = 0;  ///< the most at one time
  std::uint64_t at_end = 0;
  double idle_gpu_hours = 0;
  /// Time in which gangs blocked each other: at least two held GPUs, had all their workers there and lacked GPUs, and each would
  /// have been complete with the free GPUs and those that other incomplete gangs held.
  instant deadlock{};
  instant longest_deadlock{};
};

/// Rejections for the same reasons.
struct rejection {
  std::uint64_t count = 0;
  std::string example;  ///< the latest summary line
};

/// How long calls took, to within 3 %, in little memory however many there are.
class latencies {
 public:
  void add(std::uint64_t nanos) {
    ++count_;
    ++buckets_[bucket_of(nanos)];
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// What a share of the calls did not exceed; 0 if there was none.
  [[nodiscard]] double percentile(double share) const;

 private:
  static constexpr unsigned fine = 5;  // 32 buckets for each power of two
  static std::size_t bucket_of(std::uint64_t nanos) {
    const unsigned shift = std::max(fine + 1, static_cast<unsigned>(std::bit_width(nanos))) - fine - 1;
    return (std::size_t{shift} << fine) + (nanos >> shift);
  }
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(std::size_t{65 - fine} << fine);
};

/// From when until when a worker of a job had room on a node, be it only reserved.
struct worker_stay {
  std::uint32_t job = 0, node = 0;  ///< as they count in the workload
  instant from{};
  std::optional<instant> until;  ///< absent: it still has it
};
/// When a job had all its workers, when it started first, when it was gone, and why one of its pods was rejected first.
struct job_times {
  std::optional<instant> complete, started, ended;
  std::string rejected_for;
};
struct timeline {
  std::vector<worker_stay> stays;
  std::vector<job_times> jobs;  ///< as in the workload
};

/// What a replay measured.
struct outcome {
  handling gangs = handling::pod_by_pod;
  std::string queue_policy = {};           ///< the plugin that divided the cluster between tenants, if one did
  fates pods, jobs, multi;                 ///< multi: jobs of more than one worker
  std::vector<std::vector<double>> waits;  ///< seconds from the last worker's arrival to the start, by size; sorted
  /// As `ended_job`, by size and sorted; nobody's where the trace says when pods are removed whether they ran or not.
  std::vector<std::vector<double>> completion, slowdown;
  std::vector<usage_point> usage;
  instant first_arrival{}, last_arrival{}, end{};
  std::int64_t gpu_milli = 0;  ///< of the cluster
  partial_gangs partial;
  std::vector<tenant_outcome> tenants;  ///< as in the workload
  std::uint64_t rejected_attempts = 0;
  std::map<std::string, rejection> rejections;     ///< by reasons
  std::map<std::string, rejection> still_waiting;  ///< of pods at the end
  latencies calls;                                 ///< of schedule_cycle, when it had something to do
  std::uint64_t decisions = 0;                     ///< in their answers
  double scheduling_seconds = 0;                   ///< in schedule_cycle
  double wall_seconds = 0;                         ///< of the whole replay
  std::optional<timeline> times;                   ///< if it was wanted
};

/// The plugin that divided the cluster; "FIFO": none did.
[[nodiscard]] inline std::string_view policy_name(const outcome& of) noexcept {
  return of.queue_policy.empty() ? std::string_view{"FIFO"} : of.queue_policy;
}

/// GPU time in use from @p from to @p to, as a share of what the cluster has in that time. After its end nothing changes.
struct load {
  double computing = 0, idle = 0;
};
[[nodiscard]] double peak_load(const outcome& of);
[[nodiscard]] load load_between(const outcome& of, instant from, instant to);

struct wait_figures {
  std::uint64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, most = 0;
};
[[nodiscard]] wait_figures figures_of(const std::vector<double>& sorted);

}  // namespace replay
