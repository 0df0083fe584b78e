#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/policies/kueue_jobs.hpp"
#include "gangsched/policies/kueue_quotas.hpp"
#include "gangsched/queues/kueue/admission_cycle.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which workloads request quota, which have some, and the results of Kueue's arithmetic. A workload is the part of a tree of groups in one
/// queue, or a pod without a group. Its pod sets are pods of one group and class. While none of its pods runs it requests quota for all of
/// them, and may be reduced to the minimums of its gangs (partial admission); afterwards it requests what these lack and one pod more.
class GANGSCHED_API kueue_books {
 public:
  using queue_index = queues::queue_index;
  using entry = queues::kueue::cycle_entry;

  struct pod_set {
    row_t group = no_row;
    pod_id like = {};  ///< one of them
    const pod_class* cls = nullptr;
    std::int32_t count = 0;
    std::int32_t least = 0;  ///< of them: it does not start without
    std::int32_t there = 0;  ///< of them: on nodes already
  };
  /// The part of a workload that is to start together.
  struct workload {
    queue_index queue = queues::no_queue;
    std::int32_t priority = 0;
    std::uint64_t arrival = 0;
    row_t tree = no_row;       ///< the root of its groups
    std::string_view ns = {};  ///< its local queue
    pod_id pod = {};           ///< of a pod without a group
    std::vector<pod_set> sets = {};
    kueue_quotas::amounts held = {};  ///< what its sets use that are on nodes

    [[nodiscard]] bool has(const pod_info& other) const;
  };
  /// The answer about a workload.
  struct answer {
    workload who = {};
    entry made = {};
  };

  /// @p by_local_usage: names of the queues in which the past use of local queues counts.
  kueue_books(queues::kueue::fair_sharing_options sharing, bool partial_admission,
              std::vector<std::string> by_local_usage) {
    options_.fair_sharing = sharing;
    options_.partial_admission = partial_admission;
    quotas.by_local_usage = std::move(by_local_usage);
  }
  kueue_books(const kueue_books&) = delete;
  kueue_books& operator=(const kueue_books&) = delete;

  /// Updates the quotas to the last change of a queue.
  void read(const cluster_view& cluster);
  kueue_quotas quotas = {};
  by_host<scope_column> scores = {};  ///< of local queues, if some queue uses them
  /// The past use of a local queue: lower goes first. 0 in queues that do not use it. O(length of names).
  [[nodiscard]] double score(const cluster_view& cluster, queue_index queue, std::string_view ns) const;

  /// A pod, with the requests of the gangs of its tree; or the requests of a tree of groups, and if there are none one pod more.
  /// O(members).
  [[nodiscard]] workload of(const pod_info& pod) const;
  [[nodiscard]] workload of(const group_view& group) const;

  /// From now on of() returns the pod counts of the entry for the workload's tree, until this is called with null.
  void fix_counts(const workload& who, const entry* made);

  /// Flavors for it, and victims if it needs them, after reserving quota for workloads whose victims were evicted. Valid until the next
  /// call. O(queues of the tree · resources), and if preemption is considered O(changes since it last was, workloads that run there).
  /// @param for_victims: false: no victims are sought if only preemption would help, and the result is no fit.
  [[nodiscard]] const entry& look(const cluster_view& cluster, const workload& who, bool for_victims = true);
  /// The same for a pod, without victims, cached while nothing changes.
  [[nodiscard]] const answer& look_at(const cluster_view& cluster, const pod_info& pod);
  /// As look() considering preemption, if only these jobs may be evicted, by row.
  [[nodiscard]] const entry& look_again(const cluster_view& cluster, const workload& who,
                                        const std::vector<bool>& may_go);
  /// Updates the jobs, which look() does if it considers preemption. O(changes since, and the pods of their jobs).
  void list_jobs(const cluster_view& cluster);
  [[nodiscard]] const kueue_jobs& jobs() const noexcept { return jobs_; }
  /// How many local queues are remembered, for the order of victims: at most as many as there are jobs, twice, and a few.
  [[nodiscard]] std::size_t local_queues() const noexcept { return local_ ? local_->size() : 0; }

  /// Whether the entry, which fits, has quota for more of the pod's set than are on nodes; of any set of a group.
  [[nodiscard]] static bool has_place(const workload& who, const entry& made, const pod_info& pod);
  [[nodiscard]] static bool has_place(const workload& who, const entry& made, const group_view& group);
  /// Whether a pod of it may be on nodes of a flavor, by an entry that fits.
  [[nodiscard]] bool is_for(const workload& who, const entry& made, const pod_info& pod, flavor_id node) const;
  /// Whether its queue has another waiting workload that is older or more important. O(pods).
  [[nodiscard]] bool has_earlier(const cluster_view& cluster, const workload& than, const pod_info& like) const;
  /// What is missing, in Kueue's words; for the entry of the last look().
  [[nodiscard]] std::string words(const cluster_view& cluster, const workload& who);

  /// How far above its own quota it would be with the usage, and the ratio to what others lend (`fair_tournament`).
  struct standing {
    bool borrows = false;
    queues::kueue::dominant_share share = {};
  };
  [[nodiscard]] standing with(const workload& who, const entry& made);

 private:
  struct promise {
    queue_index queue;
    row_t tree;
    pod_id pod;
    kueue_quotas::amounts amounts;
  };

  void count(const cluster_view& cluster, queue_index root);
  [[nodiscard]] queues::kueue::local_index local_with_score(const cluster_view& cluster, queue_index queue,
                                                            std::string_view ns);
  struct outlook {
    bool victims, fewer;
  };
  [[nodiscard]] outlook assign(const workload& who);
  [[nodiscard]] queues::kueue::workload_shape shape_of(const cluster_view& cluster, const workload& who) const;
  void keep_flavors(const cluster_view& cluster, const pod_set& set, queue_index queue,
                    queues::kueue::workload_shape::pod_set& of) const;
  void nominate(const workload& who);
  /// In a trial of the ledger, excludes what is reserved for the workload, or what it holds, from the usage of others.
  void forget_own(const workload& who);
  void need(const group_view& group, workload& to) const;
  void start(const group_view& group, workload& to) const;
  void ask_for(const group_view& root, workload& to) const;
  [[nodiscard]] static bool is_of(const pod_set& set, const pod_info& pod);
  pod_set& add(const pod_info& pod, workload& to, bool needed = true) const;

  using standing_of_log = cluster_view::log_standing;

  queues::kueue::admission_options options_ = {};
  queues::kueue::shape_pool shapes_;
  std::optional<queues::kueue::local_usage> local_;  ///< the order of victims in a queue
  std::optional<queues::kueue::admission_cycle> cycle_;
  std::optional<queues::kueue::flavor_assigner> assigner_;
  std::vector<promise> promised_;
  std::map<queue_index, standing_of_log> counted_at_;  ///< by root
  std::optional<workload> fixed_;                      ///< whose counts are
  struct {
    std::optional<standing_of_log> at = {};
    pod_id pod = {};
    answer told = {};
  } asked_;  ///< of look_at()

  kueue_jobs jobs_{quotas};
  queues::kueue::workload_shape shape_;
  entry made_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/kueue_books.cpp"
#endif
