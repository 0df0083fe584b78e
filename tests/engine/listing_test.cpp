#include <random>
#include <unordered_set>

#include "engine/world.hpp"
#include "gangsched/scheduling/queue_listing.hpp"

namespace gangsched::testing::listing_test {

namespace {

/// "active a, backoff b, …": in order.
std::string listed(const world& w) {
  const auto name = [](queue_place place) -> std::string {
    switch (place) {
      case queue_place::none: return "none";
      case queue_place::active: return "active";
      case queue_place::backoff: return "backoff";
      case queue_place::error_backoff: return "error_backoff";
      case queue_place::unschedulable: return "unschedulable";
      case queue_place::gated: return "gated";
      case queue_place::in_flight: return "in_flight";
      case queue_place::kept_back: return "kept_back";
    }
    return "";
  };
  std::string text;
  for (const queued_entity& one : world::must(w.scheduler.queue())) {
    if (!text.empty()) text += ", ";
    text += name(one.standing.place) + " ";
    text += one.group ? "group " + std::string{w.cluster.name_of(one.group)} + " of " + std::to_string(one.pods)
                      : std::string{w.cluster.name_of(one.pod)};
  }
  return text;
}

TEST_CASE("the queue is listed in order, with why and since when", "[engine][listing]") {
  scheduler_options options = world::lowest_first();
  options.count_reasons = true;
  world w{profiles::kube_default(), options};
  w.add(a_node{"n"}.cpu(4));
  w.now = 5s;
  w.add(a_pod{"large"}.cpu(8).priority(3));
  w.add(a_pod{"failing"}.cpu(1).priority(2));
  w.add(a_pod{"closed"}.gate("not-yet"));
  const group_id gang = w.add(a_gang{"g", 2});
  w.add(a_pod{"m1"}.cpu(5).in(gang));
  w.add(a_pod{"m2"}.cpu(5).in(gang));
  CHECK(w.run() == words{"reject large", "bind failing n", "reject m1", "reject m2"});
  CHECK(w.fail(w.pod("failing")).empty());
  w.add(a_pod{"young"}.cpu(1));
  w.add(a_pod{"old"}.cpu(1).priority(1));
  w.now = 5500ms;
  world::must(w.scheduler.catch_up(w.now));
  CHECK(listed(w) ==
        "active old, active young, error_backoff failing, unschedulable large, unschedulable group g of 2, gated "
        "closed");
  const std::vector<queued_entity> all = world::must(w.scheduler.queue());
  CHECK(all[0].standing.since == 5500ms);
  CHECK(all[2].why == "the host says so");
  CHECK(all[2].standing.backoff_until == 6s);
  CHECK(all[3].why ==
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling.");
  CHECK(all[3].standing.since == 5s);
  CHECK(all[3].standing.rejected.unschedulable_plugins == words{"NodeResourcesFit"});
  CHECK(all[4].group == gang);
  CHECK(all[4].pod == w.pod("m1"));
  CHECK(all[4].standing.rejected.unschedulable_plugins == words{"NodeResourcesFit"});
  CHECK(all[4].why.starts_with("minCount cannot be satisfied"));
  CHECK(w.scheduler.pop(w.now)->value().pod == w.pod("old"));
  CHECK(listed(w).starts_with("in_flight old, active young"));
}

TEST_CASE("a pod is listed with the reason of its last attempt, be it the host's or a filter's", "[engine][listing]") {
  for (const bool counted : {true, false}) {
    scheduler_options options = world::lowest_first();
    options.count_reasons = counted;
    world w{profiles::kube_default(), options};
    w.add(a_node{"n"}.cpu(1));
    const pod_id pod = w.add(a_pod{"p"}.cpu(1));
    const auto listed_why = [&] { return world::must(w.scheduler.queue()).at(0).why; };
    CHECK(w.run() == words{"bind p n"});
    w.fail(pod);
    CHECK(listed_why() == "the host says so");
    const pod_id other = w.add(a_pod{"other"}.cpu(1).on(w.node("n")));
    CHECK(w.run_at(60s) == words{"reject p"});
    CHECK(w.scheduler.why(pod)->plugins == words{"NodeResourcesFit"});
    CHECK(listed_why() == w.scheduler.why(pod)->text());
    CHECK(listed_why().empty() != counted);
    w.remove(other);
    CHECK(w.run_at(120s) == words{"bind p n"});
    w.fail(pod);
    CHECK(listed_why() == "the host says so");
    CHECK_FALSE(w.scheduler.why(pod));
    CHECK(world::must(w.scheduler.queue()).at(0).standing.rejected.unschedulable_plugins.empty());
  }
}

TEST_CASE("every pod that waits is listed once, and the first of the active ones is tried next",
          "[engine][listing][property]") {
  const auto seed = static_cast<unsigned>(GENERATE(range(0, 30)));
  CAPTURE(seed);
  world w{profiles::kube_default()};
  std::mt19937 random{seed};
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  int made = 0;
  for (int step = 0; step < 40; ++step) {
    w.now += std::chrono::milliseconds{below(1500)};
    if (below(4) == 0) w.add(a_node{"n" + std::to_string(step)}.cpu(1 + below(4)));
    for (int i = below(4); i > 0; --i) {
      auto pod = a_pod{"p" + std::to_string(made++)}.cpu(1 + below(5)).priority(below(3));
      if (below(6) == 0) pod.gate("closed");
      w.add(pod);
    }
    if (below(5) == 0) {
      const group_id gang = w.add(a_gang{"g" + std::to_string(step), 1 + below(3)});
      for (int i = below(4); i > 0; --i) w.add(a_pod{"p" + std::to_string(made++)}.cpu(1 + below(3)).in(gang));
    }
    world::must(w.scheduler.flush_backoff(w.now));
    world::must(w.scheduler.flush_unschedulable(w.now));
    const std::vector<queued_entity> all = world::must(w.scheduler.queue());
    std::size_t pods = 0;
    std::unordered_set<pod_id> seen;
    std::vector<queued_entity> active;
    for (const queued_entity& one : all) {
      pods += one.pods;
      CHECK(seen.insert(one.pod).second);
      if (one.standing.place == queue_place::active) active.push_back(one);
    }
    std::size_t pending = 0;
    for (const pod_id pod : w.cluster.pods()) pending += w.cluster.state_of(pod) == pod_state::pending ? 1 : 0;
    CHECK(pods == pending);
    const queue_counts counts = w.scheduler.counts();
    CHECK(all.size() == counts.active + counts.backoff + counts.unschedulable + counts.gated + counts.in_flight);
    if (active.empty()) continue;
    const gangsched::cycle done = w.decide();
    if (done.decisions().empty()) continue;
    const decision& first = done.decisions().front();
    if (active.front().group)
      CHECK(first.group == active.front().group);
    else
      CHECK(first.pod == active.front().pod);
    for (const decision& one : done) {
      if (one.kind == decision_kind::bind) w.confirm(one.pod);
    }
  }
}

TEST_CASE("the permit room is listed with who holds each pod, and until when", "[engine][listing]") {
  world w;
  w.add(a_node{"n"}.cpu(8));
  const group_id gang = w.add(a_gang{"g", 2}.permit().timeout(30s));
  w.add(a_pod{"m1"}.cpu(1).in(gang));
  w.add(a_pod{"m2"}.cpu(100).in(gang));
  w.now = 10s;
  CHECK(w.run() == words{"wait m1 n", "reject m2"});
  const std::vector<waiting_pod> all = world::must(w.scheduler.waiting());
  REQUIRE(all.size() == 1);
  CHECK(all[0].pod == w.pod("m1"));
  CHECK(all[0].node == w.node("n"));
  CHECK(all[0].attempt == w.cluster.attempt_of(w.pod("m1")));
  CHECK(all[0].holders == std::vector<waiting_pod::holder>{{"GangScheduling", 40s}});
  CHECK_FALSE(all[0].rejected);
  world::must(w.scheduler.reject(w.pod("m1"), "no"));
  CHECK(world::must(w.scheduler.waiting())[0].rejected);
  CHECK(w.permit() == words{"revoke m1 n"});
  CHECK(world::must(w.scheduler.waiting()).empty());
}

}  // namespace

}  // namespace gangsched::testing::listing_test
