// What wakes pods and reservations that wait for each other.
#include "reservation_pods.hpp"

namespace gangsched::testing::reservation_events_test {

namespace {

scheduler_options by(wake_rule rule) {
  scheduler_options options = world::lowest_first();
  options.wake = rule;
  return options;
}

}  // namespace

TEST_CASE("a pod that wants a reservation by a label of its node is tried when the node gets that label",
          "[engine][reservations]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::hints}) {
    world w{profiles::kube_default(), by(rule)};
    const node_id n = w.add(a_node{"n"}.cpu(8).label("zone", "a"));
    w.add(holder("r", 4));
    CHECK(w.run(true) == words{"bind r n"});
    pod_spec wants = owner("p", 1);
    wants.reservation_affinity = reservation_affinity{.selector = {{"zone", "b"}}};
    w.add(wants);
    CHECK(w.run_at(1s) == words{"reject p"});
    w.must(w.cluster.update_node(n, a_node{"n"}.cpu(8).label("zone", "b")));
    CHECK(w.run_at(20s) == words{"bind p n"});
  }
}

TEST_CASE("a pod that wants a reservation that is not there waits for one", "[engine][reservations]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::hints}) {
    world w{profiles::kube_default(), by(rule)};
    w.add(a_node{"n"}.cpu(8));
    pod_spec wants = owner("p", 1);
    wants.reservation_affinity = reservation_affinity{.name = "r"};
    w.add(wants);
    CHECK(w.run() == words{"reject p"});
    CHECK(w.run_at(200s).empty());
    CHECK(w.scheduler.standing(w.pod("p"))->place == queue_place::unschedulable);
    CHECK(w.scheduler.standing(w.pod("p"))->errors == 0);
    w.add(holder("r", 4));
    w.now = 201s;
    words said = w.run(true);
    w.now = 220s;  // under hints it may be tried before the reservation is there
    for (const std::string& one : w.run(true)) said.push_back(one);
    CHECK(count(said, "bind p n") == 1);
  }
}

TEST_CASE("a reservation that is to hold what an owner has is tried when an owner runs", "[engine][reservations]") {
  for (const wake_rule rule : {wake_rule::one_per_class, wake_rule::hints}) {
    for (const auto& [when, cpu] : {std::pair{pre_allocation::required, 4}, {pre_allocation::if_needed, 8}}) {
      INFO(static_cast<int>(rule) << ' ' << cpu);
      world w{profiles::kube_default(), by(rule)};
      w.add(a_node{"n"}.cpu(8));
      const pod_id pod = w.add(owner("p", 2));
      CHECK(w.run() == words{"bind p n"});
      pod_spec around = holder("r", cpu);
      around.reservation->pre_allocation = when;
      w.add(around);
      CHECK(w.run() == words{"reject r"});
      CHECK(w.run_at(200s).empty());
      w.must(w.scheduler.confirm(pod));
      CHECK(w.run_at(220s) == words{"bind r n"});
      CHECK(w.cluster.reservation_of(pod) == w.pod("r"));
      CHECK(w.scheduler.standing(w.pod("r"))->errors == 0);
    }
  }
}

}  // namespace gangsched::testing::reservation_events_test
