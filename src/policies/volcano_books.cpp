#include "gangsched/policies/volcano_books.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "gangsched/core/is_among.hpp"
#include "gangsched/policies/compared_resources.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE void volcano_books::read(const cluster_view& cluster, const queues::volcano::plugin_tiers& tiers) {
  news_.read(
      cluster, [&] { make(cluster, tiers); }, [&] { count(cluster); });
}

template <class Amount>
volcano_books::resources volcano_books::sum_of(const Amount& amount) const {
  resources made{static_cast<double>(amount(kinds::cpu)), static_cast<double>(amount(kinds::memory))};
  if (counts_pods_) made.set(queues::volcano::pods, static_cast<double>(amount(kinds::pods)));
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (const std::int64_t some = amount(devices_[i]); some != 0)
      made.set(queues::volcano::first_device + static_cast<queues::volcano::kind>(i), 1000 * static_cast<double>(some));
  return made;
}

/// What a list names, amounts of 0 too.
GANGSCHED_INLINE volcano_books::resources volcano_books::listed(const std::vector<amount>& list) const {
  resources made;
  for (const amount& one : list) {
    const auto some = static_cast<double>(one.value);
    const auto device = std::find(devices_.begin(), devices_.end(), one.kind);
    if (one.kind == kinds::cpu) made.set(queues::volcano::cpu, some);
    if (one.kind == kinds::memory) made.set(queues::volcano::memory, some);
    if (one.kind == kinds::pods && counts_pods_) made.set(queues::volcano::pods, some);
    if (device != devices_.end())
      made.set(queues::volcano::first_device + static_cast<queues::volcano::kind>(device - devices_.begin()),
               1000 * some);
  }
  return made;
}

/// Those that quotas name come first; then by name.
GANGSCHED_INLINE void volcano_books::name_kinds(const cluster_view& cluster, const std::vector<queue_view>& all) {
  constexpr std::size_t most = queues::volcano::most_kinds - queues::volcano::first_device;
  devices_.clear();
  counts_pods_ = false;
  const auto add = [&](resource_kind kind) {
    const bool device = kind == kinds::ephemeral_storage || kind >= kinds::first_other;
    const bool known = std::find(devices_.begin(), devices_.end(), kind) != devices_.end();
    if (device && !known && devices_.size() < most) devices_.push_back(kind);
  };
  each_quota_kind(all, add);
  const std::vector<resource_kind> there = kinds_of_nodes(cluster);
  for (const resource_kind kind : there) add(kind);
  counts_pods_ = is_among(kinds::pods, there);
}

/// What is deserved is guaranteed; of that what is not lent is kept for the queue.
GANGSCHED_INLINE queues::volcano::queue_spec volcano_books::spec_of(const queue_view& queue,
                                                                    std::int32_t weight) const {
  queues::volcano::queue_spec made{.name = std::string{queue.name()}, .weight = weight};
  made.priority = queue.spec().priority;
  made.created = queue.row();
  made.reclaimable = queue.spec().lends_running;
  const queue_amounts* const quota = queue.quota();
  if (quota == nullptr) return made;
  made.capability = listed(quota->limit);
  made.deserved = listed(quota->guaranteed);
  std::vector<amount> kept;
  for (const amount& lent : quota->lending_limit) {
    const std::int64_t own = queue.guaranteed(lent.kind);
    if (own > lent.value) kept.push_back({lent.kind, own - lent.value});
  }
  made.guarantee = listed(kept);
  return made;
}

GANGSCHED_INLINE void volcano_books::make(const cluster_view& cluster, const queues::volcano::plugin_tiers& tiers) {
  using queues::volcano::plugin_name;
  const std::vector<queue_view> all =
      list_.read(cluster, [](const queue_view& queue) { return !queue.expected() && !queue.has_children(); });
  name_kinds(cluster, all);
  total_ = {};
  cluster.each_node([&](const node_info& node) {
    total_.add(sum_of([&](resource_kind kind) { return std::max<std::int64_t>(node.allocatable(kind), 0); }));
  });
  const queues::volcano::plugin* const drf = queues::volcano::find(tiers, plugin_name::drf);
  has_hierarchy_ = drf != nullptr && drf->hierarchy;
  jobs_of_.reset();
  tree_of_.reset();
  shares_.reset();
  const bool divides = queues::volcano::find(tiers, plugin_name::proportion) != nullptr;
  if (!divides && queues::volcano::find(tiers, plugin_name::capacity) == nullptr) return;
  // Volcano's weights are whole numbers; others count in thousandths.
  const bool whole = std::all_of(all.begin(), all.end(), [](const queue_view& queue) {
    return std::round(queue.spec().weight) == queue.spec().weight;
  });
  std::vector<queues::volcano::queue_spec> specs;
  for (const queue_view& queue : all)
    specs.push_back(spec_of(
        queue, static_cast<std::int32_t>(std::clamp(std::round(queue.spec().weight * (whole ? 1 : 1000)), 1.0, 1e9))));
  shares_ = queues::volcano::queue_shares::open(
                divides ? queues::volcano::queue_policy::proportion : queues::volcano::queue_policy::capacity, total_,
                specs, {})
                .value();  // names are unique in the model, and amounts at least 0
}

GANGSCHED_INLINE void volcano_books::count(const cluster_view& cluster) {
  if (!shares_) return;
  for (queues::queue_index at = 0; at < list_.size(); ++at) {
    const queue_view queue = *cluster.queue(list_.id(at));
    queues::volcano::queue_load load{.takes_part = queue.requested(kinds::pods) > 0};
    if (load.takes_part) {
      load.request = sum_of([&](resource_kind kind) { return std::max<std::int64_t>(queue.requested(kind), 0); });
      load.allocated = sum_of([&](resource_kind kind) { return queue.used(kind); });
    }
    shares_->count(at, load);
  }
  shares_->settle(total_);
}

GANGSCHED_INLINE volcano_books::resources volcano_books::request_of(const pod_view& pod) const {
  return sum_of([&](resource_kind kind) { return kind == kinds::pods ? std::int64_t{1} : pod.request(kind); });
}

GANGSCHED_INLINE volcano_books::resources volcano_books::free_of(const node_info& node) const {
  return sum_of([&](resource_kind kind) { return node.free(kind); });
}

GANGSCHED_INLINE void volcano_books::follow(const cluster_view& cluster, queues::queue_index queue,
                                            const resources& more) {
  if (!shares_) return;
  const auto its = cluster.queue(list_.id(queue));
  resources now = sum_of([&](resource_kind kind) { return its->used(kind); });
  shares_->set_allocated(queue, now.add(more));
}

GANGSCHED_INLINE volcano_books::resources volcano_books::least_of(const group_view& root) const {
  resources made;
  const auto add = [&](const group_view& group, const auto& self) -> void {
    std::uint32_t left = group.spec().composite ? 0 : group.min_count();
    group.each_member([&](const pod_info& member) {
      if (left == 0) return;
      --left;
      made.add(request_of(member));
    });
    group.each_child([&](const group_view& child) { self(child, self); });
  };
  add(root, add);
  return made;
}

GANGSCHED_INLINE double volcano_books::share_of(const group_view& root) const {
  resources has;
  root.each_pod_below([&](const pod_info& pod) {
    if (pod.node() && !pod.terminating()) has.add(request_of(pod));
  });
  return dominant_share(has, total_);
}

GANGSCHED_INLINE void volcano_books::read_jobs(const cluster_view& cluster) {
  if (jobs_of_ == cluster.standing()) return;
  jobs_.clear();
  inqueue_ = {};
  of_queue_.assign(list_.size(), {});
  const auto look = [&](const pod_info& pod, bool placed) {
    const queues::queue_index queue = find(pod.queue());
    if (queue == queues::no_queue || pod.terminating()) return;
    const auto [found, made] = jobs_.try_emplace(key_of(pod));
    queues::volcano::job_load& load = found->second.load;
    if (made) {
      found->second.one = pod.id();
      load.queue = queue;
      load.min_resources = request_of(pod);
      if (const auto group = pod.group()) {
        load.min_resources = least_of(group->root());
        load.min_member = 0;
        const auto add = [&](const group_view& one, const auto& self) -> void {
          constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
          if (!one.spec().composite)
            load.min_member =
                static_cast<std::int32_t>(std::min(most, std::int64_t{load.min_member} + one.min_count()));
          one.each_child([&](const group_view& child) { self(child, self); });
        };
        add(group->root(), add);
      }
    }
    if (!placed) return;
    load.allocated.add(request_of(pod));
    ++load.allocated_tasks;
  };
  cluster.each_node([&](const node_info& node) { node.each_pod([&](const pod_info& pod) { look(pod, true); }); });
  cluster.each_nominated([&](const pod_info& pod) {
    if (!pod.node()) look(pod, false);
  });
  for (auto& [key, job] : jobs_) {
    const bool runs = job.load.allocated_tasks >= job.load.min_member;
    if (runs) {
      job.load.phase = queues::volcano::job_phase::running;
      job.elastic = job.load.elastic();
      job.kept = job.load.reserved().value_or(resources{});
    } else {  // what of it has a node counts there
      job.kept = *job.load.min_resources;
      for (queues::volcano::kind k = 0; k < queues::volcano::most_kinds; ++k)
        if (job.kept.names(k)) job.kept.set(k, std::max(0.0, job.kept.get(k) - job.load.allocated.get(k)));
    }
    of_queue_[job.load.queue].own_inqueue.add(job.kept);
    of_queue_[job.load.queue].own_elastic.add(job.elastic);
    inqueue_.add(job.kept);
  }
  jobs_of_ = cluster.standing();
}

GANGSCHED_INLINE volcano_books::reservations volcano_books::reserved(const cluster_view& cluster,
                                                                     queues::queue_index queue, job_key job) {
  read_jobs(cluster);
  reservations made = of_queue_[queue];
  made.inqueue = inqueue_;
  if (const auto own = jobs_.find(job); own != jobs_.end()) {
    made.inqueue.subtract(own->second.kept);
    if (own->second.load.queue == queue) made.own_inqueue.subtract(own->second.kept);
  }
  return made;
}

GANGSCHED_INLINE volcano_books::resources volcano_books::used(const cluster_view& cluster) const {
  resources made;
  cluster.each_node(
      [&](const node_info& node) { made.add(sum_of([&](resource_kind kind) { return node.used(kind); })); });
  return made;
}

GANGSCHED_INLINE const volcano_books::tree* volcano_books::hierarchy(const cluster_view& cluster) {
  if (!has_hierarchy_) return nullptr;
  if (tree_ && tree_of_ == cluster.standing()) return &*tree_;
  read_jobs(cluster);
  tree_.emplace(tree{queues::volcano::fair_hierarchy::make(total_).value(), {}, {}});
  // Volcano's weights are at least 1: if there are lesser ones, all count in thousandths.
  double scale = 1;
  cluster.each_queue([&](const queue_view& one) { scale = one.spec().weight < 1 ? 1000 : scale; });
  std::vector<resources> waits;
  for (queues::queue_index at = 0; at < list_.size(); ++at) {
    const queue_view queue = *cluster.queue(list_.id(at));
    std::vector<queues::volcano::fair_hierarchy::part> path;
    queue.each_up([&](const queue_view& one) {  // rows, since a name may have a '/' in it
      path.push_back({std::to_string(one.row()), one.spec().weight * scale});
      return true;
    });
    std::reverse(path.begin(), path.end());
    tree_->queue_nodes.push_back(tree_->jobs.add_queue(path));
    waits.push_back(sum_of([&](resource_kind kind) { return std::max<std::int64_t>(queue.requested(kind), 0); }));
  }
  for (const auto& [key, job] : jobs_) {
    resources wanted = job.load.allocated;
    if (key.first != no_row) {
      wanted = {};
      cluster.pod(job.one)->group()->root().each_pod_below([&](const pod_info& pod) { wanted.add(request_of(pod)); });
    }
    const auto leaf = tree_->jobs.add_job(tree_->queue_nodes[job.load.queue], {}, wanted);
    tree_->jobs.allocate(leaf, job.load.allocated);
    tree_->leaves.emplace(key, leaf);
    waits[job.load.queue].subtract(wanted);
  }
  for (queues::queue_index at = 0; at < list_.size(); ++at)
    if (!waits[at].is_empty()) tree_->jobs.add_job(tree_->queue_nodes[at], {}, waits[at]);
  tree_of_ = cluster.standing();
  return &*tree_;
}

}  // namespace gangsched::inline GANGSCHED_ABI
