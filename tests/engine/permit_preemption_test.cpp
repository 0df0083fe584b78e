// Preemption by members of gangs in permit mode: each for itself, but nobody goes for a minimum that would not stand.
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::permit_preemption_test {

namespace {

/// A reserve hook that takes nobody with a label "refuse".
struct refuses_reservations {
  static constexpr std::string_view name = "RefusesReservations";
  using points = implements<point::reserve>;
  status reserve(const reservation& r) {
    return r.pod.label("refuse") ? status::unschedulable("refused") : status::success();
  }
  void unreserve(const reservation&) noexcept {}
};

struct fixture : world {
  explicit fixture(kube_release release = kube_release::v1_37)
      : world(profiles::kube_default(), lowest_first(), {.semantics = kube_semantics{release}}) {}
  explicit fixture(refuses_reservations plugin) : world(with(plugin), lowest_first()) {}

  static kernel_table with(refuses_reservations plugin) {
    kernel_table made = profiles::kube_default();
    add_plugin(made, lower(plugin));
    return made;
  }
  void nodes(const std::vector<std::string>& all) {
    for (const std::string& name : all) add(a_node{name}.cpu(2));
  }
  pod_id run_on(const char* where, const char* name, std::int32_t importance = 0) {
    return add(a_pod{name}.cpu(2).priority(importance).on(node(where)));
  }
  group_id gang_of(int count, int least) {
    const group_id made = add(a_gang{"g", least}.permit().priority(9));
    for (int i = 0; i < count; ++i) member(made, i);
    return made;
  }
  void member(group_id gang, int number) { add(a_pod{"g-" + std::to_string(number)}.cpu(2).priority(9).in(gang)); }
};

}  // namespace

TEST_CASE("members that are placed one by one make room for the minimum, and start when the victims are gone",
          "[permit][preemption]") {
  fixture w;
  w.nodes({"n", "m"});
  const pod_id a = w.run_on("n", "a"), b = w.run_on("m", "b");
  w.gang_of(2, 2);
  CHECK(w.run() == words{"nominate g-0 n", "nominate g-1 m", "evict a n", "evict b m"});
  CHECK(w.run().empty());
  for (const pod_id victim : {a, b}) w.must(w.cluster.set_terminating(victim, true));
  CHECK(sorted(w.run_at(6min)) == words{"reject g-0", "reject g-1"});  // no second round while they terminate
  CHECK(w.cluster.nominated_node_of(w.pod("g-1")) == w.node("m"));
  w.remove(b);  // one after the other
  w.now += 1min;
  CHECK(w.run().back() == "wait g-1 m");
  w.remove(a);
  w.now += 1min;
  CHECK(w.run().back() == "bind g-0 n");
  CHECK(w.permit() == words{"bind g-1 m"});
}

TEST_CASE("nobody goes if the minimum would not stand then", "[permit][preemption]") {
  fixture w;
  w.nodes({"n", "m"});
  w.run_on("n", "low"), w.run_on("m", "high", 99);
  w.gang_of(3, 2);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  CHECK(sorted(w.run()) == words{"reject g-0", "reject g-1", "reject g-2"});
  CHECK(inside(w.cluster).digest_with_derived() == before);
  w.remove(w.pod("high"));
  w.now += 1min;
  const words said = w.run();
  CHECK(std::count(said.begin(), said.end(), "evict low n") == 1);
  CHECK(w.cluster.nominated_node_of(w.pod("g-1")) == w.node("n"));
  CHECK(w.cluster.node_of(w.pod("g-0")) == w.node("m"));
}

TEST_CASE("before 1.37 a member has others go whatever becomes of its gang", "[permit][preemption]") {
  fixture w{kube_release::v1_36};
  w.nodes({"n", "m"});
  w.run_on("n", "low"), w.run_on("m", "high", 99);
  w.gang_of(2, 2);
  CHECK(w.run() == words{"nominate g-0 n", "evict low n", "reject g-1"});
}

TEST_CASE("a gang that has its minimum has others go for one member more, as any pod", "[permit][preemption]") {
  fixture w;
  w.nodes({"n", "m"});
  const group_id gang = w.gang_of(1, 1);
  w.run();
  CHECK(w.permit().empty());
  w.run_on("m", "low");
  w.member(gang, 1);
  CHECK(w.run() == words{"nominate g-1 m", "evict low m"});
}

TEST_CASE("a gang that may not preempt waits", "[permit][preemption]") {
  fixture w;
  w.nodes({"n"});
  w.run_on("n", "low");
  const group_id gang = w.gang_of(0, 1);
  a_pod polite{"g-0"};
  polite.cpu(2).priority(9).in(gang).spec.preemption = preemption_policy::never;
  w.add(polite);
  CHECK(w.run() == words{"reject g-0"});
}

TEST_CASE("what one member cannot have others go for another one may", "[permit][preemption]") {
  fixture w;
  w.nodes({"n"});
  w.run_on("n", "low");
  const group_id gang = w.add(a_gang{"g", 2}.permit().priority(9));
  w.add(a_pod{"big"}.cpu(2).priority(9).in(gang));
  w.add(a_pod{"small-0"}.cpu(1).priority(9).in(gang));
  w.add(a_pod{"small-1"}.cpu(1).priority(9).in(gang));
  const words said = w.run();
  CHECK(std::count(said.begin(), said.end(), "evict low n") == 1);
  CHECK(w.cluster.nominated_node_of(w.pod("small-0")) == w.node("n"));
  CHECK(w.cluster.nominated_node_of(w.pod("small-1")) == w.node("n"));
  CHECK(w.cluster.nominated_node_of(w.pod("big")) == node_id{});
}

TEST_CASE("members get the devices of those who go for them", "[permit][preemption][devices]") {
  fixture w;
  for (const std::string name : {"n", "m"}) {
    w.add(a_node{name}.cpu(8).gpus(1).cards(1));
    w.add(a_pod{"on-" + name}.gpus(1));
  }
  REQUIRE(w.run() == words{"bind on-n n", "bind on-m m"});
  for (const char* name : {"on-n", "on-m"}) w.confirm(w.pod(name));
  const group_id gang = w.add(a_gang{"g", 2}.permit().priority(9));
  for (const char* name : {"g-0", "g-1"}) w.add(a_pod{name}.gpus(1).priority(9).in(gang));
  CHECK(w.run() == words{"nominate g-0 n", "nominate g-1 m", "evict on-n n", "evict on-m m"});
}

TEST_CASE("nobody goes for a member that could not be placed even so", "[permit][preemption]") {
  fixture w{refuses_reservations{}};
  for (const char* name : {"n", "m", "o"}) w.add(a_node{name}.cpu(2).label("on", name));
  w.run_on("m", "low"), w.run_on("o", "lower", -1);
  const group_id gang = w.add(a_gang{"g", 2}.permit().priority(9));
  w.add(a_pod{"first"}.cpu(2).priority(9).in(gang).select("on", "m"));
  w.add(a_pod{"refused"}.cpu(2).priority(9).in(gang).select("on", "o").label("refuse", "reserve"));
  w.add(a_pod{"second"}.cpu(2).priority(9).in(gang).select("on", "n"));
  CHECK(w.run() == words{"nominate first m", "nominate second n", "evict low m", "reject refused", "wait second n"});
}

}  // namespace gangsched::testing::permit_preemption_test
