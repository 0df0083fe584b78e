#include <algorithm>
#include <utility>

#include "gangsched/engine/core.hpp"

// Calls that an exception ends, for want of memory: the cluster is rolled back to where the call began (`call_mark`), and so is what of the
// engine nobody could tell from the cluster: how often and when everybody failed, who waits in the permit room and for whom, attempts in
// flight, what reservations noted. The rest (orders, lines of who waits for a change, indexes, plans) is made anew at the next call.
namespace gangsched::engine {

GANGSCHED_INLINE void core::open_call(instant now) {
  standing_before& was = before_;
  was.whole = false;
  was.now = now_;
  was.statistics = statistics_;
  was.picks = picker_.where();
  decisions_.remember();
  waiting_.remember();
  in_flight_.remember();
  stale_.remember();
  reported_.remember();
  reservations_.remember();
  queue_.remember();
  was.whole = true;
  if (!torn_) return;
  now_ = now;
  mend();
}

GANGSCHED_INLINE void core::close_call() noexcept {
  reservations_.end_call();
  waiting_.end_call();
}

GANGSCHED_INLINE void core::abandon_call() noexcept {
  standing_before& was = before_;
  if (!was.whole) return;  // it had not begun
  queue_.recall();
  waiting_.recall();
  in_flight_.recall();
  stale_.recall();
  reported_.recall();
  reservations_.recall();
  decisions_.recall();
  error_.clear();
  now_ = was.now;
  statistics_ = was.statistics;
  picker_.go_back(was.picks);
  torn_ = true;
}

/// As when the log was lost: who waits for a change is tried again.
GANGSCHED_INLINE void core::mend() {
  forget_cached();
  search_.candidates().clear();
  gates_.forget_open();
  queue_.rebuild();
  start_over();
  torn_ = false;
}

}  // namespace gangsched::engine
