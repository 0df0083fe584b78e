// Pods that use only reservations which hold just what they request (Koordinator's exact-match-reservation).
#include "gangsched/model/transaction.hpp"
#include "reservation_pods.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::exact_reservation_test {

namespace {

using names = std::vector<std::string>;

pod_spec exactly(pod_spec spec, names resources = {"cpu"}) {
  spec.exact_reservation = std::move(resources);
  return spec;
}
pod_spec in(pod_spec spec, std::string name) {
  spec.reservation_affinity = reservation_affinity{.name = std::move(name)};
  return spec;
}

/// A reservation with what @p holds on a large node, and a pod that requests @p wants there: whether it is allocated from it.
bool uses(const resource_list& holds, const resource_list& wants, names resources) {
  world w;
  w.add(a_node{"n"}.cpu(64).memory("64Gi").resource("example.com/gpu", 8));
  pod_spec held = holder("r", 0), mine = exactly(owner("mine", 0), std::move(resources));
  held.containers[0].requests = holds, mine.containers[0].requests = wants;
  held.node = w.node("n");
  w.add(held), w.add(mine);
  CHECK(w.run(true) == words{"bind mine n"});
  return bool(w.cluster.reservation_of(w.pod("mine")));
}

const quantity gib{std::int64_t{1} << 30};

}  // namespace

TEST_CASE("Koordinator's TestExactMatchReservation", "[engine][reservations]") {
  const resource_list one{{"cpu", 1}}, more{{"cpu", 1}, {"memory", gib}},
      twice{{"cpu", 1}, {"memory", quantity_of("2Gi")}};
  {
    INFO("exact matched cpu");
    CHECK(uses(one, one, {"cpu"}));
    CHECK(uses(twice, more, {"cpu"}));
  }
  {
    INFO("exact matched cpu, memory not exact matched");
    CHECK(!uses(twice, more, {"cpu", "memory"}));
  }
  {
    INFO("exact matched cpu, memory exact match spec doesn't matter");
    CHECK(uses(one, one, {"cpu", "memory"}));
  }
}

TEST_CASE("what a reservation holds and what a pod requests are compared resource by resource, in the pod's order",
          "[engine][reservations]") {
  const resource_list one{{"cpu", 1}}, half{{"cpu", quantity::from_milli(500)}};
  CHECK(uses(one, half, {}));  // nobody asked
  CHECK(!uses(one, half, {"cpu"}));
  CHECK(!uses(half, one, {"cpu"}));
  CHECK(uses(half, {{"cpu", quantity_of("0.5")}}, {"cpu"}));
  CHECK(!uses(one, {{"cpu", 1}, {"memory", gib}}, {"cpu", "memory"}));  // only one of them has it
  CHECK(!uses({{"cpu", 1}, {"memory", gib}}, one, {"cpu", "memory"}));
  CHECK(!uses({{"cpu", 2}, {"example.com/gpu", 1}}, {{"cpu", 2}, {"example.com/gpu", 2}}, {"example.com/gpu", "cpu"}));
  CHECK(uses({{"cpu", 2}, {"example.com/gpu", 2}}, {{"cpu", 2}, {"example.com/gpu", 2}}, {"example.com/gpu", "cpu"}));
  // What neither has ends the comparison, as in Koordinator: of what is named after it nothing is asked.
  CHECK(uses(one, half, {"memory", "cpu"}));
  CHECK(uses(one, half, {"example.com/unheard-of", "cpu"}));
}

TEST_CASE("an amount of 0 that is requested is not absent", "[engine][reservations]") {
  const quantity none{};
  const resource_list one{{"cpu", 1}}, half{{"cpu", quantity::from_milli(500)}};
  const resource_list one_and_none{{"cpu", 1}, {"memory", none}, {"example.com/gpu", none}};
  for (const char* name : {"memory", "example.com/gpu"}) {
    INFO(name);
    CHECK(!uses(one, one_and_none, {name, "cpu"}));
    CHECK(!uses(one_and_none, one, {name, "cpu"}));
    CHECK(uses(one_and_none, one_and_none, {name, "cpu"}));
    CHECK(!uses(one_and_none, {{"cpu", quantity::from_milli(500)}, {name, none}}, {name, "cpu"}));
    CHECK(uses(one, half, {name, "cpu"}));
  }
  // Pods that differ in that alone are told apart, in either order.
  world w;
  w.add(a_node{"n"}.cpu(64));
  pod_spec held = holder("r", 4);
  held.node = w.node("n");
  w.add(held);
  pod_spec spec = exactly(owner("absent", 4), {"example.com/gpu", "cpu"});
  w.add(spec);
  spec.name = "zero", spec.containers[0].requests.insert_or_assign("example.com/gpu", none);
  w.add(spec);
  spec.name = "absent-again", spec.containers[0].requests.erase("example.com/gpu");
  w.add(spec);
  CHECK(w.run(true).size() == 3);
  CHECK(bool(w.cluster.reservation_of(w.pod("absent"))));
  CHECK(!w.cluster.reservation_of(w.pod("zero")));
  CHECK(bool(w.cluster.reservation_of(w.pod("absent-again"))));
}

TEST_CASE("a pod that waits is placed when a reservation grows to its size", "[engine][reservations][wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  const bool named = GENERATE(false, true);
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = rule}};
  w.add(a_node{"n"}.cpu(4));
  pod_spec held = holder("r", 3);
  held.node = w.node("n");
  const pod_id r = w.add(held);
  const pod_spec spec = exactly(owner("p", 4));
  w.add(named ? in(spec, "r") : spec);
  CHECK(w.run(true) == words{"reject p"});
  w.now += 60s;
  held.containers[0].requests.insert_or_assign("cpu", quantity{4});
  w.must(w.cluster.update_pod(r, held));
  CHECK(w.run(true) == words{"bind p n"});
  CHECK(w.cluster.reservation_of(w.pod("p")) == r);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a reservation that waits to be allocated around a pod is placed when the pod no longer minds",
          "[engine][reservations][wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  const bool room = GENERATE(false, true);
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = rule}};
  w.add(a_node{"n"}.cpu(32));
  pod_spec there = room ? in(owner("there", 4), "elsewhere") : exactly(owner("there", 4));
  there.node = w.node("n");
  const pod_id t = w.add(there);
  pod_spec held = holder("r", 8);
  held.reservation->pre_allocation = pre_allocation::required;
  w.add(held);
  CHECK(w.run(true) == words{"reject r"});
  w.now += 60s;
  there.exact_reservation = {}, there.reservation_affinity.reset();
  w.must(w.cluster.update_pod(t, there));
  CHECK(w.run(true) == words{"bind r n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("a gang whose members are to match exactly waits for reservations of their size", "[engine][reservations]") {
  const int second = GENERATE(4, 3);
  world w;
  w.add(a_node{"n"}.cpu(8)), w.add(a_node{"m"}.cpu(8));
  pod_spec first = holder("r0", 4, "a", true), other = holder("r1", second, "a", true);
  first.node = w.node("n"), other.node = w.node("m");
  w.add(first), w.add(other);
  const group_id both = w.add(group_spec{.name = "g", .policy = gang{.min_count = 2}});
  for (const char* name : {"x", "y"}) {
    pod_spec member = exactly(owner(name, 4));
    member.reservation_affinity = reservation_affinity{};
    member.group = both;
    w.add(member);
  }
  words said = w.run(true);
  if (second == 3) {
    CHECK(count(said, "bind ") == 0);
    w.now += 60s;
    other.containers[0].requests.insert_or_assign("cpu", quantity{4});
    w.must(w.cluster.update_pod(w.pod("r1"), other));
    said = w.run(true);
  }
  CHECK(count(said, "bind ") == 2);
  CHECK(w.cluster.reservation_of(w.pod("x")) != w.cluster.reservation_of(w.pod("y")));
  CHECK(bool(w.cluster.reservation_of(w.pod("x"))));
  CHECK(bool(w.cluster.reservation_of(w.pod("y"))));
  CHECK(w.scheduler.verify());
}

TEST_CASE("nobody is preempted in a reservation for a pod of another size", "[engine][reservations]") {
  const bool fits = GENERATE(true, false), named = GENERATE(true, false);
  world w;
  w.add(a_node{"n"}.cpu(4));
  pod_spec held = holder("r", 4);
  held.priority = 100'000;
  held.node = w.node("n");
  w.add(held);
  pod_spec low = owner("low", 4), high = exactly(owner("high", fits ? 4 : 3));
  low.priority = 1, high.priority = 10;
  w.add(low);
  CHECK(w.run(true) == words{"bind low n"});
  w.add(named ? in(high, "r") : high);
  const words said = w.run(true);
  CAPTURE(fits, named, said);
  CHECK(count(said, "evict low") == (fits ? 1 : 0));
  CHECK(count(said, "bind ") == 0);
}

TEST_CASE("Koordinator's cases of pods with an affinity that are to match exactly", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(32).memory("64Gi"));
  pod_spec held = holder("reservation-8c16g", 8);
  held.labels = {{"reservation-a", "true"}};
  held.containers[0].requests.insert_or_assign("memory", quantity_of("16Gi"));
  held.node = w.node("n");
  w.add(held);
  const auto pod = [](const char* name) { return a_pod{name}.cpu(4).memory("8Gi").label("app", "a").spec; };
  const auto labelled = [&](const char* name, const char* value) {
    pod_spec made = exactly(pod(name));
    made.reservation_affinity = reservation_affinity{
        .required = {{{.match_expressions = {{"reservation-a", selector_operator::in, {value}}}}}}};
    return made;
  };
  const auto refused = [&](const pod_spec& spec) {
    w.add(spec);
    CHECK(w.run(true) == words{"reject " + spec.name});
    return w.scheduler.explain(w.pod(spec.name))->summary;
  };
  const std::string none = "0/1 nodes are available: 1 node(s) no reservations match reservation affinity.",
                    of_other_size = "0/1 nodes are available: 1 Reservation(s) is not exact matched.";
  {
    INFO("pod has reservation affinity but failed to exact match");
    CHECK(refused(labelled("a", "false")) == none);
    CHECK(refused(labelled("b", "true")) == of_other_size);  // that of Koordinator's fails by its affinity as well
  }
  {
    INFO("pod specifies a reservation name but failed to exact match");
    CHECK(refused(exactly(in(pod("c"), "reservation-8c16g"))) == of_other_size);
  }
  {
    INFO("pod specifies a reservation name and matched");
    w.add(in(pod("d"), "reservation-8c16g"));
    CHECK(w.run(true) == words{"bind d n"});
  }
  // Those that need no reservation are placed as everybody else is.
  w.add(exactly(pod("e")));
  CHECK(w.run(true) == words{"bind e n"});
  CHECK(!w.cluster.reservation_of(w.pod("e")));
}

TEST_CASE("Koordinator's case of a pre-allocation around pods of which one is to match exactly",
          "[engine][reservations]") {
  for (const int cpu : {4, 8}) {  // test-unmatched-pod-3 has four of eight
    world w;
    w.add(a_node{"n"}.cpu(32));
    pod_spec there = exactly(owner("there", cpu));
    there.node = w.node("n");
    w.add(there);
    pod_spec held = holder("reservation-8c16g", 8);
    held.reservation->pre_allocation = pre_allocation::required;
    const pod_id r = w.add(held);
    CHECK(w.run(true) == (cpu == 8 ? words{"bind reservation-8c16g n"} : words{"reject reservation-8c16g"}));
    CHECK(w.cluster.reservation_of(w.pod("there")) == (cpu == 8 ? r : pod_id{}));
  }
}

TEST_CASE("of several reservations only those that match exactly count, and what others have drawn does not",
          "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(16));
  const auto on = [&](pod_spec spec) {
    spec.node = w.node("n");
    return w.add(spec);
  };
  pod_spec small = holder("small", 3), wide = holder("wide", 6);
  small.reservation->order = 1;
  on(small);
  const pod_id r = on(wide);
  w.add(owner("any", 2));
  CHECK(w.run(true) == words{"bind any n"});
  CHECK(w.cluster.reservation_of(w.pod("any")) == w.pod("small"));  // by order
  w.add(exactly(owner("first", 6)));
  CHECK(w.run(true) == words{"bind first n"});
  CHECK(w.cluster.reservation_of(w.pod("first")) == r);
  CHECK(w.cluster.left_of(r, "cpu") == 0);
  w.add(exactly(owner("second", 6)));  // it holds six, of which none are left: they come from what is free
  CHECK(w.run(true) == words{"bind second n"});
  CHECK(w.cluster.reservation_of(w.pod("second")) == r);
}

TEST_CASE("a pod that waits for a reservation of its size is placed when one gets that size, or it asks for less",
          "[engine][reservations][wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = rule}};
  w.add(a_node{"n"}.cpu(8));
  pod_spec held = holder("r", 4);
  held.node = w.node("n");
  const pod_id r = w.add(held);
  pod_spec spec = exactly(in(owner("p", 3), "r"));
  const pod_id p = w.add(spec);
  w.add(in(owner("unlike", 3), "r"));  // it is of another class
  const words first = w.run(true);     // by hints every event has it tried again
  CHECK(count(first, "bind ") == 1);
  CHECK(count(first, "bind unlike n") == 1);
  CHECK(w.cluster.reservation_of(w.pod("unlike")) == r);
  w.remove(w.pod("unlike"));
  w.now += 60s;
  CHECK(count(w.run(true), "bind ") == 0);  // there is room again, and not of its size
  w.now += 60s;
  SECTION("the reservation changes") {
    held.containers[0].requests.insert_or_assign("cpu", quantity{3});
    w.must(w.cluster.update_pod(r, held));
  }
  SECTION("the pod asks for less") {
    spec.exact_reservation = {};
    w.must(w.cluster.update_pod(p, spec));
  }
  SECTION("one that is tried and undone changes nothing") {
    const std::uint64_t before = inside(w.cluster).digest_with_derived();
    {
      transaction trial{w.cluster};
      w.add(exactly(owner("tried", 4), {"cpu", "example.com/new"}));
      spec.exact_reservation = {"memory"};
      w.must(w.cluster.update_pod(p, spec));
    }
    CHECK(inside(w.cluster).digest_with_derived() == before);
    CHECK(!w.cluster.node_of(p));
    held.containers[0].requests.insert_or_assign("cpu", quantity{3});
    w.must(w.cluster.update_pod(r, held));
  }
  CHECK(w.run(true) == words{"bind p n"});
  CHECK(w.cluster.reservation_of(p) == r);
  CHECK(w.scheduler.verify());
}

TEST_CASE("pods that are added together share what they ask of reservations", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(16));
  pod_spec held = holder("r", 4);
  held.node = w.node("n");
  w.add(held);
  const names all{"p-1", "p-2"}, others{"q-1", "q-2"};
  w.must(w.cluster.add_pods(exactly(owner("like", 2)), all));
  w.must(w.cluster.add_pods(owner("like", 2), others));
  CHECK(w.run(true).size() == 4);
  for (const std::string& one : all) CHECK(!w.cluster.reservation_of(w.pod(one)));
  for (const std::string& one : others) CHECK(w.cluster.reservation_of(w.pod(one)) == w.pod("r"));
}

TEST_CASE("what is wrong with resources that are to match exactly is said by field", "[engine][reservations]") {
  world w;
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  const auto wrong = [&](pod_spec spec) {
    const auto said = w.cluster.add_pod(spec);
    CHECK(inside(w.cluster).digest_with_derived() == before);
    return said ? std::string{"taken"} : said.error().message();
  };
  CHECK(wrong(exactly(owner("p", 1), {"cpu", "no name"})).starts_with("pod default/p: exact_reservation[1]: "));
  CHECK(wrong(exactly(owner("p", 1), {""})).starts_with("pod default/p: exact_reservation[0]: "));
  CHECK(wrong(exactly(holder("p", 1))) == "pod default/p: exact_reservation: a reservation looks for room of its own");
  pod_spec greedy = exactly(owner("p", 1));
  greedy.ignores_reservations = true;
  CHECK(wrong(greedy) == "pod default/p: exact_reservation: contradicts ignores_reservations");
}

}  // namespace gangsched::testing::exact_reservation_test
