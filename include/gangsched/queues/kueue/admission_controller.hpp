#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/queues/kueue/admission_cycle.hpp"
#include "gangsched/queues/kueue/pending_queues.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

/// What an admitted workload uses of a flavor, for a host that admitted it before.
struct admitted_usage {
  std::string flavor;
  std::string resource;
  std::int64_t amount = 0;  ///< of all its pods; 0 where it has a flavor and needs nothing
};

/// Kueue's admission by quota, for a controller without a scheduler: workloads wait in queues, a cycle admits some and asks for the
/// eviction of others, and the host reports the outcomes. It knows no nodes.
class GANGSCHED_API admission_controller {
 public:
  explicit admission_controller(configuration of, const admission_options& options = {});
  admission_controller(const admission_controller&) = delete;
  admission_controller& operator=(const admission_controller&) = delete;

  [[nodiscard]] const configuration& of() const noexcept { return of_; }
  [[nodiscard]] const quota_ledger& ledger() const noexcept { return ledger_; }

  /// Adds a waiting workload. Errors as of `workload_shape::make`. O(size + log workloads).
  result<workload_id> add(const workload_spec& spec);
  /// Adds one that has its quota already, since @p at. Resources without quota are not counted. Errors as above.
  result<workload_id> add_admitted(const workload_spec& spec, instant at, std::span<const admitted_usage> usage);
  /// The workload is gone, whether it waited or had quota. Error: `unknown`.
  result<void> remove(workload_id id);

  /// A local queue's weight and past usage; one that only workloads name has the weight 1. Errors as of `local_usage::set`.
  result<void> set_local_queue(const local_queue_spec& spec);

  /// Whether all pods of an admitted workload are ready. Error: `unknown`, `wrong_state`; without effect unless pods_ready is enabled.
  result<void> set_pods_ready(workload_id id, bool ready, instant now);
  /// A deactivated workload waits again, its timeouts forgotten: at once, or after its eviction. Error: `unknown`, `wrong_state`.
  result<void> activate(workload_id id);

  /// The eviction of an admitted workload was requested: it uses its quota until `evicted`, and is the first to be preempted. Error:
  /// `unknown`, `wrong_state`.
  result<void> mark_evicted(workload_id id);
  /// The eviction of an admitted workload is complete: it waits again, with its old creation time, or if its pods were not ready in time
  /// after its backoff. Error: `unknown`, `wrong_state`.
  result<void> evicted(workload_id id);

  /// Changes a quota; error as of `quota_ledger::set_quota`.
  result<void> set_quota(queue_index node, fr_index of, const quota& amounts);

  /// Handles the passing of time; to be called before a cycle. Local queues that are due are sampled, workloads whose backoff is over wait
  /// again, and those whose pods are not ready in time are marked evicted. @return the latter, valid until the next call: the host must
  /// evict them. O(log workloads) for each, and what `local_usage::sample` takes.
  std::span<const pods_timeout> advance(instant now);
  /// When the next pods-ready timeout or backoff ends.
  [[nodiscard]] std::optional<instant> next_timeout() const noexcept { return pods_.next(); }

  /// One cycle: each queue offers its head. Admitted workloads have their quota since @p now; those that `preempted` of the outcome names
  /// are marked evicted, and the host must evict them. The outcome is valid until the next call that changes something.
  const admission_cycle& cycle(instant now);

  [[nodiscard]] bool is_deactivated(row_t workload) const noexcept {
    return pods_.options().enabled && pods_.is_deactivated(workload);
  }
  [[nodiscard]] const local_usage& usage_of_local_queues() const noexcept { return usage_; }

  [[nodiscard]] bool knows(workload_id id) const noexcept { return workloads_.knows(id); }
  [[nodiscard]] workload_id id_of(row_t workload) const noexcept { return workloads_.id_of(workload); }
  /// @pre the workload is known
  [[nodiscard]] const workload_record& operator[](row_t workload) const noexcept { return workloads_[workload]; }
  /// The waiting workloads of a queue, active (they may be offered) or inadmissible (only after something has changed); in no order.
  [[nodiscard]] std::vector<row_t> waiting(queue_index queue, bool active) const {
    return pending_.list(queue, active);
  }
  [[nodiscard]] std::size_t waiting() const noexcept { return pending_.size(); }
  /// How many kinds of workloads there are, alike in all that admission looks at.
  [[nodiscard]] std::size_t shapes() const noexcept { return shapes_.known(); }

 private:
  /// How far the search for flavors of a workload got.
  struct progress {
    std::vector<std::uint32_t> next_flavor;  ///< empty: nowhere
    std::uint64_t cycle = 0;
    std::uint64_t generation = 0;  ///< of the queue, as of that search
    instant created{};             ///< the workload's creation time, without changes by evictions
  };

  /// Adds a workload. Calls @p then(row, shape) first, which does everything that can run out of memory: if it throws, nothing is added.
  template <class Then>
  result<workload_id> add_record(const workload_spec& spec, const Then& then);
  [[nodiscard]] std::optional<error> fault_of(workload_id id, bool has_to_be_admitted) const;
  void free_quota(row_t workload) noexcept;
  void note_eviction(row_t workload) noexcept;
  [[nodiscard]] bool counts_local(queue_index queue) const { return of_.by_local_usage(queue); }
  [[nodiscard]] std::span<const std::uint32_t> begin_with(row_t workload) const;
  /// settle() in two parts: first what allocates, then the rest.
  void make_room(const cycle_entry& entry);
  void settle(const cycle_entry& entry, instant now) noexcept;
  /// Computes `counted_`.
  void count_unfinished(const cycle_entry& entry) noexcept;
  /// Has its local queue pay for what is admitted.
  void charge(const cycle_entry& entry, instant now) noexcept;

  configuration of_;
  quota_ledger ledger_;
  workload_table workloads_;
  shape_pool shapes_;
  local_usage usage_;
  pods_ready_watch pods_;
  pending_queues pending_;
  admission_cycle cycle_;
  std::vector<shape_index> shape_of_;  ///< by workload
  std::vector<progress> progress_;     ///< by workload
  std::vector<std::uint64_t>
      generations_;                     ///< by node: how often a workload of a queue was admitted, evicted or removed
  std::vector<pods_timeout> timeouts_;  ///< of the last `advance`, with room for all workloads, as is the next
  std::vector<row_t> returned_;         ///< rows whose backoff ended in it
  std::vector<fr_amount> counted_;      ///< what a workload that is admitted uses
  std::uint64_t cycles_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/kueue/admission_controller.cpp"
#endif
