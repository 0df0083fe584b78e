#include "gangsched/queues/kueue/pending_queues.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/core/make_room.hpp"
#include "gangsched/queues/indexed_heap.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE pending_queues::pending_queues(const configuration& of, const workload_table& workloads,
                                                shape_pool& shapes, const local_usage* usage)
    : of_(&of),
      workloads_(&workloads),
      shapes_(&shapes),
      usage_(usage),
      queues_(of.tree().size()),
      trees_(of.tree().size()) {
  for (queue_index queue = of.first_queue(); queue < of.tree().size(); ++queue)
    queues_[queue].by_local_usage = usage != nullptr && of.by_local_usage(queue);
}

GANGSCHED_INLINE bool pending_queues::goes_before(row_t a, row_t b) const noexcept {
  const workload_record &one = (*workloads_)[a], &other = (*workloads_)[b];
  if (queues_[one.queue].by_local_usage) {
    const double used = usage_->score(one.local), by_other = usage_->score(other.local);
    if (used != by_other) return used < by_other;
  }
  if (one.priority != other.priority) return one.priority > other.priority;
  if (one.created != other.created) return one.created < other.created;
  if (const int by_uid = one.uid.compare(other.uid); by_uid != 0) return by_uid < 0;
  return a < b;
}

GANGSCHED_INLINE void pending_queues::enter(shape_index shape) noexcept {
  std::vector<shape_index>& heap = queues_[lists_[shape].queue].active;
  heap.push_back(shape);  // there is room: make_room() sees to it
  ++trees_[of_->tree().root_of(lists_[shape].queue)].active;
  lists_[shape].place = static_cast<std::uint32_t>(heap.size() - 1);
  moved(shape);
}

GANGSCHED_INLINE void pending_queues::leave(shape_index shape) noexcept {
  --trees_[of_->tree().root_of(lists_[shape].queue)].active;
  queues::detail::take_out(
      queues_[lists_[shape].queue].active, lists_[shape].place,
      [&](shape_index a, shape_index b) { return goes_before(lists_[a].rows.front(), lists_[b].rows.front()); },
      [&](shape_index one) -> std::uint32_t& { return lists_[one].place; });
}

GANGSCHED_INLINE void pending_queues::moved(shape_index shape) noexcept {
  queues::detail::settle(
      queues_[lists_[shape].queue].active, lists_[shape].place,
      [&](shape_index a, shape_index b) { return goes_before(lists_[a].rows.front(), lists_[b].rows.front()); },
      [&](shape_index one) -> std::uint32_t& { return lists_[one].place; });
}

GANGSCHED_INLINE void pending_queues::make_room(row_t workload, shape_index shape) {
  if (lists_.size() <= shape) lists_.resize(std::max<std::size_t>(shapes_->size(), std::size_t{shape} + 1));
  if (shape_of_.size() <= workload) {
    place_.resize(std::max<std::size_t>(2 * shape_of_.size(), std::size_t{workload} + 1));
    shape_of_.resize(place_.size(), none);
  }
  gangsched::detail::make_room(lists_[shape].rows);
  // All shapes of a queue may be active at once, and all of a tree parked.
  const queue_index queue = (*shapes_)[shape].queue;
  queue_state& there = queues_[queue];
  if (there.active.capacity() <= there.shapes) there.active.reserve(2 * there.shapes + 8);
  tree_state& tree = trees_[of_->tree().root_of(queue)];
  const std::size_t known = tree.parked.size() + tree.active;
  if (tree.parked.capacity() <= known) tree.parked.reserve(2 * known + 8);
}

GANGSCHED_INLINE void pending_queues::insert(row_t workload, shape_index shape) noexcept {
  shape_list& list = lists_[shape];
  list.queue = (*shapes_)[shape].queue;
  list.rows.push_back(workload);
  shape_of_[workload] = shape;
  ++size_;
  if (list.rows.size() == 1) ++queues_[list.queue].shapes;
  const auto before = [&](row_t a, row_t b) { return goes_before(a, b); };
  queues::detail::settle(list.rows, list.rows.size() - 1, before,
                         [&](row_t one) -> std::uint32_t& { return place_[one]; });
  if (list.parked) return;
  if (list.rows.size() == 1)
    enter(shape);
  else if (list.rows.front() == workload)
    moved(shape);
}

GANGSCHED_INLINE void pending_queues::erase(row_t workload) noexcept {
  const shape_index shape = std::exchange(shape_of_[workload], none);
  shape_list& list = lists_[shape];
  --size_;
  if (queues_[list.queue].sticky == workload) queues_[list.queue].sticky = no_row;
  if (list.rows.size() == 1) {
    if (!list.parked) leave(shape);
    list.rows.clear();
    --queues_[list.queue].shapes;
    return;
  }
  const bool was_first = list.rows.front() == workload;
  const auto before = [&](row_t a, row_t b) { return goes_before(a, b); };
  queues::detail::take_out(list.rows, place_[workload], before,
                           [&](row_t one) -> std::uint32_t& { return place_[one]; });
  if (was_first && !list.parked) moved(shape);
}

GANGSCHED_INLINE row_t pending_queues::head(queue_index queue) const noexcept {
  const queue_state& here = queues_[queue];
  if (here.sticky != no_row && is_active(here.sticky)) return here.sticky;
  return here.active.empty() ? no_row : lists_[here.active.front()].rows.front();
}

GANGSCHED_INLINE void pending_queues::park(shape_index shape) noexcept {
  shape_list& list = lists_[shape];
  if (list.parked) return;
  if (!list.rows.empty()) leave(shape);
  std::vector<shape_index>& parked = trees_[of_->tree().root_of(list.queue)].parked;
  list.place = static_cast<std::uint32_t>(parked.size());
  parked.push_back(shape);
  shapes_->retain(shape);
  list.parked = true;
}

GANGSCHED_INLINE void pending_queues::forget_if_unused(shape_index shape) noexcept {
  if (shape >= lists_.size()) return;  // it never waited
  shape_list& list = lists_[shape];
  if (!list.parked || shapes_->users(shape) != 1) return;  // it is kept for itself alone
  std::vector<shape_index>& parked = trees_[of_->tree().root_of(list.queue)].parked;
  lists_[parked.back()].place = list.place;
  parked[list.place] = parked.back();
  parked.pop_back();
  list.parked = false;
  shapes_->release(shape);
}

GANGSCHED_INLINE void pending_queues::unpark(queue_index root) noexcept {
  std::vector<shape_index>& parked = trees_[root].parked;
  for (const shape_index shape : parked) {
    lists_[shape].parked = false;
    if (!lists_[shape].rows.empty()) enter(shape);
    shapes_->release(shape);
  }
  parked.clear();
}

GANGSCHED_INLINE void pending_queues::reorder(queue_index queue) noexcept {
  const auto of_rows = [&](shape_index shape) {
    queues::detail::make_heap(
        lists_[shape].rows, [&](row_t a, row_t b) { return goes_before(a, b); },
        [&](row_t one) -> std::uint32_t& { return place_[one]; });
  };
  for (const shape_index shape : queues_[queue].active) of_rows(shape);
  for (const shape_index shape : trees_[of_->tree().root_of(queue)].parked)
    if (lists_[shape].queue == queue) of_rows(shape);
  queues::detail::make_heap(
      queues_[queue].active,
      [&](shape_index a, shape_index b) { return goes_before(lists_[a].rows.front(), lists_[b].rows.front()); },
      [&](shape_index one) -> std::uint32_t& { return lists_[one].place; });
}

GANGSCHED_INLINE std::vector<row_t> pending_queues::list(queue_index queue, bool active) const {
  std::vector<row_t> made;
  for (const shape_list& list : lists_)
    if (list.queue == queue && list.parked != active) made.insert(made.end(), list.rows.begin(), list.rows.end());
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
