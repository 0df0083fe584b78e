#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/tell.hpp"

// What schedulers do to pods.
namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Why it is not a pod that is assumed.
GANGSCHED_INLINE std::optional<error> check_assumed(const model::cluster_state& state, pod_id pod) {
  if (!names_pod(state, pod)) return unknown_id("pod");
  if (state.pods.state[pod.row] == pod_state::assumed) return std::nullopt;
  return error{errc::wrong_state, pod_text(state, pod.row), "state", "is not assumed"};
}

}  // namespace detail

GANGSCHED_INLINE result<void> cluster::assume(pod_id pod, node_id node) {
  GANGSCHED_TELL(assume, assume(pod, node), pod, node);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "pod");
  call_mark whole{state};
  if (!contains(pod)) return detail::unknown_id("pod");
  if (!contains(node)) return detail::unknown_id("node");
  const std::string object = detail::pod_text(state, pod.row);
  if (state.pods.state[pod.row] != pod_state::pending)
    return error{errc::wrong_state, object, "state", "is not pending"};
  if (state.pods.terminating[pod.row]) return error{errc::wrong_state, object, "terminating", "is being deleted"};
  if (!state.pods.record[pod.row]->details->gates.empty())
    return error{errc::wrong_state, object, "scheduling_gates", "is gated"};
  if (!state.assigned.fits_in_words(node.row, state.classes[state.pods.cls[pod.row]]))
    return detail::usage_overflow(object);
  state.assigned.assume(pod.row, node.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::bind(pod_id pod) {
  GANGSCHED_TELL(bind, bind(pod), pod);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "pod");
  call_mark whole{state};
  if (auto wrong = detail::check_assumed(state, pod)) return *std::move(wrong);
  state.assigned.bind(pod.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::release(pod_id pod) {
  GANGSCHED_TELL(release, release(pod), pod);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "pod");
  call_mark whole{state};
  if (auto wrong = detail::check_assumed(state, pod)) return *std::move(wrong);
  state.assigned.release(pod.row);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::nominate(pod_id pod, node_id node) {
  GANGSCHED_TELL(nominate, nominate(pod, node), pod, node);
  model::cluster_state& state = *state_;
  GANGSCHED_REFUSE_IN_HOOK(state, "pod");
  call_mark whole{state};
  if (!contains(pod)) return detail::unknown_id("pod");
  if (node && !contains(node)) return detail::unknown_id("node");
  if (state.pods.state[pod.row] != pod_state::pending) {
    return error{errc::wrong_state, detail::pod_text(state, pod.row), "state", "is not pending"};
  }
  state.assigned.nominate(pod.row, node ? node.row : no_row);
  whole.keep();
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
