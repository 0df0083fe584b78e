#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/framework/profile.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/plugins.hpp"
#include "gangsched/scheduler.hpp"
#include "memory/failing_new.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::queue_policies_test {

using profile_maker = std::function<kernel_table()>;

/// Beside a policy that does not sort the queue itself.
template <class Policy>
kernel_table beside_sort() {
  return profile{priority_sort{},      scheduling_gates{}, node_affinity_plugin{},
                 node_resources_fit{}, gang_scheduling{},  Policy{}};
}
template <class Policy>
kernel_table instead_of_sort() {
  return profile{Policy{}, scheduling_gates{}, node_affinity_plugin{}, node_resources_fit{}, gang_scheduling{}};
}

/// Two queues, of which one has more than it is due, and a gang of the other that asks for its own.
struct two_queues {
  gangsched::cluster cluster;
  gangsched::scheduler scheduler;

  explicit two_queues(const profile_maker& profile) : scheduler(cluster, profile()) {
    const auto queues = [&] { return cluster.queues(); };
    for (const char* name : {"a", "b"})
      queues().add({.name = name, .quotas = {{.guaranteed = {{"nvidia.com/gpu", 4}}}}}).value();
    const node_id node = cluster.add_node(a_node{"n"}.cpu(64).gpus(8)).value();
    for (int i = 0; i < 6; ++i) {
      a_pod one{"a" + std::to_string(i)};
      one.gpus(1).on(node).spec.queue = "a";
      cluster.add_pod(one).value();
    }
    group_spec gang_of_b{.name = "gang", .policy = gang{.min_count = 2}, .queue = "b"};
    const group_id group = cluster.add_group(gang_of_b).value();
    for (int i = 0; i < 2; ++i) cluster.add_pod(a_pod{"b" + std::to_string(i)}.gpus(1).in(group)).value();
    a_pod single{"b2"};
    single.gpus(1).spec.queue = "b";
    cluster.add_pod(single).value();
  }
  /// Who got a node, and who was told to go, until nothing happens at this instant.
  std::vector<std::string> act() {
    std::vector<std::string> all;
    while (const cycle done = scheduler.schedule_cycle(instant{}))
      for (const decision& one : done) {
        if (one.kind == decision_kind::bind) scheduler.confirm(one.pod).value();
        if (one.kind == decision_kind::bind || one.kind == decision_kind::evict)
          all.push_back(std::string{to_string(one.kind)} + " " + std::string{cluster.name_of(one.pod)});
      }
    return all;
  }
};

TEST_CASE("a policy of queues whose books cannot be made for want of memory makes them the next time") {
  const std::vector<std::pair<const char*, profile_maker>> policies{
      {"FairShare", beside_sort<fair_share_policy>},
      {"CapacityScheduling", beside_sort<capacity_scheduling_policy>},
      {"ElasticQuota", beside_sort<elastic_quota_policy>},
      {"HiveD", beside_sort<hived_policy>},
      {"Kai", instead_of_sort<kai_policy>},
      {"Kueue", instead_of_sort<kueue_policy>},
      {"Volcano", instead_of_sort<volcano_policy>},
      {"YuniKorn", instead_of_sort<yunikorn_policy>}};
  for (const auto& [name, profile] : policies) {
    DYNAMIC_SECTION(name) {
      const std::vector<std::string> expected = two_queues{profile}.act();
      REQUIRE(expected.size() >= 2);  // the two that there is room for at least
      long failures = 0;
      for (long nth = 1;; ++nth) {
        two_queues w{profile};
        failing_allocation fails{nth};
        try {
          static_cast<void>(w.scheduler.schedule_cycle(instant{}));
        } catch (const std::bad_alloc&) {
        }
        if (!fails.stop()) break;
        CAPTURE(nth);
        REQUIRE(w.act() == expected);
        ++failures;
      }
      CHECK(failures > 10);
    }
  }
}

/// Room for one of two pods, of which the one of the first queue is more important.
struct two_heads {
  gangsched::cluster cluster;
  gangsched::scheduler scheduler{cluster, instead_of_sort<kueue_policy>()};

  two_heads() {
    for (const char* const name : {"a", "b"})
      cluster.queues().add({.name = name, .quotas = {{.guaranteed = {{"nvidia.com/gpu", 4}}}}}).value();
    cluster.add_node(a_node{"n"}.cpu(64).gpus(1)).value();
    for (const char* const name : {"a", "b"}) {
      a_pod one{name};
      one.gpus(1).priority(*name == 'a' ? 5 : 0).spec.queue = name;
      cluster.add_pod(one).value();
    }
  }
  /// Who is popped first.
  std::string first() {
    const cycle done = scheduler.schedule_cycle(instant{});
    return std::string{cluster.name_of(done.begin()->pod)};
  }
};

TEST_CASE("Kueue's heads that there was no memory to look at are looked at the next time") {
  REQUIRE(two_heads{}.first() == "a");
  for (long nth = 1;; ++nth) {
    two_heads w;
    failing_allocation fails{nth};
    std::string said;
    try {
      said = w.first();
    } catch (const std::bad_alloc&) {
    }
    if (!fails.stop()) break;
    CAPTURE(nth);
    if (said.empty()) CHECK(w.first() == "a");
    REQUIRE(nth < 10'000);
  }
}

}  // namespace gangsched::testing::queue_policies_test
