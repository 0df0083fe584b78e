// Preemption by members of gangs in permit mode: each for itself, but nobody goes for a minimum that would not stand.
#include "world.hpp"

namespace gangsched::testing::permit_preemption_test {

namespace {

struct fixture : world {
  explicit fixture(kube_release release = kube_release::v1_37)
      : world(profiles::kube_default(), lowest_first(), {.semantics = kube_semantics{release}}) {}
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
  const std::uint64_t before = w.cluster.digest();
  CHECK(sorted(w.run()) == words{"reject g-0", "reject g-1", "reject g-2"});
  CHECK(w.cluster.digest() == before);
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

}  // namespace gangsched::testing::permit_preemption_test
