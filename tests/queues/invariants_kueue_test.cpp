#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gangsched/queues/kueue/admission_controller.hpp"
#include "queues/invariants.hpp"

namespace gangsched::testing::invariants_kueue_test {

using namespace gangsched::queues;
using namespace gangsched::queues::kueue;
using namespace std::chrono_literals;
using invariants::holds;
using invariants::shuffled;

std::string numbered(const char* prefix, std::size_t number) { return prefix + std::to_string(number); }

victim_policy some_policy(dice& random, bool with_any) {
  return static_cast<victim_policy>(random.below(with_any ? 4 : 3));
}

/// Cohorts within each other, queues below them, one or two resources in up to three flavors, with limits and policies of all kinds.
configuration_spec random_spec(dice& random) {
  configuration_spec made;
  const std::size_t flavors = 1 + random.below(3), cohorts = 1 + random.below(4), queues = 2 + random.below(4);
  for (std::size_t i = 0; i < flavors; ++i) made.flavors.push_back({numbered("f", i)});
  const bool has_memory = random.percent(40);
  const auto quotas = [&] {
    resource_group group{{"cpu"}, {}};
    if (has_memory) group.resources.push_back("memory");
    for (std::size_t i = 0; i < flavors; ++i) {
      if (i + 1 < flavors && random.percent(30)) continue;
      flavor_quota& one = group.flavors.emplace_back(flavor_quota{numbered("f", i), {}});
      for (std::size_t of = 0; of < group.resources.size(); ++of) {
        quota& amounts = one.quotas.emplace_back(quota{.nominal = random.between(0, 8)});
        if (random.percent(25)) amounts.borrowing_limit = random.between(0, 6);
        if (random.percent(25)) amounts.lending_limit = random.between(0, 6);
      }
    }
    return std::vector{group};
  };
  const std::vector<double> weights{0, 0.5, 1, 1, 2};
  for (std::size_t i = 0; i < cohorts; ++i) {
    cohort_spec& one = made.cohorts.emplace_back(cohort_spec{.name = numbered("c", i), .weight = random.of(weights)});
    if (i > 0 && random.percent(70)) one.parent = numbered("c", random.below(i));
    if (random.percent(40)) one.groups = quotas();
  }
  for (std::size_t i = 0; i < queues; ++i) {
    queue_spec& one = made.queues.emplace_back(queue_spec{.name = numbered("q", i), .weight = random.of(weights)});
    if (random.percent(95)) one.cohort = numbered("c", random.below(cohorts));
    one.strategy = random.percent(30) ? queueing_strategy::strict_fifo : queueing_strategy::best_effort_fifo;
    one.groups = quotas();
    one.preemption = {some_policy(random, false), some_policy(random, true), random.percent(30), std::nullopt};
    one.fungibility = {static_cast<flavor_search>(random.below(2)), static_cast<flavor_search>(random.below(2)),
                       static_cast<flavor_preference>(random.below(2))};
  }
  return made;
}

configuration_spec reordered(dice& random, configuration_spec spec) {
  spec.flavors = shuffled(random, spec.flavors);
  spec.cohorts = shuffled(random, spec.cohorts);
  spec.queues = shuffled(random, spec.queues);
  return spec;
}

workload_spec random_workload(dice& random, const configuration_spec& in, std::size_t number) {
  workload_spec made{.name = numbered("w", number),
                     .uid = std::to_string(number * 7919 % 10'007),
                     .queue = random.of(in.queues).name,
                     .priority = static_cast<std::int32_t>(random.below(3)),
                     .created = instant{random.between(0, 9)},
                     .pod_sets = {}};
  const std::size_t sets = 1 + random.below(2);
  for (std::size_t i = 0; i < sets; ++i) {
    pod_set_spec& one = made.pod_sets.emplace_back(pod_set_spec{.name = numbered("p", i)});
    one.count = static_cast<std::int32_t>(1 + random.below(4));
    if (random.percent(40)) one.min_count = static_cast<std::int32_t>(random.between(1, one.count));
    one.requests["cpu"] = random.between(0, 4);
    if (random.percent(40)) one.requests["memory"] = random.between(0, 4);
  }
  return made;
}

/// Every node's usage of everything, as the ledger has it.
std::vector<std::int64_t> usage_of(const quota_ledger& in) {
  std::vector<std::int64_t> all;
  for (queue_index node = 0; node < in.of().tree().size(); ++node)
    for (fr_index of = 0; of < in.of().fr_count(); ++of) {
      all.push_back(in.usage(node, of));
      all.push_back(in.borrowing_children(node, of));
    }
  return all;
}

/// How much a node may use of what its cohorts lend: nobody is let in above that.
std::int64_t bound_of(const quota_ledger& in, queue_index node, fr_index of) {
  const std::int64_t borrowing = in.of().tree().parent(node) == no_queue ? 0 : in.own(node, of).borrowing_limit;
  return sum(in.subtree_quota(node, of), borrowing);
}

/// A controller, and who it was told of, by name.
struct life {
  admission_controller kueue;
  std::map<std::string, workload_spec> specs;
  std::map<std::string, workload_id> known;

  life(const configuration_spec& spec, const admission_options& options)
      : kueue(configuration::make(spec).value(), options) {}

  void add(const workload_spec& spec) {
    known[spec.name] = kueue.add(spec).value();
    specs[spec.name] = spec;
  }
  void remove(const std::string& name) {
    kueue.remove(known.at(name)).value();
    known.erase(name);
    specs.erase(name);
  }
  [[nodiscard]] const workload_record& record(const std::string& name) const { return kueue[known.at(name).row]; }
  [[nodiscard]] std::vector<std::string> all(bool admitted, bool evicted) const {
    std::vector<std::string> made;
    for (const auto& [name, id] : known)
      if (kueue[id.row].admitted == admitted && kueue[id.row].evicted == evicted) made.push_back(name);
    return made;
  }

  /// What is used without those of which @p left_out says so, counted from the beginning.
  template <class LeftOut>
  [[nodiscard]] std::vector<std::int64_t> counted(const LeftOut& left_out) const {
    const quota_ledger& ledger = kueue.ledger();
    const std::size_t frs = ledger.of().fr_count();
    std::vector<std::int64_t> used(ledger.of().tree().size() * frs, 0);
    for (const auto& [name, id] : known)
      if (const workload_record& one = kueue[id.row]; one.admitted && !left_out(one))
        for (const fr_amount& amount : one.usage) used[one.queue * frs + amount.of] += amount.amount;
    const std::span<const queue_index> order = ledger.of().tree().top_down();
    for (auto node = order.rbegin(); node != order.rend(); ++node)
      if (const queue_index parent = ledger.of().tree().parent(*node); parent != no_queue)
        for (fr_index of = 0; of < frs; ++of)
          used[parent * frs + of] += std::max<std::int64_t>(0, used[*node * frs + of] - ledger.kept(*node, of));
    return used;
  }
  /// Usage once all have gone that were asked to.
  [[nodiscard]] std::vector<std::int64_t> later() const {
    return counted([](const workload_record& one) { return one.evicted; });
  }
  void check() const {
    const std::vector<std::int64_t> used = counted([](const workload_record&) { return false; });
    const quota_ledger& ledger = kueue.ledger();
    for (queue_index node = 0; node < ledger.of().tree().size(); ++node)
      for (fr_index of = 0; of < ledger.of().fr_count(); ++of)
        holds(ledger.usage(node, of) == used[node * ledger.of().fr_count() + of]);
    holds(kueue.waiting() + all(true, false).size() + all(true, true).size() == known.size());
  }
};

struct tally {
  std::size_t operations = 0, admitted = 0, reduced = 0, preempted = 0, reordered = 0;
};

/// One cycle: who is admitted has all pods that it needs, and is charged for them; nobody's usage grows beyond its bound.
const admission_cycle& cycle(life& of, instant now, tally& count) {
  const std::vector<std::int64_t> before = of.later();
  const admission_cycle& made = of.kueue.cycle(now);
  const quota_ledger& ledger = of.kueue.ledger();
  for (const cycle_entry& entry : made.entries()) {
    if (entry.result != entry_result::admitted) continue;
    ++count.admitted;
    const workload_record& record = of.kueue[entry.workload];
    const workload_spec& spec = of.specs.at(record.name);
    holds(entry.flavors.pod_sets.size() == spec.pod_sets.size());
    std::map<std::string, std::int64_t> charged, needed;
    for (const fr_amount& one : record.usage)
      charged[ledger.of().resource(ledger.of().resource_of(one.of))] += one.amount;
    for (std::size_t i = 0; i < spec.pod_sets.size(); ++i) {
      const std::int32_t pods = entry.flavors.pod_sets[i].count;
      holds(pods >= spec.pod_sets[i].min_count.value_or(spec.pod_sets[i].count) && pods <= spec.pod_sets[i].count);
      if (pods < spec.pod_sets[i].count) ++count.reduced;
      for (const auto& [resource, each] : spec.pod_sets[i].requests)
        if (charged.contains(resource)) needed[resource] += each * pods;
    }
    holds(charged == needed);
  }
  count.preempted += made.preempted().size();
  const std::vector<std::int64_t> after = of.later();
  for (queue_index node = 0; node < ledger.of().tree().size(); ++node)
    for (fr_index one = 0; one < ledger.of().fr_count(); ++one) {
      const std::size_t at = node * ledger.of().fr_count() + one;
      holds(after[at] <= std::max(before[at], bound_of(ledger, node, one)));
    }
  return made;
}

/// What became of a cycle's entries, and who is asked to go, by name.
std::set<std::string> outcome(const life& of, const admission_cycle& made) {
  std::set<std::string> all;
  for (const cycle_entry& entry : made.entries()) {
    std::string text = of.kueue[entry.workload].name + " " + std::to_string(static_cast<int>(entry.result)) +
                       std::to_string(static_cast<int>(entry.reason));
    if (entry.result == entry_result::admitted)
      for (const chosen_flavor& one : entry.flavors.flavors)
        text += " " + of.kueue.of().flavor(one.flavor).name + std::to_string(one.amount);
    all.insert(text);
  }
  for (const issued_preemption& one : made.preempted())
    all.insert(of.kueue[one.workload].name + " for " + of.kueue[one.by].name);
  return all;
}

/// One thing that happens to all worlds alike.
void step(dice& random, std::deque<life>& worlds, const configuration_spec& spec, std::size_t number, instant now,
          tally& count) {
  ++count.operations;
  const std::size_t what = random.below(100);
  if (what < 40) {
    const workload_spec one = random_workload(random, spec, number);
    for (life& of : worlds) of.add(one);
    return;
  }
  if (what < 70) {
    std::set<std::string> first;
    for (life& of : worlds) {
      const std::set<std::string> made = outcome(of, cycle(of, now, count));
      if (&of == &worlds.front()) {
        first = made;
      } else {
        if (made.size() > 1) ++count.reordered;
        if (made != first) {
          for (const std::string& one : first) UNSCOPED_INFO("first: " << one);
          for (const std::string& one : made) UNSCOPED_INFO("other: " << one);
        }
        holds(made == first);
      }
    }
    return;
  }
  const auto chosen = [&](std::vector<std::string> among, auto then) {
    if (among.empty()) return;
    const std::string name = random.of(among);
    for (life& of : worlds) then(of, name);
  };
  life& first = worlds.front();
  if (what < 80) {
    chosen(first.all(true, random.percent(50)), [](life& of, const std::string& name) { of.remove(name); });
  } else if (what < 84) {
    chosen(first.all(false, false), [](life& of, const std::string& name) { of.remove(name); });
  } else if (what < 92) {
    chosen(first.all(true, true),
           [](life& of, const std::string& name) { of.kueue.evicted(of.known.at(name)).value(); });
  } else if (what < 95) {
    chosen(first.all(true, false),
           [](life& of, const std::string& name) { of.kueue.mark_evicted(of.known.at(name)).value(); });
  } else {
    const configuration& of = first.kueue.of();
    const auto node = static_cast<queue_index>(random.below(of.tree().size()));
    if (of.quotas(node).empty()) return;
    const fr_index fr = of.quotas(node)[random.below(of.quotas(node).size())].of;
    quota to{.nominal = random.between(0, 8)};
    if (random.percent(25)) to.borrowing_limit = random.between(0, 6);
    if (random.percent(25)) to.lending_limit = random.between(0, 6);
    const std::string &flavor = of.flavor(of.flavor_of(fr)).name, &resource = of.resource(of.resource_of(fr));
    for (life& one : worlds) {
      const configuration& there = one.kueue.of();
      one.kueue
          .set_quota(there.tree().find(of.tree().name(node)).value(),
                     there.find_fr(there.find_flavor(flavor), there.find_resource(resource)), to)
          .value();
    }
  }
}

admission_options some_options(dice& random) {
  admission_options made;
  made.fair_sharing = {random.percent(50), static_cast<fair_strategy>(random.below(2)), random.percent(50)};
  made.partial_admission = random.percent(70);
  made.recompute_overlapping_targets = random.percent(30);
  return made;
}

TEST_CASE(
    "Kueue: whatever happens, usage is what the admitted use, nobody is let in above a limit or below its minimum",
    "[invariants]") {
  tally count;
  const std::size_t all = invariants::in_worlds(180, count.operations, [&](std::uint64_t seed) {
    dice random{seed};
    const configuration_spec spec = random_spec(random);
    std::deque<life> worlds;
    worlds.emplace_back(spec, some_options(random));
    for (std::size_t i = 0; i < 150; ++i) {
      step(random, worlds, spec, i, instant{static_cast<std::int64_t>(i)}, count);
      if (i % 5 == 4) worlds.front().check();
    }
  });
  CAPTURE(count.operations, count.admitted, count.reduced, count.preempted);
  CHECK(count.admitted > all / 100);
  CHECK(count.reduced > all / 1000);
  CHECK(count.preempted > all / 1000);
}

TEST_CASE("Kueue: the order in which a host names flavors, cohorts and queues decides nothing, ties included",
          "[invariants]") {
  tally count;
  const std::size_t all = invariants::in_worlds(60, count.operations, [&](std::uint64_t seed) {
    dice random{seed};
    const configuration_spec spec = random_spec(random);
    const admission_options options = some_options(random);
    std::deque<life> worlds;
    worlds.emplace_back(spec, options);
    worlds.emplace_back(reordered(random, spec), options);
    for (std::size_t i = 0; i < 150; ++i) step(random, worlds, spec, i, instant{static_cast<std::int64_t>(i)}, count);
    worlds.back().check();
  });
  CAPTURE(count.operations, count.reordered);
  CHECK(count.reordered > all / 20);
}

/// Quota in use by workloads of all kinds, for the search for victims alone.
struct usage_world {
  configuration of;
  quota_ledger ledger;
  workload_table table;

  explicit usage_world(const configuration_spec& spec)
      : of(configuration::make(spec).value()), ledger(of), table(of.tree().size()) {}

  row_t add(const std::string& uid, const std::string& queue, std::int32_t priority, instant created, instant at,
            bool evicted, const std::vector<std::pair<std::string, fr_amount>>& usage) {
    const queue_index where = of.find_queue(queue).value();
    const row_t row =
        table.add({.name = uid, .uid = uid, .queue = where, .priority = priority, .created = created}).row;
    const std::vector<fr_amount> amounts = here(usage);
    table.admit(row, at, amounts);
    table.set_evicted(row, evicted);
    ledger.add(where, amounts);
    return row;
  }
  /// Amounts said of a resource; the number of the flavor is that of its name, which may be another here.
  [[nodiscard]] std::vector<fr_amount> here(const std::vector<std::pair<std::string, fr_amount>>& all) const {
    std::vector<fr_amount> made;
    for (const auto& [resource, one] : all) {
      const flavor_index flavor = of.find_flavor(numbered("f", one.of));
      const resource_index which = of.find_resource(resource);
      const fr_index fr = flavor == none || which == none ? none : of.find_fr(flavor, which);
      if (fr != none) count_in(made, fr, one.amount);
    }
    return made;
  }
  [[nodiscard]] bool fits(queue_index queue, std::span<const fr_amount> usage, bool may_borrow) const {
    return std::all_of(usage.begin(), usage.end(), [&](const fr_amount& one) {
      return one.amount <= ledger.room(queue, one.of) &&
             (may_borrow || !ledger.borrows_with(queue, one.of, one.amount));
    });
  }
  [[nodiscard]] std::set<std::string> names(std::span<const preemption_target> all) const {
    std::set<std::string> made;
    for (const preemption_target& one : all) made.insert(table[one.workload].uid);
    return made;
  }
};

/// A workload that asks, and who has to go for it.
struct search {
  std::string uid, queue;
  std::int32_t priority = 0;
  instant created{};
  std::vector<std::pair<std::string, fr_amount>> usage;

  std::vector<preemption_target> run(usage_world& in, const fair_sharing_options& sharing) const {
    const queue_index where = in.of.find_queue(queue).value();
    const std::vector<fr_amount> needs = in.here(usage);
    std::vector<fr_index> short_of;
    for (const fr_amount& one : needs)
      if (one.amount > in.ledger.room(where, one.of)) short_of.push_back(one.of);
    std::vector<preemption_target> found;
    if (short_of.empty()) return found;
    preemptor by{in.ledger, in.table, sharing};
    by.find({where, priority, created, needs, short_of}, found);
    return found;
  }
};

/// Nobody of @p found can stay: with it the workload does not fit, or it would have to borrow, where that is what it must not.
void none_can_stay(usage_world& in, const search& of, std::span<const preemption_target> found) {
  const queue_index where = in.of.find_queue(of.queue).value();
  const std::vector<fr_amount> needs = in.here(of.usage);
  const quota_ledger::trial trial{in.ledger};
  for (const preemption_target& one : found)
    in.ledger.remove(in.table[one.workload].queue, in.table[one.workload].usage);
  holds(in.fits(where, needs, true));
  const bool borrows = !in.fits(where, needs, false);
  bool with_borrowing = true, without = true;
  for (const preemption_target& one : found) {
    const quota_ledger::trial back{in.ledger};
    in.ledger.add(in.table[one.workload].queue, in.table[one.workload].usage);
    with_borrowing = with_borrowing && !in.fits(where, needs, true);
    without = without && !in.fits(where, needs, false);
  }
  holds(with_borrowing || (!borrows && without));
}

TEST_CASE("Kueue: a search for victims leaves no trace, takes nobody who could stay, and goes by names alone",
          "[invariants]") {
  std::size_t operations = 0, found_some = 0, fair = 0;
  const std::size_t all = invariants::in_worlds(60, operations, [&](std::uint64_t seed) {
    dice random{seed};
    const configuration_spec spec = random_spec(random);
    const fair_sharing_options sharing = some_options(random).fair_sharing;
    usage_world world{spec}, other{reordered(random, spec)};
    const auto amounts = [&](std::int64_t most) {
      std::vector<std::pair<std::string, fr_amount>> made;
      const auto flavor = static_cast<fr_index>(random.below(spec.flavors.size()));
      made.push_back({"cpu", {flavor, random.between(1, most)}});
      if (random.percent(40)) made.push_back({"memory", {flavor, random.between(0, most)}});
      return made;
    };
    struct running {
      std::string uid, queue;
      std::int32_t priority;
      instant created, at;
      bool evicted;
      std::vector<std::pair<std::string, fr_amount>> usage;
    };
    std::vector<running> runs;
    const std::size_t workloads = 4 + random.below(24);
    for (std::size_t i = 0; i < workloads; ++i) {
      running one{std::to_string(i),
                  random.of(spec.queues).name,
                  static_cast<std::int32_t>(random.below(3)),
                  instant{random.between(0, 5)},
                  instant{random.between(0, 5)},
                  random.percent(10),
                  amounts(4)};
      const queue_index where = world.of.find_queue(one.queue).value();
      if (!world.fits(where, world.here(one.usage), true) && random.percent(90)) continue;
      world.add(one.uid, one.queue, one.priority, one.created, one.at, one.evicted, one.usage);
      runs.push_back(std::move(one));
    }
    for (const running& one : shuffled(random, runs))
      other.add(one.uid, one.queue, one.priority, one.created, one.at, one.evicted, one.usage);
    operations += workloads;
    for (int i = 0; i < 12; ++i, ++operations) {
      const search one{"new", random.of(spec.queues).name, static_cast<std::int32_t>(random.below(4)),
                       instant{random.between(0, 5)}, amounts(8)};
      const std::vector<std::int64_t> before = usage_of(world.ledger);
      const std::vector<preemption_target> found = one.run(world, sharing);
      holds(usage_of(world.ledger) == before);
      holds(world.names(found) == other.names(one.run(other, sharing)));
      if (found.empty()) continue;
      ++found_some;
      if (sharing.enabled) ++fair;
      none_can_stay(world, one, found);
    }
  });
  CAPTURE(operations, found_some, fair);
  CHECK(found_some > all / 50);
  CHECK(fair > all / 100);
}

TEST_CASE(
    "Kueue: who had to go does not win back at once, where the queue that took it stays within its quota or share",
    "[invariants]") {
  std::size_t operations = 0, preempted = 0, fair = 0;
  const std::size_t all = invariants::in_worlds(50, operations, [&](std::uint64_t seed) {
    dice random{seed};
    // One cohort and one resource in one flavor: elsewhere a queue can be nearer to its quota in one, and its victim in another.
    configuration_spec spec{.flavors = {{"f0"}}};
    const fair_sharing_options sharing{random.percent(50), fair_strategy::less_or_equal_final, false};
    const std::size_t queues = 2 + random.below(4);
    for (std::size_t i = 0; i < queues; ++i)
      spec.queues.push_back({.name = numbered("q", i),
                             .cohort = "all",
                             .weight = static_cast<double>(1 + random.below(3)),
                             .groups = {{{"cpu"}, {{"f0", {{random.between(1, 8)}}}}}},
                             .preemption = {some_policy(random, false), some_policy(random, true), false, {}}});
    usage_world world{spec};
    const auto cpu = [](std::int64_t amount) {
      return std::vector<std::pair<std::string, fr_amount>>{{"cpu", {0, amount}}};
    };
    for (std::size_t i = 0; i < 20; ++i, ++operations) {
      const search one{std::to_string(i), random.of(spec.queues).name, static_cast<std::int32_t>(random.below(3)),
                       instant{random.between(0, 50)}, cpu(random.between(1, 5))};
      const queue_index where = world.of.find_queue(one.queue).value();
      const std::vector<preemption_target> found = one.run(world, sharing);
      if (found.empty() && !world.fits(where, world.here(one.usage), true)) continue;
      std::vector<search> gone;
      for (const preemption_target& target : found) {
        const workload_record& record = world.table[target.workload];
        gone.push_back({record.uid, std::string{world.of.name(record.queue)}, record.priority, record.created,
                        cpu(record.usage.front().amount)});
        world.ledger.remove(record.queue, record.usage);
        world.table.withdraw(target.workload);
        world.table.erase(target.workload);
      }
      const row_t in = world.add(one.uid, one.queue, one.priority, one.created, instant{static_cast<std::int64_t>(i)},
                                 false, one.usage);
      for (const search& back : gone) {
        for (const preemption_target& target : back.run(world, sharing)) holds(target.workload != in);
        ++preempted;
        if (sharing.enabled) ++fair;
      }
    }
  });
  CAPTURE(operations, preempted, fair);
  CHECK(preempted > all / 20);
  CHECK(fair > all / 50);
}

TEST_CASE("Kueue: shares are in a strict weak order, infinite ones too", "[invariants]") {
  dice random{7};
  const auto some = [&] {
    return dominant_share{.unweighted = static_cast<double>(random.below(4) * 250),
                          .weight = static_cast<double>(random.below(3))};
  };
  for (std::size_t i = 0; i < invariants::operations(20); ++i) {
    const dominant_share a = some(), b = some(), c = some();
    holds(compare(a, a) == 0);
    holds((compare(a, b) < 0) == (compare(b, a) > 0));
    if (compare(a, b) < 0 && compare(b, c) < 0) holds(compare(a, c) < 0);
    if (compare(a, b) == 0 && compare(b, c) == 0) holds(compare(a, c) == 0);
  }
  SUCCEED("all triples");
}

}  // namespace gangsched::testing::invariants_kueue_test
