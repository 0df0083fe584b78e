#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/queues/indexed_heap.hpp"
#include "gangsched/queues/kueue/workload_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// Where in its queue a workload stands that was evicted because its pods were not ready in time.
enum class requeue_order : std::uint8_t {
  eviction,  ///< as if it had been created then
  creation,
};

/// Kueue's waitForPodsReady.
struct pods_ready_options {
  bool enabled = false;
  instant timeout = std::chrono::minutes{5};     ///< after the admission
  std::optional<instant> recovery_timeout = {};  ///< after pods that were ready are lost; absent: no bound
  bool block_admission = false;  ///< nobody is admitted while pods of somebody who was admitted are not ready
  instant backoff_base =
      std::chrono::seconds{60};  ///< before it is offered again the first time; each time twice as long
  instant backoff_max = std::chrono::seconds{3600};  ///< … but never longer
  std::optional<std::uint32_t> backoff_limit =
      {};  ///< how often it is offered again; then it is deactivated. Absent: always
  requeue_order requeued = requeue_order::eviction;
};

/// A workload that has to go because its pods were not ready in time.
struct pods_timeout {
  row_t workload = no_row;
  std::uint32_t times = 0;   ///< how often by now
  bool deactivated = false;  ///< it is not offered again until it is activated
  instant offered_again{};   ///< otherwise: not before this
  friend bool operator==(const pods_timeout&, const pods_timeout&) = default;
};

/// Since when pods of admitted workloads are not ready, and when those that were evicted for it may come back. By row; what has to be
/// known of rows is made room for, everything else needs no memory. O(log workloads) a call.
class GANGSCHED_API pods_ready_watch {
 public:
  explicit pods_ready_watch(const pods_ready_options& options) : options_(options) {}
  [[nodiscard]] const pods_ready_options& options() const noexcept { return options_; }

  /// Room for rows below @p rows.
  void make_room(row_t rows);
  /// A new workload has the row.
  void begin(row_t row) noexcept;
  /// It is gone.
  void forget(row_t row) noexcept;

  void admitted(row_t row, instant at) noexcept;
  void set_ready(row_t row, bool ready, instant now) noexcept;
  /// It is to go for another reason: it cannot be too late any more.
  void note_eviction(row_t row) noexcept;
  /// It has given its quota back. @return whether it waits in its queue at once: not if it backs off or is deactivated.
  bool withdrawn(row_t row) noexcept;
  /// @return whether it was deactivated; it starts anew then.
  bool activate(row_t row) noexcept;

  /// Whether nobody who is admitted has pods that are not ready.
  [[nodiscard]] bool all_ready() const noexcept { return not_ready_ == 0; }
  [[nodiscard]] bool is_deactivated(row_t row) const noexcept { return rows_[row].at == stage::deactivated; }
  /// It is deactivated, or will be once it has given its quota back.
  [[nodiscard]] bool is_to_be_activated(row_t row) const noexcept { return rows_[row].deactivated; }
  /// Not admitted, and not in its queue either.
  [[nodiscard]] bool is_aside(row_t row) const noexcept {
    return rows_[row].at == stage::backs_off || is_deactivated(row);
  }
  /// When it was evicted for the last timeout, if it has not been admitted since.
  [[nodiscard]] std::optional<instant> evicted_at(row_t row) const noexcept { return rows_[row].evicted_at; }
  /// When something is due next: a timeout, or the end of a backoff.
  [[nodiscard]] std::optional<instant> next() const noexcept;
  /// Who is due at @p now, the longest first; `no_row` if nobody is. It stays so until end_backoff or time_out is called for it.
  [[nodiscard]] row_t backoff_over(instant now) const noexcept { return first_due(backoffs_, now); }
  [[nodiscard]] row_t too_late(instant now) const noexcept { return first_due(timeouts_, now); }
  void end_backoff(row_t row) noexcept;
  /// Takes the last end_backoff of the row back.
  void resume_backoff(row_t row) noexcept;
  pods_timeout time_out(row_t row, instant now) noexcept;

 private:
  enum class stage : std::uint8_t { waits, starting, ready, leaves, too_late, backs_off, deactivated };
  struct state {
    stage at = stage::waits;
    bool not_ready = false;    ///< admitted, and counted in not_ready_
    bool deactivated = false;  ///< … once it has gone
    std::uint32_t times = 0;
    std::uint32_t place = no_place;
    instant due{}, offered_again{};
    std::optional<instant> evicted_at = {};
  };
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};

  [[nodiscard]] row_t first_due(const std::vector<row_t>& heap, instant now) const noexcept {
    return heap.empty() || rows_[heap.front()].due > now ? no_row : heap.front();
  }
  void wake_at(row_t row, instant at, std::vector<row_t>& heap) noexcept;
  void cancel(row_t row) noexcept;
  void count(row_t row, bool not_ready) noexcept;
  [[nodiscard]] auto before() const noexcept {
    return [this](row_t a, row_t b) { return rows_[a].due != rows_[b].due ? rows_[a].due < rows_[b].due : a < b; };
  }
  [[nodiscard]] auto place() noexcept {
    return [this](row_t row) -> std::uint32_t& { return rows_[row].place; };
  }

  pods_ready_options options_;
  std::vector<state> rows_;
  std::vector<row_t> timeouts_, backoffs_;  ///< heaps of those that something is due for; with room for all
  std::size_t not_ready_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/pods_ready.cpp"
#endif
