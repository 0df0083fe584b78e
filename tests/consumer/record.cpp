// A program that records decisions and replays them.
#include <gangsched/profiles.hpp>
#include <gangsched/record/recorder.hpp>
#include <gangsched/record/replayer.hpp>

int main() {
  using namespace gangsched;
  cluster cluster;
  record::recorder log = record::recorder::start(cluster).value();
  scheduler scheduler{cluster, profiles::kube_default()};
  cluster.add_node({.name = "node", .allocatable = {{"cpu", 1}, {"pods", 10}}}).value();
  cluster.add_pod({.name = "pod"}).value();
  while (scheduler.schedule_cycle(instant{1})) {
  }
  const std::vector<std::byte> written = log.take();
  auto again = record::replayer::open(
      written, {.profiles = [](std::uint32_t) { return std::vector<kernel_table>{profiles::kube_default()}; }});
  if (!again) return 1;
  const auto parted = again->run();
  return parted && !*parted && again->cluster().digest() == cluster.digest() ? 0 : 1;
}
