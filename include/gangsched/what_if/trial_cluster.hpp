#pragma once
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

}  // namespace gangsched::inline GANGSCHED_ABI::what_if
