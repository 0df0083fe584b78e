#include "gangsched/policies/kueue_quotas.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "gangsched/core/is_among.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// The name of what has quota of all nodes together: no queue or flavor of a host can have it.
inline constexpr const char* kueue_every_node = "every node";

inline queues::kueue::flavor_spec kueue_flavor(const flavor_spec& of) {
  queues::kueue::flavor_spec made{.name = of.name};
  for (const auto& [key, value] : of.node_labels) made.labels[key] = value;
  for (const taint& one : of.taints) made.taints.push_back({one.key, one.value, kueue_effect(one.effect)});
  for (const toleration& one : of.tolerations) {
    queues::kueue::tolerated_taint& added = made.tolerations.emplace_back();
    added.key = one.key;
    if (one.op == toleration_operator::equal) added.value = one.value;
    if (one.effect) added.what = kueue_effect(*one.effect);
  }
  return made;
}

/// What Kueue has of a queue's quotas, from the leaves up.
struct kueue_groups {
  struct flavor_amounts {
    std::string name;
    const queue_amounts* of;
  };
  /// Resources that get one flavor together.
  struct group {
    std::set<resource_kind> kinds;
    std::vector<std::size_t> flavors;  ///< places among the queue's
  };
  using totals = std::map<std::pair<std::string, resource_kind>, std::int64_t>;

  std::vector<flavor_amounts> flavors = {};
  std::vector<group> groups = {};
  totals below = {};  ///< what those below are guaranteed

  explicit kueue_groups(const queue_view& queue, const std::map<std::string_view, flavor_id>& ids) {
    if (queue.expected()) return;
    for (const queue_quota& one : queue.spec().quotas) {
      const flavor_id id = one.flavor.empty() ? flavor_id{} : ids.at(one.flavor);
      flavors.push_back({one.flavor.empty() ? kueue_every_node : one.flavor, queue.quota(id)});
    }
    for (std::size_t i = 0; i < flavors.size(); ++i) {
      group made{{}, {i}};
      const queue_amounts& its = *flavors[i].of;
      for (const auto* list : {&its.guaranteed, &its.limit, &its.borrowing_limit, &its.lending_limit})
        for (const amount& one : *list) made.kinds.insert(one.kind);
      if (made.kinds.empty()) continue;
      std::erase_if(groups, [&](group& other) {
        const auto shared = [&](resource_kind kind) { return made.kinds.contains(kind); };
        if (std::none_of(other.kinds.begin(), other.kinds.end(), shared)) return false;
        made.kinds.merge(other.kinds);
        made.flavors.insert(made.flavors.begin(), other.flavors.begin(), other.flavors.end());
        return true;
      });
      std::sort(made.flavors.begin(), made.flavors.end());
      groups.push_back(std::move(made));
    }
  }
  /// Adds, for each flavor and resource, the larger of the queue's own guarantee and the sum of those below it.
  void add_to(totals& above) const {
    totals mine = below;
    for (const flavor_amounts& one : flavors)
      for (const amount& own : one.of->guaranteed) {
        std::int64_t& total = mine[{one.name, own.kind}];
        total = std::max(total, own.value);
      }
    for (const auto& [which, total] : mine) above[which] = queues::kueue::sum(above[which], total);
  }
  [[nodiscard]] queues::kueue::quota quota_of(const flavor_amounts& in, resource_kind kind) const {
    const std::int64_t guaranteed = queue_amounts::find(in.of->guaranteed, kind).value_or(0);
    const auto found = below.find({in.name, kind});
    const std::int64_t of_those = found == below.end() ? 0 : found->second, total = std::max(guaranteed, of_those);
    queues::kueue::quota made{.nominal = queues::kueue::difference(total, of_those)};
    if (const auto most = queue_amounts::find(in.of->borrowing_limit, kind)) made.borrowing_limit = *most;
    if (const auto most = queue_amounts::find(in.of->limit, kind))
      made.borrowing_limit = std::min(made.borrowing_limit, std::max<std::int64_t>(0, *most - total));
    if (const auto most = queue_amounts::find(in.of->lending_limit, kind)) made.lending_limit = *most;
    return made;
  }
  /// @p owned: else the queue has nothing of them itself.
  [[nodiscard]] std::vector<queues::kueue::resource_group> text(const cluster_view& cluster, bool owned) const {
    std::vector<queues::kueue::resource_group> made;
    for (const group& one : groups) {
      queues::kueue::resource_group& added = made.emplace_back();
      for (const resource_kind kind : one.kinds) added.resources.emplace_back(cluster.kind_name(kind));
      for (const std::size_t i : one.flavors) {
        queues::kueue::flavor_quota& quotas = added.flavors.emplace_back();
        quotas.flavor = flavors[i].name;
        for (const resource_kind kind : one.kinds)
          quotas.quotas.push_back(owned ? quota_of(flavors[i], kind) : queues::kueue::quota{});
      }
    }
    return made;
  }
};

inline queues::kueue::queue_spec kueue_queue(const queue_spec& of) {
  using queues::kueue::flavor_search;
  using queues::kueue::victim_policy;
  queues::kueue::queue_spec made{.name = of.name, .cohort = of.parent, .weight = of.weight};
  if (of.heads == head_rule::strict) made.strategy = queues::kueue::queueing_strategy::strict_fifo;
  made.preemption.within_queue = of.within_queue == queue_preemption::never ? victim_policy::never
                                 : of.within_queue == queue_preemption::lower_priority
                                     ? victim_policy::lower_priority
                                     : victim_policy::lower_or_newer_equal_priority;
  made.preemption.within_cohort = of.reclaim == queue_reclaim::never            ? victim_policy::never
                                  : of.reclaim == queue_reclaim::lower_priority ? victim_policy::lower_priority
                                                                                : victim_policy::any;
  made.preemption.while_borrowing = of.reclaims_to_borrow;
  made.preemption.max_priority = of.reclaims_to_borrow_up_to;
  const auto search = [](bool stops) { return stops ? flavor_search::may_stop : flavor_search::try_next; };
  made.fungibility.when_can_borrow = search(of.flavors.stops_at_borrowing);
  made.fungibility.when_can_preempt = search(of.flavors.stops_at_preemption);
  if (of.flavors.avoids_borrowing)
    made.fungibility.preference = queues::kueue::flavor_preference::preemption_over_borrowing;
  return made;
}

}  // namespace detail

GANGSCHED_INLINE bool kueue_quotas::counted::is_on(flavor_id node) const noexcept {
  return flavor ? flavor == node : !is_among(node, without);
}

GANGSCHED_INLINE bool kueue_quotas::read(const cluster_view& cluster) {
  return news_.read(cluster, [&] { make(cluster); });
}

GANGSCHED_INLINE void kueue_quotas::make(const cluster_view& cluster) {
  namespace kueue = queues::kueue;
  kueue::configuration_spec spec;
  std::map<std::string_view, flavor_id> named;
  flavors_.clear();
  cluster.each_flavor([&](const flavor_view& one) {
    named.emplace(one.name(), one.id());
    spec.flavors.push_back(detail::kueue_flavor(one.spec()));
    flavors_.push_back(one.spec().node_labels.empty() ? flavor_id{} : one.id());
  });
  spec.flavors.push_back({.name = detail::kueue_every_node});
  flavors_.emplace_back();

  std::vector<queue_view> all;
  std::vector<std::size_t> above;  // those of all have one, by place; its own without
  std::vector<detail::kueue_groups> groups;
  std::map<row_t, std::size_t> places;
  cluster.each_queue([&](const queue_view& queue) {
    const auto parent = queue.parent();
    places.emplace(queue.row(), all.size());
    above.push_back(parent ? places.at(parent->row()) : all.size());
    all.push_back(queue);
    groups.emplace_back(queue, named);
  });
  for (std::size_t i = all.size(); i-- > 0;)
    if (above[i] != i) groups[i].add_to(groups[above[i]].below);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].has_children()) {
      spec.cohorts.push_back(
          {std::string{all[i].name()}, all[i].spec().parent, all[i].spec().weight, groups[i].text(cluster, true)});
      continue;
    }
    spec.queues.push_back(detail::kueue_queue(all[i].spec()));
    spec.queues.back().by_local_usage = is_among(all[i].spec().name, by_local_usage);
    std::size_t from = i;
    while (groups[from].groups.empty() && above[from] != from) from = above[from];
    spec.queues.back().groups = groups[from].text(cluster, from == i);
  }

  index_of_.clear();
  ids_.clear();
  counted_.clear();
  queues_of_.clear();
  ledger_.reset();
  fault_.clear();
  auto made = kueue::configuration::make(spec);
  if (!made) {  // too deep: the model has seen to everything else
    fault_ = made.error().message();
    quotas_.reset();
    return;
  }
  quotas_.emplace(*std::move(made));
  ledger_.emplace(*quotas_);
  ids_.resize(quotas_->tree().size());
  counted_.resize(quotas_->tree().size());
  for (const queue_view& queue : all) {
    if (queue.row() >= index_of_.size()) index_of_.resize(queue.row() + 1, queues::no_queue);
    if (queue.has_children()) continue;
    const queue_index its = *quotas_->find_queue(queue.name());
    index_of_[queue.row()] = its;
    ids_[its] = queue.id();
    queues_of_[root_of(its)].push_back(its);
    note(its, cluster);
  }
}

GANGSCHED_INLINE void kueue_quotas::note(queue_index queue, const cluster_view& cluster) {
  for (const queues::kueue::flavor_choice& group : quotas_->groups(queue)) {
    std::vector<flavor_id> labelled;
    for (const queues::kueue::flavor_index flavor : group.flavors)
      if (flavors_[flavor]) labelled.push_back(flavors_[flavor]);
    for (const queues::kueue::resource_index resource : group.resources)
      for (const queues::kueue::flavor_index flavor : group.flavors) {
        counted one{quotas_->find_fr(flavor, resource), *cluster.find_kind(quotas_->resource(resource)),
                    flavors_[flavor]};
        if (!one.flavor) one.without = labelled;
        counted_[queue].push_back(std::move(one));
      }
  }
}

GANGSCHED_INLINE void kueue_quotas::count(const cluster_view& cluster, queue_index root) {
  const auto found = queues_of_.find(root);
  if (found == queues_of_.end()) return;
  for (const queue_index queue : found->second) {
    const queue_view its = *cluster.queue(ids_[queue]);
    for (const counted& one : counted_[queue]) {
      std::int64_t used = its.used(one.kind, one.flavor);
      for (const flavor_id other : one.without) used -= its.used(one.kind, other);
      const std::int64_t before = ledger_->usage(queue, one.of);
      if (used > before) ledger_->add(queue, one.of, used - before);
      if (used < before) ledger_->remove(queue, one.of, before - used);
    }
  }
}

GANGSCHED_INLINE void kueue_quotas::add_amounts(const pod_view& pod, queue_index queue, flavor_id node,
                                                amounts& to) const {
  for (const counted& one : counted_[queue]) {
    const std::int64_t amount = one.kind == kinds::pods ? 1 : pod.request(one.kind);
    if (amount == 0 || !one.is_on(node)) continue;
    const auto known = std::find_if(to.begin(), to.end(), [&](const auto& other) { return other.of == one.of; });
    if (known != to.end())
      known->amount = queues::kueue::sum(known->amount, amount);
    else
      to.push_back({one.of, amount});
  }
}

GANGSCHED_INLINE bool kueue_quotas::is_on(queue_index queue, queues::kueue::resource_index resource,
                                          queues::kueue::flavor_index chosen, flavor_id node) const {
  const queues::kueue::fr_index of = quotas_->find_fr(chosen, resource);
  return std::any_of(counted_[queue].begin(), counted_[queue].end(),
                     [&](const counted& one) { return one.of == of && one.is_on(node); });
}

GANGSCHED_INLINE bool kueue_quotas::has_some_on(queue_index queue, flavor_id node) const {
  return std::any_of(counted_[queue].begin(), counted_[queue].end(),
                     [&](const counted& one) { return one.is_on(node); });
}

}  // namespace gangsched::inline GANGSCHED_ABI
