#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gangsched/core/config.hpp"

/// Binary heaps of numbers with the position of each number, so that one of them can be moved or removed in O(log n). before(a, b): whether
/// a comes first; place(one): a reference to where the position of `one` is stored. No call allocates.
namespace gangsched::inline GANGSCHED_ABI::queues::detail {

/// Moves the element at @p at down to where it belongs.
template <class Before, class Place>
void sink(std::vector<std::uint32_t>& heap, std::size_t at, const Before& before, const Place& place) noexcept {
  const std::uint32_t moving = heap[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
    if (!before(heap[child], moving)) break;
    heap[at] = heap[child];
    place(heap[at]) = static_cast<std::uint32_t>(at);
    at = child;
  }
  heap[at] = moving;
  place(moving) = static_cast<std::uint32_t>(at);
}

/// Moves the element at @p at up or down to where it belongs.
template <class Before, class Place>
void settle(std::vector<std::uint32_t>& heap, std::size_t at, const Before& before, const Place& place) noexcept {
  const std::uint32_t moving = heap[at];
  for (; at > 0 && before(moving, heap[(at - 1) / 2]); at = (at - 1) / 2) {
    heap[at] = heap[(at - 1) / 2];
    place(heap[at]) = static_cast<std::uint32_t>(at);
  }
  heap[at] = moving;
  sink(heap, at, before, place);
}

/// Removes the element at @p at.
template <class Before, class Place>
void take_out(std::vector<std::uint32_t>& heap, std::size_t at, const Before& before, const Place& place) noexcept {
  heap[at] = heap.back();
  heap.pop_back();
  if (at < heap.size()) settle(heap, at, before, place);
}

/// Makes a heap of numbers in any order. O(n).
template <class Before, class Place>
void make_heap(std::vector<std::uint32_t>& heap, const Before& before, const Place& place) noexcept {
  for (std::size_t at = 0; at < heap.size(); ++at) place(heap[at]) = static_cast<std::uint32_t>(at);
  for (std::size_t at = heap.size() / 2; at-- > 0;) sink(heap, at, before, place);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::detail
