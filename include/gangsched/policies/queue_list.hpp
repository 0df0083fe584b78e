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

/// Queues of a cluster by index, as the arithmetic of quotas knows them (`queues::queue_tree`), as of when they were read. Queues that come
/// or go later are in no list until it is read again: `queue_news`.
class queue_list {
 public:
  /// Reads the queues that @p wanted(queue_view) says yes to, parents first, siblings by name. They are valid until a queue changes.
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
  /// Who is whose parent in @p all, which read(cluster) said: the indexes are those of this list.
  [[nodiscard]] static queues::queue_tree tree_of(const std::vector<queue_view>& all) {
    std::vector<queues::queue_link> links;
    for (const queue_view& queue : all) {
      const auto above = queue.parent();
      links.push_back({queue.name(), above ? above->name() : std::string_view{}});
    }
    return queues::queue_tree::make(links).value();  // the model has no queue twice, nor one below itself
  }

  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] queue_id id(std::size_t index) const { return ids_[index]; }
  /// `no_queue` of one that is not in the list. O(1).
  [[nodiscard]] queues::queue_index find_row(std::size_t row) const noexcept {
    return row < index_of_.size() ? index_of_[row] : queues::no_queue;
  }
  [[nodiscard]] queues::queue_index find(const queue_view& queue) const noexcept { return find_row(queue.row()); }
  /// `no_queue`, too, of none.
  [[nodiscard]] queues::queue_index find(const std::optional<queue_view>& queue) const noexcept {
    return queue ? find(*queue) : queues::no_queue;
  }

 private:
  std::vector<queue_id> ids_ = {};
  std::vector<queues::queue_index> index_of_ = {};  ///< by row
};

/// Why nobody of a queue may start whose `queue_view::admits` says no.
inline constexpr const char* queue_admits_nobody = "a queue that it is in is not there, or admits nobody";
/// The same where only queues without others below have pods.
inline constexpr const char* queue_has_no_pods =
    "a queue that it is in is not there, admits nobody, or has others below it";

/// Has a filter by queues say the same of all nodes.
inline void refuse_all(std::span<filtered_group> groups, const status& why) {
  for (filtered_group& group : groups) group.verdict = why;
}

/// How long pods of a queue run before they may go, by @p field: as the nearest of it and those above says, if one does. O(depth).
[[nodiscard]] inline instant nearest_min_runtime(const queue_view& queue, instant queue_spec::*field) {
  instant found{};
  queue.each_up([&](const queue_view& one) {
    found = one.spec().*field;
    return found == instant::zero();
  });
  return found;
}

/// Whether what somebody made of the queues and flavors of a cluster is out of date.
class queue_news {
 public:
  /// Has @p make done if a queue or flavor came, went or says something else since it was last done (what is used in one does not count),
  /// or it was done for another cluster, or the log has lost it since. Whether it was. If it throws, it is done again the next time.
  /// O(changes since the last call).
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
  /// What was made does not hold any more.
  void forget() noexcept { whose_.reset(); }

 private:
  std::optional<cluster_view> whose_ = {};
  std::uint64_t read_to_ = 0;  ///< changes
};

/// Whether what somebody made of queues, nodes, and what is requested is out of date.
class demand_news {
 public:
  /// Has @p make done, and then @p count, if more changed since they were last done than which pods have nodes; @p count alone if pods came
  /// or went and nothing else did. Whether anything changed at all. If one throws, both are done again the next time.
  /// O(changes since the last call).
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
        case change_kind::queue_changed:  // or only what is used in it, which is read when it is asked for
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
