#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/admission_controller.hpp"
#include "support.hpp"

// Kueue's admission by quota: how many workloads a second it admits, flat and with fair sharing, and what a plan of victims costs.
namespace {

using namespace gangsched::queues::kueue;
using namespace std::chrono_literals;

struct setup {
  int queues;
  int workloads;  ///< of each queue
  bool fair;
  int cohorts;  ///< below the root; 0: queues are below it
};

configuration make_queues(const setup& of) {
  configuration_spec spec{.flavors = {{"f"}, {"g"}}};
  for (int i = 0; i < of.cohorts; ++i) spec.cohorts.push_back({"c" + std::to_string(i), "all"});
  for (int i = 0; i < of.queues; ++i) {
    // Half of what it wants is its own, and the rest it borrows of what others lend.
    const std::int64_t own = of.workloads / 2, lent = of.workloads;
    spec.queues.push_back(
        {.name = "q" + std::to_string(i),
         .cohort = of.cohorts == 0 ? "all" : "c" + std::to_string(i % of.cohorts),
         .weight = 1.0 + i % 3,
         .groups = {{{"cpu", "memory"}, {{"f", {{own}, {own}}}, {"g", {{lent}, {lent}}}}}},
         .preemption = {.within_queue = victim_policy::lower_priority, .within_cohort = victim_policy::any}});
  }
  return configuration::make(spec).value();
}

void fill(admission_controller& kueue, const setup& of) {
  for (int i = 0; i < of.queues * of.workloads; ++i)
    kueue
        .add({.name = "w",
              .uid = std::to_string(i),
              .queue = "q" + std::to_string(i % of.queues),
              .priority = i % 3,
              .created = gangsched::instant{i},
              .pod_sets = {{.requests = {{"cpu", 1}, {"memory", 1}}}}})
        .value();
}

void admit_all(benchmark::State& state, const setup& of) {
  std::int64_t admitted = 0, allocations = 0;
  for (auto _ : state) {
    state.PauseTiming();
    admission_options options;
    options.fair_sharing.enabled = of.fair;
    auto kueue = std::make_unique<admission_controller>(make_queues(of), options);
    fill(*kueue, of);
    kueue->cycle(1s);
    const auto before = static_cast<std::int64_t>(bench::allocations());
    const auto waited = static_cast<std::int64_t>(kueue->waiting());
    state.ResumeTiming();
    while (kueue->waiting() > 0 && !kueue->cycle(2s).entries().empty()) {
    }
    state.PauseTiming();
    admitted += waited - static_cast<std::int64_t>(kueue->waiting());
    allocations += static_cast<std::int64_t>(bench::allocations()) - before;
    kueue.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(admitted);
  state.counters["allocations/admission"] = static_cast<double>(allocations) / static_cast<double>(admitted);
}

void kueue_flat(benchmark::State& state) { admit_all(state, {30, 500, false, 0}); }
void kueue_flat_large(benchmark::State& state) { admit_all(state, {1'000, 50, false, 0}); }
void kueue_fair(benchmark::State& state) { admit_all(state, {1'000, 50, true, 0}); }
void kueue_fair_nested(benchmark::State& state) { admit_all(state, {1'000, 50, true, 30}); }
BENCHMARK(kueue_flat)->Unit(benchmark::kMillisecond);
BENCHMARK(kueue_flat_large)->Unit(benchmark::kMillisecond);
BENCHMARK(kueue_fair)->Unit(benchmark::kMillisecond);
BENCHMARK(kueue_fair_nested)->Unit(benchmark::kMillisecond);

/// One workload for which 200 have to go, of 20 queues that borrow.
void kueue_victims(benchmark::State& state, bool fair) {
  configuration_spec spec{.flavors = {{"f"}}, .cohorts = {}, .queues = {}};
  const preemption_rules rules{.within_cohort = victim_policy::any};
  spec.queues.push_back(
      {.name = "owner", .cohort = "all", .groups = {{{"cpu"}, {{"f", {{200}}}}}}, .preemption = rules});
  for (int i = 0; i < 20; ++i)
    spec.queues.push_back({.name = "q" + std::to_string(i), .cohort = "all", .groups = {{{"cpu"}, {{"f", {{10}}}}}}});
  const configuration of = configuration::make(spec).value();
  quota_ledger ledger{of};
  workload_table table{of.tree().size()};
  const fr_amount one{0, 1};
  for (int i = 0; i < 400; ++i) {
    const auto queue =
        static_cast<gangsched::queues::queue_index>(of.first_queue() + 1 + static_cast<unsigned>(i % 20));
    const auto row =
        table.add({.name = "w", .uid = std::to_string(i), .queue = queue, .priority = 0, .created = 0s}).row;
    table.admit(row, gangsched::instant{i}, {&one, 1});
    ledger.add(queue, 0, 1);
  }
  preemptor finds{ledger, table, {.enabled = fair}};
  const fr_amount needs{0, 200};
  const fr_index short_of = 0;
  std::vector<preemption_target> found;
  for (auto _ : state) finds.find({of.first_queue(), 1, 0s, {&needs, 1}, {&short_of, 1}}, found);
  state.counters["victims"] = static_cast<double>(found.size());
}
BENCHMARK_CAPTURE(kueue_victims, classical, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(kueue_victims, fair, true)->Unit(benchmark::kMicrosecond);

}  // namespace
