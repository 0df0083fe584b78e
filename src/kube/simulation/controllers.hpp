#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include "gangsched/kube/manifests.hpp"

#include "gangsched/kube/simulation_outcome.hpp"
#include "gangsched/src/kube/simulation/cron.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// A CronJob with the pods of one run.
struct cron_job {
  cron_job_manifest what;
  cron_schedule schedule;
  std::vector<pod_manifest> pods;
};
/// What a HorizontalPodAutoscaler scales, with all the pods that it has at its peak: of a StatefulSet by number, else those first that are
/// there at the start.
struct scaled_workload {
  autoscaler_manifest what;
  std::vector<pod_manifest> pods = {};
  std::size_t kept = 0;       ///< how many are there at the start
  std::int64_t at_start = 0;  ///< how many are wanted there
};

/// Controllers that go on while time passes.
struct live_controllers {
  std::int64_t start = 0;  ///< what time it is at the start, in seconds since 1970
  instant until{};         ///< when CronJobs have made their last run
  std::vector<cron_job> cron_jobs = {};
  std::vector<scaled_workload> scaled = {};
  std::size_t most_pods = 0;  ///< that they make
};

/// Takes those pods out of @p what that are made later only. Adds what is left out to @p warnings. Throws bad_input.
[[nodiscard]] live_controllers take_over(manifests& what, std::int64_t start, instant until, std::size_t most_pods,
                                         std::vector<warning>& warnings);

/// "default/web-1"
[[nodiscard]] std::string full_name(const pod_manifest& pod);
/// How long a pod runs: its annotation gangsched.dev/run-time. Throws bad_input.
[[nodiscard]] std::optional<instant> run_time_of(const pod_manifest& pod);

/// What controllers want: pods that are new, each with the one that it replaces, and pods, by their place, that are to go.
struct wanted_changes {
  struct made_pod {
    pod_manifest pod;
    std::optional<std::size_t> instead_of = {};
  };
  std::vector<made_pod> make = {};
  std::vector<std::size_t> end = {};
};

/// Says what CronJobs, autoscalers and the controllers of pods that are evicted do. What it says is done before it is asked again: pods
/// that are made come last, in order.
class controllers {
 public:
  /// @p what and @p pods, which say how things stand, have to outlive it.
  controllers(const live_controllers& of, const manifests& what, const std::vector<pod_outcome>& pods);

  /// When one of them does something by itself.
  [[nodiscard]] std::optional<instant> next() const;
  wanted_changes due(instant now);
  /// So long after it was made, or after the start, the Job of the pod ends it; nothing if none does.
  [[nodiscard]] std::optional<instant> deadline_of(const pod_manifest& pod) const;
  /// That time has come: the pod ends, or is not made again if it is about to go already.
  wanted_changes past_deadline(std::size_t pod);
  /// Whether the pod was being deleted as the files were written, and another one is made when it is gone.
  [[nodiscard]] bool comes_again(const pod_manifest& pod) const { return made_again_.contains(full_name(pod)); }
  /// A pod was evicted, and terminates.
  wanted_changes evicted(std::size_t pod);
  /// A pod has gone.
  wanted_changes left(std::size_t pod, instant now);
  /// Pods that are not made again, and why.
  [[nodiscard]] const std::vector<warning>& warnings() const noexcept { return warnings_; }

 private:
  struct cron_state {
    const cron_job* of;
    std::optional<std::int64_t> next, missed = {};  // seconds since 1970
    std::vector<std::size_t> pods = {};             // of runs that may go on
  };
  struct job_state {  // of a Job, or of an index that fails by itself
    std::int64_t failures = 0;
    bool failed = false;
    std::vector<std::size_t> pods = {};
  };
  struct scale_state {
    const scaled_workload* of;
    std::size_t step = 0, used = 0;  // of its load, of its pods
    std::int64_t wanted = 0;
    std::vector<std::size_t> pods = {};
  };

  [[nodiscard]] bool is_there(std::size_t pod) const;
  [[nodiscard]] bool is_counted(std::size_t pod) const;
  [[nodiscard]] bool may_come_again(const pod_manifest& first, std::size_t pod);
  [[nodiscard]] bool is_full();
  [[nodiscard]] std::string new_name(const std::string& ns, const std::string& like);
  [[nodiscard]] std::string name_in_run(const std::string& job, const pod_manifest& like) const;
  std::size_t make(pod_manifest pod, std::optional<std::size_t> instead_of, wanted_changes& to);
  void replace(std::size_t pod, wanted_changes& to);
  [[nodiscard]] const job_manifest* job_of(const pod_manifest& pod) const;
  [[nodiscard]] bool waits_for_old(const pod_manifest& pod) const;
  [[nodiscard]] std::string failing_with(const pod_manifest& pod) const;
  [[nodiscard]] job_state* state_of_job(const pod_manifest& pod);
  [[nodiscard]] bool has_failed(const pod_manifest& pod);
  bool fails_job(std::size_t pod, wanted_changes& to);
  void run(cron_state& job, std::int64_t scheduled, wanted_changes& to);
  void scale(scale_state& of, wanted_changes& to);
  void scale_by_number(scale_state& of, const auto& add, wanted_changes& to);
  void scale_down(std::vector<std::size_t> counted, std::size_t wanted, wanted_changes& to);
  void let_go(std::size_t pod, wanted_changes& to);
  [[nodiscard]] std::optional<std::int64_t> next_run(const cron_state& of, std::int64_t after) const;

  const live_controllers* of_;
  const manifests* what_;
  const std::vector<pod_outcome>* pods_;
  std::vector<cron_state> cron_jobs_;
  std::vector<scale_state> scaled_;
  std::map<std::size_t, std::size_t> cron_of_, scale_of_;  // by pod
  std::map<std::size_t, std::size_t> first_;               // which pod a pod is instead of, in the end
  std::map<std::string, int> copies_, evictions_;          // by the name of what was copied
  std::map<std::string, const job_manifest*> job_rules_;   // by namespace/name
  std::map<std::string, job_state> job_states_;            // by `failing_with`
  std::set<std::string> names_, jobs_;
  std::size_t made_ = 0;
  std::vector<warning> warnings_;
  std::set<std::string> told_;        // whose pods there is a warning of; "": of all
  std::set<std::string> made_again_;  // namespace/name of pods that are made again when they are gone
  std::set<std::size_t> given_up_;    // pods that are not made again, also if they were evicted
  std::set<std::size_t> let_go_;      // pods that went, or are to go, for another reason than that they have ended
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
