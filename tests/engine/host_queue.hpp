#pragma once
#include "world.hpp"

namespace gangsched::testing {

/// A host that takes pods off the queue and says itself what became of them.
struct host_queue : world {
  static scheduler_options as_kube() {
    scheduler_options made = with_kube_queue(lowest_first());
    made.timers = timer_rule::by_host;
    return made;
  }
  explicit host_queue(kernel_table profile = profiles::kube_default(), const scheduler_options& options = as_kube())
      : world(std::move(profile), options) {}

  /// The name of who is tried now, "" if nobody can be.
  std::string pop() {
    const std::optional<attempt> next = must(scheduler.pop(now));
    return next ? std::string{cluster.name_of(next->pod)} : std::string{};
  }
  void reject(pod_id pod, std::vector<std::string> plugins, std::vector<std::string> pending = {}) {
    must(scheduler.add_unschedulable(pod, {std::move(plugins), std::move(pending)}, now));
  }
  void error_of(pod_id pod) { reject(pod, {}); }
  [[nodiscard]] queue_place place(pod_id pod) {
    must(scheduler.catch_up(now));
    return must(scheduler.standing(pod)).place;
  }

  /// Adds a pod, and has it rejected. Its backoff is over when a minute has passed, which this waits for.
  pod_id add_rejected(const pod_spec& spec, std::vector<std::string> plugins, std::vector<std::string> pending = {}) {
    const pod_id pod = add(spec);
    REQUIRE(pop() == spec.name);
    reject(pod, std::move(plugins), std::move(pending));
    REQUIRE(place(pod) == queue_place::unschedulable);
    now += 1min;
    return pod;
  }
  /// Whether the change, which happens now, brings a parked pod back; parks it again.
  template <class Change>
  bool wakes(pod_id pod, const Change& change) {
    const queue_standing before = must(scheduler.standing(pod));
    REQUIRE(before.place == queue_place::unschedulable);
    change();
    if (place(pod) == queue_place::unschedulable) return false;
    REQUIRE(place(pod) == queue_place::active);
    REQUIRE(pop() == cluster.name_of(pod));
    must(scheduler.add_unschedulable(pod, before.rejected, now));
    now += 1min;
    return true;
  }
};

}  // namespace gangsched::testing
