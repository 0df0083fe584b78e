#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "replay/workload.hpp"

namespace replay {

/// Of a job that ended: how long that was from the arrival of its last worker, and that against its own duration.
struct ended_job {
  double completion_seconds = 0, slowdown = 1;
};
/// @p complete: when its last worker arrived.
[[nodiscard]] ended_job ended_job_of(const job& which, instant complete, instant end);

/// What became of one tenant's jobs. Times are in seconds.
struct tenant_outcome {
  std::uint64_t arrived = 0;
  std::uint64_t preempted = 0;  ///< times that a job lost its GPUs
  std::vector<double>
      waits;  ///< without GPUs, from the last worker's arrival to the end of the job; of those that ended, sorted
  std::vector<double> completion;  ///< from the last worker's arrival to the end; sorted
  std::vector<double> slowdown;    ///< completion against the job's own duration; sorted
  double gpu_seconds = 0;          ///< in use, from the first arrival to the last
  double share = 0;                ///< of what it is entitled to in that time
};

/// Jain's index of fairness of what each has: 1 if all have the same, 1/n if one has everything. 1 if nobody has anything.
[[nodiscard]] double jain_index(const std::vector<double>& each);

/// How many jobs waited longer than in a cluster of their tenant's own, and by how much on average over all jobs of tenants.
struct sharing_anomaly {
  std::uint64_t tenants = 0;  ///< whose jobs waited longer on average
  double most_seconds = 0;    ///< by how much, of the one that lost most
};
/// @p shared and @p alone are by tenant.
[[nodiscard]] sharing_anomaly anomaly_of(const std::vector<tenant_outcome>& shared,
                                         const std::vector<tenant_outcome>& alone);

/// Keeps account of what each tenant's jobs have, as the replay goes on.
class tenant_ledger {
 public:
  explicit tenant_ledger(const workload& of);

  void arrived(std::uint32_t job) { ++outcomes_[tenant_of(job)].arrived; }
  /// The job's workers hold so many more, or fewer, thousandths of GPUs from @p now on.
  void holds(std::uint32_t job, std::int64_t milli, instant now);
  void preempted(std::uint32_t job) { ++outcomes_[tenant_of(job)].preempted; }
  /// @p complete: when its last worker arrived.
  void ended(std::uint32_t job, instant complete, instant now);

  /// Usage is counted in [@p from, @p to).
  [[nodiscard]] std::vector<tenant_outcome> take(instant from, instant to);

 private:
  struct usage_change {
    instant when;
    std::int64_t milli;
  };
  [[nodiscard]] std::uint32_t tenant_of(std::uint32_t job) const { return work_->jobs[job].tenant; }

  const workload* work_;
  std::vector<tenant_outcome> outcomes_;
  std::vector<std::vector<usage_change>> usage_;  ///< by tenant
};

}  // namespace replay
