// Pods that hold room for others: who gets it, what is left, when it is over, and that nothing of it is lost whatever is tried and undone.
#include <limits>

#include "gangsched/model/transaction.hpp"
#include "reservation_pods.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::reservation_test {

TEST_CASE("a reservation is placed like a pod, holds its room for its owners, and gets back what they leave",
          "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8));
  const pod_id r = w.add(holder("r", 6));
  CHECK(w.run() == words{"bind r n"});
  w.add(owner("early", 4));
  CHECK(w.run() == words{"reject early"});  // it is held when the host has confirmed it
  w.confirm(r);
  w.now += 60s;
  CHECK(w.run(true) == words{"bind early n"});
  CHECK(w.cluster.reservation_of(w.pod("early")) == r);
  CHECK(w.cluster.left_of(r, "cpu") == 2000);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  w.add(a_pod{"stranger"}.cpu(3));
  CHECK(w.run(true) == words{"reject stranger"});
  CHECK(w.scheduler.explain(w.pod("stranger"))->summary == "0/1 nodes are available: 1 Insufficient cpu.");
  w.add(owner("beyond", 4));  // two that are held, two that are free
  CHECK(w.run(true) == words{"bind beyond n"});
  CHECK(w.cluster.left_of(r, "cpu") == 0);
  CHECK(w.cluster.requested(n, "cpu") == 8000);
  w.remove(w.pod("early"));
  CHECK(w.cluster.left_of(r, "cpu") == 2000);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  w.remove(r);
  CHECK(w.cluster.requested(n, "cpu") == 4000);
  CHECK(!w.cluster.reservation_of(w.pod("beyond")));
  w.now += 60s;
  CHECK(w.run(true) == words{"bind stranger n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("a reservation for once is over with the first owner that runs", "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8));
  const pod_id r = w.add(holder("r", 6, "a", true));
  CHECK(w.run(true) == words{"bind r n"});
  w.add(owner("first", 2));
  CHECK(w.run() == words{"bind first n"});
  CHECK(w.cluster.left_of(r, "cpu") == 0);
  CHECK(w.cluster.requested(n, "cpu") == 2000);
  CHECK(w.fail(w.pod("first")).empty());  // it never ran: all is held again
  CHECK(w.cluster.left_of(r, "cpu") == 6000);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  w.now += 60s;
  CHECK(w.run(true) == words{"bind first n", "evict r n"});
  w.remove(w.pod("first"));
  CHECK(w.cluster.left_of(r, "cpu") == 0);
  CHECK(w.cluster.requested(n, "cpu") == 0);
  w.add(owner("second", 8));
  CHECK(w.run(true) == words{"bind second n"});
  CHECK(!w.cluster.reservation_of(w.pod("second")));
}

TEST_CASE("a restricted reservation has to have all of what is restricted", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(8).memory("8Gi"));
  pod_spec spec = holder("r", 4);
  spec.containers[0].requests.insert_or_assign("memory", quantity{std::int64_t{2} << 30});
  spec.reservation->policy = allocate_policy::restricted;
  SECTION("all that it requests") {
    const pod_id r = w.add(spec);
    CHECK(w.run(true) == words{"bind r n"});
    w.add(owner("large", 6));
    CHECK(w.run(true) == words{"reject large"});  // four are free, and four are held, but not for parts
    w.add(owner("free", 3));
    CHECK(w.run(true) == words{"bind free n"});
    CHECK(w.cluster.reservation_of(w.pod("free")) == r);
    w.add(owner("rest", 3));
    CHECK(w.run(true) == words{"bind rest n"});
    CHECK(!w.cluster.reservation_of(w.pod("rest")));  // one is left there: it takes what is free
    CHECK(w.cluster.left_of(r, "cpu") == 1000);
  }
  SECTION("some of it") {
    spec.reservation->restricted = {"memory"};
    const pod_id r = w.add(spec);
    CHECK(w.run(true) == words{"bind r n"});
    pod_spec large = a_pod{"large"}.cpu(6).memory("1Gi").label("app", "a");
    w.add(large);
    CHECK(w.run(true) == words{"bind large n"});
    CHECK(w.cluster.reservation_of(w.pod("large")) == r);
    pod_spec wide = a_pod{"wide"}.cpu(1).memory("3Gi").label("app", "a");
    w.add(wide);
    CHECK(w.run(true) == words{"bind wide n"});
    CHECK(!w.cluster.reservation_of(w.pod("wide")));
  }
  SECTION("some of it, of which an owner requests nothing") {
    spec.reservation->restricted = {"memory"};
    const pod_id r = w.add(spec);
    CHECK(w.run(true) == words{"bind r n"});
    w.add(owner("other", 5));
    CHECK(w.run(true) == words{"reject other"});  // it takes nothing from there: four are free
    w.add(owner("small", 4));
    CHECK(w.run(true) == words{"bind small n"});
    CHECK(!w.cluster.reservation_of(w.pod("small")));
    pod_spec named = owner("named", 1);
    named.reservation_affinity.emplace();
    w.add(named);
    CHECK(w.run(true) == words{"bind named n"});
    CHECK(w.cluster.reservation_of(w.pod("named")) == r);
  }
  SECTION("what it does not request: all of it") {
    spec.reservation->restricted = {"ephemeral-storage"};
    const pod_id r = w.add(spec);
    CHECK(w.run(true) == words{"bind r n"});
    w.add(owner("large", 6));
    CHECK(w.run(true) == words{"reject large"});
    pod_spec more = owner("more", 1);
    more.containers[0].requests.insert_or_assign("ephemeral-storage", quantity{0});
    w.add(more);
    CHECK(w.run(true) == words{"bind more n"});
    CHECK(w.cluster.reservation_of(w.pod("more")) == r);
  }
  SECTION("of what it does not request as much as there is") {
    spec.reservation->restricted = {"memory", "nvidia.com/gpu"};
    const pod_id r = w.add(spec);
    CHECK(w.run(true) == words{"bind r n"});
    pod_spec more = a_pod{"more"}.cpu(6).memory("1Gi").label("app", "a");
    w.add(more);
    CHECK(w.run(true) == words{"bind more n"});
    CHECK(w.cluster.reservation_of(w.pod("more")) == r);
  }
}

TEST_CASE("of several reservations the least order comes first, then the one that would be fullest",
          "[engine][reservations]") {
  world w;
  for (const char* name : {"n1", "n2", "n3"}) w.add(a_node{name}.cpu(8));
  const auto on = [&](pod_spec spec, const char* node) {
    spec.node = w.node(node);
    return w.add(spec);
  };
  pod_spec wide = holder("wide", 8), narrow = holder("narrow", 4), ordered = holder("ordered", 6);
  on(wide, "n1"), on(narrow, "n2");
  SECTION("by how full they would be") {
    w.add(owner("p", 3));
    CHECK(w.run(true) == words{"bind p n2"});  // 75 of a hundred, there are 37 on n1
    w.add(owner("q", 2));
    CHECK(w.run(true) == words{"bind q n1"});  // more than there is scores nothing, though it would fit
    CHECK(w.cluster.reservation_of(w.pod("q")) == w.pod("wide"));
  }
  SECTION("by order") {
    ordered.reservation->order = 7;
    on(ordered, "n3");
    w.add(owner("p", 3));
    CHECK(w.run(true) == words{"bind p n3"});
  }
}

TEST_CASE("who may use a reservation is said by name, controller, namespace and labels", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(100));
  const auto taken_by = [&](const pod_spec& spec) {
    w.add(spec);
    CHECK(w.run(true).size() == 1);
    const pod_id from = w.cluster.reservation_of(*w.cluster.find_pod(spec.ns, spec.name));
    return from ? std::string{w.cluster.name_of(from)} : std::string{};
  };
  pod_spec by_name = holder("by-name", 1), by_controller = holder("by-controller", 1), anybody = holder("anybody", 1),
           nobody = holder("nobody", 1);
  by_name.reservation->owners = {{.pod = "p"}, {.pod = "q", .ns = "other"}};
  by_controller.reservation->owners = {{.controller = {controller_kind::replica_set, "web"}, .labels = app("x")}};
  anybody.reservation->owners = {{}};
  anybody.reservation->order = 9, by_name.reservation->order = 1, by_controller.reservation->order = 2;
  nobody.reservation->owners = {};
  for (const pod_spec* one : {&by_name, &by_controller, &nobody}) w.add(*one);
  CHECK(w.run(true).size() == 3);
  CHECK(taken_by(a_pod{"p"}.cpu(1)) == "by-name");
  pod_spec q = a_pod{"q"}.cpu(1);
  CHECK(taken_by(q).empty());
  q.ns = "other";
  CHECK(taken_by(q) == "by-name");
  pod_spec web = a_pod{"web-1"}.cpu(1).label("app", "x");
  CHECK(taken_by(web).empty());
  web.name = "web-2", web.controller = {controller_kind::replica_set, "web"};
  CHECK(taken_by(web) == "by-controller");
  web.name = "web-3", web.labels = {};
  CHECK(taken_by(web).empty());
  w.add(anybody);
  CHECK(w.run(true).size() == 1);
  web.name = "web-4";
  CHECK(taken_by(web) == "anybody");
  // Pods that are added together, and differ in their names alone.
  const std::vector<std::string> names{"p-1", "p-2"};
  pod_spec second = holder("second", 1);
  second.reservation->owners = {{.pod = "p-2"}};
  second.reservation->order = 1;
  w.add(second);
  CHECK(w.run(true).size() == 1);
  w.must(w.cluster.add_pods(a_pod{"like"}.cpu(1), names));
  CHECK(w.run(true).size() == 2);
  CHECK(w.cluster.reservation_of(w.pod("p-1")) == w.pod("anybody"));
  CHECK(w.cluster.reservation_of(w.pod("p-2")) == w.pod("second"));
}

TEST_CASE("a pod may have to be in a reservation, of a name or with labels, and tolerate its taints",
          "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(8).label("zone", "a"));
  w.add(a_node{"m"}.cpu(8).label("zone", "b"));
  pod_spec plain = holder("plain", 2), gold = holder("gold", 2), closed = holder("closed", 2);
  gold.labels = {{"tier", "gold"}};
  gold.reservation->taints = {{.key = "paid"}};
  closed.reservation->unschedulable = true;
  plain.node = w.node("n"), gold.node = w.node("m"), closed.node = w.node("n");
  for (const pod_spec* one : {&plain, &gold, &closed}) w.add(*one);
  const auto confined = [&](const std::string& name, reservation_affinity to) {
    pod_spec made = owner(name, 1);
    made.reservation_affinity = std::move(to);
    w.add(made);
    const words said = w.run(true);
    REQUIRE(said.size() == 1);
    if (!said[0].starts_with("bind")) return w.scheduler.explain(w.pod(name))->summary;
    return std::string{w.cluster.name_of(w.cluster.reservation_of(w.pod(name)))};
  };
  const std::string none = "0/2 nodes are available: 2 node(s) no reservations match reservation affinity.";
  CHECK(confined("a", {.name = "closed"}) == "closed");
  CHECK(confined("b", {.name = "nothing"}) == none);
  CHECK(confined("c", {.selector = {{"tier", "gold"}}}) == none);  // for its taint
  CHECK(confined("d", {.selector = {{"tier", "gold"}}, .tolerations = {{.key = "paid"}}}) == "gold");
  CHECK(confined("e", {.selector = {{"zone", "a"}}}) == "plain");  // a label of its node
  const selector_requirement not_b{"zone", selector_operator::not_in, {"b"}},
      named{"metadata.name", selector_operator::in, {"plain"}};
  CHECK(confined("f", {.required = {{{.match_expressions = {not_b}, .match_fields = {named}}}}}) == "plain");
  pod_spec wide = owner("g", 4);
  wide.reservation_affinity = reservation_affinity{.name = "plain"};
  w.add(wide);  // two that are left, and two that are free
  CHECK(w.run(true) == words{"bind g n"});
  pod_spec whole = owner("h", 8);
  whole.reservation_affinity = reservation_affinity{.name = "plain"};
  w.add(whole);
  CHECK(w.run(true) == words{"reject h"});
  CHECK(
      w.scheduler.explain(w.pod("h"))->summary ==
      "0/2 nodes are available: 1 node(s) no reservation(s) to meet the requirements, 1 node(s) no reservations match "
      "reservation affinity.");
  w.add(a_pod{"free"}.cpu(1).label("app", "a"));  // without an affinity it minds no taints
  CHECK(w.run(true) == words{"bind free m"});
  CHECK(w.cluster.reservation_of(w.pod("free")) == w.pod("gold"));
}

TEST_CASE("who ignores reservations takes what they hold if nothing else is free", "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4)), m = w.add(a_node{"m"}.cpu(4));
  pod_spec held = holder("r", 4);
  held.node = n;
  w.add(held);
  const auto greedy = [](const char* name) {
    pod_spec made = owner(name, 3);
    made.ignores_reservations = true;
    return made;
  };
  w.add(greedy("first"));
  CHECK(w.run(true) == words{"bind first m"});
  w.add(greedy("second"));
  CHECK(w.run(true) == words{"bind second n"});
  CHECK(!w.cluster.reservation_of(w.pod("second")));
  CHECK(w.cluster.requested(n, "cpu") == 7000);
  w.add(greedy("third"));
  CHECK(w.run(true) == words{"reject third"});
  CHECK(w.cluster.requested(m, "cpu") == 3000);
}

TEST_CASE("who takes an owner's place may have its port, and that of its reservation", "[engine][reservations]") {
  for (const bool once : {true, false}) {
    world w{profiles::kube_default(),
            {.ties = tie_rule::lowest_row},
            {.semantics = once ? kube_semantics{} : kube_semantics{}.without(quirk::trials_know_ports_once)}};
    const node_id n = w.add(a_node{"n"}.cpu(4));
    const auto with_port = [](pod_spec made) {
      made.containers[0].ports.push_back({.host_port = 80});
      return made;
    };
    pod_spec held = with_port(holder("r", 4));
    held.node = n;
    w.add(held);
    w.add(with_port(owner("one", 3)));
    CHECK(w.run(true) == words{"bind one n"});
    pod_spec more = with_port(owner("more", 3));
    more.priority = 10;
    w.add(more);
    CHECK(sorted(w.run(true)) == words{"evict one n", "nominate more n"});
    w.remove(w.pod("one"));
    w.now = 60s;
    CHECK(w.run(true) == words{"bind more n"});
    CHECK(w.scheduler.verify());
  }
}

TEST_CASE("a reservation that comes, grows, or gets room back wakes whom it is for", "[engine][reservations][wake]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  world w{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = rule}};
  const node_id n = w.add(a_node{"n"}.cpu(4));
  pod_spec held = holder("r", 4, "others");
  const pod_id r = w.add(held);
  CHECK(w.run(true) == words{"bind r n"});
  w.add(owner("p", 3));
  CHECK(w.run(true) == words{"reject p"});
  w.now += 60s;
  held.node = n;
  held.reservation->owners[0].labels = app("a");
  w.must(w.cluster.update_pod(r, held));
  CHECK(w.run(true) == words{"bind p n"});
  CHECK(w.cluster.left_of(r, "cpu") == 1000);
  w.add(owner("q", 3));
  CHECK(w.run(true) == words{"reject q"});
  w.now += 60s;
  w.remove(w.pod("p"));
  CHECK(w.run(true) == words{"bind q n"});
}

TEST_CASE("a gang of reservations holds a rack for a gang", "[engine][reservations][groups]") {
  world w;
  for (int i = 0; i < 8; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(4).label("rack", i < 4 ? "a" : "b"));
  pod_spec filler = a_pod{"filler"}.cpu(1);
  filler.node = w.node("n2");
  w.add(filler);
  const group_id held = w.add(a_gang{"held", 4}.topology("rack"));
  for (int i = 0; i < 4; ++i) {
    pod_spec one = holder("r" + std::to_string(i), 4, "job");
    one.group = held;
    w.add(one);
  }
  CHECK(sorted(w.run(true)) == words{"bind r0 n4", "bind r1 n5", "bind r2 n6", "bind r3 n7"});
  const auto gang = [&](const std::string& name, const std::string& of) {
    const group_id id = w.add(a_gang{name, 4}.topology("rack"));
    for (int i = 0; i < 4; ++i) {
      pod_spec one = owner(name + std::to_string(i), 4, of);
      one.group = id;
      w.add(one);
    }
  };
  gang("stranger", "other");
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(count(w.run(true), "reject stranger") == 4);
  CHECK(inside(w.cluster).digest_with_derived() == before);
  gang("job", "job");
  CHECK(sorted(w.run(true)) == words{"bind job0 n4", "bind job1 n5", "bind job2 n6", "bind job3 n7"});
  for (int i = 0; i < 4; ++i) CHECK(w.cluster.left_of(w.pod("r" + std::to_string(i)), "cpu") == 0);
  CHECK(w.scheduler.verify());
}

TEST_CASE("members that swap their nodes by rank swap what they have of reservations there, too",
          "[engine][reservations][groups]") {
  world w;
  const node_id full = w.add(a_node{"full"}.cpu(4).zone("a"));
  w.add(a_node{"more"}.cpu(2).zone("a"));
  w.add(a_node{"last"}.cpu(8).zone("b"));
  pod_spec held = holder("r", 2);
  held.node = full;
  w.add(held);
  w.add(a_pod{"there"}.cpu(1).label("app", "a").on(w.node("more")));
  // With one in zone a, zone b comes first: that is found for the member of rank 0, which swaps it for the first node.
  const group_id gang = w.add(a_gang{"gang", 2});
  for (const int rank : {0, 1}) {
    pod_spec one = owner("m" + std::to_string(rank), 4);
    one.group = gang, one.rank = rank;
    one.topology_spread_constraints.push_back(
        {.topology_key = "topology.kubernetes.io/zone", .max_skew = 1, .selector = app("a")});
    w.add(one);
  }
  CHECK(w.run(true) == words{"bind m0 full", "bind m1 last"});
  CHECK(w.cluster.reservation_of(w.pod("m0")) == w.pod("r"));
  CHECK(w.cluster.requested(full, "cpu") == 4000);
  CHECK(w.scheduler.verify());
}

TEST_CASE("a reservation's ports and labels are its owners' too", "[engine][reservations]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  pod_spec held = holder("r", 2), mine = owner("mine", 1), other = a_pod{"other"}.cpu(1);
  for (pod_spec* one : {&held, &mine, &other}) one->containers[0].ports = {{.host_port = 80}};
  mine.anti_affinity_to_pods.required = {
      {.topology_key = "kubernetes.io/hostname", .selector = label_selector{{{"held", "yes"}}}}};
  held.labels = {{"held", "yes"}};
  w.add(held);
  CHECK(w.run(true) == words{"bind r n"});
  w.add(other);
  CHECK(w.run(true) == words{"reject other"});
  w.add(mine);
  CHECK(w.run(true) == words{"bind mine n"});
}

TEST_CASE("a pod that runs says which reservation it was allocated from", "[engine][reservations]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(8)), m = w.add(a_node{"m"}.cpu(8));
  pod_spec held = holder("r", 4);
  held.node = n;
  const pod_id r = w.add(held);
  pod_spec mine = owner("mine", 3);
  mine.node = n, mine.draws_from = r;
  w.add(mine);
  CHECK(w.cluster.left_of(r, "cpu") == 1000);
  pod_spec other = owner("other", 3);
  other.node = n;  // an owner, but it was not allocated from it
  w.add(other);
  CHECK(w.cluster.left_of(r, "cpu") == 1000);
  CHECK(w.cluster.requested(n, "cpu") == 7000);
  held.containers[0].requests.insert_or_assign("cpu", quantity{2});
  w.must(w.cluster.update_pod(r, held));
  CHECK(w.cluster.left_of(r, "cpu") == 0);
  CHECK(w.cluster.requested(n, "cpu") == 6000);
  held.containers[0].requests.insert_or_assign("cpu", quantity{5});
  w.must(w.cluster.update_pod(r, held));
  CHECK(w.cluster.left_of(r, "cpu") == 2000);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  const auto wrong = [&](pod_spec spec) {
    spec.name = "wrong";
    const auto said = w.cluster.add_pod(spec);
    CHECK(inside(w.cluster).digest_with_derived() == before);
    return said ? std::string{"taken"} : said.error().message();
  };
  mine.node = m;
  CHECK(wrong(mine) == "pod default/wrong: draws_from: is not on the pod's node");
  mine.draws_from = w.pod("other");
  CHECK(wrong(mine) == "pod default/wrong: draws_from: no such reservation");
  pod_spec both = holder("both", 1);
  both.reservation_affinity.emplace();
  CHECK(wrong(both) == "pod default/wrong: reservation_affinity: a reservation looks for room of its own");
  both.reservation_affinity.reset();
  both.reservation->restricted = {"cpu"};
  CHECK(wrong(both) == "pod default/wrong: reservation.restricted: is of policy restricted only");
  both.reservation->restricted = {};
  both.reservation->taints = {{.key = "no key"}};
  CHECK(wrong(both).starts_with("pod default/wrong: reservation.taints[0]"));
}

namespace {

/// The rules once more, without a class, a table or an index: what the pods of a cluster hold and draw, counted anew for each question.
struct plain_rules {
  struct entry {
    pod_id id;
    std::int64_t cpu = 0;
    std::string app = {};
    std::optional<reservation_spec> holds = {};
    bool used_up = false;
  };
  const cluster& on;
  std::vector<entry> pods;

  [[nodiscard]] bool runs(const entry& one) const { return on.state_of(one.id) == pod_state::bound; }
  [[nodiscard]] std::int64_t left(const entry& one) const {
    std::int64_t drawn = 0;
    bool any = false;
    for (const entry& other : pods) {
      if (on.reservation_of(other.id) == one.id) drawn += other.cpu, any = true;
    }
    return one.holds->once && (any || one.used_up) ? 0 : std::max<std::int64_t>(0, one.cpu - drawn);
  }
  [[nodiscard]] std::int64_t used(node_id node) const {
    std::int64_t sum = 0;
    for (const entry& one : pods) {
      if (on.node_of(one.id) == node) sum += one.holds ? left(one) : one.cpu;
    }
    return sum;
  }
  [[nodiscard]] std::int64_t free(node_id node) const { return on.allocatable(node, "cpu") - used(node) * 1000; }
  [[nodiscard]] static std::int64_t order(const entry& one) {
    return one.holds->order == 0 ? std::numeric_limits<std::int64_t>::max() : one.holds->order;
  }
  [[nodiscard]] std::int64_t score(const entry& one, std::int64_t cpu) const {
    std::int64_t full = cpu;
    for (const entry& other : pods) {
      if (on.reservation_of(other.id) == one.id) full += other.cpu;
    }
    return full > one.cpu ? 0 : 100 * full / one.cpu;
  }
  /// The reservation that a pod of the app has to get, or null. @p exact: of its size only.
  [[nodiscard]] const entry* best(const std::string& app, std::int64_t cpu, bool exact) const {
    const entry* found = nullptr;
    for (const entry& one : pods) {
      if (!one.holds || !runs(one) || one.app != app || (one.holds->once && left(one) == 0)) continue;
      if (one.holds->policy == allocate_policy::restricted && left(one) < cpu) continue;
      if (exact && one.cpu != cpu) continue;
      if (free(on.node_of(one.id)) + left(one) * 1000 < cpu * 1000) continue;
      const auto rank = [&](const entry& of) { return std::pair{order(of), -score(of, cpu)}; };
      if (found == nullptr || rank(one) < rank(*found)) found = &one;
    }
    return found;
  }
};

}  // namespace

TEST_CASE("random pods get the reservation that they have to get, and usage is what the rules say",
          "[engine][reservations]") {
  int by_reservation = 0, elsewhere = 0, nowhere = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    dice roll{seed};
    world w{profiles::kube_default(),
            {.ties = static_cast<tie_rule>(roll.below(3)), .wake = static_cast<wake_rule>(roll.below(3))}};
    std::vector<node_id> nodes;
    for (int i = 0; i < 4; ++i) nodes.push_back(w.add(a_node{"n" + std::to_string(i)}.cpu(roll.between(4, 12))));
    plain_rules rules{w.cluster, {}};
    const auto forget = [&](std::size_t which) {
      w.remove(rules.pods[which].id);
      rules.pods.erase(rules.pods.begin() + static_cast<std::ptrdiff_t>(which));
    };
    for (int step = 0; step < 80; ++step) {
      INFO("seed " << seed << ", step " << step);
      const std::string app = roll.percent(50) ? "a" : "b", name = "p" + std::to_string(step);
      const std::size_t what = roll.below(10);
      if (what < 3 && !rules.pods.empty()) {
        forget(roll.below(rules.pods.size()));
      } else if (what == 3 && !rules.pods.empty()) {  // a reservation changes while it is in use
        plain_rules::entry& one = roll.of(rules.pods);
        if (one.holds && rules.runs(one)) {
          one.cpu = roll.between(1, 6);
          pod_spec spec = holder(std::string{w.cluster.name_of(one.id)}, static_cast<int>(one.cpu), one.app);
          spec.reservation->once = one.holds->once, spec.reservation->policy = one.holds->policy;
          spec.reservation->order = one.holds->order = roll.between(0, 3);
          spec.node = w.cluster.node_of(one.id);
          w.must(w.cluster.update_pod(one.id, spec));
        }
      } else if (what == 4 && step % 8 == 4) {
        const std::size_t which = roll.below(nodes.size());
        std::erase_if(rules.pods, [&](const auto& one) { return w.cluster.node_of(one.id) == nodes[which]; });
        static_cast<void>(w.must(w.cluster.remove_node(nodes[which])));
        nodes[which] = w.add(a_node{"n" + std::to_string(which)}.cpu(roll.between(4, 12)));
      } else {
        const auto cpu = roll.between(1, 5);
        const bool holds = what < 7;
        pod_spec spec = holds ? holder(name, static_cast<int>(cpu), app, roll.percent(40))
                              : owner(name, static_cast<int>(cpu), roll.percent(20) ? "" : app);
        if (!holds && spec.labels["app"].empty()) spec.labels.clear();
        if (holds) {
          spec.reservation->order = roll.between(0, 2);
          if (roll.percent(40)) spec.reservation->policy = allocate_policy::restricted;
        }
        const bool exact = !holds && roll.percent(30);
        if (exact) spec.exact_reservation = {"cpu"};
        const std::string its = holds || spec.labels.contains("app") ? app : "";
        const plain_rules::entry* expected = holds || its.empty() ? nullptr : rules.best(its, cpu, exact);
        const pod_id wanted = expected == nullptr ? pod_id{} : expected->id;
        const bool fits = expected != nullptr || std::any_of(nodes.begin(), nodes.end(), [&](node_id node) {
                            return rules.free(node) >= cpu * 1000;
                          });
        const pod_id pod = w.add(spec);
        const std::uint64_t before = inside(w.cluster).digest_with_derived();
        {
          transaction trial{w.cluster};
          for (int i = 0; i < 2 && !rules.pods.empty(); ++i) {
            const pod_id one = roll.of(rules.pods).id;
            if (w.cluster.contains(one)) w.remove(one);
          }
          static_cast<void>(w.cluster.assume(pod, nodes[0]));
          w.add(holder("tried", 2, app));
        }
        CHECK(inside(w.cluster).digest_with_derived() == before);
        w.run();
        w.now += 60s;
        w.run();
        CHECK(bool(w.cluster.node_of(pod)) == fits);
        CHECK(w.cluster.reservation_of(pod) == wanted);
        ++(wanted ? by_reservation : fits ? elsewhere : nowhere);
        rules.pods.push_back({pod, cpu, its, spec.reservation});
        if (!fits) {
          forget(rules.pods.size() - 1);
        } else if (roll.percent(20)) {  // it does not start
          static_cast<void>(w.fail(pod));
          CHECK(!w.cluster.reservation_of(pod));
          forget(rules.pods.size() - 1);
        } else {
          w.confirm(pod);
          for (plain_rules::entry& one : rules.pods) one.used_up = one.used_up || (one.id == wanted && one.holds->once);
        }
      }
      for (const node_id node : nodes) CHECK(w.cluster.requested(node, "cpu") == rules.used(node) * 1000);
      for (const plain_rules::entry& one : rules.pods) {
        if (one.holds && rules.runs(one)) CHECK(w.cluster.left_of(one.id, "cpu") == rules.left(one) * 1000);
      }
      REQUIRE(w.scheduler.verify());
    }
  }
  INFO(by_reservation << ", " << elsewhere << ", " << nowhere);
  CHECK(by_reservation > 300);
  CHECK(elsewhere > 300);
  CHECK(nowhere > 100);
}

}  // namespace gangsched::testing::reservation_test
