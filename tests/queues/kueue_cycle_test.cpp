#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gangsched/queues/kueue/admission_controller.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::kueue_cycle_test {

using namespace gangsched::queues;
using namespace gangsched::queues::kueue;
using namespace std::chrono_literals;

queue_spec cpu_queue(std::string name, std::string cohort, quota cpu, preemption_rules rules = {}) {
  return {
      .name = std::move(name), .cohort = std::move(cohort), .groups = {{{"cpu"}, {{"f", {cpu}}}}}, .preemption = rules};
}

workload_spec needs(std::string name, std::string queue, std::int64_t cpu, std::int32_t priority = 0,
                    instant created = 0s) {
  return {.name = name,
          .uid = name,
          .queue = std::move(queue),
          .priority = priority,
          .created = created,
          .pod_sets = {{.requests = {{"cpu", cpu}}}}};
}

/// A controller, and what it says in words.
class world {
 public:
  explicit world(std::vector<queue_spec> queues, admission_options options = {})
      : kueue_(configuration::make({.flavors = {{"f"}, {"g"}}, .queues = std::move(queues)}).value(), options) {}

  void add(const workload_spec& spec) { ids_[spec.name] = kueue_.add(spec).value(); }
  void runs(const workload_spec& spec) {
    ids_[spec.name] =
        kueue_.add_admitted(spec, 0s, std::vector<admitted_usage>{{"f", "cpu", spec.pod_sets[0].requests.at("cpu")}})
            .value();
  }
  /// Of a cycle: "name result reason" of each entry, in the order in which they were taken.
  std::string cycle() {
    static const char* const results[] = {"admitted", "skipped", "pending"};
    static const char* const reasons[] = {"", " no fit", " no candidates", " preempts", " failed"};
    const admission_cycle& made = kueue_.cycle(now_ += 1s);
    std::string text;
    for (const std::uint32_t at : made.order()) {
      const cycle_entry& entry = made.entries()[at];
      text += (text.empty() ? "" : ", ") + kueue_[entry.workload].name + " " +
              results[static_cast<std::size_t>(entry.result)] + reasons[static_cast<std::size_t>(entry.reason)];
    }
    return text;
  }
  /// Who is asked to go in a cycle.
  std::string preempts() {
    std::string text;
    for (const issued_preemption& one : kueue_.cycle(now_ += 1s).preempted())
      text += (text.empty() ? "" : ", ") + kueue_[one.workload].name + " for " + kueue_[one.by].name;
    return text;
  }
  std::string waiting(std::string_view queue, bool active) {
    std::set<std::string> names;
    for (const row_t one : kueue_.waiting(kueue_.of().find_queue(queue).value(), active))
      names.insert(kueue_[one].name);
    std::string text;
    for (const std::string& one : names) text += (text.empty() ? "" : ", ") + one;
    return text;
  }
  workload_id operator[](const std::string& name) { return ids_.at(name); }
  admission_controller& kueue() { return kueue_; }
  std::int64_t usage(std::string_view queue) { return kueue_.ledger().usage(kueue_.of().find_queue(queue).value(), 0); }

 private:
  admission_controller kueue_;
  std::map<std::string, workload_id> ids_;
  instant now_ = 0s;
};

constexpr preemption_rules own_lower{.within_queue = victim_policy::lower_priority};

TEST_CASE("heads are those of higher priority, then older, then by uid, and only one of a queue is tried in a cycle") {
  world w{{cpu_queue("q", "", {10})}};
  w.add(needs("c", "q", 1, 0, 2s)), w.add(needs("b", "q", 2, 0, 1s)), w.add(needs("a", "q", 3, 0, 1s));
  w.add(needs("urgent", "q", 4, 1, 9s));
  CHECK(w.cycle() == "urgent admitted");
  CHECK(w.cycle() == "a admitted");
  CHECK(w.cycle() == "b admitted");
  CHECK(w.cycle() == "c admitted");
  CHECK(w.cycle().empty());
  CHECK(w.usage("q") == 10);
}

TEST_CASE("in a tree who stays within nominal quota comes before any urgent one that borrows") {
  world w{{cpu_queue("a", "all", {1}), cpu_queue("b", "all", {2}), cpu_queue("c", "all", {1})}};
  w.add(needs("urgent", "a", 2, 9, 0s)), w.add(needs("late", "b", 1, 0, 2s)), w.add(needs("early", "c", 1, 0, 1s));
  CHECK(w.cycle() == "early admitted, late admitted, urgent admitted");
}

TEST_CASE("two entries that would both borrow the last room: the later one is skipped and is active again") {
  world w{{cpu_queue("a", "all", {0}), cpu_queue("b", "all", {0}), cpu_queue("c", "all", {3})}};
  w.add(needs("one", "a", 2, 0, 1s)), w.add(needs("two", "b", 2, 0, 2s));
  CHECK(w.cycle() == "one admitted, two skipped failed");
  CHECK(w.waiting("b", true) == "two");
  CHECK(w.cycle() == "two pending no fit");
  CHECK(w.waiting("b", false) == "two");
}

TEST_CASE(
    "BestEffortFIFO: all of a shape are inadmissible with the one that was tried, also those that come later, until "
    "quota is freed in the tree") {
  world w{{cpu_queue("q", "all", {2}), cpu_queue("other", "all", {2})}};
  w.runs(needs("r", "q", 2)), w.runs(needs("s", "other", 2));
  w.add(needs("big1", "q", 2, 0, 1s)), w.add(needs("big2", "q", 2, 0, 2s)), w.add(needs("small", "q", 1, 0, 3s));
  CHECK(w.cycle() == "big1 pending no candidates");
  CHECK(w.waiting("q", false) == "big1, big2");
  CHECK(w.waiting("q", true) == "small");
  w.add(needs("big3", "q", 2, 0, 0s));
  CHECK(w.waiting("q", false) == "big1, big2, big3");
  CHECK(w.cycle() == "small pending no candidates");
  CHECK(w.cycle().empty());
  REQUIRE(w.kueue().remove(w["s"]).has_value());
  CHECK(w.waiting("q", true) == "big1, big2, big3, small");
  CHECK(w.cycle() == "big3 admitted");
}

TEST_CASE("StrictFIFO: the head stays and blocks") {
  queue_spec strict = cpu_queue("q", "", {2});
  strict.strategy = queueing_strategy::strict_fifo;
  world w{{strict}};
  w.runs(needs("r", "q", 1));
  w.add(needs("big", "q", 2, 0, 1s)), w.add(needs("small", "q", 1, 0, 2s));
  CHECK(w.cycle() == "big pending no candidates");
  CHECK(w.cycle() == "big pending no candidates");
  CHECK(w.waiting("q", true) == "big, small");
}

TEST_CASE("who preempts is first of its queue until it is admitted, even if a higher priority arrives") {
  world w{{cpu_queue("q", "", {2}, own_lower)}};
  w.runs(needs("low", "q", 2, -1));
  w.add(needs("mid", "q", 2, 0, 1s));
  CHECK(w.preempts() == "low for mid");
  CHECK(w.preempts().empty());  // it has been asked already
  w.add(needs("high", "q", 2, 5, 2s));
  CHECK(w.cycle() == "mid pending preempts");
  REQUIRE(w.kueue().evicted(w["low"]).has_value());
  CHECK(w.waiting("q", true) == "high, low, mid");
  CHECK(w.cycle() == "mid admitted");
  CHECK(w.preempts() == "mid for high");
}

TEST_CASE("of two entries with a common victim the second is skipped; if wished its targets are sought again") {
  const preemption_rules reclaim{.within_cohort = victim_policy::any};
  for (const bool again : {false, true}) {
    world w{{cpu_queue("a", "all", {2}, reclaim), cpu_queue("b", "all", {2}, reclaim), cpu_queue("c", "all", {0})},
            {.recompute_overlapping_targets = again}};
    w.runs(needs("r", "c", 4));
    w.add(needs("one", "a", 2, 0, 1s)), w.add(needs("two", "b", 2, 0, 2s));
    CHECK(w.cycle() ==
          (again ? "one pending preempts, two pending preempts" : "one pending preempts, two skipped failed"));
  }
}

TEST_CASE("who needs preemption and finds nobody reserves its room for the cycle, unless it can always reclaim") {
  for (const victim_policy reclaim : {victim_policy::lower_priority, victim_policy::any}) {
    world w{{cpu_queue("a", "all", {4}, {.within_cohort = reclaim}), cpu_queue("b", "all", {0})}};
    w.runs(needs("r", "a", 2));
    w.add(needs("waits", "a", 3, 9, 1s)), w.add(needs("borrows", "b", 2, 0, 2s));
    CHECK(w.cycle() == (reclaim == victim_policy::any ? "waits pending no candidates, borrows admitted"
                                                      : "waits pending no candidates, borrows skipped failed"));
  }
}

TEST_CASE("partial admission takes the most pods that fit, in proportion") {
  const auto admit = [](std::vector<std::int32_t> least, std::int64_t limit) {
    world w{{cpu_queue("q", "", {limit})}};
    workload_spec spec{.name = "w", .queue = "q", .pod_sets = {}};
    for (std::size_t i = 0; i < least.size(); ++i)
      spec.pod_sets.push_back(
          {.name = "p" + std::to_string(i), .count = 5, .min_count = least[i], .requests = {{"cpu", 1}}});
    w.add(spec);
    w.cycle();
    return w.usage("q");
  };
  CHECK(admit({3, 4, 1, 2}, 20) == 20);
  CHECK(admit({3, 4, 1, 2}, 15) == 15);
  CHECK(admit({3, 4, 1, 2}, 10) == 10);
  CHECK(admit({3, 4, 1, 2}, 9) == 0);
  CHECK(admit({5, 3, 5, 5}, 19) == 19);
  world off{{cpu_queue("q", "", {3})}, {.partial_admission = false}};
  off.add({.name = "w", .queue = "q", .pod_sets = {{.count = 5, .min_count = 1, .requests = {{"cpu", 1}}}}});
  CHECK(off.cycle() == "w pending no fit");
}

TEST_CASE(
    "a search that stopped early goes on with the next flavor in the next cycle, even if the first has room again") {
  const auto queue = [](std::string name, std::int64_t f, std::int64_t g) {
    return queue_spec{.name = std::move(name), .cohort = "all", .groups = {{{"cpu"}, {{"f", {{f}}}, {"g", {{g}}}}}}};
  };
  world w{{queue("a", 0, 0), queue("b", 0, 2), queue("lends", 2, 0)}};
  w.add(needs("first", "a", 2, 0, 1s)), w.add(needs("second", "b", 2, 0, 2s));
  CHECK(w.cycle() == "first admitted, second skipped failed");
  REQUIRE(w.kueue().remove(w["first"]).has_value());
  const admission_cycle& made = w.kueue().cycle(9s);
  REQUIRE(made.entries().size() == 1);
  CHECK(made.entries()[0].result == entry_result::admitted);
  REQUIRE(made.entries()[0].flavors.attempts.size() == 1);
  CHECK(w.kueue().of().flavor(made.entries()[0].flavors.attempts[0].flavor).name == "g");
}

TEST_CASE("fair sharing: the smaller share goes first, and within nominal quota before any that borrows") {
  world w{{cpu_queue("a", "all", {4}), cpu_queue("b", "all", {4}), cpu_queue("c", "all", {4})},
          {.fair_sharing = {.enabled = true}}};
  w.runs(needs("r", "a", 3)), w.runs(needs("s", "b", 4));
  w.add(needs("x", "a", 2, 9, 1s)), w.add(needs("y", "b", 2, 9, 0s)), w.add(needs("z", "c", 1, 0, 9s));
  CHECK(w.cycle() == "z admitted, x admitted, y admitted");
}

TEST_CASE("another quota makes the tree's inadmissible workloads active") {
  world w{{cpu_queue("q", "all", {1}), cpu_queue("other", "all", {1})}};
  w.add(needs("w", "q", 3));
  CHECK(w.cycle() == "w pending no fit");
  CHECK(w.waiting("q", true).empty());
  const queue_index other = w.kueue().of().find_queue("other").value();
  REQUIRE(w.kueue().set_quota(other, 0, {2}).has_value());
  CHECK(w.cycle() == "w admitted");
  CHECK(w.kueue().set_quota(other, 0, {-1}).error().code == errc::out_of_range);
}

TEST_CASE("calls about workloads that are not there, or have no quota, are refused and change nothing") {
  world w{{cpu_queue("q", "", {1})}};
  w.add(needs("w", "q", 1));
  CHECK(w.kueue().evicted(w["w"]).error().message() == "workload w: has no quota");
  CHECK(w.kueue().mark_evicted(w["w"]).error().code == errc::wrong_state);
  REQUIRE(w.kueue().remove(w["w"]).has_value());
  CHECK(w.kueue().remove(w["w"]).error().code == errc::unknown);
  CHECK(w.kueue().waiting() == 0);
  CHECK(w.kueue().add(needs("v", "r", 1)).error().code == errc::unknown);
  CHECK(w.kueue().add_admitted(needs("v", "q", 1), 0s, std::vector<admitted_usage>{{"f", "cpu", -1}}).error().code ==
        errc::out_of_range);
  CHECK(w.usage("q") == 0);
}

TEST_CASE("whatever comes and goes, waiting workloads stand as in plain lists") {
  std::size_t heads = 0, inadmissible = 0, sticky_heads = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    dice random{seed};
    const configuration of = configuration::make({.flavors = {{"f"}},
                                                  .queues = {cpu_queue("a", "all", {1}), cpu_queue("b", "all", {1}),
                                                             cpu_queue("c", "", {1})}})
                                 .value();
    workload_table table{of.tree().size()};
    shape_pool shapes;
    pending_queues pending{of, table, shapes};
    struct waiting_one {
      row_t row;
      shape_index shape;
      bool active;
    };
    std::vector<waiting_one> plain;  // in no order
    std::set<std::string> parked;    // keys of shapes, as Kueue keeps their hashes
    std::map<queue_index, row_t> sticky;
    std::set<std::string> uids;
    for (int step = 0; step < 120; ++step) {
      if (random.percent(50)) {
        const char* const names[] = {"a", "b", "c"};
        const workload_spec spec =
            needs(std::to_string(random.below(1'000'000)), names[random.below(3)], random.between(1, 2),
                  static_cast<std::int32_t>(random.below(2)), instant{random.between(0, 5)});
        if (!uids.insert(spec.uid).second) continue;
        workload_shape made = workload_shape::make(of, spec).value();
        const std::string key = made.key;
        const queue_index queue = made.queue;
        const shape_index shape = shapes.acquire(std::move(made));
        const row_t row = table
                              .add({.name = spec.name,
                                    .uid = spec.uid,
                                    .queue = queue,
                                    .priority = spec.priority,
                                    .created = spec.created})
                              .row;
        pending.add(row, shape);
        plain.push_back({row, shape, !parked.contains(key)});
      } else if (!plain.empty()) {
        const std::size_t at = random.below(plain.size());
        const waiting_one one = plain[at];
        const queue_index queue = table[one.row].queue;
        if (random.percent(40)) {
          pending.erase(one.row);
          if (sticky.contains(queue) && sticky[queue] == one.row) sticky.erase(queue);
          shapes.release(one.shape);
          table.erase(one.row);
          plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (random.percent(50)) {
          pending.park(one.shape);
          parked.insert(shapes[one.shape].key);
          for (waiting_one& other : plain) other.active = other.active && other.shape != one.shape;
        } else if (random.percent(40)) {
          const queue_index root = of.tree().root_of(queue);
          pending.unpark(root);
          for (waiting_one& other : plain)
            other.active = other.active || of.tree().root_of(table[other.row].queue) == root;
          std::erase_if(parked, [&](const std::string& key) {
            std::int64_t in = 0;
            std::memcpy(&in, key.data(), sizeof in);  // a key begins with its queue
            return of.tree().root_of(static_cast<queue_index>(in)) == root;
          });
        } else {
          pending.make_sticky(one.row);
          sticky[queue] = one.row;
        }
      }
      REQUIRE(pending.size() == plain.size());
      for (queue_index queue = of.first_queue(); queue < of.tree().size(); ++queue) {
        const waiting_one* first = nullptr;
        std::set<row_t> active, not_active;
        for (const waiting_one& one : plain) {
          const workload_record& record = table[one.row];
          if (record.queue != queue) continue;
          (one.active ? active : not_active).insert(one.row);
          if (!one.active) continue;
          const auto rank = [&](const waiting_one& of_one) {
            const workload_record& r = table[of_one.row];
            return std::tuple{!(sticky.contains(queue) && sticky.at(queue) == of_one.row), -r.priority, r.created,
                              r.uid};
          };
          if (first == nullptr || rank(one) < rank(*first)) first = &one;
        }
        REQUIRE(pending.head(queue) == (first == nullptr ? no_row : first->row));
        for (const bool is : {true, false}) {
          const std::vector<row_t> listed = pending.list(queue, is);
          REQUIRE(std::set<row_t>{listed.begin(), listed.end()} == (is ? active : not_active));
        }
        heads += first != nullptr ? 1 : 0;
        sticky_heads += first != nullptr && sticky.contains(queue) && sticky.at(queue) == first->row ? 1 : 0;
        inadmissible += not_active.size();
      }
    }
  }
  CHECK(heads > 10'000);
  CHECK(sticky_heads > 1'000);
  CHECK(inadmissible > 10'000);
}

/// The choice of a tournament with nothing remembered: each cohort's children by the shares that they would have now.
std::uint32_t plain_winner(quota_ledger& ledger, const workload_table& table, std::span<const cycle_entry> entries,
                           const std::vector<bool>& taken, queue_index node) {
  const configuration& of = ledger.of();
  if (of.is_queue(node)) {
    for (std::uint32_t at = 0; at < entries.size(); ++at)
      if (entries[at].queue == node && !taken[at]) return at;
    return none;
  }
  std::uint32_t best = none;
  queue_index best_child = no_queue;
  const auto beats = [&](std::uint32_t one, queue_index child, std::uint32_t other, queue_index other_child) {
    const auto rated = [&](std::uint32_t entry, queue_index below) {
      const quota_ledger::trial trial{ledger};
      ledger.add(entries[entry].queue, entries[entry].flavors.usage);
      return std::pair{ledger.borrows_any(below, entries[entry].flavors.usage), ledger.share(below)};
    };
    const auto mine = rated(one, child), theirs = rated(other, other_child);
    if (mine.first != theirs.first) return !mine.first;
    if (const int order = compare(mine.second, theirs.second); order != 0) return order < 0;
    const workload_record &a = table[entries[one].workload], &b = table[entries[other].workload];
    return a.priority != b.priority ? a.priority > b.priority : a.created < b.created;
  };
  for (const bool cohorts : {true, false}) {
    for (const queue_index child : of.tree().children(node)) {
      if (of.is_queue(child) == cohorts) continue;
      const std::uint32_t one = plain_winner(ledger, table, entries, taken, child);
      if (one != none && (best == none || beats(one, child, best, best_child))) best = one, best_child = child;
    }
  }
  return best;
}

TEST_CASE("tournaments that remember shares choose as those that compute all of them again") {
  std::size_t chosen = 0, borrowed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice random{seed};
    configuration_spec spec{.flavors = {{"f"}, {"g"}}};
    const std::size_t cohorts = 1 + random.below(5), queues = 2 + random.below(8);
    const double weights[] = {0, 1, 1, 2};
    for (std::size_t i = 0; i < cohorts; ++i)
      spec.cohorts.push_back(
          {"c" + std::to_string(i), i > 0 ? "c" + std::to_string(random.below(i)) : "", weights[random.below(4)]});
    for (std::size_t i = 0; i < queues; ++i)
      spec.queues.push_back(
          {.name = "q" + std::to_string(i),
           .cohort = "c" + std::to_string(random.below(cohorts)),
           .weight = weights[random.below(4)],
           .groups = {{{"cpu"},
                       {{"f", {{random.between(0, 5), unlimited, random.percent(30) ? 2 : unlimited}}},
                        {"g", {{random.between(0, 5)}}}}}}});
    const configuration of = configuration::make(spec).value();
    quota_ledger ledger{of};
    workload_table table{of.tree().size()};
    std::vector<cycle_entry> entries;
    for (queue_index queue = of.first_queue(); queue < of.tree().size(); ++queue) {
      for (fr_index fr = 0; fr < of.fr_count(); ++fr) ledger.add(queue, fr, random.between(0, 6));
      if (random.percent(20)) continue;
      cycle_entry& entry = entries.emplace_back();
      entry.queue = queue;
      entry.workload = table
                           .add({.name = "",
                                 .uid = "",
                                 .queue = queue,
                                 .priority = static_cast<std::int32_t>(random.below(2)),
                                 .created = instant{random.between(0, 3)}})
                           .row;
      entry.flavors.usage.push_back({static_cast<fr_index>(random.below(of.fr_count())), random.between(0, 4)});
    }
    fair_tournament tournament{ledger, table};
    tournament.begin(entries);
    std::vector<bool> taken(entries.size(), false);
    for (std::uint32_t at = tournament.next(); at != none; at = tournament.next()) {
      const queue_index root = of.tree().root_of(entries[at].queue);
      REQUIRE(at == plain_winner(ledger, table, entries, taken, root));
      taken[at] = true;
      ++chosen;
      borrowed += ledger.share(entries[at].queue).borrows ? 1 : 0;
      if (random.percent(70)) ledger.add(entries[at].queue, entries[at].flavors.usage);
    }
    REQUIRE(std::ranges::all_of(taken, [](bool one) { return one; }));
  }
  CHECK(chosen > 1'000);
  CHECK(borrowed > 300);
}

}  // namespace gangsched::testing::kueue_cycle_test
