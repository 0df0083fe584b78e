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

/// How much of its due a queue uses, a fraction; x / 0 is more than all others.
struct saturation {
  std::int64_t used = 0, due = 1;

  [[nodiscard]] bool below_due() const noexcept { return used < due; }
  [[nodiscard]] GANGSCHED_API bool less_than(const saturation& other) const noexcept;
};

/// Of the resource of which it uses the largest part of its due (the dominant one); of those that it is short of, or uses more of than it
/// is due. Who is short of nothing has nothing to wait for: 0. O(resources).
[[nodiscard]] GANGSCHED_API saturation saturation_of(const fair_shares& shares, queue_index queue, const usage& now);

/// The head of a queue.
struct turn {
  queue_index queue = no_queue;
  instant waited{};  ///< for how long
};

/// How long one who waits has to wait, in a queue of weight 1, to have caught up with a sibling of the next higher priority.
inline constexpr instant usual_head_start = std::chrono::minutes{10};

/// Whether the first one's head goes first: a strict weak order. Level by level from the roots down, of the two queues that lead to them
/// - who uses less than it is due goes before who does not;
/// - then who has the higher priority. It is a head start: each @p head_start of waiting, times the weight, makes up for one, up to the
///   highest priority among the siblings. Who waits does not fall behind who came later for ever, and nobody overtakes by it;
/// - then who uses the smaller part of what it is due.
/// O(depth · resources). @pre head_start > 0
[[nodiscard]] GANGSCHED_API bool goes_first(const fair_shares& shares, const turn& a, const turn& b, const usage& now,
                                            instant head_start = usual_head_start);

/// The parts of queues for who compares many heads while nothing changes: each is worked out once. `forget` with the number of queues
/// comes first.
class GANGSCHED_API known_parts {
 public:
  /// What was known does not hold any more. O(1), and O(queues) if there are more than before.
  void forget(std::size_t queues) {
    ++round_;
    known_at_.resize(queues, 0);
    parts_.resize(queues);
  }
  /// Of the queue and those above it: what they use has changed. O(depth).
  void forget_up(const queue_tree& tree, queue_index queue) {
    for (; queue != no_queue; queue = tree.parent(queue)) known_at_[queue] = 0;
  }
  /// `saturation_of`. @pre What it depends on has been forgotten since it changed.
  [[nodiscard]] const saturation& of(const fair_shares& shares, queue_index queue, const usage& now) {
    if (known_at_[queue] != round_) {
      parts_[queue] = saturation_of(shares, queue, now);
      known_at_[queue] = round_;  // after what memory may lack for
    }
    return parts_[queue];
  }

 private:
  std::uint64_t round_ = 0;
  std::vector<std::uint64_t> known_at_ = {};  ///< by queue: the round
  std::vector<saturation> parts_ = {};
};

/// The same. O(depth), and O(resources) for each queue that was not asked about before.
[[nodiscard]] GANGSCHED_API bool goes_first(const fair_shares& shares, const turn& a, const turn& b, const usage& now,
                                            known_parts& known, instant head_start = usual_head_start);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/fair_share/turns.cpp"
#endif
