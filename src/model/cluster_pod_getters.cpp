#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/canonical.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/make_class.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<pod_id> cluster::find_pod(std::string_view ns, std::string_view name) const {
  const auto symbol = state_->names.find(ns);
  const row_t row = symbol ? state_->pods.by_name.find(*symbol, name) : no_row;
  if (row == no_row) return std::nullopt;
  return pod_id{row, state_->pods.rows.generation(row)};
}

GANGSCHED_INLINE bool cluster::contains(pod_id pod) const noexcept { return detail::names_pod(*state_, pod); }

GANGSCHED_INLINE pod_state cluster::state_of(pod_id pod) const noexcept {
  return contains(pod) ? state_->pods.state[pod.row] : pod_state::none;
}

GANGSCHED_INLINE node_id cluster::node_of(pod_id pod) const noexcept {
  const row_t row = contains(pod) ? state_->pods.node[pod.row] : no_row;
  return row == no_row ? node_id{} : node_id{row, state_->nodes.rows.generation(row)};
}

GANGSCHED_INLINE node_id cluster::nominated_node_of(pod_id pod) const noexcept {
  const row_t row = contains(pod) ? state_->pods.nominated[pod.row] : no_row;
  return row == no_row ? node_id{} : node_id{row, state_->nodes.rows.generation(row)};
}

GANGSCHED_INLINE std::int32_t cluster::priority_of(pod_id pod) const noexcept {
  return contains(pod) ? state_->classes[state_->pods.cls[pod.row]].priority : 0;
}

GANGSCHED_INLINE result<std::uint32_t> cluster::class_of(pod_id pod) {
  GANGSCHED_REFUSE_IN_HOOK(*state_, "pod");
  if (!contains(pod)) return detail::unknown_id("pod");
  call_mark whole{*state_};
  const class_id found = state_->class_of(pod.row);
  whole.keep();
  return found;
}

GANGSCHED_INLINE bind_attempt cluster::attempt_of(pod_id pod) const noexcept {
  return contains(pod) ? state_->pods.attempt[pod.row] : bind_attempt::none;
}

GANGSCHED_INLINE std::string_view cluster::name_of(pod_id pod) const {
  return contains(pod) ? std::string_view{state_->pods.record[pod.row]->name} : std::string_view{};
}

GANGSCHED_INLINE std::uint64_t cluster::cookie_of(pod_id pod) const {
  return contains(pod) ? state_->pods.record[pod.row]->cookie : 0;
}

GANGSCHED_INLINE std::vector<pod_id> cluster::assumed() const {
  std::vector<pod_id> all = pods();
  std::erase_if(all, [&](pod_id pod) { return state_->pods.state[pod.row] != pod_state::assumed; });
  return all;
}

GANGSCHED_INLINE std::vector<pod_id> cluster::pods() const {
  std::vector<pod_id> all;
  for (row_t row = 0; row < state_->pods.rows.count(); ++row) {
    if (state_->pods.alive(row)) all.push_back({row, state_->pods.rows.generation(row)});
  }
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI
