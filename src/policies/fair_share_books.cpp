#include "gangsched/policies/fair_share_books.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE void fair_share_books::read(const cluster_view& cluster) {
  if (list.size() != 0 && others_.size() < cluster.pod_rows() * resources.size())  // before anything counts as read
    others_.resize(cluster.pod_rows() * resources.size());
  bool made = false, divided = false;  // what queues are due may be another, of all of them
  const auto count = [&] {
    read_requests(cluster);
    parts.forget(list.size());  // here, so that all is done again if there is no memory for it
    divided = true;
  };
  if (!news.read(
          cluster, [&] { make(cluster), made = true; }, count))
    return;
  last_asked = nullptr;
  groups_known_ = false;
  if (!made) follow_others(cluster);
  if (!divided) forget_parts(cluster);
  parts_read_to_ = cluster.changes();
}

/// Counts, or no longer, what the pod in this row has, if it is in no queue.
GANGSCHED_INLINE void fair_share_books::set_others(const cluster_view& cluster, row_t row, bool has_node) {
  if (others_.size() < (row + std::size_t{1}) * resources.size()) return;  // of an open transaction
  const auto pod = has_node ? cluster.pod_at(row) : std::nullopt;
  const auto node = pod && !pod->queue() ? pod->node() : std::nullopt;
  const bool there = node && !pod->nominated_node();  // a nominated pod is on its node only in a filter's trial
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const resource& one = resources[i];
    const bool has = there && (!one.flavor || one.flavor == node->flavor());
    std::int64_t& its = others_[row * resources.size() + i];
    others_in_all_[i] -= its;
    others_in_all_[i] += its = has ? pod->request(one.kind) : 0;
  }
}

GANGSCHED_INLINE void fair_share_books::count_others(const cluster_view& cluster) {
  others_in_all_.assign(resources.size(), 0);
  others_.assign(list.size() == 0 ? 0 : cluster.pod_rows() * resources.size(), 0);
  if (list.size() == 0) return;
  cluster.each_pod([&](const pod_info& pod) { set_others(cluster, pod.id().row, true); });
  cluster.each_uncommitted([&](const change& one) {
    if (one.kind == change_kind::pod_assumed) set_others(cluster, one.row, false);
  });
}

/// The same for pods that changed. O(changes · resources).
GANGSCHED_INLINE void fair_share_books::follow_others(const cluster_view& cluster) {
  if (list.size() == 0) return;
  const auto look = [&](const change& one) {
    if (one.kind == change_kind::pod_added || one.kind == change_kind::pod_removed ||
        one.kind == change_kind::pod_assumed)
      set_others(cluster, one.row, true);
  };
  (void)cluster.each_change(parts_read_to_, look);  // they are kept: all would have been made anew
  cluster.each_uncommitted([&](const change& one) {
    if (one.kind == change_kind::pod_assumed) set_others(cluster, one.row, false);
  });
  if (!set_capacities()) return;
  shares.divide();
  parts.forget(list.size());
}

/// Queues share what pods without a queue leave. Whether that is another amount.
GANGSCHED_INLINE bool fair_share_books::set_capacities() {
  bool any = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const auto left = static_cast<std::int64_t>(std::max<wide>(total_[i] - others_in_all_[i], 0));
    any = any || left != shares.capacity(i);
    shares.set_capacity(i, left).value();
  }
  return any;
}

/// Where pods only got nodes, or lost them, their queues and those above use something else.
GANGSCHED_INLINE void fair_share_books::forget_parts(const cluster_view& cluster) {
  bool all = false;
  const auto look = [&](const change& one) {
    switch (one.kind) {
      case change_kind::pod_nominated:
      case change_kind::pod_gated:
      case change_kind::budget_changed:
      case change_kind::column_changed: break;
      case change_kind::pod_assumed:
      case change_kind::pod_bound:
      case change_kind::pod_terminating:
        if (const auto pod = cluster.pod_at(one.row)) parts.forget_up(shares.tree(), list.find(pod->queue()));
        break;
      case change_kind::queue_changed: parts.forget_up(shares.tree(), list.find_row(one.row)); break;
      default: all = true;
    }
  };
  if (!all && !cluster.each_change(parts_read_to_, look)) all = true;
  if (all) parts.forget(list.size());
}

GANGSCHED_INLINE std::optional<std::int32_t> fair_share_books::lowest_group_priority(const cluster_view& cluster) {
  if (groups_known_) return lowest_of_groups_;
  lowest_of_groups_.reset();
  cluster.each_group([&](const group_view& group) {
    const std::optional<std::int32_t>& its = group.spec().priority;
    if (its && (!lowest_of_groups_ || *its < *lowest_of_groups_)) lowest_of_groups_ = its;
  });
  groups_known_ = true;
  return lowest_of_groups_;
}

GANGSCHED_INLINE void fair_share_books::read_requests(const cluster_view& cluster) {
  const std::int64_t most = queues::largest_amount / static_cast<std::int64_t>(std::max<std::size_t>(list.size(), 1));
  for (queues::queue_index queue = 0; queue < list.size(); ++queue) {
    const auto there = cluster.queue(list.id(queue));
    if (!there || !shares.tree().is_leaf(queue)) continue;
    for (std::size_t i = 0; i < resources.size(); ++i)  // all of what waits may go to a flavor
      shares.set_requested(queue, i, std::clamp<std::int64_t>(there->requested(resources[i].kind), 0, most)).value();
  }
  shares.divide();
}

GANGSCHED_INLINE void fair_share_books::name_resources(const std::vector<queue_view>& all,
                                                       const cluster_view& cluster) {
  struct origin {
    flavor_id flavor;
    std::string_view queue = {};  ///< that names it first
  };
  std::map<std::pair<row_t, resource_kind>, origin> named;
  std::vector<flavor_id> flavors{flavor_id{}};
  cluster.each_flavor([&](const flavor_view& one) { flavors.push_back(one.id()); });
  for (const queue_view& queue : all) {
    for (const flavor_id flavor : flavors) {
      const queue_amounts* const quota = queue.quota(flavor);
      if (quota == nullptr) continue;
      for (const auto* amounts : {&quota->guaranteed, &quota->limit, &quota->borrowing_limit, &quota->lending_limit})
        for (const amount& one : *amounts) named.try_emplace({flavor.row, one.kind}, origin{flavor, queue.name()});
      for (const auto& [kind, weight] : quota->weights)
        named.try_emplace({flavor.row, kind}, origin{flavor, queue.name()});
    }
  }
  if (named.empty()) {
    cluster.each_node([&](const node_info& node) {
      for (resource_kind kind = 0; kind < node.kind_count(); ++kind)
        if (node.allocatable(kind) > 0) named.try_emplace({flavor_id{}.row, kind}, origin{});
    });
  }
  fault.clear();
  resources.clear();
  for (const auto& [key, from] : named) {
    if (resources.size() < queues::most_resources) {
      resources.push_back({key.second, from.flavor});
    } else if (fault.empty() && !from.queue.empty()) {
      const auto flavor = cluster.flavor_at(from.flavor.row);
      fault = "queue " + std::string{from.queue} + ": quotas[\"" + std::string{flavor ? flavor->name() : ""} +
              "\"]: " + std::string{cluster.kind_name(key.second)} + " is one more than the " +
              std::to_string(queues::most_resources) + " kinds, by flavor, that quotas may name in all";
    }
  }
}

GANGSCHED_INLINE std::vector<std::int64_t> fair_share_books::totals(const cluster_view& cluster) const {
  std::vector<std::int64_t> made(resources.size());
  cluster.each_node([&](const node_info& node) {
    for (std::size_t i = 0; i < resources.size(); ++i) {
      if (resources[i].flavor && resources[i].flavor != node.flavor()) continue;
      made[i] += std::min(node.allocatable(resources[i].kind), queues::largest_amount - made[i]);
    }
  });
  return made;
}

GANGSCHED_INLINE queues::fair_share::queue_terms fair_share_books::terms_of(const queue_view& queue,
                                                                            std::int64_t most) const {
  queues::fair_share::queue_terms made;
  const queue_spec& spec = queue.spec();
  made.priority = spec.priority;
  made.admits = !queue.expected() && spec.state == queue_state::open;
  if (spec.max_running) made.most_running = *spec.max_running;
  const auto to_units = [](double weight) {
    const double units = weight * static_cast<double>(queues::fair_share::weight_unit);
    return weight <= 0 ? std::int64_t{0} : static_cast<std::int64_t>(std::clamp(units, 1.0, 0x1p40));
  };
  made.weight = to_units(spec.weight);
  const auto bounded = [&](std::optional<std::int64_t> amount) {
    return amount ? std::min(*amount, most) : queues::unnamed;
  };
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const auto [kind, flavor] = resources[i];
    const std::int64_t guaranteed = queue.guaranteed(kind, flavor);
    // More than there is is all there is.
    made.guaranteed.push_back(std::min({guaranteed, std::max<std::int64_t>(total_[i], 0), most}));
    made.limit.push_back(bounded(queue.limit(kind, flavor)));
    made.borrowing_limit.push_back(bounded(queue.borrowing_limit(kind, flavor)));
    made.lending_limit.push_back(bounded(queue.lending_limit(kind, flavor)));
    made.weights.push_back(to_units(queue.weight(kind, flavor)));
  }
  return made;
}

GANGSCHED_INLINE void fair_share_books::make(const cluster_view& cluster) {
  const std::vector<queue_view> all = list.read(cluster);
  name_resources(all, cluster);
  total_ = totals(cluster);
  const std::int64_t most = queues::largest_amount / static_cast<std::int64_t>(std::max<std::size_t>(all.size(), 1));
  std::vector<queues::fair_share::queue_terms> terms;
  for (const queue_view& queue : all) terms.push_back(terms_of(queue, most));
  // Amounts are bounded above.
  shares = queues::fair_share::fair_shares::make(queue_list::tree_of(all), resources.size(), terms).value();
  count_others(cluster);
  set_capacities();
  keeps = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    for (const queues::queue_index root : shares.tree().roots()) keeps = keeps || shares.kept(root, i) > 0;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
