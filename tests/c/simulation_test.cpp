// A run of manifests through the C interface: its text, what was left out, and mistakes.
#include <string>

#include "c/world.hpp"

namespace gangsched::testing::c_simulation_test {

const std::string cluster = R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"},
  "status": {"allocatable": {"cpu": "4", "pods": "110"}}})";
const std::string pod = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
  "spec": {"schedulerName": "other", "hostnam": "x", "containers": [{"name": "c"}]}})";

const std::string open_brace = "{";

gangsched_source file(const char* name, const std::string& text) { return {name, text.data(), text.size()}; }

struct said {
  char *json = nullptr, *warnings = nullptr;
  c_error error;
  said() = default;
  said(const said&) = delete;
  said& operator=(const said&) = delete;
  ~said() {
    gangsched_free(json);
    gangsched_free(warnings);
  }
  [[nodiscard]] bool has(const char* text) const { return std::string{json}.find(text) != std::string::npos; }
};

gangsched_simulation_options options() {
  gangsched_simulation_options made{};
  made.struct_size = sizeof made;
  return made;
}

TEST_CASE("a run answers with the program's text and what was left out", "[c]") {
  const gangsched_source files[] = {file("cluster.json", cluster), file("pod.json", pod)};
  said left;
  REQUIRE(gangsched_simulate(files, 2, nullptr, &left.json, &left.warnings, left.error) == GANGSCHED_OK);
  CHECK(left.has(R"("reason": "left to the scheduler \"other\"")"));
  REQUIRE(left.warnings != nullptr);
  CHECK(std::string{left.warnings} ==
        "pod.json:2: Pod default/p: spec.hostnam: there is no such field; it is left out\n");
  said taken;
  gangsched_simulation_options how = options();
  how.flags = GANGSCHED_SIMULATE_ALL_SCHEDULERS | GANGSCHED_SIMULATE_TIMELINE;
  how.default_namespace = "mine";
  REQUIRE(gangsched_simulate(files, 2, &how, &taken.json, nullptr, taken.error) == GANGSCHED_OK);
  CHECK(taken.has(R"("namespace": "mine")"));
  CHECK(taken.has(R"("node": "a")"));
  CHECK(taken.has(R"("from_seconds": 0)"));
}

TEST_CASE("mistakes of files and options are codes and texts", "[c]") {
  const std::string broken =
      R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 7}})";
  const gangsched_source files[] = {file("cluster.json", cluster), file("x.json", broken), file("y.json", open_brace)};
  said all;
  REQUIRE(gangsched_simulate(files, 3, nullptr, &all.json, &all.warnings, all.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_error_object(all.error) == std::string{"y.json:1"});
  CHECK(gangsched_error_field(all.error) == std::string{"syntax"});
  REQUIRE(all.json != nullptr);
  CHECK(all.has(R"("object": "x.json:1: Pod default/x")"));
  CHECK(all.has(R"("object": "y.json:1")"));
  CHECK(all.warnings == nullptr);

  said late;
  gangsched_simulation_options how = options();
  const char* const nodes[] = {"b"};
  how.drain = {nodes, 1};
  CHECK(gangsched_simulate(files, 1, &how, &late.json, nullptr, late.error) != GANGSCHED_OK);
  gangsched_free(late.json);
  how.drain = {};
  how.arrival_count = 1;
  CHECK(gangsched_simulate(files, 1, &how, &late.json, nullptr, late.error) == GANGSCHED_MALFORMED);
  CHECK(late.error.message() == "arrivals: is null");
  how.arrival_count = 0;
  how.lose = {nullptr, 1};
  CHECK(gangsched_simulate(files, 1, &how, &late.json, nullptr, late.error) == GANGSCHED_MALFORMED);
  CHECK(late.error.message() == "lose: is null");
  CHECK(late.json == nullptr);
  CHECK(gangsched_simulate(nullptr, 1, nullptr, &late.json, nullptr, late.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_simulate(files, 1, nullptr, nullptr, nullptr, late.error) == GANGSCHED_MALFORMED);
  how = options();
  how.struct_size = 3;
  CHECK(gangsched_simulate(files, 1, &how, &late.json, nullptr, late.error) == GANGSCHED_MALFORMED);
}

TEST_CASE("what a run may drain, compare and explain is asked for by texts", "[c]") {
  const std::string own = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c"}]}})";
  const gangsched_source files[] = {file("cluster.json", cluster), file("pod.json", own)};
  said before, after;
  REQUIRE(gangsched_simulate(files, 2, nullptr, &before.json, nullptr, before.error) == GANGSCHED_OK);
  const std::string earlier = before.json;
  gangsched_simulation_options how = options();
  const char* const nodes[] = {"a"};
  how.drain = {nodes, 1};
  how.compare_with = file("before", earlier);
  how.explain = "p";
  REQUIRE(gangsched_simulate(files, 2, &how, &after.json, nullptr, after.error) == GANGSCHED_OK);
  CHECK(after.has(R"("before": "placed on a")"));
  CHECK(after.has(R"("now": "unscheduled")"));
  CHECK(after.has(R"("explain": )"));
}

TEST_CASE("pods of a run come and end as arrivals say", "[c]") {
  const std::string own = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c"}]}})";
  const gangsched_source files[] = {file("cluster.json", cluster), file("pod.json", own)};
  gangsched_arrival arrivals[] = {{"p", 5'000'000'000, 2'000'000'000}};
  gangsched_simulation_options how = options();
  how.arrivals = arrivals;
  how.arrival_count = 1;
  said ended, stays, nobody;
  REQUIRE(gangsched_simulate(files, 2, &how, &ended.json, nullptr, ended.error) == GANGSCHED_OK);
  CHECK(ended.has(R"("status": "ended")"));
  CHECK(ended.has(R"("end_seconds": 7)"));
  arrivals[0].runs = 0;
  REQUIRE(gangsched_simulate(files, 2, &how, &stays.json, nullptr, stays.error) == GANGSCHED_OK);
  CHECK(stays.has(R"("status": "placed")"));
  arrivals[0].name = "q";
  CHECK(gangsched_simulate(files, 2, &how, &nobody.json, nullptr, nobody.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_error_object(nobody.error) == std::string{"options.arrivals"});
}

}  // namespace gangsched::testing::c_simulation_test
