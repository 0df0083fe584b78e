#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/queue_tree.hpp"
#include "gangsched/queues/volcano/resources.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

/// A queue as the host names it.
struct queue_spec {
  std::string name;
  std::int32_t weight = 1;
  std::int32_t priority = 0;           ///< the highest first
  std::int64_t created = 0;            ///< in any unit
  resources capability = {};           ///< never more; cores or memory of 0, and what is not named: no bound
  resources guarantee = {};            ///< kept for it
  resources deserved = {};             ///< capacity: the deserved amounts that the user configured
  bool reclaimable = true;             ///< whether other queues may reclaim from it
  std::string hierarchy = {};          ///< HDRF: its path, "root/science/physics"; empty: directly below the root
  std::string hierarchy_weights = {};  ///< HDRF: a weight for each part of the path, "1/50/25"
};

/// The phase of a job.
enum class job_phase : std::uint8_t { pending, inqueue, running, unknown, completed };

/// What a job adds to the counts of its queue.
struct job_load {
  queue_index queue = no_queue;
  job_phase phase = job_phase::pending;
  std::int32_t min_member = 1;
  std::int32_t allocated_tasks = 0;
  resources allocated = {};                     ///< of tasks that have a node and are not leaving it
  resources pending = {};                       ///< of tasks without a node
  std::optional<resources> min_resources = {};  ///< what it needs to start

  /// What it holds above its min_resources; empty unless it holds more of every kind that either has; cores and memory always count.
  [[nodiscard]] resources elastic() const;
  /// What is reserved for it before it has nodes: if it is inqueue, min_resources; if it runs with enough members, what is missing of them.
  /// As upstream, missing whole units of devices and pods count as that many thousandths.
  [[nodiscard]] std::optional<resources> reserved() const;
};

/// The sums over the jobs of a queue.
struct queue_load {
  bool takes_part = false;  ///< it has jobs; otherwise all of this is empty
  resources allocated = {};
  resources request = {};  ///< allocated and pending
  resources inqueue = {};  ///< reserved by jobs that may start
  resources elastic = {};
};

/// The use and entitlement of a queue.
struct queue_account : queue_load {
  resources deserved = {};
  resources guarantee = {};
  resources real_capability = {};  ///< its capability within what others' guarantees leave
  double share = 0;                ///< largest part of what is deserved that is allocated
};

enum class queue_policy : std::uint8_t {
  proportion,  ///< deserved is divided by weight
  capacity,    ///< deserved is configured
};

/// A task that may be evicted.
struct reclaim_candidate {
  queue_index queue = no_queue;
  resources request = {};
};

/// Queues as seen by the plugins proportion and capacity of Volcano 1.10 in one session. What a queue deserves is computed when the session
/// is opened, or by `settle`; allocated and reserved amounts and shares follow events. Calls cost O(1) and no memory, `reclaimable` O(n).
class GANGSCHED_API queue_shares {
 public:
  /// Opens a session. Errors name the queue or job: `malformed` (a queue has no name), `duplicate`, `unknown` (a job's queue),
  /// `out_of_range` (an amount or weight is negative or not finite). O(queues + jobs), for proportion and round; each round settles a
  /// queue or hands out a constant part of what is left.
  static result<queue_shares> open(queue_policy policy, const resources& total, std::span<const queue_spec> queues,
                                   std::span<const job_load> jobs);

  /// Opens the next session with the same queues: what of each counts now, then what each deserves of @p total. Amounts have to be finite
  /// and at least 0. O(1) and O(queues), for proportion and round; 1,000 queues of two kinds take microseconds.
  void count(queue_index queue, const queue_load& now);
  void settle(const resources& total);
  /// Sets the allocated, reserved and elastic amounts of a queue, for callers that count themselves. Nothing is divided again.
  void set_allocated(queue_index queue, const resources& now);
  void set_reserved(queue_index queue, const resources& inqueue, const resources& elastic);

  [[nodiscard]] std::size_t size() const noexcept { return accounts_.size(); }
  [[nodiscard]] queue_policy policy() const noexcept { return policy_; }
  [[nodiscard]] const queue_account& account(queue_index queue) const { return accounts_[queue]; }

  /// The order of queues: less, if @p a is before @p b: the higher priority, then the smaller share.
  [[nodiscard]] std::weak_ordering order(queue_index a, queue_index b) const;
  /// Whether the queue has everything that it deserves (proportion; false for capacity).
  [[nodiscard]] bool overused(queue_index queue) const;
  /// Whether a task may get a node: the queue stays within deserved (proportion) or the real capability (capacity) for what the task
  /// requests.
  [[nodiscard]] bool allocatable(queue_index queue, const resources& task) const;
  /// Whether others may be evicted for the task: the queue stays within deserved for everything requested (capacity; true for proportion).
  [[nodiscard]] bool preemptive(queue_index queue, const resources& task) const;
  /// Whether a job that needs @p min may start: with what is allocated, reserved and not elastic it stays within the real capability. If so
  /// its minimum is reserved at once, whatever other plugins decide.
  bool enqueue(queue_index queue, const resources& min);
  /// Puts the indexes of the @p candidates that may be evicted into @p victims, in their order. Each counts as gone for those after it.
  void reclaimable(const resources& asked, std::span<const reclaim_candidate> candidates,
                   std::vector<std::uint32_t>& victims) const;

  void allocate(queue_index queue, const resources& task);
  void release(queue_index queue, const resources& task);

 private:
  queue_shares() = default;
  void divide(const resources& total);
  /// Settles the limits.
  void bound_by(const resources& total);

  /// A queue's configuration, and its limit in `total_`.
  struct terms {
    resources guarantee = {}, capability = {}, deserved = {}, real_capability = {};
  };

  queue_policy policy_ = queue_policy::proportion;
  std::vector<queue_account> accounts_;
  std::vector<terms> terms_;
  std::optional<resources> total_;
  std::vector<std::int32_t> weight_, priority_;
};

/// The plugin overcommit: jobs that wait to start may together request the cluster times a factor, less what is used.
class GANGSCHED_API overcommit {
 public:
  static constexpr double default_factor = 1.2;
  /// A factor below 1 counts as the default. @p used: of all nodes, what is leaving them included.
  overcommit(const resources& total, const resources& used, double factor, std::span<const job_load> jobs);
  [[nodiscard]] bool enqueueable(const resources& min) const;
  /// The job may start, as all plugins agreed.
  void enqueued(const resources& min) { inqueue_.add(min); }

 private:
  resources idle_, inqueue_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/volcano/queue_shares.cpp"
#endif
