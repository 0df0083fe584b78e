#include "gangsched/engine/decision_list.hpp"

#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE decision& decision_list::add(decision_kind kind, row_t pod) {
  if (kind == decision_kind::evict) {
    if (eviction_at_.size() <= pod) eviction_at_.resize(state_->pods.rows.count());
    eviction_at_[pod] = static_cast<std::uint32_t>(current_->size());
  }
  decision& made = current_->emplace_back();
  made.kind = kind;
  made.pod = {pod, state_->pods.rows.generation(pod)};
  made.pod_cookie = state_->pods.record[pod]->cookie;
  if (const row_t node = state_->pods.node[pod]; node != no_row) {
    made.node = {node, state_->nodes.rows.generation(node)};
    made.node_cookie = state_->nodes.record[node]->cookie;
  }
  if (state_->pods.state[pod] == pod_state::assumed) made.attempt = state_->pods.attempt[pod];
  if (const device_claim* claim = state_->pods.claim[pod]; claim != nullptr && kind != decision_kind::reject) {
    if (grants_used_ == grants_.size()) grants_.emplace_back();
    std::vector<device_grant>& copy = grants_[grants_used_++];  // (when the list moves, what its vectors hold does not)
    copy.assign(claim->grants.begin(), claim->grants.end());
    made.devices = copy;
  }
  if (const row_t group = state_->pods.group[pod]; group != no_row) {
    made.group = {group, state_->groups.rows.generation(group)};
    made.rank = state_->pods.record[pod]->rank.value_or(-1);
  }
  return made;
}

GANGSCHED_INLINE decision& decision_list::nominate(row_t pod, node_id node) {
  decision& made = add(decision_kind::nominate, pod);
  made.node = node;
  made.node_cookie = state_->nodes.record[node.row]->cookie;
  return made;
}

GANGSCHED_INLINE bool decision_list::evicts(pod_id pod) const noexcept {
  if (pod.row >= eviction_at_.size() || eviction_at_[pod.row] >= current_->size()) return false;
  const decision& one = (*current_)[eviction_at_[pod.row]];
  return one.kind == decision_kind::evict && one.pod == pod;
}

GANGSCHED_INLINE void decision_list::clear() noexcept {
  cycle_.clear();
  if (!answers_.empty()) answers_.clear();
  if (texts_.size() != 0) texts_.clear();
  grants_used_ = 0;
  current_ = &cycle_;
}

GANGSCHED_INLINE void decision_list::begin_answer() {
  const std::size_t of_cycle = answers_.empty() ? grants_used_ : grants_of_cycle_;
  current_ = &answers_.emplace_back();
  grants_of_cycle_ = of_cycle;
}

GANGSCHED_INLINE void decision_list::drop_answers() noexcept {
  if (!answers_.empty()) grants_used_ = grants_of_cycle_;
  answers_.clear();
  texts_.clear();
}

GANGSCHED_INLINE std::span<const decision> decision_list::end_answer() noexcept {
  current_ = &cycle_;
  return answers_.back();
}

GANGSCHED_INLINE void decision_list::recall() noexcept {
  if (answers_.size() > answers_before_) grants_used_ = grants_before_;
  while (answers_.size() > answers_before_) answers_.pop_back();
  current_ = &cycle_;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
