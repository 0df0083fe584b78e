#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gangsched/report/metrics.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

/// How times are measured, and how much is kept.
struct trace_options {
  report::clock clock = nullptr;   ///< null: the host's `now`, by which calls take no time
  std::size_t records = 1u << 15;  ///< kept at most, the newest; 192 bytes each, allocated when the trace is made
};

/// Where the time of a scheduler's calls goes, for chrome://tracing and ui.perfetto.dev: a slice for each call, its steps and the hooks
/// measured in it, with the entity, the outcome and the node; a mark for each victim and each revoked reservation; a curve of the pods in
/// each part of the queue.
class GANGSCHED_API trace final : public observer {
 public:
  /// @p on must outlive it, and must not move.
  explicit trace(const cluster& on, const trace_options& options = {});
  ~trace() override;

  /// The records that are kept, as Chrome's trace events (JSON, an object with `traceEvents`). O(records).
  [[nodiscard]] std::string json() const;
  /// The number of records dropped.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

  [[nodiscard]] std::uint64_t now_ns() noexcept override;
  void called(const observed_call& what) override;
  void hook_ran(const observed_hook& what) noexcept override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::report
