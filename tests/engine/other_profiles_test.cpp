// Another profile on a living cluster: a new scheduler that goes on where the one before stood, and several schedulers on
// one cluster (docs/changing-configuration.md).
#include "../../examples/other_profiles.hpp"

#include <string>
#include <utility>
#include <vector>

#include "engine/world.hpp"

namespace gangsched::testing::other_profiles_test {

namespace {

pod_spec for_scheduler(a_pod pod, std::string name) {
  pod.spec.scheduler_name = std::move(name);
  return pod.spec;
}

kernel_table called(kernel_table profile, std::string name) {
  profile.scheduler_name = std::move(name);
  return profile;
}

/// One pod was rejected twice, one waits in the permit room, one is to be bound, one waits behind a gate.
struct half_done : world {
  group_id gang;
  pod_id large, waits, binding, gated;
  bind_attempt attempt = bind_attempt::none;

  half_done() {
    add(a_node{"n"}.cpu(4));
    gang = add(a_gang{"g", 2}.permit().timeout(60s));
    large = add(a_pod{"large"}.cpu(100));
    CHECK(run() == words{"reject large"});
    must(scheduler.activate(std::vector{large}, now));
    CHECK(run_at(1s) == words{"reject large"});
    waits = add(a_pod{"waits"}.cpu(1).in(gang));
    gated = add(a_pod{"gated"}.cpu(1).gate("later"));
    add(a_pod{"missing"}.cpu(100).in(gang));
    binding = add(a_pod{"binding"}.cpu(1));
    now = 10s;
    CHECK(sorted(run()) == words{"bind binding n", "reject missing", "wait waits n"});
    attempt = cluster.attempt_of(binding);
  }
  void go_over_to(kernel_table profile) {
    std::vector<kernel_table> all;
    all.push_back(std::move(profile));
    scheduler = must(with_other_profiles(cluster, scheduler, std::move(all), lowest_first()));
  }
};

}  // namespace

TEST_CASE("a scheduler with another profile goes on where the one before stood", "[engine][restart][profiles]") {
  half_done w;
  const queue_standing stood = world::must(w.scheduler.standing(w.large));
  REQUIRE(stood.failures == 2);
  w.go_over_to(profiles::bin_packing());

  SECTION("failures, backoff and gates stay") {
    const queue_standing stands = world::must(w.scheduler.standing(w.large));
    CHECK(stands.failures == 2);
    CHECK(stands.attempts == stood.attempts);
    CHECK(stands.since == stood.since);
    CHECK(stands.place == queue_place::error_backoff);  // until the backoff is over, then it is tried
    CHECK(stands.backoff_until == 3s);
    CHECK(world::must(w.scheduler.standing(w.gated)).place == queue_place::gated);
  }
  SECTION("the permit room stays, with its deadlines") {
    const std::vector<waiting_pod> room = world::must(w.scheduler.waiting());
    REQUIRE(room.size() == 1);
    CHECK(room[0].pod == w.waits);
    CHECK(room[0].holders == std::vector<waiting_pod::holder>{{"GangScheduling", 70s}});
    CHECK(w.permit_at(69s).empty());
    CHECK(w.permit_at(70s) == words{"revoke waits n"});
  }
  SECTION("who is to be bound is answered for by the same number") {
    CHECK(w.scheduler.confirm(w.binding, w.attempt));
    CHECK(w.cluster.state_of(w.binding) == pod_state::bound);
  }
  SECTION("a bind that fails is queued again") {
    const cycle failed = w.scheduler.fail(w.binding, w.attempt, "no");
    CHECK(failed.error() == nullptr);
    CHECK(world::must(w.scheduler.standing(w.binding)).errors == 1);
  }
  SECTION("everybody who waits is tried once by the new profile") {
    CHECK(sorted(w.run_at(20s)) == words{"reject large", "reject missing"});
  }
}

TEST_CASE("a gang's backoff after a change of profiles is as long as before", "[engine][restart][profiles]") {
  scheduler_options options = with_kube_queue(world::lowest_first());
  options.max_backoff = 2s;
  world w{profiles::kube_default(), options};
  const group_id gang = w.add(a_gang{"gang", 4});
  for (const char* name : {"a", "b", "c", "d"}) w.add(a_pod{name}.cpu(1).in(gang));
  w.add(a_pod{"bound"}.cpu(1).in(gang).on(w.add(a_node{"n"}.cpu(1))));
  w.run();
  for (int i = 0; i < 3; ++i) w.run_at(w.scheduler.next_deadline().value());
  const queue_standing stood = world::must(w.scheduler.standing(w.pod("a")));
  REQUIRE(stood.failures == 4);
  REQUIRE(stood.backoff_until.value() == stood.since + 4s);  // 2 s · √4, of members that wait
  std::vector<kernel_table> all;
  all.push_back(profiles::kube_default());
  scheduler made = world::must(with_other_profiles(w.cluster, w.scheduler, std::move(all), options));
  CHECK(world::must(made.standing(w.pod("a"))).backoff_until == stood.backoff_until);
  CHECK(made.next_deadline() == w.scheduler.next_deadline());
}

TEST_CASE("who waits for members of a group that was removed waits on after a change of profiles",
          "[engine][restart][profiles]") {
  half_done w;
  w.must(w.cluster.remove_group(w.gang));
  w.go_over_to(profiles::kube_default());
  const gangsched::cycle said = w.scheduler.permit(w.now);
  for (const decision& one : said) CHECK(one.pod != w.waits);
  REQUIRE(w.must(w.scheduler.waiting()).size() == 1);
}

TEST_CASE("whom a permit plugin holds that is not there any more goes", "[engine][restart][profiles]") {
  half_done w;
  w.go_over_to(profile{priority_sort{}, node_resources_fit{}});
  CHECK(world::must(w.scheduler.pending_plugins(w.waits)).empty());
  CHECK(w.permit() == words{"bind waits n"});
}

TEST_CASE("profiles that will not do are refused, and the scheduler before stands", "[engine][restart][profiles]") {
  half_done w;
  const auto refused = with_other_profiles(w.cluster, w.scheduler, {});
  CHECK(refused.error().code == errc::malformed);
  CHECK(world::must(w.scheduler.waiting()).size() == 1);
}

TEST_CASE("two schedulers on one cluster each decide about their own pods, and hear of each other's",
          "[engine][profiles]") {
  cluster cluster;
  world::must(cluster.add_node(a_node{"n"}.cpu(4)));
  scheduler blue{cluster, called(profiles::kube_default(), "blue"), world::lowest_first()};
  scheduler red{cluster, called(profiles::kube_default(), "red"), world::lowest_first()};
  const pod_id b = world::must(cluster.add_pod(for_scheduler(a_pod{"b"}.cpu(3), "blue")));
  const pod_id r = world::must(cluster.add_pod(for_scheduler(a_pod{"r"}.cpu(3), "red")));
  const auto decided = [](scheduler& by, instant now) {
    std::vector<std::pair<decision_kind, pod_id>> all;
    while (const cycle done = by.schedule_cycle(now)) {
      REQUIRE(done.error() == nullptr);
      for (const decision& one : done) all.emplace_back(one.kind, one.pod);
    }
    return all;
  };
  using list = std::vector<std::pair<decision_kind, pod_id>>;
  CHECK(decided(blue, 0s) == list{{decision_kind::bind, b}});
  CHECK(decided(red, 0s) == list{{decision_kind::reject, r}});  // what the other one reserved counts
  CHECK(world::must(blue.standing(r)).place == queue_place::none);

  SECTION("what the one gives back wakes whom the other rejected") {
    world::must(blue.confirm(b));
    world::must(cluster.remove_pod(b));
    CHECK(decided(red, 5s) == list{{decision_kind::bind, r}});
    CHECK(decided(blue, 5s).empty());
  }
  SECTION("a reservation that the other one preempts is revoked by the scheduler that made it") {
    const pod_id urgent = world::must(cluster.add_pod(for_scheduler(a_pod{"urgent"}.cpu(3).priority(100), "red")));
    const list made = decided(red, 5s);
    CHECK(std::find(made.begin(), made.end(), std::pair{decision_kind::revoke, b}) != made.end());
    CHECK(cluster.state_of(b) == pod_state::pending);
    CAPTURE(cluster.name_of(urgent));
    const list heard = decided(blue, 5s);
    CHECK(std::find(heard.begin(), heard.end(), std::pair{decision_kind::revoke, b}) != heard.end());
  }
  SECTION("only the scheduler that has a profile of that name may be asked why") {
    CHECK(red.why(r));
    CHECK_FALSE(blue.why(r));
    CHECK(blue.explain(r)->summary == "no profile has the scheduler name \"red\"");
  }
}

TEST_CASE("of two schedulers for the same pods the first that reserves decides", "[engine][profiles]") {
  cluster cluster;
  world::must(cluster.add_node(a_node{"n"}.cpu(4)));
  scheduler first{cluster, profiles::kube_default(), world::lowest_first()};
  scheduler second{cluster, profiles::kube_default(), world::lowest_first()};
  const pod_id pod = world::must(cluster.add_pod(a_pod{"p"}.cpu(3)));
  CHECK(first.schedule_cycle(0s).decisions().size() == 1);
  CHECK_FALSE(second.schedule_cycle(0s));
  CHECK(world::must(second.standing(pod)).place == queue_place::none);
}

}  // namespace gangsched::testing::other_profiles_test
