#include "gangsched/policies/kai_snapshot.hpp"

#include <algorithm>
#include <map>

#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/queue_view.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// How many GPUs a MIG instance counts as, by its profile: as many as it has compute slices, 2 of "2g.10gb"; 0 of what is none.
inline double mig_profile_gpus(std::string_view profile) noexcept {
  if (profile.size() < 2 || profile[1] != 'g') return 0;
  return profile[0] >= '1' && profile[0] <= '9' ? profile[0] - '0' : 0;
}
/// The same by its resource, "nvidia.com/mig-2g.10gb"; 0 of another resource.
inline double mig_gpus_of(std::string_view resource) noexcept {
  constexpr std::string_view mig = "nvidia.com/mig-";
  return resource.starts_with(mig) ? mig_profile_gpus(resource.substr(mig.size())) : 0;
}
inline double kai_bound(std::int64_t amount) noexcept {
  return amount >= kai_snapshot::unbounded ? queues::kai::unlimited : static_cast<double>(amount);
}

}  // namespace detail

GANGSCHED_INLINE kai_snapshot::kai_snapshot(const cluster_view& of, std::string gpu_resource,
                                            std::int32_t not_preemptible_from)
    : cluster{of},
      gpu{std::move(gpu_resource)},
      non_preemptible_from{not_preemptible_from},
      kinds_of{kinds::cpu, kinds::memory, of.find_kind(gpu)} {
  if (!cluster.has_queues() || !read_queues()) return;
  read_nodes();
  read_pods();
  table.count_into(*shares);
  shares->divide();
}

GANGSCHED_INLINE double kai_snapshot::free_gpus(const node_info& node) const {
  double free = 0;
  for (const auto& [kind, gpus] : mig) free += gpus * static_cast<double>(node.free(kind));
  const device_state inside = node.devices();
  if (!inside || inside.gpu_count() == 0)
    return free + (kinds_of[2] ? static_cast<double>(node.free(*kinds_of[2])) : 0.0);
  for (std::uint32_t i = 0; i < inside.gpu_count(); ++i) free += inside.free_milli(i) / 1000.0;
  return free;
}

GANGSCHED_INLINE std::vector<std::uint16_t> kai_snapshot::shares_of(const pod_info& pod) {
  std::vector<std::uint16_t> made;
  if (pod.devices() == nullptr) return made;
  for (const device_grant& one : pod.devices()->grants)
    if (one.kind == device_grant::form::share) made.push_back(one.device);
  return made;
}

GANGSCHED_INLINE bool kai_snapshot::read_queues() {
  const std::vector<queue_view> all = list.read(cluster);
  if (all.empty()) return false;
  shares.emplace(queue_list::tree_of(all), resources);
  for (const queue_view& queue : all) {
    const queues::queue_index at = list.find(queue);
    (void)shares->set_rank(at, {queue.spec().priority, static_cast<std::int64_t>(queue.row())});
    for (std::size_t r = 0; r < resources; ++r) {
      if (!kinds_of[r]) continue;
      const auto limit = queue.limit(*kinds_of[r]);
      (void)shares->set_quota(at, r,
                              {detail::kai_bound(queue.guaranteed(*kinds_of[r])),
                               limit ? detail::kai_bound(*limit) : queues::kai::unlimited, queue.weight(*kinds_of[r])});
    }
  }
  return true;
}

GANGSCHED_INLINE void kai_snapshot::read_nodes() {
  for (resource_kind kind = 0; kind < cluster.kind_count(); ++kind)
    if (const double gpus = detail::mig_gpus_of(cluster.kind_name(kind)); gpus != 0) mig.emplace_back(kind, gpus);
  amount total{};
  cluster.each_node([&](const node_info& node) {
    for (std::size_t r = 0; r < resources; ++r)
      if (kinds_of[r]) total[r] += static_cast<double>(node.allocatable(*kinds_of[r]));
    for (const auto& [kind, gpus] : mig) total[2] += gpus * static_cast<double>(node.allocatable(kind));
    const device_state inside = node.devices();
    if (!inside || inside.inventory->gpu_memory_mib == 0) return;
    const auto memory = static_cast<double>(inside.inventory->gpu_memory_mib);
    least_gpu_memory = least_gpu_memory == 0 ? memory : std::min(least_gpu_memory, memory);
  });
  for (std::size_t r = 0; r < resources; ++r) (void)shares->set_total(r, total[r]);
}

GANGSCHED_INLINE kai_snapshot::amount kai_snapshot::needs_of(const pod_info& pod, double gpu_memory) const {
  amount made{};
  for (std::size_t r = 0; r < resources; ++r)
    if (kinds_of[r]) made[r] = static_cast<double>(pod.request(*kinds_of[r]));
  const bool by_number = made[2] != 0;
  double instances = 0;
  for (const auto& [kind, gpus] : mig) instances += gpus * static_cast<double>(pod.request(kind));
  made[2] += instances;
  for (const device_demand& either : pod.spec().devices) {
    using form = device_demand::form;
    const device_demand& one = either.first_of.empty() ? either : either.first_of.front();
    // Whole GPUs and instances are those that containers request by number, if they do.
    if (!one.wants_gpu() || (one.kind == form::whole && by_number) || (one.kind == form::mig && instances != 0))
      continue;
    double part = one.milli != 0 ? one.milli / 1000.0 : one.memory_percent / 100.0;
    if (one.memory_mib != 0) part = gpu_memory == 0 ? 0 : static_cast<double>(one.memory_mib) / gpu_memory;
    if (one.kind == form::mig) part = detail::mig_profile_gpus(pod.text(one.mig_profile));
    made[2] += part * one.count;
  }
  return made;
}

/// Jobs and their sets, in order of groups; then the tasks.
GANGSCHED_INLINE void kai_snapshot::read_pods() {
  std::map<row_t, std::size_t> jobs;  // by row of the tree's root
  // By job and row of the group: the minimum, and then the set's number.
  std::map<std::pair<std::size_t, row_t>, std::uint32_t> sets;
  std::vector<std::pair<pod_info, std::size_t>> pods;  // with their jobs
  task_of_pod.assign(cluster.pod_rows(), nothing);
  table.reserve(cluster.pod_rows(),
                cluster.pod_rows());  // as many as there may be: they are kept until the next change only
  groups.reserve(cluster.pod_rows());
  places.reserve(cluster.pod_rows());
  pods.reserve(cluster.pod_rows());
  const auto add_job = [&](queues::queue_index queue, std::int32_t priority, std::string_view name, group_id root) {
    table.add_job(
        {queue, {priority, {}, std::numeric_limits<std::int64_t>::max(), name}, priority < non_preemptible_from});
    groups.push_back(root);
  };
  cluster.each_pod([&](const pod_info& pod) {
    const auto queue = pod.queue();
    if (!queue) return;
    const queues::queue_index in = list.find(*queue);
    std::size_t which = table.jobs().size();
    if (const auto group = pod.group()) {
      const group_view root = group->root();
      const auto [found, made] = jobs.try_emplace(root.row(), which);
      if (made) add_job(in, root.spec().priority.value_or(pod.priority()), root.name(), root.id());
      which = found->second;
      sets.try_emplace({which, group->row()}, group->is_gang() ? group->min_count() : 1);
    } else {
      add_job(in, pod.priority(), pod.name(), {});
      table.add_set(which, 1);
    }
    std::int64_t& created = table.job(which).rank.created;
    created = std::min(created, static_cast<std::int64_t>(pod.arrival()));
    pods.emplace_back(pod, which);
  });
  for (auto& [key, set] : sets) set = table.add_set(key.first, set);
  for (const auto& [pod, job] : pods) {
    const auto group = pod.group();
    add_task(pod, job, group ? sets.at({job, group->row()}) : 0);
  }
  table.finish();
}

GANGSCHED_INLINE void kai_snapshot::add_task(const pod_info& pod, std::size_t job, std::uint32_t set) {
  queues::kai::job_task task{job, set, pod.rank().value_or(std::numeric_limits<std::int32_t>::max()), pod.arrival()};
  place at{pod.id(), {}};
  double gpu_memory = least_gpu_memory;
  if (const auto on = pod.node()) {
    at.node = on->id();
    at.shares = shares_of(pod);
    task.state = !pod.terminating() ? state::placed : pod.preempted() ? state::coming_back : state::leaving;
    if (on->devices()) gpu_memory = static_cast<double>(on->devices().inventory->gpu_memory_mib);
    if (pod.start_time()) {
      std::optional<instant>& started = table.job(job).started;
      started = std::max(started.value_or(*pod.start_time()), *pod.start_time());
    }
  } else if (const auto meant = pod.nominated_node()) {
    at.node = meant->id();
    at.promised = true;
    task.state = state::placed;
  }
  task_of_pod[pod.row()] = table.add_task(task, needs_of(pod, gpu_memory));
  places.push_back(at);
}

GANGSCHED_INLINE std::size_t kai_snapshot::job_of(const group_view& group) const {
  std::size_t found = nothing;
  group.root().each_pod_below([&](const pod_info& pod) {
    if (found == nothing) found = job_of(pod.id());
  });
  return found;
}

GANGSCHED_INLINE bool kai_snapshot::waits_for_victims(std::size_t job) const {
  bool leaving = false;
  for (std::size_t t = 0; t < places.size(); ++t) {
    if (table.tasks()[t].job != job || !places[t].promised) continue;
    cluster.node(places[t].node)->each_pod([&](const pod_info& other) { leaving = leaving || other.terminating(); });
  }
  return leaving;
}

GANGSCHED_INLINE bool kai_snapshot::exceeds_deserved(std::size_t job) const {
  const queues::kai::job_entry& its = table.jobs()[job];
  if (its.preemptible) return false;
  const std::vector<double> sum = table.sum_of(next_tasks(job));
  for (queues::queue_index up = its.queue; up != queues::no_queue; up = shares->tree().parent(up)) {
    for (std::size_t r = 0; r < resources; ++r) {
      const queues::kai::resource_share& of = shares->share(up, r);
      if (sum[r] > 0 && !queues::kai::within(of.allocated_non_preemptible + sum[r], of.deserved)) return true;
    }
  }
  return false;
}

GANGSCHED_INLINE status kai_snapshot::may_start(std::size_t job) const {
  if (job == nothing) return status::success();
  if (waits_for_victims(job)) return status::pending("it waits for those who leave its nodes");
  return exceeds_deserved(job) ? status::unschedulable("not preemptible, and more than its queue deserves")
                               : status::success();
}

GANGSCHED_INLINE status kai_snapshot::within_limits(std::size_t job) const {
  if (job == nothing) return status::success();
  const queues::kai::job_entry& its = table.jobs()[job];
  const auto lacks = shares->shortage(its.queue, table.sum_of(next_tasks(job)), true);
  return lacks ? status::unschedulable("over the limit of its queue") : status::success();
}

}  // namespace gangsched::inline GANGSCHED_ABI
