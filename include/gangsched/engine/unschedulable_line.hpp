#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Equal rejected pods, in the order of the queue: in whatever order they are added, so that it is the same when lines are made anew. Pods
/// that leave otherwise than from the front stay in it, and are ignored.
struct unschedulable_line {
  struct entry {
    row_t pod;
    std::uint32_t ticket;  ///< of the queue when it was parked: void when the pod has moved on
    std::uint64_t since;   ///< the log's end then: only later changes can help
  };
  std::vector<entry> pods = {};
  std::size_t front = 0;
  std::size_t compact_at = 64;
  bool by_failure = true;  ///< pods further back failed later, which holds where the queue sort goes by that

  /// waits(entry) returns whether it counts; before(row_t, row_t): the first is tried before the second. O(1) at both ends, else O(n)
  /// moves and O(log n) comparisons.
  template <class Waits, class Before>
  void add(const entry& one, const Waits& waits, const Before& before) {
    if (pods.size() >= compact_at) {
      pods.erase(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(front));
      front = 0;
      std::erase_if(pods, [&](const entry& other) { return !waits(other); });
      compact_at = std::max<std::size_t>(64, 2 * pods.size());
    }
    const std::size_t at = place_of(one, waits, before);
    if (at != pods.size()) by_failure = false;
    if (at == front && at != 0)
      pods[--front] = one;
    else
      pods.insert(pods.begin() + static_cast<std::ptrdiff_t>(at), one);
  }

  /// Whether nobody in it waits any more, by waits(entry). O(those who have left since the last call).
  template <class Waits>
  [[nodiscard]] bool is_over(const Waits& waits) {
    while (front != pods.size() && !waits(pods[front])) ++front;
    return front == pods.size();
  }
  /// As it began; keeps its memory.
  void clear() noexcept {
    pods.clear();
    front = 0;
    by_failure = true;
  }

 private:
  /// Before the first that it is tried before.
  template <class Waits, class Before>
  [[nodiscard]] std::size_t place_of(const entry& one, const Waits& waits, const Before& before) const {
    std::size_t low = front, high = pods.size();
    std::size_t last = high;
    while (last > low && !waits(pods[last - 1])) --last;
    if (last == low || !before(one.pod, pods[last - 1].pod)) return high;
    for (high = last - 1; low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      std::size_t at = middle;
      while (at < high && !waits(pods[at])) ++at;
      if (at == high || before(one.pod, pods[at].pod))
        high = middle;
      else
        low = at + 1;
    }
    return low;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
