#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/admission_controller.hpp"
#include "memory/fails_without_memory.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::kueue_calls_test {

using namespace gangsched::queues;
using namespace gangsched::queues::kueue;
using namespace std::chrono_literals;

/// A controller with somebody admitted, somebody active, somebody inadmissible and somebody who preempts. Two are alike.
struct house {
  static queues::kueue::queue_spec team(std::string name, std::int64_t cpu) {
    return {.name = std::move(name),
            .cohort = "all",
            .groups = {{{"cpu"}, {{"a-flavor-of-some-length", {{cpu}}}, {"another-flavor-of-some-length", {{1}}}}}},
            .preemption = {.within_queue = victim_policy::lower_priority, .within_cohort = victim_policy::any},
            .by_local_usage = true};
  }
  static workload_spec wants(std::string queue, std::int64_t cpu, std::int32_t priority, int number) {
    const std::string name = "a-workload-of-some-length-" + std::to_string(number);
    return {.name = name,
            .uid = name,
            .queue = std::move(queue),
            .local_queue = "a-local-queue-of-some-length-" + std::to_string(number % 3),
            .priority = priority,
            .created = instant{number},
            .pod_sets = {{.count = 2, .min_count = 1, .requests = {{"cpu", cpu}}}}};
  }

  admission_controller kueue{
      configuration::make({.flavors = {{"a-flavor-of-some-length"}, {"another-flavor-of-some-length"}},
                           .queues = {team("one", 6), team("two", 6), team("three", 0)}})
          .value(),
      {.fair_sharing = {.enabled = true},
       .local_usage = {.half_life = 1h},
       .pods_ready = {.enabled = true, .timeout = 2h, .backoff_base = 10s}}};
  workload_id runs = kueue.add_admitted(wants("three", 4, 0, 1), 0s, used(8)).value();
  workload_id low = kueue.add_admitted(wants("one", 2, -1, 2), 0s, used(4)).value();
  workload_id waits = kueue.add(wants("two", 3, 0, 3)).value();
  workload_id large = kueue.add(wants("three", 90, 0, 4)).value();

  house() {
    // Two that were too late back off.
    std::vector<workload_id> slow;
    for (const int number : {8, 9})
      slow.push_back(kueue.add_admitted(wants("two", 1, 0, number), -3h, used(1)).value());
    if (kueue.advance(0s).size() != 2) throw std::logic_error{"nobody is late"};
    for (const workload_id one : slow) kueue.evicted(one).value();
    kueue.add(wants("one", 3, 1, 5)).value();
    kueue.cycle(1s);
    kueue.add(wants("three", 1, 0, 6)).value();
    kueue.add(wants("two", 1, 0, 7)).value();
  }
  static std::vector<admitted_usage> used(std::int64_t cpu) { return {{"a-flavor-of-some-length", "cpu", cpu}}; }

  /// All that a host can ask.
  [[nodiscard]] std::string state() const {
    std::string text;
    for (queue_index node = 0; node < kueue.of().tree().size(); ++node) {
      for (fr_index fr = 0; fr < kueue.of().fr_count(); ++fr)
        text += std::to_string(kueue.ledger().usage(node, fr)) + " ";
      if (!kueue.of().is_queue(node)) continue;
      for (const bool active : {true, false}) {
        std::vector<row_t> rows = kueue.waiting(node, active);
        std::sort(rows.begin(), rows.end());
        for (const row_t row : rows) text += kueue[row].name + (active ? " active, " : " inadmissible, ");
      }
    }
    return text + std::to_string(kueue.waiting());
  }
};

/// What is left of a call that failed does not show in the next cycle either.
template <class Call>
void check(const Call& call) {
  CHECK(fails_without_memory<house>(call, [](house& one, house& other, const std::string&) {
          one.kueue.cycle(9s);
          other.kueue.cycle(9s);
          REQUIRE(one.state() == other.state());
        }) > 0);
}

TEST_CASE("calls of Kueue's controller for which there is no memory change nothing") {
  check([](house& on) { on.kueue.add(house::wants("one", 1, 0, 8)).value(); });
  check([](house& on) { on.kueue.add_admitted(house::wants("one", 1, 0, 8), 2s, house::used(2)).value(); });
  check([](house& on) { on.kueue.cycle(2s); });
  check([](house& on) {
    on.kueue.set_local_queue({"another-local-queue-of-some-length", "one", 2, {{"cpu", 3}}}).value();
  });
  // What is asked of these is there already where shapes and queues have been seen.
  house on;
  REQUIRE(on.kueue.evicted(on.runs).has_value());
  failing_allocation none_left{1, failing_allocation::how::from_then_on};
  const bool removed = on.kueue.remove(on.runs).has_value() && on.kueue.remove(on.low).has_value() &&
                       on.kueue.remove(on.large).has_value();
  const std::size_t before = on.kueue.waiting();
  on.kueue.advance(3h);
  CHECK_FALSE(none_left.stop());
  CHECK(on.kueue.waiting() == before + 2);
  CHECK(removed);
}

/// Two queues of a cohort, of which one may borrow from the other, before their first cycle.
struct fresh_tournament {
  admission_controller kueue{configuration::make({.flavors = {{"f"}}, .queues = {team("one"), team("two")}}).value(),
                             {.fair_sharing = {.enabled = true}}};
  fresh_tournament() {
    for (const char* const queue : {"one", "two"})
      kueue.add({.name = queue, .uid = queue, .queue = queue, .pod_sets = {{.requests = {{"cpu", 2}}}}}).value();
  }
  static queues::kueue::queue_spec team(std::string name) {
    return {.name = std::move(name), .cohort = "all", .groups = {{{"cpu"}, {{"f", {{1}}}}}}};
  }
  [[nodiscard]] std::string state() const {
    std::string text;
    for (queue_index node = 0; node < kueue.of().tree().size(); ++node)
      text += std::to_string(kueue.ledger().usage(node, 0)) + " ";
    return text + std::to_string(kueue.waiting());
  }
};

TEST_CASE("a tournament that there was no memory to begin is begun anew by the next cycle") {
  CHECK(fails_without_memory<fresh_tournament>([](fresh_tournament& on) { on.kueue.cycle(1s); }) > 0);
}

}  // namespace gangsched::testing::kueue_calls_test
