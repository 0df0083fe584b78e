#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Rejections since the cluster last changed: an equal request gets the same answer, at no cost.
class known_refusals {
 public:
  /// The request of an entity without individual state: no node, no nomination, no gate; for a group pods of one class, and no tree.
  struct request {
    const pod_class* spec = nullptr;  ///< of all pods
    std::uint32_t pods = 0, least = 0;
    std::int32_t priority = 0;
    row_t queue = no_row;  ///< of the group, or the pod
    bool grouped = false;
    friend bool operator==(const request&, const request&) = default;
  };
  /// None if the answer may depend on the entity itself.
  [[nodiscard]] static std::optional<request> of(const pod_info& pod) {
    if (pod.group() || !has_nothing(pod)) return std::nullopt;
    return request{&pod.spec(), 1, 1, pod.priority(), row_of(pod.queue()), false};
  }
  /// O(members).
  [[nodiscard]] static std::optional<request> of(const group_view& group) {
    if (group.parent() || group.children() != 0 || !group.is_gang() || !group.policy()->roles.empty())
      return std::nullopt;
    request made{nullptr, 0, group.min_count(), 0, row_of(group.queue()), true};
    bool alike = true;
    group.each_member([&](const pod_info& pod) {
      if (made.spec == nullptr) made.spec = &pod.spec(), made.priority = group.spec().priority.value_or(pod.priority());
      ++made.pods;
      alike = alike && made.spec == &pod.spec() && has_nothing(pod);
    });
    return alike && made.pods != 0 ? std::optional{made} : std::nullopt;
  }

  /// The reason given to an equal request, or null. Valid until the cluster changes, or something is added. O(refusals).
  [[nodiscard]] const status* find(const std::optional<request>& asked, const cluster_view& cluster) {
    if (!whose_ || !(*whose_ == cluster) || at_ != cluster.changes()) known_.clear();
    whose_ = cluster;
    at_ = cluster.changes();
    if (!asked) return nullptr;
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const entry& one) { return one.asked == *asked; });
    return found == known_.end() ? nullptr : &found->said;
  }
  /// @pre find(asked, cluster) was called, and the cluster has not changed since.
  void add(const request& asked, const status& said) { known_.push_back({asked, said}); }

 private:
  struct entry {
    request asked;
    status said;
  };
  [[nodiscard]] static row_t row_of(const std::optional<queue_view>& queue) { return queue ? queue->row() : no_row; }
  [[nodiscard]] static bool has_nothing(const pod_info& pod) {
    return pod.state() == pod_state::pending && !pod.terminating() && pod.gates().empty() && !pod.nominated_node();
  }

  std::vector<entry> known_ = {};
  std::optional<cluster_view> whose_ = {};
  std::uint64_t at_ = 0;  ///< changes
};

}  // namespace gangsched::inline GANGSCHED_ABI
