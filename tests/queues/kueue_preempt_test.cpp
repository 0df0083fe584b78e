#include <set>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/preemptor.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::kueue_preempt_test {

using namespace gangsched::queues;
using namespace gangsched::queues::kueue;
using namespace std::chrono_literals;

queue_spec cpu_queue(std::string name, std::string cohort, quota cpu, preemption_rules rules = {}) {
  return {
      .name = std::move(name), .cohort = std::move(cohort), .groups = {{{"cpu"}, {{"f", {cpu}}}}}, .preemption = rules};
}

/// Queues with cpus in one flavor, and workloads that run in them.
class world {
 public:
  explicit world(std::vector<queue_spec> queues, fair_sharing_options sharing = {},
                 std::vector<cohort_spec> cohorts = {})
      : of_(configuration::make({.flavors = {{"f"}}, .cohorts = std::move(cohorts), .queues = std::move(queues)})
                .value()),
        ledger_(of_),
        table_(of_.tree().size()),
        preemptor_(ledger_, table_, sharing) {}

  row_t runs(std::string name, std::string_view queue, std::int64_t cpu, std::int32_t priority = 0, instant at = 0s,
             instant created = 0s) {
    const queue_index in = of_.find_queue(queue).value();
    const fr_amount usage{0, cpu};
    const row_t row =
        table_.add({.name = name, .uid = name, .queue = in, .priority = priority, .created = created}).row;
    table_.admit(row, at, {&usage, 1});
    ledger_.add(in, 0, cpu);
    return row;
  }
  void is_evicted(row_t row) { table_.set_evicted(row, true); }
  /// Who goes for a workload of @p queue that needs @p cpu: "name reason", sorted. The ledger has to come out as it went in.
  std::string wants(std::string_view queue, std::int64_t cpu, std::int32_t priority = 0, instant created = 0s) {
    const auto usage = [&] {
      std::vector<std::int64_t> all;
      for (queue_index node = 0; node < of_.tree().size(); ++node) all.push_back(ledger_.usage(node, 0));
      return all;
    };
    const auto before = usage();
    const fr_amount needs{0, cpu};
    const fr_index short_of = 0;
    std::vector<preemption_target> found;
    preemptor_.find({of_.find_queue(queue).value(), priority, created, {&needs, 1}, {&short_of, 1}}, found);
    CHECK(usage() == before);
    static const char* const reasons[] = {"in queue", "reclamation", "fair sharing", "reclaim while borrowing"};
    std::set<std::string> sorted;
    for (const preemption_target& one : found)
      sorted.insert(table_[one.workload].name + " " + reasons[static_cast<std::size_t>(one.reason)]);
    std::string text;
    for (const std::string& one : sorted) text += (text.empty() ? "" : ", ") + one;
    return text;
  }
  oracle_answer asks(std::string_view queue, std::int64_t cpu, std::int32_t priority = 0) {
    return preemptor_.simulate({of_.find_queue(queue).value(), priority, 0s, {}, {}}, 0, cpu);
  }

 private:
  configuration of_;
  quota_ledger ledger_;
  workload_table table_;
  preemptor preemptor_;
};

constexpr preemption_rules fair{.within_queue = victim_policy::lower_priority, .within_cohort = victim_policy::any};

/// Three queues with 3 cpus (of 10 parts) each, and one that can only borrow.
world three_and_one(fair_sharing_options sharing = {.enabled = true}) {
  return world{{cpu_queue("a", "all", {30}, fair), cpu_queue("b", "all", {30}, fair), cpu_queue("c", "all", {30}, fair),
                cpu_queue("preemptible", "all", {0})},
               sharing};
}
void run_ones(world& w, const char* queue, int count) {
  for (int i = 1; i <= count; ++i) w.runs(queue + std::to_string(i), queue, 10);
}

TEST_CASE("K6, K7: a queue takes back its nominal quota; beyond it only what makes shares more alike") {
  world w = three_and_one();
  run_ones(w, "a", 3), run_ones(w, "b", 5), run_ones(w, "c", 1);
  CHECK(w.wants("c", 10) == "b1 reclamation");
  CHECK(w.wants("a", 10) == "b1 fair sharing");
  CHECK(w.wants("a", 20).empty());
}

TEST_CASE("K8: a large workload goes for a small one only if shares are more alike then") {
  const auto with = [](std::vector<std::pair<const char*, int>> running, int wanted) {
    world w = three_and_one();
    int number = 0;
    for (const auto& [queue, cpu] : running) w.runs(queue + std::to_string(++number), queue, cpu);
    return w.wants("a", wanted);
  };
  CHECK(with({{"b", 90}}, 20) == "b1 reclamation");
  CHECK(with({{"a", 20}, {"b", 70}}, 50).empty());
  CHECK(with({{"b", 20}, {"b", 20}, {"b", 30}}, 60).empty());
}

TEST_CASE("K9: who could win its quota back is not preempted for it") {
  world w = three_and_one();
  w.runs("b1", "b", 20), w.runs("b2", "b", 10), w.runs("b3", "b", 20), w.runs("c1", "c", 10);
  CHECK(w.wants("a", 35) == "b2 fair sharing");
  world both = three_and_one();
  both.runs("b1", "b", 20), both.runs("b2", "b", 25), both.runs("c1", "c", 20), both.runs("c2", "c", 25);
  CHECK(both.wants("a", 35) == "b1 fair sharing, c1 fair sharing");
  world after = three_and_one();
  after.runs("a1", "a", 35), after.runs("b2", "b", 25), after.runs("c2", "c", 25);
  CHECK(after.wants("b", 20).empty());
}

TEST_CASE("K10: each strategy chooses its own victim, and nobody goes where all are within nominal quota") {
  const auto with = [](fair_strategy first) {
    world w = three_and_one({.enabled = true, .first = first, .then_less_than_initial = false});
    run_ones(w, "a", 3);
    w.runs("b_low", "b", 50, 0);
    w.runs("b_high", "b", 10, 1);
    return w.wants("a", 10);
  };
  CHECK(with(fair_strategy::less_than_initial) == "b_low fair sharing");
  CHECK(with(fair_strategy::less_or_equal_final) == "b_high fair sharing");
  world w = three_and_one();
  run_ones(w, "a", 3), run_ones(w, "b", 3), run_ones(w, "c", 3);
  CHECK(w.wants("a", 10).empty());
  world third = three_and_one();
  third.runs("b1", "b", 30), third.runs("b2", "b", 30), third.runs("c1", "c", 30);
  CHECK(third.wants("a", 40).empty());
}

TEST_CASE("a queue preempts its own lower priorities with fair sharing, too, also without a cohort") {
  world w{{cpu_queue("alone", "", {30}, fair)}, {.enabled = true}};
  w.runs("low", "alone", 20, -1), w.runs("mid", "alone", 10, 0);
  CHECK(w.wants("alone", 20, 1) == "low in queue");
  CHECK(w.wants("alone", 10, -1).empty());
}

constexpr preemption_rules own_lower{.within_queue = victim_policy::lower_priority};

TEST_CASE("K11: the lowest priority of the own queue goes") {
  world w{{cpu_queue("q", "", {6}, own_lower)}};
  w.runs("low", "q", 2, -1), w.runs("mid", "q", 2, 0), w.runs("high", "q", 2, 1);
  CHECK(w.wants("q", 2, 1) == "low in queue");
  CHECK(w.wants("q", 2, -1).empty());
}

TEST_CASE("K12: who need not go stays, though it was the first to be chosen") {
  world w{{cpu_queue("q", "", {6}, own_lower)}};
  w.runs("low", "q", 1, -1), w.runs("mid", "q", 2, 0), w.runs("high", "q", 3, 1);
  CHECK(w.wants("q", 2, 1) == "mid in queue");
}

TEST_CASE("K13, K14: who may preempt while it borrows takes the less important only, up to its threshold") {
  const preemption_rules standard{.within_queue = victim_policy::never,
                                  .within_cohort = victim_policy::lower_priority,
                                  .while_borrowing = true,
                                  .max_priority = 0};
  const auto make = [&] {
    return world{{cpu_queue("a_standard", "all", {1, 12}, standard), cpu_queue("b_standard", "all", {1, 12}, standard),
                  cpu_queue("a_best_effort", "all", {1, 12}), cpu_queue("b_best_effort", "all", {1, 12})},
                 {},
                 {{"all", "", 1, {{{"cpu"}, {{"f", {{9}}}}}}}}};
  };
  world w = make();
  w.runs("a_best_effort_low", "a_best_effort", 10, -1), w.runs("b_best_effort_low", "b_best_effort", 1, -1);
  CHECK(w.wants("a_standard", 10, 0) == "a_best_effort_low reclaim while borrowing");
  world full = make();
  full.runs("b_standard_high", "b_standard", 13, 1);
  CHECK(full.wants("a_standard", 1, 2) == "b_standard_high reclamation");
  CHECK(full.wants("a_standard", 2, 2).empty());
}

TEST_CASE(
    "K15: of equal priorities the newest goes; those that are leaving anyway go first, then other queues' workloads") {
  const preemption_rules rules{.within_queue = victim_policy::lower_or_newer_equal_priority,
                               .within_cohort = victim_policy::any};
  world w{{cpu_queue("q", "all", {4}, rules), cpu_queue("other", "all", {0})}};
  w.runs("old", "q", 1, 0, 1s, 10s), w.runs("newest", "q", 1, 0, 3s, 10s), w.runs("new", "q", 1, 0, 2s, 10s);
  const row_t borrows = w.runs("borrows", "other", 1, 5, 0s, 0s);
  CHECK(w.wants("q", 1, 0, 5s) == "borrows reclamation");
  CHECK(w.wants("q", 2, 0, 5s) == "borrows reclamation, newest in queue");
  CHECK(w.wants("q", 2, 0, 10s).empty());  // not older than those of its priority
  const row_t leaving = w.runs("leaving", "other", 1, 9, 0s, 0s);
  w.is_evicted(leaving);
  CHECK(w.wants("q", 1, 0, 5s) == "borrows reclamation, leaving reclamation");
  w.is_evicted(borrows);
  CHECK(w.wants("q", 1, 0, 5s) == "borrows reclamation, leaving reclamation");
}

TEST_CASE("the oracle says whether some victim is in the own queue, and how high the workload borrows afterwards") {
  const preemption_rules rules{.within_queue = victim_policy::lower_priority, .within_cohort = victim_policy::any};
  world w{{cpu_queue("q", "all", {4}, rules), cpu_queue("other", "all", {4})}};
  w.runs("own", "q", 2, -1), w.runs("borrows", "other", 6, 0);
  CHECK(w.asks("q", 2, 0).outlook == preemption_outlook::reclaim);
  CHECK(w.asks("q", 2, 0).borrowing == 0);
  CHECK(w.asks("q", 4, 0).outlook == preemption_outlook::preempt);
  CHECK(w.asks("q", 9, 0).outlook == preemption_outlook::no_candidates);
  CHECK(w.asks("q", 9, 0).borrowing == 1);
}

}  // namespace gangsched::testing::kueue_preempt_test
