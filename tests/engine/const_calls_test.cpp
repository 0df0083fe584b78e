// Const calls write nothing, whoever asks at the same time; no question changes the cluster, or the next decision.
#include "support/inside.hpp"
#include "world.hpp"

#include <atomic>
#include <thread>

#include "support/dice.hpp"

namespace gangsched::testing::const_calls_test {

namespace {

/// Pods in every place of the queue, and things that the queue has not read yet.
struct busy : world {
  std::vector<pod_id> pods;

  explicit busy(std::uint64_t seed) {
    dice roll{seed};
    for (int i = 0; i < 3; ++i) add(a_node{"n" + std::to_string(i)}.cpu(4).label("rack", "r" + std::to_string(i)));
    const group_id waits = add(a_gang{"waits", 9}.permit());
    const group_id whole = add(a_gang{"whole", 2}.topology("rack"));
    for (int i = 0; i < 40; ++i) {
      a_pod pod{"p" + std::to_string(i)};
      pod.cpu(roll.between(1, 3))
          .label("app", i % 3 == 0 ? "a" : "b")
          .priority(static_cast<std::int32_t>(roll.below(3)));
      if (i % 10 == 7) pod.gate("g");
      if (i % 10 == 3) pod.in(waits);
      if (i % 10 == 5) pod.in(whole);
      pods.push_back(add(pod));
      if (i % 12 == 0) run(roll.percent(50));
      if (i % 9 == 0) now += 2s;
    }
    static_cast<void>(scheduler.fail(pods[0], "no").error());
    // A selector that comes later makes classes of pods anew when they are next looked at.
    pods.push_back(add(a_pod{"apart"}.cpu(1).label("app", "a").avoid("app", "a", "rack")));
    must(cluster.update_node(node("n0"), a_node{"n0"}.cpu(5).label("rack", "r1")));
  }
};

struct answers {
  std::optional<instant> deadline;
  queue_counts counts;
  std::vector<queue_place> places;
  std::size_t in_flight;

  explicit answers(const world& w, std::span<const pod_id> pods)
      : deadline(w.scheduler.next_deadline()), counts(w.scheduler.counts()), in_flight(w.scheduler.in_flight().size()) {
    for (const pod_id pod : pods) {
      const auto stands = w.scheduler.standing(pod);
      places.push_back(stands ? stands->place : queue_place::none);
      if (!stands) places.push_back(queue_place::in_flight);  // an error is another answer
    }
  }
  friend bool operator==(const answers& a, const answers& b) {
    const auto all = [](const queue_counts& c) {
      return std::array{c.active, c.backoff, c.unschedulable, c.gated, c.waiting, c.in_flight};
    };
    return a.deadline == b.deadline && all(a.counts) == all(b.counts) && a.places == b.places &&
           a.in_flight == b.in_flight;
  }
};

}  // namespace

TEST_CASE("const calls from several threads at once say what they say alone", "[engine][const]") {
  const busy w{1};
  const answers alone{w, w.pods};
  const std::uint64_t digest = inside(w.cluster).digest_with_derived();
  std::atomic<int> different{0};
  const auto ask = [&] {
    for (int i = 0; i < 50; ++i) {
      if (!(answers{w, w.pods} == alone) || inside(w.cluster).digest_with_derived() != digest) ++different;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(ask);
  for (std::thread& one : threads) one.join();
  CHECK(different == 0);
}

TEST_CASE("what const calls say is what was known at the last call that was told the time", "[engine][const]") {
  world w;
  w.add(a_node{"n"}.cpu(1));
  CHECK(w.run().empty());
  const pod_id pod = w.add(a_pod{"p"}.cpu(2));
  CHECK(w.scheduler.counts().active == 0);
  CHECK_FALSE(w.scheduler.next_deadline());
  CHECK(world::must(w.scheduler.standing(pod)).place == queue_place::none);
  w.must(w.scheduler.catch_up(w.now));
  CHECK(w.scheduler.counts().active == 1);
  CHECK(w.run() == words{"reject p"});
  CHECK(w.scheduler.next_deadline() == w.now + 5min + 1ns);
  w.remove(pod);
  CHECK_FALSE(w.scheduler.next_deadline());  // who is gone has none, heard of or not
  w.must(w.scheduler.catch_up(w.now));
  CHECK_FALSE(w.scheduler.next_deadline());
}

TEST_CASE("no question changes the cluster's digest or what is decided next", "[engine][const]") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    INFO("seed " << seed);
    busy asked{seed}, silent{seed};
    for (int turn = 0; turn < 4; ++turn) {
      const std::uint64_t digest = inside(asked.cluster).digest_with_derived();
      static_cast<void>(asked.scheduler.next_deadline());
      static_cast<void>(asked.scheduler.counts());
      REQUIRE(inside(asked.cluster).digest_with_derived() == digest);
      for (const pod_id pod : asked.cluster.pods()) {
        static_cast<void>(asked.scheduler.standing(pod).has_value());
        static_cast<void>(asked.scheduler.explain(pod).has_value());
        REQUIRE(inside(asked.cluster).digest_with_derived() == digest);
      }
      for (const char* name : {"waits", "whole"}) {
        const group_id group = asked.cluster.find_group("default", name).value();
        static_cast<void>(asked.scheduler.explain(group).has_value());
        REQUIRE(inside(asked.cluster).digest_with_derived() == digest);
        static_cast<void>(asked.scheduler.plan_moves(group).has_value());
        REQUIRE(inside(asked.cluster).digest_with_derived() == digest);
      }
      for (busy* one : {&asked, &silent}) one->now += 7s;
      REQUIRE(asked.run(true) == silent.run(true));
      REQUIRE(asked.permit() == silent.permit());
      for (busy* one : {&asked, &silent}) {
        const std::vector<pod_id> pods = one->cluster.pods();
        one->remove(pods[static_cast<std::size_t>(turn) % pods.size()]);
        one->add(
            a_pod{"later" + std::to_string(turn)}.cpu(1).label("app", "b").avoid("app", turn % 2 == 0 ? "b" : "a"));
      }
    }
  }
}

}  // namespace gangsched::testing::const_calls_test
