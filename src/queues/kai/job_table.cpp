#include "gangsched/queues/kai/job_table.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

GANGSCHED_INLINE void job_table::reserve(std::size_t jobs, std::size_t tasks) {
  jobs_.reserve(jobs);
  tasks_.reserve(tasks);
  states_.reserve(tasks);
  needs_.reserve(tasks * resources_);
}

GANGSCHED_INLINE std::size_t job_table::add_job(job_entry job) {
  jobs_.push_back(std::move(job));
  return jobs_.size() - 1;
}

GANGSCHED_INLINE std::uint32_t job_table::add_set(std::size_t job, std::uint32_t least) {
  std::vector<job_set>& sets = jobs_[job].sets;
  sets.push_back({least});
  return static_cast<std::uint32_t>(sets.size() - 1);
}

GANGSCHED_INLINE std::size_t job_table::add_task(const job_task& task, amounts needs) {
  jobs_[task.job].sets[task.set].tasks.push_back(tasks_.size());
  tasks_.push_back(task);
  states_.push_back(task.state);
  for (std::size_t r = 0; r < resources_; ++r) needs_.push_back(r < needs.size() ? needs[r] : 0);
  return tasks_.size() - 1;
}

GANGSCHED_INLINE void job_table::finish() {
  std::vector<pod_set> sets;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    for (job_set& set : jobs_[j].sets) {
      std::sort(set.tasks.begin(), set.tasks.end(), [&](std::size_t a, std::size_t b) {
        return std::pair{tasks_[a].rank, tasks_[a].arrival} < std::pair{tasks_[b].rank, tasks_[b].arrival};
      });
    }
    read_sets(j, states_, sets);
    jobs_[j].rank.state = elastic_state_of(sets);
  }
}

GANGSCHED_INLINE std::vector<double> job_table::sum_of(std::span<const std::size_t> tasks) const {
  std::vector<double> sum(resources_, 0.0);
  for (const std::size_t t : tasks)
    for (std::size_t r = 0; r < resources_; ++r) sum[r] += needs(t)[r];
  return sum;
}

GANGSCHED_INLINE std::vector<pod_set> job_table::sets_of(std::size_t job, states at) const {
  std::vector<pod_set> made;
  read_sets(job, at, made);
  return made;
}

GANGSCHED_INLINE void job_table::read_sets(std::size_t job, states at, std::vector<pod_set>& into) const {
  into.clear();
  for (const job_set& one : jobs_[job].sets) {
    pod_set set{one.least, static_cast<std::uint32_t>(one.tasks.size()), 0, 0};
    for (const std::size_t t : one.tasks) set.allocated += at[t] == task_state::placed ? 1 : 0;
    into.push_back(set);
  }
}

GANGSCHED_INLINE elastic_state job_table::state_of(std::size_t job, states at) const {
  return elastic_state_of(sets_of(job, at));
}

GANGSCHED_INLINE std::vector<std::size_t> job_table::next_tasks(std::size_t job, states at) const {
  const std::vector<pod_set> sets = sets_of(job, at);
  const auto lacks = [](const pod_set& set) { return set.allocated < set.min_available; };
  std::vector<std::size_t> order(sets.size()), out;
  for (std::size_t s = 0; s < order.size(); ++s) order[s] = s;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pod_set_order(sets[a], sets[b]) < 0; });
  auto left = std::max<std::ptrdiff_t>(1, std::count_if(sets.begin(), sets.end(), lacks));
  for (const std::size_t s : order) {
    if (left == 0) break;
    std::size_t most = lacks(sets[s]) ? sets[s].min_available - sets[s].allocated : 1;
    const std::size_t before = out.size();
    for (const std::size_t t : jobs_[job].sets[s].tasks) {
      if (most == 0) break;
      if (at[t] != task_state::waiting && at[t] != task_state::taken_off) continue;
      out.push_back(t);
      --most;
    }
    if (out.size() != before) --left;
  }
  return out;
}

GANGSCHED_INLINE std::vector<std::size_t> job_table::next_victims(std::size_t job, states at) const {
  std::vector<set_eviction> parts;
  next_eviction(sets_of(job, at), parts);
  std::vector<std::size_t> out;
  for (const set_eviction& one : parts) {
    std::uint32_t left = one.pods;
    const std::vector<std::size_t>& tasks = jobs_[job].sets[one.set].tasks;
    for (std::size_t i = tasks.size(); i-- > 0 && left > 0;) {
      if (at[tasks[i]] != task_state::placed) continue;
      out.push_back(tasks[i]);
      --left;
    }
  }
  return out;
}

GANGSCHED_INLINE std::vector<std::size_t> job_table::placed_of(std::size_t job, states at) const {
  std::vector<std::size_t> out;
  for (const job_set& set : jobs_[job].sets)
    for (const std::size_t t : set.tasks)
      if (at[t] == task_state::placed) out.push_back(t);
  return out;
}

GANGSCHED_INLINE void job_table::count_into(queue_shares& shares) const {
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    const job_entry& its = jobs_[tasks_[t].job];
    if (tasks_[t].state != task_state::leaving) shares.add_request(its.queue, needs(t));
    if (tasks_[t].state == task_state::placed) shares.allocate(its.queue, needs(t), its.preemptible);
  }
}

GANGSCHED_INLINE std::vector<std::vector<std::size_t>> job_table::reclaimed_of(std::span<const std::size_t> tasks,
                                                                               states at, bool moved_too) const {
  std::vector<std::vector<std::size_t>> out;
  std::vector<std::size_t> core;
  if (tasks.empty()) return out;
  const std::vector<job_set>& sets = jobs_[tasks_[tasks.front()].job].sets;
  std::vector<std::uint32_t> seen(sets.size());
  for (const std::size_t t : tasks) {
    const bool above = seen[tasks_[t].set]++ >= sets[tasks_[t].set].least;
    if (!moved_too && at[t] != task_state::taken_off) continue;
    if (above)
      out.push_back({t});
    else
      core.push_back(t);
  }
  if (!core.empty()) out.push_back(std::move(core));
  return out;
}

GANGSCHED_INLINE void victim_order::add(std::size_t job) {
  const std::vector<std::size_t> left = table_->placed_of(job, at_);
  if (left.empty()) return;
  const job_entry& of = table_->jobs()[job];
  job_rank rank = of.rank;
  rank.state = table_->state_of(job, at_);
  order_.push({of.queue, rank, table_->sum_of(left), job});
}

GANGSCHED_INLINE std::optional<job_victims> victim_order::next() {
  if (order_.empty()) return std::nullopt;
  job_victims made{order_.pop().which};
  made.tasks = table_->next_victims(made.job, at_);
  for (const std::size_t t : made.tasks) at_[t] = task_state::taken_off;
  add(made.job);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
