#include "gangsched/queues/kai/job_queue.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

GANGSCHED_INLINE job_queue::job_queue(const queue_shares& shares, bool victims)
    : shares_{&shares}, victims_{victims}, own_(shares.tree().size()), jobs_below_(shares.tree().size(), 0) {}

GANGSCHED_INLINE void job_queue::push(queued_job job) {
  for (queue_index up = job.queue; up != no_queue; up = shares_->tree().parent(up)) ++jobs_below_[up];
  ++jobs_;
  own_[job.queue].jobs.push_back(std::move(job));
}

/// What is gone of the queue if its next victim goes too.
GANGSCHED_INLINE std::vector<double> job_queue::leaving(const best& of) const {
  const own& its = own_[of.leaf];
  std::vector<double> sum = its.jobs[of.place].amounts;
  sum.resize(shares_->resources());
  for (std::size_t r = 0; r < its.popped.size(); ++r) sum[r] += its.popped[r];
  return sum;
}

GANGSCHED_INLINE bool job_queue::before(queue_index a, const best& of_a, queue_index b, const best& of_b) const {
  queue_candidate x{a}, y{b};
  if (!victims_) {
    x.job = own_[of_a.leaf].jobs[of_a.place].amounts;
    y.job = own_[of_b.leaf].jobs[of_b.place].amounts;
    return shares_->order(x, y) < 0;
  }
  const std::vector<double> gone_a = leaving(of_a), gone_b = leaving(of_b);
  x.victims = gone_a;
  y.victims = gone_b;
  return shares_->order(x, y) > 0;
}

GANGSCHED_INLINE job_queue::best job_queue::best_of(std::span<const queue_index> siblings) const {
  best found;
  queue_index first = no_queue;
  for (const queue_index one : siblings) {
    if (jobs_below_[one] == 0) continue;
    const best its = best_below(one);
    if (first == no_queue || before(one, its, first, found)) found = its, first = one;
  }
  return found;
}

GANGSCHED_INLINE job_queue::best job_queue::best_below(queue_index queue) const {
  const std::vector<queued_job>& jobs = own_[queue].jobs;
  if (jobs.empty()) return best_of(shares_->tree().children(queue));
  std::size_t found = 0;
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    const std::weak_ordering order = job_order(jobs[i].rank, jobs[found].rank);
    if (victims_ ? order > 0 : order < 0) found = i;
  }
  return {queue, found};
}

GANGSCHED_INLINE queued_job job_queue::pop() {
  const best next = best_of(shares_->tree().roots());
  own& its = own_[next.leaf];
  queued_job job = std::move(its.jobs[next.place]);
  its.jobs.erase(its.jobs.begin() + static_cast<std::ptrdiff_t>(next.place));
  for (queue_index up = next.leaf; up != no_queue; up = shares_->tree().parent(up)) --jobs_below_[up];
  --jobs_;
  if (victims_) {
    its.popped.resize(shares_->resources());
    for (std::size_t r = 0; r < job.amounts.size(); ++r) its.popped[r] += job.amounts[r];
  }
  return job;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
