// report::trace and report::events: what is written of a scheduler's calls.
#include "gangsched/report/trace.hpp"

#include <nlohmann/json.hpp>

#include "gangsched/report/events.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "support/world.hpp"

namespace gangsched::testing::trace_test {

namespace {

std::uint64_t the_time = 0;
std::uint64_t ticking() noexcept { return the_time += 1'500; }

using nlohmann::json;

/// The events but for those that name the process; each has what Chrome's format asks of it.
std::vector<json> read_trace(const report::trace& from) {
  const json whole = json::parse(from.json());
  std::vector<json> all;
  for (const json& one : whole.at("traceEvents")) {
    const std::string phase = one.at("ph");
    CHECK((phase == "X" || phase == "i" || phase == "C" || phase == "M"));
    CHECK(one.at("pid").is_number_integer());
    CHECK(one.at("tid").is_number_integer());
    CHECK(one.at("name").is_string());
    if (phase == "M") continue;
    CHECK(one.at("ts").is_number());
    if (phase == "X") CHECK(one.at("dur").is_number());
    if (phase == "i") CHECK(one.at("s") == "t");
    all.push_back(one);
  }
  return all;
}

const json* find_event(const std::vector<json>& all, const std::string& name, const std::string& object = "") {
  for (const json& one : all) {
    if (one.at("name") == name && (object.empty() || one.at("args").value("object", "") == object)) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a trace has calls, their steps and hooks as slices within each other", "[report]") {
  cluster on;
  report::trace trace{on, {.clock = ticking}};
  scheduler by{on, measure_hooks(profiles::kube_default(), trace), world::lowest_first()};
  REQUIRE(by.observe(&trace));
  REQUIRE(on.add_node(a_node("n1").cpu(2)));
  const pod_id pod = on.add_pod(a_pod("web").cpu(1)).value();
  REQUIRE(by.schedule_cycle(1s));
  REQUIRE(by.confirm(pod));
  const std::vector<json> all = read_trace(trace);
  const json* const call = find_event(all, "schedule_cycle");
  const json* const attempt = find_event(all, "attempt", "default/web");
  const json* const filter = find_event(all, "Filter NodeResourcesFit");
  REQUIRE((call != nullptr && attempt != nullptr && filter != nullptr));
  const auto within = [](const json& inner, const json& outer) {
    const double begin = inner.at("ts"), end = begin + double{inner.at("dur")};
    return double{outer.at("ts")} < begin && end < double{outer.at("ts")} + double{outer.at("dur")};
  };
  CHECK(within(*attempt, *call));
  CHECK(within(*filter, *attempt));
  CHECK(attempt->at("args").at("node") == "n1");
  CHECK(attempt->at("args").at("result") == "placed");
  CHECK(find_event(all, "NodeAdd") != nullptr);
  CHECK(find_event(all, "answer", "default/web")->at("args").at("result") == "bound");
  CHECK(trace.dropped() == 0);
}

TEST_CASE("a trace without a clock goes by the host's time, and draws how many wait", "[report]") {
  cluster on;
  report::trace trace{on};
  scheduler by{on, profiles::kube_default(), world::lowest_first()};
  REQUIRE(by.observe(&trace));
  REQUIRE(on.add_node(a_node("n1").cpu(2)));
  const pod_id low = on.add_pod(a_pod("low").cpu(2)).value();
  REQUIRE(by.schedule_cycle(1s));
  REQUIRE(by.confirm(low));
  pod_spec high = a_pod("high").cpu(2);
  high.priority = 3;
  REQUIRE(on.add_pod(high));
  REQUIRE(by.schedule_cycle(2s));
  const std::vector<json> all = read_trace(trace);
  const json* const mark = find_event(all, "evict", "default/low");
  REQUIRE(mark != nullptr);
  CHECK(mark->at("ts") == 2e6);
  const json* const curve = find_event(all, "pending");
  REQUIRE(curve != nullptr);
  CHECK(curve->at("args").at("unschedulable") == 1);
}

TEST_CASE("a trace keeps the last records, and any name", "[report]") {
  cluster on;
  report::trace trace{on, {.clock = ticking, .records = 16}};
  scheduler by{on, profiles::kube_default(), world::lowest_first()};
  REQUIRE(by.observe(&trace));
  const std::string odd = "\"q\" \\ \n \x01 \xc3\xa9 \xff \xe2\x82";
  for (int i = 0; i < 40; ++i) {
    pod_spec pod = a_pod(odd + std::to_string(i) + std::string(static_cast<std::size_t>(i), 'x')).cpu(1);
    if (!on.add_pod(pod)) REQUIRE(on.add_pod(a_pod("p" + std::to_string(i) + std::string(200, 'y')).cpu(1)));
    REQUIRE(by.schedule_cycle(instant{i}));
  }
  CHECK(read_trace(trace).size() == 16);
  CHECK(trace.dropped() > 40);
  CHECK(json::parse(trace.json()).at("otherData").at("dropped") == trace.dropped());
}

TEST_CASE("events are told in Kubernetes' words", "[report]") {
  words told;
  cluster on;
  report::events events{on, [&](const report::event& one) {
                          std::string text{one.type};
                          ((text += ' ') += one.reason) += ' ';
                          ((((text += one.action) += ' ') += on.name_of(one.about)) += ": ") += one.note;
                          told.push_back(text);
                        }};
  scheduler_options options = world::lowest_first();
  options.count_reasons = true;
  scheduler by{on, profiles::kube_default(), options};
  REQUIRE(by.observe(&events));
  REQUIRE(on.add_node(a_node("n1").cpu(2)));
  const pod_id low = on.add_pod(a_pod("low").cpu(2)).value();
  REQUIRE(by.schedule_cycle(1s));
  CHECK(told.empty());  // it does not run yet
  static_cast<void>(by.fail(low, "no image"));
  REQUIRE(by.schedule_cycle(20s));
  REQUIRE(by.confirm(low));
  pod_spec high = a_pod("high").cpu(2).ns("prod");
  high.priority = 3;
  REQUIRE(on.add_pod(high));
  REQUIRE(by.schedule_cycle(21s));
  CHECK(told == words{"Warning FailedScheduling Binding low: binding failed: no image",
                      "Normal Scheduled Binding low: Successfully assigned default/low to n1",
                      "Warning FailedScheduling Scheduling high: 0/1 nodes are available: 1 Insufficient cpu.",
                      "Normal Preempted Preempting low: Preempted by pod prod/high on node n1"});
}

}  // namespace gangsched::testing::trace_test
