#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/fwd.hpp"
#include "gangsched/policies/kueue_quotas.hpp"
#include "gangsched/queues/kueue/local_usage.hpp"

namespace gangsched::inline GANGSCHED_ABI {
class cluster;

/// The scores of local queues: a scope with a row "QUEUE/NAMESPACE" for each, and the host's column with the bits of a double.
inline constexpr const char* kueue_local_queues = "kueue.local-queues";
inline constexpr const char* kueue_local_score = "score";

/// Kueue's admission fair sharing on a cluster: what the local queues of some queues used in the past, by the time that the host tells the
/// scheduler. A local queue is the part of a queue in one namespace. The host owns this, and calls advance() with each time that it gives
/// the scheduler; `kueue_policy` with the same queues in `options::by_local_usage` reads the scores from the cluster. The arithmetic is
/// `queues::kueue::local_usage`. A namespace that has nothing in a queue any more, whose past is forgotten and whose weight is 1 goes from
/// here, and its row from the cluster.
class GANGSCHED_API kueue_local_usage {
 public:
  struct options {
    std::vector<std::string> queues = {};  ///< with local usage (admissionScope)
    queues::kueue::local_usage_options decay = {};
  };
  explicit kueue_local_usage(options chosen);

  /// The weight of a local queue, whose `name` is the namespace, and if anything is said of it what it has consumed. It counts from the
  /// next advance() on; where there is no such queue it waits for it, and is forgotten as others are. Error: `out_of_range`, for a number
  /// that is not finite or an amount that is negative.
  result<void> set(queues::kueue::local_queue_spec spec);
  /// The state of all local queues, for set() after a restart.
  [[nodiscard]] std::vector<queues::kueue::local_queue_spec> local_queues() const;

  /// Takes the samples that are due, records which pods got or left a node since the last call, and writes changed scores into the cluster.
  /// Pods on nodes at the first call count as there before. Errors: those of `cluster::set_column`. O(1) if nothing happened and no sample
  /// is due, O(pods) otherwise.
  result<void> advance(cluster& on, instant now);

 private:
  using local_index = queues::kueue::local_index;
  struct held {
    local_index local;
    kueue_quotas::amounts amounts;
    std::uint64_t seen;
    bool is_admitted = false;  ///< its local queue has not been charged for it yet
  };
  struct waiting {
    queues::kueue::local_queue_spec spec;
    std::optional<instant> since = {};  ///< when that was true; none: not known
  };

  [[nodiscard]] queues::kueue::local_queue_spec spec_of(local_index local) const;
  void begin_anew(const cluster_view& of, instant now);
  void tell();
  void count(const cluster_view& of, instant now);
  local_index find_or_add(queues::queue_index queue, std::string_view ns);
  result<void> remove_rows(cluster& on);
  result<void> write(cluster& on);

  options options_;
  queue_news news_;
  kueue_quotas quotas_;
  std::optional<queues::kueue::local_usage> usage_;
  using queue_and_space = std::pair<std::string, std::string>;
  std::vector<waiting> said_;                   ///< that usage_ has not been told
  std::vector<queue_and_space> names_;          ///< by local queue
  std::vector<queue_and_space> gone_;           ///< that may have rows, and may be gone
  std::vector<double> weights_;                 ///< by local queue
  std::vector<std::optional<double>> written_;  ///< by local queue
  std::map<pod_id, held> held_;                 ///< what pods on a node hold; keeps their local queues
  std::map<pod_id, held> before_;               ///< what pods held with the queues as they were before they changed
  std::uint64_t round_ = 0;
  std::optional<std::uint64_t> counted_at_;  ///< changes
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/kueue_local_usage.cpp"
#endif
