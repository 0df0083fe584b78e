// Attempts that the host makes itself: what is in flight, how it comes back, timers, and what is refused.
#include "host_queue.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::attempts_test {

namespace {

const std::vector<std::string> fit{"NodeResourcesFit"};

/// The same host, with backoffs and timers of the default.
host_queue plain(wake_rule rule = wake_rule::one_per_class) {
  return host_queue{profiles::kube_default(), {.ties = tie_rule::lowest_row, .wake = rule}};
}

}  // namespace

TEST_CASE("a popped pod is in flight until it comes back, is given up, or runs", "[engine][attempts]") {
  host_queue w;
  const node_id n = w.add(a_node{"n"});
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.place(p) == queue_place::active);
  CHECK(w.pop() == "p");
  CHECK(w.place(p) == queue_place::in_flight);
  CHECK(w.scheduler.counts().in_flight == 1);
  REQUIRE(w.scheduler.in_flight().size() == 1);
  CHECK(w.scheduler.in_flight()[0].pod == p);
  CHECK(w.pop().empty());
  SECTION("it comes back") {
    w.reject(p, fit);
    const queue_standing stands = w.must(w.scheduler.standing(p));
    CHECK(stands.place == queue_place::unschedulable);
    CHECK(stands.attempts == 1);
    CHECK(stands.failures == 1);
    CHECK(stands.rejected.unschedulable_plugins == fit);
  }
  SECTION("it is given up, and comes back when it changes") {
    w.must(w.scheduler.done(p));
    CHECK(w.place(p) == queue_place::none);
    w.must(w.cluster.update_pod(p, a_pod{"p"}.label("a", "b")));
    CHECK(w.place(p) == queue_place::active);
    CHECK(w.pop() == "p");
    w.must(w.scheduler.done(p));
  }
  SECTION("the host binds it") {
    w.must(w.cluster.assume(p, n));
    CHECK(w.place(p) == queue_place::none);
    SECTION("for good") { w.must(w.cluster.bind(p)); }
    SECTION("by the scheduler's word") {
      w.must(w.scheduler.confirm(p));
      CHECK(w.scheduler.in_flight().empty());
    }
    SECTION("in one step") { w.must(w.cluster.update_pod(p, a_pod{"p"}.on(n))); }
    CHECK(w.place(p) == queue_place::none);
  }
  SECTION("the host reserves a node and gives it back: it is still being tried") {
    w.must(w.cluster.assume(p, n));
    CHECK(w.place(p) == queue_place::none);
    w.must(w.cluster.release(p));
    CHECK(w.place(p) == queue_place::in_flight);
    w.reject(p, fit);
    CHECK(w.place(p) == queue_place::unschedulable);
  }
  SECTION("the host reserves a node and fails to bind") {
    w.must(w.cluster.assume(p, n));
    CHECK(w.fail(p).empty());
    CHECK(w.place(p) == queue_place::error_backoff);
  }
  CHECK(w.scheduler.in_flight().empty());
}

TEST_CASE("the engine's own cycles and the host's attempts share one queue", "[engine][attempts]") {
  host_queue w{profiles::kube_default(), with_kube_queue(world::lowest_first())};
  w.add(a_node{"n"}.cpu(2));
  const pod_id first = w.add(a_pod{"first"}.cpu(4));
  w.add(a_pod{"second"}.cpu(4));
  w.add(a_pod{"third"}.cpu(1));
  CHECK(w.pop() == "first");
  CHECK(w.run() == words{"reject second", "bind third n"});
  CHECK(w.must(w.scheduler.standing(w.pod("second"))).rejected.unschedulable_plugins == fit);
  CHECK(w.place(first) == queue_place::in_flight);
  w.now = 1min;
  w.add(a_node{"m"}.cpu(4));
  CHECK(w.cycle() == words{"bind second m"});
  w.reject(first, fit);
  CHECK(w.place(first) == queue_place::backoff);  // it has not seen m
  CHECK(w.run() == words{"reject first"});
}

TEST_CASE("what happens while a pod is in flight counts by who rejected it", "[engine][attempts]") {
  const wake_rule rule = GENERATE(wake_rule::hints, wake_rule::one_per_class, wake_rule::all);
  host_queue w = plain(rule);
  w.add(a_pod{"p"}.cpu(2).select("disk", "ssd"));
  w.add(a_pod{"q"}.cpu(2).select("disk", "ssd"));
  const pod_id p = w.pod("p");
  CHECK(w.pop() == "p");
  SECTION("nothing: no news") {
    w.reject(p, fit);
    CHECK(w.place(p) == queue_place::unschedulable);
  }
  SECTION("a node that would do") {
    w.add(a_node{"n"}.cpu(2).label("disk", "ssd"));
    w.reject(p, fit);
    CHECK(w.place(p) == queue_place::backoff);
  }
  SECTION("a node that is too small") {
    w.add(a_node{"n"}.cpu(1).label("disk", "ssd"));
    w.reject(p, fit);
    CHECK(w.place(p) == queue_place::unschedulable);
  }
  SECTION("what another attempt heard of is no news to a later one") {
    w.add(a_node{"n"}.cpu(2).label("disk", "ssd"));
    CHECK(w.pop() == "q");
    w.reject(w.pod("q"), fit);
    CHECK(w.place(w.pod("q")) == queue_place::unschedulable);
    w.reject(p, fit);
    CHECK(w.place(p) == queue_place::backoff);
  }
  SECTION("its own update") {
    w.must(w.cluster.update_pod(p, a_pod{"p"}.cpu(1).select("disk", "ssd")));
    CHECK(w.place(p) == queue_place::in_flight);
    w.reject(p, fit);
    CHECK(w.place(p) == queue_place::backoff);
  }
  SECTION("activation is remembered") {
    w.must(w.scheduler.activate(std::vector{p}, w.now));
    CHECK(w.place(p) == queue_place::in_flight);
    w.reject(p, fit);
    CHECK(w.place(p) == queue_place::backoff);
  }
}

TEST_CASE("a pod that waits for a pending plugin skips its backoff when that has news", "[engine][attempts]") {
  host_queue w;
  w.now = 10s;
  const pod_id p = w.add(a_pod{"p"}.cpu(1));
  CHECK(w.pop() == "p");
  SECTION("parked") {
    w.reject(p, {"NodePorts"}, fit);
    w.add(a_node{"n"}.cpu(1));
    CHECK(w.place(p) == queue_place::active);
  }
  SECTION("in flight") {
    w.add(a_node{"n"}.cpu(1));
    w.reject(p, {}, fit);
    CHECK(w.place(p) == queue_place::active);
  }
  SECTION("another plugin's news does not do it") {
    w.add(a_node{"small"}.cpu_milli(1));
    w.reject(p, {"NodePorts"}, fit);
    CHECK(w.place(p) == queue_place::backoff);
  }
}

TEST_CASE("an attempt that ends in an error waits its backoff out", "[engine][attempts]") {
  host_queue w;
  const pod_id broken = w.add(a_pod{"broken"}.priority(9));
  const pod_id rejected = w.add(a_pod{"rejected"});
  CHECK(w.pop() == "broken");
  w.error_of(broken);
  CHECK(w.place(broken) == queue_place::error_backoff);
  CHECK(w.pop() == "rejected");
  w.reject(rejected, {"NodeName"});
  w.add(a_node{"n"});
  CHECK(w.place(rejected) == queue_place::backoff);
  const std::optional<attempt> early = w.must(w.scheduler.pop(w.now));
  REQUIRE(early);
  CHECK(early->pod == rejected);
  CHECK(early->from_backoff);
  CHECK(early->number == 2);
  CHECK(w.pop().empty());  // nobody but the broken one, which is never popped early
  w.must(w.scheduler.activate(std::vector{broken}, w.now));
  CHECK(w.pop() == "broken");
}

TEST_CASE("backoffs end with the whole second in which they end", "[engine][attempts]") {
  host_queue w;
  w.now = 1500ms;
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.pop() == "p");
  w.error_of(p);  // 2500ms, rounded down
  CHECK(w.must(w.scheduler.standing(p)).backoff_until == instant{2s});
  CHECK(w.scheduler.next_deadline() == instant{3s});
  w.now = 2999ms;
  w.must(w.scheduler.flush_backoff(w.now));
  CHECK(w.place(p) == queue_place::error_backoff);
  w.now = 3s;
  CHECK(w.place(p) == queue_place::error_backoff);  // the host's timer has not run
  w.must(w.scheduler.flush_backoff(w.now));
  CHECK(w.place(p) == queue_place::active);
}

TEST_CASE("pods whose backoffs end in one second are tried early in the order of the queue", "[engine][attempts]") {
  const instant window = GENERATE(instant{0}, instant{1s});
  scheduler_options options = host_queue::as_kube();
  options.backoff_window = window;
  host_queue w{profiles::kube_default(), options};
  const char* const names[] = {"a", "b", "c"};
  for (const char* name : names) w.add(a_pod{name}.priority(name[0] == 'c' ? 7 : 0));
  for (int i = 0; i < 3; ++i) {
    w.now += 100ms;
    w.pop();
  }
  for (const char* name : {"b", "a", "c"}) {
    w.now += 100ms;
    w.reject(w.pod(name), {"NodeName"});
  }
  w.add(a_node{"n"});
  const words early{w.pop(), w.pop(), w.pop()};
  CHECK(early == (window == instant{0} ? words{"b", "a", "c"} : words{"c", "b", "a"}));
}

TEST_CASE("a change of priority moves a pod that backs off", "[engine][attempts]") {
  host_queue w;
  for (const char* name : {"a", "b"}) w.add(a_pod{name});
  w.pop(), w.pop();
  for (const char* name : {"a", "b"}) w.reject(w.pod(name), {"NodeName"});
  w.add(a_node{"n"});
  CHECK(w.place(w.pod("b")) == queue_place::backoff);
  w.must(w.cluster.update_pod(w.pod("b"), a_pod{"b"}.priority(3)));
  CHECK(w.pop() == "b");
}

TEST_CASE("the host's timer lets go of who waited for more than five minutes, not of gated pods",
          "[engine][attempts]") {
  host_queue w;
  w.add(a_pod{"p"});
  const pod_id p = w.pod("p");
  CHECK(w.pop() == "p");
  w.reject(p, {"OfTheHost"});
  const pod_id gated = w.add(a_pod{"gated"}.gate("g"));
  CHECK(w.place(gated) == queue_place::gated);
  w.now = 5min;
  w.must(w.scheduler.flush_unschedulable(w.now));
  CHECK(w.place(p) == queue_place::unschedulable);
  w.now += 1ns;
  CHECK(w.pop().empty());  // nobody else's business under timer_rule::by_host
  w.must(w.scheduler.flush_unschedulable(w.now));
  CHECK(w.place(p) == queue_place::active);
  CHECK(w.place(gated) == queue_place::gated);
}

TEST_CASE("activation moves who waits, whatever for, and nobody past a gate", "[engine][attempts]") {
  host_queue w;
  const pod_id p = w.add(a_pod{"p"});
  const pod_id gated = w.add(a_pod{"gated"}.gate("g"));
  CHECK(w.pop() == "p");
  w.reject(p, {"OfTheHost"});
  const std::vector both{p, gated};
  w.must(w.scheduler.activate(both, w.now));
  CHECK(w.place(p) == queue_place::active);
  CHECK(w.place(gated) == queue_place::gated);
  w.must(w.scheduler.activate(both, w.now));
  CHECK(w.place(p) == queue_place::active);
}

TEST_CASE("a pod that is removed in flight stays there until the host is done with it", "[engine][attempts]") {
  host_queue w;
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.pop() == "p");
  w.remove(p);
  const pod_id next = w.add(a_pod{"p"});  // the same name, and the same row
  CHECK(w.place(next) == queue_place::active);
  CHECK(w.scheduler.in_flight().size() == 1);
  const bool says_done = GENERATE(true, false);
  if (says_done)
    w.must(w.scheduler.done(p));
  else
    w.reject(p, fit);
  CHECK(w.scheduler.in_flight().empty());
  CHECK(w.place(next) == queue_place::active);
  CHECK(w.pop() == "p");
  w.must(w.cluster.set_terminating(next));
  w.error_of(next);
  CHECK(w.place(next) == queue_place::none);
}

TEST_CASE("a group is tried and comes back as one", "[engine][attempts]") {
  host_queue w;
  const group_id gang = w.add(a_gang{"gang", 2});
  const pod_id a = w.add(a_pod{"a"}.in(gang));
  w.add(a_pod{"b"}.in(gang));
  const std::optional<attempt> tried = w.must(w.scheduler.pop(w.now));
  REQUIRE(tried);
  CHECK(tried->group == gang);
  CHECK(tried->pod == a);
  CHECK(w.place(a) == queue_place::in_flight);
  check_refused(w.cluster, errc::wrong_state, "pod default/a", "queue", [&] { return w.scheduler.done(a); });
  const bool error = GENERATE(true, false);
  w.must(w.scheduler.add_unschedulable(gang, error ? rejected_by{} : rejected_by{fit, {}}, w.now));
  CHECK(w.place(a) == queue_place::error_backoff);  // a group waits for its time in any case
  CHECK(w.must(w.scheduler.standing(a)).failures == (error ? 0 : 1));
  w.now = 2s;
  w.must(w.scheduler.flush_backoff(w.now));
  CHECK(w.must(w.scheduler.pop(w.now))->number == 2);
  w.must(w.scheduler.done(gang));
  CHECK(w.scheduler.in_flight().empty());
}

TEST_CASE("who was gated while it was tried comes back gated, whatever came of it", "[engine][attempts]") {
  const bool error = GENERATE(true, false);
  const rejected_by why = error ? rejected_by{} : rejected_by{fit, {}};
  host_queue w;
  w.add(a_node{"n"}.cpu(9));
  SECTION("a pod by an update") {
    const pod_id p = w.add(a_pod{"p"}.cpu(1));
    REQUIRE(w.pop() == "p");
    w.must(w.cluster.update_pod(p, a_pod{"p"}.cpu(1).gate("closed")));
    w.must(w.scheduler.add_unschedulable(p, why, w.now));
    CHECK(w.place(p) == queue_place::gated);
    CHECK(w.run_at(10min).empty());
    w.must(w.cluster.update_pod(p, a_pod{"p"}.cpu(1)));
    CHECK(w.run_at(20min) == words{"bind p n"});
  }
  SECTION("a group by a member that came") {
    const group_id gang = w.add(a_gang{"gang", 1});
    const pod_id a = w.add(a_pod{"a"}.cpu(1).in(gang));
    const std::optional<attempt> tried = w.must(w.scheduler.pop(w.now));
    REQUIRE(tried);
    const pod_id gated = w.add(a_pod{"gated"}.cpu(1).in(gang).gate("closed"));
    w.must(w.scheduler.add_unschedulable(gang, why, w.now));
    CHECK(w.place(a) == queue_place::gated);
    CHECK(w.run_at(10min).empty());
    w.must(w.cluster.update_pod(gated, a_pod{"gated"}.cpu(1).in(gang)));
    CHECK(w.run_at(20min) == words{"bind a n", "bind gated n"});
  }
}

TEST_CASE("attempts survive the loss of the log, and come back at once", "[engine][attempts]") {
  const wake_rule rule = GENERATE(wake_rule::hints, wake_rule::one_per_class);
  world base{profiles::kube_default(), {.wake = rule}, {.log_bound = 4}};
  const node_id n = base.add(a_node{"n"}.cpu(1));
  const pod_id tried = base.add(a_pod{"tried"}.cpu(9));
  const pod_id parked = base.add(a_pod{"parked"}.cpu(9));
  CHECK(base.must(base.scheduler.pop(base.now))->pod == tried);
  CHECK(base.run() == words{"reject parked"});
  for (int i = 0; i < 20; ++i) base.must(base.cluster.update_node(n, a_node{"n"}.cpu(1).label("i", std::to_string(i))));
  base.must(base.scheduler.catch_up(base.now));
  CHECK(base.must(base.scheduler.standing(parked)).place == queue_place::backoff);
  base.must(base.scheduler.add_unschedulable(tried, {fit, {}}, base.now));
  CHECK(base.must(base.scheduler.standing(tried)).place == queue_place::backoff);
}

TEST_CASE("calls that are refused say why and change nothing", "[engine][attempts][errors]") {
  host_queue w;
  const node_id n = w.add(a_node{"n"});
  const pod_id p = w.add(a_pod{"p"});
  const pod_id gone = w.add(a_pod{"gone"});
  const group_id gang = w.add(a_gang{"gang", 2});
  w.remove(gone);
  w.now = 5s;
  w.must(w.scheduler.catch_up(w.now));
  const auto check = [&](errc code, std::string_view object, std::string_view field, auto&& call) {
    const queue_standing before = w.must(w.scheduler.standing(p));
    check_refused(w.cluster, code, object, field, call);
    CHECK(w.must(w.scheduler.standing(p)).place == before.place);
    CHECK(w.must(w.scheduler.standing(p)).attempts == before.attempts);
  };
  check(errc::wrong_state, "pod default/p", "queue", [&] { return w.scheduler.add_unschedulable(p, {}, w.now); });
  check(errc::wrong_state, "pod default/p", "queue", [&] { return w.scheduler.done(p); });
  check(errc::wrong_state, "group default/gang", "queue", [&] { return w.scheduler.done(gang); });
  check(errc::wrong_state, "group default/gang", "queue",
        [&] { return w.scheduler.add_unschedulable(gang, {}, w.now); });
  check(errc::unknown, "pod", "id", [&] { return w.scheduler.done(gone); });
  check(errc::unknown, "pod", "id", [&] { return w.scheduler.add_unschedulable(gone, {}, w.now); });
  check(errc::unknown, "pod", "id", [&] { return w.scheduler.standing(gone); });
  check(errc::unknown, "pod", "id", [&] { return w.scheduler.activate(std::vector{p, gone}, w.now); });
  check(errc::unknown, "group", "id", [&] { return w.scheduler.done(group_id{}); });
  check(errc::time_went_back, "scheduler", "now", [&] { return w.scheduler.pop(4s); });
  check(errc::time_went_back, "scheduler", "now", [&] { return w.scheduler.catch_up(4s); });
  check(errc::time_went_back, "scheduler", "now", [&] { return w.scheduler.flush_backoff(4s); });
  check(errc::time_went_back, "scheduler", "now", [&] { return w.scheduler.flush_unschedulable(4s); });
  check(errc::time_went_back, "scheduler", "now", [&] { return w.scheduler.add_unschedulable(p, {}, 4s); });
  CHECK(w.pop() == "p");
  w.must(w.cluster.assume(p, n));
  check(errc::wrong_state, "pod default/p", "state", [&] { return w.scheduler.add_unschedulable(p, {}, w.now); });
}

TEST_CASE("who is being tried is not handed out again, whatever becomes of its gang", "[engine][attempts]") {
  host_queue w = plain();
  w.add(a_node{"n"});
  const group_id gang = w.add(a_gang{"g", 2}.permit());
  const pod_id p = w.add(a_pod{"p"}.in(gang));
  const pod_id q = w.add(a_pod{"q"}.in(gang));
  CHECK(w.pop() == "p");
  w.must(w.cluster.remove_pod(q));  // too few now
  w.add(a_pod{"r"}.in(gang));       // and enough again
  CHECK(w.pop() == "r");
  CHECK(w.pop().empty());
  w.must(w.cluster.remove_pod(w.pod("r")));
  w.reject(p, fit);
  CHECK(w.place(p) == queue_place::gated);  // as it comes back, its gang is too small
  CHECK(w.scheduler.in_flight().size() == 1);
}

TEST_CASE("where a pod stood is written down while it is tried, and moves nobody", "[engine][attempts]") {
  host_queue w = plain();
  w.add(a_node{"n"});
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.pop() == "p");
  w.must(w.scheduler.restore(p, {.failures = 3, .since = w.now}));
  CHECK(w.place(p) == queue_place::in_flight);
  CHECK(w.pop().empty());
}

TEST_CASE("a pod of another scheduler leaves nothing behind in the queue", "[engine][attempts][profiles]") {
  host_queue w = plain(wake_rule::hints);
  w.add(a_node{"n"});
  const pod_id first = w.add(a_pod{"p"});
  CHECK(w.pop() == "p");
  w.reject(first, fit);
  w.must(w.cluster.remove_pod(first));
  a_pod foreign{"q"};
  foreign.spec.scheduler_name = "somebody-else";
  const pod_id second = w.add(foreign);  // in the row that was free
  CHECK(second.row == first.row);
  CHECK(w.place(second) == queue_place::none);
  w.must(w.cluster.update_pod(second, a_pod{"q"}));
  CHECK(w.place(second) == queue_place::active);
  CHECK(w.must(w.scheduler.standing(second)).failures == 0);
}

TEST_CASE("a pod that has a node keeps its scheduler", "[engine][profiles]") {
  world w;
  w.add(a_node{"n"}.cpu(1));
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.run() == words{"bind p n"});
  a_pod other{"p"};
  other.spec.scheduler_name = "somebody-else";
  CHECK(w.cluster.update_pod(p, other).error().field == "scheduler_name");
}

TEST_CASE("a popped group is known by a member that is neither being deleted nor gated", "[engine][attempts]") {
  world w{profiles::kube_default(), world::lowest_first(), {.semantics = kube_semantics{kube_release::v1_36}}};
  const group_id group = w.add(group_spec{.name = "g"});
  const pod_id leaving = w.add(a_pod{"leaving"}.in(group));
  w.add(a_pod{"gated"}.in(group).gate("wait"));
  const pod_id open = w.add(a_pod{"open"}.in(group));
  w.must(w.cluster.set_terminating(leaving));
  const std::optional<attempt> next = w.must(w.scheduler.pop(w.now));
  REQUIRE(next.has_value());
  CHECK(next->group == group);
  CHECK(next->pod == open);
}

TEST_CASE("a popped group is known by a member that is this scheduler's", "[engine][attempts]") {
  world w;
  const group_id group = w.add(group_spec{.name = "g"});
  a_pod others{"others"};
  others.spec.scheduler_name = "somebody-else";
  w.add(others.in(group).gate("wait"));
  const pod_id own = w.add(a_pod{"own"}.in(group));
  const std::optional<attempt> next = w.must(w.scheduler.pop(w.now));
  REQUIRE(next.has_value());
  CHECK(next->group == group);
  CHECK(next->pod == own);
}

}  // namespace gangsched::testing::attempts_test
