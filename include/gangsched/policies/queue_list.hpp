#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/hooks.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/queues/queue_tree.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Queues of a cluster by index, for the arithmetic of quotas (`queues::queue_tree`), as of the last read. Queues that are added or removed
/// later are not reflected until the next read: `queue_news`.
class queue_list {
 public:
  /// Reads the queues for which @p wanted(queue_view) is true, parents first, siblings by name. They are valid until a queue changes.
  /// O(queues).
  template <class Wanted>
  std::vector<queue_view> read(const cluster_view& cluster, const Wanted& wanted) {
    std::vector<queue_view> all;
    ids_.clear();
    index_of_.clear();
    cluster.each_queue([&](const queue_view& queue) {
      if (queue.row() >= index_of_.size()) index_of_.resize(queue.row() + 1, queues::no_queue);
      if (!wanted(queue)) return;
      index_of_[queue.row()] = static_cast<queues::queue_index>(ids_.size());
      ids_.push_back(queue.id());
      all.push_back(queue);
    });
    return all;
  }
  /// Reads all of them.
  std::vector<queue_view> read(const cluster_view& cluster) {
    return read(cluster, [](const queue_view&) { return true; });
  }
  /// The tree of @p all, which read(cluster) returned: with the indexes of this list.
  [[nodiscard]] static queues::queue_tree tree_of(const std::vector<queue_view>& all) {
    std::vector<queues::queue_link> links;
    for (const queue_view& queue : all) {
      const auto above = queue.parent();
      links.push_back({queue.name(), above ? above->name() : std::string_view{}});
    }
    return queues::queue_tree::make(links).value();  // the model has no duplicate queue, and no cycle
  }

  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] queue_id id(std::size_t index) const { return ids_[index]; }
  /// `no_queue` for one that is not in the list. O(1).
  [[nodiscard]] queues::queue_index find_row(std::size_t row) const noexcept {
    return row < index_of_.size() ? index_of_[row] : queues::no_queue;
  }
  [[nodiscard]] queues::queue_index find(const queue_view& queue) const noexcept { return find_row(queue.row()); }
  /// `no_queue`, too, for no queue.
  [[nodiscard]] queues::queue_index find(const std::optional<queue_view>& queue) const noexcept {
    return queue ? find(*queue) : queues::no_queue;
  }

 private:
  std::vector<queue_id> ids_ = {};
  std::vector<queues::queue_index> index_of_ = {};  ///< by row
};

/// Why no pod of a queue may start if `queue_view::admits` is false.
inline constexpr const char* queue_admits_nobody = "a queue that it is in is not there, or admits nobody";
/// The same if only queues without children have pods.
inline constexpr const char* queue_has_no_pods =
    "a queue that it is in is not there, admits nobody, or has others below it";

/// Sets the same verdict for all nodes, for filters by queue.
inline void refuse_all(std::span<filtered_group> groups, const status& why) {
  for (filtered_group& group : groups) group.verdict = why;
}

/// How long pods of a queue run before they may be evicted, by @p field: that of the nearest queue on the way up with one. O(depth).
[[nodiscard]] inline instant nearest_min_runtime(const queue_view& queue, instant queue_spec::*field) {
  instant found{};
  queue.each_up([&](const queue_view& one) {
    found = one.spec().*field;
    return found == instant::zero();
  });
  return found;
}

/// Whether the quota that victims released for @p nominated is kept from @p other, as is its room on the node (`keeps_its_room`): not from
/// its own group, nor from a more important pod of its queue. O(depth of their trees of groups).
[[nodiscard]] inline bool keeps_its_quota(const pod_info& nominated, const pod_info& other) {
  if (nominated.id() == other.id()) return false;
  const auto its = nominated.group(), others = other.group();
  if (its && others && its->root().row() == others->root().row()) return false;
  return nominated.priority() >= other.priority() || nominated.queue() != other.queue();
}

/// Whether data derived from the queues and flavors of a cluster is out of date.
class queue_news {
 public:
  /// Calls @p make if a queue or flavor was added, removed or changed since the last time (use does not count), or the cluster is another
  /// one, or the log has lost the last position. Returns whether it was called. If it throws, it is called again the next time. O(changes
  /// since the last call).
  template <class Make>
  bool read(const cluster_view& cluster, const Make& make) {
    bool any = !whose_ || !(*whose_ == cluster) || read_to_ > cluster.changes();
    const auto look = [&](const change& one) {
      any = any || (one.kind == change_kind::queue_changed && (one.more || one.row == no_row));  // no row: a flavor
    };
    if (!any && !cluster.each_change(read_to_, look)) any = true;
    if (any) {
      whose_.reset();
      make();
    }
    whose_ = cluster;
    read_to_ = cluster.changes();
    return any;
  }
  /// Invalidates the derived data.
  void forget() noexcept { whose_.reset(); }

 private:
  std::optional<cluster_view> whose_ = {};
  std::uint64_t read_to_ = 0;  ///< changes
};

/// Whether data derived from queues, nodes and requests is out of date.
class demand_news {
 public:
  /// Calls @p make and then @p count, if more has changed than which pods have nodes; @p count alone if pods were added or removed and
  /// nothing else. Returns whether anything changed at all. If one throws, both are called again the next time. O(changes since the last
  /// call).
  template <class Make, class Count>
  bool read(const cluster_view& cluster, const Make& make, const Count& count) {
    enum class news : std::uint8_t { none, requests, all };
    const bool known = whose_ && *whose_ == cluster;
    if (known && read_to_ == cluster.changes()) return false;
    news most = news::none;
    const bool kept = known && read_to_ < cluster.changes() && cluster.each_change(read_to_, [&](const change& one) {
      switch (one.kind) {
        case change_kind::pod_assumed:
        case change_kind::pod_bound:
        case change_kind::pod_nominated:
        case change_kind::pod_gated:
        case change_kind::pod_terminating:
        case change_kind::budget_changed:
        case change_kind::column_changed: break;
        case change_kind::pod_added:
        case change_kind::pod_removed: most = std::max(most, news::requests); break;
        case change_kind::queue_changed:  // or only its use, which is read on demand
          if (one.more || one.row == no_row) most = news::all;
          break;
        default: most = news::all;
      }
    });
    whose_.reset();
    if (!kept || most == news::all) make();
    if (!kept || most != news::none) count();
    whose_ = cluster;
    read_to_ = cluster.changes();
    return true;
  }

 private:
  std::optional<cluster_view> whose_ = {};
  std::uint64_t read_to_ = 0;  ///< changes
};

}  // namespace gangsched::inline GANGSCHED_ABI
