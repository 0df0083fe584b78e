#include "gangsched/queues/kueue/workload_table.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/core/make_room.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE workload_id workload_table::add(workload_record record) {
  if (free_.empty()) {
    gangsched::detail::make_room(generations_);
    gangsched::detail::make_room(live_);
    gangsched::detail::make_room(place_);
    if (free_.capacity() <= records_.size()) free_.reserve(2 * records_.size() + 8);  // so that erase() needs no memory
    records_.push_back(std::move(record));
    generations_.push_back(0);
    live_.push_back(1);
    place_.push_back(0);
    ++of_queue_[records_.back().queue];
    return id_of(static_cast<row_t>(records_.size() - 1));
  }
  const row_t row = free_.back();
  free_.pop_back();
  record.usage.swap(records_[row].usage);  // the row's next workload needs as much, mostly
  record.usage.clear();
  records_[row] = std::move(record);
  live_[row] = 1;
  ++of_queue_[records_[row].queue];
  return id_of(row);
}

GANGSCHED_INLINE void workload_table::erase(row_t row) noexcept {
  GANGSCHED_ASSERT(!records_[row].admitted);
  ++generations_[row];
  --of_queue_[records_[row].queue];
  live_[row] = 0;
  free_.push_back(row);
}

GANGSCHED_INLINE void workload_table::make_room(row_t row, std::size_t amounts) {
  std::vector<row_t>& list = admitted_[records_[row].queue];
  if (const std::size_t all = of_queue_[records_[row].queue]; list.capacity() < all)  // all may be admitted
    list.reserve(std::max(all, 2 * list.capacity()));
  records_[row].usage.reserve(amounts);
}

GANGSCHED_INLINE void workload_table::note_admitted(row_t row, instant at, std::span<const fr_amount> usage) noexcept {
  workload_record& record = records_[row];
  std::vector<row_t>& list = admitted_[record.queue];
  record.usage.assign(usage.begin(), usage.end());
  record.reserved_at = at;
  record.admitted = true;
  record.evicted = false;
  place_[row] = static_cast<std::uint32_t>(list.size());
  list.push_back(row);
}

GANGSCHED_INLINE void workload_table::withdraw(row_t row) noexcept {
  workload_record& record = records_[row];
  std::vector<row_t>& list = admitted_[record.queue];
  place_[list.back()] = place_[row];
  list[place_[row]] = list.back();
  list.pop_back();
  record.admitted = record.evicted = record.away = false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
