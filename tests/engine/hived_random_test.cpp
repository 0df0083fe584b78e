// HiveD's policy on random clusters: a virtual cluster has what it would have alone, and books agree with what is counted anew.
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/plugins/hived.hpp"
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::hived_random_test {

namespace {

struct job {
  std::string name, queue;
  int pods = 1;
  std::int64_t gpus = 1;
  std::int32_t priority = 0;
};

/// A host that does what it is told at once. Who is evicted does not come back.
struct host : world {
  explicit host(const hived_policy::options& chosen)
      : world(profile{hived_policy{chosen}, arrival_sort{}, scheduling_gates{}, node_unschedulable{},
                      node_resources_fit{}, gang_scheduling{}}) {}

  std::map<std::string, job> jobs = {};
  std::set<std::string> evicted = {};  ///< by the last call

  void come(const job& one) {
    jobs.emplace(one.name, one);
    group_spec spec{.name = one.name, .queue = one.queue, .disruption = disruption_mode::all};
    spec.policy = gang{.min_count = one.pods};
    const group_id group = one.pods > 1 ? add(spec) : group_id{};
    for (int i = 0; i < one.pods; ++i) {
      a_pod pod{one.name + "-" + std::to_string(i)};
      pod.cpu_milli(100).gpus(one.gpus).priority(one.priority);
      if (one.pods > 1)
        pod.in(group);
      else
        pod.spec.queue = one.queue;
      add(pod);
    }
  }
  void go(const std::string& name) {
    const auto its = jobs.find(name);
    if (its == jobs.end()) return;
    for (int i = 0; i < its->second.pods; ++i) remove(pod(name + "-" + std::to_string(i)));
    if (its->second.pods > 1) must(cluster.remove_group(cluster.find_group("default", name).value()));
    jobs.erase(its);
  }
  /// Until nothing happens any more but that the same ones are refused again.
  void rest() {
    evicted.clear();
    bool busy = true;
    for (int rounds = 0; busy; ++rounds) {
      REQUIRE(rounds < 100);
      std::set<std::string> gone;
      busy = false;
      for (const std::string& said : run(true)) {
        busy = busy || !said.starts_with("reject ");
        if (said.starts_with("evict ")) gone.insert(said.substr(6, said.rfind('-') - 6));
      }
      for (const std::string& name : gone) go(name);
      evicted.insert(gone.begin(), gone.end());
      now += 60s;
    }
    REQUIRE(scheduler.verify());
  }
  [[nodiscard]] bool runs(const std::string& name) const {
    return static_cast<bool>(cluster.node_of(pod(name + "-0")));
  }
  /// Of a queue, what is guaranteed.
  [[nodiscard]] std::set<std::string> running(const std::string& queue) const {
    std::set<std::string> made;
    for (const auto& [name, one] : jobs)
      if (one.queue == queue && one.priority >= 0 && runs(name)) made.insert(name);
    return made;
  }
};

void give(host& to, const std::vector<std::pair<std::string, std::int64_t>>& due, const std::vector<int>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) to.add(a_node{"n" + std::to_string(i)}.cpu(64).gpus(nodes[i]));
  for (const auto& [name, gpus] : due)
    world::must(to.cluster.queues().add({.name = name, .quotas = {{.guaranteed = {{"nvidia.com/gpu", gpus}}}}}));
}

}  // namespace

TEST_CASE("a virtual cluster has what it would have alone, whatever the others do", "[engine][hived]") {
  std::size_t compared = 0, waited = 0, ran = 0, evicted = 0, borrowed = 0;
  const char* const more = std::getenv("GANGSCHED_WORLDS");
  const unsigned worlds = more != nullptr ? static_cast<unsigned>(std::atoi(more)) : 25;
  for (unsigned seed = 0; seed < worlds; ++seed) {
    dice any{seed};
    const bool lazy = any.percent(30);
    const std::int32_t priorities = any.percent(50) ? 1 : 3;
    // Whole nodes, and parts of them.
    const std::vector<std::pair<std::string, std::int64_t>> due{{"a", 8}, {"b", 6}, {"c", 2}};
    host shared{{.lazy_preemption = lazy}};
    give(shared, due, {4, 4, 4, 4});
    std::vector<std::unique_ptr<host>> alone;
    for (const auto& [name, gpus] : due) {
      alone.push_back(std::make_unique<host>(hived_policy::options{.lazy_preemption = lazy}));
      if (name == "a")
        give(*alone.back(), {{name, gpus}}, {4, 4});  // nodes of its own, and no others
      else
        give(*alone.back(), due, {4, 4, 4, 4});
    }
    for (int step = 0; step < 60; ++step) {
      INFO("seed " << seed << " step " << step);
      if (any.percent(45) && !shared.jobs.empty()) {
        auto which = shared.jobs.begin();
        std::advance(which, static_cast<std::ptrdiff_t>(any.below(shared.jobs.size())));
        const std::string name = which->first;
        shared.go(name);
        for (const auto& each : alone) each->go(name);
      } else {
        job one{"j" + std::to_string(step), due[any.below(3)].first, 1 + static_cast<int>(any.below(3)),
                1 + static_cast<std::int64_t>(any.below(4)),
                any.percent(30) ? -1 : static_cast<std::int32_t>(any.below(static_cast<std::size_t>(priorities)))};
        shared.come(one);
        if (one.priority >= 0)
          for (std::size_t i = 0; i < 3; ++i)
            if (due[i].first == one.queue) alone[i]->come(one);
      }
      shared.rest();
      std::set<std::string> lost;
      for (const auto& each : alone) {
        each->rest();
        lost.insert(each->evicted.begin(), each->evicted.end());
      }
      evicted += shared.evicted.size();
      // Lazily, a victim goes on opportunistically in one cluster, and has to go in the other.
      for (const std::string& name : lost) shared.go(name);
      for (const std::string& name : shared.evicted)
        for (const auto& each : alone) each->go(name);
      shared.rest();
      for (std::size_t i = 0; i < 3; ++i) {
        alone[i]->rest();
        const std::set<std::string> here = shared.running(due[i].first), own = alone[i]->running(due[i].first);
        if (!lazy) REQUIRE(here == own);
        REQUIRE(std::includes(here.begin(), here.end(), own.begin(), own.end()));
        ++compared;
        ran += here.size();
      }
      for (const auto& [name, one] : shared.jobs) {
        waited += shared.runs(name) ? 0 : 1;
        borrowed += shared.runs(name) && one.priority < 0 ? 1 : 0;
      }
    }
    // What was had is given back: everybody can have all that he is due.
    while (!shared.jobs.empty()) shared.go(std::string{shared.jobs.begin()->first});
    shared.come({"whole-a", "a", 2, 4});
    shared.come({"whole-b", "b", 1, 4});
    shared.come({"half-b", "b", 1, 2});
    shared.come({"half-c", "c", 1, 2});
    shared.rest();
    for (const auto& [name, one] : shared.jobs) REQUIRE(shared.runs(name));
  }
  CAPTURE(compared, ran, waited, evicted, borrowed);
  CHECK(compared >= worlds * 180);
  CHECK(ran > worlds * 70);
  CHECK(waited > worlds * 100);
  CHECK(evicted > worlds);
  CHECK(borrowed > worlds * 10);
}

}  // namespace gangsched::testing::hived_random_test
