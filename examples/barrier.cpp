// A permit plugin of one's own: pods with the same label `barrier` wait, their nodes reserved, until N of them are there.
#include <gangsched/framework/profile.hpp>
#include <gangsched/gangsched.hpp>
#include <gangsched/plugins/node_resources_fit.hpp>
#include <gangsched/plugins/priority_sort.hpp>

#include <iostream>
#include <string>
#include <vector>

#include "must.hpp"

namespace {

using namespace gangsched;

struct barrier {
  static constexpr std::string_view name = "Barrier";
  using points = implements<point::permit>;
  std::size_t size = 3;

  permit_verdict permit(const reservation& r, permit_room& room) {
    const auto mine = r.pod.label("barrier");
    if (!mine) return {};
    std::vector<pod_id> there;
    for (const pod_id pod : room.waiting()) {
      if (room.info(pod).label("barrier") == mine) there.push_back(pod);
    }
    if (there.size() + 1 < size) return {status::wait("the barrier is not full"), std::chrono::seconds{30}};
    for (const pod_id pod : there) room.allow(pod);
    return {};
  }
};

void execute(const cluster& cluster, scheduler& scheduler, const char* call, const cycle& cycle) {
  for (const decision& d : cycle) {
    std::cout << call << ": " << cluster.name_of(d.pod) << ' ' << to_string(d.kind) << '\n';
    if (d.kind == decision_kind::bind) must(scheduler.confirm(d.pod));
  }
}

}  // namespace

int main() {
  cluster cluster;
  must(cluster.add_node({.name = "node", .allocatable = {{"cpu", 8}, {"pods", 110}}}));
  scheduler scheduler{cluster, profile{priority_sort{}, node_resources_fit{}, barrier{.size = 3}}};

  for (int second = 0; second < 5; ++second) {  // one pod a second
    const instant now = std::chrono::seconds{second};
    std::cout << "second " << second << '\n';
    must(cluster.add_pod({.name = "worker-" + std::to_string(second),
                          .labels = {{"barrier", second == 2 ? "two" : "one"}},
                          .containers = {{.requests = {{"cpu", 1}}}}}));
    while (auto cycle = scheduler.schedule_cycle(now)) execute(cluster, scheduler, "  schedule_cycle", cycle);
    execute(cluster, scheduler, "  permit", scheduler.permit(now));
  }
}
