#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gangsched/c/report.h"
#include "gangsched/report/events.hpp"
#include "gangsched/report/metrics.hpp"
#include "gangsched/report/trace.hpp"
#include "gangsched/src/c/handles.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {

/// What watches a scheduler of C: metrics, events and a trace, as far as they were asked for.
class watchers {
 public:
  /// Error: out_of_range (a number that is none of an enumeration). @p on lives longer, and does not move.
  [[nodiscard]] static result<std::unique_ptr<watchers>> make(const cluster& on,
                                                              const gangsched_scheduler_options& options);
  watchers(const watchers&) = delete;
  watchers& operator=(const watchers&) = delete;

  /// The observer that the scheduler is to report to; null if nothing was asked for.
  [[nodiscard]] observer* all() noexcept { return list_.get(); }
  [[nodiscard]] const report::metrics* metrics() const noexcept { return metrics_.get(); }
  [[nodiscard]] const report::trace* trace() const noexcept { return trace_.get(); }
  [[nodiscard]] bool has_events() const noexcept { return events_ != nullptr; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  /// Hands out the oldest events. Their texts are good until the next call. O(capacity).
  [[nodiscard]] std::size_t take(gangsched_pod_event* into, std::size_t capacity);

 private:
  struct kept {
    gangsched_pod_event told;  ///< without the texts that are below
    std::string note, ns, name;
  };
  watchers() = default;
  void keep(const cluster& on, const report::event& one);

  std::unique_ptr<report::metrics> metrics_;
  std::unique_ptr<report::trace> trace_;
  std::unique_ptr<report::events> events_;
  std::unique_ptr<observer_list> list_;
  std::size_t most_ = 0;  ///< events that are kept
  std::uint64_t dropped_ = 0;
  std::deque<kept> waiting_;
  std::vector<kept> handed_;  ///< whose texts the host has
};

}  // namespace gangsched::inline GANGSCHED_ABI::c
