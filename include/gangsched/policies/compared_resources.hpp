#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/queues/resource_amounts.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The kinds of resources that quotas compare, numbered, and amounts by number in the form of the policies of queues: `queues::unnamed`
/// where nothing is requested.
class compared_resources {
 public:
  using amounts = std::vector<std::int64_t>;
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  /// Starts again, for kinds below @p bound.
  void clear(resource_kind bound) {
    kinds_.clear();
    place_.assign(bound, none);
  }
  /// No effect if it is there already, or the policies' maximum is reached (`queues::most_resources`).
  void add(resource_kind kind) {
    if (place_[kind] != none || kinds_.size() == queues::most_resources) return;
    place_[kind] = kinds_.size();
    kinds_.push_back(kind);
  }
  [[nodiscard]] std::size_t size() const noexcept { return kinds_.size(); }
  [[nodiscard]] resource_kind bound() const noexcept { return static_cast<resource_kind>(place_.size()); }
  [[nodiscard]] const std::vector<resource_kind>& kinds() const noexcept { return kinds_; }
  /// Its number; `none` if it is not compared.
  [[nodiscard]] std::size_t find(resource_kind kind) const noexcept {
    return kind < place_.size() ? place_[kind] : none;
  }

  [[nodiscard]] amounts nothing() const { return amounts(size(), queues::unnamed); }
  /// A list of a quota, each amount at most @p largest.
  [[nodiscard]] amounts of(const std::vector<amount>& list, std::int64_t largest = queues::largest_amount) const {
    amounts made = nothing();
    for (const amount& one : list)
      if (const std::size_t at = find(one.kind); at != none) made[at] = std::min(one.value, largest);
    return made;
  }
  /// No sum is above `queues::largest_amount`.
  void add_request(const pod_view& pod, amounts& to) const {
    for (const amount& one : pod.requests()) {
      const std::size_t at = find(one.kind);
      if (at == none) continue;
      const std::int64_t before = queues::amount_or_zero(to[at]);
      to[at] = before + std::min(one.value, queues::largest_amount - before);
    }
  }

 private:
  std::vector<resource_kind> kinds_;
  std::vector<std::size_t> place_;  ///< by kind
};

/// Calls visit(kind) for each guarantee and each limit of all nodes together in @p queues. O(queues · resources).
template <class Visit>
void each_quota_kind(const std::vector<queue_view>& queues, const Visit& visit) {
  for (const queue_view& queue : queues) {
    const queue_amounts* const quota = queue.quota();
    if (quota == nullptr) continue;
    for (const auto* const list : {&quota->guaranteed, &quota->limit})
      for (const amount& one : *list) visit(one.kind);
  }
}

/// The kinds that some node has, in the order of their names. O(nodes · kinds).
inline std::vector<resource_kind> kinds_of_nodes(const cluster_view& cluster) {
  std::vector<bool> there(cluster.kind_count());
  cluster.each_node([&](const node_info& node) {
    for (resource_kind kind = 0; kind < cluster.kind_count(); ++kind)
      there[kind] = there[kind] || node.allocatable(kind) > 0;
  });
  std::vector<resource_kind> made;
  for (resource_kind kind = 0; kind < cluster.kind_count(); ++kind)
    if (there[kind]) made.push_back(kind);
  std::sort(made.begin(), made.end(),
            [&](resource_kind a, resource_kind b) { return cluster.kind_name(a) < cluster.kind_name(b); });
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
