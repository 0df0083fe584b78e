// Metrics, events and a trace of a scheduler at work. With two arguments: files for the metrics and the trace.
#include <gangsched/gangsched.hpp>
#include <gangsched/report/events.hpp>
#include <gangsched/report/metrics.hpp>
#include <gangsched/report/trace.hpp>
#include <gangsched/scheduling/measure_hooks.hpp>

#include <chrono>
#include <fstream>
#include <iostream>

namespace {

// The library reads no clock: this is the host's.
std::uint64_t nanoseconds() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

int main(int argc, char** argv) {
  gangsched::cluster cluster;
  gangsched::report::metrics metrics{{.clock = nanoseconds}};
  gangsched::report::trace trace{cluster, {.clock = nanoseconds}};
  gangsched::report::events events{cluster, [](const gangsched::report::event& one) {
                                     std::cout << one.type << ' ' << one.reason << ": " << one.note << '\n';
                                   }};
  gangsched::observer_list all{&metrics, &trace, &events};

  // measure_hooks: what each plugin takes, too. Leave it out, and only calls and their steps are told.
  gangsched::scheduler scheduler{
      cluster, measure_hooks(gangsched::profiles::kube_default(), all), {.count_reasons = true}};
  scheduler.observe(&all).value();

  cluster.add_node({.name = "node-1", .allocatable = {{"cpu", 4}, {"pods", 110}}}).value();
  cluster.add_pod({.name = "web", .containers = {{.requests = {{"cpu", 2}}}}}).value();
  cluster.add_pod({.name = "greedy", .containers = {{.requests = {{"cpu", 64}}}}}).value();
  const gangsched::instant now = std::chrono::seconds{1};
  while (auto cycle = scheduler.schedule_cycle(now)) {
    for (const auto& decision : cycle) {
      if (decision.kind == gangsched::decision_kind::bind) scheduler.confirm(decision.pod).value();
    }
  }

  const std::string text = metrics.text(scheduler, cluster);  // what /metrics answers
  if (argc == 3) {
    std::ofstream{argv[1]} << text;
    std::ofstream{argv[2]} << trace.json();  // open it in ui.perfetto.dev
  }
  return text.find("scheduler_pending_pods{queue=\"unschedulable\"} 1\n") != text.npos ? 0 : 1;
}
