#include "gangsched/queues/kueue/pods_ready.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE void pods_ready_watch::make_room(row_t rows) {
  if (rows_.size() >= rows) return;
  timeouts_.reserve(rows);
  backoffs_.reserve(rows);
  rows_.resize(rows);
}

GANGSCHED_INLINE void pods_ready_watch::begin(row_t row) noexcept { rows_[row] = {}; }

GANGSCHED_INLINE void pods_ready_watch::forget(row_t row) noexcept {
  cancel(row);
  count(row, false);
  rows_[row] = {};
}

GANGSCHED_INLINE void pods_ready_watch::wake_at(row_t row, instant at, std::vector<row_t>& heap) noexcept {
  state& one = rows_[row];
  one.due = at;
  if (one.place == no_place) {
    one.place = static_cast<std::uint32_t>(heap.size());
    heap.push_back(row);  // there is room: make_room() sees to it
  }
  queues::detail::settle(heap, one.place, before(), place());
}

GANGSCHED_INLINE void pods_ready_watch::cancel(row_t row) noexcept {
  if (rows_[row].place == no_place) return;
  queues::detail::take_out(rows_[row].at == stage::backs_off ? backoffs_ : timeouts_, rows_[row].place, before(),
                           place());
  rows_[row].place = no_place;
}

GANGSCHED_INLINE void pods_ready_watch::count(row_t row, bool not_ready) noexcept {
  if (rows_[row].not_ready == not_ready) return;
  rows_[row].not_ready = not_ready;
  not_ready_ += not_ready ? 1 : std::size_t{0} - 1;
}

GANGSCHED_INLINE void pods_ready_watch::admitted(row_t row, instant at) noexcept {
  state& one = rows_[row];
  one.at = stage::starting;
  one.evicted_at.reset();
  count(row, true);
  wake_at(row, later_by(at, options_.timeout), timeouts_);
}

GANGSCHED_INLINE void pods_ready_watch::set_ready(row_t row, bool ready, instant now) noexcept {
  state& one = rows_[row];
  count(row, !ready);
  if (one.at == stage::leaves || one.at == stage::too_late) return;
  if (ready) {
    one.at = stage::ready;
    cancel(row);
  } else if (one.at == stage::ready && options_.recovery_timeout) {
    wake_at(row, later_by(now, *options_.recovery_timeout), timeouts_);
    one.at = stage::starting;
  }
}

GANGSCHED_INLINE void pods_ready_watch::note_eviction(row_t row) noexcept {
  if (rows_[row].at == stage::too_late) return;
  cancel(row);
  rows_[row].at = stage::leaves;
}

GANGSCHED_INLINE bool pods_ready_watch::withdrawn(row_t row) noexcept {
  state& one = rows_[row];
  cancel(row);
  count(row, false);
  const bool was_late = one.at == stage::too_late;
  one.at = stage::waits;
  if (one.deactivated) {
    one.at = stage::deactivated;
  } else if (was_late) {
    one.at = stage::backs_off;
    wake_at(row, one.offered_again, backoffs_);
  }
  return one.at == stage::waits;
}

GANGSCHED_INLINE bool pods_ready_watch::activate(row_t row) noexcept {
  state& one = rows_[row];
  if (!one.deactivated) return false;
  one.deactivated = false;
  one.times = 0;
  one.evicted_at.reset();
  one.offered_again = instant::min();  // once it has gone
  if (one.at == stage::deactivated) one.at = stage::waits;
  return true;
}

GANGSCHED_INLINE void pods_ready_watch::end_backoff(row_t row) noexcept {
  cancel(row);
  rows_[row].at = stage::waits;
}

GANGSCHED_INLINE void pods_ready_watch::resume_backoff(row_t row) noexcept {
  rows_[row].at = stage::backs_off;
  wake_at(row, rows_[row].offered_again, backoffs_);
}

GANGSCHED_INLINE std::optional<instant> pods_ready_watch::next() const noexcept {
  std::optional<instant> first;
  for (const std::vector<row_t>* heap : {&timeouts_, &backoffs_})
    if (!heap->empty() && (!first || rows_[heap->front()].due < *first)) first = rows_[heap->front()].due;
  return first;
}

GANGSCHED_INLINE pods_timeout pods_ready_watch::time_out(row_t row, instant now) noexcept {
  state& one = rows_[row];
  cancel(row);
  one.at = stage::too_late;
  ++one.times;
  one.evicted_at = now;
  one.deactivated = options_.backoff_limit && one.times > *options_.backoff_limit;
  instant backoff = std::min(options_.backoff_base, options_.backoff_max);
  for (std::uint32_t i = 1; i < one.times && backoff < options_.backoff_max && backoff.count() > 0; ++i)
    backoff = std::min(later_by(backoff, backoff), options_.backoff_max);
  one.offered_again = later_by(now, backoff);
  return {row, one.times, one.deactivated, one.offered_again};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
