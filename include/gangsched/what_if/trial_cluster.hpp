#pragma once
#include "gangsched/fork.hpp"
#include "gangsched/model/inside.hpp"

/// Calls that questions about nodes make in a fork.
namespace gangsched::inline GANGSCHED_ABI::what_if {

/// Runs turns until every pod that has room runs; no pod is evicted. Ends, because every turn but the last lets a pod run.
/// @return how many pods began to run
inline std::size_t settle(forked& in, instant now) {
  std::size_t all = 0, before = 1;
  const auto run = [&](const cycle& said) {
    for (const decision& one : said) {
      if (one.kind == decision_kind::bind && in.scheduler.confirm(one.pod)) ++all;
    }
  };
  while (std::exchange(before, all) != all) {
    while (const cycle said = in.scheduler.schedule_cycle(now)) run(said);
    run(in.scheduler.permit(now));
  }
  return all;
}

[[nodiscard]] inline bool runs(const cluster& in, pod_id pod) noexcept { return in.state_of(pod) == pod_state::bound; }

}  // namespace gangsched::inline GANGSCHED_ABI::what_if
