// Who takes the row of somebody that is gone begins anew, also when the log has moved on meanwhile (f_rows of the attacks).
#include "world.hpp"

namespace gangsched::testing::row_reuse_test {

namespace {

/// More happens between two calls than the log remembers, or not.
struct host : world {
  static scheduler_options rules(wake_rule wake) {
    scheduler_options made = lowest_first();
    made.wake = wake;
    return made;
  }
  explicit host(wake_rule wake) : world(profiles::kube_default(), rules(wake), {.log_bound = 4}) {
    add(a_node{"n"}.cpu(4));
  }
  void happen(bool much) {
    for (int i = 0; much && i < 400; ++i) remove(add(a_pod{"x"}.cpu(1)));
  }
  [[nodiscard]] queue_standing standing(pod_id pod) {
    must(scheduler.catch_up(now));
    return must(scheduler.standing(pod));
  }
};

}  // namespace

TEST_CASE("a member of a gang that takes the row of a pod that waited alone is not tried alone", "[engine][rows]") {
  const auto wake = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  const bool much = GENERATE(false, true), permit = GENERATE(false, true);
  const std::string before = GENERATE("unschedulable", "gated", "failed", "active");
  CAPTURE(before, much, permit);
  host w{wake};
  a_pod old{"old"};
  old.cpu(before == "unschedulable" ? 99 : 1);
  if (before == "gated") old.gate("wait");
  const pod_id gone = w.add(old);
  if (before != "active") w.run();
  if (before == "failed") w.fail(gone);
  w.remove(gone);
  a_gang spec{"g", 4};
  if (permit) spec.permit();
  const group_id gang = w.add(spec);
  const pod_id member = w.add(a_pod{"member"}.cpu(1).in(gang));
  REQUIRE(member.row == gone.row);
  w.happen(much);
  CHECK(w.run_at(1s).empty());
  CHECK(w.standing(member).place == queue_place::gated);
  CHECK(w.standing(member).failures == 0);
  CHECK(w.counts() == places{0, 0, 0, 1, 0});
  CHECK(w.run_at(302s).empty());
  CHECK(w.run_at(1h).empty());
  // Three more, and it starts with them.
  for (const char* name : {"a", "b", "c"}) w.add(a_pod{name}.cpu(1).in(gang));
  CHECK(w.run().size() == 4);
}

TEST_CASE("a pod that takes another one's row has neither its failures nor its backoff", "[engine][rows]") {
  const auto wake = GENERATE(wake_rule::one_per_class, wake_rule::all, wake_rule::hints);
  const bool much = GENERATE(false, true), member = GENERATE(false, true);
  host w{wake};
  group_id gang{};
  if (member) gang = w.add(a_gang{"g", 1}.permit());
  const pod_id gone = w.add(a_pod{"gone"}.cpu(1).in(gang));
  w.run();
  w.fail(gone);
  w.remove(gone);
  const pod_id now = w.add(a_pod{"now"}.cpu(1));
  REQUIRE(now.row == gone.row);
  w.happen(much);
  CHECK(w.standing(now).place == queue_place::active);
  CHECK(w.standing(now).attempts == 0);
  CHECK(w.standing(now).errors == 0);
  CHECK(w.run() == words{"bind now n"});
}

TEST_CASE("a gang that takes the row of one that waited is tried at once, and nothing of the other is said of it",
          "[engine][rows]") {
  const auto wake = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  const bool much = GENERATE(false, true);
  host w{wake};
  const group_id gone = w.add(a_gang{"gone", 2}.topology("rack"));
  const pod_id a = w.add(a_pod{"a"}.cpu(3).in(gone)), b = w.add(a_pod{"b"}.cpu(3).in(gone));
  CHECK(w.run() == words{"reject a", "reject b"});
  w.remove(a), w.remove(b);
  w.must(w.cluster.remove_group(gone));
  const group_id now = w.add(a_gang{"now", 2});
  REQUIRE(now.row == gone.row);
  w.add(a_pod{"c"}.cpu(5).in(now)), w.add(a_pod{"d"}.cpu(1).in(now));
  w.happen(much);
  CHECK(w.standing(w.pod("c")).failures == 0);
  CHECK(w.run() == words{"reject c", "reject d"});
  CHECK(w.standing(w.pod("c")).failures == 1);
  w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(6)));
  CHECK(w.run_at(1s) == words{"bind c n", "bind d n"});
}

TEST_CASE("a pod that takes the row of one in the permit room does not wait there", "[engine][rows]") {
  const bool much = GENERATE(false, true);
  host w{wake_rule::one_per_class};
  const group_id gang = w.add(a_gang{"g", 2}.permit());
  const pod_id gone = w.add(a_pod{"a"}.cpu(1).in(gang));
  w.add(a_pod{"b"}.cpu(9).in(gang));
  CHECK(w.run() == words{"wait a n", "reject b"});
  w.remove(gone);
  const pod_id now = w.add(a_pod{"now"}.cpu(1));
  REQUIRE(now.row == gone.row);
  w.happen(much);
  CHECK(w.run_at(1s) == words{"bind now n"});
  CHECK(w.counts().back() == 0);
  CHECK(w.run_at(400s).size() <= 1);
  CHECK(w.cluster.state_of(now) == pod_state::assumed);
}

TEST_CASE("a group that is added again in permit mode is not tried as one, also when the log has moved on",
          "[engine][rows]") {
  const bool much = GENERATE(false, true);
  host w{wake_rule::one_per_class};
  const group_id group = w.add(a_gang{"g", 1});
  w.add(a_pod{"big"}.cpu(8).in(group));
  w.run();
  w.must(w.cluster.remove_group(group));
  REQUIRE(w.add(a_gang{"g", 1}.permit()) == group);
  w.happen(much);
  w.now += 1h;
  w.run();
  const std::uint64_t before = w.scheduler.statistics().cycles;
  w.now += 1h;
  w.run();
  CHECK(w.scheduler.statistics().cycles - before == 1);  // the pod, and nobody for its group
}

}  // namespace gangsched::testing::row_reuse_test
