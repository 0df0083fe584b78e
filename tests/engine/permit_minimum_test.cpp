// The permit room asks again: who may go is decided when its bind is decided, and by each plugin for itself.
#include "world.hpp"

namespace gangsched::testing::permit_minimum_test {

namespace {

/// An external quota: pods labelled so wait for somebody to say allow(pod, "Quota").
struct quota {
  static constexpr std::string_view name = "Quota";
  using points = implements<point::permit>;
  permit_verdict permit(const reservation& r, permit_room&) {
    return r.pod.label("quota") ? permit_verdict{status::wait("no quota yet"), 10min} : permit_verdict{};
  }
};

/// Refuses pods labelled bind=no.
struct careful {
  static constexpr std::string_view name = "Careful";
  using points = implements<point::pre_bind>;
  status pre_bind(const reservation& r, decision&) {
    return r.pod.label("bind") == "no" ? status::unschedulable("it may not") : status::success();
  }
};

kernel_table with_quota() {
  return profile{priority_sort{}, node_name{}, node_resources_fit{}, gang_scheduling{},
                 quota{},         careful{},   default_preemption{}};
}

/// Nodes a, b and c with room for one pod each, and a gang that is placed member by member.
struct host : world {
  group_id gang;
  explicit host(const a_gang& spec, kernel_table table = with_quota()) : world(std::move(table)) {
    for (const char* name : {"a", "b", "c"}) add(a_node{name}.cpu(1));
    gang = add(spec);
  }
  using world::add;
  pod_id member(const char* name, std::int64_t cpu = 1) { return add(a_pod{name}.cpu(cpu).in(gang)); }
  std::vector<std::string> holders(pod_id pod) { return must(scheduler.pending_plugins(pod)); }
  errc refusal(const result<void>& said) {
    REQUIRE_FALSE(said);
    return said.error().code;
  }
};

a_gang of(std::int32_t least, bool atomic = false) { return a_gang{"g", least}.permit().timeout(5min).atomic(atomic); }

}  // namespace

TEST_CASE("members are bound while their gang has its minimum, and not after it has lost it", "[engine][permit]") {
  const bool atomic = GENERATE(false, true);
  const std::string how = GENERATE("preempted", "failed", "removed", "deleted", "its node goes");
  CAPTURE(how, atomic);
  host w{of(3, atomic)};
  const pod_id x = w.member("x"), y = w.member("y"), z = w.member("z");
  CHECK(w.run() == words{"wait x a", "wait y b", "bind z c"});  // z completes it: x and y may go
  CHECK(w.holders(x).empty());
  words said;
  if (how == "preempted") {
    a_pod high{"high"};
    high.spec.required_node = "c";
    w.add(high.cpu(1).priority(100));
    said = w.run();
    CHECK(said == words{"nominate high c", "revoke z c", "bind high c"});
  } else if (how == "failed") {
    said = w.fail(z);
  } else if (how == "removed") {
    w.remove(z);
  } else if (how == "deleted") {
    w.must(w.cluster.set_terminating(z));
  } else {
    CHECK(w.must(w.cluster.remove_node(w.node("c"))).empty());
  }
  if (how == "failed" && atomic) {
    CHECK(said == words{"revoke x a", "revoke y b"});
    CHECK(w.permit().empty());
    return;
  }
  CHECK(w.permit() == (how == "its node goes" ? words{"revoke z"} : words{}));
  CHECK(w.holders(x) == words{"GangScheduling"});
  CHECK(w.cluster.state_of(x) == pod_state::assumed);
  if (how == "deleted") {
    w.must(w.scheduler.confirm(z));  // being deleted, it runs nevertheless
    CHECK(w.permit().empty());
  }
  // With another one they go.
  w.add(a_node{"d"}.cpu(1));
  w.member("new");
  const words next = w.run_at(2s);
  CHECK(count(next, "bind ") == (how == "failed" ? 2 : 1));
  CHECK(sorted(w.permit()) == words{"bind x a", "bind y b"});
  CHECK(w.cluster.state_of(y) == pod_state::assumed);
}

TEST_CASE("those whose permission was taken back wait as long as they would have waited anyhow", "[engine][permit]") {
  host w{of(3)};
  w.member("x"), w.member("y");
  const pod_id z = w.member("z");
  CHECK(w.run_at(1s).size() == 3);
  w.fail(z);
  w.must(w.cluster.set_terminating(z));
  CHECK(w.permit_at(100s).empty());
  CHECK(w.permit_at(301s - 1ns).empty());
  CHECK(w.permit_at(301s) == words{"revoke x a", "revoke y b"});
}

TEST_CASE("a minimum that a bind hook spoils is not filled up by those after it", "[engine][permit]") {
  host w{of(3)};
  w.add(a_pod{"x"}.cpu(1).label("bind", "no").in(w.gang));
  w.member("y"), w.member("z");
  CHECK(w.run() == words{"wait x a", "wait y b", "bind z c"});
  CHECK(w.permit() == words{"revoke x a"});
  CHECK(w.counts().back() == 1);
}

TEST_CASE("a gang that needs more members than before holds those that it had let go", "[engine][permit]") {
  host w{of(2)};
  const pod_id x = w.member("x");
  w.member("y");
  CHECK(w.run() == words{"wait x a", "bind y b"});
  w.must(w.cluster.update_group(w.gang, of(3)));
  CHECK(w.permit().empty());
  CHECK(w.holders(x) == words{"GangScheduling"});
  w.must(w.cluster.update_group(w.gang, of(2)));
  CHECK(w.permit() == words{"bind x a"});
}

TEST_CASE("a pod in the permit room that is being deleted is taken back", "[engine][permit]") {
  const bool complete = GENERATE(false, true);
  host w{of(2)};
  const pod_id x = w.member("x");
  w.member("large", 9);
  CHECK(w.run() == words{"wait x a", "reject large"});
  if (complete) {
    w.member("y");
    CHECK(w.run() == words{"bind y b"});
  }
  w.must(w.cluster.set_terminating(x));
  CHECK(w.permit() == words{"revoke x a"});
  CHECK(w.cluster.requested(w.node("a"), "cpu") == 0);
  CHECK(w.cluster.state_of(x) == pod_state::pending);
  CHECK(w.must(w.scheduler.standing(x)).place == queue_place::none);
  CHECK(w.permit().empty());
  CHECK(w.run_at(1h).size() <= 1);  // large is tried again, x is not
}

TEST_CASE("a pod that a node is reserved for cannot be gated", "[engine][permit]") {
  host w{of(2)};
  const pod_id x = w.member("x");
  w.member("large", 9);
  w.run();
  const result<void> said = w.cluster.update_pod(x, a_pod{"x"}.cpu(1).in(w.gang).gate("wait"));
  REQUIRE_FALSE(said);
  CHECK(said.error().message() == "pod default/x: scheduling_gates: a pod that a node is reserved for cannot be gated");
}

TEST_CASE("the host answers for one plugin, and the others hold the pod as before", "[engine][permit]") {
  host w{of(2)};
  const pod_id x = w.add(a_pod{"x"}.cpu(1).label("quota", "yes").in(w.gang));
  w.member("large", 9);
  CHECK(w.run() == words{"wait x a", "reject large"});
  CHECK(w.holders(x) == words{"GangScheduling", "Quota"});
  CHECK(w.refusal(w.scheduler.allow(x, "Nobody")) == errc::wrong_state);
  CHECK(w.refusal(w.scheduler.allow(x, "")) == errc::wrong_state);
  w.must(w.scheduler.allow(x, "Quota"));
  CHECK(w.refusal(w.scheduler.allow(x, "Quota")) == errc::wrong_state);  // it holds it no more
  CHECK(w.permit().empty());
  CHECK(w.holders(x) == words{"GangScheduling"});
  SECTION("its gang is complete: it goes") {
    w.member("y");
    CHECK(w.run() == words{"bind y b"});
    CHECK(w.permit() == words{"bind x a"});
    CHECK(w.refusal(w.scheduler.allow(x, "GangScheduling")) == errc::wrong_state);
    CHECK(w.scheduler.pending_plugins(x).error().code == errc::wrong_state);
  }
  SECTION("the host answers for the gang as well, and is not asked about it again") {
    w.must(w.scheduler.allow(x, "GangScheduling"));
    w.remove(w.pod("large"));
    CHECK(w.permit() == words{"bind x a"});
  }
}

TEST_CASE("a quota and a gang together: nobody of the gang runs before both say so", "[engine][permit]") {
  host w{of(2)};
  const pod_id x = w.add(a_pod{"x"}.cpu(1).label("quota", "yes").in(w.gang));
  const pod_id y = w.add(a_pod{"y"}.cpu(1).label("quota", "yes").in(w.gang));
  CHECK(w.run() == words{"wait x a", "wait y b"});
  CHECK(w.holders(x) == words{"Quota"});
  w.must(w.scheduler.allow(x, "Quota"));
  // y leaves before x is bound: x has its quota, and no gang any more.
  w.must(w.scheduler.reject(y, "no quota"));
  CHECK(w.permit() == words{"revoke y b"});
  CHECK(w.holders(x) == words{"GangScheduling"});
  // allow without a name answers for all of them.
  w.must(w.scheduler.allow(x));
  CHECK(w.permit() == words{"bind x a"});
}

TEST_CASE("permit says what changed, and nothing of those that go on waiting", "[engine][permit]") {
  host w{of(2)};
  w.member("x"), w.member("large", 9);
  CHECK(w.run() == words{"wait x a", "reject large"});
  for (int i = 0; i < 3; ++i) {
    const cycle said = w.scheduler.permit(w.now);
    CHECK_FALSE(said);
    CHECK(said.decisions().empty());
  }
}

TEST_CASE("a group that does not preempt does not in permit mode either", "[engine][permit]") {
  const bool never = GENERATE(false, true);
  a_gang spec = of(1).priority(9);
  if (never) spec.spec.preemption = preemption_policy::never;
  host w{spec};
  for (const char* node : {"a", "b", "c"}) w.add(a_pod{std::string{"low-"} + node}.cpu(1).on(w.node(node)));
  w.add(a_pod{"x"}.cpu(1).priority(9).in(w.gang));
  const words said = w.run();
  if (never)
    CHECK(said == words{"reject x"});
  else
    CHECK(said == words{"nominate x a", "evict low-a a"});
}

TEST_CASE("a waiting member of a group that is removed and added again waits by the rules of the new one",
          "[engine][permit]") {
  const bool permit_mode = GENERATE(true, false);
  host w{of(4)};
  w.member("x"), w.member("y");
  const pod_id leaving = w.member("z"), large = w.member("large", 9);
  CHECK(w.run() == words{"wait x a", "wait y b", "wait z c", "reject large"});
  w.must(w.cluster.remove_group(w.gang));
  w.remove(large), w.remove(leaving);  // they may go now that there is no gang
  CHECK(w.run() == words{});
  CHECK(w.add(permit_mode ? of(4) : a_gang{"g", 3}) == w.gang);
  if (permit_mode) {
    CHECK(w.permit().empty());
    CHECK(w.counts()[4] == 2);
  } else {
    CHECK(w.permit() == words{"revoke x a", "revoke y b"});
    w.member("z");
    CHECK(sorted(w.run_at(1min)) == words{"bind x a", "bind y b", "bind z c"});
  }
}

}  // namespace gangsched::testing::permit_minimum_test
