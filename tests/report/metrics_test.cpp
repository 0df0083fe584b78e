// report::metrics: kube-scheduler's metrics by its names, and what they count.
#include "gangsched/report/metrics.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "prometheus_text.hpp"
#include "support/world.hpp"

namespace gangsched::testing::metrics_test {

namespace {

std::uint64_t the_time = 0;
/// A millisecond between two looks.
std::uint64_t ticking() noexcept { return the_time += 1'000'000; }

struct watched_world {
  report::metrics metrics;
  world w;
  explicit watched_world(const report::metrics_options& how = {},
                         const scheduler_options& options = world::lowest_first())
      : metrics(how), w(measure_hooks(profiles::kube_default(), metrics), options) {
    REQUIRE(w.scheduler.observe(&metrics));
  }
  std::map<std::string, double> samples() const {
    const std::string text = metrics.text(w.scheduler, w.cluster);
    std::vector<std::string> wrong;
    std::map<std::string, double> all;
    for (const auto& [name, family] : read_prometheus(text, wrong)) {
      CHECK(name.starts_with("scheduler_"));
      CHECK(family.help.size() > 20);
      all.insert(family.samples.begin(), family.samples.end());
    }
    INFO(text);
    CHECK(wrong == std::vector<std::string>{});
    return all;
  }
};

double sample(const std::map<std::string, double>& all, const std::string& key) {
  const auto found = all.find("scheduler_" + key);
  INFO(key);
  REQUIRE(found != all.end());
  return found->second;
}

/// Pods wait in the permit room.
struct holds_all {
  static constexpr std::string_view name = "HoldsAll";
  using points = implements<point::permit>;
  permit_verdict permit(const reservation&, permit_room&) { return {status::wait("it is held"), 10min}; }
};

}  // namespace

TEST_CASE("metrics go on with another scheduler of the cluster", "[report]") {
  report::metrics metrics;
  cluster cluster;
  REQUIRE(cluster.add_node(a_node("n1").cpu(2)));
  const pod_id pod = cluster.add_pod(a_pod("a").cpu(1)).value();
  const auto scheduler_with_metrics = [&] {
    auto made = std::make_unique<scheduler>(cluster, profile{priority_sort{}, node_resources_fit{}, holds_all{}});
    REQUIRE(made->observe(&metrics));
    return made;
  };
  auto by = scheduler_with_metrics();
  REQUIRE(by->schedule_cycle(1s));
  const std::vector<waiting_pod> waiting = by->waiting().value();
  REQUIRE(waiting.size() == 1);
  by = scheduler_with_metrics();  // the pod's profile is counted by a name of the scheduler that is gone
  REQUIRE(by->restore(waiting.front()));
  REQUIRE(by->reject(pod, "the host changed its mind"));
  REQUIRE(by->permit(2s));
  const std::string text = metrics.text(*by, cluster);
  INFO(text);
  CHECK(text.find(R"(schedule_attempts_total{result="unschedulable",profile="default-scheduler"} 1)") !=
        std::string::npos);
}

TEST_CASE("attempts, queues and pods are counted as kube-scheduler counts them", "[report]") {
  watched_world watched;
  world& w = watched.w;
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("a").cpu(1));
  w.add(a_pod("b").cpu(4));
  pod_spec gated = a_pod("gated");
  gated.scheduling_gates = {"later"};
  w.add(gated);
  w.now = 1s;
  w.run();
  w.now = 4s;
  REQUIRE(w.scheduler.confirm(w.pod("a")));
  auto all = watched.samples();
  CHECK(sample(all, R"(schedule_attempts_total{result="scheduled",profile="default-scheduler"})") == 1);
  CHECK(sample(all, R"(schedule_attempts_total{result="unschedulable",profile="default-scheduler"})") == 1);
  CHECK(sample(all, R"(pending_pods{queue="unschedulable"})") == 1);
  CHECK(sample(all, R"(pending_pods{queue="gated"})") == 1);
  CHECK(sample(all, R"(pending_pods{queue="active"})") == 0);
  CHECK(sample(all, R"(pending_pods{queue="backoff"})") == 0);
  CHECK(sample(all, R"(queue_incoming_pods_total{queue="active",event="UnschedulablePodAdd"})") == 2);
  CHECK(sample(all, R"(queue_incoming_pods_total{queue="unschedulable",event="UnschedulablePodAdd"})") == 1);
  CHECK(sample(all, R"(queue_incoming_pods_total{queue="unschedulable",event="ScheduleAttemptFailure"})") == 1);
  CHECK(sample(all, R"(unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"})") == 1);
  CHECK(sample(all, "preemption_attempts_total") == 1);
  CHECK(sample(all, "pod_scheduling_attempts_count") == 1);
  CHECK(sample(all, "pod_scheduling_attempts_sum") == 1);
  // By the host's time: it was confirmed before a call said that it is four o'clock.
  CHECK(sample(all, R"(pod_scheduling_sli_duration_seconds_count{attempts="1"})") == 1);
  CHECK(sample(all, R"(cache_size{type="nodes"})") == 1);
  CHECK(sample(all, R"(cache_size{type="pods"})") == 1);
  CHECK(sample(all, R"(cache_size{type="assumed_pods"})") == 0);
  CHECK(sample(all, R"(inflight_events{event="PodPopped"})") == 0);
  CHECK(
      sample(
          all,
          R"(plugin_evaluation_total{plugin="NodeResourcesFit",extension_point="Filter",profile="default-scheduler"})") >
      0);
  // Without a clock nothing is measured.
  CHECK(sample(all, "scheduling_algorithm_duration_seconds_count") == 0);
  CHECK_FALSE(all.contains(
      R"(scheduler_scheduling_attempt_duration_seconds_count{result="scheduled",profile="default-scheduler"})"));

  w.add(a_node("n2").cpu(4));
  w.now = 4s + 100ms;
  CHECK(w.cycle() == words{"bind b n2"});
  REQUIRE(w.scheduler.catch_up(w.now = 7s));
  REQUIRE(w.scheduler.confirm(w.pod("b")));
  all = watched.samples();
  CHECK(sample(all, R"(schedule_attempts_total{result="scheduled",profile="default-scheduler"})") == 2);
  CHECK(sample(all, R"(pod_scheduling_sli_duration_seconds_sum{attempts="2"})") == Approx(6));
  CHECK(sample(all, R"(pod_scheduling_sli_duration_seconds_bucket{attempts="2",le="5.12"})") == 0);
  CHECK(sample(all, R"(pod_scheduling_sli_duration_seconds_bucket{attempts="2",le="10.24"})") == 1);
  CHECK(sample(all, R"(queue_incoming_pods_total{queue="active",event="NodeAdd"})") == 1);
  CHECK(sample(all, "pod_scheduling_attempts_sum") == 3);
}

TEST_CASE("durations are by the observer's clock", "[report]") {
  watched_world watched{{.clock = ticking, .time_hooks_every = 1}};
  world& w = watched.w;
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("a").cpu(1));
  CHECK(w.run(true) == words{"bind a n1"});
  const auto all = watched.samples();
  CHECK(sample(all, "scheduling_algorithm_duration_seconds_count") == 1);
  CHECK(sample(all, "scheduling_algorithm_duration_seconds_sum") > 0.001);
  CHECK(sample(all, R"(scheduling_attempt_duration_seconds_count{result="scheduled",profile="default-scheduler"})") ==
        1);
  CHECK(sample(all, R"(scheduling_attempt_duration_seconds_sum{result="scheduled",profile="default-scheduler"})") >
        sample(all, "scheduling_algorithm_duration_seconds_sum"));
  CHECK(sample(all, R"(event_handling_duration_seconds_count{event="NodeAdd"})") == 1);
  // Two looks at the clock around each hook.
  CHECK(sample(all, R"(event_handling_duration_seconds_sum{event="NodeAdd"})") == Approx(0.001));
  const double filters = sample(
      all,
      R"(plugin_execution_duration_seconds_count{plugin="NodeResourcesFit",extension_point="Filter",status="Success"})");
  CHECK(filters > 0);
  const std::string of_filters = R"({extension_point="Filter",status="Success",profile="default-scheduler"})";
  CHECK(sample(all, "framework_extension_point_duration_seconds_count" + of_filters) == 1);
  CHECK(sample(all, "framework_extension_point_duration_seconds_sum" + of_filters) >= 0.001 * filters);
}

TEST_CASE("hooks are timed in one cycle of so many", "[report]") {
  watched_world watched{{.clock = ticking, .time_hooks_every = 3}};
  world& w = watched.w;
  for (int i = 0; i < 9; ++i) {
    pod_spec big = a_pod("p" + std::to_string(i)).cpu(100);
    big.priority = i;
    w.add(big);
  }
  w.add(a_node("n1").cpu(2));
  w.run();
  const auto all = watched.samples();
  CHECK(sample(all, "preemption_attempts_total") >= 1);
  double timed = 0;
  for (const auto& [name, value] : all)
    if (name.starts_with("scheduler_plugin_execution_duration_seconds_count{plugin=\"DefaultPreemption\""))
      timed += value;
  CHECK(timed >= 1);
  CHECK(timed <= (sample(all, "preemption_attempts_total") + 2) / 3);
}

TEST_CASE("room that is made, the permit room and groups are counted", "[report]") {
  watched_world watched;
  world& w = watched.w;
  w.add(a_node("n1").cpu(4));
  w.add(a_pod("low-1").cpu(2));
  w.add(a_pod("low-2").cpu(2));
  w.run(true);
  pod_spec high = a_pod("high").cpu(4);
  high.priority = 10;
  w.add(high);
  w.run();
  auto all = watched.samples();
  CHECK(sample(all, "preemption_victims_count") == 1);
  CHECK(sample(all, "preemption_victims_sum") == 2);
  CHECK(sample(all, R"(preemption_victims_bucket{le="1"})") == 0);
  CHECK(sample(all, R"(preemption_victims_bucket{le="2"})") == 1);
  CHECK(sample(all, R"(schedule_attempts_total{result="unschedulable",profile="default-scheduler"})") == 1);

  w.add(a_node("n2").cpu(2));
  const group_id waits = w.add(a_gang("train", 2).permit());
  w.add(a_pod("m-1").cpu(1).in(waits));
  w.add(a_pod("m-2").cpu(9).in(waits));
  w.run();
  w.now += 15min;
  static_cast<void>(w.scheduler.permit(w.now));
  all = watched.samples();
  CHECK(sample(all, R"(permit_wait_duration_seconds_count{result="Unschedulable"})") == 1);
  CHECK(sample(all, R"(permit_wait_duration_seconds_sum{result="Unschedulable"})") == Approx(900));

  const group_id whole = w.add(a_gang("whole", 2));
  w.add(a_pod("w-1").cpu(20).in(whole));
  w.add(a_pod("w-2").cpu(1).in(whole));
  w.run();
  w.add(a_node("n3").cpu(40));
  w.now += 1min;
  w.run(true);
  all = watched.samples();
  CHECK(sample(all, R"(podgroup_schedule_attempts_total{result="unschedulable",profile="default-scheduler"})") == 1);
  CHECK(sample(all, R"(podgroup_schedule_attempts_total{result="scheduled",profile="default-scheduler"})") == 1);
}

TEST_CASE("what a host does with its own hands is counted, and what it could not do", "[report]") {
  watched_world watched;
  world& w = watched.w;
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("a").cpu(1));
  CHECK(w.cycle() == words{"bind a n1"});
  static_cast<void>(w.scheduler.fail(w.pod("a"), "no image"));
  w.now += 10s;
  REQUIRE(w.scheduler.pop(w.now)->has_value());
  CHECK(sample(watched.samples(), R"(inflight_events{event="PodPopped"})") == 1);
  REQUIRE(w.scheduler.add_unschedulable(w.pod("a"), {.unschedulable_plugins = {"NodeResourcesFit"}}, w.now));
  const auto all = watched.samples();
  CHECK(sample(all, R"(schedule_attempts_total{result="error",profile="default-scheduler"})") == 1);
  CHECK(sample(all, R"(schedule_attempts_total{result="unschedulable",profile="default-scheduler"})") == 1);
}

TEST_CASE("labels are escaped", "[report]") {
  kernel_table table = profiles::kube_default();
  table.scheduler_name = "odd \"name\"\\with\na line";
  report::metrics metrics;
  world w{measure_hooks(std::move(table), metrics)};
  REQUIRE(w.scheduler.observe(&metrics));
  pod_spec pod = a_pod("a").cpu(1);
  pod.scheduler_name = "odd \"name\"\\with\na line";
  if (!w.cluster.add_pod(pod)) return;  // the model may refuse such a name
  w.run();
  const std::string text = metrics.text(w.scheduler, w.cluster);
  CHECK(text.find(R"(profile="odd \"name\"\\with\na line")") != text.npos);
  std::vector<std::string> wrong;
  static_cast<void>(read_prometheus(text, wrong));
  CHECK(wrong.empty());
}

TEST_CASE("names, types and buckets are those of kube-scheduler", "[report]") {
  watched_world watched{{.clock = ticking, .time_hooks_every = 1}};
  world& w = watched.w;
  w.add(a_node("n1").cpu(2));
  w.add(a_pod("a").cpu(1));
  w.run(true);
  const std::string text = watched.metrics.text(w.scheduler, w.cluster);
  for (const char* line : {
           "# HELP scheduler_schedule_attempts_total [STABLE] Number of attempts to schedule pods, by the result. "
           "'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.\n"
           "# TYPE scheduler_schedule_attempts_total counter\n",
           "# TYPE scheduler_pending_pods gauge\n",
           "# HELP scheduler_pod_scheduling_attempts [STABLE] Number of attempts to successfully schedule a pod.\n"
           "# TYPE scheduler_pod_scheduling_attempts histogram\n"
           "scheduler_pod_scheduling_attempts_bucket{le=\"1\"} 1\n"
           "scheduler_pod_scheduling_attempts_bucket{le=\"2\"} 1\n"
           "scheduler_pod_scheduling_attempts_bucket{le=\"4\"} 1\n"
           "scheduler_pod_scheduling_attempts_bucket{le=\"8\"} 1\n"
           "scheduler_pod_scheduling_attempts_bucket{le=\"16\"} 1\n"
           "scheduler_pod_scheduling_attempts_bucket{le=\"+Inf\"} 1\n"
           "scheduler_pod_scheduling_attempts_sum 1\n"
           "scheduler_pod_scheduling_attempts_count 1\n",
           "scheduler_event_handling_duration_seconds_bucket{event=\"NodeAdd\",le=\"0.0001\"} 0\n",
           "scheduler_event_handling_duration_seconds_bucket{event=\"NodeAdd\",le=\"0.2048\"} 1\n",
           "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384\"} 1\n",
           "extension_point=\"Filter\",status=\"Success\",le=\"1e-05\"} 0\n",
           "extension_point=\"Filter\",status=\"Success\",le=\"1.5000000000000002e-05\"} 0\n",
       }) {
    INFO(line << "\n" << text);
    CHECK(text.find(line) != text.npos);
  }
}

}  // namespace gangsched::testing::metrics_test
