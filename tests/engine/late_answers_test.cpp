// Answers about binds that come late, twice or never, and reservations that end while the host acts.
#include <iterator>
#include <map>
#include <optional>

#include "support/refused.hpp"
#include "world.hpp"

namespace gangsched::testing::late_answers_test {

namespace {

static_assert(std::forward_iterator<cycle::iterator>);

/// The host of docs/embedding.md: it knows what it has started, by the attempt.
struct careful_host : world {
  using world::world;
  std::map<bind_attempt, pod_id> started;
  std::vector<std::string> fails_on;  ///< nodes that say no at once
  words log;

  void execute(const gangsched::cycle& said) {
    if (said.error() != nullptr) log.push_back(said.error()->message());
    for (const decision& one : said) {
      log.push_back(word(one));
      if (one.kind == decision_kind::revoke) started.erase(one.attempt);
      if (one.kind == decision_kind::evict) must(cluster.remove_pod(one.pod));
      if (one.kind != decision_kind::bind) continue;
      CHECK(cluster.node_of(one.pod) == one.node);
      CHECK(cluster.attempt_of(one.pod) == one.attempt);
      const std::string node{cluster.name_of(one.node)};
      if (std::find(fails_on.begin(), fails_on.end(), node) == fails_on.end())
        started[one.attempt] = one.pod;
      else
        execute(scheduler.fail(one.pod, one.attempt, "the node does not answer"));
    }
  }
  words turn() {
    log.clear();
    for (bool more = true; more;) {
      const gangsched::cycle said = scheduler.schedule_cycle(now);
      execute(said);
      more = static_cast<bool>(said);
    }
    execute(scheduler.permit(now));
    return log;
  }
  /// The attempt of the bind that the next cycle decides first.
  bind_attempt attempt() {
    const gangsched::cycle said = scheduler.schedule_cycle(now);
    REQUIRE(said.begin() != said.end());
    return said.begin()->attempt;
  }
};

std::uint64_t number(bind_attempt attempt) { return static_cast<std::uint64_t>(attempt); }

error why(const result<void>& said) {
  REQUIRE_FALSE(said);
  return said.error();
}
error why(const cycle& said) {
  REQUIRE(said.error() != nullptr);
  CHECK_FALSE(said);
  CHECK(said.decisions().empty());
  return *said.error();
}

}  // namespace

TEST_CASE("an answer about another attempt than the pod has is refused and changes nothing", "[engine][answers]") {
  careful_host w;
  const node_id a = w.add(a_node{"a"});
  const pod_id p = w.add(a_pod{"p"});
  const bind_attempt first = w.attempt();
  CHECK(first != bind_attempt::none);
  CHECK(w.cluster.attempt_of(p) == first);
  w.must(w.cluster.remove_node(a));
  CHECK(w.cluster.attempt_of(p) == bind_attempt::none);
  const node_id b = w.add(a_node{"b"});
  const auto refuses_late = [&](const std::string& message) {
    const std::uint64_t before = inside(w.cluster).digest_with_derived();
    for (const error& late : {why(w.scheduler.confirm(p, first)), why(w.scheduler.fail(p, first, "x"))}) {
      CHECK(late.code == errc::outdated);
      CHECK(late.message() == message);
    }
    CHECK(inside(w.cluster).digest_with_derived() == before);
  };
  refuses_late("pod default/p: attempt: " + std::to_string(number(first)) + " is over");
  CHECK(w.run() == words{"revoke p", "bind p b"});
  const bind_attempt second = w.cluster.attempt_of(p);
  CHECK(second > first);
  refuses_late("pod default/p: attempt: " + std::to_string(number(first)) + " is over, the one under way is " +
               std::to_string(number(second)));
  CHECK(w.cluster.node_of(p) == b);
  w.must(w.scheduler.confirm(p, second));
  CHECK(w.cluster.attempt_of(p) == second);
  refuses_late("pod default/p: attempt: " + std::to_string(number(first)) + " is over, the pod runs by " +
               std::to_string(number(second)));

  // Said twice: it runs already.
  CHECK(why(w.scheduler.confirm(p, second)).code == errc::wrong_state);
  CHECK(why(w.scheduler.fail(p, second, "")).code == errc::wrong_state);
  w.remove(p);
  CHECK(why(w.scheduler.confirm(p, second)).code == errc::unknown);
  CHECK(why(w.scheduler.fail(p, second, "")).code == errc::unknown);
  const pod_id q = w.add(a_pod{"q"});
  REQUIRE(q.row == p.row);
  CHECK(w.run() == words{"bind q b"});
  CHECK(why(w.scheduler.confirm(p, second)).code == errc::unknown);
  CHECK(why(w.scheduler.confirm(q, second)).code == errc::outdated);
  w.must(w.scheduler.confirm(q, w.cluster.attempt_of(q)));
}

TEST_CASE("a second failure is too late, and the next attempt has a number of its own", "[engine][answers]") {
  careful_host w;
  w.add(a_node{"n"});
  const pod_id p = w.add(a_pod{"p"});
  const bind_attempt first = w.attempt();
  CHECK(w.scheduler.fail(p, first, "no").error() == nullptr);
  CHECK(why(w.scheduler.fail(p, first, "no")).code == errc::outdated);
  CHECK(why(w.scheduler.confirm(p, first)).code == errc::outdated);
  CHECK(why(w.scheduler.confirm(p, bind_attempt::none)).code == errc::wrong_state);
  w.now = 1s;
  const bind_attempt second = w.attempt();
  CHECK(second > first);
  CHECK(why(w.scheduler.confirm(p, static_cast<bind_attempt>(number(second) + 1))).code == errc::outdated);
  w.must(w.scheduler.confirm(p, second));
}

TEST_CASE("a pod that waits in the permit room has one attempt from the wait to the bind", "[engine][answers]") {
  careful_host w;
  w.add(a_node{"n"});
  const group_id gang = w.add(a_gang{"gang", 2}.permit());
  const pod_id a = w.add(a_pod{"a"}.in(gang));
  w.add(a_pod{"b"}.in(gang));
  const bind_attempt waiting = w.attempt();
  const error early = why(w.scheduler.confirm(a, waiting));
  CHECK(early.code == errc::wrong_state);
  CHECK(early.reason == "still waits in the permit room");
  CHECK(w.run() == words{"bind b n"});
  const cycle let_go = w.scheduler.permit(w.now);
  REQUIRE(let_go.decisions().size() == 1);
  CHECK(let_go.decisions()[0].attempt == waiting);
  w.must(w.scheduler.confirm(a, waiting));
}

TEST_CASE("what the host's own calls take back is revoked at the next call, once", "[engine][answers]") {
  const bool overrun = GENERATE(false, true);
  CAPTURE(overrun);
  world w{profiles::kube_default(), world::lowest_first(), {.log_bound = overrun ? 1u : 65536u}};
  const node_id n = w.add(a_node{"n"}.cpu(4).cookie(1));
  const node_id m = w.add(a_node{"m"}.cpu(4).cookie(2));
  const group_id gang = w.add(a_gang{"gang", 2}.permit().cookie(3));
  const pod_id waits = w.add(a_pod{"waits"}.cpu(3).in(gang).cookie(4));
  w.add(a_pod{"big"}.cpu(9).in(gang));
  const pod_id binds = w.add(a_pod{"binds"}.cpu(2).cookie(5));
  CHECK(w.run() == words{"wait waits n", "reject big", "bind binds m"});
  const bind_attempt of_waits = w.cluster.attempt_of(waits), of_binds = w.cluster.attempt_of(binds);
  const auto stir = [&] {  // enough for the log to forget what happened
    for (int i = 0; overrun && i < 8; ++i)
      w.must(w.cluster.set_namespace({.name = "ns" + std::to_string(i), .labels = {}}));
  };
  const auto revokes = [&](const cycle& said, pod_id pod, bind_attempt attempt, node_id node,
                           const std::string& reason) {
    REQUIRE_FALSE(said.decisions().empty());
    const decision& one = said.decisions()[0];
    CHECK(one.kind == decision_kind::revoke);
    CHECK(one.pod == pod);
    CHECK(one.pod_cookie == w.cluster.cookie_of(pod));
    CHECK(one.attempt == attempt);
    CHECK(one.node == node);
    CHECK(one.node_cookie == (node ? w.cluster.cookie_of(node) : 0));
    CHECK(std::string{one.reason} == reason);
  };
  SECTION("of a pod that waited, by permit") {
    w.must(w.cluster.remove_node(n));
    stir();
    const cycle said = w.scheduler.permit(w.now);
    REQUIRE(said.decisions().size() == 1);
    revokes(said, waits, of_waits, {}, "its node is gone");
    CHECK(said.decisions()[0].group == gang);
  }
  SECTION("of a pod that was bound, before it is bound anew") {
    w.must(w.cluster.remove_node(m));
    const node_id next = w.add(a_node{"next"}.cpu(2));
    REQUIRE(next.row == m.row);
    stir();
    const cycle said = w.scheduler.schedule_cycle(w.now);
    revokes(said, binds, of_binds, {}, "its node is gone");
    CHECK(w.said(said.decisions()) == words{"revoke binds", "bind binds next"});
  }
  SECTION("of a pod that others bound elsewhere") {
    w.must(w.cluster.update_pod(binds, a_pod{"binds"}.cpu(1).on(n).cookie(6)));
    stir();
    CHECK(w.cluster.attempt_of(binds) > of_binds);
    revokes(w.scheduler.permit(w.now), binds, of_binds, m, "others have bound it elsewhere");
  }
  SECTION("of a pod that the host released") {
    w.must(w.cluster.release(binds));
    stir();
    revokes(w.scheduler.schedule_cycle(w.now), binds, of_binds, m, "its reservation was given back");
  }
  SECTION("of a pod that the host put elsewhere: what it reserved itself is its own") {
    w.must(w.cluster.release(binds));
    w.must(w.cluster.assume(binds, m));
    stir();
    revokes(w.scheduler.schedule_cycle(w.now), binds, of_binds, m, "its reservation was given back");
    w.must(w.cluster.release(binds));
    stir();
    CHECK(w.cycle() == words{"bind binds m"});
  }
  SECTION("but not of a pod that others, or the host itself, bound where it was to be") {
    SECTION("the host") { w.must(w.cluster.bind(binds)); }
    SECTION("others") { w.must(w.cluster.update_pod(binds, a_pod{"binds"}.cpu(1).on(m))); }
    stir();
    CHECK(w.cluster.attempt_of(binds) == of_binds);
    CHECK(why(w.scheduler.confirm(binds, of_binds)).code == errc::wrong_state);
  }
  SECTION("nor of a pod that is gone") {
    w.must(w.cluster.remove_node(m));
    w.must(w.cluster.remove_node(n));
    w.remove(binds);
    stir();
    w.remove(waits);
    w.add(a_pod{"other"});
  }
  SECTION("nor of one that was confirmed, or failed") {
    w.must(w.scheduler.confirm(binds, of_binds));
    CHECK(w.scheduler.fail(waits, of_waits, "").error() == nullptr);
    stir();
    w.must(w.cluster.remove_node(m));
    w.must(w.cluster.remove_node(n));
  }
  stir();
  for (const std::string& said : w.permit()) CHECK(said.substr(0, 6) != "revoke");
  for (const std::string& said : w.run()) CHECK(said.substr(0, 6) != "revoke");
  for (const std::string& said : w.permit()) CHECK(said.substr(0, 6) != "revoke");
}

TEST_CASE("who waited, and was put elsewhere by the host, does not wait any more", "[engine][answers]") {
  careful_host w;
  w.add(a_node{"n"});
  const group_id gang = w.add(a_gang{"gang", 2}.permit());
  const pod_id a = w.add(a_pod{"a"}.in(gang));
  w.add(a_pod{"b"}.cpu(9).in(gang));
  const bind_attempt first = w.attempt();
  w.must(w.cluster.release(a));
  w.must(w.cluster.assume(a, w.node("n")));
  const bind_attempt second = w.cluster.attempt_of(a);
  CHECK(why(w.scheduler.allow(a)).code == errc::wrong_state);
  CHECK(why(w.scheduler.confirm(a, first)).code == errc::outdated);
  w.must(w.scheduler.confirm(a, second));
  CHECK(w.permit() == words{"revoke a n"});
}

TEST_CASE("a loop over decisions passes over binds that fail took back before it came there", "[engine][answers]") {
  careful_host w;
  w.add(a_node{"a"}.cpu(1));
  w.add(a_node{"b"}.cpu(1));
  w.add(a_node{"c"}.cpu(1));
  const group_id gang = w.add(a_gang{"gang", 3}.atomic());
  std::vector<pod_id> members;
  for (const char* name : {"one", "two", "three"}) members.push_back(w.add(a_pod{name}.cpu(1).in(gang)));
  SECTION("at the first") {
    w.fails_on = {"a"};
    CHECK(w.turn() == words{"bind one a", "revoke two b", "revoke three c"});
  }
  SECTION("in the middle") {
    w.fails_on = {"b"};
    CHECK(w.turn() == words{"bind one a", "bind two b", "revoke one a", "revoke three c"});
  }
  SECTION("at the last") {
    w.fails_on = {"c"};
    CHECK(w.turn() == words{"bind one a", "bind two b", "bind three c", "revoke one a", "revoke two b"});
  }
  SECTION("when one has been confirmed in the same loop, and is evicted") {
    const cycle said = w.scheduler.schedule_cycle(w.now);
    auto at = said.begin();
    w.must(w.scheduler.confirm(at->pod, at->attempt));
    ++at;
    const cycle failed = w.scheduler.fail(at->pod, at->attempt, "");
    CHECK(w.said(failed.decisions()) == words{"evict one a", "revoke three c"});
    CHECK(++at == said.end());
    const std::vector<decision> rest{said.begin(), said.end()};
    CHECK(w.said(rest) == words{"bind one a"});
    CHECK(said.decisions().size() == 3);
    w.execute(failed);
    CHECK(said.begin() == said.end());
    w.must(w.cluster.add_pod(a_pod{"again"}.cpu(1).in(gang)));
  }
  CHECK(w.started.empty());
  for (const char* name : {"a", "b", "c"}) CHECK(w.cluster.requested(w.node(name), "cpu") == 0);
  CHECK(w.turn().empty());
  w.fails_on.clear();
  w.now = 1s;
  CHECK(w.turn().size() == 3);
  CHECK(w.started.size() == 3);
  const std::map<bind_attempt, pod_id> open = w.started;
  for (const auto& [attempt, pod] : open) w.must(w.scheduler.confirm(pod, attempt));
}

TEST_CASE("a loop over decisions passes over what the host's changes of the cluster have ended", "[engine][answers]") {
  careful_host w;
  const node_id a = w.add(a_node{"a"}.cpu(1)), b = w.add(a_node{"b"}.cpu(1));
  w.add(a_node{"c"}.cpu(1)), w.add(a_node{"d"}.cpu(1));
  const group_id gang = w.add(a_gang{"gang", 2});
  for (const char* name : {"one", "two", "three", "four"}) w.add(a_pod{name}.cpu(1).in(gang));
  const cycle said = w.scheduler.schedule_cycle(w.now);
  REQUIRE(w.said(said.decisions()) == words{"bind one a", "bind two b", "bind three c", "bind four d"});
  auto at = said.begin();
  w.must(w.cluster.remove_node(b));
  w.remove(w.pod("four"));
  w.must(w.scheduler.confirm(at->pod, at->attempt));
  CHECK((++at)->pod == w.pod("three"));
  CHECK(++at == said.end());
  w.must(w.scheduler.confirm(w.pod("three")));
  CHECK(std::distance(said.begin(), said.end()) == 2);  // what runs stays
  CHECK(w.run() == words{"revoke two", "bind two d"});
  CHECK(w.cluster.contains(a));
}

TEST_CASE("what was assumed before a restart has a number, may be answered, and is revoked", "[engine][answers]") {
  cluster on{cluster_options{.attempts_after = 1000}};
  const node_id n = world::must(on.add_node(a_node{"n"}.cpu(3)));
  std::vector<pod_id> pods;
  for (const char* name : {"a", "b", "c"}) {
    pods.push_back(world::must(on.add_pod(a_pod{name}.cpu(1))));
    world::must(on.assume(pods.back(), n));
    CHECK(number(on.attempt_of(pods.back())) > 1000);
  }
  scheduler again{on, profiles::kube_default(), world::lowest_first()};
  CHECK(why(again.confirm(pods[0], bind_attempt{7})).code == errc::outdated);  // of the life before
  world::must(again.confirm(pods[0], on.attempt_of(pods[0])));
  CHECK(again.fail(pods[1], on.attempt_of(pods[1]), "lost").error() == nullptr);
  const bind_attempt open = on.attempt_of(pods[2]);
  const std::vector<removed_pod> gone = world::must(on.remove_node(n));
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].name == "a");
  const cycle said = again.schedule_cycle(0s);
  REQUIRE(said.decisions().size() >= 1);
  CHECK(said.decisions()[0].kind == decision_kind::revoke);
  CHECK(said.decisions()[0].pod == pods[2]);
  CHECK(said.decisions()[0].attempt == open);
}

TEST_CASE("a second scheduler on a cluster goes on with the numbers of the first", "[engine][answers]") {
  cluster on;
  world::must(on.add_node(a_node{"n"}));
  const pod_id p = world::must(on.add_pod(a_pod{"p"}));
  std::optional<scheduler> first{std::in_place, on, profiles::kube_default()};
  const bind_attempt before = first->schedule_cycle(0s).begin()->attempt;
  first.reset();
  scheduler second{on, profiles::kube_default()};
  CHECK(second.fail(p, before, "").error() == nullptr);
  const cycle again = second.schedule_cycle(1s);
  REQUIRE(again.begin() != again.end());
  CHECK(again.begin()->attempt > before);
  CHECK(why(second.confirm(p, before)).code == errc::outdated);
}

}  // namespace gangsched::testing::late_answers_test
