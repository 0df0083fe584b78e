// Watches a scheduler with the component gangsched::report.
#include <cstdio>
#include <gangsched/gangsched.hpp>
#include <gangsched/report/metrics.hpp>
#include <gangsched/scheduling/measure_hooks.hpp>

int main() {
  gangsched::cluster cluster;
  gangsched::report::metrics metrics;
  gangsched::scheduler scheduler{cluster, measure_hooks(gangsched::profiles::kube_default(), metrics)};
  scheduler.observe(&metrics).value();
  cluster.add_pod({.name = "a"}).value();
  while (scheduler.schedule_cycle(gangsched::instant{1})) {
  }
  const std::string text = metrics.text(scheduler, cluster);
  std::puts(text.c_str());
  return text.find("scheduler_pending_pods{queue=\"unschedulable\"} 1") == std::string::npos ? 1 : 0;
}
