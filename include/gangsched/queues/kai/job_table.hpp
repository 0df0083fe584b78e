#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/kai/gangs.hpp"
#include "gangsched/queues/kai/job_queue.hpp"
#include "gangsched/queues/kai/queue_shares.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

/// What a pod is doing, as far as queues count it.
enum class task_state : unsigned char {
  waiting,      ///< for a node
  placed,       ///< on a node and staying, or promised one
  leaving,      ///< it is leaving, and its job requests nothing in its place
  coming_back,  ///< evicted, to be started again: its queue still requests as much
  taken_off,    ///< in a trial; there it may be placed again
};

/// A pod of a job.
struct job_task {
  std::size_t job = 0;
  std::uint32_t set = 0;
  std::int32_t rank = 0;      ///< the lowest of a set is started first
  std::uint64_t arrival = 0;  ///< then the smallest
  task_state state = task_state::waiting;
};
/// Tasks of a job that start together (KAI's pod set).
struct job_set {
  std::uint32_t least = 1;              ///< minMember
  std::vector<std::size_t> tasks = {};  ///< in the order in which they are started
};
/// A job: a pod group.
struct job_entry {
  queue_index queue = no_queue;
  job_rank rank = {};
  bool preemptible = true;
  std::optional<instant> started = {};  ///< when the last of its tasks was
  std::vector<job_set> sets = {};
};

/// Jobs of queues with their tasks: which would be started next, and which would be evicted. Jobs and tasks are named by their numbers, in
/// the order in which they were added. Calls take the states of the tasks, one for each: those that the table was filled with, or those of
/// a trial.
class GANGSCHED_API job_table {
 public:
  using states = std::span<const task_state>;
  explicit job_table(std::size_t resources) : resources_{resources} {}

  /// Room for so many jobs and tasks.
  void reserve(std::size_t jobs, std::size_t tasks);
  std::size_t add_job(job_entry job);
  std::uint32_t add_set(std::size_t job, std::uint32_t least);
  /// @param needs by resource.
  std::size_t add_task(const job_task& task, amounts needs);
  /// After the last task: the order of tasks in sets, and the elastic states of the jobs' ranks.
  void finish();

  [[nodiscard]] const std::vector<job_entry>& jobs() const noexcept { return jobs_; }
  [[nodiscard]] job_entry& job(std::size_t which) { return jobs_[which]; }
  [[nodiscard]] const std::vector<job_task>& tasks() const noexcept { return tasks_; }
  [[nodiscard]] const std::vector<task_state>& as_filled() const noexcept { return states_; }
  [[nodiscard]] amounts needs(std::size_t task) const { return amounts{needs_}.subspan(task * resources_, resources_); }
  [[nodiscard]] std::vector<double> sum_of(std::span<const std::size_t> tasks) const;

  [[nodiscard]] std::vector<pod_set> sets_of(std::size_t job, states at) const;
  /// The same, into @p into, whose memory is reused.
  void read_sets(std::size_t job, states at, std::vector<pod_set>& into) const;
  [[nodiscard]] elastic_state state_of(std::size_t job, states at) const;
  /// The tasks that its sets' minimums lack; one more task of a job that lacks none.
  [[nodiscard]] std::vector<std::size_t> next_tasks(std::size_t job, states at) const;
  /// The tasks to evict first (`next_eviction`), the last started first.
  [[nodiscard]] std::vector<std::size_t> next_victims(std::size_t job, states at) const;
  /// The placed tasks of the job.
  [[nodiscard]] std::vector<std::size_t> placed_of(std::size_t job, states at) const;
  /// Whether next_tasks has any, and whether placed_of has.
  [[nodiscard]] bool has_next(std::size_t job, states at) const {
    return has_any(job, [&](std::size_t t) { return at[t] == task_state::waiting || at[t] == task_state::taken_off; });
  }
  [[nodiscard]] bool has_placed(std::size_t job, states at) const {
    return has_any(job, [&](std::size_t t) { return at[t] == task_state::placed; });
  }

  /// Adds what the tasks hold and request to queues' loads.
  void count_into(queue_shares& shares) const;

  /// Tasks of one job, as a reclaim considers them: those above its sets' minimums one by one, the others as one. Only those still taken
  /// off in @p at count, or all if @p moved_too.
  [[nodiscard]] std::vector<std::vector<std::size_t>> reclaimed_of(std::span<const std::size_t> tasks, states at,
                                                                   bool moved_too) const;

 private:
  template <class Holds>
  [[nodiscard]] bool has_any(std::size_t job, Holds holds) const {
    for (const job_set& set : jobs_[job].sets)
      for (const std::size_t t : set.tasks)
        if (holds(t)) return true;
    return false;
  }

  std::size_t resources_;
  std::vector<job_entry> jobs_;
  std::vector<job_task> tasks_;
  std::vector<double> needs_;  ///< by task, then resource
  std::vector<task_state> states_;
};

/// Tasks of one job that are evicted together.
struct job_victims {
  std::size_t job = 0;
  std::vector<std::size_t> tasks = {};
};

/// Victims among some jobs, in order: a job's surplus one by one, then the rest of it. Table and shares have to outlive it.
class GANGSCHED_API victim_order {
 public:
  victim_order(const job_table& table, const queue_shares& shares)
      : table_{&table}, order_{shares, true}, at_{table.as_filled()} {}
  void add(std::size_t job);
  /// The next ones; nothing if none are left.
  std::optional<job_victims> next();

 private:
  const job_table* table_;
  job_queue order_;
  std::vector<task_state> at_;  ///< victims taken so far are `taken_off`
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kai/job_table.cpp"
#endif
