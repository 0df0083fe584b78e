#include <utility>

#include "gangsched/engine/core.hpp"
#include "gangsched/model/cluster_checks.hpp"

// Reservations that the host knows of: when the host's own doing ends one, it is told, once.
namespace gangsched::engine {

/// The host hears of the pod's reservation, and so will of its end.
GANGSCHED_INLINE void core::tell(row_t pod) {
  remember_told(pod);
  const row_t node = state_->pods.node[pod];
  const told made{
      {pod, state_->pods.rows.generation(pod)}, {node, state_->nodes.rows.generation(node)}, state_->pods.attempt[pod]};
  if (told_at_[pod] != 0) {
    told_[told_at_[pod] - 1] = made;
    return;
  }
  told_.push_back(made);
  told_at_[pod] = static_cast<std::uint32_t>(told_.size());
}

/// It is answered, or the host hears of its end elsewhere.
GANGSCHED_INLINE void core::untell(row_t pod) {
  if (pod >= told_at_.size() || told_at_[pod] == 0) return;
  remember_told(pod);
  erase_told(pod);
}

GANGSCHED_INLINE void core::erase_told(row_t pod) noexcept {
  const std::uint32_t place = std::exchange(told_at_[pod], 0);
  if (place != told_.size()) {
    told_[place - 1] = told_.back();
    told_at_[told_.back().pod.row] = place;
  }
  told_.pop_back();
}

/// It was taken back by what the host did to the cluster.
GANGSCHED_INLINE void core::void_told(row_t pod) {
  if (pod >= told_at_.size() || told_at_[pod] == 0) return;
  voided_.push_back(told_[told_at_[pod] - 1]);
  untell(pod);
}

/// The log does not say any more what became of them.
GANGSCHED_INLINE void core::look_at_told() {
  for (const told one : std::vector<told>{told_}) {
    const bool alive = gangsched::detail::names_pod(*state_, one.pod);
    if (alive && state_->pods.attempt[one.pod.row] != one.attempt)
      void_told(one.pod.row);
    else if (!alive || state_->pods.state[one.pod.row] == pod_state::bound)
      untell(one.pod.row);
  }
}

/// (Of a pod that is gone since there is nobody to speak of.)
GANGSCHED_INLINE void core::say_voided() {
  for (const told& one : voided_) {
    if (!gangsched::detail::names_pod(*state_, one.pod)) continue;
    const bool there = gangsched::detail::names_node(*state_, one.node);
    decision& said = decisions_.add(decision_kind::revoke, one.pod.row);
    said.attempt = one.attempt;
    said.node = there ? one.node : node_id{};
    said.node_cookie = there ? state_->nodes.record[one.node.row]->cookie : 0;
    said.devices = {};
    const bool elsewhere = state_->pods.state[one.pod.row] == pod_state::bound;
    said.reason = !there      ? "its node is gone"
                  : elsewhere ? "others have bound it elsewhere"
                              : "its reservation was given back";
  }
  voided_.clear();
}

}  // namespace gangsched::engine
