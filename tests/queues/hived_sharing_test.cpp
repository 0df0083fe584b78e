#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "queues/hived_world.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::hived_sharing_test {

using namespace gangsched::queues;
using hived::decision;
using hived::group_state;

/// Nodes of four devices in pairs of nodes.
hived::configuration pairs(std::size_t count) {
  hived::configuration made;
  made.types = {{"half", "gpu", 2}, {"node", "half", 2, true}, {"pair", "node", 2}};
  for (std::size_t pair = 0; pair < count; ++pair)
    made.cells.push_back(
        {.type = "pair",
         .children = {{.node = "n" + std::to_string(2 * pair)}, {.node = "n" + std::to_string(2 * pair + 1)}}});
  return made;
}

TEST_CASE("a virtual cluster's groups are placed exactly when they would be in a cluster without the others") {
  std::size_t asked = 0, placed = 0, waited = 0, downgraded = 0, evicted = 0, opportunistic = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    dice random{seed};
    hived::configuration from = pairs(4);
    from.cells[0].pin = "corner";
    from.clusters = {{"a", {{"pair", "node", 2}, {"", "pair", 1}}, {}},
                     {"b", {{"pair", "half", 1}, {"pair", "node", 1}}, {"corner"}},
                     {"c", {{"pair", "gpu", 2}}, {}}};
    hived::cell_scheduler shared = hived::cell_scheduler::make(from).value();
    std::vector<hived::cell_scheduler> alone;
    for (std::size_t cluster = 0; cluster < 3; ++cluster) {
      hived::configuration own = from;
      for (std::size_t other = 0; other < 3; ++other)
        if (other != cluster) own.clusters[other] = {from.clusters[other].name, {}, {}};
      alone.push_back(hived::cell_scheduler::make(own).value());
    }
    std::vector<std::string> names;
    const auto gone = [&](const std::string& name) {
      static_cast<void>(shared.remove(name));  // who is not there in one of them was evicted there
      for (hived::cell_scheduler& each : alone) static_cast<void>(each.remove(name));
    };
    const auto finish = [&](hived::cell_scheduler& in, const std::string& name, const decision& made, bool everywhere) {
      for (const std::string& victim : made.victims) {
        ++evicted;
        if (everywhere) {
          gone(victim);
        } else {
          in.remove(victim).value();
        }
      }
      if (made.state == group_state::preempting) REQUIRE(in.start(name).value() == hived::start_outcome::started);
    };
    for (int step = 0; step < 400; ++step) {
      INFO("seed " << seed << " step " << step);
      if (!names.empty() && random.percent(40)) {
        std::string& name = random.of(names);
        gone(name);
        std::swap(name, names.back());
        names.pop_back();
        continue;
      }
      const std::size_t cluster = random.below(3);
      hived::group_request request{"g" + std::to_string(step), from.clusters[cluster].name};
      request.priority = random.percent(30) ? hived::opportunistic : static_cast<std::int32_t>(random.below(3));
      request.members = {
          {1 + static_cast<std::uint32_t>(random.below(2)), 1 + static_cast<std::uint32_t>(random.below(4))}};
      if (cluster == 1 && request.priority >= 0 && random.percent(30)) request.pin = "corner";
      request.lazy_preemption = random.percent(60);
      const auto made = shared.place(request);
      if (request.priority < 0) {
        REQUIRE(made.value().victims.empty());
        if (made.value().state == group_state::allocated) names.push_back(request.name), ++opportunistic;
        continue;
      }
      const auto own = alone[cluster].place(request);
      REQUIRE(made.has_value() == own.has_value());
      if (!made) continue;
      ++asked;
      REQUIRE((made.value().state == group_state::waiting) == (own.value().state == group_state::waiting));
      REQUIRE(made.value().downgraded == own.value().downgraded);
      downgraded += made.value().downgraded.size();
      if (made.value().state == group_state::waiting) {
        ++waited;
        REQUIRE(made.value().missing->count == own.value().missing->count);
        REQUIRE(made.value().missing->cell_type == own.value().missing->cell_type);
        continue;
      }
      ++placed;
      names.push_back(request.name);
      const decision first = own.value(), second = made.value();
      finish(alone[cluster], request.name, first, false);
      finish(shared, request.name, second, true);
      std::erase_if(names, [&](const std::string& name) { return !shared.group(name); });
    }
  }
  CHECK(asked > 5000);
  CHECK(placed > 2000);
  CHECK(waited > 1000);
  CHECK(downgraded > 100);
  CHECK(evicted > 500);
  CHECK(opportunistic > 500);
}

struct job {
  std::size_t tenant = 0;
  std::uint32_t devices = 1;
  int arrives = 0, runs = 1;
};

/// When each job starts: every tenant's jobs in the order in which they came, the first that does not fit holds up the others.
std::vector<int> starts(const std::vector<job>& jobs, const std::function<bool(std::size_t)>& place,
                        const std::function<void(std::size_t)>& release) {
  std::vector<int> start(jobs.size(), -1);
  std::vector<std::deque<std::size_t>> queues(2);
  std::size_t next = 0, left = jobs.size();
  for (int now = 0; left > 0; ++now) {
    for (std::size_t each = 0; each < next; ++each)
      if (start[each] >= 0 && start[each] + jobs[each].runs == now) release(each), --left;
    for (; next < jobs.size() && jobs[next].arrives <= now; ++next) queues[jobs[next].tenant].push_back(next);
    for (std::deque<std::size_t>& queue : queues)
      for (; !queue.empty() && place(queue.front()); queue.pop_front()) start[queue.front()] = now;
  }
  return start;
}

/// Nodes of four devices, of which a job takes all of one node: of those where it fits, the one with the most in use.
struct plain_nodes {
  const std::vector<job>& jobs;
  std::vector<std::uint32_t> free;
  std::vector<std::size_t> node_of = std::vector<std::size_t>(jobs.size());
  bool place(std::size_t which) {
    std::size_t best = free.size();
    for (std::size_t node = 0; node < free.size(); ++node)
      if (free[node] >= jobs[which].devices && (best == free.size() || free[node] < free[best])) best = node;
    if (best == free.size()) return false;
    free[best] -= jobs[which].devices;
    node_of[which] = best;
    return true;
  }
  void release(std::size_t which) { free[node_of[which]] += jobs[which].devices; }
};

TEST_CASE(
    "the sharing anomaly: with quotas by number jobs wait longer than in their tenant's own cluster, with cells "
    "never") {
  std::size_t later = 0, earlier = 0, later_with_cells = 0, all = 0;
  int most = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    dice random{seed};
    std::vector<job> jobs;
    for (int now = 0; now < 600; ++now) {
      const auto runs = [&](std::size_t most_steps) { return 1 + static_cast<int>(random.below(most_steps)); };
      if (random.percent(55)) jobs.push_back({0, 1 + static_cast<std::uint32_t>(random.below(3)), now, runs(25)});
      if (random.percent(30)) jobs.push_back({1, 4, now, runs(16)});
    }
    all += jobs.size();
    std::vector<plain_nodes> own(2, plain_nodes{jobs, std::vector<std::uint32_t>(4, 4)});
    const std::vector<int> alone = starts(
        jobs, [&](std::size_t which) { return own[jobs[which].tenant].place(which); },
        [&](std::size_t which) { own[jobs[which].tenant].release(which); });

    plain_nodes common{jobs, std::vector<std::uint32_t>(8, 4)};
    std::vector<std::uint32_t> quota(2, 16);  // devices, as many as the own cluster had
    const std::vector<int> by_number = starts(
        jobs,
        [&](std::size_t which) {
          if (quota[jobs[which].tenant] < jobs[which].devices || !common.place(which)) return false;
          quota[jobs[which].tenant] -= jobs[which].devices;
          return true;
        },
        [&](std::size_t which) {
          quota[jobs[which].tenant] += jobs[which].devices;
          common.release(which);
        });

    hived::configuration from = pairs(4);
    from.clusters = {{"0", {{"pair", "node", 4}}, {}}, {"1", {{"pair", "node", 4}}, {}}};
    hived::cell_scheduler cells = hived::cell_scheduler::make(from).value();
    const std::vector<int> by_cells = starts(
        jobs,
        [&](std::size_t which) {
          const hived::group_request request{
              std::to_string(which), std::to_string(jobs[which].tenant), 0, {{1, jobs[which].devices}}};
          return cells.place(request).value().state == group_state::allocated;
        },
        [&](std::size_t which) { cells.remove(std::to_string(which)).value(); });

    for (std::size_t each = 0; each < jobs.size(); ++each) {
      if (by_number[each] > alone[each]) ++later;
      if (by_number[each] < alone[each]) ++earlier;
      if (by_cells[each] > alone[each]) ++later_with_cells;
      most = std::max(most, by_number[each] - alone[each]);
    }
  }
  CAPTURE(all, later, earlier, most);
  CHECK(all > 5000);
  CHECK(later > 100);
  CHECK(most > 5);
  CHECK(later_with_cells == 0);
}

}  // namespace gangsched::testing::hived_sharing_test
