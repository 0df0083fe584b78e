#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/volcano/fair_hierarchy.hpp"
#include "gangsched/queues/volcano/queue_shares.hpp"
#include "gangsched/queues/volcano/resources.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

enum class plugin_name : std::uint8_t { priority, gang, drf, proportion, capacity, overcommit };

/// A plugin of a tier, and its functions that a configuration may disable.
struct plugin {
  plugin_name name = plugin_name::gang;
  bool preemptable = true;
  bool reclaimable = true;
  bool hierarchy = false;                                 ///< drf
  double overcommit_factor = overcommit::default_factor;  ///< overcommit
};
using plugin_tiers = std::vector<std::vector<plugin>>;

enum class action : std::uint8_t { enqueue, allocate, preempt, reclaim, backfill };

struct session_options {
  std::vector<action> actions = {};
  plugin_tiers tiers = {};
};
/// Errors: `malformed` (both proportion and capacity, or one plugin twice).
[[nodiscard]] GANGSCHED_API result<void> check(const session_options& options);
/// Null: it is in no tier.
[[nodiscard]] GANGSCHED_API const plugin* find(const plugin_tiers& tiers, plugin_name name);

/// The keys that jobs are ordered by.
struct job_rank {
  std::int32_t priority = 0;
  bool ready = false;  ///< its minimum is met
  double share = 0;    ///< its dominant share in the cluster
  std::int64_t created = 0;
  std::string_view name = {};
};

/// A job with tasks that may be evicted, or one that needs room.
struct voting_job {
  queue_index queue = 0;
  std::int32_t priority = 0;
  std::int32_t ready = 0;  ///< tasks with a node that are not leaving it
  std::int32_t min_member = 1;
  resources allocated = {};             ///< of those
  fair_hierarchy::node_index leaf = 0;  ///< if there is a hierarchy
};
struct voting_task {
  std::uint32_t job = 0;
  std::int32_t priority = 0;  ///< among those of its job
  resources request = {};
};

/// The combined decisions of the plugins of all tiers. It owns nothing; what it refers to has to outlive it.
struct GANGSCHED_API votes {
  const plugin_tiers* tiers = nullptr;
  const resources* total = nullptr;           ///< of the cluster
  const queue_shares* queues = nullptr;       ///< of proportion or capacity; null if neither takes part
  const fair_hierarchy* hierarchy = nullptr;  ///< of drf; null without one
  std::span<const fair_hierarchy::node_index> queue_nodes = {};  ///< there, by queue

  /// The order of queues, by the first plugin that distinguishes them.
  [[nodiscard]] std::weak_ordering order(queue_index a, queue_index b) const;
  [[nodiscard]] std::weak_ordering order(const job_rank& a, const job_rank& b) const;
  /// Whether tasks may be evicted for a job: @p has of its @p tasks have a node, or wait for a promised one.
  [[nodiscard]] bool starving(std::int32_t has, std::int32_t min_member, std::int32_t tasks) const;
  /// Whether a job may start; its minimum is then reserved, in @p with at once, in @p bound when all plugins have agreed.
  [[nodiscard]] bool enqueueable(queue_index queue, const resources& min, queue_shares* with,
                                 const overcommit* bound) const;
  /// Which of @p candidates may be evicted for @p asker, as indexes: those that all plugins of a tier name; if there are none, the next
  /// tier decides. @p job: the job of a task's number. O(candidates · plugins), and those of `reclaimable`.
  [[nodiscard]] std::vector<std::uint32_t> victims(const voting_task& asker, std::span<const voting_task> candidates,
                                                   bool reclaims,
                                                   const std::function<voting_job(std::uint32_t)>& job) const;

 private:
  [[nodiscard]] std::vector<std::uint32_t> named_by(const plugin& of, const voting_task& asker,
                                                    std::span<const voting_task> candidates, bool reclaims,
                                                    const std::function<voting_job(std::uint32_t)>& job) const;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/volcano/votes.cpp"
#endif
