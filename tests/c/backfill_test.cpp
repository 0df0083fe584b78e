// Nodes reserved for who finds no room, and who starts there meanwhile, through the C interface.
#include <cstddef>

#include "c/world.hpp"

namespace gangsched::testing::c_backfill_test {

namespace {

constexpr std::int64_t second = 1'000'000'000;

struct job_world : c_world {
  gangsched_scheduler_options options{};
  job_world() {
    options.struct_size = sizeof options;
    options.max_backoff = -1;
  }
  gangsched_pod_id job(const char* name, std::int64_t cpu, std::int64_t runs, gangsched_code expected = GANGSCHED_OK,
                       gangsched_node_id node = {}, std::int64_t start = -1) const {
    const auto change = [&](gangsched_pod_spec& spec) {
      spec.expected_run_time = runs;
      spec.node = node;
      spec.has_start_time = start >= 0;
      spec.start_time = start;
    };
    return pod_with(name, cpu, change, expected);
  }
  [[nodiscard]] std::int64_t reserved_from(gangsched_pod_id pod) const {
    return gangsched_cluster_reserved_from(cluster, pod);
  }
  [[nodiscard]] std::string meant_for(gangsched_pod_id pod) const {
    return text_of(gangsched_cluster_node_name(cluster, gangsched_cluster_nominated_node(cluster, pod)));
  }
  [[nodiscard]] gangsched_statistics statistics() const {
    gangsched_statistics all{};
    all.struct_size = sizeof all;
    must(gangsched_scheduler_statistics(scheduler, &all, error));
    return all;
  }
};

/// A node with 8 CPUs, 4 of them taken for 100 seconds; `wide`, which needs all of it, waits from second 10 on.
struct busy_world : job_world {
  gangsched_pod_id first{}, wide{};
  std::vector<std::string> said;
  explicit busy_world(std::int32_t rule) {
    options.backfill = rule;
    node("n", 8);
    first = job("first", 4, 100 * second);
    schedules(nullptr, &options);
    CHECK(run(0) == std::vector<std::string>{"first bind n"});
    wide = job("wide", 8, 100 * second);
    said = run(10 * second);
  }
};

}  // namespace

using words = std::vector<std::string>;

TEST_CASE("who ends in time starts before who waits for more", "[c]") {
  for (const std::int32_t rule : {GANGSCHED_BACKFILL_EASY, GANGSCHED_BACKFILL_CONSERVATIVE}) {
    busy_world w{rule};
    CHECK(w.said == words{"wide nominate n", "wide reject"});
    CHECK(w.reserved_from(w.wide) == 100 * second);
    CHECK(w.meant_for(w.wide) == "n");
    const gangsched_pod_id late = w.job("late", 4, 200 * second), unknown = w.job("unknown", 4, 0),
                           brief = w.job("brief", 4, 50 * second);
    w.run(20 * second);
    CHECK(gangsched_cluster_pod_state(w.cluster, brief) == GANGSCHED_POD_ASSUMED);
    CHECK(gangsched_cluster_pod_state(w.cluster, late) == GANGSCHED_POD_PENDING);
    CHECK(gangsched_cluster_pod_state(w.cluster, unknown) == GANGSCHED_POD_PENDING);
    for (const gangsched_pod_id gone : {brief, w.first}) w.must(gangsched_cluster_remove_pod(w.cluster, gone, w.error));
    w.run(100 * second);
    CHECK(gangsched_cluster_pod_state(w.cluster, w.wide) == GANGSCHED_POD_ASSUMED);
    CHECK(w.reserved_from(w.wide) == GANGSCHED_NEVER);
    CHECK(w.meant_for(w.wide).empty());
  }
}

TEST_CASE("without backfill whoever fits starts", "[c]") {
  busy_world w{GANGSCHED_BACKFILL_NONE};
  CHECK(w.reserved_from(w.wide) == GANGSCHED_NEVER);
  w.job("late", 4, 200 * second);
  CHECK(w.run(20 * second) == words{"late bind n"});
  CHECK(w.statistics().reservations == 0);
}

TEST_CASE("EASY reserves for the first that waits, conservative backfill for all of them", "[c]") {
  for (const bool all : {false, true}) {
    busy_world w{all ? GANGSCHED_BACKFILL_CONSERVATIVE : GANGSCHED_BACKFILL_EASY};
    const gangsched_pod_id wider = w.job("wider", 8, 30 * second);
    w.run(20 * second);
    CHECK(w.reserved_from(w.wide) == 100 * second);
    CHECK(w.reserved_from(wider) == (all ? 200 * second : GANGSCHED_NEVER));
    CHECK(w.statistics().reservations == (all ? 2 : 1));
  }
}

TEST_CASE("who runs longer than expected puts a reservation off", "[c]") {
  busy_world w{GANGSCHED_BACKFILL_EASY};
  CHECK(w.statistics().late_reservations == 0);
  w.node("small", 1);  // something changes, after `first` should have ended
  w.run(150 * second);
  CHECK(w.reserved_from(w.wide) == 150 * second);
  CHECK(w.statistics().late_reservations == 1);
}

TEST_CASE("who was overtaken for too long gets nodes at once", "[c]") {
  for (const std::int64_t limit : {std::int64_t{0}, 60 * second}) {
    job_world w;
    w.options.max_overtake = limit;
    w.options.unschedulable_timeout = 30 * second;
    w.node("n", 8);
    w.job("first", 4, 0);  // nobody knows how long
    w.schedules(nullptr, &w.options);
    w.run(0);
    const gangsched_pod_id wide = w.job("wide", 8, 0);
    w.run(10 * second);
    CHECK(w.meant_for(wide).empty());
    w.run(80 * second);
    CHECK(w.meant_for(wide) == (limit != 0 ? "n" : ""));
    const gangsched_pod_id small = w.job("small", 4, 0);
    w.run(81 * second);
    CHECK(gangsched_cluster_pod_state(w.cluster, small) ==
          (limit != 0 ? GANGSCHED_POD_PENDING : GANGSCHED_POD_ASSUMED));
  }
}

TEST_CASE("pods that run already count from when they started", "[c]") {
  job_world w;
  w.options.backfill = GANGSCHED_BACKFILL_EASY;
  const gangsched_node_id n = w.node("n", 8);
  w.job("first", 4, 100 * second, GANGSCHED_OK, n, 40 * second);
  const gangsched_pod_id wide = w.job("wide", 8, 0);
  w.schedules(nullptr, &w.options);
  w.run(50 * second);
  CHECK(w.reserved_from(wide) == 140 * second);
  CHECK(w.reserved_from({}) == GANGSCHED_NEVER);
  CHECK(gangsched_cluster_reserved_from(nullptr, wide) == GANGSCHED_NEVER);
}

TEST_CASE("run times below nothing and rules that there are not are refused", "[c]") {
  job_world w;
  w.job("p", 1, -1, GANGSCHED_OUT_OF_RANGE);
  CHECK(gangsched_error_field(w.error) == std::string{"expected_run_time"});
  for (const std::int32_t rule : {-1, 3}) {
    w.options.backfill = rule;
    CHECK(gangsched_scheduler_create(w.cluster, nullptr, &w.options, &w.scheduler, w.error) == GANGSCHED_OUT_OF_RANGE);
  }
}

TEST_CASE("statistics are written as far as the caller's struct goes", "[c]") {
  c_world world;
  world.node("a", 4);
  world.pod("p", 1);
  world.pod("q", 1);
  world.schedules();
  world.run();
  gangsched_statistics all{};
  all.struct_size = offsetof(gangsched_statistics, index_builds);
  all.rows_evaluated = 99;
  world.must(gangsched_scheduler_statistics(world.scheduler, &all, world.error));
  CHECK(all.struct_size == offsetof(gangsched_statistics, index_builds));
  CHECK(all.cycles == 2);
  CHECK(all.decisions == gangsched_scheduler_decisions(world.scheduler));
  CHECK(all.rows_evaluated == 99);
  struct {
    gangsched_statistics known{};
    std::uint64_t later = 7;
  } more;
  more.known.struct_size = sizeof more;
  world.must(gangsched_scheduler_statistics(world.scheduler, &more.known, world.error));
  CHECK(more.known.cycles == 2);
  CHECK(more.later == 7);
  all.struct_size = sizeof(std::size_t);
  CHECK(gangsched_scheduler_statistics(world.scheduler, &all, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_statistics(world.scheduler, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_statistics(nullptr, &more.known, world.error) == GANGSCHED_MALFORMED);
}

TEST_CASE("who has to start first goes first, and whom it is too late for is refused", "[c]") {
  job_world w;
  gangsched_configuration* by = nullptr;
  w.must(gangsched_configuration_create(&by, w.error));
  w.must(gangsched_configuration_read(
      by, nullptr,
      R"({"profiles": [{"plugins": {"queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "LeastSlackSort"}]},
                                    "multiPoint": {"enabled": [{"name": "Deadline"}]}}}]})",
      w.error));
  w.node("n", 8);
  const auto due = [&](const char* name, std::int64_t runs, std::int64_t deadline, std::int64_t max_wait,
                       gangsched_group_id group = {}) {
    w.pod_with(name, 1, [&](gangsched_pod_spec& spec) {
      spec.expected_run_time = runs * second;
      spec.has_deadline = deadline != 0;
      spec.deadline = deadline * second, spec.max_wait = max_wait * second;
      spec.group = group;
    });
  };
  gangsched_group_spec spec{};
  spec.struct_size = sizeof spec;
  spec.name = "g";
  spec.has_deadline = true;
  spec.deadline = 70 * second;
  gangsched_group_id group{};
  w.must(gangsched_cluster_add_group(w.cluster, &spec, &group, w.error));
  due("any-time", 10, 0, 0);
  due("by-50", 50, 100, 0);
  due("by-20", 0, 0, 20);
  due("by-40", 30, 0, 0, group);
  due("too-late", 50, 40, 0);
  w.schedules(by, &w.options);
  gangsched_configuration_destroy(by);
  CHECK(w.run() == words{"too-late reject", "by-20 bind n", "by-40 bind n", "by-50 bind n", "any-time bind n"});
}

}  // namespace gangsched::testing::c_backfill_test
