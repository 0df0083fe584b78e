#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/usage.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {

/// The fraction of its due that a queue uses; x / 0 is more than all others.
struct saturation {
  std::int64_t used = 0, due = 1;

  [[nodiscard]] bool below_due() const noexcept { return used < due; }
  [[nodiscard]] GANGSCHED_API bool less_than(const saturation& other) const noexcept;
};

/// The fraction that the queue uses of its due, for the resource where it is largest (the dominant one). Only resources count of which it
/// is short or uses more than it is due; of the others its jobs do not wait for any. 0 if there is none. O(resources).
[[nodiscard]] GANGSCHED_API saturation saturation_of(const fair_shares& shares, queue_index queue, const usage& now);

/// The head of a queue.
struct turn {
  queue_index queue = no_queue;
  instant waited{};  ///< how long it has waited
};

/// How long the head of a queue of weight 1 must wait to make up for one step of priority of a sibling.
inline constexpr instant usual_head_start = std::chrono::minutes{10};

/// Whether the head of @p a's queue goes before that of @p b's: a strict weak order. Level by level from the roots down, of two siblings
/// - the one that uses less than it is due goes before one that does not;
/// - then the one of higher priority goes first. Waiting makes up for it: each @p head_start, times the weight, counts as one step more,
///   up to the highest priority among the siblings. So no job waits behind newer ones for ever;
/// - then the one that uses the smaller fraction of what it is due.
/// O(depth · resources). @pre head_start > 0
[[nodiscard]] GANGSCHED_API bool goes_first(const fair_shares& shares, const turn& a, const turn& b, const usage& now,
                                            instant head_start = usual_head_start);

/// Caches the fractions that queues use, for a caller that compares many heads while nothing changes: each is computed once. Call `forget`
/// with the number of queues first.
class GANGSCHED_API known_parts {
 public:
  /// Forgets all parts. O(1), and O(queues) if there are more queues than before.
  void forget(std::size_t queues) {
    ++round_;
    known_at_.resize(queues, 0);
    parts_.resize(queues);
  }
  /// For the queue and those above it: their use has changed. O(depth).
  void forget_up(const queue_tree& tree, queue_index queue) {
    for (; queue != no_queue; queue = tree.parent(queue)) known_at_[queue] = 0;
  }
  /// `saturation_of`. @pre What it depends on has been forgotten since it changed.
  [[nodiscard]] const saturation& of(const fair_shares& shares, queue_index queue, const usage& now) {
    if (known_at_[queue] != round_) {
      parts_[queue] = saturation_of(shares, queue, now);
      known_at_[queue] = round_;  // after what may fail for lack of memory
    }
    return parts_[queue];
  }

 private:
  std::uint64_t round_ = 0;
  std::vector<std::uint64_t> known_at_ = {};  ///< by queue: the round
  std::vector<saturation> parts_ = {};
};

/// The same. O(depth), and O(resources) for each queue that is not cached.
[[nodiscard]] GANGSCHED_API bool goes_first(const fair_shares& shares, const turn& a, const turn& b, const usage& now,
                                            known_parts& known, instant head_start = usual_head_start);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/fair_share/turns.cpp"
#endif
