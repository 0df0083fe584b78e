#pragma once
#include <optional>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The pods and groups that pre_enqueue hooks keep out of the queue (runPreEnqueuePlugins): a pod by its own hooks, and while its group is
/// expected; a group while any member is kept out, or, as in Kubernetes 1.36, every one.
class GANGSCHED_API pre_enqueue_gates {
 public:
  pre_enqueue_gates(model::cluster_state& state, const entity_view& entities) noexcept
      : state_(&state), entities_(&entities) {}

  [[nodiscard]] bool rejects(entity e) { return e.group ? rejects_group(e.row) : rejects_pod(e.row); }
  [[nodiscard]] bool rejects_pod(row_t pod);
  /// Whether every pending member of the group is kept out. O(members).
  [[nodiscard]] bool rejects_all_members(row_t group);
  /// Whether the group is the one that was last found open, since `forget_open`: then members that are added are open, too.
  [[nodiscard]] bool is_known_open(row_t group) const noexcept { return group == open_; }
  void forget_open() noexcept { open_ = no_row; }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] saved_gates save() const;
  [[nodiscard]] std::optional<error> restore(const saved_gates& from);

 private:
  [[nodiscard]] bool hooks_reject(row_t pod);
  [[nodiscard]] bool rejects_group(row_t root);

  peer<model::cluster_state> state_;
  peer<const entity_view> entities_;
  std::vector<row_t> rejected_member_;  ///< by group: the member for which it was kept out last
  row_t open_ = no_row;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/pre_enqueue_gates.cpp"
#endif
