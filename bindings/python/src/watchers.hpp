#pragma once
#include <gangsched/report/events.hpp>
#include <gangsched/report/metrics.hpp>
#include <gangsched/report/trace.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "common.hpp"

namespace bindings {

/// What is to be kept for those who watch a scheduler.
struct watch_options {
  std::optional<std::string> metrics, trace;  ///< words; absent: none
  std::size_t trace_records = 0, events = 0;
};

/// An event as Python has it; the pod may be gone.
struct pod_event {
  std::string type, reason, action, note, ns, name;
  gangsched::pod_id about, related;
  std::uint64_t cookie = 0;
  gangsched::instant now{};
};

/// Metrics, a trace and events of one scheduler, as far as they were asked for.
class watchers {
 public:
  /// Null: nothing was asked for. @p on lives longer, and does not move. Throws out_of_range.
  [[nodiscard]] static std::unique_ptr<watchers> make(const cluster& on, const watch_options& options);
  watchers(const watchers&) = delete;
  watchers& operator=(const watchers&) = delete;

  [[nodiscard]] gangsched::observer& all() noexcept { return *list_; }
  [[nodiscard]] bool times_hooks() const noexcept { return metrics != nullptr || trace != nullptr; }

  std::unique_ptr<gangsched::report::metrics> metrics;
  std::unique_ptr<gangsched::report::trace> trace;
  std::unique_ptr<gangsched::report::events> events;
  std::deque<pod_event> happened;  ///< that nobody took yet
  std::uint64_t dropped = 0;       ///< because too many waited to be taken

 private:
  watchers() = default;
  std::unique_ptr<gangsched::observer_list> list_;
};

}  // namespace bindings
