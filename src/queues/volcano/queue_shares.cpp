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
  made.terms_.reserve(queues.size());
  for (const queue_spec& one : queues) {
    made.terms_.push_back({one.guarantee, one.capability, one.deserved, {}});
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
  made.settle(total);
  return made;
}

GANGSCHED_INLINE void queue_shares::count(queue_index queue, const queue_load& now) {
  const terms& its = terms_[queue];
  accounts_[queue] = now.takes_part ? queue_account{now, {}, its.guarantee, its.real_capability, 0} : queue_account{};
}

GANGSCHED_INLINE void queue_shares::settle(const resources& total) {
  if (!total_ || *total_ != total) bound_by(total);
  if (policy_ == queue_policy::proportion) return divide(total);
  for (std::size_t q = 0; q < accounts_.size(); ++q) {
    queue_account& at = accounts_[q];
    if (!at.takes_part) continue;
    at.deserved =
        larger_of(resources{terms_[q].deserved}.limit_to(at.real_capability).limit_to(at.request), at.guarantee);
    at.share = dominant_share(at.allocated, at.deserved);
  }
}

GANGSCHED_INLINE void queue_shares::bound_by(const resources& total) {
  total_ = total;
  resources left = total;
  resources guaranteed;
  for (const terms& one : terms_) guaranteed.add(one.guarantee);
  left.subtract(guaranteed);
  for (std::size_t q = 0; q < accounts_.size(); ++q) {
    terms& its = terms_[q];
    resources bound = its.capability;
    for (const kind k : {cpu, memory})
      if (bound.get(k) <= 0) bound.set(k, std::numeric_limits<double>::max());
    its.real_capability = resources{left}.add(its.guarantee).limit_to(bound);
    if (!accounts_[q].takes_part) continue;
    accounts_[q].guarantee = its.guarantee;
    accounts_[q].real_capability = its.real_capability;
  }
}

/// Rounds go over the kinds alone that are named, each kind's amounts side by side: all others are 0 throughout. Beside cores and
/// memory what is deserved names what is above 0.
GANGSCHED_INLINE void queue_shares::divide(const resources& total) {
  struct kind_amounts {
    kind of;
    std::vector<double> deserved, most, least, request;  // by place among those that take part still
    double grown = 0, shrunk = 0;                        // in a round
    bool named = false;
  };
  std::uint16_t named = total.named();
  std::vector<queue_index> open;
  for (queue_index q = 0; q < accounts_.size(); ++q) {
    const queue_account& at = accounts_[q];
    if (!at.takes_part) continue;
    open.push_back(q);
    named = static_cast<std::uint16_t>(named | at.request.named() | at.guarantee.named());
  }
  std::vector<kind_amounts> kinds;
  for (kind k = 0; k < most_kinds; ++k) {
    if ((named >> k & 1U) == 0) continue;
    kind_amounts& one = kinds.emplace_back(kind_amounts{k, std::vector<double>(open.size()), {}, {}, {}});
    for (const queue_index q : open) {
      const queue_account& at = accounts_[q];
      const double bound =
          at.real_capability.names(k) ? at.real_capability.get(k) : std::numeric_limits<double>::infinity();
      one.most.push_back(std::min(bound, at.request.get(k)));
      one.least.push_back(at.guarantee.get(k));
      one.request.push_back(at.request.get(k));
    }
  }
  const auto settle_at = [&](std::size_t i) {
    queue_account& at = accounts_[open[i]];
    at.deserved = {};
    for (const kind_amounts& one : kinds)
      if (one.of < pods || one.deserved[i] > 0) at.deserved.set(one.of, one.deserved[i]);
    at.share = dominant_share(at.allocated, at.deserved);
  };
  std::vector<std::uint32_t> stays(open.size());  // 1: less than it asks for; 2: something else than before
  std::vector<double> part(open.size());
  std::int64_t divided = 0;  // the weights of those that `part` is of
  for (resources remaining = total;;) {
    std::int64_t all = 0;
    for (const queue_index q : open) all += weight_[q];
    if (all == 0) break;
    for (std::size_t i = 0; divided != all && i < open.size(); ++i)
      part[i] = static_cast<double>(weight_[open[i]]) / static_cast<double>(all);
    divided = all;
    std::fill(stays.begin(), stays.end(), 0U);
    for (kind_amounts& one : kinds) {
      double* const deserved = one.deserved.data();
      const double *const most = one.most.data(), *const least = one.least.data(), *const asked = one.request.data();
      const double* const parts = part.data();
      std::uint32_t* const mark = stays.data();
      const double left = remaining.get(one.of);
      double grown = 0, shrunk = 0;
      for (std::size_t i = 0, count = open.size(); i < count; ++i) {
        const double before = deserved[i];
        const double now = std::max(std::min(before + left * parts[i], most[i]), least[i]);
        deserved[i] = now;
        if (now < before) shrunk += before - now;
        grown += std::max(0.0, now - before);
        mark[i] |= (asked[i] - now < resources::least ? 0U : 1U) | (now == before ? 0U : 2U);
      }
      one.named = one.named || grown > 0;
      one.grown = grown, one.shrunk = shrunk;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (stays[i] != 3) {
        settle_at(i);
        continue;
      }
      if (kept != i) {
        open[kept] = open[i];
        part[kept] = part[i];
        for (kind_amounts& one : kinds)
          for (std::vector<double>* const its : {&one.deserved, &one.most, &one.least, &one.request})
            (*its)[kept] = (*its)[i];
      }
      ++kept;
    }
    open.resize(kept);
    stays.resize(kept);
    const resources before = remaining;
    resources more, less;
    for (const kind_amounts& one : kinds) {
      if (one.of >= pods && !one.named) continue;
      more.set(one.of, one.grown);
      less.set(one.of, one.shrunk);
    }
    remaining.subtract(more).add(less);
    if (remaining.is_empty() || remaining == before) break;
  }
  for (std::size_t i = 0; i < open.size(); ++i) settle_at(i);
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

GANGSCHED_INLINE void queue_shares::set_allocated(queue_index queue, const resources& now) {
  queue_account& at = accounts_[queue];
  at.allocated = now;
  at.share = dominant_share(at.allocated, at.deserved);
}

GANGSCHED_INLINE void queue_shares::set_reserved(queue_index queue, const resources& inqueue,
                                                 const resources& elastic) {
  accounts_[queue].inqueue = inqueue;
  accounts_[queue].elastic = elastic;
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
