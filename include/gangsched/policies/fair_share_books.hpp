#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/status.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/policies/queue_list.hpp"
#include "gangsched/policies/victim_units.hpp"
#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/reclaim.hpp"
#include "gangsched/queues/fair_share/turns.hpp"
#include "gangsched/queues/fair_share/usage.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What queues are due, as of the last change that was read. Resources of shares are kinds of a cluster, on nodes of a flavor or on all.
struct GANGSCHED_API fair_share_books {
  struct resource {
    resource_kind kind = 0;
    flavor_id flavor = {};  ///< default: of all nodes
  };
  /// The cluster's counts, in a trial with its changes.
  struct counts final : queues::fair_share::usage {
    counts(const fair_share_books& b, const cluster_view& c) : of(b), cluster(c) {}
    [[nodiscard]] std::int64_t used(queues::queue_index queue, std::size_t at) const override {
      const auto there = cluster.queue(of.list.id(queue));
      return there ? there->used(of.resources[at].kind, of.resources[at].flavor) : 0;
    }
    [[nodiscard]] std::int64_t running(queues::queue_index queue) const override {
      const auto there = cluster.queue(of.list.id(queue));
      return there ? there->running() : 0;
    }
    const fair_share_books& of;
    const cluster_view& cluster;
  };
  /// With what is reserved for entities whose victims were evicted.
  struct with_promised final : queues::fair_share::usage {
    explicit with_promised(const counts& without) : now(without) {}
    [[nodiscard]] std::int64_t used(queues::queue_index queue, std::size_t at) const override {
      std::int64_t made = now.used(queue, at);
      for (const auto& [under, amounts] : promised)
        if (now.of.shares.tree().is_within(under, queue)) made += amounts[at];
      return made;
    }
    [[nodiscard]] std::int64_t running(queues::queue_index queue) const override {
      std::int64_t made = now.running(queue);
      for (const queues::queue_index job : jobs) made += now.of.shares.tree().is_within(job, queue) ? 1 : 0;
      return made;
    }
    const counts& now;
    std::vector<std::pair<queues::queue_index, std::vector<std::int64_t>>> promised = {};
    std::vector<queues::queue_index> jobs = {};  ///< of those, jobs without a running pod
  };

  /// Buffers of a search for victims, kept for the next one.
  struct search_memory {
    std::vector<queues::fair_share::running_unit> running = {}, other_running = {};  ///< by unit
    std::vector<std::int64_t> amounts = {};                                          ///< theirs
    std::vector<victim_unit> units = {}, other_units = {};
    std::vector<std::uint32_t> number = {};  ///< by unit: its new one
  };

  demand_news news = {};
  std::vector<resource> resources = {};
  queue_list list = {};  ///< by index of the tree
  queues::fair_share::fair_shares shares = {};
  std::string fault = {};  ///< why no pod may start, or empty: quotas name more resources than can be compared
  bool keeps = false;      ///< some amount is kept for a queue, used or not
  queues::fair_share::reclaim_plan plan = {};
  search_memory memory = {};
  queues::fair_share::known_parts parts = {};  ///< as of the last change
  const pod_class* last_asked = nullptr;  ///< the class last checked by admission since the last change; null: none
  status last_said = {};

  /// Whether quota can reject it at all: a queue on the way up has a limit of what it requests, or of jobs unless it runs, or something is
  /// kept for a queue.
  [[nodiscard]] bool may_refuse(queues::queue_index queue, std::span<const std::int64_t> request, bool runs) const {
    constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
    if (keeps) return true;
    for (; queue != queues::no_queue; queue = shares.tree().parent(queue)) {
      if (!runs && shares.most_running(queue) != no_limit) return true;
      for (std::size_t i = 0; i < request.size(); ++i)
        if (request[i] > 0 && shares.most(queue, i) != no_limit) return true;
    }
    return false;
  }

  /// The lowest priority that a group states; none if none does. O(groups) once after a change.
  [[nodiscard]] std::optional<std::int32_t> lowest_group_priority(const cluster_view& cluster);

  /// Updates them to the last committed change. O(1) if none matters, O(queues · resources) if only pods changed, else O(nodes + pods),
  /// too.
  void read(const cluster_view& cluster);

 private:
  bool groups_known_ = false;
  std::optional<std::int32_t> lowest_of_groups_ = {};
  std::uint64_t parts_read_to_ = 0;        ///< changes
  __extension__ using wide = __int128;     // sums over pods
  std::vector<std::int64_t> total_ = {};   ///< by resource: what nodes have
  std::vector<std::int64_t> others_ = {};  ///< by row of a pod, then resource: what one without a queue has on its node
  std::vector<wide> others_in_all_ = {};   ///< by resource: their sum, which is not there for queues

  void forget_parts(const cluster_view& cluster);
  void set_others(const cluster_view& cluster, row_t row, bool has_node);
  void count_others(const cluster_view& cluster);
  void follow_others(const cluster_view& cluster);
  bool set_capacities();

  void read_requests(const cluster_view& cluster);
  /// Kinds that a quota names, by flavor.
  void name_resources(const std::vector<queue_view>& all, const cluster_view& cluster);

  [[nodiscard]] std::vector<std::int64_t> totals(const cluster_view& cluster) const;
  [[nodiscard]] queues::fair_share::queue_terms terms_of(const queue_view& queue, std::int64_t most) const;
  void make(const cluster_view& cluster);
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/fair_share_books.cpp"
#endif
