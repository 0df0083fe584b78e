#include "gangsched/queues/kai/queue_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

namespace detail {

/// What every unit counts of a resource of which a queue may not hold any, in its dominant share.
inline constexpr double zero_share_penalty = 1000;

[[nodiscard]] inline double amount(amounts of, std::size_t resource) noexcept {
  return resource < of.size() ? of[resource] : 0;
}
[[nodiscard]] inline bool is_amount(double number) noexcept { return std::isfinite(number) && number >= 0; }
[[nodiscard]] inline bool is_bound(double number) noexcept { return number == unlimited || is_amount(number); }

}  // namespace detail

GANGSCHED_INLINE queue_shares::queue_shares(queue_tree tree, std::size_t resources)
    : tree_{std::move(tree)},
      total_(resources, 0.0),
      ranks_(tree_.size()),
      shares_(tree_.size() * resources),
      ranked_(tree_.size()),
      first_(tree_.size() + 2) {
  for (queue_index queue = 0; queue < tree_.size(); ++queue)
    first_[queue + 1] = first_[queue] + static_cast<std::uint32_t>(tree_.children(queue).size());
  first_.back() = static_cast<std::uint32_t>(tree_.size());
  std::size_t most = tree_.roots().size();
  for (queue_index queue = 0; queue < tree_.size(); ++queue) most = std::max(most, tree_.children(queue).size());
  claims_.reserve(most);
  division_.reserve(most);
}

GANGSCHED_INLINE error queue_shares::refused(errc code, queue_index queue, std::string field,
                                             std::string reason) const {
  const bool known = queue < tree_.size();
  return {code, "queue " + (known ? tree_.name(queue) : std::to_string(queue)), std::move(field), std::move(reason)};
}

GANGSCHED_INLINE result<void> queue_shares::check(queue_index queue, std::size_t resource) const {
  if (queue >= tree_.size()) return refused(errc::unknown, queue, "", "there is no such queue");
  if (resource >= resources())
    return refused(errc::unknown, queue, "resource " + std::to_string(resource), "there is no such resource");
  return {};
}

GANGSCHED_INLINE result<void> queue_shares::set_total(std::size_t resource, double amount) {
  const auto wrong = [&](errc code, std::string reason) {
    return error{code, "resource " + std::to_string(resource), "total", std::move(reason)};
  };
  if (resource >= resources()) return wrong(errc::unknown, "there is no such resource");
  if (!detail::is_amount(amount)) return wrong(errc::out_of_range, "has to be finite and at least 0");
  total_[resource] = amount;
  return {};
}

GANGSCHED_INLINE result<void> queue_shares::set_quota(queue_index queue, std::size_t resource, const quota& to) {
  if (auto known = check(queue, resource); !known) return known;
  if (!detail::is_bound(to.deserved))
    return refused(errc::out_of_range, queue, "deserved", "has to be unlimited or finite and at least 0");
  if (!detail::is_bound(to.limit))
    return refused(errc::out_of_range, queue, "limit", "has to be unlimited or finite and at least 0");
  if (!detail::is_amount(to.weight))
    return refused(errc::out_of_range, queue, "weight", "has to be finite and at least 0");
  resource_share& share = at(queue, resource);
  share.deserved = to.deserved;
  share.limit = to.limit;
  share.weight = to.weight;
  return {};
}

GANGSCHED_INLINE result<void> queue_shares::set_rank(queue_index queue, queue_rank to) {
  if (queue >= tree_.size()) return refused(errc::unknown, queue, "", "there is no such queue");
  ranks_[queue] = to;
  sorted_ = false;
  return {};
}

GANGSCHED_INLINE result<void> queue_shares::set_usage(queue_index queue, std::size_t resource, double to) {
  if (auto known = check(queue, resource); !known) return known;
  if (!detail::is_amount(to)) return refused(errc::out_of_range, queue, "usage", "has to be finite and at least 0");
  at(queue, resource).usage = to;
  return {};
}

GANGSCHED_INLINE result<void> queue_shares::set_load(queue_index queue, std::size_t resource, const queue_load& to) {
  if (auto known = check(queue, resource); !known) return known;
  const auto wrong = [&](const char* field) {
    return refused(errc::out_of_range, queue, field, "has to be finite and at least 0");
  };
  if (!detail::is_amount(to.request)) return wrong("request");
  if (!detail::is_amount(to.allocated)) return wrong("allocated");
  if (!detail::is_amount(to.allocated_non_preemptible)) return wrong("allocated_non_preemptible");
  resource_share& share = at(queue, resource);
  share.request = to.request;
  share.allocated = to.allocated;
  share.allocated_non_preemptible = to.allocated_non_preemptible;
  return {};
}

GANGSCHED_INLINE result<void> queue_shares::set_fair_share(queue_index queue, std::size_t resource, double to) {
  if (auto known = check(queue, resource); !known) return known;
  if (!detail::is_bound(to))
    return refused(errc::out_of_range, queue, "fair_share", "has to be unlimited or finite and at least 0");
  at(queue, resource).fair_share = to;
  return {};
}

GANGSCHED_INLINE void queue_shares::add(queue_index queue, amounts job, double sign,
                                        double resource_share::*where) noexcept {
  GANGSCHED_ASSERT(queue < tree_.size() && job.size() <= resources());
  for (; queue != no_queue; queue = tree_.parent(queue))
    for (std::size_t resource = 0; resource < job.size(); ++resource)
      at(queue, resource).*where += sign * job[resource];
}

GANGSCHED_INLINE void queue_shares::hold(queue_index queue, amounts job, bool preemptible, double sign) noexcept {
  add(queue, job, sign, &resource_share::allocated);
  if (!preemptible) add(queue, job, sign, &resource_share::allocated_non_preemptible);
}

GANGSCHED_INLINE void queue_shares::sort_siblings() {
  if (sorted_) return;
  const auto sorted = [&](std::span<const queue_index> siblings, std::uint32_t to) {
    const auto begin = ranked_.begin() + to, end = std::copy(siblings.begin(), siblings.end(), begin);
    std::sort(begin, end, [&](queue_index a, queue_index b) {
      if (ranks_[a].priority != ranks_[b].priority) return ranks_[a].priority > ranks_[b].priority;
      if (ranks_[a].created != ranks_[b].created) return ranks_[a].created < ranks_[b].created;
      return tree_.name(a) < tree_.name(b);
    });
  };
  for (queue_index queue = 0; queue < tree_.size(); ++queue) sorted(tree_.children(queue), first_[queue]);
  sorted(tree_.roots(), first_[tree_.size()]);
  sorted_ = true;
}

GANGSCHED_INLINE void queue_shares::divide(double k) {
  sort_siblings();
  const auto below = [&](std::size_t queue) {
    return std::span<const queue_index>{ranked_}.subspan(first_[queue], first_[queue + 1] - first_[queue]);
  };
  for (std::size_t resource = 0; resource < resources(); ++resource)
    divide_among(below(tree_.size()), resource, total_[resource], k);
  for (const queue_index queue : tree_.top_down())
    for (std::size_t resource = 0; resource < resources(); ++resource)
      divide_among(below(queue), resource, share(queue, resource).fair_share, k);
}

GANGSCHED_INLINE void queue_shares::divide_among(std::span<const queue_index> siblings, std::size_t resource,
                                                 double total, double k) {
  claims_.clear();
  for (const queue_index queue : siblings) {
    const resource_share& of = share(queue, resource);
    claims_.push_back({ranks_[queue].priority, of.deserved, of.requestable(), of.weight, of.usage});
  }
  division_.divide(claims_, total, k);
  for (std::size_t i = 0; i < siblings.size(); ++i) at(siblings[i], resource).fair_share = claims_[i].fair_share;
}

GANGSCHED_INLINE double queue_shares::dominant_share(queue_index queue, amounts more, amounts less) const {
  double dominant = 0;
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const resource_share& of = share(queue, resource);
    const double held = of.allocated + detail::amount(more, resource) - detail::amount(less, resource);
    const double may_hold = of.allocatable() == unlimited ? total_[resource] : of.allocatable();
    dominant = std::max(dominant, may_hold == 0 ? held * detail::zero_share_penalty : held / may_hold);
  }
  return dominant;
}

GANGSCHED_INLINE std::weak_ordering queue_shares::order(const queue_candidate& a, const queue_candidate& b) const {
  const auto first_if = [](bool of_a, bool of_b) {  // the one of which it is true comes first
    return of_a == of_b ? std::weak_ordering::equivalent
           : of_a       ? std::weak_ordering::less
                        : std::weak_ordering::greater;
  };
  const auto lower = [](double of_a, double of_b) {
    return of_a < of_b   ? std::weak_ordering::less
           : of_a > of_b ? std::weak_ordering::greater
                         : std::weak_ordering::equivalent;
  };
  const auto of_each = [&](queue_index queue, auto holds) {
    for (std::size_t resource = 0; resource < resources(); ++resource)
      if (!holds(share(queue, resource), resource)) return false;
    return true;
  };
  const auto above_fair_share = [&](const queue_candidate& one) {
    return of_each(one.queue, [](const resource_share& of, std::size_t) { return of.fair_share < of.allocated; });
  };
  const auto stays_within_deserved = [&](const queue_candidate& one) {
    return of_each(one.queue, [&](const resource_share& of, std::size_t resource) {
      return within(of.allocated + detail::amount(one.job, resource), of.deserved);
    });
  };
  const auto holds_only_its_own = [&](const queue_candidate& one) {
    return of_each(one.queue, [&](const resource_share& of, std::size_t resource) {
      return of.allocatable() != 0 || of.allocated + detail::amount(one.job, resource) <= 0;
    });
  };
  const auto may_hold_less = [&](queue_index one, queue_index other) {  // nowhere more, and somewhere less
    const auto at_most = [&](queue_index x, queue_index y) {
      return of_each(x, [&](const resource_share& of, std::size_t resource) {
        const double mine = of.allocatable(), theirs = allocatable(y, resource);
        return theirs == unlimited || (mine != unlimited && mine <= theirs);
      });
    };
    return at_most(one, other) && !at_most(other, one);
  };
  const queue_rank &rank_a = ranks_[a.queue], &rank_b = ranks_[b.queue];
  if (const auto by = first_if(!above_fair_share(a), !above_fair_share(b)); by != 0) return by;
  if (const auto by = first_if(stays_within_deserved(a), stays_within_deserved(b)); by != 0) return by;
  if (rank_a.priority != rank_b.priority) return rank_b.priority <=> rank_a.priority;
  if (const auto by = first_if(holds_only_its_own(a), holds_only_its_own(b)); by != 0) return by;
  if (const auto by = lower(dominant_share(a.queue, a.job, a.victims), dominant_share(b.queue, b.job, b.victims));
      by != 0)
    return by;
  if (const auto by = lower(dominant_share(a.queue), dominant_share(b.queue)); by != 0) return by;
  if (const auto by = first_if(may_hold_less(a.queue, b.queue), may_hold_less(b.queue, a.queue)); by != 0) return by;
  if (rank_a.created != rank_b.created) return rank_a.created <=> rank_b.created;
  return tree_.name(a.queue) <=> tree_.name(b.queue);
}

GANGSCHED_INLINE std::optional<capacity_shortage> queue_shares::shortage(queue_index queue, amounts job,
                                                                         bool preemptible) const {
  const auto find = [&](auto bound, auto held, bool non_preemptible) -> std::optional<capacity_shortage> {
    for (queue_index up = queue; up != no_queue; up = tree_.parent(up))
      for (std::size_t resource = 0; resource < job.size(); ++resource) {
        const resource_share& of = share(up, resource);
        const double most = of.*bound, would_be = of.*held + job[resource];
        if (job[resource] != 0 && !within(would_be, most))
          return capacity_shortage{up, resource, non_preemptible, would_be - most};
      }
    return std::nullopt;
  };
  const auto over_limit = find(&resource_share::limit, &resource_share::allocated, false);
  if (over_limit || preemptible) return over_limit;
  return find(&resource_share::deserved, &resource_share::allocated_non_preemptible, true);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
