#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "queues/hived_world.hpp"
#include "queues/invariants.hpp"

// That every virtual cluster can have what it is due, that groups are whole, and that whatever is kept is what a count anew gives is in
// hived_random_test.cpp; that each has what it would have alone in hived_sharing_test.cpp.
namespace gangsched::testing::invariants_hived_test {

using namespace gangsched::queues;
using hived::decision;
using hived::group_state;
using invariants::holds;
using invariants::shuffled;

std::set<std::pair<std::string, std::int32_t>> devices_of(const std::vector<hived::pod_place>& pods) {
  std::set<std::pair<std::string, std::int32_t>> made;
  for (const hived::pod_place& pod : pods)
    for (const std::int32_t device : pod.devices) made.emplace(pod.node, device);
  return made;
}

std::set<std::string> set_of(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

TEST_CASE(
    "HiveD: each victim holds a device that is needed, none takes it back, and the order of virtual clusters decides "
    "nothing",
    "[invariants]") {
  std::size_t operations = 0, victims = 0, placed = 0;
  const std::size_t all = invariants::in_worlds(80, operations, [&](std::uint64_t seed) {
    dice random{seed};
    const hived::configuration from = hived_world::small_world(random);
    hived::configuration reordered = from;
    reordered.clusters = shuffled(random, from.clusters);
    hived::cell_scheduler in = hived::cell_scheduler::make(from).value();
    hived::cell_scheduler other = hived::cell_scheduler::make(reordered).value();
    std::map<std::string, hived::group_request> groups;
    for (int step = 0; step < 100; ++step, ++operations) {
      if (groups.size() > 12 || (!groups.empty() && random.percent(35))) {
        auto one = groups.begin();
        std::advance(one, static_cast<std::ptrdiff_t>(random.below(groups.size())));
        in.remove(one->first).value();
        other.remove(one->first).value();
        groups.erase(one);
        continue;
      }
      const hived::virtual_cluster_spec& of = random.of(from.clusters);
      hived::group_request one{"g" + std::to_string(step), of.name};
      one.priority = random.percent(30) ? hived::opportunistic : static_cast<std::int32_t>(random.below(4));
      one.members = {
          {1 + static_cast<std::uint32_t>(random.below(2)), 1 + static_cast<std::uint32_t>(random.below(4))}};
      one.lazy_preemption = random.percent(50);
      const auto answer = in.place(one), there = other.place(one);
      holds(answer.has_value() == there.has_value());
      if (!answer) continue;
      const decision& made = answer.value();
      holds(made.state == there.value().state && made.pods == there.value().pods);
      holds(set_of(made.victims) == set_of(there.value().victims));
      holds(set_of(made.downgraded) == set_of(there.value().downgraded));
      for (const std::string& name : made.cancelled) groups.erase(name);
      if (made.state == group_state::waiting) continue;
      ++placed;
      std::size_t wanted = 0;
      for (const hived::member& member : one.members) wanted += member.pods * member.devices;
      const auto mine = devices_of(made.pods);
      holds(mine.size() == wanted);
      std::vector<std::pair<hived::group_request, bool>> gone;  // and whether it may have more than it had
      for (const std::string& name : made.victims) {
        const hived::group_status status = in.group(name).value();
        const auto theirs = devices_of(status.pods);
        holds(std::any_of(theirs.begin(), theirs.end(), [&](const auto& device) { return mine.contains(device); }));
        // Who was made opportunistic where it was may be due other cells of its virtual cluster by now.
        gone.emplace_back(groups.at(name), !status.guaranteed && groups.at(name).priority >= 0);
      }
      groups.emplace(one.name, one);
      for (const std::string& name : made.victims) {
        in.remove(name).value();
        other.remove(name).value();
        groups.erase(name);
      }
      if (gone.empty()) continue;
      holds(in.start(one.name).value() == hived::start_outcome::started);
      holds(other.start(one.name).value() == hived::start_outcome::started);
      for (const auto& [back, is_due] : gone) {
        ++victims;
        if (is_due) continue;
        if (const auto again = in.look(back)) holds(!set_of(again.value().victims).contains(one.name));
      }
    }
  });
  CAPTURE(operations, victims, placed);
  CHECK(victims > all / 200);
  CHECK(placed > all / 10);
}

}  // namespace gangsched::testing::invariants_hived_test
