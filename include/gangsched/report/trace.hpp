#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gangsched/report/metrics.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

struct trace_options {
  report::clock clock = nullptr;   ///< null: the host's `now`, by which nothing takes any time
  std::size_t records = 1u << 15;  ///< kept at most; then the oldest go. 192 bytes each, taken when the trace is made
};

/// Where the time of a scheduler's calls goes, for chrome://tracing and ui.perfetto.dev: a slice for each call, its steps and the hooks
/// that were measured in it, with who was tried, what came of it and where it went; a mark for each victim and each reservation taken
/// back; a curve of how many wait where.
class GANGSCHED_API trace final : public observer {
 public:
  /// @p on lives longer, and does not move.
  explicit trace(const cluster& on, const trace_options& options = {});
  ~trace() override;

  /// What is kept, as Chrome's trace events (JSON, an object with `traceEvents`). O(records).
  [[nodiscard]] std::string json() const;
  /// How many records had to go.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

  [[nodiscard]] std::uint64_t now_ns() noexcept override;
  void called(const observed_call& what) override;
  void hook_ran(const observed_hook& what) noexcept override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::report
