// A pending member stands in the queue, or its group has as many with a node as it may: whatever happens to the others.
#include "world.hpp"

namespace gangsched::testing::kept_back_test {

namespace {

/// Holds pods with a label until the host agrees.
struct holds_labelled {
  static constexpr std::string_view name = "HoldsLabelled";
  using points = implements<point::permit>;
  permit_verdict permit(const reservation& r, permit_room&) {
    return r.pod.label("hold") ? permit_verdict{status::wait(), 60s} : permit_verdict{};
  }
};

struct fixture : world {
  fixture() : world(profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, holds_labelled{}}) {
    add(a_node{"n"}.cpu(9));
  }

  group_id elastic(std::int32_t most) {
    a_gang made{"g", 1};
    std::get<gang>(made.spec.policy).max_count = most;
    return add(made);
  }
  /// Of two members one has a node, and is being deleted; the other is too many.
  pod_id placed_and_terminating() {
    const group_id group = elastic(1);
    const pod_id placed = add(a_pod{"a"}.cpu(1).in(group));
    add(a_pod{"b"}.cpu(1).in(group));
    CHECK(run() == words{"bind a n"});
    must(cluster.set_terminating(placed));
    return placed;
  }
  queue_place place(pod_id pod) {
    must(scheduler.catch_up(now));
    return must(scheduler.standing(pod)).place;
  }
};

}  // namespace

TEST_CASE("a member that is too many takes the place of one that is being deleted and leaves the permit room",
          "[engine][group]") {
  fixture w;
  const group_id group = w.elastic(2);
  w.add(a_pod{"a"}.cpu(1).in(group));
  const pod_id held = w.add(a_pod{"b"}.cpu(1).in(group).label("hold", "yes"));
  const pod_id surplus = w.add(a_pod{"c"}.cpu(1).in(group));
  CHECK(w.run() == words{"bind a n", "wait b n"});
  CHECK(w.place(surplus) == queue_place::kept_back);
  w.must(w.cluster.set_terminating(held));
  CHECK(w.run() == words{"revoke b n", "bind c n"});
}

TEST_CASE("a member that is too many takes the place of one that is being deleted and whose bind failed",
          "[engine][group]") {
  fixture w;
  const pod_id placed = w.placed_and_terminating();
  w.fail(placed);
  CHECK(w.run() == words{"bind b n"});
}

TEST_CASE("a member that is too many takes the place of one that the host released while it was being deleted",
          "[engine][group]") {
  fixture w;
  const pod_id placed = w.placed_and_terminating();
  w.must(w.cluster.release(placed));
  CHECK(w.run() == words{"revoke a n", "bind b n"});
}

TEST_CASE("a member that is too many is tried when one that was tried in vain is deleted", "[engine][group]") {
  fixture w;
  w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.cpu(9).label("rack", "r")));
  w.add(a_node{"m"}.cpu(99).label("rack", "q"));
  const group_id other = w.add(a_gang{"other", 1});
  w.add(a_pod{"there"}.cpu(1).in(other).on(w.node("n")));
  a_gang made{"g", 1};
  std::get<gang>(made.spec.policy).max_count = 2;
  made.spec.affinity = {{.to = other, .key = "rack"}};
  const group_id group = w.add(made);
  w.add(a_pod{"a"}.cpu(1).in(group).priority(2));
  const pod_id large = w.add(a_pod{"b"}.cpu(99).in(group).priority(1));  // it would fit where its group may not be
  w.add(a_pod{"c"}.cpu(1).in(group));
  CHECK(w.run() == words{"bind a n", "reject b", "reject b"});
  w.must(w.cluster.set_terminating(large));
  CHECK(w.run_at(10s) == words{"bind c n"});
}

TEST_CASE("a group grows in step with one whose members wait in the permit room", "[engine][group][ratio]") {
  fixture w;
  const group_id decode = w.add(a_gang{"decode", 2}.permit());
  group_spec prefill{.name = "prefill"};
  prefill.ratios = {{decode, 1, 1}};
  const group_id grows = w.add(prefill);
  w.add(a_pod{"p0"}.cpu(1).in(grows));
  w.add(a_pod{"p1"}.cpu(1).in(grows));
  CHECK(w.run() == words{"bind p0 n"});
  w.add(a_pod{"d0"}.cpu(1).in(decode));
  w.add(a_pod{"d1"}.cpu(1).in(decode).label("hold", "yes"));
  CHECK(w.run() == words{"wait d0 n", "bind p1 n", "wait d1 n"});
}

TEST_CASE("a group that was full and whose members wait for gates of their own is gated until 1.36",
          "[engine][group]") {
  world w{profiles::kube_default(), world::lowest_first(), {.semantics = kube_semantics{kube_release::v1_36}}};
  w.add(a_node{"n"}.cpu(9));
  a_gang made{"g", 1};
  std::get<gang>(made.spec.policy).max_count = 1;
  const group_id group = w.add(made);
  const pod_id first = w.add(a_pod{"first"}.cpu(1).in(group));
  CHECK(w.run() == words{"bind first n"});
  const pod_id gated = w.add(a_pod{"gated"}.cpu(1).in(group).gate("wait"));
  CHECK(w.run().empty());
  w.must(w.cluster.set_terminating(first));
  w.fail(first);
  w.must(w.scheduler.catch_up(w.now));
  CHECK(w.must(w.scheduler.standing(gated)).place == queue_place::gated);
  w.must(w.cluster.update_pod(gated, a_pod{"gated"}.cpu(1).in(group)));
  CHECK(w.run() == words{"bind gated n"});
}

}  // namespace gangsched::testing::kept_back_test
