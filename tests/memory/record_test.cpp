#include "gangsched/record/recorder.hpp"

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/record/log_reader.hpp"
#include "gangsched/record/replayer.hpp"
#include "gangsched/scheduler.hpp"
#include "memory/failing_new.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::memory_record_test {

namespace {

struct outcome {
  bool failed = false;   ///< there was too little memory for something
  bool stands = false;   ///< the call
  bool written = false;  ///< it is in the log
};

outcome add_without_memory(long nth) {
  cluster on;
  record::recorder log = record::recorder::start(on).value();
  on.add_node(a_node("n1").cpu(2)).value();
  outcome made;
  const pod_spec spec = a_pod("a").cpu(1);
  {
    failing_allocation no_memory{nth};
    try {
      made.stands = on.add_pod(spec).has_value();
    } catch (const std::bad_alloc&) {
    }
    made.failed = no_memory.stop();
  }
  REQUIRE(on.find_pod("default", "a").has_value() == made.stands);
  const std::uint64_t before = log.calls();
  if (!made.stands) REQUIRE(!log.ended());  // nothing came of it, and what follows is recorded
  on.add_pod(a_pod("b").cpu(1)).value();
  made.written = before == 2;
  if (made.stands && !made.written) {
    REQUIRE(log.ended()->code == errc::overflow);
    REQUIRE(log.calls() == before);
  }
  const std::vector<std::byte> bytes = log.take();
  record::log_reader read = record::log_reader::open(bytes).value();
  std::uint64_t calls = 0;
  while (read.next().value()) ++calls;
  REQUIRE(calls == log.calls());
  return made;
}

}  // namespace

TEST_CASE("a call that there is no memory to write down stands, and the log ends before it", "[memory]") {
  std::size_t refused = 0, unwritten = 0;
  for (long nth = 1;; ++nth) {
    const outcome made = add_without_memory(nth);
    if (!made.failed) break;
    (made.stands ? unwritten : refused) += 1;
    REQUIRE(!made.written);
    REQUIRE(nth < 10'000);
  }
  CHECK(refused > 5);
  CHECK(unwritten > 5);
}

TEST_CASE("a log ends before a scheduler's call for which there is no memory", "[memory]") {
  cluster on;
  record::recorder log = record::recorder::start(on).value();
  scheduler by{on, profiles::kube_default()};
  on.add_node(a_node("n1").cpu(2)).value();
  on.add_pod(a_pod("a").cpu(1)).value();
  {
    failing_allocation no_memory{1};
    CHECK_THROWS_AS(static_cast<void>(by.schedule_cycle(instant{1})), std::bad_alloc);
  }
  CHECK(by.schedule_cycle(instant{1}));
  REQUIRE(log.ended());
  CHECK(log.ended()->code == errc::overflow);
  CHECK(log.calls() == 3);
}

TEST_CASE("so does a call of the cluster of whatever kind, and of its queues", "[memory]") {
  using call = void (*)(cluster&);
  const auto [name, make] = GENERATE(table<std::string, call>(
      {{"set_allocatable",
        [](cluster& on) {
          on.set_allocatable(on.find_node("n1").value(), {{"example.com/a", 3}}).value();
        }},
       {"add_queue", [](cluster& on) { on.queues().add({.name = "new", .parent = "q"}).value(); }},
       {"update_queue",
        [](cluster& on) {
          on.queues().update(on.queues().find("q").value(), {.name = "q", .namespaces = {"somewhere"}}).value();
        }},
       {"remove_queue", [](cluster& on) { on.queues().remove(on.queues().find("q").value()).value(); }},
       {"set_flavor",
        [](cluster& on) {
          on.queues().set_flavor({.name = "x", .node_labels = {{"k", "v"}}}).value();
        }},
       {"remove_flavor", [](cluster& on) { on.queues().remove_flavor("a-flavor-of-a-long-name-in-fact").value(); }}}));
  CAPTURE(name);
  std::size_t refused = 0;
  for (long nth = 1;; ++nth) {
    REQUIRE(nth < 10'000);
    cluster on;
    record::recorder log = record::recorder::start(on).value();
    on.add_node(a_node("n1").cpu(2)).value();
    on.queues().add({.name = "q"}).value();
    on.queues().set_flavor({.name = "a-flavor-of-a-long-name-in-fact"}).value();
    const std::uint64_t before = log.calls(), digest = on.digest();
    bool failed = false, thrown = false;
    {
      failing_allocation no_memory{nth};
      try {
        make(on);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      failed = no_memory.stop();
    }
    if (!failed) break;
    REQUIRE(log.calls() == before);
    if (!thrown) continue;
    ++refused;
    REQUIRE(on.digest() == digest);
    REQUIRE(!log.ended());  // nothing came of it, and what follows is recorded
  }
  CHECK(refused > 0);
}

TEST_CASE("a recording for which there is no memory does not end the one that runs", "[memory]") {
  for (long nth = 1;; ++nth) {
    REQUIRE(nth < 10'000);
    cluster on;
    const record::recorder log = record::recorder::start(on).value();
    failing_allocation no_memory{nth};
    try {
      static_cast<void>(record::recorder::start(on));
    } catch (const std::bad_alloc&) {
    }
    if (!no_memory.stop()) break;
    REQUIRE(!log.ended());
  }
}

TEST_CASE("a replay for which there is no memory says so, makes nothing more and hands nothing out", "[memory]") {
  cluster on;
  record::recorder recording = record::recorder::start(on).value();
  scheduler by{on, profiles::kube_default()};
  on.add_node(a_node("n1").cpu(2)).value();
  on.set_allocatable(on.find_node("n1").value(), {{"example.com/a", 3}}).value();
  on.queues().add({.name = "q"}).value();
  on.add_pod(a_pod("a").cpu(1)).value();
  {
    transaction trial{on};
    on.add_pod(a_pod("b").cpu(1)).value();
  }
  while (by.schedule_cycle(instant{1})) {
  }
  by.confirm(on.find_pod("default", "a").value()).value();
  recording.write_digest().value();
  const std::vector<std::byte> log = recording.take();
  const auto profile = [](std::uint32_t) { return std::vector<kernel_table>{profiles::kube_default()}; };
  std::size_t failures = 0;
  for (long nth = 1;; ++nth) {
    REQUIRE(nth < 100'000);
    record::replayer again = record::replayer::open(log, {.profiles = profile}).value();
    bool failed = false, thrown = false, alike = false;
    {
      failing_allocation no_memory{nth};
      try {
        const auto ran = again.run();
        alike = ran && !*ran;
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      failed = no_memory.stop();
    }
    if (!failed) {
      CHECK(alike);
      break;
    }
    ++failures;
    REQUIRE((thrown || alike));  // some do without: plugins that only remember what they need not
    if (!thrown) continue;
    const std::uint64_t calls = again.calls();
    REQUIRE(again.run());
    REQUIRE(again.calls() == calls);
    REQUIRE(!again.take());
  }
  CHECK(failures > 100);
}

}  // namespace gangsched::testing::memory_record_test
