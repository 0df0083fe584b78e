#include "gangsched/queues/fair_share/reclaim.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {
namespace detail {

/// What a plan counts, as usage.
class left_over final : public usage {
 public:
  left_over(std::span<const std::int64_t> left, std::size_t resources) : left_(left), resources_(resources) {}
  [[nodiscard]] std::int64_t used(queue_index queue, std::size_t resource) const override {
    return left_[queue * resources_ + resource];
  }
  [[nodiscard]] std::int64_t running(queue_index) const override { return 0; }

 private:
  std::span<const std::int64_t> left_;
  std::size_t resources_;
};

}  // namespace detail

GANGSCHED_INLINE void reclaim_plan::begin(const fair_shares& shares, const usage& now, const preemptor& who,
                                          std::span<const running_unit> units) {
  shares_ = &shares;
  who_ = who;
  units_ = units;
  const std::size_t queues = shares.tree().size();
  left_.resize(queues * shares.resources());
  for (queue_index queue = 0; queue < queues; ++queue)
    for (std::size_t i = 0; i < shares.resources(); ++i) left(queue, i) = now.used(queue, i);
  path_.clear();
  for (queue_index up = who.queue; up != no_queue; up = shares.tree().parent(up)) path_.push_back(up);
  std::reverse(path_.begin(), path_.end());
  reach_.assign(path_.size() + 1, 0);
  find_reach();
  taken_.assign(units.size(), 0);
  covered_.assign(units.size(), 1);
  who_covered_ = false;
  sort_units();
  for (queue_index queue = 0; queue < queues; ++queue) cover(queue);
  place_heaps();
}

/// Computes, for each depth of the preemptor's path, of which resources it may reclaim there. @return whether some depth got more of them.
GANGSCHED_INLINE bool reclaim_plan::find_reach() {
  resource_mask within = 0;
  for (std::size_t i = 0; i < who_.request.size(); ++i)
    if (who_.request[i] > 0) within |= resource_mask{1} << i;
  const resource_mask requested = within;
  bool grew = false;
  for (std::size_t depth = path_.size(); depth-- > 0;) {
    const queue_index queue = path_[depth];
    for (std::size_t i = 0; i < who_.request.size(); ++i)
      if (who_.request[i] > 0 && left(queue, i) > shares_->due(queue, i) - who_.request[i])
        within &= ~(resource_mask{1} << i);
    // All of it has to be due to the job's own queue, which has no children.
    if (depth + 1 == path_.size() && (within != requested || !shares_->tree().is_leaf(queue))) within = 0;
    grew = grew || (within & ~reach_[depth]) != 0;
    reach_[depth] = within;
  }
  return grew;
}

GANGSCHED_INLINE void reclaim_plan::sort_units() {
  const std::size_t queues = shares_->tree().size();
  end_.assign(queues, 0);
  for (const running_unit& one : units_) ++end_[one.queue];
  std::partial_sum(end_.begin(), end_.end(), end_.begin());
  next_ = end_;
  order_.resize(units_.size());
  // From the back: if units come by importance, as in a second plan, each queue's list is already in order of eviction.
  for (std::uint32_t i = 0; i < units_.size(); ++i) order_[--next_[units_[i].queue]] = i;
  first_ = next_;
  for (queue_index queue = 0; queue < queues; ++queue) {
    const auto goes_before = [&](std::uint32_t a, std::uint32_t b) {
      const running_unit &left_one = units_[a], &right_one = units_[b];
      if (left_one.priority != right_one.priority) return left_one.priority < right_one.priority;
      if (left_one.lost_work != right_one.lost_work) return left_one.lost_work < right_one.lost_work;
      if (left_one.start != right_one.start) return left_one.start > right_one.start;
      if (left_one.arrival != right_one.arrival) return left_one.arrival > right_one.arrival;
      return left_one.part != right_one.part ? left_one.part > right_one.part : a > b;
    };
    const auto begin = order_.begin() + next_[queue], end = order_.begin() + end_[queue];
    if ((queue == who_.queue || above_due(queue) != 0) && !std::is_sorted(begin, end, goes_before))
      std::sort(begin, end, goes_before);
  }
}

GANGSCHED_INLINE bool reclaim_plan::fits_room(std::span<const std::int64_t> amounts) const {
  bool fits = true;
  for (std::size_t i = 0; i < amounts.size(); ++i) fits = fits && amounts[i] <= room_[i];
  return fits;
}

/// All units of a queue that is not above its due are covered. The preemptor comes after the running parts of its own job, because they
/// have the same arrival.
GANGSCHED_INLINE void reclaim_plan::cover(queue_index queue) {
  const bool own = queue == who_.queue;
  if (!own && (next_[queue] == end_[queue] || above_due(queue) == 0)) return;
  // The reverse of the order of eviction, which is mostly the order of importance: units that came last started last, too.
  important_.assign(std::reverse_iterator(order_.begin() + end_[queue]),
                    std::reverse_iterator(order_.begin() + next_[queue]));
  const auto more_important = [&](std::uint32_t a, std::uint32_t b) {
    const running_unit &left_one = units_[a], &right_one = units_[b];
    if (left_one.priority != right_one.priority) return left_one.priority > right_one.priority;
    if (left_one.arrival != right_one.arrival) return left_one.arrival < right_one.arrival;
    return left_one.part != right_one.part ? left_one.part < right_one.part : a < b;
  };
  if (!std::is_sorted(important_.begin(), important_.end(), more_important))
    std::sort(important_.begin(), important_.end(), more_important);
  room_.resize(shares_->resources());
  const bool leaf = shares_->tree().is_leaf(queue);
  for (std::size_t i = 0; i < room_.size(); ++i) room_[i] = leaf ? shares_->due(queue, i) : 0;
  bool passed = !own, whole = leaf;  // the preemptor had its turn; all running parts of its job are covered
  const auto pass = [&] {
    passed = true;
    who_covered_ = whole && fits_room(who_.request);
  };
  for (const std::uint32_t unit : important_) {
    const running_unit& one = units_[unit];
    const bool lesser = one.priority < who_.priority || (one.priority == who_.priority && one.arrival > who_.arrival);
    if (!passed && lesser) pass();
    const bool fits = fits_room(one.amounts) && (one.after == no_unit || covered_[one.after] != 0);
    covered_[unit] = fits ? 1 : 0;
    for (std::size_t i = 0; fits && i < one.amounts.size(); ++i) room_[i] -= one.amounts[i];
    if (one.priority == who_.priority && one.arrival == who_.arrival) whole = whole && fits;
  }
  if (!passed) pass();
}

GANGSCHED_INLINE reclaim_plan::resource_mask reclaim_plan::above_due(queue_index queue) const {
  resource_mask above = 0;
  for (std::size_t i = 0; i < shares_->resources(); ++i)
    if (left_[queue * shares_->resources() + i] > shares_->due(queue, i)) above |= resource_mask{1} << i;
  return above;
}

GANGSCHED_INLINE bool reclaim_plan::own_may_go(std::uint32_t unit) const {
  const running_unit& one = units_[unit];
  if (one.spared_by_own || who_.own == own_victims::never) return false;
  if (covered_[unit] != 0 && !who_covered_) return false;  // the preemptor would not be covered in its place
  if (one.priority < who_.priority) return true;
  return who_.own == own_victims::lower_or_newer_equal_priority && one.priority == who_.priority &&
         one.arrival > who_.arrival;
}

GANGSCHED_INLINE bool reclaim_plan::others_may_go(std::uint32_t unit) const {
  const running_unit& one = units_[unit];
  return taken_[unit] == 0 && covered_[unit] == 0 && !one.spared_by_others && who_.others != others_victims::never &&
         (who_.others == others_victims::any || one.priority < who_.priority);
}

GANGSCHED_INLINE bool reclaim_plan::may_take(std::uint32_t unit) const {
  const running_unit& one = units_[unit];
  if (one.queue == who_.queue) return taken_[unit] == 0 && own_may_go(unit);
  if (!others_may_go(unit)) return false;
  const queue_tree& tree = shares_->tree();
  const queue_index above_both = tree.common_ancestor(one.queue, who_.queue);
  resource_mask of = reach_[above_both == no_queue ? 0 : tree.depth(above_both) + 1];
  for (queue_index up = one.queue; up != above_both; up = tree.parent(up)) of &= above_due(up);
  return uses(unit, of);
}

GANGSCHED_INLINE bool reclaim_plan::uses(std::uint32_t unit, resource_mask of) const {
  const std::span<const std::int64_t> amounts = units_[unit].amounts;
  for (std::size_t i = 0; i < amounts.size(); ++i)
    if ((of >> i & 1) != 0 && amounts[i] > 0) return true;
  return false;
}

GANGSCHED_INLINE void reclaim_plan::count(std::uint32_t unit, std::int64_t sign) {
  const running_unit& one = units_[unit];
  for (queue_index up = one.queue; up != no_queue; up = shares_->tree().parent(up))
    for (std::size_t i = 0; i < one.amounts.size(); ++i) left(up, i) += sign * one.amounts[i];
  // A unit gone from a branch that the preemptor is in brings that branch nearer to its due: more victims may be in reach then.
  if (find_reach()) search_anew();
}

GANGSCHED_INLINE void reclaim_plan::search_anew() {
  next_ = first_;
  heap_built_.assign(shares_->tree().size() + 1, 0);
  stage_ = 0;
}

GANGSCHED_INLINE void reclaim_plan::take(std::uint32_t unit) {
  taken_[unit] = 1;
  count(unit, -1);
}

GANGSCHED_INLINE void reclaim_plan::give_back(std::uint32_t unit) {
  taken_[unit] = 0;
  count(unit, 1);
}

/// Of a heap whose first is the greatest: a is less.
GANGSCHED_INLINE bool reclaim_plan::less_in_heap(queue_index a, queue_index b) const {
  if (part_[a].less_than(part_[b])) return true;
  return !part_[b].less_than(part_[a]) && a > b;
}

/// The heaps of children stand in the order of top_down; that of the roots comes first.
GANGSCHED_INLINE void reclaim_plan::place_heaps() {
  const queue_tree& tree = shares_->tree();
  heap_.resize(tree.size());
  part_.resize(tree.size());
  heap_begin_.resize(tree.size() + 1);
  heap_end_.resize(tree.size() + 1);
  search_anew();
  heap_begin_[tree.size()] = 0;
  auto begin = static_cast<std::uint32_t>(tree.roots().size());
  for (const queue_index queue : tree.top_down()) {
    heap_begin_[queue] = begin;
    begin += static_cast<std::uint32_t>(tree.children(queue).size());
  }
}

/// The branches of a level that are above their due, without the one that leads to the preemptor.
GANGSCHED_INLINE void reclaim_plan::build_heap(std::size_t level) {
  const queue_tree& tree = shares_->tree();
  heap_built_[level] = 1;
  const detail::left_over now{left_, shares_->resources()};
  std::uint32_t end = heap_begin_[level];
  for (const queue_index child : level == tree.size() ? tree.roots() : tree.children(static_cast<queue_index>(level))) {
    if (std::find(path_.begin(), path_.end(), child) != path_.end() || above_due(child) == 0) continue;
    part_[child] = saturation_of(*shares_, child, now);
    heap_[end++] = child;
  }
  heap_end_[level] = end;
  std::make_heap(heap_.begin() + heap_begin_[level], heap_.begin() + end,
                 [&](queue_index a, queue_index b) { return less_in_heap(a, b); });
}

/// The first unit of the queue itself that may go.
GANGSCHED_INLINE bool reclaim_plan::find_own_of(queue_index queue, resource_mask of) {
  for (; next_[queue] != end_[queue]; ++next_[queue]) {
    const std::uint32_t unit = order_[next_[queue]];
    if (!others_may_go(unit) || !uses(unit, of)) continue;
    found_ = unit;
    return true;
  }
  return false;
}

/// Finds a unit on a level. A unit that may not go now may not go later, unless the reach grows: what is above due only shrinks.
GANGSCHED_INLINE bool reclaim_plan::find_in(std::size_t level, resource_mask reach) {
  if (heap_built_[level] == 0) build_heap(level);
  while (heap_begin_[level] != heap_end_[level]) {
    const queue_index first = heap_[heap_begin_[level]];
    const resource_mask of = reach & above_due(first);
    if (of != 0 && (find_own_of(first, of) || find_in(first, of))) return true;
    std::pop_heap(heap_.begin() + heap_begin_[level], heap_.begin() + heap_end_[level],
                  [&](queue_index a, queue_index b) { return less_in_heap(a, b); });
    --heap_end_[level];
  }
  return false;
}

/// Moves a queue down that was the first of its level, like every queue above it, and that uses less now.
GANGSCHED_INLINE void reclaim_plan::sink(queue_index queue) {
  const queue_tree& tree = shares_->tree();
  const queue_index parent = tree.parent(queue);
  const std::size_t level = parent == no_queue ? tree.size() : parent;
  if (heap_built_[level] == 0) return;
  const auto begin = heap_.begin() + heap_begin_[level], end = heap_.begin() + heap_end_[level];
  const auto less = [&](queue_index a, queue_index b) { return less_in_heap(a, b); };
  std::pop_heap(begin, end, less);
  part_[queue] = saturation_of(*shares_, queue, detail::left_over{left_, shares_->resources()});
  std::push_heap(begin, end, less);
}

GANGSCHED_INLINE bool reclaim_plan::find_beside_path() {
  for (; stage_ < path_.size(); ++stage_) {  // among the roots, then below each queue of the preemptor's path
    const resource_mask reach = reach_[stage_];
    if (reach == 0) continue;
    if (stage_ == 0 ? find_in(shares_->tree().size(), reach)
                    : find_own_of(path_[stage_ - 1], reach) || find_in(path_[stage_ - 1], reach))
      return true;
  }
  return false;
}

GANGSCHED_INLINE std::optional<std::uint32_t> reclaim_plan::take_next() {
  if (find_beside_path()) {
    const std::uint32_t unit = found_;
    const std::size_t stage = stage_;
    take(unit);
    const queue_index top = stage == 0 ? no_queue : path_[stage - 1];
    for (queue_index up = units_[unit].queue; up != top; up = shares_->tree().parent(up)) sink(up);
    return unit;
  }
  for (std::uint32_t& next = next_[who_.queue]; next != end_[who_.queue]; ++next) {
    const std::uint32_t unit = order_[next];
    if (taken_[unit] != 0 || !own_may_go(unit)) continue;
    take(unit);
    return unit;
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share
