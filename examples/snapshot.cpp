// A host that starts anew where it was: cluster and queue go to bytes and come back, and the same decisions follow.
#include <gangsched/gangsched.hpp>
#include <gangsched/record/snapshot.hpp>

#include <iostream>

using namespace gangsched;
using std::chrono::seconds;

/// What is decided from now on; everything is confirmed.
void go_on(const char* who, cluster& on, scheduler& by, instant now) {
  while (const cycle decided = by.schedule_cycle(now)) {
    for (const decision& one : decided) {
      std::cout << who << ": " << to_string(one.kind) << ' ' << on.name_of(one.pod);
      if (one.node)
        std::cout << " on " << on.name_of(one.node) << ", attempt " << static_cast<std::uint64_t>(one.attempt);
      std::cout << '\n';
      if (one.kind == decision_kind::bind) by.confirm(one.pod, one.attempt).value();
    }
  }
}

int main() {
  cluster cluster;
  scheduler scheduler{cluster, profiles::kube_default()};
  for (const char* name : {"node-1", "node-2"})
    cluster.add_node({.name = name, .allocatable = {{"cpu", 4}, {"pods", 110}}}).value();
  for (const char* name : {"web-1", "web-2", "batch"})
    cluster.add_pod({.name = name, .containers = {{.requests = {{"cpu", 3}}}}}).value();
  go_on("before", cluster, scheduler, seconds{1});

  const std::vector<std::byte> bytes = record::take_snapshot(cluster, scheduler).value();  // to a file, say
  // The plugins are the host's to bring; that they are the same the snapshot knows by their names.
  forked again = record::restore_snapshot(bytes, {.profiles = {profiles::kube_default()}}).value();

  const std::pair<const char*, std::pair<gangsched::cluster*, gangsched::scheduler*>> both[] = {
      {"original", {&cluster, &scheduler}}, {"restored", {&again.cluster, &again.scheduler}}};
  for (const auto& [who, one] : both) {
    one.first->remove_pod(*one.first->find_pod("default", "web-2")).value();
    go_on(who, *one.first, *one.second, seconds{5});
  }
  std::cout << (again.cluster.digest() == cluster.digest() ? "the same\n" : "something else\n");
}
