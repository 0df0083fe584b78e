#include "gangsched/record/recorder.hpp"

#include "gangsched/profiles.hpp"
#include "gangsched/record/log_reader.hpp"
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

}  // namespace gangsched::testing::memory_record_test
