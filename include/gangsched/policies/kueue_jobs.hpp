#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/policies/kueue_quotas.hpp"
#include "gangsched/queues/kueue/local_usage.hpp"
#include "gangsched/queues/kueue/workload_table.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which jobs run in Kueue's queues, and what each uses: updated from the log, also in transactions. The running pods of a tree of groups
/// are one job, and so is a pod without a group. A job in several queues, or in none, has no quota that it could release as a whole, and is
/// not listed.
class kueue_jobs {
 public:
  using queue_index = queues::queue_index;

  struct job {
    row_t tree = no_row;            ///< the root of its groups
    std::vector<pod_id> pods = {};  ///< by row; empty: the row of the job is free
    std::int32_t priority = 0;
  };

  /// @p quotas has to outlive it.
  explicit kueue_jobs(const kueue_quotas& quotas) noexcept : quotas_(&quotas) {}
  kueue_jobs(const kueue_jobs&) = delete;
  kueue_jobs& operator=(const kueue_jobs&) = delete;

  /// Empties the list: the quotas have changed.
  void forget() {
    listed_at_.reset();
    workloads_ = queues::kueue::workload_table{quotas_->all().tree().size()};
  }
  /// Lists the jobs that changes since the last call may affect. local_of(queue, namespace) is a local queue's number, in queues with local
  /// usage. O(changes, and the pods of their jobs).
  template <class LocalOf>
  void list(const cluster_view& cluster, const LocalOf& local_of) {
    const cluster_view::log_standing now = cluster.standing();
    if (listed_at_ == now) return;
    bool kept = listed_at_ && listed_to_ <= cluster.changes();
    listed_at_.reset();
    const auto look = [&](const change& what) { kept = kept && note(cluster, what); };
    if (kept && !cluster.each_change(listed_to_, look)) kept = false;
    // Changes of transactions at that time may have been rolled back.
    for (const change& what : tentative_) look(what);
    tentative_.clear();
    cluster.each_uncommitted([&](const change& what) {
      look(what);
      tentative_.push_back(what);
    });
    if (!kept) {
      noted_ = {};
      all_.clear(), of_pod_.clear(), of_tree_.clear(), passed_over_.clear();
      workloads_ = queues::kueue::workload_table{quotas_->all().tree().size()};
      cluster.each_pod([&](const pod_info& pod) {
        if (pod.node()) note_pod(cluster, pod.row());
      });
    }
    list_noted(cluster, local_of);
    listed_to_ = cluster.changes();
    listed_at_ = now;
  }

  /// By row, of all trees of queues.
  [[nodiscard]] const std::vector<job>& all() const noexcept { return all_; }
  /// The same as admitted workloads, with the same rows.
  [[nodiscard]] queues::kueue::workload_table& workloads() noexcept { return workloads_; }
  /// The job of a pod on a node, or of a tree of groups; no_row if it is not listed.
  [[nodiscard]] row_t of_pod(row_t pod) const noexcept { return pod < of_pod_.size() ? of_pod_[pod] : no_row; }
  [[nodiscard]] row_t of_tree(row_t root) const noexcept { return root < of_tree_.size() ? of_tree_[root] : no_row; }
  /// The root of its queues.
  [[nodiscard]] queue_index root_of(row_t row) const { return quotas_->root_of(workloads_[row].queue); }

  /// It is no candidate for preemption until pass_over_nobody(). no_row: none.
  void pass_over(row_t row) {
    if (row == no_row) return;
    passed_over_.push_back(row);
    workloads_.set_away(row, true);
  }
  void pass_over_nobody() noexcept {
    for (const row_t row : passed_over_) workloads_.set_away(row, false);
    passed_over_.clear();
  }

 private:
  /// Its job, if it is listed, and its present job.
  void note_pod(const cluster_view& cluster, row_t row) {
    if (const row_t its = of_pod(row); its != no_row) noted_.jobs.push_back(its);
    const std::optional<pod_info> pod = cluster.pod_at(row);
    if (!pod) return;
    if (const auto group = pod->group())
      noted_.trees.push_back(group->root().row());
    else
      noted_.pods.push_back(row);
  }
  void note_tree_of(const cluster_view& cluster, row_t row) {
    if (const row_t its = of_tree(row); its != no_row) noted_.jobs.push_back(its);
    if (const std::optional<group_view> group = cluster.group_at(row)) noted_.trees.push_back(group->root().row());
  }
  /// Lists the jobs again that the change may affect. False: all jobs.
  [[nodiscard]] bool note(const cluster_view& cluster, const change& what) {
    switch (what.kind) {
      case change_kind::pod_removed:
        if (what.after != no_row) note_tree_of(cluster, what.after);  // its priority may have been the group's own
        [[fallthrough]];
      case change_kind::pod_added:
      case change_kind::pod_updated:
      case change_kind::pod_terminating:
      case change_kind::pod_assumed:
      case change_kind::pod_bound:
      case change_kind::pod_released: note_pod(cluster, what.row); return true;
      case change_kind::group_removed:
        if (what.before != no_row) note_tree_of(cluster, what.before);
        [[fallthrough]];
      case change_kind::group_added:  // groups below it have another root now
        if (const std::optional<group_view> group = cluster.group_at(what.row))
          group->each_pod_below([&](const pod_info& pod) { note_pod(cluster, pod.row()); });
        [[fallthrough]];
      case change_kind::group_updated: note_tree_of(cluster, what.row); return true;
      case change_kind::node_updated:  // which may change its flavor
        if (const auto node = cluster.node_at(what.row); node && covers(what.facets, reads::labels))
          node->each_pod([&](const pod_info& pod) { note_pod(cluster, pod.row()); });
        return true;
      case change_kind::column_changed:  // past use of local queues
        return quotas_->by_local_usage.empty() || what.scope() < scope_number::first_named;
      default: return true;
    }
  }

  static void keep_once(std::vector<row_t>& all) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  template <class LocalOf>
  void list_noted(const cluster_view& cluster, const LocalOf& local_of) {
    keep_once(noted_.trees);
    for (const row_t tree : noted_.trees)
      if (const row_t its = of_tree(tree); its != no_row) noted_.jobs.push_back(its);
    for (const row_t row : noted_.jobs) drop(row);
    noted_.jobs.clear();
    keep_once(noted_.pods);
    for (const row_t row : noted_.pods) {
      const std::optional<pod_info> pod = cluster.pod_at(row);
      if (!pod) continue;
      if (const auto group = pod->group()) {
        noted_.trees.push_back(group->root().row());
      } else if (pod->node()) {
        members_.assign(1, *pod);
        add(cluster, no_row, local_of);
      }
    }
    keep_once(noted_.trees);
    for (const row_t tree : noted_.trees) {
      const std::optional<group_view> root = cluster.group_at(tree);
      if (!root || root->parent()) continue;
      members_.clear();
      root->each_pod_below([&](const pod_info& pod) {
        if (pod.node()) members_.push_back(pod);
      });
      add(cluster, tree, local_of);
    }
    noted_.trees.clear();
    noted_.pods.clear();
  }

  void drop(row_t row) {
    job& one = all_[row];
    if (one.pods.empty()) return;
    for (const pod_id pod : one.pods) {
      of_pod_[pod.row] = no_row;
      if (one.tree == no_row) noted_.pods.push_back(pod.row);
    }
    if (one.tree != no_row) {
      noted_.trees.push_back(one.tree);
      of_tree_[one.tree] = no_row;
    }
    one.pods.clear();
    workloads_.withdraw(row);
    workloads_.erase(row);
  }
  /// Since when the pod has its quota. Pods that have not started count as later than all others, in order of arrival.
  [[nodiscard]] static instant since(const pod_info& pod) noexcept {
    constexpr std::int64_t pods = std::int64_t{1} << 48;  // more than there ever are
    if (pod.start_time()) return *pod.start_time();
    return instant::max() - instant{pods - std::min(static_cast<std::int64_t>(pod.arrival()), pods)};
  }
  /// The job of `members_`: those of its pods that are on nodes.
  template <class LocalOf>
  void add(const cluster_view& cluster, row_t tree, const LocalOf& local_of) {
    if (members_.empty()) return;
    std::sort(members_.begin(), members_.end(), [](const pod_info& a, const pod_info& b) { return a.row() < b.row(); });
    const pod_info& first = members_.front();
    const auto queue_of = [&](const pod_info& pod) {
      const auto queue = pod.queue();
      return queue ? quotas_->find(*queue) : queues::no_queue;
    };
    queues::kueue::workload_record record;
    record.queue = queue_of(first);
    const auto is_elsewhere = [&](const pod_info& pod) { return queue_of(pod) != record.queue; };
    if (record.queue == queues::no_queue || std::any_of(members_.begin(), members_.end(), is_elsewhere)) return;
    const std::optional<group_view> root = tree == no_row ? std::nullopt : cluster.group_at(tree);
    record.name = root ? root->name() : first.name();
    record.uid = record.name;
    record.uid += '\0';  // of equal names in two namespaces the lower row goes first
    for (int shift = 24; shift >= 0; shift -= 8) record.uid += static_cast<char>(first.row() >> shift & 0xff);
    record.priority = root ? tree_priority(*root) : first.priority();
    record.created = instant{static_cast<instant::rep>(root ? root->arrival() : first.arrival())};
    if (quotas_->all().by_local_usage(record.queue))
      record.local = local_of(record.queue, root ? std::string_view{root->spec().ns} : first.ns());
    instant reserved = instant::max();
    bool leaves = true;
    usage_.clear();
    for (const pod_info& pod : members_) {
      quotas_->add_amounts(pod, record.queue, pod.node()->flavor(), usage_);
      leaves = leaves && pod.terminating();
      reserved = std::min(reserved, since(pod));
    }
    const std::int32_t priority = record.priority;
    const row_t row = workloads_.add(std::move(record)).row;
    workloads_.admit(row, reserved, usage_);
    workloads_.set_evicted(row, leaves);
    if (row >= all_.size()) all_.resize(row + 1);
    all_[row].tree = tree;
    all_[row].priority = priority;
    const auto set = [&](std::vector<row_t>& jobs, row_t at) {
      if (at >= jobs.size()) jobs.resize(at + 1, no_row);
      jobs[at] = row;
    };
    for (const pod_info& pod : members_) {
      all_[row].pods.push_back(pod.id());
      set(of_pod_, pod.row());
    }
    if (tree != no_row) set(of_tree_, tree);
  }

  const kueue_quotas* quotas_;
  queues::kueue::workload_table workloads_ = queues::kueue::workload_table{};
  std::vector<job> all_ = {};
  std::vector<row_t> of_pod_ = {}, of_tree_ = {};             ///< jobs, by row
  std::optional<cluster_view::log_standing> listed_at_ = {};  ///< none: the list is empty
  std::uint64_t listed_to_ = 0;                               ///< changes
  std::vector<change> tentative_ = {};                        ///< changes of open transactions at that time
  struct {
    std::vector<row_t> pods = {}, trees = {};  ///< of pods without a group; of roots
    std::vector<row_t> jobs = {};
  } noted_ = {};
  std::vector<row_t> passed_over_ = {};
  // Buffers.
  std::vector<pod_info> members_ = {};
  kueue_quotas::amounts usage_ = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI
