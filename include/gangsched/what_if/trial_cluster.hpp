#pragma once
#include <algorithm>
#include <span>

#include "gangsched/fork.hpp"
#include "gangsched/model/inside.hpp"

/// Calls that questions about nodes make in a fork.
namespace gangsched::inline GANGSCHED_ABI::what_if {

/// The host's turn (`scheduler`): after it every pod that has room runs; no pod is evicted.
inline void settle(forked& in, instant now) {
  const auto run = [&](const cycle& said) {
    for (const decision& one : said)
      if (one.kind == decision_kind::bind) static_cast<void>(in.scheduler.confirm(one.pod));
    return static_cast<bool>(said);
  };
  do {
    while (run(in.scheduler.schedule_cycle(now))) {
    }
  } while (run(in.scheduler.permit(now)));
}

[[nodiscard]] inline bool runs(const cluster& in, pod_id pod) noexcept { return in.state_of(pod) == pod_state::bound; }

/// Whether every pod that had a node and is there still has that one: those that wait for permit, or are being bound, may have been taken
/// back. @p moved, ascending: of these it is not asked.
[[nodiscard]] inline bool all_stay(const cluster& before, const cluster& after, std::span<const pod_id> moved = {}) {
  for (const pod_id pod : before.pods()) {
    const node_id node = before.node_of(pod);
    if (!node || !after.contains(pod) || after.node_of(pod) == node) continue;
    if (!std::binary_search(moved.begin(), moved.end(), pod)) return false;
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::what_if
