#include "gangsched/queues/volcano/session.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

namespace detail {

/// Whether a task counts for its queue and job.
[[nodiscard]] inline bool holds(task_status of) { return of != task_status::pending && of != task_status::leaving; }

}  // namespace detail

GANGSCHED_INLINE result<void> session::check_tasks(const cluster_state& cluster) {
  for (const job_spec& job : cluster.jobs) {
    for (const task_spec& task : job.tasks) {
      const std::string object = "task " + task.name;
      const bool placed = task.status == task_status::running || task.status == task_status::leaving;
      if (!placed && task.status != task_status::pending)
        return error{errc::malformed, object, "status", "has to be pending, running or leaving when a session begins"};
      if (placed && task.node == no_node) return error{errc::malformed, object, "node", "is missing"};
      if (placed && task.node >= cluster.nodes.size())
        return error{errc::unknown, object, "node", "there is no such node"};
    }
  }
  return {};
}

GANGSCHED_INLINE result<session> session::open(const cluster_state& cluster, const session_options& options) {
  if (auto right = check(options); !right) return right.error();
  if (auto right = check_tasks(cluster); !right) return right.error();
  session made;
  made.cluster_ = &cluster;
  made.options_ = &options;
  for (const node_spec& node : cluster.nodes) {
    made.total_.add(node.capacity);
    made.nodes_.push_back({.idle = node.capacity});
  }
  std::vector<job_load> loads;
  if (auto taken = made.take_jobs(loads); !taken) return taken.error();
  if (auto taken = made.take_plugins(loads); !taken) return taken.error();
  return made;
}

GANGSCHED_INLINE result<void> session::take_jobs(std::vector<job_load>& loads) {
  for (const job_spec& spec : cluster_->jobs) {
    const auto at = static_cast<std::uint32_t>(jobs_.size());
    if (spec.queue >= cluster_->queues.size())
      return error{errc::unknown, "job " + spec.name, "queue", "there is no such queue"};
    job_state& job = jobs_.emplace_back();
    job.spec = &spec;
    job.first = static_cast<std::uint32_t>(tasks_.size());
    job.count = static_cast<std::uint32_t>(spec.tasks.size());
    job.phase = spec.phase;
    for (const role_minimum& role : spec.min_roles) job.roles_total += role.members;
    job_load load{
        .queue = spec.queue, .phase = spec.phase, .min_member = spec.min_member, .min_resources = spec.min_resources};
    for (std::uint32_t place = 0; place < job.count; ++place) {
      const task_spec& task = spec.tasks[place];
      tasks_.push_back({&task, at, place, no_node, task.status, task.request.is_empty()});
      ++job.number[static_cast<std::size_t>(task.status)];
      if (task.status == task_status::pending) load.pending.add(task.request);
      if (task.status == task_status::running) {
        load.allocated.add(task.request);
        ++load.allocated_tasks;
      }
      if (task.status == task_status::pending) continue;
      tasks_.back().node = task.node;
      count_on_node(job.first + place, true);
    }
    job.allocated = load.allocated;
    job.share = dominant_share(job.allocated, total_);
    loads.push_back(std::move(load));
  }
  return {};
}

GANGSCHED_INLINE result<void> session::take_plugins(std::span<const job_load> loads) {
  if (const bool divides = find(plugin_name::proportion) != nullptr;
      divides || find(plugin_name::capacity) != nullptr) {
    auto made = queue_shares::open(divides ? queue_policy::proportion : queue_policy::capacity, total_,
                                   cluster_->queues, loads);
    if (!made) return made.error();
    queues_ = *std::move(made);
  }
  if (const plugin* drf = find(plugin_name::drf); drf != nullptr && drf->hierarchy) {
    auto tree = fair_hierarchy::make(total_);
    if (!tree) return tree.error();
    hierarchy_ = *std::move(tree);
    queue_nodes_.resize(cluster_->queues.size());
    for (job_state& job : jobs_) {
      const queue_spec& queue = cluster_->queues[job.spec->queue];
      auto node = hierarchy_->add_queue(queue.name, queue.hierarchy, queue.hierarchy_weights);
      if (!node) return node.error();
      queue_nodes_[job.spec->queue] = *node;
      resources request;
      for (const task_spec& task : job.spec->tasks) request.add(task.request);
      job.leaf = hierarchy_->add_job(*node, job.spec->name, request);
      hierarchy_->allocate(job.leaf, job.allocated);
    }
  }
  if (const plugin* bound = find(plugin_name::overcommit); bound != nullptr) {
    resources used;
    for (const task_state& task : tasks_)
      if (task.node != no_node) used.add(task.spec->request);
    overcommit_.emplace(total_, used, bound->overcommit_factor, loads);
  }
  return {};
}

GANGSCHED_INLINE votes session::all() const { return {&options_->tiers, &total_, queues(), hierarchy(), queue_nodes_}; }

GANGSCHED_INLINE void session::count_on_node(std::uint32_t index, bool there) {
  const task_state& task = tasks_[index];
  const resources& request = task.spec->request;
  node_state& node = nodes_[task.node];
  const auto change = [&](resources& of, bool more) { more ? of.add(request) : of.subtract(request); };
  if (task.status == task_status::pipelined) {
    change(node.pipelined, there);
  } else {
    change(node.idle, !there);
    if (task.status == task_status::leaving) change(node.releasing, there);
  }
  if (there) {
    node.tasks.push_back(index);
  } else {
    std::erase(node.tasks, index);
  }
}

GANGSCHED_INLINE void session::move(std::uint32_t index, task_status to, node_index node) {
  task_state& task = tasks_[index];
  job_state& job = jobs_[task.job];
  const bool held = detail::holds(task.status), holds = detail::holds(to);
  if (task.node != no_node) count_on_node(index, false);
  --job.number[static_cast<std::size_t>(task.status)];
  task.status = to;
  task.node = node;
  ++job.number[static_cast<std::size_t>(to)];
  if (node != no_node) count_on_node(index, true);
  if (held == holds) return;
  const resources& request = task.spec->request;
  holds ? job.allocated.add(request) : job.allocated.subtract(request);
  job.share = dominant_share(job.allocated, total_);
  if (queues_) holds ? queues_->allocate(job.spec->queue, request) : queues_->release(job.spec->queue, request);
  if (hierarchy_) holds ? hierarchy_->allocate(job.leaf, request) : hierarchy_->release(job.leaf, request);
}

GANGSCHED_INLINE decision session::decided(std::uint32_t index, action by) const {
  const task_state& task = tasks_[index];
  return {task.job, task.place, task.node, by};
}

GANGSCHED_INLINE void session::bind(std::uint32_t index, action by) {
  move(index, task_status::binding, tasks_[index].node);
  result_.bound.push_back(decided(index, by));
}

GANGSCHED_INLINE void session::commit(statement& of) {
  for (const operation& one : of) {
    if (one.to == task_status::allocated) bind(one.task, one.by);
    if (one.to == task_status::leaving) result_.evicted.push_back(decided(one.task, one.by));
  }
  of.clear();
}

GANGSCHED_INLINE void session::discard(statement& of) {
  for (; !of.empty(); of.pop_back()) {
    const operation& one = of.back();
    if (one.to == task_status::leaving) {
      move(one.task, task_status::running, tasks_[one.task].node);
    } else {
      move(one.task, task_status::pending, no_node);
    }
  }
}

GANGSCHED_INLINE bool session::queue_before(queue_index a, queue_index b) const {
  if (const std::weak_ordering said = all().order(a, b); said != 0) return said < 0;
  const queue_spec &left = cluster_->queues[a], &right = cluster_->queues[b];
  return left.created != right.created ? left.created < right.created : left.name < right.name;
}

GANGSCHED_INLINE bool session::job_before(std::uint32_t a, std::uint32_t b) const {
  const auto rank = [&](const job_state& job) {
    return job_rank{job.spec->priority, gang_ready(job), job.share, job.spec->created, job.spec->name};
  };
  return all().order(rank(jobs_[a]), rank(jobs_[b])) < 0;
}

GANGSCHED_INLINE bool session::task_before(std::uint32_t a, std::uint32_t b) const {
  const task_spec &left = *tasks_[a].spec, &right = *tasks_[b].spec;
  if (left.priority != right.priority && find(plugin_name::priority) != nullptr) return left.priority > right.priority;
  return left.created != right.created ? left.created < right.created : left.name < right.name;
}

GANGSCHED_INLINE bool session::victim_before(std::uint32_t a, std::uint32_t b) const {
  if (tasks_[a].job == tasks_[b].job) return !task_before(a, b);
  const queue_index left = jobs_[tasks_[a].job].spec->queue, right = jobs_[tasks_[b].job].spec->queue;
  return left != right ? !queue_before(left, right) : !job_before(tasks_[a].job, tasks_[b].job);
}

GANGSCHED_INLINE std::int32_t session::ready(const job_state& job) {
  return job.of(task_status::allocated) + job.of(task_status::binding) + job.of(task_status::running);
}

GANGSCHED_INLINE std::int32_t session::idle_best_effort(const job_state& job) const {
  return static_cast<std::int32_t>(std::ranges::count_if(
      tasks_.begin() + job.first, tasks_.begin() + job.first + job.count,
      [](const task_state& task) { return task.best_effort && task.status == task_status::pending; }));
}

GANGSCHED_INLINE bool session::gang_ready(const job_state& job) const {
  return ready(job) + idle_best_effort(job) >= job.spec->min_member;
}

GANGSCHED_INLINE std::int32_t session::in_role(const job_state& job, std::string_view role, bool with_pipelined,
                                               bool with_all_pending) const {
  return static_cast<std::int32_t>(std::ranges::count_if(
      tasks_.begin() + job.first, tasks_.begin() + job.first + job.count, [&](const task_state& task) {
        if (task.spec->role != role) return false;
        if (task.status == task_status::pending) return with_all_pending || task.best_effort;
        return task.status == task_status::pipelined ? with_pipelined : task.status != task_status::leaving;
      }));
}

GANGSCHED_INLINE bool session::roles_met(const job_state& job, bool with_pipelined) const {
  if (job.spec->min_member < job.roles_total) return true;
  return std::ranges::all_of(job.spec->min_roles, [&](const role_minimum& role) {
    return in_role(job, role.role, with_pipelined, false) >= role.members;
  });
}

GANGSCHED_INLINE bool session::job_valid(const job_state& job) const {
  if (find(plugin_name::gang) == nullptr) return true;
  if (job.spec->min_member >= job.roles_total)
    for (const role_minimum& role : job.spec->min_roles)
      if (in_role(job, role.role, true, true) < role.members) return false;
  return static_cast<std::int32_t>(job.count) - job.of(task_status::leaving) >= job.spec->min_member;
}

GANGSCHED_INLINE bool session::job_ready(const job_state& job) const {
  return find(plugin_name::gang) == nullptr || (roles_met(job, false) && gang_ready(job));
}

GANGSCHED_INLINE bool session::job_pipelined(const job_state& job) const {
  if (find(plugin_name::gang) == nullptr) return true;
  return roles_met(job, true) &&
         job.of(task_status::pipelined) + ready(job) + idle_best_effort(job) >= job.spec->min_member;
}

GANGSCHED_INLINE bool session::job_starving(const job_state& job) const {
  return all().starving(ready(job) + job.of(task_status::pipelined), job.spec->min_member,
                        static_cast<std::int32_t>(job.count));
}

GANGSCHED_INLINE bool session::worth_continuing(const job_state& job) const {
  if (job.spec->min_member == static_cast<std::int32_t>(job.count)) return false;
  const auto failed = [&](std::string_view role) {
    return std::ranges::find(job.failed_roles, role) != job.failed_roles.end();
  };
  if (job.spec->min_member < job.roles_total) {
    const auto left = std::ranges::count_if(
        tasks_.begin() + job.first, tasks_.begin() + job.first + job.count,
        [&](const task_state& task) { return task.status == task_status::pending && !failed(task.spec->role); });
    return ready(job) + static_cast<std::int32_t>(left) >= job.spec->min_member;
  }
  return std::ranges::none_of(job.spec->min_roles, [&](const role_minimum& role) {
    return failed(role.role) && in_role(job, role.role, false, false) < role.members;
  });
}

GANGSCHED_INLINE bool session::enqueueable(const job_spec& job) {
  return all().enqueueable(job.queue, *job.min_resources, queues_ ? &*queues_ : nullptr,
                           overcommit_ ? &*overcommit_ : nullptr);
}

GANGSCHED_INLINE bool session::allocatable(queue_index queue, const resources& request) const {
  return !queues_ || queues_->allocatable(queue, request);
}

GANGSCHED_INLINE session::task_list session::victims(std::uint32_t asker, const task_list& candidates,
                                                     bool reclaims) const {
  const auto voter = [&](std::uint32_t task) {
    return voting_task{tasks_[task].job, tasks_[task].spec->priority, tasks_[task].spec->request};
  };
  std::vector<voting_task> voting;
  for (const std::uint32_t task : candidates) voting.push_back(voter(task));
  task_list found = all().victims(voter(asker), voting, reclaims, [&](std::uint32_t number) {
    const job_state& job = jobs_[number];
    return voting_job{job.spec->queue, job.spec->priority, ready(job), job.spec->min_member, job.allocated, job.leaf};
  });
  for (std::uint32_t& one : found) one = candidates[one];
  return found;
}

GANGSCHED_INLINE resources session::future_idle(const node_state& node) {
  return resources{node.idle}.add(node.releasing).subtract(node.pipelined);
}

GANGSCHED_INLINE bool session::victims_suffice(std::uint32_t asker, const node_state& node,
                                               const task_list& found) const {
  resources room = future_idle(node);
  for (const std::uint32_t task : found) room.add(tasks_[task].spec->request);
  return tasks_[asker].spec->request.within(room);
}

GANGSCHED_INLINE job_phase session::closing_phase(const job_state& job) const {
  if (job.of(task_status::running) > 0 && find(plugin_name::gang) != nullptr && !gang_ready(job))
    return job_phase::unknown;
  if (ready(job) >= job.spec->min_member) return ready(job) == 0 ? job_phase::completed : job_phase::running;
  return job.phase == job_phase::inqueue ? job_phase::inqueue : job_phase::pending;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano
