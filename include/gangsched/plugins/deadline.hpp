#pragma once
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Rejects a pod that cannot end by its deadline (docs/deadlines.md): deadline − expected run time < start. Slurm's --deadline removes a
/// job "if no ending is possible before this deadline"; here the pod waits, because its deadline may be moved.
///
/// In a group all waiting pods have to be in time: O(members).
class deadline_plugin {
 public:
  static constexpr std::string_view name = "Deadline";
  using points = implements<point::admission, point::requeue>;
  static constexpr events wakes_on = events::pod_updated;

  [[nodiscard]] status admit(const pod_info& pod, const cluster_view&, instant start) const {
    return in_time(pod.latest_start(), start);
  }
  [[nodiscard]] status admit(const group_view& group, const cluster_view&, instant start) const {
    return in_time(group.latest_start(), start);
  }
  /// Only a change of the pod itself can help.
  [[nodiscard]] hint requeue(const event& e, const pod_info&) const { return e.own ? hint::queue : hint::skip; }

 private:
  [[nodiscard]] static status in_time(instant latest, instant start) {
    return start <= latest ? status::success() : status::unresolvable("would end after its deadline");
  }
};

static_assert(admission_plugin<deadline_plugin> && requeue_plugin<deadline_plugin>);

}  // namespace gangsched::inline GANGSCHED_ABI
