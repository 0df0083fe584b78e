#include "gangsched/model/time_limits.hpp"

#include <optional>

#include "gangsched/model/viewed_tables.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// Calls visit(pod) for the pending, not terminating pods of the group and of those below it.
template <class Visit>
void each_waiting_member(const model::viewed_tables& tables, row_t group, const Visit& visit) {
  tables.groups.each_below(group, [&](row_t below) {
    for (row_t pod = tables.groups.first[below]; pod != no_row; pod = tables.pods.next_in_group[pod])
      if (tables.pods.state[pod] == pod_state::pending && !tables.pods.terminating[pod]) visit(pod);
    return true;
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

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
  gangsched::detail::each_waiting_member(tables, group, [&](row_t pod) {
    const time_limits its = limits_of_pod(tables, pod);
    least.latest_start = std::min(least.latest_start, its.latest_start);
    least.max_wait = std::min(least.max_wait, its.max_wait);
  });
  return least;
}

GANGSCHED_INLINE instant run_time_of_group(const viewed_tables& tables, row_t group) noexcept {
  instant longest{0};
  gangsched::detail::each_waiting_member(tables, group, [&](row_t pod) {
    longest = std::max(longest, tables.pods.record[pod]->details->expected_run_time);
  });
  return longest;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
