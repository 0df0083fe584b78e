// What those see who watch a scheduler: metrics, events, a trace.
#include "c/world.hpp"

namespace gangsched::testing::c_report_test {

namespace {

gangsched_scheduler_options options() {
  gangsched_scheduler_options made{};
  made.struct_size = sizeof made;
  return made;
}

/// "Warning FailedScheduling default/greedy: 0/1 nodes are available: 1 Insufficient cpu." of each that is taken.
std::vector<std::string> events_of(const c_world& of, std::size_t capacity = 8) {
  std::vector<gangsched_pod_event> taken(capacity);
  std::size_t count = 0;
  of.must(gangsched_scheduler_events(of.scheduler, taken.data(), capacity, &count, of.error));
  std::vector<std::string> told;
  for (std::size_t i = 0; i < count; ++i) {
    const gangsched_pod_event& one = taken[i];
    told.push_back(text_of(one.type) + " " + text_of(one.reason) + " " + text_of(one.ns) + "/" + text_of(one.name) +
                   ": " + text_of(one.note));
  }
  return told;
}

std::string text_by(const c_world& of, gangsched_code (*ask)(const gangsched_scheduler*, char**, gangsched_error*)) {
  char* text = nullptr;
  of.must(ask(of.scheduler, &text, of.error));
  const std::string said = text;
  gangsched_free(text);
  return said;
}

void run_and_confirm(const c_world& in, std::int64_t now) {
  std::vector<gangsched_decision> decisions(16);
  std::size_t count = 0;
  in.must(gangsched_scheduler_run(in.scheduler, now, decisions.data(), decisions.size(), &count, in.error));
  for (std::size_t i = 0; i < count; ++i)
    if (decisions[i].kind == GANGSCHED_BIND)
      in.must(gangsched_scheduler_confirm(in.scheduler, decisions[i].pod, decisions[i].attempt, in.error));
}

}  // namespace

TEST_CASE("events in C are Kubernetes', are taken in order, and outlive the pods that they are about") {
  c_world world;
  world.node("a", 4);
  const auto web = world.pod("web", 2, {}, 7);
  const auto greedy = world.pod("greedy", 64);
  gangsched_scheduler_options how = options();
  how.events_kept = 16;
  how.count_reasons = true;
  world.schedules(nullptr, &how);
  run_and_confirm(world, 5);
  world.must(gangsched_cluster_remove_pod(world.cluster, greedy, world.error));

  gangsched_pod_event first{};
  std::size_t count = 0;
  world.must(gangsched_scheduler_events(world.scheduler, &first, 1, &count, world.error));
  REQUIRE(count == 1);
  CHECK(text_of(first.reason) == "FailedScheduling");
  CHECK(text_of(first.action) == "Scheduling");
  CHECK(text_of(first.name) == "greedy");
  CHECK(text_of(first.note) ==
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling.");
  CHECK(first.about.value == greedy.value);
  CHECK(first.now == 5);
  world.must(gangsched_scheduler_events(world.scheduler, &first, 1, &count, world.error));
  REQUIRE(count == 1);
  CHECK(text_of(first.type) == "Normal");
  CHECK(text_of(first.note) == "Successfully assigned default/web to a");
  CHECK(first.about.value == web.value);
  CHECK(first.pod_cookie == 7);
  CHECK(events_of(world).empty());
  CHECK(gangsched_scheduler_events_dropped(world.scheduler) == 0);
}

TEST_CASE("victims have their events in C, and who is not taken goes in favour of the latest") {
  c_world world;
  world.node("a", 4);
  world.pod("small", 3);
  gangsched_scheduler_options how = options();
  how.events_kept = 2;
  world.schedules(nullptr, &how);
  run_and_confirm(world, 0);
  const auto strong = world.pod("strong", 3, {}, 0, 10);
  run_and_confirm(world, 1);
  gangsched_pod_event all[4]{};
  std::size_t count = 0;
  world.must(gangsched_scheduler_events(world.scheduler, all, 4, &count, world.error));
  REQUIRE(count == 2);
  CHECK(gangsched_scheduler_events_dropped(world.scheduler) == 1);  // that small was assigned
  CHECK(text_of(all[0].reason) == "FailedScheduling");
  CHECK(text_of(all[1].reason) == "Preempted");
  CHECK(text_of(all[1].name) == "small");
  CHECK(all[1].related.value == strong.value);
}

TEST_CASE("a trace in C is JSON of the calls, with times where it is timed") {
  for (const std::int32_t kind : {GANGSCHED_TRACE_BY_NOW, GANGSCHED_TRACE_TIMED}) {
    c_world world;
    world.node("a", 4);
    world.pod("web", 2);
    gangsched_scheduler_options how = options();
    how.trace = kind;
    how.trace_records = 64;
    world.schedules(nullptr, &how);
    run_and_confirm(world, 0);
    const std::string text = text_by(world, gangsched_scheduler_trace);
    CHECK(text.find("\"traceEvents\"") != std::string::npos);
    CHECK(text.find("schedule_cycle") != std::string::npos);
    CHECK(text.find("web") != std::string::npos);
    const bool has_hooks = text.find("NodeResourcesFit") != std::string::npos;
    CHECK(has_hooks == (kind == GANGSCHED_TRACE_TIMED));
  }
}

TEST_CASE("a trace of more records than there can be memory for is not made, in C") {
  c_world world;
  gangsched_scheduler_options how = options();
  how.trace = GANGSCHED_TRACE_BY_NOW;
  how.trace_records = UINT64_MAX;
  CHECK(gangsched_scheduler_create(world.cluster, nullptr, &how, &world.scheduler, world.error) == GANGSCHED_NO_MEMORY);
  CHECK(world.scheduler == nullptr);
}

TEST_CASE("metrics, events and a trace in C are one scheduler's, together, and change no decision") {
  c_world watched, plain;
  gangsched_scheduler_options how = options();
  how.metrics = GANGSCHED_METRICS_COUNTED;
  how.trace = GANGSCHED_TRACE_BY_NOW;
  how.events_kept = 100;
  for (c_world* const one : {&watched, &plain}) {
    for (const char* name : {"a", "b", "c"}) one->node(name, 4);
    for (const char* name : {"p", "q", "r", "s"}) one->pod(name, 3);
    one->schedules(nullptr, one == &watched ? &how : nullptr);
  }
  CHECK(watched.run() == plain.run());
  CHECK(gangsched_cluster_digest(watched.cluster) == gangsched_cluster_digest(plain.cluster));
  CHECK(events_of(watched).size() == 1);
  CHECK(text_by(watched, gangsched_scheduler_metrics).find("scheduler_pending_pods{queue=\"unschedulable\"} 1\n") !=
        std::string::npos);
  CHECK_FALSE(text_by(watched, gangsched_scheduler_trace).empty());
}

TEST_CASE("what nobody asked to be kept is the wrong state in C, and numbers are checked") {
  c_world world;
  world.node("a", 4);
  world.schedules();
  char* text = nullptr;
  gangsched_pod_event one{};
  std::size_t count = 7;
  CHECK(gangsched_scheduler_trace(world.scheduler, &text, world.error) == GANGSCHED_WRONG_STATE);
  CHECK(gangsched_scheduler_events(world.scheduler, &one, 1, &count, world.error) == GANGSCHED_WRONG_STATE);
  CHECK(count == 0);
  CHECK(world.error.message() == "scheduler: options.events_kept: is 0: none are kept");
  CHECK(gangsched_scheduler_events(nullptr, &one, 1, &count, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_events(world.scheduler, nullptr, 1, &count, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_events(world.scheduler, &one, 1, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_trace(nullptr, &text, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_events_dropped(nullptr) == 0);
  gangsched_scheduler_options odd = options();
  odd.trace = 3;
  gangsched_scheduler* made = nullptr;
  CHECK(gangsched_scheduler_create(world.cluster, nullptr, &odd, &made, world.error) == GANGSCHED_OUT_OF_RANGE);
  CHECK(made == nullptr);
}

}  // namespace gangsched::testing::c_report_test
