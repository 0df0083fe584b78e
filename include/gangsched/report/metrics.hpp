#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "gangsched/scheduling/observer.hpp"

namespace gangsched::inline GANGSCHED_ABI {
class cluster;
class scheduler;
}  // namespace gangsched::inline GANGSCHED_ABI

/// Ready-made observers: the component gangsched::report (docs/observing.md).
namespace gangsched::inline GANGSCHED_ABI::report {

/// Nanoseconds since any time, never decreasing, and not 0; null: nothing is measured.
using clock = std::uint64_t (*)() noexcept;

/// How times are measured.
struct metrics_options {
  report::clock clock = nullptr;  ///< null: nothing is measured
  /// Hooks are timed in every so many-th call of `schedule_cycle`, from the first on; 0: never. kube-scheduler times one in ten, at random.
  std::uint32_t time_hooks_every = 10;
};

/// kube-scheduler's metrics, by its names, labels and buckets (1.36.3), of one scheduler, or of several one after another. Memory: a series
/// for each set of labels that occurred, and 64 bytes for each row of the cluster's pods; nothing is allocated once they exist.
class GANGSCHED_API metrics final : public observer {
 public:
  explicit metrics(const metrics_options& options = {});
  ~metrics() override;

  /// All metrics in Prometheus' text format 0.0.4 ("text/plain; version=0.0.4"), with gauges as of the present state of @p by and @p on.
  /// Must not be called during a call of @p by. O(pods + series).
  [[nodiscard]] std::string text(const scheduler& by, const cluster& on) const;

  [[nodiscard]] std::uint64_t now_ns() noexcept override;
  void called(const observed_call& what) override;
  void hook_ran(const observed_hook& what) noexcept override;
  [[nodiscard]] bool times_hooks() noexcept override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::report
