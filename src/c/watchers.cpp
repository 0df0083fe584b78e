#include "gangsched/src/c/watchers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gangsched/src/c/scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

std::uint64_t monotonic_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

result<std::unique_ptr<watchers>> watchers::make(const cluster& on, const gangsched_scheduler_options& options) {
  const auto none_of_them = [](const char* field) {
    return error{errc::out_of_range, "scheduler options", field, "is none of them"};
  };
  if (options.metrics < GANGSCHED_METRICS_NONE || options.metrics > GANGSCHED_METRICS_TIMED)
    return none_of_them("metrics");
  if (options.trace < GANGSCHED_TRACE_NONE || options.trace > GANGSCHED_TRACE_TIMED) return none_of_them("trace");
  std::unique_ptr<watchers> made{new watchers};
  if (options.metrics != GANGSCHED_METRICS_NONE) {
    const bool timed = options.metrics == GANGSCHED_METRICS_TIMED;
    made->metrics_ =
        std::make_unique<report::metrics>(report::metrics_options{.clock = timed ? monotonic_ns : nullptr});
  }
  if (options.trace != GANGSCHED_TRACE_NONE) {
    report::trace_options how{.clock = options.trace == GANGSCHED_TRACE_TIMED ? monotonic_ns : nullptr};
    if (options.trace_records != 0) how.records = options.trace_records;
    made->trace_ = std::make_unique<report::trace>(on, how);
  }
  if (options.events_kept != 0) {
    made->most_ = options.events_kept;
    made->events_ =
        std::make_unique<report::events>(on, [&on, to = made.get()](const report::event& one) { to->keep(on, one); });
  }
  if (made->metrics_ != nullptr || made->trace_ != nullptr || made->events_ != nullptr) {
    made->list_ = std::make_unique<observer_list>(
        std::initializer_list<observer*>{made->metrics_.get(), made->trace_.get(), made->events_.get()});
  }
  return made;
}

void watchers::keep(const cluster& on, const report::event& one) {
  kept made{{}, one.note, std::string{on.namespace_of(one.about)}, std::string{on.name_of(one.about)}};
  made.told.type = handed(one.type);
  made.told.reason = handed(one.reason);
  made.told.action = handed(one.action);
  made.told.about = handed(one.about);
  made.told.related = handed(one.related);
  made.told.pod_cookie = on.cookie_of(one.about);
  made.told.now = one.now.count();
  waiting_.push_back(std::move(made));
  if (waiting_.size() > most_) waiting_.pop_front(), ++dropped_;
}

std::size_t watchers::take(gangsched_pod_event* into, std::size_t capacity) {
  const std::size_t count = std::min(capacity, waiting_.size());
  std::vector<kept> fresh;
  fresh.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    kept& one = fresh.emplace_back(std::move(waiting_.front()));
    waiting_.pop_front();
    one.told.note = handed(std::string_view{one.note});
    one.told.ns = handed(std::string_view{one.ns});
    one.told.name = handed(std::string_view{one.name});
    into[i] = one.told;
  }
  handed_ = std::move(fresh);
  return count;
}

}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_scheduler_metrics(const gangsched_scheduler* on, char** text,
                                           gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (text == nullptr) return c::missing(error, "text");
  return c::guarded(error, [&] {
    if (on->watched == nullptr || on->watched->metrics() == nullptr)
      return c::refuse(error, {errc::wrong_state, "scheduler", "options.metrics", "none are kept"});
    *text = c::copied(on->watched->metrics()->text(on->engine, *on->model));
    return c::ok;
  });
}

gangsched_code gangsched_scheduler_trace(const gangsched_scheduler* on, char** text, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (text == nullptr) return c::missing(error, "text");
  return c::guarded(error, [&] {
    if (on->watched == nullptr || on->watched->trace() == nullptr)
      return c::refuse(error, {errc::wrong_state, "scheduler", "options.trace", "none is kept"});
    *text = c::copied(on->watched->trace()->json());
    return c::ok;
  });
}

gangsched_code gangsched_scheduler_events(gangsched_scheduler* on, gangsched_pod_event* into, size_t capacity,
                                          size_t* count, gangsched_error* error) noexcept {
  if (count == nullptr) return c::missing(error, "count");
  *count = 0;
  if (on == nullptr) return c::missing(error, "scheduler");
  if (into == nullptr && capacity != 0) return c::missing(error, "into");
  return c::guarded(error, [&] {
    if (on->watched == nullptr || !on->watched->has_events())
      return c::refuse(error, {errc::wrong_state, "scheduler", "options.events_kept", "is 0: none are kept"});
    *count = on->watched->take(into, capacity);
    return c::ok;
  });
}
uint64_t gangsched_scheduler_events_dropped(const gangsched_scheduler* on) noexcept {
  return on == nullptr || on->watched == nullptr ? 0 : on->watched->dropped();
}
