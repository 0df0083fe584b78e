// The library's own policy of queues, and groups whose members do not all stand in one queue.
#include "queue_world.hpp"

namespace gangsched::testing::fair_share_members_test {

namespace {

/// A node of two CPUs. Both are due to the queue `owner`, none to `guest`.
struct owner_and_guest : core_queues {
  owner_and_guest() : core_queues(profiles::with_queues()) {
    add(a_node{"n"}.cpu(2));
    queue("owner", 2);
    queue("guest");
  }
};

}  // namespace

TEST_CASE("a gang's member takes nothing from its own gang, in whatever queues they are", "[engine][queues]") {
  owner_and_guest w;
  const group_id gang = w.add(a_gang{"g", 2}.permit());
  w.ask(a_pod{"runs"}.cpu(2).in(gang).on(w.node("n")), "guest");
  w.ask(a_pod{"asks"}.cpu(2).in(gang), "owner");
  CHECK(w.run() == words{"reject asks"});
  // Of anybody else it would.
  w.ask(a_pod{"other"}.cpu(2), "owner");
  CHECK(w.run() == words{"nominate other n", "evict runs n"});
}

TEST_CASE("who goes for the minimum of a gang in permit mode is told why", "[engine][queues]") {
  owner_and_guest w;
  w.ask(a_pod{"runs"}.cpu(2).on(w.node("n")), "guest");
  w.ask(a_pod{"asks"}.cpu(2).in(w.add(a_gang{"g", 1}.permit())), "owner");
  const gangsched::cycle done = w.scheduler.schedule_cycle(w.now);
  CHECK(w.said(done.decisions()) == words{"nominate asks n", "evict runs n"});
  REQUIRE(done.decisions().back().reason != nullptr);
  CHECK(std::string_view{done.decisions().back().reason}.starts_with("others are due what it uses"));
}

TEST_CASE("what a gang needs stays while some of it is in no queue, and its surplus in a queue goes",
          "[engine][queues]") {
  for (const bool first_is_in_one : {false, true}) {
    owner_and_guest w;
    a_gang made{"g", 1};
    made.spec.disruption = disruption_mode::surplus;
    const group_id gang = w.add(made);
    w.ask(a_pod{"first"}.cpu(1).in(gang).on(w.node("n")), first_is_in_one ? "guest" : "");
    w.ask(a_pod{"second"}.cpu(1).in(gang).on(w.node("n")), first_is_in_one ? "" : "guest");
    w.ask(a_pod{"asks"}.cpu(1), "owner");
    w.ask(a_pod{"large"}.cpu(2), "owner");  // lends nothing
    CHECK(w.run() == (first_is_in_one ? words{"reject asks", "reject large"}
                                      : words{"nominate asks n", "evict second n", "reject large"}));
    CHECK(w.scheduler.verify());
  }
}

TEST_CASE("a gang whose members are in two queues asks each for its part", "[engine][queues]") {
  core_queues w{profiles::with_queues()};
  w.add(a_node{"n"}.cpu(8));
  w.queue("one", 0, 2);
  w.queue("two", 0, 2);
  const auto gang = [&](const std::string& name, int in_two) {
    group_spec spec = a_gang{name, 1 + in_two};
    spec.queue = "one";
    const group_id made = w.add(spec);
    w.ask(a_pod{name + "-leads"}.cpu(1).in(made), "");
    for (int i = 0; i < in_two; ++i) w.ask(a_pod{name + "-" + std::to_string(i)}.cpu(1).in(made), "two");
  };
  gang("g", 2);
  CHECK(w.run() == words{"bind g-leads n", "bind g-0 n", "bind g-1 n"});
  gang("h", 1);  // there is one more of "one", and nothing of "two"
  CHECK(count(w.run(), "bind") == 0);
  gang("i", 0);
  CHECK(w.run() == words{"bind i-leads n"});
  CHECK(w.scheduler.verify());
}

TEST_CASE("a pod that is the first to name a queue waits for it, and is told so", "[engine][queues]") {
  owner_and_guest w;
  w.ask(a_pod{"known"}.cpu(1), "owner");
  CHECK(w.run() == words{"bind known n"});
  w.ask(a_pod{"early"}.cpu(1), "not-there-yet");
  const gangsched::cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 1);
  CHECK(done.decisions()[0].kind == decision_kind::reject);
  CHECK(std::string{done.decisions()[0].reason} == "a queue that it is in is not there");
  w.queue("not-there-yet");
  CHECK(w.run() == words{"bind early n"});
}

}  // namespace gangsched::testing::fair_share_members_test
