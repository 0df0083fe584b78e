#include "gangsched/plugins/preemption_toleration.hpp"

#include <functional>
#include <limits>

#include "gangsched/gangsched.hpp"
#include "gangsched/model/cluster_listing.hpp"
#include "gangsched/plugins.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::preemption_toleration_test {

namespace {

using namespace std::chrono_literals;

const priority_class_spec kept{.name = "kept", .value = 100, .minimum_preemptable = 1000, .toleration_seconds = 60};

/// A node with room for one, and who runs there.
struct contested {
  gangsched::cluster cluster;
  node_id n;
  explicit contested(const priority_class_spec& cls = kept) {
    n = cluster.add_node(a_node{"n"}.cpu(1)).value();
    REQUIRE(cluster.set_priority_class(cls));
  }
  void run(a_pod pod, std::optional<instant> start = 100s) {
    pod.cpu(1).spec.start_time = start;
    if (!pod.spec.node) pod.on(n);
    REQUIRE(cluster.add_pod(pod));
  }
  /// Who has to go for a pod of that priority, "" if nobody.
  std::string evicted_for(std::int32_t priority, instant now, preemption_policy policy = {}) {
    a_pod preemptor = a_pod{"urgent"}.cpu(1).priority(priority);
    preemptor.spec.preemption = policy;
    REQUIRE(cluster.add_pod(preemptor));
    scheduler scheduler{cluster, profile{priority_sort{}, node_resources_fit{}, preemption_toleration{}}};
    std::string gone;
    for (const decision& one : scheduler.schedule_cycle(now))
      if (one.kind == decision_kind::evict) gone += cluster.name_of(one.pod);
    return gone;
  }
};

/// Who has to go for it where "victim" runs, since 100 s, with the class.
std::string evicted(const priority_class_spec& cls, std::int32_t priority, instant now, preemption_policy policy = {}) {
  contested on{cls};
  on.run(a_pod{"victim"}.priority_class("kept"));
  return on.evicted_for(priority, now, policy);
}

}  // namespace

TEST_CASE("a pod whose class tolerates preemption stays for its time, or for those that are important enough",
          "[plugins][preemption]") {
  CHECK(evicted(kept, 999, 159s).empty());
  CHECK(evicted(kept, 999, 160s) == "victim");
  CHECK(evicted(kept, 1000, 110s) == "victim");
  CHECK(evicted(kept, 1000, 110s, preemption_policy::never).empty());
  CHECK(evicted(kept, 100, 200s).empty());  // of the same priority
  priority_class_spec other = kept;
  for (const std::int64_t seconds : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    other.toleration_seconds = seconds;
    CHECK(evicted(other, 999, 1'000'000s).empty());
    CHECK(evicted(other, 1000, 110s) == "victim");
  }
  other = {.name = "kept", .value = 100};
  CHECK(evicted(other, 101, 110s) == "victim");
}

TEST_CASE("pods without a class go as ever; one that has not started, or whose class is gone, is kept",
          "[plugins][preemption]") {
  contested plain, unborn, again, gone;
  plain.run(a_pod{"plain"}.priority(100));
  CHECK(plain.evicted_for(101, 110s) == "plain");
  unborn.run(a_pod{"unborn"}.priority_class("kept"), std::nullopt);
  CHECK(unborn.evicted_for(999, 1000s).empty());
  again.run(a_pod{"unborn"}.priority_class("kept"), std::nullopt);
  CHECK(again.evicted_for(1000, 1000s) == "unborn");
  gone.run(a_pod{"victim"}.priority_class("kept"));
  REQUIRE(gone.cluster.remove_priority_class("kept"));
  CHECK(gone.evicted_for(2000, 200s).empty());
}

TEST_CASE("among those that are not exempt no more go than have to, where it costs least", "[plugins][preemption]") {
  contested on;
  const node_id big = on.cluster.add_node(a_node{"big"}.cpu(3)).value();
  on.run(a_pod{"alone"}.priority(300));
  on.run(a_pod{"high"}.priority(90).on(big)), on.run(a_pod{"low"}.priority(10).on(big));
  on.run(a_pod{"kept"}.priority_class("kept").on(big));
  CHECK(on.evicted_for(500, 120s) == "low");
}

TEST_CASE("a less important pod that leaves the nominated node is waited for, exempt or not", "[plugins][preemption]") {
  contested on;
  const node_id big = on.cluster.add_node(a_node{"big"}.cpu(2)).value();
  on.run(a_pod{"other"}.priority(10).on(big)), on.run(a_pod{"kept"}.priority_class("kept").on(big));
  const pod_id urgent = on.cluster.add_pod(a_pod{"urgent"}.cpu(1).priority(500)).value();
  REQUIRE(on.cluster.nominate(urgent, big));
  on.run(a_pod{"alone"}.priority(300));
  scheduler scheduler{on.cluster, profile{priority_sort{}, node_resources_fit{}, preemption_toleration{}}};
  const auto evicts = [&](instant now) {
    std::size_t gone = 0;
    for (const decision& one : scheduler.schedule_cycle(now)) gone += one.kind == decision_kind::evict ? 1 : 0;
    return gone;
  };
  for (const pod_id pod : on.cluster.list().pods_on(big))
    if (on.cluster.name_of(pod) == "kept") REQUIRE(on.cluster.set_terminating(pod, true));
  CHECK(evicts(120s) == 0);
  CHECK(on.cluster.nominated_node_of(urgent) == big);
}

}  // namespace gangsched::testing::preemption_toleration_test
