#include <stdexcept>
#include <string>
#include <vector>

#include "gangsched/queues/kai/reclaim.hpp"
#include "gangsched/queues/kueue/admission_controller.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"
#include "memory/failing_new.hpp"
#include "queues/yunikorn_units.hpp"
#include "support/catch.hpp"

// What policies of queues do again and again needs no memory once as much has been seen.
namespace gangsched::testing::queue_allocations_test {

using namespace gangsched::queues;
using namespace std::chrono_literals;

/// Allocations of @p round the third time it runs.
template <class Round>
std::size_t allocations_of(const Round& round) {
  round();
  round();
  const std::size_t before = allocations();
  round();
  return allocations() - before;
}

TEST_CASE("KAI's queues are divided, counted, put in order and planned for without memory") {
  std::vector<queue_link> links{{"a"}, {"b"}, {"c"}, {"a1", "a"}, {"a2", "a"}, {"b1", "b"}};
  kai::queue_shares shares{queue_tree::make(links).value(), 2};
  const std::vector<double> job{2, 1};
  for (std::size_t resource = 0; resource < 2; ++resource) {
    shares.set_total(resource, 40).value();
    for (queue_index queue = 0; queue < links.size(); ++queue)
      shares.set_quota(queue, resource, {.deserved = 4}).value();
  }
  kai::reclaim_plan plan;
  std::size_t planned = 0;
  CHECK(allocations_of([&] {
          for (const queue_index queue : {2u, 3u, 4u, 5u}) {
            shares.add_request(queue, job);
            shares.allocate(queue, job, true);
          }
          shares.divide(1);
          if (shares.order({0, job}, {1, job}) == 0 || shares.shortage(3, job, true)) return;
          plan.begin(shares, {5, job});
          if (plan.may_take_from(3)) plan.take({3, job});
          planned += plan.keeps_balance() ? 1 : 0;
          for (const queue_index queue : {2u, 3u, 4u, 5u}) {
            shares.release(queue, job, true);
            shares.remove_request(queue, job);
          }
        }) == 0);
  CHECK(planned == 3);
}

TEST_CASE("YuniKorn's cycles place asks, and allocations end, without memory") {
  struct one_node final : yunikorn::node_host {
    yunikorn::node_number place(yunikorn::ask_index) override { return 0; }
    bool preempt(yunikorn::ask_index, bool) override { return false; }
  };
  std::vector<yunikorn::queue_settings> settings(4);
  for (std::size_t i = 1; i < 4; ++i) settings[i].guaranteed = units(static_cast<std::int64_t>(i));
  settings[0].max = units(100);
  settings[3].limits = {{{"u"}, {}, units(50), 0}};
  yunikorn::partition queues =
      yunikorn::partition::make(
          queue_tree::make(
              std::vector<queue_link>{{"root"}, {"root.a", "root"}, {"root.b", "root"}, {"root.c", "root"}})
              .value(),
          settings)
          .value();
  std::vector<yunikorn::application_index> applications;
  for (const queue_index leaf : {1u, 1u, 2u, 3u})
    applications.push_back(queues.add_application({.queue = leaf, .user = "u"}).value());
  one_node host;
  std::vector<yunikorn::ask_index> placed;
  CHECK(allocations_of([&] {
          for (const yunikorn::application_index one : applications)
            for (int i = 0; i < 3; ++i) queues.add_ask({.application = one, .request = units(1)}).value();
          for (;;) {
            const yunikorn::cycle_outcome done = queues.try_allocate(host);
            if (done.what != yunikorn::cycle_outcome::kind::placed) break;
            placed.push_back(done.which);
          }
          if (placed.size() != 12) throw std::logic_error{"not all are placed"};
          for (const yunikorn::ask_index one : placed) queues.release(one).value();
          placed.clear();
        }) == 0);
}

TEST_CASE("Kueue's cycles with past usage and timeouts of pods need no memory") {
  using namespace queues::kueue;
  admission_options options;
  options.local_usage.half_life = 1h;
  options.pods_ready.enabled = true;
  options.pods_ready.timeout = 1min;
  configuration_spec spec{.flavors = {{"f"}}};
  for (const char* const name : {"one", "two"})
    spec.queues.push_back(
        {.name = name, .cohort = "all", .groups = {{{"cpu"}, {{"f", {{8}}}}}}, .by_local_usage = true});
  admission_controller kueue{configuration::make(spec).value(), options};
  std::vector<workload_id> all;
  for (int i = 0; i < 12; ++i)
    all.push_back(kueue
                      .add({.name = std::to_string(i),
                            .uid = std::to_string(i),
                            .queue = i % 2 == 0 ? "one" : "two",
                            .local_queue = std::to_string(i % 3),
                            .created = instant{i},
                            .pod_sets = {{.requests = {{"cpu", 1}}}}})
                      .value());
  instant now{};
  std::size_t late = 0;
  CHECK(allocations_of([&] {
          for (int i = 0; i < 40; ++i) {
            now += 30s;
            for (const pods_timeout& one : kueue.advance(now)) {
              kueue.evicted(kueue.id_of(one.workload)).value();
              ++late;
            }
            kueue.cycle(now);
          }
        }) == 0);
  CHECK(late > 20);
}

TEST_CASE("Kueue admits workloads that came for the first time without memory for each") {
  using namespace queues::kueue;
  for (const bool fair : {false, true}) {
    CAPTURE(fair);
    configuration_spec spec{.flavors = {{"f"}, {"g"}}};
    for (const char* const name : {"one", "two", "three"})
      spec.queues.push_back(
          {.name = name, .cohort = "all", .groups = {{{"cpu", "memory"}, {{"f", {{60}, {60}}}, {"g", {{80}, {80}}}}}}});
    admission_controller kueue{configuration::make(spec).value(), {.fair_sharing = {.enabled = fair}}};
    for (int i = 0; i < 450; ++i)
      kueue
          .add({.name = "w",
                .uid = std::to_string(i),
                .queue = i % 3 == 0   ? "one"
                         : i % 3 == 1 ? "two"
                                      : "three",
                .created = instant{i},
                .pod_sets = {{.requests = {{"cpu", 1}, {"memory", 1}}}}})
          .value();
    kueue.cycle(1s);
    const std::size_t before = allocations();
    std::size_t admitted = 0;
    for (int i = 0; i < 200; ++i)
      for (const cycle_entry& one : kueue.cycle(2s).entries()) admitted += one.result == entry_result::admitted ? 1 : 0;
    CHECK(allocations() - before < 16);  // what is written on, when a flavor is full for the first time
    CHECK(admitted > 400);
  }
}

}  // namespace gangsched::testing::queue_allocations_test
