#pragma once

#include <cstdint>
#include <vector>

#include "gangsched/queues/kueue/local_usage.hpp"
#include "gangsched/queues/kueue/shape_pool.hpp"
#include "gangsched/queues/kueue/workload_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// Workloads that wait for quota, by queue, in order: the sticky one, which preempted last; then, with admission fair sharing, those whose
/// local queue used less; then higher priority, earlier creation, uid.
class GANGSCHED_API pending_queues {
 public:
  /// All have to outlive it.
  pending_queues(const configuration& of, const workload_table& workloads, shape_pool& shapes,
                 const local_usage* usage = nullptr);

  /// A workload waits; it is inadmissible if its shape is. O(log workloads).
  void add(row_t workload, shape_index shape) {
    make_room(workload, shape);
    insert(workload, shape);
  }
  /// add() in two parts: first what allocates, then the rest.
  void make_room(row_t workload, shape_index shape);
  void insert(row_t workload, shape_index shape) noexcept;
  /// It no longer waits. O(log workloads).
  void erase(row_t workload) noexcept;
  [[nodiscard]] bool has(row_t workload) const noexcept {
    return workload < shape_of_.size() && shape_of_[workload] != none;
  }

  /// The workload to offer next; `no_row` if none is active. O(1).
  [[nodiscard]] row_t head(queue_index queue) const noexcept;
  [[nodiscard]] bool is_active(row_t workload) const noexcept { return !lists_[shape_of_[workload]].parked; }
  /// Makes all workloads of the shape inadmissible, later ones too. O(log shapes).
  void park(shape_index shape) noexcept;
  /// Where no workload has the shape any more it is not inadmissible any more either: the next one is tried. O(key).
  void forget_if_unused(shape_index shape) noexcept;
  /// All workloads of the tree below @p root are active. O(inadmissible shapes × log shapes).
  void unpark(queue_index root) noexcept;
  /// The past use of its local queues has changed: must be called before anything else for the queue. O(its workloads + parked shapes of
  /// the tree).
  void reorder(queue_index queue) noexcept;
  /// Makes it its queue's head until it is erased or another one becomes sticky.
  void make_sticky(row_t workload) noexcept { queues_[(*workloads_)[workload].queue].sticky = workload; }

  /// Active or inadmissible workloads of a queue, in no order. O(shapes that ever waited at once + workloads).
  [[nodiscard]] std::vector<row_t> list(queue_index queue, bool active) const;
  /// The number of waiting workloads, active or not.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  /// Waiting workloads of a shape, in a heap.
  struct shape_list {
    queue_index queue = no_queue;
    bool parked = false;
    std::uint32_t place = 0;  ///< in the heap of the queue, or among those parked of the tree
    std::vector<row_t> rows;
  };
  struct queue_state {
    std::vector<shape_index> active;  ///< shapes that have workloads and are not parked, in a heap
    std::size_t shapes = 0;           ///< that have workloads
    row_t sticky = no_row;
    bool by_local_usage = false;
  };
  struct tree_state {
    std::vector<shape_index> parked;
    std::size_t active = 0;  ///< shapes in the heaps of its queues
  };

  [[nodiscard]] bool goes_before(row_t a, row_t b) const noexcept;
  void enter(shape_index shape) noexcept;
  void leave(shape_index shape) noexcept;
  /// The shape's first workload has changed.
  void moved(shape_index shape) noexcept;

  const configuration* of_;
  const workload_table* workloads_;
  shape_pool* shapes_;  ///< keeps the parked shapes in use
  const local_usage* usage_;
  std::vector<shape_list> lists_;      ///< by shape
  std::vector<queue_state> queues_;    ///< by node
  std::vector<tree_state> trees_;      ///< by root
  std::vector<shape_index> shape_of_;  ///< by workload; `none`: it does not wait
  std::vector<std::uint32_t> place_;   ///< by workload, in the heap of its shape
  std::size_t size_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/pending_queues.cpp"
#endif
