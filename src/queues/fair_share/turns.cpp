#include "gangsched/queues/fair_share/turns.hpp"

#include <algorithm>
#include <array>

namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {
namespace detail {

__extension__ using wide = __int128;

/// A queue and those above it, by depth. It takes no memory: the first 16 levels are kept, queues at others are found by walking up.
class way_down {
 public:
  way_down(const queue_tree& tree, queue_index queue) : tree_{tree}, lowest_{queue} {
    for (std::uint32_t depth = tree.depth(queue); queue != no_queue; queue = tree.parent(queue), --depth)
      if (depth < first_.size()) first_[depth] = queue;
  }
  [[nodiscard]] queue_index at(std::uint32_t depth) const {
    if (depth < first_.size()) return first_[depth];
    queue_index queue = lowest_;
    while (tree_.depth(queue) > depth) queue = tree_.parent(queue);
    return queue;
  }

 private:
  const queue_tree& tree_;
  queue_index lowest_;
  std::array<queue_index, 16> first_{};
};

/// The queue's priority with what waiting has made up for.
inline std::int32_t caught_up(const fair_shares& shares, queue_index queue, instant waited, instant head_start) {
  const std::int32_t own = shares.priority(queue), highest = shares.highest_priority_beside(queue);
  if (own == highest || waited <= instant::zero()) return own;
  const wide steps = wide{waited.count()} * shares.weight(queue) / (wide{head_start.count()} * weight_unit);
  return static_cast<std::int32_t>(std::min<wide>(highest, own + steps));
}

}  // namespace detail

GANGSCHED_INLINE bool saturation::less_than(const saturation& other) const noexcept {
  return detail::wide{used} * other.due < detail::wide{other.used} * due;
}

GANGSCHED_INLINE saturation saturation_of(const fair_shares& shares, queue_index queue, const usage& now) {
  saturation most;
  for (std::size_t i = 0; i < shares.resources(); ++i) {
    const saturation one{now.used(queue, i), shares.due(queue, i)};
    if (one.used > 0 && (shares.is_short(queue, i) || one.used > one.due) && most.less_than(one)) most = one;
  }
  return most;
}

namespace detail {

template <class PartOf>
bool goes_first_by(const fair_shares& shares, const turn& a, const turn& b, instant head_start, PartOf part_of) {
  const queue_tree& tree = shares.tree();
  const std::uint32_t depth_a = tree.depth(a.queue), depth_b = tree.depth(b.queue);
  const way_down to_a{tree, a.queue}, to_b{tree, b.queue};
  for (std::uint32_t depth = 0; depth <= std::min(depth_a, depth_b); ++depth) {
    const queue_index left = to_a.at(depth), right = to_b.at(depth);
    const std::int32_t left_priority = caught_up(shares, left, a.waited, head_start);
    const std::int32_t right_priority = caught_up(shares, right, b.waited, head_start);
    if (left == right) {
      if (left_priority != right_priority) return left_priority > right_priority;
      continue;
    }
    const saturation left_part = part_of(left), right_part = part_of(right);
    if (left_part.below_due() != right_part.below_due()) return left_part.below_due();
    if (left_priority != right_priority) return left_priority > right_priority;
    if (left_part.less_than(right_part)) return true;
    if (right_part.less_than(left_part)) return false;
  }
  return depth_a < depth_b;
}

}  // namespace detail

GANGSCHED_INLINE bool goes_first(const fair_shares& shares, const turn& a, const turn& b, const usage& now,
                                 instant head_start) {
  return detail::goes_first_by(shares, a, b, head_start,
                               [&](queue_index queue) { return saturation_of(shares, queue, now); });
}

GANGSCHED_INLINE bool goes_first(const fair_shares& shares, const turn& a, const turn& b, const usage& now,
                                 known_parts& known, instant head_start) {
  return detail::goes_first_by(shares, a, b, head_start,
                               [&](queue_index queue) { return known.of(shares, queue, now); });
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share
