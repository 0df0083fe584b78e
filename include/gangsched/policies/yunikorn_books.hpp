#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/policies/compared_resources.hpp"
#include "gangsched/policies/queue_list.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The parts of YuniKorn's configuration that `queue_spec` lacks.
struct yunikorn_settings {
  /// Limits of users and groups in one queue.
  struct limits_of {
    std::string queue;
    std::string user, group;                                     ///< one of them; "*": all without a limit of their own
    std::vector<std::pair<std::string, std::int64_t>> max = {};  ///< by resource, in the cluster's units: cpu in milli
    std::uint32_t max_applications = 0;                          ///< 0: no bound
  };
  queues::yunikorn::application_order order = queues::yunikorn::application_order::fifo;
  bool priority_first = true;
  std::vector<std::string> priority_fences = {}, preemption_fences = {};  ///< names of queues
  std::vector<limits_of> limits = {};
  /// How long a queue of that name may be above its maximum before `yunikorn_policy::over_quota` names pods to evict; others may for ever.
  std::vector<std::pair<std::string, instant>> quota_preemption = {};
  std::string user_label = "yunikorn.apache.org/username", group_label = "yunikorn.apache.org/group";
  std::string allow_label = "yunikorn.apache.org/allow-preemption";  ///< "false": other pods are evicted before it
};

/// YuniKorn's queues, applications and asks for a cluster: the root has all nodes' resources; an application is a tree of groups, or a pod
/// without one; an ask is a pod. Terminating pods count as gone. Updated from the cluster's changes: O(changes · depth), and O(queues +
/// pods) where queues, nodes or groups changed.
class GANGSCHED_API yunikorn_books {
 public:
  using partition = queues::yunikorn::partition;
  using resources = queues::yunikorn::resources;

  void read(const cluster_view& cluster, const yunikorn_settings& settings);
  [[nodiscard]] const partition& queues() const { return *queues_; }
  /// The leaf of a queue; `no_queue` for one that was not added, or has children.
  [[nodiscard]] queues::queue_index find(const std::optional<queue_view>& queue) const {
    const queues::queue_index at = queue ? list_.find(*queue) : queues::no_queue;
    return at == queues::no_queue || queue->has_children() ? queues::no_queue : at + 1;
  }
  /// `none` for a pod without such a queue, or a terminating one.
  [[nodiscard]] queues::yunikorn::ask_index ask_of(const pod_info& pod) const {
    return pod.row() < entries_.size() ? entries_[pod.row()].ask : queues::yunikorn::none;
  }
  [[nodiscard]] queues::yunikorn::application_index application_of(const pod_info& pod) const;
  [[nodiscard]] pod_id pod_of(queues::yunikorn::ask_index ask) const { return pods_[ask]; }
  [[nodiscard]] resources request_of(const pod_view& pod) const;
  [[nodiscard]] resources capacity_of(const node_info& node) const;
  [[nodiscard]] resources free_of(const node_info& node) const;

 private:
  using application_key = std::pair<row_t, row_t>;  ///< the row of the tree's root, or of a pod alone
  struct entry {
    queues::yunikorn::ask_index ask = queues::yunikorn::none;
    pod_id pod = {};
    application_key key = {no_row, no_row};
  };
  template <class Amount>
  [[nodiscard]] resources sum_of(const Amount& amount) const;
  [[nodiscard]] resources listed(const std::vector<amount>& list) const;
  void make(const cluster_view& cluster, const yunikorn_settings& settings);
  void name_kinds(const cluster_view& cluster, const std::vector<queue_view>& all, const yunikorn_settings& settings);
  void sync(const cluster_view& cluster, row_t pod, const yunikorn_settings& settings);
  [[nodiscard]] std::vector<pod_id> drop(row_t pod);
  void add(const pod_info& pod, const yunikorn_settings& settings);

  std::optional<cluster_view> whose_ = {};
  std::uint64_t read_to_ = 0;  ///< changes
  queue_list list_;            ///< a queue's index plus one, after the root
  compared_resources kinds_;
  std::optional<partition> queues_;
  std::vector<entry> entries_;  ///< by row of the pod
  std::vector<pod_id> pods_;    ///< by ask
  std::map<application_key, queues::yunikorn::application_index> applications_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/yunikorn_books.cpp"
#endif
