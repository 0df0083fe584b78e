// Records what a host does, makes it once more, and finds where another profile decides otherwise.
#include <gangsched/gangsched.hpp>
#include <gangsched/record/recorder.hpp>
#include <gangsched/record/replayer.hpp>

#include <iostream>

int main() {
  using namespace gangsched;
  cluster cluster;
  record::recorder recorder = record::recorder::start(cluster).value();  // before schedulers are made
  scheduler scheduler{cluster, profiles::kube_default(), {.ties = tie_rule::lowest_row}};
  for (const char* name : {"node-1", "node-2"})
    cluster.add_node({.name = name, .allocatable = {{"cpu", 4}, {"pods", 110}}}).value();
  for (const char* name : {"web-1", "web-2", "batch"})
    cluster.add_pod({.name = name, .containers = {{.requests = {{"cpu", 1}}}}}).value();
  while (auto cycle = scheduler.schedule_cycle(std::chrono::seconds{1})) {
    for (const decision& one : cycle) {
      if (one.kind == decision_kind::bind) scheduler.confirm(one.pod, one.attempt).value();
    }
  }
  recorder.write_digest().value();
  const std::vector<std::byte> log = recorder.take();  // to a file, say

  // The plugins are the host's to bring; that they are the same the log knows by their names.
  for (const auto& profile : {profiles::kube_default(), profiles::bin_packing()}) {
    record::replayer again =
        record::replayer::open(log, {.profiles = [&](std::uint32_t) { return std::vector{profile}; }}).value();
    const auto parted = again.run().value();
    if (!parted) std::cout << "the same: " << again.calls() << " calls\n";
    if (parted)
      std::cout << "call " << parted->call.number << " differs: " << parted->text
                << "\n  recorded: " << parted->recorded << "\n  here:     " << parted->here << '\n';
  }
}
