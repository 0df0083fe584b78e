#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/volcano/fair_hierarchy.hpp"
#include "gangsched/queues/volcano/queue_shares.hpp"
#include "gangsched/queues/volcano/resources.hpp"
#include "gangsched/queues/volcano/votes.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

using node_index = std::uint32_t;
inline constexpr node_index no_node = ~node_index{0};

enum class task_status : std::uint8_t {
  pending,
  pipelined,  ///< waits for what terminating tasks on its node free
  allocated,  ///< has a node, but its job is not ready to be bound
  binding,    ///< bound in this session
  running,
  leaving,  ///< evicted; holds its node until it is gone
};
inline constexpr std::size_t task_statuses = 6;

/// A pod of a job.
struct task_spec {
  std::string name;
  std::string role = {};
  std::int32_t priority = 1;  ///< highest first
  std::int64_t created = 0;   ///< then oldest first, then by name
  resources request = {};     ///< with a pod, if pods are counted
  task_status status = task_status::pending;
  node_index node = no_node;  ///< of one that runs or leaves
  bool is_protected = false;  ///< never a victim
};

struct role_minimum {
  std::string role;
  std::int32_t members = 0;
};

/// A pod group with its pods.
struct job_spec {
  std::string name;
  queue_index queue = 0;
  std::int32_t priority = 0;
  std::int64_t created = 0;
  std::int32_t min_member = 1;
  std::vector<role_minimum> min_roles = {};
  std::optional<resources> min_resources = {};
  job_phase phase = job_phase::pending;
  std::vector<task_spec> tasks = {};
};

struct node_spec {
  std::string name;
  resources capacity = {};
};

/// The state at the beginning of a session.
struct cluster_state {
  std::vector<node_spec> nodes = {};  ///< the first feasible one is taken
  std::vector<queue_spec> queues = {};
  std::vector<job_spec> jobs = {};
};

/// A decision on a task.
struct decision {
  std::uint32_t job = 0;
  std::uint32_t task = 0;  ///< its index in the job
  node_index node = no_node;
  action by = action::allocate;
  friend bool operator==(const decision&, const decision&) = default;
};

/// The decisions of a session.
struct session_result {
  std::vector<decision> bound = {};      ///< in order
  std::vector<decision> evicted = {};    ///< in order
  std::vector<decision> pipelined = {};  ///< by job and task; the room is reserved in this session
  std::vector<job_phase> phases = {};    ///< by job
};

/// One cycle of Volcano 1.10 over plain amounts of nodes: what its plugins priority, gang, drf, proportion, capacity and overcommit decide
/// about queues, jobs and tasks, tier by tier. It has no predicates and no node scores. Upstream iterates over jobs, queues and tasks of a
/// node in map order, which is random; here they come in the order in which they are given, so that the result is one of upstream's.
class GANGSCHED_API session {
 public:
  /// @p cluster and @p options have to outlive it. Errors name the object: those of queue_shares::open, fair_hierarchy and check,
  /// `unknown` (a job's queue, a task's node), `malformed` (a running or leaving task without a node; other statuses than these and
  /// pending).
  static result<session> open(const cluster_state& cluster, const session_options& options);
  static result<session> open(const cluster_state&& cluster, const session_options& options) = delete;
  static result<session> open(const cluster_state& cluster, const session_options&& options) = delete;

  /// Queues as proportion or capacity see them; null if neither is configured.
  [[nodiscard]] const queue_shares* queues() const { return queues_ ? &*queues_ : nullptr; }
  /// The tree of drf; null without `hierarchy`.
  [[nodiscard]] const fair_hierarchy* hierarchy() const { return hierarchy_ ? &*hierarchy_ : nullptr; }
  /// The dominant share of a job in the cluster.
  [[nodiscard]] double job_share(std::size_t job) const { return jobs_[job].share; }

  /// Takes the actions in their order, once.
  session_result run();

 private:
  struct task_state {
    const task_spec* spec = nullptr;
    std::uint32_t job = 0, place = 0;
    node_index node = no_node;
    task_status status = task_status::pending;
    bool best_effort = false;
  };
  struct job_state {
    const job_spec* spec = nullptr;
    std::uint32_t first = 0, count = 0;  ///< its tasks
    job_phase phase = job_phase::pending;
    std::uint32_t number[task_statuses] = {};
    resources allocated = {};
    double share = 0;
    fair_hierarchy::node_index leaf = 0;
    std::int64_t roles_total = 0;
    std::vector<std::string_view> failed_roles = {};
    [[nodiscard]] std::int32_t of(task_status status) const {
      return static_cast<std::int32_t>(number[static_cast<std::size_t>(status)]);
    }
  };
  struct node_state {
    resources idle = {}, releasing = {}, pipelined = {};
    std::vector<std::uint32_t> tasks = {};
  };
  struct operation {
    action by = action::allocate;
    task_status to = task_status::pending;
    std::uint32_t task = 0;
  };
  using statement = std::vector<operation>;
  using task_list = std::vector<std::uint32_t>;

  session() = default;
  static result<void> check_tasks(const cluster_state& cluster);
  result<void> take_jobs(std::vector<job_load>& loads);
  result<void> take_plugins(std::span<const job_load> loads);
  [[nodiscard]] const plugin* find(plugin_name name) const { return volcano::find(options_->tiers, name); }
  [[nodiscard]] votes all() const;

  // Changes of a task's status and node, with all sums.
  void count_on_node(std::uint32_t task, bool there);
  void move(std::uint32_t task, task_status to, node_index node);
  void bind(std::uint32_t task, action by);
  [[nodiscard]] decision decided(std::uint32_t task, action by) const;
  void commit(statement& of);
  void discard(statement& of);

  // Queries to all plugins.
  [[nodiscard]] bool queue_before(queue_index a, queue_index b) const;
  [[nodiscard]] bool job_before(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool task_before(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool victim_before(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool job_valid(const job_state& job) const;
  [[nodiscard]] bool job_ready(const job_state& job) const;
  [[nodiscard]] bool job_pipelined(const job_state& job) const;
  [[nodiscard]] bool job_starving(const job_state& job) const;
  [[nodiscard]] bool enqueueable(const job_spec& job);
  [[nodiscard]] bool allocatable(queue_index queue, const resources& request) const;
  [[nodiscard]] task_list victims(std::uint32_t asker, const task_list& candidates, bool reclaims) const;

  // The counts of plugin gang.
  [[nodiscard]] static std::int32_t ready(const job_state& job);
  [[nodiscard]] std::int32_t idle_best_effort(const job_state& job) const;
  [[nodiscard]] bool gang_ready(const job_state& job) const;
  [[nodiscard]] bool roles_met(const job_state& job, bool with_pipelined) const;
  [[nodiscard]] std::int32_t in_role(const job_state& job, std::string_view role, bool with_pipelined,
                                     bool with_all_pending) const;
  [[nodiscard]] bool worth_continuing(const job_state& job) const;

  [[nodiscard]] static resources future_idle(const node_state& node);
  [[nodiscard]] bool victims_suffice(std::uint32_t asker, const node_state& node, const task_list& found) const;
  [[nodiscard]] task_list pending_tasks(const job_state& job) const;

  void enqueue();
  void allocate();
  bool allocate_tasks(task_list& tasks, std::uint32_t job);
  void reclaim();
  bool reclaim_for(std::uint32_t task);
  void preempt();
  void preempt_between_jobs(task_list& preemptors, std::vector<task_list>& waiting);
  bool preempt_for(statement& with, std::uint32_t task, bool within_job);
  void backfill();
  [[nodiscard]] task_list to_backfill();
  [[nodiscard]] job_phase closing_phase(const job_state& job) const;

  const cluster_state* cluster_ = nullptr;
  const session_options* options_ = nullptr;
  resources total_;
  std::vector<node_state> nodes_;
  std::vector<task_state> tasks_;
  std::vector<job_state> jobs_;
  std::optional<queue_shares> queues_;
  std::optional<fair_hierarchy> hierarchy_;
  std::vector<fair_hierarchy::node_index> queue_nodes_;  ///< by queue, if there is a hierarchy
  std::optional<overcommit> overcommit_;
  session_result result_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/volcano/session.cpp"
#include "gangsched/src/queues/volcano/session_actions.cpp"
#endif
