#include "gangsched/model/time_limits.hpp"

#include <optional>

#include "gangsched/model/viewed_tables.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE time_limits limits_of_pod(const viewed_tables& tables, row_t pod) noexcept {
  time_limits made;
  if (!tables.pods.have_limits) return made;
  const pod_details& its = *tables.pods.record[pod]->details;
  std::optional<instant> deadline = its.deadline;
  instant longest = its.max_wait;
  for (row_t group = tables.pods.group[pod]; group != no_row; group = tables.groups.parent[group]) {
    const group_spec& above = tables.groups.record[group]->spec;
    if (!deadline) deadline = above.deadline;
    if (longest == instant{0}) longest = above.max_wait;
  }
  if (deadline) made.latest_start = later_by(*deadline, -its.expected_run_time);
  if (longest != instant{0}) made.max_wait = longest;
  return made;
}

GANGSCHED_INLINE time_limits limits_of_group(const viewed_tables& tables, row_t group) noexcept {
  time_limits least;
  if (!tables.pods.have_limits) return least;
  tables.groups.each_below(group, [&](row_t below) {
    for (row_t pod = tables.groups.first[below]; pod != no_row; pod = tables.pods.next_in_group[pod]) {
      if (tables.pods.state[pod] != pod_state::pending || tables.pods.terminating[pod]) continue;
      const time_limits its = limits_of_pod(tables, pod);
      least.latest_start = std::min(least.latest_start, its.latest_start);
      least.max_wait = std::min(least.max_wait, its.max_wait);
    }
    return true;
  });
  return least;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
