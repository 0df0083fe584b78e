#include "gangsched/queues/volcano/queue_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

namespace detail {

[[nodiscard]] inline bool are_amounts(const resources& of) {
  for (kind k = 0; k < most_kinds; ++k)
    if (!std::isfinite(of.get(k)) || of.get(k) < 0) return false;
  return true;
}

[[nodiscard]] inline result<void> check_amounts(const resources& of, const std::string& object, const char* field) {
  if (are_amounts(of)) return {};
  return error{errc::out_of_range, object, field, "has to be finite and at least 0"};
}

[[nodiscard]] inline result<void> check_queue(const queue_spec& one) {
  if (one.name.empty()) return error{errc::malformed, "queue", "name", "is empty"};
  const std::string object = "queue " + one.name;
  if (one.weight < 0) return error{errc::out_of_range, object, "weight", "is negative"};
  if (auto right = check_amounts(one.capability, object, "capability"); !right) return right;
  if (auto right = check_amounts(one.guarantee, object, "guarantee"); !right) return right;
  return check_amounts(one.deserved, object, "deserved");
}

}  // namespace detail

GANGSCHED_INLINE resources job_load::elastic() const {
  const resources min = min_resources.value_or(resources{});
  if (allocated.within_somewhere(min)) return {};
  return resources{allocated}.subtract(min);
}

GANGSCHED_INLINE std::optional<resources> job_load::reserved() const {
  if (phase == job_phase::inqueue) return min_resources.value_or(resources{});
  if (phase != job_phase::running || !min_resources || allocated_tasks < min_member) return std::nullopt;
  resources missing{std::max(0.0, min_resources->get(cpu) - allocated.get(cpu)),
                    std::max(0.0, min_resources->get(memory) - allocated.get(memory))};
  for (kind k = pods; k < most_kinds; ++k) {
    if (!min_resources->names(k)) continue;
    const double whole = k == pods ? min_resources->get(k) : std::ceil(min_resources->get(k) / 1000);
    if (!allocated.names(k)) {
      missing.set(k, whole);
    } else if (whole > allocated.get(k)) {
      missing.set(k, whole - allocated.get(k));
    }
  }
  return missing;
}

GANGSCHED_INLINE result<queue_shares> queue_shares::open(queue_policy policy, const resources& total,
                                                         std::span<const queue_spec> queues,
                                                         std::span<const job_load> jobs) {
  if (auto right = detail::check_amounts(total, "cluster", "total"); !right) return right.error();
  std::unordered_set<std::string_view> names;
  for (const queue_spec& one : queues) {
    if (auto right = detail::check_queue(one); !right) return right.error();
    if (!names.insert(one.name).second)
      return error{errc::duplicate, "queue " + one.name, "name", "there are two of that name"};
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string object = "job " + std::to_string(i);
    if (jobs[i].queue >= queues.size()) return error{errc::unknown, object, "queue", "there is no such queue"};
    for (const auto& [of, field] : {std::pair{&jobs[i].allocated, "allocated"}, std::pair{&jobs[i].pending, "pending"}})
      if (auto right = detail::check_amounts(*of, object, field); !right) return right.error();
    if (jobs[i].min_resources)
      if (auto right = detail::check_amounts(*jobs[i].min_resources, object, "min_resources"); !right)
        return right.error();
  }

  queue_shares made;
  made.policy_ = policy;
  made.accounts_.resize(queues.size());
  resources guaranteed;
  for (const queue_spec& one : queues) {
    guaranteed.add(one.guarantee);
    made.weight_.push_back(one.weight);
    made.priority_.push_back(one.priority);
  }
  for (const job_load& job : jobs) {
    queue_account& at = made.accounts_[job.queue];
    at.takes_part = true;
    at.allocated.add(job.allocated);
    at.request.add(job.allocated).add(job.pending);
    if (const auto kept = job.reserved()) at.inqueue.add(*kept);
    at.elastic.add(job.elastic());
  }
  for (std::size_t q = 0; q < queues.size(); ++q) {
    queue_account& at = made.accounts_[q];
    if (!at.takes_part) continue;
    at.guarantee = queues[q].guarantee;
    resources bound = queues[q].capability;
    for (const kind k : {cpu, memory})
      if (bound.get(k) <= 0) bound.set(k, std::numeric_limits<double>::max());
    at.real_capability = resources{total}.subtract(guaranteed).add(at.guarantee).limit_to(bound);
    if (policy != queue_policy::capacity) continue;
    at.deserved =
        larger_of(resources{queues[q].deserved}.limit_to(at.real_capability).limit_to(at.request), at.guarantee);
  }
  if (policy == queue_policy::proportion) made.divide(total);
  for (queue_account& at : made.accounts_) at.share = dominant_share(at.allocated, at.deserved);
  return made;
}

GANGSCHED_INLINE void queue_shares::divide(const resources& total) {
  std::vector<queue_index> open;
  for (queue_index q = 0; q < accounts_.size(); ++q)
    if (accounts_[q].takes_part) open.push_back(q);
  for (resources remaining = total;;) {
    std::int64_t weights = 0;
    for (const queue_index q : open) weights += weight_[q];
    if (weights == 0) return;
    resources grown, shrunk;
    std::erase_if(open, [&](queue_index q) {
      queue_account& at = accounts_[q];
      const resources before = at.deserved;
      at.deserved.add(resources{remaining}.scale(static_cast<double>(weight_[q]) / static_cast<double>(weights)));
      at.deserved = larger_of(at.deserved.limit_to(at.real_capability).limit_to_named(at.request), at.guarantee);
      for (kind k = 0; k < most_kinds; ++k) {
        if (!before.names(k) && !at.deserved.names(k)) continue;
        const double by = at.deserved.get(k) - before.get(k);
        grown.set(k, grown.get(k) + std::max(0.0, by));
        shrunk.set(k, shrunk.get(k) + std::max(0.0, -by));
      }
      return at.request.within(at.deserved) || at.deserved == before;
    });
    const resources before = remaining;
    remaining.subtract(grown).add(shrunk);
    if (remaining.is_empty() || remaining == before) return;
  }
}

GANGSCHED_INLINE std::weak_ordering queue_shares::order(queue_index a, queue_index b) const {
  if (priority_[a] != priority_[b]) return priority_[b] <=> priority_[a];
  const double left = accounts_[a].share, right = accounts_[b].share;
  if (left == right) return std::weak_ordering::equivalent;
  return left < right ? std::weak_ordering::less : std::weak_ordering::greater;
}

GANGSCHED_INLINE bool queue_shares::overused(queue_index queue) const {
  const queue_account& at = accounts_[queue];
  return policy_ == queue_policy::proportion && at.deserved.within(at.allocated);
}

GANGSCHED_INLINE bool queue_shares::allocatable(queue_index queue, const resources& task) const {
  const queue_account& at = accounts_[queue];
  return resources{at.allocated}.add(task).within_for(
      policy_ == queue_policy::proportion ? at.deserved : at.real_capability, task);
}

GANGSCHED_INLINE bool queue_shares::preemptive(queue_index queue, const resources& task) const {
  const queue_account& at = accounts_[queue];
  return policy_ == queue_policy::proportion || resources{at.allocated}.add(task).within_for(at.deserved, task);
}

GANGSCHED_INLINE bool queue_shares::enqueue(queue_index queue, const resources& min) {
  queue_account& at = accounts_[queue];
  if (!resources{min}.add(at.allocated).add(at.inqueue).subtract(at.elastic).within_for(at.real_capability, min))
    return false;
  at.inqueue.add(min);
  return true;
}

GANGSCHED_INLINE void queue_shares::reclaimable(const resources& asked, std::span<const reclaim_candidate> candidates,
                                                std::vector<std::uint32_t>& victims) const {
  victims.clear();
  std::vector<std::pair<queue_index, resources>> left;  // of the queues that candidates are in: few
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [queue, request] = candidates[i];
    const queue_account& at = accounts_[queue];
    auto found = std::ranges::find(left, queue, &std::pair<queue_index, resources>::first);
    if (found == left.end()) found = left.insert(left.end(), {queue, at.allocated});
    resources& allocated = found->second;
    if (allocated.less_somewhere(asked)) continue;
    if (policy_ == queue_policy::proportion
            ? allocated.within(at.deserved)
            : allocated.within_if_named(at.deserved) || !at.guarantee.within(resources{allocated}.subtract(request)))
      continue;
    allocated.subtract(request);
    victims.push_back(static_cast<std::uint32_t>(i));
  }
}

GANGSCHED_INLINE void queue_shares::allocate(queue_index queue, const resources& task) {
  queue_account& at = accounts_[queue];
  at.allocated.add(task);
  at.share = dominant_share(at.allocated, at.deserved);
}

GANGSCHED_INLINE void queue_shares::release(queue_index queue, const resources& task) {
  queue_account& at = accounts_[queue];
  at.allocated.subtract(task);
  at.share = dominant_share(at.allocated, at.deserved);
}

GANGSCHED_INLINE overcommit::overcommit(const resources& total, const resources& used, double factor,
                                        std::span<const job_load> jobs)
    : idle_{resources{total}.scale(factor < 1 ? default_factor : factor).subtract(used)} {
  for (const job_load& job : jobs)
    if (const auto kept = job.reserved()) inqueue_.add(*kept);
}

GANGSCHED_INLINE bool overcommit::enqueueable(const resources& min) const {
  return resources{inqueue_}.add(min).within_for(idle_, min);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano
