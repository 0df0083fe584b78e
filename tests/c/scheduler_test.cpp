// Decisions, answers and events through the C interface.
#include "c/world.hpp"
#include "gangsched/gangsched.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::c_scheduler_test {

using words = std::vector<std::string>;

TEST_CASE("a gang is bound as a whole, and what does not fit in the caller's array is handed out by the next call",
          "[c]") {
  for (const std::size_t capacity : {1u, 2u, 3u, 100u}) {
    c_world world;
    world.node("a", 4);
    const gangsched_group_id gang = world.gang("g", 4);
    for (const char* name : {"g0", "g1", "g2", "g3"}) world.pod(name, 1, gang);
    world.pod("more", 1);
    world.schedules();
    CHECK(world.run(0, capacity) == words{"g0 bind a", "g1 bind a", "g2 bind a", "g3 bind a", "more reject"});
    CHECK(world.run(0, capacity).empty());
  }
}

TEST_CASE("what became void before it was taken is not handed out", "[c]") {
  c_world world;
  const gangsched_node_id a = world.node("a", 4);
  const gangsched_pod_id first = world.pod("first", 1), second = world.pod("second", 1);
  world.schedules();
  bool worked = false;
  for (int i = 0; i < 2; ++i) world.must(gangsched_scheduler_schedule_cycle(world.scheduler, 0, &worked, world.error));
  CHECK(worked);
  world.must(gangsched_cluster_remove_pod(world.cluster, first, world.error));
  gangsched_decision taken[4];
  std::size_t count = 0;
  world.must(gangsched_scheduler_take(world.scheduler, taken, 4, &count, world.error));
  REQUIRE(count == 1);
  CHECK(taken[0].pod.value == second.value);
  CHECK(taken[0].node.value == a.value);
  world.must(gangsched_scheduler_schedule_cycle(world.scheduler, 0, &worked, world.error));
  CHECK_FALSE(worked);
}

TEST_CASE("answers name the attempt that they are about", "[c]") {
  c_world world;
  world.node("a", 4);
  const gangsched_pod_id pod = world.pod("p", 1, {}, 42);
  world.schedules();
  gangsched_decision one[2];
  std::size_t count = 0;
  world.must(gangsched_scheduler_run(world.scheduler, 0, one, 2, &count, world.error));
  REQUIRE(count == 1);
  CHECK(one[0].kind == GANGSCHED_BIND);
  CHECK(one[0].pod_cookie == 42);
  CHECK(one[0].rank == -1);
  CHECK(gangsched_scheduler_confirm(world.scheduler, pod, one[0].attempt + 1, world.error) == GANGSCHED_OUTDATED);
  world.must(gangsched_scheduler_fail(world.scheduler, pod, one[0].attempt, "no answer", world.error));
  CHECK(gangsched_scheduler_fail(world.scheduler, pod, one[0].attempt, "no answer", world.error) == GANGSCHED_OUTDATED);
  CHECK(gangsched_cluster_pod_state(world.cluster, pod) == GANGSCHED_POD_PENDING);
  CHECK(world.run().empty());  // it backs off
  CHECK(gangsched_scheduler_next_deadline(world.scheduler) == 1'000'000'000);
  CHECK(gangsched_scheduler_counts(world.scheduler).backoff == 1);
  CHECK(world.run(1'000'000'000) == words{"p bind a"});
  world.must(gangsched_scheduler_confirm(world.scheduler, pod, 0, world.error));
  CHECK(gangsched_scheduler_confirm(world.scheduler, pod, 0, world.error) == GANGSCHED_WRONG_STATE);
  CHECK(gangsched_scheduler_next_deadline(world.scheduler) == GANGSCHED_NEVER);
  CHECK(gangsched_scheduler_catch_up(world.scheduler, 5, world.error) == GANGSCHED_TIME_WENT_BACK);
}

TEST_CASE("a failure takes the siblings of an atomic gang back by decisions of the next turn", "[c]") {
  c_world world;
  world.node("a", 4);
  gangsched_group_spec spec{};
  spec.struct_size = sizeof spec;
  spec.name = "g";
  spec.min_count = 2;
  spec.atomic = true;
  gangsched_group_id gang{};
  world.must(gangsched_cluster_add_group(world.cluster, &spec, &gang, world.error));
  const gangsched_pod_id first = world.pod("g0", 1, gang);
  world.pod("g1", 1, gang);
  world.schedules();
  CHECK(world.run() == words{"g0 bind a", "g1 bind a"});
  gangsched_event event{};
  event.kind = GANGSCHED_FAIL;
  event.id = first.value;
  event.text = "the node does not answer";
  world.must(gangsched_tell(world.cluster, world.scheduler, &event, 1, world.error));
  CHECK(world.run() == words{"g1 revoke a"});
}

TEST_CASE("members wait in the permit room until there are enough, or somebody lets them go or sends them back",
          "[c]") {
  c_world world;
  world.node("a", 8);
  const gangsched_group_id gang = world.gang("g", 3, GANGSCHED_PERMIT_ROOM);
  const gangsched_pod_id first = world.pod("g0", 1, gang), second = world.pod("g1", 1, gang);
  world.pod("g2", 100, gang);
  world.schedules();
  CHECK(world.run() == words{"g0 wait a", "g1 wait a", "g2 reject"});
  CHECK(gangsched_scheduler_counts(world.scheduler).waiting == 2);
  CHECK(gangsched_scheduler_allow(world.scheduler, first, "Nobody", world.error) == GANGSCHED_WRONG_STATE);
  world.must(gangsched_scheduler_allow(world.scheduler, first, nullptr, world.error));
  world.must(gangsched_scheduler_reject(world.scheduler, second, "not today", world.error));
  CHECK(world.run() == words{"g1 revoke a", "g0 bind a"});
}

TEST_CASE("what a pod that is sent back had goes to another pod in the same turn", "[c]") {
  c_world world;
  world.node("a", 4);
  const gangsched_group_id gang = world.gang("g", 2, GANGSCHED_PERMIT_ROOM);
  const gangsched_pod_id first = world.pod("g0", 3, gang);
  world.pod("g1", 100, gang);
  world.schedules();
  world.pod("other", 3);
  CHECK(world.run() == words{"g0 wait a", "g1 reject", "other reject"});
  world.must(gangsched_scheduler_reject(world.scheduler, first, "not today", world.error));
  const words turn = world.run();
  REQUIRE(turn.size() >= 2);
  CHECK(turn[0] == "g0 revoke a");
  CHECK(turn[1] == "other bind a");
}

TEST_CASE("events come in batches, each told on its own", "[c]") {
  c_world world;
  world.schedules();
  const gangsched_amount room[] = {{"cpu", nullptr, 4, 0}, {"pods", nullptr, 10, 0}};
  gangsched_node_spec node{};
  node.struct_size = sizeof node;
  node.name = "a";
  node.allocatable = {room, 2};
  gangsched_pod_spec pod{};
  pod.struct_size = sizeof pod;
  pod.name = "p";
  gangsched_event events[5]{};
  events[0].kind = GANGSCHED_ADD_NODE;
  events[0].spec = &node;
  events[1].kind = GANGSCHED_ADD_NODE;  // again
  events[1].spec = &node;
  events[2].kind = GANGSCHED_ADD_POD;
  events[2].spec = &pod;
  events[3].kind = GANGSCHED_ADD_POD;
  events[4].kind = 99;
  CHECK(gangsched_tell(world.cluster, world.scheduler, events, 5, world.error) == GANGSCHED_DUPLICATE);
  CHECK(world.error.message() == "node a: name: exists already");
  CHECK(events[0].code == GANGSCHED_OK);
  CHECK(events[1].code == GANGSCHED_DUPLICATE);
  CHECK(events[2].code == GANGSCHED_OK);
  CHECK(events[3].code == GANGSCHED_MALFORMED);
  CHECK(events[4].code == GANGSCHED_OUT_OF_RANGE);
  CHECK(world.run() == words{"p bind a"});
  gangsched_event more[3]{};
  more[0].kind = GANGSCHED_CONFIRM;
  more[0].id = events[2].id;
  more[1].kind = GANGSCHED_SET_TERMINATING;
  more[1].id = events[2].id;
  more[2].kind = GANGSCHED_REMOVE_POD;
  more[2].id = events[2].id;
  world.must(gangsched_tell(world.cluster, world.scheduler, more, 3, world.error));
  CHECK(gangsched_cluster_pods(world.cluster, nullptr, 0) == 0);
  CHECK(gangsched_tell(world.cluster, nullptr, more, 1, world.error) == GANGSCHED_MALFORMED);
  c_world other;
  CHECK(gangsched_tell(other.cluster, world.scheduler, more, 1, world.error) == GANGSCHED_MALFORMED);
}

TEST_CASE("why nobody has room is said as a line, as lines and as JSON", "[c]") {
  c_world world;
  world.node("a", 2);
  world.node("b", 8);
  const gangsched_pod_id pod = world.pod("p", 4), large = world.pod("q", 16);
  const gangsched_group_id gang = world.gang("g", 2);
  world.pod("g0", 16, gang);
  world.pod("g1", 16, gang);
  world.schedules();
  world.run();
  CHECK(world.explain(large) == "0/2 nodes are available: 2 Insufficient cpu.");
  CHECK(world.explain(pod, GANGSCHED_TEXT).find("\na: NodeResourcesFit: Insufficient cpu") != std::string::npos);
  const std::string json = world.explain(large, GANGSCHED_JSON);
  const std::string begins =
      R"({"summary":"0/2 nodes are available: 2 Insufficient cpu.","nodes":[{"name":"a",)"
      R"("code":"UnschedulableAndUnresolvable","plugin":"NodeResourcesFit","reasons":["Insufficient cpu"]})";
  CHECK(json.substr(0, begins.size()) == begins);
  char* text = nullptr;
  world.must(gangsched_scheduler_explain_group(world.scheduler, gang, GANGSCHED_JSON, &text, world.error));
  CHECK(std::string{text}.find(R"("name":"g")") != std::string::npos);
  gangsched_free(text);
  CHECK(gangsched_scheduler_explain(world.scheduler, {}, GANGSCHED_SUMMARY, &text, world.error) == GANGSCHED_UNKNOWN);
  CHECK(gangsched_scheduler_explain(world.scheduler, pod, 7, &text, world.error) == GANGSCHED_OUT_OF_RANGE);
}

TEST_CASE("a restarted host says where its pods stood", "[c]") {
  c_world world;
  world.node("a", 1);
  const gangsched_pod_id pod = world.pod("p", 1);
  world.schedules();
  const gangsched_queue_standing stood{GANGSCHED_PLACE_BACKOFF, 3, 3, 0, 100, GANGSCHED_NEVER};
  world.must(gangsched_scheduler_restore(world.scheduler, pod, &stood, world.error));
  CHECK(world.run(200).empty());
  gangsched_queue_standing now{};
  world.must(gangsched_scheduler_standing(world.scheduler, pod, &now, world.error));
  CHECK(now.place == GANGSCHED_PLACE_ERROR_BACKOFF);
  CHECK(std::tuple{now.attempts, now.failures, now.errors, now.since} == std::tuple{3u, 3u, 0u, 100});
  CHECK(now.backoff_until == 4'000'000'100);
  CHECK(gangsched_scheduler_next_deadline(world.scheduler) == 4'000'000'100);
  world.must(gangsched_scheduler_activate(world.scheduler, &pod, 1, 300, world.error));
  CHECK(world.run(300) == words{"p bind a"});
  world.must(gangsched_scheduler_standing(world.scheduler, pod, &now, world.error));
  CHECK(now.place == GANGSCHED_PLACE_NONE);
  CHECK(gangsched_scheduler_standing(world.scheduler, {}, &now, world.error) == GANGSCHED_UNKNOWN);
  CHECK(gangsched_scheduler_standing(world.scheduler, pod, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_restore(world.scheduler, pod, nullptr, world.error) == GANGSCHED_MALFORMED);
}

TEST_CASE("profiles are put together from a base, plugins and arguments, or read as Kubernetes writes them", "[c]") {
  c_world world;
  world.node("a", 4);
  world.node("b", 8);
  gangsched_configuration* by = nullptr;
  world.must(gangsched_configuration_create(&by, world.error));
  gangsched_profile_spec profile{};
  profile.struct_size = sizeof profile;
  profile.base = GANGSCHED_PROFILE_EMPTY;
  CHECK(gangsched_configuration_add_profile(by, nullptr, &profile, world.error) == GANGSCHED_MALFORMED);
  gangsched_profile_plugin plugins[] = {
      {"PrioritySort", 0, nullptr},
      {"NodeResourcesFit", 1,
       R"({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}})"}};
  profile.plugins = plugins;
  profile.plugin_count = 2;
  world.must(gangsched_configuration_add_profile(by, nullptr, &profile, world.error));
  plugins[1].arguments = R"({"no": 1})";
  CHECK(gangsched_configuration_add_profile(by, nullptr, &profile, world.error) != GANGSCHED_OK);
  plugins[1] = {"Nobody", 0, nullptr};
  CHECK(gangsched_configuration_add_profile(by, nullptr, &profile, world.error) == GANGSCHED_UNKNOWN);
  plugins[1] = {"PrioritySort", 0, nullptr};
  CHECK(gangsched_configuration_add_profile(by, nullptr, &profile, world.error) == GANGSCHED_DUPLICATE);
  world.must(gangsched_configuration_read(
      by, nullptr, R"({"profiles": [{"schedulerName": "other"}], "podInitialBackoffSeconds": 3})", world.error));
  world.pod("p", 1);
  world.schedules(by);
  CHECK(world.run() == words{"p bind a"});  // the fuller one
  c_world second;
  second.node("x", 4);
  second.pod("q", 5);
  second.schedules(by);  // the same configuration, another cluster
  CHECK(second.run() == words{"q reject"});
  CHECK(gangsched_configuration_read(by, nullptr, "{", world.error) == GANGSCHED_MALFORMED);
  gangsched_configuration_destroy(by);
}

TEST_CASE("a scheduler that counts has metrics, and one that does not says so", "[c]") {
  c_world plain;
  plain.schedules();
  char* text = nullptr;
  CHECK(gangsched_scheduler_metrics(plain.scheduler, &text, plain.error) == GANGSCHED_WRONG_STATE);
  CHECK(text == nullptr);
  CHECK(gangsched_scheduler_metrics(plain.scheduler, nullptr, plain.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_metrics(nullptr, &text, plain.error) == GANGSCHED_MALFORMED);

  for (const std::int32_t kind : {GANGSCHED_METRICS_COUNTED, GANGSCHED_METRICS_TIMED}) {
    c_world world;
    world.node("a", 4);
    world.pod("fits", 1);
    world.pod("greedy", 64);
    gangsched_scheduler_options options{};
    options.struct_size = sizeof options;
    options.metrics = kind;
    world.schedules(nullptr, &options);
    CHECK(world.run(0, 100) == words{"fits bind a", "greedy reject"});
    world.must(gangsched_scheduler_metrics(world.scheduler, &text, world.error));
    const std::string said = text;
    gangsched_free(text);
    CHECK(said.find("scheduler_pending_pods{queue=\"unschedulable\"} 1\n") != said.npos);
    const bool timed = said.find("scheduler_scheduling_algorithm_duration_seconds_count 2\n") != said.npos;
    CHECK(timed == (kind == GANGSCHED_METRICS_TIMED));
  }
  gangsched_scheduler_options odd{};
  odd.struct_size = sizeof odd;
  odd.metrics = 3;
  gangsched_scheduler* made = nullptr;
  CHECK(gangsched_scheduler_create(plain.cluster, nullptr, &odd, &made, plain.error) == GANGSCHED_OUT_OF_RANGE);
  CHECK(made == nullptr);
}

TEST_CASE("a base profile needs no configuration, which is asked first if there is one", "[c]") {
  const auto refused_by_queue = [](std::int32_t profile, bool configured) {
    c_world world;
    world.node("a", 4);
    const gangsched_amount most{"cpu", nullptr, 1, 0};
    gangsched_quota quota{};
    quota.limit = {&most, 1};
    const char* const namespaces[] = {"default"};
    gangsched_queue_spec queue{};
    queue.struct_size = sizeof queue;
    queue.name = "q";
    queue.quotas = &quota;
    queue.quota_count = 1;
    queue.namespaces = {namespaces, 1};
    world.must(gangsched_cluster_add_queue(world.cluster, &queue, nullptr, world.error));
    world.pod("p", 2);
    gangsched_configuration* by = nullptr;
    world.must(gangsched_configuration_create(&by, world.error));
    gangsched_profile_spec plain{};
    plain.struct_size = sizeof plain;
    if (configured) world.must(gangsched_configuration_add_profile(by, nullptr, &plain, world.error));
    gangsched_scheduler_options options{};
    options.struct_size = sizeof options;
    options.profile = profile;
    world.schedules(by, &options);
    gangsched_configuration_destroy(by);
    return world.run() == words{"p reject"};
  };
  CHECK_FALSE(refused_by_queue(GANGSCHED_PROFILE_DEFAULT, false));
  CHECK(refused_by_queue(GANGSCHED_PROFILE_WITH_QUEUES, false));
  CHECK_FALSE(refused_by_queue(GANGSCHED_PROFILE_WITH_QUEUES, true));
  c_world world;
  gangsched_scheduler_options options{};
  options.struct_size = sizeof options;
  for (const std::int32_t wrong : {-1, 4}) {
    options.profile = wrong;
    CHECK(gangsched_scheduler_create(world.cluster, nullptr, &options, &world.scheduler, world.error) ==
          GANGSCHED_OUT_OF_RANGE);
  }
  options.profile = GANGSCHED_PROFILE_EMPTY;  // nobody sorts its queue
  CHECK(gangsched_scheduler_create(world.cluster, nullptr, &options, &world.scheduler, world.error) ==
        GANGSCHED_MALFORMED);
}

TEST_CASE("an option that is none of them is named", "[c]") {
  const c_world world;
  const auto refused = [&](std::int32_t gangsched_scheduler_options::*which, std::int32_t word) {
    gangsched_scheduler_options options{};
    options.struct_size = sizeof options;
    options.*which = word;
    gangsched_scheduler* made = nullptr;
    CHECK(gangsched_scheduler_create(world.cluster, nullptr, &options, &made, world.error) == GANGSCHED_OUT_OF_RANGE);
    CHECK(made == nullptr);
    return world.error.message();
  };
  CHECK(refused(&gangsched_scheduler_options::ties, 77) == "scheduler options: ties: 77 is none of them");
  CHECK(refused(&gangsched_scheduler_options::wake, -1) == "scheduler options: wake: -1 is none of them");
  CHECK(refused(&gangsched_scheduler_options::timers, 77) == "scheduler options: timers: 77 is none of them");
  CHECK(refused(&gangsched_scheduler_options::backfill, 77) == "scheduler options: backfill: 77 is none of them");
}

TEST_CASE("a decision is described in a line", "[c]") {
  c_world world;
  world.node("a", 4);
  const gangsched_pod_id low = world.pod("low", 3);
  gangsched_pod_spec elsewhere{};
  elsewhere.struct_size = sizeof elsewhere;
  elsewhere.name = "low";
  elsewhere.ns = "other";
  world.must(gangsched_cluster_add_pod(world.cluster, &elsewhere, nullptr, world.error));
  world.pod("large", 9);
  world.schedules();
  gangsched_decision decisions[8];
  const auto lines = [&] {
    std::size_t count = 0;
    world.must(gangsched_scheduler_run(world.scheduler, 0, decisions, 8, &count, world.error));
    words told;
    for (std::size_t i = 0; i < count; ++i)
      told.emplace_back(gangsched_scheduler_describe(world.scheduler, &decisions[i]));
    return told;
  };
  CHECK(lines() ==
        words{"low: bind to a", "other/low: bind to a", "large: reject, 0/1 nodes are available: 1 Insufficient cpu."});
  const gangsched_decision bound = decisions[0];
  world.must(gangsched_scheduler_confirm(world.scheduler, low, 0, world.error));
  world.pod("high", 4, {}, 0, 10);
  const words preempts = lines();
  REQUIRE(preempts.size() == 2);
  CHECK(preempts[0] == "high: nominate to a");
  CHECK(preempts[1].substr(0, 17) == "low: evict from a");
  world.must(gangsched_cluster_remove_pod(world.cluster, low, world.error));
  CHECK(std::string{gangsched_scheduler_describe(world.scheduler, &bound)}.empty());
  CHECK(std::string{gangsched_scheduler_describe(world.scheduler, nullptr)}.empty());
  CHECK(std::string{gangsched_scheduler_describe(nullptr, &bound)}.empty());
}

namespace {

/// A gang of two with two members more, whose queue has room for the two.
void add_gang_in_queue(c_world& to) {
  const std::string_view objects =
      "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: q}, spec: {max: {cpu: 2}}}\n"
      "---\n{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j}, spec: {minAvailable: 2,\n"
      "schedulerName: default-scheduler, tasks: [{name: t, replicas: 4, template: {spec: {containers: [{name: c,\n"
      "resources: {requests: {cpu: 1}}}]}}}]}}\n";
  to.node("a", 8);
  to.must(gangsched_cluster_add_manifests(to.cluster, objects.data(), objects.size(), "o.yaml", 0, nullptr, to.error));
  gangsched_scheduler_options options{};
  options.struct_size = sizeof options;
  options.profile = GANGSCHED_PROFILE_WITH_QUEUES;
  to.schedules(nullptr, &options);
}

/// The reasons of those that have one.
words reasons_of(const std::vector<gangsched_decision>& all) {
  words made;
  for (const gangsched_decision& one : all)
    if (one.reason != nullptr) made.emplace_back(one.reason);
  return made;
}

}  // namespace

TEST_CASE("the reasons of a turn's decisions are good until the next turn, in however many calls it comes", "[c]") {
  for (const std::size_t capacity : {1u, 3u, 16u}) {
    c_world world;
    add_gang_in_queue(world);
    std::vector<gangsched_decision> all;
    for (std::size_t count = capacity; count == capacity;) {
      std::vector<gangsched_decision> some(capacity);
      world.must(gangsched_scheduler_run(world.scheduler, 0, some.data(), capacity, &count, world.error));
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
    CHECK(reasons_of(all) == words{"no pods were schedulable", "no pods were schedulable"});
    CHECK(all.size() == 6);
  }
}

TEST_CASE("the reasons of decisions that a fork hands out are its own", "[c]") {
  c_world fork;
  gangsched_cluster_destroy(fork.cluster);
  {
    c_world world;
    add_gang_in_queue(world);
    for (bool worked = true; worked;)
      world.must(gangsched_scheduler_schedule_cycle(world.scheduler, 0, &worked, world.error));
    world.must(gangsched_scheduler_fork(world.scheduler, &fork.cluster, &fork.scheduler, world.error));
  }
  std::vector<gangsched_decision> all(16);
  std::size_t count = 0;
  fork.must(gangsched_scheduler_take(fork.scheduler, all.data(), all.size(), &count, fork.error));
  all.resize(count);
  CHECK(reasons_of(all) == words{"no pods were schedulable", "no pods were schedulable"});
}

TEST_CASE("the C interface and the library decide alike, whatever happens", "[c]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    dice roll{seed};
    c_world world;
    world.schedules();
    cluster model;
    scheduler engine{model, profiles::kube_default()};
    std::vector<std::uint64_t> pods;
    std::int64_t now = 0;
    for (int step = 0; step < 60; ++step) {
      const std::string name = "o" + std::to_string(step);
      const std::int64_t cpu = roll.between(1, 4);
      if (const auto what = roll.below(5); what == 0) {
        world.node(name.c_str(), 2 * cpu);
        REQUIRE(model.add_node({.name = name, .allocatable = {{"cpu", 2 * cpu}, {"pods", 110}}}));
      } else if (what < 4) {
        const auto priority = static_cast<std::int32_t>(roll.below(3));
        pods.push_back(world.pod(name.c_str(), cpu, {}, 0, priority).value);
        REQUIRE(model.add_pod({.name = name, .containers = {{.requests = {{"cpu", cpu}}}}, .priority = priority}));
      } else if (!pods.empty()) {
        const gangsched_pod_id gone{pods[roll.below(pods.size())]};
        const std::string of = text_of(gangsched_cluster_pod_name(world.cluster, gone));
        const auto id = model.find_pod("default", of);
        REQUIRE((gangsched_cluster_remove_pod(world.cluster, gone, nullptr) == GANGSCHED_OK) ==
                (id && model.remove_pod(*id)));
      }
      now += roll.between(0, 2'000'000'000);
      words expected;
      while (const cycle made = engine.schedule_cycle(instant{now}))
        for (const decision& one : made) {
          const std::string_view node = model.name_of(one.node);
          expected.push_back(std::string{model.name_of(one.pod)} + " " + std::string{to_string(one.kind)} +
                             (node.empty() ? "" : " ") + std::string{node});
        }
      for (const decision& one : engine.permit(instant{now})) expected.push_back(std::string{model.name_of(one.pod)});
      REQUIRE(world.run(now, 1 + roll.below(5)) == expected);
      REQUIRE(gangsched_cluster_digest(world.cluster) == model.digest());
    }
  }
}

}  // namespace gangsched::testing::c_scheduler_test
