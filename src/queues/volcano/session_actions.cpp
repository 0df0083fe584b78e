#include <algorithm>
#include <utility>

#include "gangsched/queues/volcano/session.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

namespace detail {

/// A binary heap that does not move what stays in it when its order changes meanwhile: whose turn it is then depends on where it stands, so
/// it has to sift as upstream's does.
template <class Before>
void push(std::vector<std::uint32_t>& heap, std::uint32_t item, const Before& before) {
  heap.push_back(item);
  for (std::size_t at = heap.size() - 1; at > 0;) {
    const std::size_t above = (at - 1) / 2;
    if (!before(heap[at], heap[above])) break;
    std::swap(heap[at], heap[above]);
    at = above;
  }
}

template <class Before>
[[nodiscard]] std::uint32_t pop(std::vector<std::uint32_t>& heap, const Before& before) {
  std::swap(heap.front(), heap.back());
  const std::uint32_t first = heap.back();
  heap.pop_back();
  for (std::size_t at = 0;;) {
    std::size_t below = 2 * at + 1;
    if (below >= heap.size()) break;
    if (below + 1 < heap.size() && before(heap[below + 1], heap[below])) ++below;
    if (!before(heap[below], heap[at])) break;
    std::swap(heap[at], heap[below]);
    at = below;
  }
  return first;
}

}  // namespace detail

GANGSCHED_INLINE session_result session::run() {
  for (const action one : options_->actions) {
    switch (one) {
      case action::enqueue: enqueue(); break;
      case action::allocate: allocate(); break;
      case action::preempt: preempt(); break;
      case action::reclaim: reclaim(); break;
      case action::backfill: backfill(); break;
    }
  }
  for (std::uint32_t task = 0; task < tasks_.size(); ++task)
    if (tasks_[task].status == task_status::pipelined) result_.pipelined.push_back(decided(task, action::allocate));
  for (const job_state& job : jobs_) result_.phases.push_back(closing_phase(job));
  return std::exchange(result_, {});
}

GANGSCHED_INLINE void session::enqueue() {
  const auto queue_first = [this](queue_index a, queue_index b) { return queue_before(a, b); };
  const auto job_first = [this](std::uint32_t a, std::uint32_t b) { return job_before(a, b); };
  std::vector<bool> seen(cluster_->queues.size());
  task_list queues;
  std::vector<task_list> waiting(cluster_->queues.size());
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    const queue_index queue = jobs_[job].spec->queue;
    if (!seen[queue]) detail::push(queues, queue, queue_first);
    seen[queue] = true;
    if (jobs_[job].phase == job_phase::pending) detail::push(waiting[queue], job, job_first);
  }
  while (!queues.empty()) {
    const queue_index queue = detail::pop(queues, queue_first);
    if (waiting[queue].empty()) continue;
    job_state& job = jobs_[detail::pop(waiting[queue], job_first)];
    const auto& needs = job.spec->min_resources;
    if (!needs || enqueueable(*job.spec)) {
      if (needs && overcommit_) overcommit_->enqueued(*needs);
      job.phase = job_phase::inqueue;
    }
    detail::push(queues, queue, queue_first);
  }
}

GANGSCHED_INLINE session::task_list session::pending_tasks(const job_state& job) const {
  task_list made;
  for (std::uint32_t task = job.first; task < job.first + job.count; ++task)
    if (tasks_[task].status == task_status::pending)
      detail::push(made, task, [this](std::uint32_t a, std::uint32_t b) { return task_before(a, b); });
  return made;
}

GANGSCHED_INLINE void session::allocate() {
  const auto queue_first = [this](queue_index a, queue_index b) { return queue_before(a, b); };
  const auto job_first = [this](std::uint32_t a, std::uint32_t b) { return job_before(a, b); };
  const bool enqueues = std::ranges::find(options_->actions, action::enqueue) != options_->actions.end();
  task_list queues;
  std::vector<bool> seen(cluster_->queues.size());
  std::vector<task_list> waiting(cluster_->queues.size());
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    job_state& job = jobs_[index];
    if (job.phase == job_phase::pending) {
      if (enqueues) continue;
      job.phase = job_phase::inqueue;
    }
    if (!job_valid(job)) continue;
    const queue_index queue = job.spec->queue;
    if (!seen[queue]) detail::push(queues, queue, queue_first);
    seen[queue] = true;
    detail::push(waiting[queue], index, job_first);
  }
  std::vector<std::optional<task_list>> pending(jobs_.size());
  while (!queues.empty()) {
    const queue_index queue = detail::pop(queues, queue_first);
    if ((queues_ && queues_->overused(queue)) || waiting[queue].empty()) continue;
    const std::uint32_t job = detail::pop(waiting[queue], job_first);
    if (!pending[job]) {
      pending[job].emplace();
      for (const std::uint32_t task : pending_tasks(jobs_[job]))
        if (!tasks_[task].best_effort)
          detail::push(*pending[job], task, [this](std::uint32_t a, std::uint32_t b) { return task_before(a, b); });
    }
    if (!pending[job]->empty() && allocate_tasks(*pending[job], job)) detail::push(waiting[queue], job, job_first);
    detail::push(queues, queue, queue_first);
  }
}

GANGSCHED_INLINE bool session::allocate_tasks(task_list& waiting, std::uint32_t index) {
  job_state& job = jobs_[index];
  statement with;
  bool again = false;
  // A node that did not do for a task of a role is not tried again for the role, even if another task of it asks for less.
  std::vector<std::pair<std::string_view, std::vector<bool>>> refused;
  while (!waiting.empty() && !again) {
    const std::uint32_t task =
        detail::pop(waiting, [this](std::uint32_t a, std::uint32_t b) { return task_before(a, b); });
    const task_spec& spec = *tasks_[task].spec;
    if (!allocatable(job.spec->queue, spec.request)) continue;
    if (!spec.role.empty() && std::ranges::find(job.failed_roles, spec.role) != job.failed_roles.end()) continue;
    auto cached = std::ranges::find(refused, spec.role, [](const auto& one) { return one.first; });
    if (cached == refused.end()) cached = refused.insert(refused.end(), {spec.role, std::vector<bool>(nodes_.size())});
    node_index idle = no_node, future = no_node;
    for (node_index node = 0; node < nodes_.size(); ++node) {
      if (!spec.role.empty() && cached->second[node]) continue;
      if (!spec.request.within(future_idle(nodes_[node]))) {
        cached->second[node] = true;
      } else if (spec.request.within(nodes_[node].idle)) {
        idle = std::min(idle, node);
      } else {
        future = std::min(future, node);
      }
    }
    if (idle == no_node && future == no_node) {
      job.failed_roles.push_back(spec.role);
      if (worth_continuing(job)) continue;
      break;
    }
    const task_status to = idle != no_node ? task_status::allocated : task_status::pipelined;
    move(task, to, idle != no_node ? idle : future);
    with.push_back({action::allocate, to, task});
    again = job_ready(job) && !waiting.empty();
  }
  if (job_ready(job)) {
    commit(with);
  } else if (!job_pipelined(job)) {
    discard(with);
  }
  return again;
}

GANGSCHED_INLINE void session::reclaim() {
  const auto queue_first = [this](queue_index a, queue_index b) { return queue_before(a, b); };
  const auto job_first = [this](std::uint32_t a, std::uint32_t b) { return job_before(a, b); };
  task_list queues;
  std::vector<bool> seen(cluster_->queues.size());
  std::vector<task_list> waiting(cluster_->queues.size()), pending(jobs_.size());
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    const job_state& job = jobs_[index];
    if (job.phase == job_phase::pending || !job_valid(job)) continue;
    const queue_index queue = job.spec->queue;
    if (!seen[queue]) detail::push(queues, queue, queue_first);
    seen[queue] = true;
    if (job.of(task_status::pending) == 0) continue;
    detail::push(waiting[queue], index, job_first);
    pending[index] = pending_tasks(job);
  }
  while (!queues.empty()) {
    const queue_index queue = detail::pop(queues, queue_first);
    if ((queues_ && queues_->overused(queue)) || waiting[queue].empty()) continue;
    const std::uint32_t job = detail::pop(waiting[queue], job_first);
    if (pending[job].empty()) continue;
    const std::uint32_t task =
        detail::pop(pending[job], [this](std::uint32_t a, std::uint32_t b) { return task_before(a, b); });
    const resources& request = tasks_[task].spec->request;
    if (!allocatable(queue, request) || (queues_ && !queues_->preemptive(queue, request))) continue;
    if (reclaim_for(task)) detail::push(waiting[queue], job, job_first);
    detail::push(queues, queue, queue_first);
  }
}

GANGSCHED_INLINE bool session::reclaim_for(std::uint32_t asker) {
  const queue_index queue = jobs_[tasks_[asker].job].spec->queue;
  const resources& request = tasks_[asker].spec->request;
  const auto victim_first = [this](std::uint32_t a, std::uint32_t b) { return victim_before(a, b); };
  for (node_index at = 0; at < nodes_.size(); ++at) {
    task_list candidates;
    for (const std::uint32_t task : nodes_[at].tasks) {
      const task_state& of = tasks_[task];
      const queue_index from = jobs_[of.job].spec->queue;
      if (of.status == task_status::running && !of.spec->is_protected && from != queue &&
          cluster_->queues[from].reclaimable)
        candidates.push_back(task);
    }
    if (candidates.empty()) continue;
    const task_list found = victims(asker, candidates, true);
    if (!victims_suffice(asker, nodes_[at], found)) continue;
    task_list heap;
    for (const std::uint32_t task : found) detail::push(heap, task, victim_first);
    resources reclaimed;
    while (!heap.empty()) {
      const std::uint32_t victim = detail::pop(heap, victim_first);
      move(victim, task_status::leaving, at);
      result_.evicted.push_back(decided(victim, action::reclaim));
      if (request.within(reclaimed.add(tasks_[victim].spec->request))) break;
    }
    if (!request.within(reclaimed)) continue;
    move(asker, task_status::pipelined, at);
    return true;
  }
  return false;
}

GANGSCHED_INLINE void session::preempt() {
  const auto job_first = [this](std::uint32_t a, std::uint32_t b) { return job_before(a, b); };
  std::vector<queue_index> queues;
  std::vector<task_list> preemptors(cluster_->queues.size()), waiting(jobs_.size());
  task_list starving;
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    const job_state& job = jobs_[index];
    if (job.phase == job_phase::pending || !job_valid(job)) continue;
    const queue_index queue = job.spec->queue;
    if (std::ranges::find(queues, queue) == queues.end()) queues.push_back(queue);
    if (!job_starving(job)) continue;
    detail::push(preemptors[queue], index, job_first);
    starving.push_back(index);
    waiting[index] = pending_tasks(job);
  }
  for (const queue_index queue : queues) {
    preempt_between_jobs(preemptors[queue], waiting);
    // Within a job, of all queues: what is left of a job's tasks is what its own queue's turn finds.
    for (const std::uint32_t job : starving) {
      waiting[job] = pending_tasks(jobs_[job]);
      for (bool assigned = true; assigned && !waiting[job].empty();) {
        const std::uint32_t task =
            detail::pop(waiting[job], [this](std::uint32_t a, std::uint32_t b) { return task_before(a, b); });
        statement with;
        assigned = preempt_for(with, task, true);
        commit(with);
      }
    }
  }
}

GANGSCHED_INLINE void session::preempt_between_jobs(task_list& preemptors, std::vector<task_list>& waiting) {
  const auto job_first = [this](std::uint32_t a, std::uint32_t b) { return job_before(a, b); };
  while (!preemptors.empty()) {
    const std::uint32_t job = detail::pop(preemptors, job_first);
    statement with;
    bool assigned = false;
    while (job_starving(jobs_[job]) && !waiting[job].empty())
      assigned = preempt_for(
          with, detail::pop(waiting[job], [this](std::uint32_t a, std::uint32_t b) { return task_before(a, b); }),
          false);
    if (!job_pipelined(jobs_[job])) {
      discard(with);
      continue;
    }
    commit(with);
    if (assigned) detail::push(preemptors, job, job_first);
  }
}

GANGSCHED_INLINE bool session::preempt_for(statement& with, std::uint32_t asker, bool within_job) {
  const task_state& by = tasks_[asker];
  const queue_index queue = jobs_[by.job].spec->queue;
  const auto victim_first = [this](std::uint32_t a, std::uint32_t b) { return victim_before(a, b); };
  for (node_index at = 0; at < nodes_.size(); ++at) {
    task_list candidates;
    for (const std::uint32_t task : nodes_[at].tasks) {
      const task_state& of = tasks_[task];
      if (of.status == task_status::running && (of.best_effort || !by.best_effort) && !of.spec->is_protected &&
          (of.job == by.job) == within_job && jobs_[of.job].spec->queue == queue)
        candidates.push_back(task);
    }
    const task_list found = victims(asker, candidates, false);
    if (!victims_suffice(asker, nodes_[at], found)) continue;
    task_list heap;
    for (const std::uint32_t task : found) detail::push(heap, task, victim_first);
    const auto fits = [&] {
      return allocatable(queue, by.spec->request) && by.spec->request.within(future_idle(nodes_[at]));
    };
    while (!heap.empty() && !fits()) {
      const std::uint32_t victim = detail::pop(heap, victim_first);
      move(victim, task_status::leaving, at);
      with.push_back({action::preempt, task_status::leaving, victim});
    }
    if (!fits()) continue;  // what was evicted here stays so until the statement is settled
    move(asker, task_status::pipelined, at);
    with.push_back({action::preempt, task_status::pipelined, asker});
    return true;
  }
  return false;
}

GANGSCHED_INLINE session::task_list session::to_backfill() {
  const auto queue_first = [this](queue_index a, queue_index b) { return queue_before(a, b); };
  const auto job_first = [this](std::uint32_t a, std::uint32_t b) { return job_before(a, b); };
  const auto task_first = [this](std::uint32_t a, std::uint32_t b) { return task_before(a, b); };
  task_list queues, made;
  std::vector<task_list> jobs(cluster_->queues.size()), waiting(jobs_.size());
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    const job_state& job = jobs_[index];
    if (job.phase == job_phase::pending || !job_valid(job)) continue;
    for (std::uint32_t task = job.first; task < job.first + job.count; ++task) {
      if (!tasks_[task].best_effort) continue;
      if (tasks_[task].status == task_status::pipelined) move(task, task_status::pending, no_node);
      if (tasks_[task].status == task_status::pending) detail::push(waiting[index], task, task_first);
    }
    if (waiting[index].empty()) continue;
    const queue_index queue = job.spec->queue;
    if (jobs[queue].empty()) detail::push(queues, queue, queue_first);
    detail::push(jobs[queue], index, job_first);
  }
  while (!queues.empty()) {
    task_list& of_queue = jobs[detail::pop(queues, queue_first)];
    while (!of_queue.empty()) {
      task_list& of_job = waiting[detail::pop(of_queue, job_first)];
      while (!of_job.empty()) made.push_back(detail::pop(of_job, task_first));
    }
  }
  return made;
}

GANGSCHED_INLINE void session::backfill() {
  for (const std::uint32_t task : to_backfill()) {
    if (nodes_.empty()) return;
    move(task, task_status::allocated, 0);
    const job_state& job = jobs_[tasks_[task].job];
    if (!job_ready(job)) continue;
    for (std::uint32_t one = job.first; one < job.first + job.count; ++one)
      if (tasks_[one].status == task_status::allocated) bind(one, action::backfill);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano
