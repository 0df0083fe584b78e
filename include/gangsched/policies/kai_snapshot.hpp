#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/framework/views.hpp"
#include "gangsched/policies/queue_list.hpp"
#include "gangsched/queues/kai/job_table.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The cluster as KAI's policy sees it at a call: queues with their shares, their jobs, and the jobs' tasks. A job is a tree of groups, or
/// a pod without a group; its sets are the groups of pods in it. O(pods · log pods + nodes + queues).
struct GANGSCHED_API kai_snapshot {
  static constexpr std::size_t resources = 3;  ///< cpu in milli, bytes of memory, GPUs
  using amount = std::array<double, resources>;
  using state = queues::kai::task_state;
  static constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();
  /// A guarantee or limit of that much counts as none.
  static constexpr std::int64_t unbounded = std::int64_t{1} << 60;

  /// Data of a task beside the table.
  struct place {
    pod_id pod;
    node_id node;                            ///< where it is
    bool promised = false;                   ///< it is nominated there
    std::vector<std::uint16_t> shares = {};  ///< the GPUs of which it has a share
  };

  cluster_view cluster;
  std::string gpu;                    ///< the resource that counts GPUs
  std::int32_t non_preemptible_from;  ///< priority
  std::array<std::optional<resource_kind>, resources> kinds_of;
  std::optional<queues::kai::queue_shares> shares = {};
  queues::kai::job_table table{resources};
  std::vector<place> places = {};             ///< by task
  std::vector<std::size_t> task_of_pod = {};  ///< by row
  std::vector<group_id> groups = {};          ///< by job: the root of its tree, if it has one
  queue_list list = {};
  std::vector<std::pair<resource_kind, double>> mig = {};  ///< parts of GPUs, and how many they count as
  double least_gpu_memory = 0;                             ///< MiB, of the nodes that say

  kai_snapshot(const cluster_view& of, std::string gpu_resource, std::int32_t not_preemptible_from);
  /// Without queues it is empty.
  [[nodiscard]] bool has_queues() const noexcept { return shares.has_value(); }
  /// The amount of a node's that counts as whole GPUs.
  [[nodiscard]] std::int64_t count_of_gpus(const node_info& node) const {
    return kinds_of[2] ? node.allocatable(*kinds_of[2]) : 0;
  }
  /// Unused GPUs of a node, and the free amounts.
  [[nodiscard]] double free_gpus(const node_info& node) const;
  [[nodiscard]] amount free_of(const node_info& node) const {
    return {static_cast<double>(node.free(kinds::cpu)), static_cast<double>(node.free(kinds::memory)), free_gpus(node)};
  }
  /// The GPUs of its node of which a pod has a share.
  [[nodiscard]] static std::vector<std::uint16_t> shares_of(const pod_info& pod);

  [[nodiscard]] std::vector<std::size_t> next_tasks(std::size_t job) const {
    return table.next_tasks(job, table.as_filled());
  }
  /// The job of a pod, or group; `nothing` if it is in no queue.
  [[nodiscard]] std::size_t job_of(pod_id pod) const {
    const std::size_t t = has_queues() && pod.row < task_of_pod.size() ? task_of_pod[pod.row] : nothing;
    return t == nothing ? nothing : table.tasks()[t].job;
  }
  [[nodiscard]] std::size_t job_of(const group_view& group) const;
  /// Whether tasks of it are nominated to a node that other pods are leaving.
  [[nodiscard]] bool waits_for_victims(std::size_t job) const;
  /// Whether a job that is not preemptible would exceed what a queue on its way up deserves.
  [[nodiscard]] bool exceeds_deserved(std::size_t job) const;
  /// Both of these, for a job that is admitted; and whether its queues' limits have room for it.
  [[nodiscard]] status may_start(std::size_t job) const;
  [[nodiscard]] status within_limits(std::size_t job) const;

 private:
  /// The amounts of a pod, if its GPUs have that much memory.
  [[nodiscard]] amount needs_of(const pod_info& pod, double gpu_memory) const;
  bool read_queues();
  void read_nodes();
  void read_pods();
  void add_task(const pod_info& pod, std::size_t job, std::uint32_t set);
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/kai_snapshot.cpp"
#endif
