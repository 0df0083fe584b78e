#include "gangsched/queues/kai/reclaim.hpp"

#include <limits>

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

namespace detail {

/// How much of its fair share a queue holds.
[[nodiscard]] inline double saturation(double held, double fair_share) noexcept {
  if (fair_share == unlimited) return 0;
  if (fair_share == 0) return held > 0 ? std::numeric_limits<double>::infinity() : 0;
  return held / fair_share;
}

/// Whether what a queue holds by @p held, and a request on top of it, is within @p bound for every resource.
[[nodiscard]] inline bool all_within(const queue_shares& shares, queue_index queue, amounts request,
                                     double resource_share::*held, double resource_share::*bound) {
  for (std::size_t resource = 0; resource < shares.resources(); ++resource) {
    const resource_share& of = shares.share(queue, resource);
    if (!within(of.*held + (resource < request.size() ? request[resource] : 0), of.*bound)) return false;
  }
  return true;
}

/// The queue on the way down to @p queue that is below the lowest one above both; that one, if one is above the other.
[[nodiscard]] inline queue_index below_common(const queue_tree& tree, queue_index queue, queue_index other) {
  const queue_index common = tree.common_ancestor(queue, other);
  if (common == other || common == queue) return common;
  while (tree.parent(queue) != common) queue = tree.parent(queue);
  return queue;
}

}  // namespace detail

GANGSCHED_INLINE bool can_reclaim(const queue_shares& shares, const reclaimer& by) {
  using share = resource_share;
  return detail::all_within(shares, by.queue, by.request, &share::allocated, &share::fair_share) &&
         (by.preemptible ||
          detail::all_within(shares, by.queue, by.request, &share::allocated_non_preemptible, &share::deserved));
}

GANGSCHED_INLINE bool may_have_victims(const queue_shares& shares, const reclaimer& by, queue_index queue) {
  const queue_index mine = detail::below_common(shares.tree(), by.queue, queue);
  const queue_index theirs = detail::below_common(shares.tree(), queue, by.queue);
  const bool deserved_would_do =
      detail::all_within(shares, mine, by.request, &resource_share::allocated, &resource_share::deserved);
  bool above = false, below = false;
  for (std::size_t resource = 0; resource < shares.resources(); ++resource) {
    const resource_share& of = shares.share(theirs, resource);
    if (!deserved_would_do) {
      above = above || !within(of.allocated, of.allocatable());
    } else if (resource < by.request.size() && by.request[resource] > 0) {
      above = above || !within(of.allocated, of.deserved);
      below = below || of.allocated < of.deserved;
    }
  }
  return above || (deserved_would_do && !below);
}

GANGSCHED_INLINE void reclaim_plan::begin(const queue_shares& shares, const reclaimer& by,
                                          double saturation_multiplier) {
  place_.resize(shares.tree().size(), untouched);
  for (const queue_index queue : touched_)
    if (queue < place_.size()) place_[queue] = untouched;
  touched_.clear();
  remaining_.clear();
  taken_from_.clear();
  request_.assign(by.request.begin(), by.request.end());
  request_.resize(shares.resources(), 0);
  shares_ = &shares;
  queue_ = by.queue;
  preemptible_ = by.preemptible;
  multiplier_ = saturation_multiplier;
}

GANGSCHED_INLINE double reclaim_plan::remaining(queue_index queue, std::size_t resource) const {
  return place_[queue] == untouched ? shares_->share(queue, resource).allocated
                                    : remaining_[place_[queue] * shares_->resources() + resource];
}

GANGSCHED_INLINE bool reclaim_plan::may_take_from(queue_index queue) const {
  const queue_index mine = detail::below_common(shares_->tree(), queue_, queue);
  const queue_index theirs = detail::below_common(shares_->tree(), queue, queue_);
  bool above_allocatable = false, above_deserved = false;
  for (std::size_t resource = 0; resource < shares_->resources(); ++resource) {
    const resource_share& of = shares_->share(theirs, resource);
    const double left = remaining(theirs, resource);
    above_allocatable = above_allocatable || !within(left, of.allocatable());
    above_deserved = above_deserved || !within(left, of.deserved);
  }
  return above_allocatable ||
         (above_deserved &&
          detail::all_within(*shares_, mine, request_, &resource_share::allocated, &resource_share::deserved));
}

GANGSCHED_INLINE void reclaim_plan::take(const reclaimee& victim) {
  const std::size_t resources = shares_->resources();
  for (queue_index up = victim.queue; up != no_queue; up = shares_->tree().parent(up)) {
    if (place_[up] == untouched) {
      touched_.push_back(up);
      for (std::size_t resource = 0; resource < resources; ++resource)
        remaining_.push_back(shares_->share(up, resource).allocated);
      taken_from_.resize(taken_from_.size() + resources, 0);
      place_[up] = static_cast<std::uint32_t>(touched_.size() - 1);
    }
    for (std::size_t resource = 0; resource < victim.held.size(); ++resource) {
      const std::size_t at = place_[up] * resources + resource;
      remaining_[at] -= victim.held[resource];
      if (victim.held[resource] > 0) taken_from_[at] = 1;
    }
  }
}

GANGSCHED_INLINE bool reclaim_plan::keeps_balance() const {
  const queue_tree& tree = shares_->tree();
  const std::size_t resources = shares_->resources();
  const auto balanced = [&](queue_index mine, queue_index sibling) {
    for (std::size_t resource = 0; resource < resources; ++resource) {
      if (request_[resource] <= 0 && taken_from_[place_[sibling] * resources + resource] == 0) continue;
      const double my_share = shares_->share(mine, resource).fair_share;
      const double their_share = shares_->share(sibling, resource).fair_share;
      if (my_share == unlimited && their_share == unlimited) continue;
      const double my_ratio = detail::saturation(remaining(mine, resource) + request_[resource], my_share);
      const double their_ratio = detail::saturation(remaining(sibling, resource), their_share);
      if (my_ratio > 1 && their_share > 0 && my_ratio * multiplier_ >= their_ratio) return false;
    }
    return true;
  };
  for (queue_index mine = queue_; mine != no_queue; mine = tree.parent(mine)) {
    for (const queue_index sibling : touched_)
      if (sibling != mine && tree.parent(sibling) == tree.parent(mine) && !balanced(mine, sibling)) return false;
    if (!preemptible_ && !detail::all_within(*shares_, mine, request_, &resource_share::allocated_non_preemptible,
                                             &resource_share::deserved))
      return false;
  }
  return true;
}

GANGSCHED_INLINE bool may_reclaim(const queue_shares& shares, const reclaimer& by, std::span<const reclaimee> victims,
                                  reclaim_plan& scratch, double saturation_multiplier) {
  scratch.begin(shares, by, saturation_multiplier);
  for (const reclaimee& victim : victims) {
    if (!scratch.may_take_from(victim.queue)) return false;
    scratch.take(victim);
  }
  return scratch.keeps_balance();
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
