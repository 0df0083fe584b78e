#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/queues/indexed_heap.hpp"
#include "gangsched/queues/kueue/workload_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// The time by which a workload is ordered after it was evicted because its pods were not ready in time.
enum class requeue_order : std::uint8_t {
  eviction,  ///< that of the eviction
  creation,
};

/// Kueue's waitForPodsReady.
struct pods_ready_options {
  bool enabled = false;
  instant timeout = std::chrono::minutes{5};     ///< after the admission
  std::optional<instant> recovery_timeout = {};  ///< after pods that were ready are lost; absent: no bound
  bool block_admission = false;  ///< no workload is admitted while pods of an admitted one are not ready
  instant backoff_base = std::chrono::seconds{60};   ///< before it is offered again the first time; doubles each time
  instant backoff_max = std::chrono::seconds{3600};  ///< … up to this
  std::optional<std::uint32_t> backoff_limit =
      {};  ///< how often it is offered again; then it is deactivated. Absent: no limit
  requeue_order requeued = requeue_order::eviction;
};

/// A workload to evict because its pods were not ready in time.
struct pods_timeout {
  row_t workload = no_row;
  std::uint32_t times = 0;   ///< how often so far
  bool deactivated = false;  ///< it is not offered again until it is activated
  instant offered_again{};   ///< the end of its backoff
  friend bool operator==(const pods_timeout&, const pods_timeout&) = default;
};

/// Since when pods of admitted workloads are not ready, and when those that were evicted for it are requeued. By row; only make_room
/// allocates. O(log workloads) a call.
class GANGSCHED_API pods_ready_watch {
 public:
  explicit pods_ready_watch(const pods_ready_options& options) : options_(options) {}
  [[nodiscard]] const pods_ready_options& options() const noexcept { return options_; }

  /// Room for rows below @p rows.
  void make_room(row_t rows);
  /// The row belongs to a new workload.
  void begin(row_t row) noexcept;
  /// The workload is gone.
  void forget(row_t row) noexcept;

  void admitted(row_t row, instant at) noexcept;
  void set_ready(row_t row, bool ready, instant now) noexcept;
  /// It is being evicted for another reason: its timeout no longer applies.
  void note_eviction(row_t row) noexcept;
  /// Its quota was released. @return whether it waits in its queue at once: not if it backs off or is deactivated.
  bool withdrawn(row_t row) noexcept;
  /// @return whether it was deactivated; its counts are reset then.
  bool activate(row_t row) noexcept;

  /// Whether all pods of all admitted workloads are ready.
  [[nodiscard]] bool all_ready() const noexcept { return not_ready_ == 0; }
  [[nodiscard]] bool is_deactivated(row_t row) const noexcept { return rows_[row].at == stage::deactivated; }
  /// Whether it is deactivated, or will be once its quota is released.
  [[nodiscard]] bool is_to_be_activated(row_t row) const noexcept { return rows_[row].deactivated; }
  /// Whether it is neither admitted nor in its queue.
  [[nodiscard]] bool is_aside(row_t row) const noexcept {
    return rows_[row].at == stage::backs_off || is_deactivated(row);
  }
  /// When it was evicted for its last timeout, if it has not been admitted since.
  [[nodiscard]] std::optional<instant> evicted_at(row_t row) const noexcept { return rows_[row].evicted_at; }
  /// When the next timeout or backoff ends.
  [[nodiscard]] std::optional<instant> next() const noexcept;
  /// The row that is due at @p now, the longest due first; `no_row` if none is. It stays due until end_backoff or time_out is called for
  /// it.
  [[nodiscard]] row_t backoff_over(instant now) const noexcept { return first_due(backoffs_, now); }
  [[nodiscard]] row_t too_late(instant now) const noexcept { return first_due(timeouts_, now); }
  void end_backoff(row_t row) noexcept;
  /// Undoes the last end_backoff of the row.
  void resume_backoff(row_t row) noexcept;
  pods_timeout time_out(row_t row, instant now) noexcept;

 private:
  enum class stage : std::uint8_t { waits, starting, ready, leaves, too_late, backs_off, deactivated };
  struct state {
    stage at = stage::waits;
    bool not_ready = false;    ///< admitted, and counted in not_ready_
    bool deactivated = false;  ///< … once its quota is released
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
  std::vector<row_t> timeouts_, backoffs_;  ///< heaps of rows with a timeout or backoff; with room for all
  std::size_t not_ready_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/pods_ready.cpp"
#endif
