// The permit room, and what the host says of its decisions: allow, reject, confirm, fail.
#include "support/inside.hpp"
#include "world.hpp"

#include <map>

namespace gangsched::testing::permit_test {

namespace {

/// What a permit plugin of the test says of a pod, by its label "say"; counts who asks.
struct by_label {
  static constexpr std::string_view name = "ByLabel";
  using points = implements<point::permit>;

  permit_verdict permit(const reservation& r, permit_room& room) {
    const std::string_view say = r.pod.label("say").value_or("yes");
    if (say == "no") return {status::unschedulable("it says no")};
    if (say == "error") return {status::error("it breaks")};
    if (say == "wait") return {status::wait("it waits"), 10s};
    if (say == "long") return {status::wait("it waits long"), 24h};
    if (say == "never") return {status::wait("no time"), 0s};
    if (say == "release") {
      // The span is the room's own.
      const std::vector<pod_id> all{room.waiting().begin(), room.waiting().end()};
      for (const pod_id pod : all) room.allow(pod);
    }
    return {};
  }
};

/// A second one, so that a pod may wait for two.
struct also_waits {
  static constexpr std::string_view name = "AlsoWaits";
  using points = implements<point::permit>;
  permit_verdict permit(const reservation& r, permit_room&) {
    return r.pod.label("also") ? permit_verdict{status::wait(), 20s} : permit_verdict{};
  }
};

/// Refuses to bind pods labelled bind=no, and writes the annotation of the others.
struct careful_bind {
  static constexpr std::string_view name = "CarefulBind";
  using points = implements<point::pre_bind>;
  status pre_bind(const reservation& r, decision& d) {
    d.annotation = 77;
    return r.pod.label("bind") == "no" ? status::unschedulable("it may not") : status::success();
  }
};

kernel_table room_profile() {
  return profile{priority_sort{}, node_resources_fit{}, gang_scheduling{}, by_label{}, also_waits{}, careful_bind{}};
}

struct host : world {
  explicit host(scheduler_options options = lowest_first()) : world(room_profile(), options) {
    add(a_node{"n"}.cpu(4));
  }
  std::int64_t used() { return cluster.requested(node("n"), "cpu") / 1000; }
  errc refusal(const result<void>& said) {
    REQUIRE_FALSE(said);
    return said.error().code;
  }
};

}  // namespace

TEST_CASE("a pod that a permit hook holds waits with its node reserved until its time is up", "[engine][permit]") {
  host w;
  w.add(a_pod{"p"}.cpu(3).label("say", "wait"));
  w.now = 5s;
  CHECK(w.run() == words{"wait p n"});
  CHECK(w.used() == 3);
  CHECK(w.counts() == places{0, 0, 0, 0, 1});
  CHECK(w.scheduler.next_deadline() == instant{15s});
  CHECK(w.permit_at(15s - 1ns).empty());  // nothing changed
  CHECK(w.permit_at(15s) == words{"revoke p n"});
  CHECK(w.used() == 0);
  CHECK(w.counts() == places{0, 1, 0, 0, 0});
  CHECK(w.permit().empty());
  // Its own release does not bring it back before its backoff is over.
  CHECK(w.run().empty());
  CHECK(w.scheduler.next_deadline() == instant{16s});
  CHECK(w.run_at(16s) == words{"wait p n"});
}

TEST_CASE("a wait lasts at most 15 minutes", "[engine][permit]") {
  host w;
  w.add(a_pod{"p"}.label("say", "long"));
  CHECK(w.run() == words{"wait p n"});
  CHECK(w.scheduler.next_deadline() == instant{15min});
  CHECK(w.run_at(15min - 1ns).empty());
  CHECK(w.run_at(15min) == words{"revoke p n"});
}

TEST_CASE("a wait of no time at all is taken back, and the host's loop ends", "[engine][permit]") {
  const instant backoff = GENERATE(instant{10s}, instant{0});
  host w{{.max_backoff = backoff}};
  w.add(a_pod{"p"}.label("say", "never"));
  const words all = w.run();
  CHECK(all == words{"wait p n", "revoke p n"});
  CHECK(w.used() == 0);
}

TEST_CASE("a permit hook that rejects sends the pod back to wait for a change of others", "[engine][permit]") {
  host w;
  w.add(a_pod{"p"}.cpu(1).label("say", "no"));
  w.add(a_pod{"q"}.cpu(1).label("say", "no"));
  CHECK(w.run() == words{"reject p", "reject q"});
  CHECK(w.counts() == places{0, 0, 2, 0, 0});
  CHECK(w.used() == 0);
  // The room they held for a moment is news to nobody, and not to themselves.
  CHECK(w.run_at(1min).empty());
  CHECK(w.wake_ups() == 0);
  w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(5)));
  CHECK(w.run() == words{"reject p", "reject q"});
}

TEST_CASE("a pod that permit takes back makes room for one that is tried only in another turn", "[engine][permit]") {
  host w;
  const pod_id first = w.add(a_pod{"first"}.cpu(3).label("say", "long").label("bind", "no"));
  w.add(a_pod{"second"}.cpu(3));
  CHECK(w.run() == words{"wait first n", "reject second"});
  w.must(w.scheduler.allow(first));
  CHECK(w.run().empty());
  CHECK(w.permit() == words{"revoke first n"});
  // Nothing names an instant at which the other pod is to be tried: the host's turn goes on until permit decides nothing.
  CHECK(w.scheduler.next_deadline().value_or(instant::max()) > w.now);
  CHECK(w.run() == words{"bind second n"});
  CHECK(w.permit().empty());
}

TEST_CASE("a permit hook that fails with an error is tried again after the backoff", "[engine][permit]") {
  host w;
  w.add(a_pod{"p"}.cpu(1).label("say", "error"));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 1);
  CHECK(done.decisions()[0].kind == decision_kind::reject);
  CHECK(done.decisions()[0].code == code::error);
  CHECK(w.used() == 0);
  CHECK(w.counts() == places{0, 1, 0, 0, 0});
  CHECK(w.scheduler.next_deadline() == instant{1s});
}

TEST_CASE("a group whose members a permit hook rejects does not keep the host's loop busy", "[engine][permit]") {
  const instant backoff = GENERATE(instant{10s}, instant{0});
  host w{{.max_backoff = backoff}};
  for (const char* name : {"g", "h"}) {
    const group_id gang = w.add(a_gang{name, 1});
    w.add(a_pod{std::string{name} + "1"}.cpu(1).label("say", "no").in(gang));
    w.add(a_pod{std::string{name} + "2"}.cpu(1).label("bind", "no").in(gang));
  }
  w.add(a_pod{"alone"}.cpu(1).label("say", "no"));
  w.add(a_pod{"unbound"}.cpu(1).label("bind", "no"));
  CHECK(w.run().size() == 6);
  CHECK(w.used() == 0);
}

TEST_CASE("a member that times out does not bring its own group back at once", "[engine][permit]") {
  host w;
  const group_id gang = w.add(a_gang{"gang", 1});
  w.add(a_pod{"a"}.cpu(1).label("say", "never").in(gang));
  w.add(a_pod{"b"}.cpu(9).in(gang));
  CHECK(w.run() == words{"wait a n", "reject b", "revoke a n"});
  CHECK(w.counts() == places{0, 1, 0, 0, 0});
  CHECK(w.scheduler.next_deadline() == instant{1s});
}

TEST_CASE("a pod waits until every permit plugin that held it lets it go", "[engine][permit]") {
  host w;
  w.add(a_pod{"p"}.label("say", "wait").label("also", "yes"));
  w.add(a_pod{"q"}.label("say", "wait"));
  CHECK(w.run() == words{"wait p n", "wait q n"});
  w.add(a_pod{"opener"}.label("say", "release"));
  CHECK(w.run() == words{"bind opener n"});
  // q may go; p waits for the other plugin, whose time is longer.
  CHECK(w.permit() == words{"bind q n"});
  CHECK(w.permit_at(19s).empty());
  CHECK(w.permit_at(20s) == words{"revoke p n"});
}

TEST_CASE("the host allows or rejects a waiting pod, and hears of it at the next permit", "[engine][permit]") {
  host w;
  const pod_id p = w.add(a_pod{"p"}.cpu(1).label("say", "wait").label("also", "yes"));
  const pod_id q = w.add(a_pod{"q"}.cpu(1).label("say", "wait"));
  CHECK(w.run() == words{"wait p n", "wait q n"});
  w.must(w.scheduler.allow(p));
  w.must(w.scheduler.reject(q, "not today"));
  CHECK(w.used() == 2);
  CHECK(w.permit() == words{"revoke q n", "bind p n"});
  CHECK(w.used() == 1);
  CHECK(w.refusal(w.scheduler.allow(p)) == errc::wrong_state);
  CHECK(w.refusal(w.scheduler.reject(q, "")) == errc::wrong_state);
  CHECK(w.refusal(w.scheduler.allow(q)) == errc::wrong_state);
  w.confirm(p);
}

TEST_CASE("permit tells what the bind hooks wrote, and takes back whom they refuse", "[engine][permit]") {
  host w;
  const pod_id p = w.add(a_pod{"p"}.cpu(1).cookie(5).label("say", "wait"));
  const pod_id q = w.add(a_pod{"q"}.cpu(1).label("say", "wait").label("bind", "no"));
  w.run();
  w.must(w.scheduler.allow(p));
  w.must(w.scheduler.allow(q));
  const cycle said = w.scheduler.permit(w.now);
  REQUIRE(said.decisions().size() == 2);
  const decision& bind = said.decisions()[0];
  CHECK(bind.kind == decision_kind::bind);
  CHECK(bind.annotation == 77);
  CHECK(bind.pod_cookie == 5);
  CHECK(said.decisions()[1].kind == decision_kind::revoke);
  CHECK(said.decisions()[1].pod == q);
  CHECK(std::string{said.decisions()[1].reason} == "it may not");
  CHECK(w.used() == 1);
}

TEST_CASE("a pod that timed out and waits again is told of once", "[engine][permit]") {
  host w;
  const pod_id p = w.add(a_pod{"p"}.cpu(1).label("say", "wait"));
  CHECK(w.run() == words{"wait p n"});
  CHECK(w.run_at(10s) == words{"revoke p n"});
  CHECK(w.run_at(11s) == words{"wait p n"});
  CHECK(w.counts() == places{0, 0, 0, 0, 1});
  CHECK(w.scheduler.next_deadline() == instant{21s});
  CHECK(w.permit_at(20s).empty());
  CHECK(w.used() == 1);
  CHECK(w.permit_at(21s) == words{"revoke p n"});
  CHECK(w.used() == 0);
  CHECK(w.cluster.state_of(p) == pod_state::pending);
}

TEST_CASE("GangScheduling in permit mode lets the members go together", "[engine][permit]") {
  host w;
  const group_id gang = w.add(a_gang{"gang", 3}.permit());
  for (const char* name : {"a", "b", "c", "d"}) w.add(a_pod{name}.cpu(1).in(gang));
  CHECK(w.run() == words{"wait a n", "wait b n", "bind c n", "bind d n"});
  CHECK(w.permit() == words{"bind a n", "bind b n"});
  CHECK(w.permit().empty());
  CHECK_FALSE(w.scheduler.next_deadline());
}

TEST_CASE("a gang in permit mode that times out gives everything back exactly once", "[engine][permit]") {
  host w;
  const group_id gang = w.add(a_gang{"gang", 3}.permit().timeout(30s));
  for (const char* name : {"a", "b", "c"}) w.add(a_pod{name}.cpu(2).in(gang));
  CHECK(w.run() == words{"wait a n", "wait b n", "reject c"});
  CHECK(w.used() == 4);
  CHECK(w.scheduler.next_deadline() == instant{30s});
  CHECK(w.permit_at(30s) == words{"revoke a n", "revoke b n"});
  CHECK(w.used() == 0);
  CHECK(w.permit().empty());
  // The room wakes the third; the first two come back after their backoff.
  CHECK(w.run() == words{"wait c n"});
  CHECK(w.used() == 2);
  CHECK(w.run_at(31s) == words{"wait a n", "reject b"});
  CHECK(w.permit_at(60s) == words{"revoke c n"});
  CHECK(w.used() == 2);
}

TEST_CASE("members and nodes of a waiting gang may go, and a member may change", "[engine][permit]") {
  host w;
  w.add(a_node{"m"}.cpu(1));
  const group_id gang = w.add(a_gang{"gang", 4}.permit().timeout(1min));
  const pod_id a = w.add(a_pod{"a"}.cpu(1).in(gang));
  const pod_id b = w.add(a_pod{"b"}.cpu(1).in(gang));
  w.add(a_pod{"big"}.cpu(9).in(gang));
  const pod_id d = w.add(a_pod{"d"}.cpu(1).in(gang));
  CHECK(w.run() == words{"wait a n", "wait b n", "reject big", "wait d n"});
  SECTION("a member is removed: the others wait on, and what it held is free") {
    w.remove(a);
    CHECK(w.used() == 2);
    CHECK(w.permit().empty());
    CHECK(w.counts() == places{0, 0, 0, 1, 2});  // three are too few: big may not be tried any more
    CHECK(w.permit_at(1min) == words{"revoke b n", "revoke d n"});
    CHECK(w.counts() == places{0, 0, 0, 3, 0});
    CHECK(w.used() == 0);
  }
  SECTION("a member that takes the row of one that waited does not wait") {
    w.remove(a);
    const pod_id other = w.add(a_pod{"other"}.cpu(1));
    REQUIRE(other.row == a.row);
    CHECK(w.refusal(w.scheduler.allow(other)) == errc::wrong_state);
    CHECK(w.permit().empty());
    CHECK(w.run() == words{"bind other n"});
    w.confirm(other);
  }
  SECTION("the node is removed: all are queued again at once and wait elsewhere") {
    CHECK(w.must(w.cluster.remove_node(w.node("n"))).empty());
    CHECK(w.permit() == words{"revoke a", "revoke b", "revoke d"});
    CHECK(w.run() == words{"wait a m", "reject b", "reject d"});
    CHECK(w.permit().empty());
    CHECK(w.cluster.requested(w.node("m"), "cpu") == 1000);
  }
  SECTION("a member is changed: it waits on and holds what it now requests") {
    w.must(w.cluster.update_pod(b, a_pod{"b"}.cpu(2).in(gang)));
    CHECK(w.used() == 4);
    CHECK(w.permit().empty());
    CHECK(w.permit_at(1min).size() == 3);
    CHECK(w.used() == 0);
  }
  SECTION("a member is bound by others: it counts, and is no longer waited for") {
    w.must(w.cluster.update_pod(d, a_pod{"d"}.cpu(1).in(gang).on(w.node("m"))));
    CHECK(w.used() == 2);
    CHECK(w.permit() == words{"revoke d n"});
    w.must(w.cluster.update_pod(w.pod("big"), a_pod{"big"}.cpu(1).in(gang)));
    CHECK(w.run() == words{"bind big n"});
    CHECK(w.permit() == words{"bind a n", "bind b n"});
  }
}

TEST_CASE("confirm and fail say what does not apply, and change nothing then", "[engine][permit]") {
  host w;
  const pod_id bound = w.add(a_pod{"bound"}.cpu(1));
  const pod_id waiting = w.add(a_pod{"waiting"}.cpu(1).label("say", "wait"));
  const pod_id pending = w.add(a_pod{"pending"}.cpu(9));
  const pod_id gone = w.add(a_pod{"gone"}.cpu(1));
  w.run();
  w.remove(gone);
  w.confirm(bound);
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  const auto failure = [&](pod_id pod) {
    const cycle said = w.scheduler.fail(pod, "");
    REQUIRE(said.error() != nullptr);
    CHECK_FALSE(said);
    CHECK(said.decisions().empty());
    return said.error()->code;
  };
  CHECK(w.refusal(w.scheduler.confirm(bound)) == errc::wrong_state);
  CHECK(failure(bound) == errc::wrong_state);
  CHECK(w.refusal(w.scheduler.confirm(waiting)) == errc::wrong_state);
  CHECK(w.refusal(w.scheduler.confirm(pending)) == errc::wrong_state);
  CHECK(failure(pending) == errc::wrong_state);
  CHECK(w.refusal(w.scheduler.confirm(gone)) == errc::unknown);
  CHECK(failure(gone) == errc::unknown);
  CHECK(w.refusal(w.scheduler.allow(gone)) == errc::unknown);
  CHECK(w.refusal(w.scheduler.confirm({})) == errc::unknown);
  CHECK(failure({.row = 1000, .generation = 0}) == errc::unknown);
  CHECK(inside(w.cluster).digest_with_derived() == before);
}

TEST_CASE("fail gives back once, queues the pod with backoff, and also takes one out of the permit room",
          "[engine][permit]") {
  host w;
  const pod_id p = w.add(a_pod{"p"}.cpu(1));
  const pod_id q = w.add(a_pod{"q"}.cpu(1).label("say", "wait"));
  CHECK(w.run() == words{"bind p n", "wait q n"});
  CHECK(w.fail(p).empty());
  CHECK(w.fail(q).empty());
  CHECK(w.used() == 0);
  CHECK(w.scheduler.fail(p, "").error()->code == errc::wrong_state);
  CHECK(w.scheduler.fail(q, "").error()->code == errc::wrong_state);
  CHECK(w.counts() == places{0, 2, 0, 0, 0});
  CHECK(w.permit().empty());
  CHECK(w.run_at(1s) == words{"bind p n", "wait q n"});
  CHECK(w.used() == 2);
}

TEST_CASE("in an atomic gang a failure takes the siblings back: revoke and evict", "[engine][permit]") {
  const bool permit = GENERATE(false, true);
  host w;
  a_gang spec{"gang", 4};
  if (permit) spec.permit();
  const group_id gang = w.add(spec.atomic());
  w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"b"}.cpu(1).in(gang));
  w.add(a_pod{"c"}.cpu(1).in(gang).label("say", "wait"));
  w.add(a_pod{"d"}.cpu(1).in(gang));
  w.run(), w.permit();
  REQUIRE(w.used() == 4);
  w.confirm(w.pod("a"));
  CHECK(w.fail(w.pod("b")) == words{"evict a n", "revoke c n", "revoke d n"});
  CHECK(w.used() == 1);
  w.remove(w.pod("a"));
  w.add(a_pod{"a2"}.cpu(1).in(gang));
  CHECK(w.used() == 0);
  w.now = 1s;
  w.run(), w.permit();
  CHECK(w.used() == 4);
}

TEST_CASE("results stay as they were over confirm, fail and changes of the cluster", "[engine][permit]") {
  host w;
  const group_id gang = w.add(a_gang{"gang", 2}.atomic());
  const pod_id a = w.add(a_pod{"a"}.cpu(1).in(gang).cookie(1));
  const pod_id b = w.add(a_pod{"b"}.cpu(1).in(gang).cookie(2));
  const cycle first = w.scheduler.schedule_cycle(w.now);
  REQUIRE(first.decisions().size() == 2);
  w.confirm(a);
  const cycle failed = w.scheduler.fail(b, "x");
  REQUIRE(failed.decisions().size() == 1);
  for (int i = 0; i < 100; ++i) {
    const pod_id pod = w.add(a_pod{"p" + std::to_string(i)});
    w.must(w.cluster.assume(pod, w.node("n")));
    CHECK(w.scheduler.fail(pod, "y").error() == nullptr);
  }
  CHECK(first.decisions()[0].pod == a);
  CHECK(first.decisions()[0].pod_cookie == 1);
  CHECK(first.decisions()[1].pod == b);
  CHECK(failed.decisions()[0].pod == a);
  CHECK(failed.decisions()[0].kind == decision_kind::evict);
}

TEST_CASE("what was assumed before a restart may be confirmed or failed", "[engine][permit]") {
  cluster on;
  const node_id n = world::must(on.add_node(a_node{"n"}.cpu(2)));
  const pod_id a = world::must(on.add_pod(a_pod{"a"}.cpu(1)));
  const pod_id b = world::must(on.add_pod(a_pod{"b"}.cpu(1)));
  world::must(on.assume(a, n));
  world::must(on.assume(b, n));
  scheduler again{on, room_profile()};
  CHECK(on.assumed() == std::vector{a, b});
  CHECK(again.confirm(a));
  CHECK(again.fail(b, "lost").error() == nullptr);
  CHECK(on.requested(n, "cpu") == 1000);
  CHECK(again.schedule_cycle(500ms).decisions().size() == 1);  // it failed before any time was told
}

TEST_CASE("what a gang takes back and does not need itself wakes others", "[engine][permit]") {
  world w{room_profile()};
  w.add(a_node{"n"}.cpu(8));
  const group_id older = w.add(a_gang{"older", 2});
  w.add(a_pod{"o1"}.cpu(3).in(older));
  const group_id younger = w.add(a_gang{"younger", 2}.permit());
  w.add(a_pod{"y1"}.cpu(7).in(younger));
  w.add(a_pod{"y2"}.cpu(7).in(younger));
  w.add(a_pod{"small"}.cpu(2));
  CHECK(w.run() == words{"wait y1 n", "reject y2", "reject small"});
  w.add(a_pod{"o2"}.cpu(3).in(older));
  CHECK(w.run() == words{"revoke y1 n", "bind o1 n", "bind o2 n", "bind small n"});
}

TEST_CASE("an older incomplete gang takes back what a younger one holds, unless timers decide", "[engine][permit]") {
  const hold_rule rule = GENERATE(hold_rule::older_first, hold_rule::timers_only);
  host w{{.ties = tie_rule::lowest_row, .holds = rule}};
  const group_id older = w.add(a_gang{"older", 4}.permit());
  const group_id younger = w.add(a_gang{"younger", 4}.permit());
  w.add(a_pod{"o1"}.cpu(1).in(older));
  w.add(a_pod{"y1"}.cpu(1).in(younger));
  w.add(a_pod{"o2"}.cpu(1).in(older));
  w.add(a_pod{"y2"}.cpu(1).in(younger));
  w.add(a_pod{"y3"}.cpu(1).in(younger));
  w.add(a_pod{"y4"}.cpu(1).in(younger));
  w.add(a_pod{"o3"}.cpu(1).in(older));
  w.add(a_pod{"o4"}.cpu(1).in(older));
  words all = w.run();
  if (rule == hold_rule::older_first) {
    for (const std::string& one : w.permit()) all.push_back(one);
    for (const char* name : {"o1", "o2", "o3", "o4"}) CHECK(w.cluster.state_of(w.pod(name)) == pod_state::assumed);
    CHECK(std::count(all.begin(), all.end(), "revoke y1 n") == 1);
    CHECK(std::count(all.begin(), all.end(), "revoke y2 n") == 1);
    CHECK(w.counts()[4] == 0);
  } else {
    CHECK(all == words{"wait o1 n", "wait y1 n", "wait o2 n", "wait y2 n", "reject y3", "reject y4", "reject o3",
                       "reject o4"});
    CHECK(w.permit_at(4min).empty());
  }
}

TEST_CASE("of an older gang whose members found no room the oldest is tried when a younger one takes some",
          "[engine][permit]") {
  const bool asked = GENERATE(false, true);
  world w{profiles::kube_default(), world::lowest_first()};
  w.add(a_node{"n"}.cpu(5));
  const group_id older = w.add(a_gang{"older", 4}.permit()), younger = w.add(a_gang{"younger", 2}.permit());
  w.add(a_pod{"o1"}.cpu(2).in(older));
  w.add(a_pod{"o2"}.cpu(4).in(older));
  const pod_id last = w.add(a_pod{"o3"}.cpu(4).label("own", "class").in(older));
  w.add(a_pod{"o4"}.cpu(4).in(older));
  w.add(a_pod{"y1"}.cpu(2).in(younger));
  w.add(a_pod{"y2"}.cpu(4).in(younger));
  pod_spec choosy =
      a_pod{"choosy"}.cpu(9);  // counts pods by labels from here on: classes get new numbers as they are met
  choosy.affinity_to_pods.preferred = {
      {5, {"kubernetes.io/hostname", label_selector{.match_labels = {{"own", "class"}}}}}};
  w.add(choosy);
  if (asked) w.must(w.scheduler.explain(last));
  const words said = w.run();
  REQUIRE(!said.empty());
  CHECK(std::count(said.begin(), said.end(), "reject o2") == 2);
  CHECK(std::count(said.begin(), said.end(), "reject o3") == 1);
}

}  // namespace gangsched::testing::permit_test
